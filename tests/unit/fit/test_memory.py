"""
What a copy needs of each accelerator.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdk_sagemaker_llm import ModelArchitecture
from cdk_sagemaker_llm.catalog.architectures import model_names
from cdk_sagemaker_llm.fit import Assumptions
from cdk_sagemaker_llm.fit.memory import (
    BLOCK_TOKENS,
    GIB,
    MemoryTerms,
    memory_terms,
    sequence_bytes,
    token_bytes,
)

USUAL = Assumptions()
LLAMA = ModelArchitecture.of("meta-llama/Llama-2-70b-hf")
DEEPSEEK = ModelArchitecture.of("deepseek-ai/DeepSeek-V3")
FALCON = ModelArchitecture.of("tiiuae/falcon-7b")


def terms_of(
    model: ModelArchitecture = LLAMA,
    degree: int = 8,
    context: int = 4096,
    taken: Assumptions = USUAL,
) -> MemoryTerms:
    """
    Count with what is usual.
    """
    return memory_terms(
        model,
        tensor_parallel_degree=degree,
        weight_bits=16,
        context_length=context,
        assumptions=taken,
    )


def test_weights_and_heads_are_split() -> None:
    """
    Llama 2 70B on eight: an eighth of the weights, one of eight heads.
    """
    found = terms_of()

    assert found.weights == 68_976_648_192 * 2 // 8
    assert found.kv_cache == 4096 * 2 * 80 * 128 * 2


@pytest.mark.parametrize(
    ("model", "degree", "share"),
    [(LLAMA, 8, 8), (LLAMA, 16, 8), (FALCON, 4, 1), (DEEPSEEK, 8, 1)],
)
def test_heads_are_copied_beyond_their_number(
    model: ModelArchitecture, degree: int, share: int
) -> None:
    """
    One head, or a latent vector, is on every accelerator.
    """
    whole = model.kv_cache_bytes_per_token()

    assert token_bytes(model, degree, USUAL) == whole // share


def test_a_cache_is_kept_in_whole_blocks() -> None:
    """
    One token more takes a block more.
    """
    block = BLOCK_TOKENS * token_bytes(LLAMA, 8, USUAL)

    assert sequence_bytes(LLAMA, 8, 1, USUAL) == block
    assert sequence_bytes(LLAMA, 8, 16, USUAL) == block
    assert sequence_bytes(LLAMA, 8, 17, USUAL) == 2 * block


def test_a_window_is_not_deducted() -> None:
    """
    Not every engine forgets what left it.
    """
    mistral = ModelArchitecture.of("mistralai/Mistral-7B-v0.1")

    assert sequence_bytes(mistral, 1, 32768, USUAL) == (
        32768 * mistral.kv_cache_bytes_per_token()
    )


def test_only_a_split_copy_pays_for_collectives() -> None:
    """
    One accelerator has nobody to talk to.
    """
    single = terms_of(degree=1).runtime

    assert terms_of(degree=2).runtime - single == int(1.1 * GIB) - int(0.6 * GIB)


def test_a_long_prompt_is_worked_off_in_pieces() -> None:
    """
    Activations stop growing with the context at what one step takes.
    """
    model = ModelArchitecture.of("meta-llama/Llama-3.1-8B")

    assert terms_of(model, context=8192).activations == (
        terms_of(model, context=131072).activations
    )
    assert terms_of(model, context=100).activations < (
        terms_of(model, context=8192).activations
    )


models = st.sampled_from(model_names()).map(ModelArchitecture.of)
degrees = st.sampled_from([1, 2, 4, 8])


@given(models, degrees, st.integers(1, 2048), st.integers(0, 2048))
def test_no_term_shrinks_with_the_context(
    model: ModelArchitecture, degree: int, context: int, more: int
) -> None:
    """
    A longer sequence never takes less of anything.
    """
    short = terms_of(model, degree, context).items()
    long = terms_of(model, degree, context + more).items()

    assert all(short[name] <= long[name] for name in short)


@given(models, degrees, st.integers(1, 4096))
def test_the_terms_are_the_total(
    model: ModelArchitecture, degree: int, context: int
) -> None:
    """
    Nothing is counted that is not shown.
    """
    found = terms_of(model, degree, context)

    assert sum(found.items().values()) == found.total
    assert found.total == found.fixed + found.cuda_graphs + found.kv_cache


@given(models, st.floats(0, 16), st.floats(0, 16))
def test_an_override_is_what_is_counted(
    model: ModelArchitecture, runtime: float, graphs: float
) -> None:
    """
    In GiB of one accelerator.
    """
    taken = replace(USUAL, runtime_gib=runtime, cuda_graphs_gib=graphs)
    found = terms_of(model, degree=1, taken=taken)

    assert found.runtime == int(runtime * GIB)
    assert found.cuda_graphs == int(graphs * GIB)
