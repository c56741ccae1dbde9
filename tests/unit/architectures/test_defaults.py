"""
What is taken for keys that a configuration leaves out, and what is refused.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.architectures.defaults import DEFAULTS, REQUIRED
from cdk_sagemaker_llm.catalog._data import load

CONFIGS: dict[str, dict[str, Any]] = load("architectures.json")["configs"]
LLAMA, MIXTRAL = CONFIGS["llama-2-7b"], CONFIGS["mixtral-8x7b"]
QWEN = CONFIGS["qwen2.5-7b"]
# Where all blocks have experts, the width of the others is not read.
LACKING = [
    (family, key)
    for family in sorted(DEFAULTS)
    for key in sorted(REQUIRED)
    if not (family.endswith("moe") and key == "intermediate_size")
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
