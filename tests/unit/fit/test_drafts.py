"""
What a draft model takes beside the model that it drafts for.
"""

from __future__ import annotations

from functools import partial

import pytest

from cdk_sagemaker_llm.fit import DraftModel, EngineName, plan

EIGHT, SMALL = "Qwen/Qwen3-8B", "Qwen/Qwen3-0.6B"
G5 = "ml.g5.12xlarge"
RELEASE = "0.17.0"
# 596,049,920 parameters in two bytes, and the best case counts nothing beyond.
WEIGHTS = 1_192_099_840
# 28 layers and 36, 8 heads of 128, key and value, in 16 bits.
TOKEN_OF_DRAFT, TOKEN_OF_MODEL = 114_688, 147_456


@pytest.mark.parametrize(
    ("degree", "over", "weights", "token"),
    [
        (1, None, WEIGHTS, TOKEN_OF_MODEL + TOKEN_OF_DRAFT),
        # Over as many accelerators as the model.
        (2, None, WEIGHTS // 2, (TOKEN_OF_MODEL + TOKEN_OF_DRAFT) // 2),
        (2, 2, WEIGHTS // 2, (TOKEN_OF_MODEL + TOKEN_OF_DRAFT) // 2),
        # One accelerator has all of it.
        (2, 1, WEIGHTS, TOKEN_OF_MODEL // 2 + TOKEN_OF_DRAFT),
    ],
)
def test_its_weights_and_its_cache_are_counted(
    degree: int, over: int | None, weights: int, token: int
) -> None:
    """
    Of each accelerator; the rest is as without it.
    """
    planned = partial(plan, EIGHT, G5, engine_version=RELEASE)
    alone = planned(tensor_parallel_degree=degree)
    draft = DraftModel(SMALL, over)
    both = planned(tensor_parallel_degree=degree, draft=draft)

    assert both.best.terms.draft == weights
    assert both.best.terms.kv_cache == 4096 * token
    assert both.best.terms.weights == alone.best.terms.weights
    assert both.best.kv_cache_room == alone.best.kv_cache_room - weights
    assert both.best.kv_cache_tokens == both.best.kv_cache_room // (16 * token) * 16
    assert alone.best.terms.draft == 0


def test_its_weights_may_be_quantized() -> None:
    """
    Beside a model that is not.
    """
    draft = DraftModel(SMALL, weight_bits=8)
    found = plan(EIGHT, G5, engine_version=RELEASE, draft=draft)

    assert 0.5 < found.best.terms.draft / WEIGHTS < 0.7


def test_the_plan_says_what_it_takes() -> None:
    """
    In a line of its own, and in that of the cache.
    """
    planned = partial(plan, EIGHT, G5, engine_version=RELEASE)
    text = planned(tensor_parallel_degree=2, draft=DraftModel(SMALL)).explain()

    assert (
        "  draft model                   0.56      0.61      0.71  "
        "Qwen3ForCausalLM, 596,049,920 parameters, split over 2\n"
    ) in text
    assert "0.50  4096 tokens, split over 2, with the draft model's\n" in text
    assert "not counted" not in text


@pytest.mark.parametrize(
    ("draft", "engine"),
    [
        (DraftModel("somebody/draft"), "vllm"),
        (DraftModel("eagle3", is_model=False), "vllm"),
        # The model's own heads are named by the model (multi-token prediction).
        (DraftModel(EIGHT), "vllm"),
        (DraftModel(SMALL), "sglang"),
    ],
    ids=["unknown", "heads", "the model itself", "another engine"],
)
def test_what_is_not_counted_is_named(draft: DraftModel, engine: EngineName) -> None:
    """
    The figures are those of the model alone.
    """
    alone = plan(EIGHT, G5, engine=engine)
    found = plan(EIGHT, G5, engine=engine, draft=draft)

    assert found.cautious == alone.cautious
    assert found.explain() == (
        f"{alone.explain()}\nnot counted: what drafts tokens, {draft.name}"
    )


@pytest.mark.parametrize(
    ("over", "fits"), [(None, False), (1, True)], ids=["over all", "over one"]
)
def test_its_heads_must_be_split_too(over: int | None, *, fits: bool) -> None:
    """
    Qwen2.5-0.5B has 14 of them, and one accelerator has them all.
    """
    found = plan(
        "Qwen/Qwen2.5-72B-Instruct",
        "ml.p4d.24xlarge",
        tensor_parallel_degree=8,
        draft=DraftModel("Qwen/Qwen2.5-0.5B-Instruct", over),
    )

    assert found.fits is fits
    words = "8 does not divide the 14 attention heads of the draft model"
    assert found.obstacle == ("" if fits else words)


def test_more_accelerators_are_taken_for_both() -> None:
    """
    One A10G holds the model's cache of a long sequence, and not the draft's as well.
    """
    planned = partial(plan, EIGHT, G5, context_length=20_000, engine_version=RELEASE)

    assert planned().tensor_parallel_degree == 1
    found = planned(draft=DraftModel(SMALL))
    assert found.tensor_parallel_degree == 2
    assert found.fits


def test_fails_if_it_is_no_draft_model() -> None:
    """
    A name alone says too little.
    """
    with pytest.raises(ValueError, match="draft must be a DraftModel"):
        plan(EIGHT, G5, draft=SMALL)  # type: ignore[arg-type] # what is refused
