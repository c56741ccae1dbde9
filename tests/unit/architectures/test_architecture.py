"""
What models are, from their configurations.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdk_sagemaker_llm import ModelArchitecture
from cdk_sagemaker_llm.architectures import find_architecture
from cdk_sagemaker_llm.architectures.families import FAMILIES
from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.catalog.architectures import model_names

CONFIGS: dict[str, dict[str, Any]] = load("architectures.json")["configs"]
LLAMA = CONFIGS["llama-2-7b"]

# What the classes of transformers have. Published totals that were looked up agree,
# but for two: the card of GPT-J says 2 498 560 more than its class has, and that of
# DeepSeek-V3 has the 14 848 corrections of its routers too, which are buffers. Totals
# on the Hub (safetensors) of Llama 4 are 871 932 416 larger, and that of Mistral Small
# 3.1 is 24 011 361 280, 438 958 080 larger: what the classes have for images; those of
# GLM 4.5 have a layer for multi-token prediction too.
COUNTED = {
    "BAAI/bge-m3": 567_754_752,
    "BAAI/bge-reranker-v2-m3": 567_755_777,
    "BAAI/bge-base-en-v1.5": 109_482_240,
    "BAAI/bge-large-en-v1.5": 335_141_888,
    "sentence-transformers/all-MiniLM-L6-v2": 22_713_216,
    "sentence-transformers/all-mpnet-base-v2": 109_518_527,
    "sentence-transformers/all-roberta-large-v1": 355_412_057,
    "intfloat/multilingual-e5-large": 559_890_432,
    "nomic-ai/nomic-embed-text-v1.5": 136_731_648,
    "nomic-ai/modernbert-embed-base": 149_014_272,
    "Alibaba-NLP/gte-large-en-v1.5": 434_139_136,
    "google/embeddinggemma-300m": 302_863_104,
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": 107_769_861_120,
    "meta-llama/Llama-4-Maverick-17B-128E-Instruct": 400_711_848_960,
    "mistralai/Mistral-Small-3.2-24B-Instruct-2506": 23_572_403_200,
    "mistralai/Ministral-3-8B-Base-2512": 8_489_553_920,
    "microsoft/Phi-4-mini-instruct": 3_836_021_760,
    "moonshotai/Kimi-K2-Instruct": 1_026_408_209_408,
    "zai-org/GLM-4.5": 352_797_814_784,
    "zai-org/GLM-4.5-Air": 106_852_245_504,
    "Qwen/Qwen3-Coder-480B-A35B-Instruct": 480_154_875_392,
    "Qwen/Qwen3-Embedding-0.6B": 595_776_512,
    "Qwen/Qwen3-Next-80B-A3B-Instruct": 79_674_391_296,
    "google/gemma-3-270m": 268_098_176,
    "openai/gpt-oss-20b": 20_914_757_184,
    "openai/gpt-oss-120b": 116_829_156_672,
    "EleutherAI/gpt-j-6b": 6_050_882_784,
    "EleutherAI/gpt-neox-20b": 20_554_567_680,
    "Qwen/Qwen1.5-MoE-A2.7B": 14_315_784_192,
    "Qwen/Qwen2.5-7B-Instruct": 7_615_616_512,
    "Qwen/Qwen3-30B-A3B": 30_532_122_624,
    "Qwen/Qwen3-8B": 8_190_735_360,
    "bigcode/starcoder": 15_517_456_384,
    "bigscience/bloom": 176_247_271_424,
    "deepseek-ai/DeepSeek-V2-Lite": 15_706_484_224,
    "deepseek-ai/DeepSeek-V3": 671_026_404_352,
    "deepseek-ai/DeepSeek-V3.2": 671_877_929_216,
    "facebook/opt-13b": 12_853_473_280,
    "google/gemma-2-9b": 9_241_705_984,
    "google/gemma-3-1b-it": 999_885_952,
    "google/gemma-7b": 8_537_680_896,
    "meta-llama/Llama-2-13b-chat-hf": 13_015_864_320,
    "meta-llama/Llama-3.2-1B": 1_235_814_400,
    "microsoft/Phi-3-mini-4k-instruct": 3_821_079_552,
    "mistralai/Mistral-7B-v0.1": 7_241_732_096,
    "mistralai/Mixtral-8x7B-v0.1": 46_702_792_704,
    "mosaicml/mpt-7b": 6_649_286_656,
    "tiiuae/falcon-40b": 41_303_293_952,
    "tiiuae/falcon-7b": 6_921_720_704,
}


@pytest.mark.parametrize("model_id", COUNTED)
def test_parameters_are_counted_exactly(model_id: str) -> None:
    """
    To the parameter, for every family.
    """
    assert ModelArchitecture.of(model_id).parameter_count == COUNTED[model_id]


def test_every_family_has_a_pinned_count_and_a_model_in_the_catalogue() -> None:
    """
    A family without a model that it was held against could count anything.
    """
    counted = {ModelArchitecture.of(name).model_type for name in COUNTED}
    listed = {ModelArchitecture.of(name).model_type for name in model_names()}

    assert counted == set(FAMILIES)
    assert listed == set(FAMILIES)


@pytest.mark.parametrize(
    ("model_id", "active"),
    [
        ("mistralai/Mixtral-8x7B-v0.1", 12_879_925_248),
        ("Qwen/Qwen3-235B-A22B", 22_190_763_520),
        ("Qwen/Qwen1.5-MoE-A2.7B", 2_689_173_504),
        ("deepseek-ai/DeepSeek-V3", 37_552_282_624),
        ("mistralai/Mistral-7B-v0.1", 7_241_732_096),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", 17_172_894_720),
        ("meta-llama/Llama-4-Maverick-17B-128E-Instruct", 17_184_691_200),
        ("zai-org/GLM-4.5-Air", 13_424_123_904),
        ("moonshotai/Kimi-K2-Instruct", 32_861_477_888),
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", 3_874_929_408),
    ],
)
def test_a_token_passes_some_of_the_experts(model_id: str, active: int) -> None:
    """
    Mixtral's two of eight, Qwen's four of sixty and the shared one.
    """
    assert ModelArchitecture.of(model_id).active_parameter_count == active


@pytest.mark.parametrize(
    ("model_id", "expected"),
    [
        ("meta-llama/Llama-2-13b-hf", 2 * 40 * 40 * 128 * 2),
        ("meta-llama/Llama-2-70b-hf", 2 * 80 * 8 * 128 * 2),
        ("tiiuae/falcon-7b", 2 * 32 * 1 * 64 * 2),
        ("deepseek-ai/DeepSeek-V3", 61 * (512 + 64) * 2),
        ("google/gemma-7b", 2 * 28 * 16 * 256 * 2),
        ("moonshotai/Kimi-K2-Instruct", 61 * (512 + 64) * 2),
        # An indexer's 128 numbers in 8 bits, and a scale of 32.
        ("deepseek-ai/DeepSeek-V3.2", 61 * ((512 + 64) * 2 + 132)),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", 2 * 48 * 8 * 128 * 2),
        ("zai-org/GLM-4.5", 2 * 92 * 8 * 128 * 2),
        ("Qwen/Qwen3-Embedding-8B", 2 * 36 * 8 * 128 * 2),
        ("BAAI/bge-m3", 0),
        ("google/embeddinggemma-300m", 0),
    ],
)
def test_the_cache_of_a_token(model_id: str, expected: int) -> None:
    """
    Keys and values of all heads, of groups, of one, or a latent vector.
    """
    architecture = ModelArchitecture.of(model_id)

    assert architecture.kv_cache_bytes_per_token() == expected
    assert architecture.kv_cache_bytes_per_token(dtype_bytes=1) == expected // 2


def test_a_window_forgets_what_left_it() -> None:
    """
    Mistral v0.1 looks back 4096 tokens in every layer, Gemma 2 in every other one.
    """
    mistral = ModelArchitecture.of("mistralai/Mistral-7B-v0.1")
    gemma = ModelArchitecture.of("google/gemma-2-9b")
    token = mistral.kv_cache_bytes_per_token()

    assert mistral.kv_cache_bytes(1000) == 1000 * token
    assert mistral.kv_cache_bytes(32768) == 4096 * token
    assert gemma.kv_cache_bytes(8192) == (
        (8192 + 4096) * gemma.kv_cache_bytes_per_token() // 2
    )


@pytest.mark.parametrize(
    ("model_id", "degrees"),
    [
        ("meta-llama/Llama-2-13b-hf", {1, 2, 4, 5, 8, 10, 20, 40}),
        ("Qwen/Qwen2.5-7B-Instruct", {1, 2, 4, 28}),
        ("tiiuae/falcon-7b", {1}),
        ("google/gemma-2b", {1, 2, 4, 8}),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", {1, 2, 4, 8, 40}),
        ("zai-org/GLM-4.5", {1, 2, 4, 8, 16, 24, 32, 48}),
        ("BAAI/bge-base-en-v1.5", {1, 2, 3, 4, 6, 12}),
        ("meta-llama/Llama-2-70b-hf", {1, 2, 4, 8, 16, 32, 64}),
    ],
)
def test_degrees_divide_the_heads(model_id: str, degrees: set[int]) -> None:
    """
    Shared heads are split as far as there are any, and copied beyond.
    """
    assert set(ModelArchitecture.of(model_id).tensor_parallel_degrees) == degrees


def test_what_reads_in_chunks_forgets_the_chunk_before() -> None:
    """
    Llama 4 in three layers of four, and the fourth sees everything.
    """
    scout = ModelArchitecture.of("meta-llama/Llama-4-Scout-17B-16E-Instruct")

    assert (scout.sliding_window, scout.windowed_layers) == (8192, 36)
    assert scout.kv_cache_bytes(32768) == (
        (12 * 32768 + 36 * 8192) * scout.kv_cache_bytes_per_token() // 48
    )


@pytest.mark.parametrize(
    ("model_id", "keeps"),
    [
        ("BAAI/bge-reranker-v2-m3", False),
        ("google/embeddinggemma-300m", False),
        ("google/gemma-3-270m", True),
        # It reads from left to right, and engines serve it as they do any Qwen 3.
        ("Qwen/Qwen3-Embedding-8B", True),
    ],
)
def test_an_encoder_keeps_no_cache(model_id: str, keeps: bool) -> None:  # noqa: FBT001 - a column
    """
    However long the text.
    """
    found = ModelArchitecture.of(model_id)

    assert found.keeps_cache is keeps
    assert (found.kv_cache_bytes(1000) > 0) is keeps


@pytest.mark.parametrize(
    ("model_id", "model_type", "name"),
    [
        ("mistralai/Mistral-Small-3.2-24B-Instruct-2506", "mistral3", "Mistral3"),
        ("mistralai/Ministral-3-8B-Base-2512", "mistral3", "Mistral3"),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama4", "Llama4"),
        ("google/gemma-3-27b-it", "gemma3", "Gemma3"),
    ],
)
def test_a_file_of_several_modalities_is_read(
    model_id: str, model_type: str, name: str
) -> None:
    """
    As these are published: the text's part below ``text_config``.
    """
    part = CONFIGS[load("architectures.json")["models"][model_id]]
    given = {
        "architectures": [f"{name}ForConditionalGeneration"],
        "model_type": model_type,
        "text_config": {k: v for k, v in part.items() if k != "architectures"},
        "vision_config": {"hidden_size": 1024, "num_hidden_layers": 24},
    }

    assert ModelArchitecture.from_config(given) == ModelArchitecture.of(model_id)


def test_a_part_is_known_by_its_own_class() -> None:
    """
    Kimi K2.5's file has a class of its own around DeepSeek-V3's.
    """
    part = CONFIGS["kimi-k2"] | {"model_type": "kimi_k2"}
    found = ModelArchitecture.from_config(
        {"architectures": ["KimiK25ForConditionalGeneration"], "text_config": part}
    )
    by_class = ModelArchitecture.from_config(
        {
            "architectures": ["KimiK25ForConditionalGeneration"],
            "text_config": part | {"model_type": "other"},
        }
    )

    assert found.parameter_count == 1_026_408_209_408
    assert found == by_class
    assert found.reads_images


def test_quantized_weights_keep_embeddings_and_pay_for_scales() -> None:
    """
    4 bits, of what is in the blocks, and 20 bits for each group of 128.
    """
    llama = ModelArchitecture.of("meta-llama/Llama-2-70b-hf")
    blocks = llama.quantizable_parameter_count
    rest = llama.parameter_count - blocks

    assert llama.weight_bytes() == 2 * llama.parameter_count
    assert llama.weight_bytes(32) == 4 * llama.parameter_count
    assert llama.weight_bytes(4) == (blocks * 4 + blocks * 20 // 128) // 8 + 2 * rest
    assert rest == 2 * 32000 * 8192 + 161 * 8192
    with pytest.raises(ValueError, match="must be 4, 8, 16 or 32, got 3"):
        llama.weight_bytes(3)


@pytest.mark.parametrize("form", ["object", "text", "path", "path as text"])
def test_a_configuration_is_read_in_every_form(form: str, tmp_path: Path) -> None:
    """
    As an object, as JSON, or from a file.
    """
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA))
    given: Any = {
        "object": LLAMA,
        "text": json.dumps(LLAMA),
        "path": path,
        "path as text": str(path),
    }[form]

    assert ModelArchitecture.from_config(given).parameter_count == 6_738_415_616


def test_the_part_that_reads_text_is_counted() -> None:
    """
    Files of several modalities nest it.
    """
    nested = {
        "architectures": ["Gemma3ForConditionalGeneration"],
        "model_type": "gemma3",
        "text_config": {
            k: v for k, v in CONFIGS["gemma-3-4b"].items() if k != "architectures"
        },
        "vision_config": {"hidden_size": 1152},
    }

    found = ModelArchitecture.from_config(nested)

    assert found.parameter_count == (
        ModelArchitecture.of("google/gemma-3-4b-it").parameter_count
    )


def test_the_class_is_enough_to_know_the_family() -> None:
    """
    Some files have no model_type, others no architectures.
    """
    by_class = {k: v for k, v in LLAMA.items() if k != "model_type"}
    by_type = {k: v for k, v in LLAMA.items() if k != "architectures"}

    assert ModelArchitecture.from_config(by_class).model_type == "llama"
    assert ModelArchitecture.from_config(by_type).architecture == "LlamaForCausalLM"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"architectures": ["MambaForCausalLM"]},
            "'MambaForCausalLM' cannot be counted",
        ),
        ({"architectures": ["Lama3ForCausalLM"]}, "nearest: LlamaForCausalLM"),
        ({"hidden_size": 1}, "neither architectures nor model_type"),
        (
            {**LLAMA, "hidden_size": "4096"},
            "hidden_size in config.json must be a whole",
        ),
        ({**LLAMA, "hidden_size": None}, "config.json has no hidden_size"),
        ({**LLAMA, "tie_word_embeddings": 1}, "must be true or false, got 1"),
        ("{", "config.json is no JSON"),
        ("[{}]", "must hold an object"),
        ("no-such-config.json", "cannot be read"),
    ],
)
def test_fails_if_a_configuration_cannot_be_counted(
    given: dict[str, Any] | str, message: str
) -> None:
    """
    The key, the value got, and the way in.
    """
    with pytest.raises(ValueError, match=message):
        ModelArchitecture.from_config(given)


def test_an_unknown_model_names_the_nearest_and_the_way_in() -> None:
    """
    A typing error, or a model that the catalogue does not have.
    """
    with pytest.raises(ValueError, match=r"mistralai/Mistral-7B-v0\.1.*custom\("):
        ModelArchitecture.of("mistralai/Mistral-7B-v0.9")

    assert find_architecture("org/unknown") is None
    assert find_architecture("MISTRALAI/mistral-7b-V0.1") is not None


def test_a_model_of_which_only_the_size_is_known() -> None:
    """
    Its widths are taken to be large, so that nothing is underrated.
    """
    custom = ModelArchitecture.custom(
        parameters=1_000_000, kv_bytes_per_token=1000, num_attention_heads=12
    )

    assert custom.parameter_count == 1_000_000
    assert custom.kv_cache_bytes_per_token() == 1000
    assert custom.tensor_parallel_degrees == (1, 2, 3, 4, 6, 12)
    assert custom.kv_cache_shards == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kv_bytes_per_token": 0}, "kv_bytes_per_token must be a whole number"),
        ({"parameters": 7e9}, r"at least 1, got 7000000000\.0"),
        ({"num_attention_heads": 0}, "num_attention_heads must be .* got 0"),
        ({"context_length": -1}, "context_length must be .* got -1"),
        ({"active_parameters": 0}, "active_parameters must be .* got 0"),
        ({"active_parameters": 101}, "at most parameters, got active_parameters=101"),
    ],
)
def test_fails_if_a_size_can_be_no_models(wrong: dict[str, Any], message: str) -> None:
    """
    Not silently taken for unknown, nor rounded.
    """
    given: dict[str, Any] = {"parameters": 100, "kv_bytes_per_token": 8, **wrong}

    with pytest.raises(ValueError, match=message):
        ModelArchitecture.custom(**given)


# The promise is about answers: a busy machine may take its time for one.
unhurried = settings(deadline=None)
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 10**6),
    st.text(max_size=8),
    st.lists(st.integers(0, 4), max_size=3),
)


@unhurried
@given(
    st.sampled_from(sorted(CONFIGS)),
    st.dictionaries(
        st.sampled_from(sorted({key for c in CONFIGS.values() for key in c})), values
    ),
)
def test_no_configuration_does_more_than_fail(
    name: str, changed: dict[str, Any]
) -> None:
    """
    Whatever a file says, the answer is a model or a ValueError.
    """
    try:
        found = ModelArchitecture.from_config({**CONFIGS[name], **changed})
    except ValueError:
        return

    assert found.parameter_count >= found.active_parameter_count > 0


@unhurried
@given(st.text())
def test_no_text_does_more_than_fail(text: str) -> None:
    """
    A path that is none, JSON that is none.
    """
    with pytest.raises(ValueError, match=r"."):
        ModelArchitecture.from_config(text)


def kept(architecture: ModelArchitecture) -> int:
    """
    Measure what a sequence of one token keeps: bytes of cache, and numbers of state.
    """
    state = architecture.state_elements_per_sequence
    return architecture.kv_cache_bytes_per_token() + state


@unhurried
@given(st.sampled_from(sorted(CONFIGS)), st.integers(1, 100))
def test_more_layers_are_more_of_everything(name: str, more: int) -> None:
    """
    Parameters grow with the blocks, and what a sequence keeps: the cache, or the state
    of a block that has that in its place; an encoder keeps neither.
    """
    config = CONFIGS[name]
    keys = ("num_hidden_layers", "n_layer", "n_layers")
    key = next(key for key in keys if key in config)
    small = ModelArchitecture.from_config(config)
    large = ModelArchitecture.from_config({**config, key: config[key] + more})

    assert large.parameter_count > small.parameter_count
    if small.keeps_cache:
        assert kept(large) > kept(small)
        assert large.kv_cache_bytes_per_token() >= small.kv_cache_bytes_per_token() > 0


PARTS = {
    "architecture": "X",
    "model_type": "x",
    "parameter_count": 1000,
    "active_parameter_count": 1000,
    # 768 weights are six groups of 128.
    "quantizable_parameter_count": 768,
    "kv_elements_per_token": 40,
    "kv_cache_shards": 2,
    "num_hidden_layers": 4,
    "hidden_size": 8,
    "active_intermediate_size": 16,
    "num_attention_heads": 12,
    "num_key_value_heads": 4,
    "head_dim": 2,
    "vocab_size": 20,
    "context_length": 64,
}


def described(**changed: Any) -> ModelArchitecture:  # noqa: ANN401 - any field
    """
    Return a small model, but for what is said.
    """
    return ModelArchitecture(**{**PARTS, **changed})


@pytest.mark.parametrize(
    ("bits", "size"),
    [
        (32, 4000),
        (16, 2000),
        # 768 * 8 bits, six groups of 16 + 8, and 232 * 16: 6144 + 144 + 3712.
        (8, 1232),
        # 768 * 4 bits, six groups of 16 + 4, and 232 * 16: 3072 + 120 + 3712.
        (4, 863),
    ],
)
def test_the_bytes_of_all_weights(bits: int, size: int) -> None:
    """
    Of a small model, by hand.
    """
    assert described().weight_bytes(bits) == size
    assert described().weight_bytes() == 2000


@pytest.mark.parametrize("bits", [0, 2, 5, 15, 17, 64])
def test_fails_if_there_are_no_such_bits(bits: int) -> None:
    """
    With those that there are.
    """
    with pytest.raises(ValueError, match=f"^weight_bits must be 4, .* 32, got {bits}$"):
        described().weight_bytes(bits)


@pytest.mark.parametrize(
    ("window", "windowed", "tokens", "elements"),
    [
        (None, 0, 100, 4000),
        (30, 4, 100, 1200),
        (30, 1, 100, 3 * 10 * 100 + 10 * 30),
        (30, 1, 30, 1200),
        (30, 1, 29, 1160),
        (30, 1, 31, 3 * 10 * 31 + 10 * 30),
        (30, 0, 100, 4000),
    ],
)
def test_the_cache_of_a_sequence(
    window: int | None, windowed: int, tokens: int, elements: int
) -> None:
    """
    Ten numbers a layer and token, two bytes each unless said.
    """
    model = described(sliding_window=window, windowed_layers=windowed)

    assert model.kv_cache_bytes(tokens) == 2 * elements
    assert model.kv_cache_bytes(tokens, dtype_bytes=1) == elements
    assert model.kv_cache_bytes_per_token() == 80
    assert model.kv_cache_bytes_per_token(dtype_bytes=1) == 40


@pytest.mark.parametrize(
    ("heads", "shared", "degrees"),
    [
        (12, 4, (1, 2, 4, 12)),
        (12, 12, (1, 2, 3, 4, 6, 12)),
        (12, None, (1, 2, 3, 4, 6, 12)),
        (12, 1, (1, 2, 3, 4, 6, 12)),
        (12, 3, (1, 3, 6, 12)),
        (128, 8, (1, 2, 4, 8, 16, 32, 64)),
        (64, 64, (1, 2, 4, 8, 16, 32, 64)),
        (None, 4, (1, 2, 4, 8, 16, 32, 64)),
    ],
)
def test_a_degree_divides_heads_and_groups(
    heads: int | None, shared: int | None, degrees: tuple[int, ...]
) -> None:
    """
    Up to 64; where the heads are not known, any power of two.
    """
    model = described(num_attention_heads=heads, num_key_value_heads=shared)

    assert model.tensor_parallel_degrees == degrees


def test_what_is_taken_of_a_model_of_which_only_the_size_is_known() -> None:
    """
    All of it.
    """
    assert ModelArchitecture.custom(
        parameters=1_000_000, kv_bytes_per_token=1001
    ) == ModelArchitecture(
        architecture="custom",
        model_type="custom",
        parameter_count=1_000_000,
        active_parameter_count=1_000_000,
        quantizable_parameter_count=1_000_000,
        kv_elements_per_token=501,
        kv_cache_shards=1,
        num_hidden_layers=1,
        hidden_size=8192,
        active_intermediate_size=28672,
        num_attention_heads=None,
        num_key_value_heads=None,
        head_dim=128,
        vocab_size=152064,
        context_length=4096,
        sliding_window=None,
        windowed_layers=0,
    )


def test_what_is_said_of_such_a_model_is_kept() -> None:
    """
    Every keyword.
    """
    assert ModelArchitecture.custom(
        parameters=100,
        kv_bytes_per_token=8,
        active_parameters=100,
        num_attention_heads=12,
        num_key_value_heads=4,
        context_length=1,
        architecture="MineForCausalLM",
    ) == ModelArchitecture(
        architecture="MineForCausalLM",
        model_type="custom",
        parameter_count=100,
        active_parameter_count=100,
        quantizable_parameter_count=100,
        kv_elements_per_token=4,
        kv_cache_shards=4,
        num_hidden_layers=1,
        hidden_size=8192,
        active_intermediate_size=28672,
        num_attention_heads=12,
        num_key_value_heads=4,
        head_dim=128,
        vocab_size=152064,
        context_length=1,
    )
    assert (
        ModelArchitecture.custom(
            parameters=100, kv_bytes_per_token=8, active_parameters=7
        ).active_parameter_count
        == 7
    )


def test_a_model_of_which_only_the_size_is_known_has_no_class() -> None:
    """
    Unless it is named.
    """
    sized = ModelArchitecture.custom(parameters=1, kv_bytes_per_token=1)

    assert sized.class_name is None
    assert described().class_name == "X"


WAY_IN = (
    "describe it with ModelArchitecture.custom(parameters=..., kv_bytes_per_token=...)"
)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ModelArchitecture.of("mistralai/Mistral-7B-v0.9"),
            (
                "no model 'mistralai/Mistral-7B-v0.9' in the catalogue; did you mean "
                "mistralai/Mistral-7B-v0.3, mistralai/Mistral-7B-v0.1 or "
                "mistralai/Mixtral-8x7B-v0.1? Else the path of its config.json, or "
                f"{WAY_IN}"
            ),
        ),
        # People leave the organisation out, and write all in lower case.
        (
            lambda: ModelArchitecture.of("qwen3-8b"),
            (
                "no model 'qwen3-8b' in the catalogue; did you mean Qwen/Qwen3-8B, "
                "Qwen/Qwen3-4B or Qwen/Qwen3-32B? Else the path of its config.json, or "
                f"{WAY_IN}"
            ),
        ),
        (
            lambda: ModelArchitecture.of("zzz"),
            (
                "no model 'zzz' in the catalogue; pass the path of its config.json, or "
                f"{WAY_IN}"
            ),
        ),
        (
            lambda: ModelArchitecture.from_config({}),
            f"config.json has neither architectures nor model_type; {WAY_IN}",
        ),
        (
            lambda: ModelArchitecture.from_config(
                {"architectures": ["Lama3ForCausalLM"], "model_type": "lama3"}
            ),
            (
                "architecture 'Lama3ForCausalLM' cannot be counted (nearest: "
                f"LlamaForCausalLM); {WAY_IN}"
            ),
        ),
        (
            lambda: ModelArchitecture.from_config({"model_type": "qwen4"}),
            f"architecture 'qwen4' cannot be counted (nearest: qwen3); {WAY_IN}",
        ),
        (
            lambda: ModelArchitecture.from_config({"model_type": "zzz"}),
            f"architecture 'zzz' cannot be counted; {WAY_IN}",
        ),
        (
            lambda: ModelArchitecture.custom(parameters=0, kv_bytes_per_token=1),
            "parameters must be a whole number of at least 1, got 0",
        ),
        (
            lambda: ModelArchitecture.custom(
                parameters=5, kv_bytes_per_token=1, active_parameters=6
            ),
            (
                "active_parameters must be at most parameters, got active_parameters=6 "
                "and parameters=5"
            ),
        ),
    ],
)
def test_what_is_wrong_is_told_word_for_word(
    call: Callable[[], object], message: str
) -> None:
    """
    With the nearest name, and the way in.
    """
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - compared below
        call()

    assert str(caught.value) == message


SMALL_LLAMA = {
    "hidden_size": 8,
    "intermediate_size": 10,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "vocab_size": 20,
}


@pytest.mark.parametrize(
    ("given", "name", "family"),
    [
        ({"model_type": "llama", **SMALL_LLAMA}, "LlamaForCausalLM", "llama"),
        (
            {
                "architectures": ["MineForCausalLM"],
                "model_type": "llama",
                **SMALL_LLAMA,
            },
            "MineForCausalLM",
            "llama",
        ),
        (
            {
                "architectures": ["LlamaForCausalLM"],
                "model_type": "mine",
                **SMALL_LLAMA,
            },
            "LlamaForCausalLM",
            "llama",
        ),
        (
            {"architectures": ["LlavaX"], "text_config": {"model_type": "mistral"}},
            "LlavaX",
            "mistral",
        ),
        (
            {
                "model_type": "llava",
                "text_config": {
                    "architectures": ["LlamaForCausalLM"],
                    "model_type": "llama",
                },
            },
            "LlamaForCausalLM",
            "llama",
        ),
        ({"model_type": "llama", "text_config": {}}, "LlamaForCausalLM", "llama"),
        (
            {"architectures": ["MistralForCausalLM"], "text_config": {}},
            "MistralForCausalLM",
            "mistral",
        ),
        # The type decides before the class.
        (
            {
                "architectures": ["MistralForCausalLM"],
                "model_type": "llama",
                **SMALL_LLAMA,
            },
            "MistralForCausalLM",
            "llama",
        ),
        # The class of the whole decides where the part's family is not known.
        (
            {
                "architectures": ["LlamaForCausalLM"],
                "text_config": {"model_type": "mine"},
            },
            "LlamaForCausalLM",
            "llama",
        ),
    ],
)
def test_the_family_is_that_of_the_part_that_reads_text(
    given: dict[str, Any], name: str, family: str
) -> None:
    """
    By its type, else by the class, of the part or of the whole.
    """
    found = ModelArchitecture.from_config(given)

    assert (found.architecture, found.model_type) == (name, family)
