"""
The cache of a sequence, as vLLM, SGLang and llama.cpp lay it out.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdk_sagemaker_llm import Assumptions, ModelArchitecture
from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.demand import EngineName
from cdk_sagemaker_llm.fit.cache import sequence_bytes, state_bytes, token_bytes
from cdk_sagemaker_llm.fit.releases import Case, release_of
from cdk_sagemaker_llm.fit.setting import Setting

GEMMA_3_4B = "google/gemma-3-4b-it"
GPT_OSS = "openai/gpt-oss-20b"
SCOUT = "meta-llama/Llama-4-Scout-17B-16E-Instruct"
QWEN3_NEXT = "Qwen/Qwen3-Next-80B-A3B-Instruct"
MISTRAL = "mistralai/Mistral-7B-v0.1"
LLAMA_8B = ModelArchitecture.of("meta-llama/Llama-3.1-8B")


def setting_of(
    model: str,
    context: int,
    version: str | None,
    *,
    engine: EngineName = "vllm",
    degree: int = 1,
    hardware: str = "ml.g6.48xlarge",
    taken: Assumptions | None = None,
) -> Setting:
    """
    Set a model on L4, of which a step takes 2,048 prompt tokens in vLLM.
    """
    return Setting(
        architecture=ModelArchitecture.of(model),
        hardware=find_instance_type(hardware),
        degree=degree,
        weight_bits=None,
        context_length=context,
        assumptions=taken or Assumptions(),
        release=release_of(engine, version),
    )


@pytest.mark.parametrize(
    ("model", "context", "version", "blocks", "group", "layer"),
    [
        # 5 layers without and 29 with a window of 1024: one group of five, and six.
        # A window keeps 1023 + 2048 tokens, which are 192 blocks, and one more.
        (GEMMA_3_4B, 8192, "0.19.0", 512 + 6 * 193, 5, 4096),
        # Two steps are under way: 1023 + 4096 tokens are 320 blocks.
        (GEMMA_3_4B, 8192, "0.20.0", 512 + 6 * 321, 5, 4096),
        # No more than the sequence has.
        (GEMMA_3_4B, 1024, "0.20.0", 64 + 6 * 65, 5, 4096),
        (GEMMA_3_4B, 8192, "0.10.0", 512 + 6 * 193, 5, 4096),
        # 12 and 12, of which a window keeps 127 + 2048 tokens.
        (GPT_OSS, 131072, "0.19.0", 8192 + 137, 12, 2048),
        # 12 without and 36 in chunks of 8192, which begin where a block does.
        (SCOUT, 131072, "0.19.0", 8192 + 3 * 640, 12, 4096),
        (SCOUT, 131072, "0.30.0", 8192 + 3 * 768, 12, 4096),
        # All 32 with a window: one group, 4095 + 2048 tokens.
        (MISTRAL, 32768, "0.19.0", 384 + 1, 32, 4096),
    ],
)
def test_vllm_gives_back_what_left_a_window(
    model: str, context: int, version: str, blocks: int, group: int, layer: int
) -> None:
    """
    From 0.10 on: blocks of 16 tokens of a group of layers.
    """
    found = sequence_bytes(setting_of(model, context, version), Case.CAUTIOUS)

    assert found == blocks * group * 16 * layer


@pytest.mark.parametrize(("version", "keeps_all"), [("0.9.2", True), ("0.10.0", False)])
def test_before_that_it_may_keep_all(version: str, *, keeps_all: bool) -> None:
    """
    35 layers of Gemma 3 4B, with what fills the last group.
    """
    found = setting_of(GEMMA_3_4B, 131072, version)
    whole = 131072 * 35 * 4096

    assert token_bytes(found) == 35 * 4096
    assert (sequence_bytes(found, Case.EXPECTED) == whole) == keeps_all
    assert sequence_bytes(found, Case.EXPECTED) <= whole


def test_at_best_a_window_is_all_that_is_kept() -> None:
    """
    Only what no release can do without is an error.
    """
    found = setting_of(GEMMA_3_4B, 131072, "0.30.0")

    assert sequence_bytes(found, Case.BEST) == (5 * 131072 + 29 * 1024) * 4096


@pytest.mark.parametrize(
    ("version", "windowed", "layers"),
    [
        # Groups of the smaller kind, whose last is filled.
        ("0.11.0", 5, 12),
        # Nine of which the kinds are less than 1.25 apart; then 1.5.
        ("0.12.0", 5, 12),
        ("0.17.1", 5, 12),
        ("0.18.0", 5, 10),
        ("0.18.0", 4, 10),
        ("0.18.0", 6, 9),
    ],
)
def test_kinds_that_are_alike_are_in_groups_of_the_larger(
    version: str, windowed: int, layers: int
) -> None:
    """
    Four and five are a quarter apart, three and six are not alike.
    """
    model = replace(
        LLAMA_8B, num_hidden_layers=9, windowed_layers=windowed, sliding_window=1024
    )
    whole = model.kv_cache_bytes_per_token()
    found = replace(setting_of(GPT_OSS, 4096, version), architecture=model)

    assert token_bytes(found) == whole * layers // 9


@pytest.mark.parametrize(("version", "layers"), [("0.11.0", 12), ("0.12.0", 10)])
def test_less_than_a_quarter_is_alike_since_0_12(version: str, layers: int) -> None:
    """
    Nine and eight of seventeen: eighteen, or three groups of eight.
    """
    model = replace(
        LLAMA_8B, num_hidden_layers=9, windowed_layers=5, sliding_window=1024
    )
    wide = replace(model, num_hidden_layers=17, windowed_layers=9)
    whole = wide.kv_cache_bytes_per_token()
    found = replace(setting_of(GPT_OSS, 4096, version), architecture=wide)

    assert token_bytes(found) == whole * {12: 24, 10: 18}[layers] // 17


@pytest.mark.parametrize(
    ("degree", "block", "layer"),
    # A state of 1,097,728 bytes, and 2048 bytes of a token: 34 times 16 tokens.
    [(1, 544, 2048), (2, 544, 1024), (4, 272, 1024), (8, 144, 1024)],
)
def test_a_state_takes_a_block_of_its_own(degree: int, block: int, layer: int) -> None:
    """
    Qwen3-Next has 12 layers with attention, and three groups of 12 with a state, which
    takes two blocks where equal beginnings are shared.
    """
    found = setting_of(QWEN3_NEXT, 4096, "0.30.0", degree=degree)
    blocks = -(-4096 // block)

    assert sequence_bytes(found, Case.EXPECTED) == (blocks + 3) * 12 * block * layer
    assert sequence_bytes(found, Case.CAUTIOUS) == (blocks + 6) * 12 * block * layer
    assert sequence_bytes(found, Case.BEST) == 4096 * 12 * layer + state_bytes(found)


def test_a_state_keeps_its_format_whatever_the_cache_has() -> None:
    """
    36 layers of 548,864 numbers in 16 bits, and a cache in fp8.
    """
    in_fp8 = Assumptions(kv_cache_dtype_bytes=1)
    found = setting_of(QWEN3_NEXT, 4096, "0.30.0", taken=in_fp8)

    assert state_bytes(found) == 36 * 548_864 * 2
    assert token_bytes(found) == 12 * 1024


def test_a_latent_vector_is_as_long_as_it_is() -> None:
    """
    DeepSeek V3: 61 layers of 576 numbers, on each of the accelerators.
    """
    found = setting_of("deepseek-ai/DeepSeek-V3", 4096, "0.30.0", degree=8)

    for case in Case:
        assert sequence_bytes(found, case) == 4096 * 61 * 576 * 2


@pytest.mark.parametrize(
    ("model", "version", "tokens"),
    [
        # 12 layers with a window have 0.8 of the tokens that the other 12 have.
        (GPT_OSS, "0.5.7", 24 * 2048),
        (GPT_OSS, "0.5.8", int((12 + 0.8 * 12) * 2048)),
        # Gemma 3 has one pool.
        (GEMMA_3_4B, "0.5.23", 34 * 4096),
    ],
)
def test_sglang_has_a_smaller_pool_for_windows(
    model: str, version: str, tokens: int
) -> None:
    """
    Of the classes that it knows.
    """
    found = setting_of(model, 4096, version, engine="sglang")

    assert token_bytes(found) == tokens
    for case in Case:
        assert sequence_bytes(found, case) == 4096 * tokens


def test_sglang_has_another_pool_for_states() -> None:
    """
    A sequence takes none of the cache for it.
    """
    found = setting_of(QWEN3_NEXT, 4096, "0.5.19", engine="sglang")

    assert sequence_bytes(found, Case.CAUTIOUS) == 4096 * 12 * 2048


@pytest.mark.parametrize(
    ("slots", "context", "kept"),
    [
        # 1024 tokens of window a slot, and a step of 512, in whole 256.
        (4, 131072, 4608),
        (1, 131072, 1536),
        (4, 1024, 1024),
        (4, 4600, 4608),
    ],
)
def test_llama_cpp_has_room_for_windows_alone(
    slots: int, context: int, kept: int
) -> None:
    """
    5 layers without and 29 with a window, of 4096 bytes a token.
    """
    taken = Assumptions(max_num_seqs=slots)
    found = setting_of(GEMMA_3_4B, context, None, engine="llama.cpp", taken=taken)
    tokens = -(-context // 16) * 16

    for case in Case:
        assert sequence_bytes(found, case) == (5 * tokens + 29 * kept) * 4096


def test_llama_cpp_keeps_all_of_a_model_with_windows_alone() -> None:
    """
    Mistral is of a family without any there.
    """
    found = setting_of(MISTRAL, 32768, None, engine="llama.cpp")

    assert sequence_bytes(found, Case.BEST) == 32768 * 32 * 4096


def test_llama_cpp_keeps_a_state_in_32_bits_and_splits_by_layers() -> None:
    """
    Whatever the heads are.
    """
    found = setting_of(QWEN3_NEXT, 4096, None, engine="llama.cpp", degree=4)

    assert state_bytes(found) == 36 * 548_864 * 4 // 4
    assert token_bytes(found) == 12 * 2048 // 4


@pytest.mark.parametrize(
    ("bytes_a_number", "tokens"), [(34 / 32, 69632), (18 / 32, 36864)]
)
def test_llama_cpp_has_types_of_the_cache(bytes_a_number: float, tokens: int) -> None:
    """
    65,536 numbers a token of Llama 3.1 8B, in blocks of 32 with a scale.
    """
    taken = Assumptions(kv_cache_dtype_bytes=bytes_a_number)
    found = setting_of(
        "meta-llama/Llama-3.1-8B", 4096, None, engine="llama.cpp", taken=taken
    )

    assert token_bytes(found) == tokens


def test_nothing_is_kept_of_a_text_that_is_embedded() -> None:
    """
    By an encoder in vLLM, and by TEI of a model that could keep it.
    """
    encoder = setting_of("BAAI/bge-large-en-v1.5", 512, "0.30.0")
    decoder = setting_of("Qwen/Qwen3-8B", 4096, None, engine="tei")

    assert sequence_bytes(encoder, Case.CAUTIOUS) == 0
    assert sequence_bytes(decoder, Case.CAUTIOUS) == 0
