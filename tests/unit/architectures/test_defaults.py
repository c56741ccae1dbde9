"""
What is taken for keys that a configuration leaves out, and what is refused.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.architectures.config import (
    REQUIRED,
    defaults_of,
)
from cdk_sagemaker_llm.catalog._data import load

DEFAULTS: dict[str, dict[str, Any]] = load("config_defaults.json")["families"]
CONFIGS: dict[str, dict[str, Any]] = load("architectures.json")["configs"]
LLAMA, MIXTRAL = CONFIGS["llama-2-7b"], CONFIGS["mixtral-8x7b"]
QWEN = CONFIGS["qwen2.5-7b"]
# Where all blocks have experts, the width of the others is not read.
LACKING = [
    (family, key)
    for family in sorted(DEFAULTS)
    for key in sorted(REQUIRED)
    if not (family.endswith(("moe", "next")) and key == "intermediate_size")
]


def test_a_part_says_only_what_differs_from_its_class() -> None:
    """
    Gemma 3 4B's file has neither heads nor vocabulary.
    """
    given = {
        "architectures": ["Gemma3ForConditionalGeneration"],
        "model_type": "gemma3",
        "text_config": {
            "hidden_size": 2560,
            "intermediate_size": 10240,
            "model_type": "gemma3_text",
            "num_hidden_layers": 34,
            "sliding_window": 1024,
        },
    }

    found = ModelArchitecture.from_config(given)

    assert found == ModelArchitecture.of("google/gemma-3-4b-it")


def test_a_part_may_say_nothing_of_its_size() -> None:
    """
    LLaVA's text part is a Llama 2 7B with 64 more words.
    """
    given = {
        "architectures": ["LlavaForConditionalGeneration"],
        "model_type": "llava",
        "text_config": {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "max_position_embeddings": 4096,
            "vocab_size": 32064,
        },
    }

    assert ModelArchitecture.from_config(given).parameter_count == (
        6_738_415_616 + 2 * 64 * 4096
    )


@pytest.mark.parametrize(("family", "key"), LACKING)
def test_fails_if_a_whole_file_lacks_a_size(family: str, key: str) -> None:
    """
    The class would take some other model's.
    """
    whole = next(c for c in CONFIGS.values() if c["model_type"] == family)
    damaged = {k: v for k, v in whole.items() if k != key}

    with pytest.raises(ValueError, match=f"config.json has no {key}"):
        ModelArchitecture.from_config(damaged)


def test_a_query_that_is_not_compressed_says_null() -> None:
    """
    DeepSeek-V2-Lite: null is none, and left out is the rank of its class.
    """
    lite = CONFIGS["deepseek-v2-lite"]
    without = {k: v for k, v in lite.items() if k != "q_lora_rank"}

    assert lite["q_lora_rank"] is None
    assert ModelArchitecture.from_config(without).parameter_count == 15_748_993_024


@pytest.mark.parametrize(
    ("name", "switch"),
    [
        ("mistral-7b-v0.1", {"attention_bias": True}),
        ("qwen2.5-7b", {"qkv_bias": False}),
        ("gemma-2b", {"mlp_bias": True}),
        ("qwen3-30b-a3b", {"shared_expert_intermediate_size": 4096}),
    ],
)
def test_a_switch_that_its_class_passes_over_changes_nothing(
    name: str, switch: dict[str, Any]
) -> None:
    """
    Each is a switch of some other family.
    """
    plain = ModelArchitecture.from_config(CONFIGS[name])

    assert ModelArchitecture.from_config({**CONFIGS[name], **switch}) == plain


def test_the_first_falcons_files_are_read() -> None:
    """
    They call the family RefinedWeb, and had no switch for the new decoder.
    """
    first = {
        "architectures": ["RWForCausalLM"],
        "model_type": "RefinedWeb",
        "hidden_size": 8192,
        "n_layer": 60,
        "n_head": 128,
        "n_head_kv": 8,
        "vocab_size": 65024,
    }

    found = ModelArchitecture.from_config(first)

    assert found.parameter_count == (
        ModelArchitecture.of("tiiuae/falcon-40b").parameter_count
    )
    assert found.num_key_value_heads == 8


@pytest.mark.parametrize(
    ("changed", "windowed"),
    [
        ({"sliding_window": 4096}, 0),
        ({"sliding_window": 4096, "use_sliding_window": True}, 0),
        (
            {
                "sliding_window": 4096,
                "use_sliding_window": True,
                "max_window_layers": 20,
            },
            8,
        ),
        (
            {
                "sliding_window": 4096,
                "use_sliding_window": True,
                "layer_types": ["sliding_attention", "full_attention"] * 14,
            },
            14,
        ),
    ],
)
def test_only_windowed_layers_forget(changed: dict[str, Any], windowed: int) -> None:
    """
    Qwen's switch, its first layers without, and the list of newer files.
    """
    left = {k: v for k, v in QWEN.items() if k != "use_sliding_window"}

    assert ModelArchitecture.from_config({**left, **changed}).windowed_layers == (
        windowed
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {**LLAMA, "hidden_size": 8},
            "must be at least num_attention_heads, got 8 and 32",
        ),
        (
            {**LLAMA, "num_key_value_heads": 5},
            "must divide the 32 attention heads, got 5",
        ),
        ({**MIXTRAL, "num_experts_per_tok": 9}, "at most the number of experts"),
        ({**LLAMA, "num_hidden_layers": 10**10}, "at most 1000000000"),
        ('{"hidden_size": ' + "9" * 5000 + "}", "is no JSON"),
    ],
)
def test_fails_if_numbers_contradict_each_other(
    given: dict[str, Any] | str, message: str
) -> None:
    """
    No model can have been made with them.
    """
    with pytest.raises(ValueError, match=message):
        ModelArchitecture.from_config(given)


# Of a part that names its family alone: parameters, those that a token passes, those
# that are quantized, the cache's numbers and shards, layers, widths of the model and
# inside its MLP, heads, key and value heads, a head's width, words, and tokens.
EMPTY_PARTS: list[tuple[str, dict[str, int], tuple[int, ...]]] = [
    # How many experts a token passes is for the file to say.
    (
        "deepseek_v2",
        {"num_experts_per_tok": 6},
        (
            *(38_612_307_968, 6_523_523_072, 37_764_726_784, 18432, 1),
            *(32, 4096, 11256, 32, 32, 192, 102400, 4096),
        ),
    ),
    # The published size of DeepSeek-V3.
    (
        "deepseek_v3",
        {},
        (
            *(671_026_404_352, 37_552_282_624, 669_065_609_216, 35136, 1),
            *(61, 7168, 18432, 128, 128, 192, 129280, 4096),
        ),
    ),
    # DeepSeek-V3.2.
    (
        "deepseek_v32",
        {},
        (
            *(671_877_929_216, 38_403_807_488, 669_889_134_592, 39162, 1),
            *(61, 7168, 18432, 128, 128, 192, 129280, 163840),
        ),
    ),
    # Gemma 7B, but for its bias.
    (
        "gemma",
        {},
        (
            *(8_537_680_896, 8_537_680_896, 7_751_073_792, 229376, 16),
            *(28, 3072, 24576, 16, 16, 256, 256000, 8192),
        ),
    ),
    # Gemma 2 2B.
    (
        "gemma2",
        {},
        (
            *(2_614_341_888, 2_614_341_888, 2_024_275_968, 53248, 4),
            *(26, 2304, 9216, 8, 4, 256, 256000, 8192),
        ),
    ),
    (
        "gemma3_text",
        {},
        (
            *(2_628_658_432, 2_628_658_432, 2_024_275_968, 53248, 4),
            *(26, 2304, 9216, 8, 4, 256, 262208, 131072),
        ),
    ),
    (
        "glm4_moe",
        {},
        (
            *(103_481_200_640, 10_053_079_040, 102_215_712_768, 30912, 8),
            *(46, 4096, 12672, 96, 8, 42, 151552, 131072),
        ),
    ),
    # GPT-NeoX 20B.
    (
        "gpt_neox",
        {},
        (
            *(20_554_567_680, 20_554_567_680, 19_931_332_608, 540672, 64),
            *(44, 6144, 24576, 64, 64, 96, 50432, 2048),
        ),
    ),
    # Llama 7B.
    (
        "llama",
        {},
        (
            *(6_738_415_616, 6_738_415_616, 6_476_005_376, 262144, 32),
            *(32, 4096, 11008, 32, 32, 128, 32000, 2048),
        ),
    ),
    # Llama 4 Scout.
    (
        "llama4_text",
        {},
        (
            *(107_769_861_120, 17_172_894_720, 105_696_460_800, 98304, 8),
            *(48, 5120, 16384, 40, 8, 128, 202048, 131072),
        ),
    ),
    # Ministral 3 8B.
    (
        "ministral3",
        {},
        (
            *(8_489_553_920, 8_489_553_920, 7_415_529_472, 69632, 8),
            *(34, 4096, 14336, 32, 8, 128, 131072, 262144),
        ),
    ),
    # Mistral 7B.
    (
        "mistral",
        {},
        (
            *(7_241_732_096, 7_241_732_096, 6_979_321_856, 65536, 8),
            *(32, 4096, 14336, 32, 8, 128, 32000, 131072),
        ),
    ),
    # Mixtral 8x7B.
    (
        "mixtral",
        {},
        (
            *(46_702_792_704, 12_879_925_248, 46_439_333_888, 65536, 8),
            *(32, 4096, 28672, 32, 8, 128, 32000, 131072),
        ),
    ),
    # Phi-3 mini.
    (
        "phi3",
        {},
        (
            *(3_821_079_552, 3_821_079_552, 3_623_878_656, 196608, 32),
            *(32, 3072, 8192, 32, 32, 96, 32064, 4096),
        ),
    ),
    (
        "qwen2",
        {},
        (
            *(12_049_846_272, 12_049_846_272, 10_804_527_104, 262144, 32),
            *(32, 4096, 22016, 32, 32, 128, 151936, 32768),
        ),
    ),
    # Qwen1.5-MoE A2.7B, with its 60 experts.
    (
        "qwen2_moe",
        {"num_experts": 60},
        (
            *(14_315_784_192, 2_689_173_504, 13_690_208_256, 98304, 16),
            *(24, 2048, 11264, 16, 16, 128, 151936, 32768),
        ),
    ),
    (
        "qwen3",
        {},
        (
            *(12_049_461_248, 12_049_461_248, 10_804_527_104, 262144, 32),
            *(32, 4096, 22016, 32, 32, 128, 151936, 32768),
        ),
    ),
    (
        "qwen3_moe",
        {"num_experts": 60},
        (
            *(7_646_647_296, 1_757_844_480, 7_021_264_896, 12288, 4),
            *(24, 2048, 6144, 32, 4, 64, 151936, 32768),
        ),
    ),
    # Qwen3-Next 80B A3B.
    (
        "qwen3_next",
        {},
        (
            *(79_674_391_296, 3_874_929_408, 79_000_240_128, 12288, 2),
            *(48, 2048, 5632, 16, 2, 256, 151936, 32768),
        ),
    ),
]


def test_every_familys_part_is_held_by_these_tests() -> None:
    """
    A new family with defaults comes with what they come to.
    """
    assert {family for family, _, _ in EMPTY_PARTS} == set(DEFAULTS)


@pytest.mark.parametrize(
    ("family", "said", "sizes"), EMPTY_PARTS, ids=[part[0] for part in EMPTY_PARTS]
)
def test_a_part_that_says_nothing_is_the_class_own_model(
    family: str, said: dict[str, int], sizes: tuple[int, ...]
) -> None:
    """
    Size for size.
    """
    found = ModelArchitecture.from_config(
        {"text_config": {"model_type": family, **said}}
    )

    assert found.model_type == family
    assert (
        found.parameter_count,
        found.active_parameter_count,
        found.quantizable_parameter_count,
        found.kv_elements_per_token,
        found.kv_cache_shards,
        found.num_hidden_layers,
        found.hidden_size,
        found.active_intermediate_size,
        found.num_attention_heads,
        found.num_key_value_heads,
        found.head_dim,
        found.vocab_size,
        found.context_length,
    ) == sizes
    assert (found.sliding_window, found.windowed_layers) == (None, 0)


def test_a_mixture_of_qwens_says_how_wide_its_dense_blocks_are() -> None:
    """
    5632 and 6144 where a part does not.
    """
    for family, width in (("qwen2_moe", 5632), ("qwen3_moe", 6144)):
        part = {"model_type": family, "num_experts": 60}
        all_sparse = ModelArchitecture.from_config({"text_config": part})
        one_dense = ModelArchitecture.from_config(
            {"text_config": {**part, "mlp_only_layers": [0]}}
        )
        wider = ModelArchitecture.from_config(
            {
                "text_config": {
                    **part,
                    "mlp_only_layers": [0],
                    "intermediate_size": width + 1,
                }
            }
        )

        assert one_dense.parameter_count != all_sparse.parameter_count
        assert wider.parameter_count - one_dense.parameter_count == 3 * 2048


def test_a_whole_file_may_leave_out_what_is_no_size() -> None:
    """
    Those keys alone.
    """
    assert {
        family: set(defaults_of(family, nested=True))
        - set(defaults_of(family, nested=False))
        for family in DEFAULTS
    } == {
        family: {
            "vocab_size",
            "hidden_size",
            "intermediate_size",
            "num_hidden_layers",
            "num_attention_heads",
        }
        for family in DEFAULTS
    }
    assert defaults_of("bloom", nested=True) == {}
