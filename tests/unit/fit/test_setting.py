"""
What a setting makes of an engine's release: steps, numbers, and freed windows.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.demand import Assumptions, EngineName
from cdk_sagemaker_llm.fit.cache import sequence_bytes
from cdk_sagemaker_llm.fit.releases import Case, Range, release_of
from cdk_sagemaker_llm.fit.setting import Setting

GEMMA, LLAMA_4 = "google/gemma-3-1b-it", "meta-llama/Llama-4-Scout-17B-16E-Instruct"


def setting(
    model: str,
    engine: EngineName,
    *,
    weight_bits: int | None = None,
    context_length: int = 32768,
    batched: int | None = None,
) -> Setting:
    """
    Return a model's setting on one L40S.
    """
    return Setting(
        architecture=ModelArchitecture.of(model),
        hardware=find_instance_type("ml.g6e.2xlarge"),
        degree=1,
        weight_bits=weight_bits,
        context_length=context_length,
        assumptions=Assumptions(max_num_batched_tokens=batched),
        release=release_of(engine, "0.30.0" if engine == "vllm" else None),
        gguf_type=None,
    )


def test_tei_takes_little_of_the_host_and_keeps_no_cache() -> None:
    """
    Its batches have 16,384 tokens.
    """
    tei = release_of("tei", None)

    assert tei.host_gib == Range(0.3, 1, 2)
    assert (tei.prefill_tokens, tei.keeps_cache) == (16384, False)


@pytest.mark.parametrize(
    ("model", "engine", "batched", "length", "tokens"),
    [
        ("BAAI/bge-m3", "tei", None, 512, 16384),
        ("BAAI/bge-m3", "tei", 256, 512, 256),
        ("Qwen/Qwen3-0.6B", "llama.cpp", None, 100, 100),
        ("Qwen/Qwen3-0.6B", "llama.cpp", None, 513, 512),
        ("Qwen/Qwen3-0.6B", "llama.cpp", 64, 100, 64),
    ],
)
def test_a_step_is_no_longer_than_a_sequence_that_is_kept(
    model: str, engine: EngineName, batched: int | None, length: int, tokens: int
) -> None:
    """
    Of a batch of embeddings nothing is kept: many texts are in it.
    """
    given = setting(model, engine, batched=batched, context_length=length)

    assert given.prefill_tokens == tokens


@pytest.mark.parametrize(
    ("engine", "bits", "size"), [("tei", 16, 2), ("tei", 32, 4), ("vllm", 32, 4)]
)
def test_what_is_in_full_is_computed_in_full(
    engine: EngineName, bits: int, size: int
) -> None:
    """
    Four bytes of a number then.
    """
    assert setting("BAAI/bge-m3", engine, weight_bits=bits).computed_bytes == size


@pytest.mark.parametrize(
    ("model", "batched", "size"),
    [
        # Of 26 layers in groups of 4, one group keeps 1,250 blocks, and six keep the
        # window of 512 and a step: 160 blocks, and one that a block begins in.
        (GEMMA, 2049, (1250 + 6 * 161) * 4 * 16 * 1024),
        (GEMMA, 2050, (1250 + 6 * 162) * 4 * 16 * 1024),
        # A chunk of 8,192 begins where a block does.
        (LLAMA_4, 2048, (1250 + 3 * 640) * 12 * 16 * 4096),
        (LLAMA_4, 2049, (1250 + 3 * 641) * 12 * 16 * 4096),
    ],
)
def test_windows_are_freed_by_blocks(model: str, batched: int, size: int) -> None:
    """
    To the token.
    """
    given = setting(model, "vllm", batched=batched)

    assert sequence_bytes(given, Case.EXPECTED, 20000) == size
