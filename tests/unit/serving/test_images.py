"""
Whether an image exists, and whether its family is still released.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.serving.images import image_findings

ARCHIVED = "Text Generation Inference was archived in 2026-03"


@pytest.mark.parametrize(
    ("family", "version", "reason"),
    [
        (
            "djl-tensorrtllm",
            "0.26.0",
            "no TensorRT-LLM image was released after LMI 0.33.0",
        ),
        (
            "djl-deepspeed",
            "0.27.0",
            "no DeepSpeed image was released after LMI 0.27.0",
        ),
        ("djl-neuronx", "0.29.0", "no NeuronX image was released after LMI 0.30.0"),
        (
            "djl-fastertransformer",
            "0.24.0",
            "no FasterTransformer image was released after 0.24.0",
        ),
        ("huggingface-llm", "3.3.6", ARCHIVED),
        ("huggingface-llm-neuronx", "0.0.28", ARCHIVED),
    ],
)
def test_warns_of_a_family_that_has_ended(
    family: str, version: str, reason: str
) -> None:
    """
    Why, and what to use instead.
    """
    assert [str(f) for f in image_findings(family, version)] == [
        (
            f"LLM201 {family} {version} gets no fixes any more: {reason}; use vLLM on "
            f"a "
            "current LMI image for new work"
        )
    ]


def test_a_family_that_is_released_is_not_doubted() -> None:
    """
    LMI's own.
    """
    assert image_findings("djl-lmi", "0.36.0") == []


@pytest.mark.parametrize(
    ("family", "version", "expected"),
    [
        (
            "djl-deepspeed",
            "0.28.0",
            (
                "LLM102 image djl-deepspeed has no version '0.28.0'; use 0.27.0, "
                "0.26.0 or 0.25.0"
            ),
        ),
        (
            "djl-lmy",
            "0.28.0",
            (
                "LLM102 unknown container family 'djl-lmy'; use djl-deepspeed, "
                "djl-fastertransformer, djl-lmi, djl-neuronx, djl-tensorrtllm, "
                "huggingface-llm, huggingface-llm-neuronx, huggingface-sglang or "
                "huggingface-vllm"
            ),
        ),
    ],
)
def test_fails_if_there_is_no_such_image(
    family: str, version: str, expected: str
) -> None:
    """
    The catalogue's own words.
    """
    assert [str(f) for f in image_findings(family, version)] == [expected]
