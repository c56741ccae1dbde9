"""
What is scaled, which number of it, and by policies of which names.
"""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import Aws, Duration, Stack

from cdk_sagemaker_llm import ScalableTarget

INSTANCES = "sagemaker:variant:DesiredInstanceCount"
COPIES = "sagemaker:inference-component:DesiredCopyCount"
VARIANT = "endpoint/chat/variant/Blue"
METRIC = "SageMakerVariantInvocationsPerInstance"


def target(stack: Stack, **changes: Any) -> ScalableTarget:  # noqa: ANN401 - any argument
    """
    Define a target with some arguments changed.
    """
    usual: dict[str, Any] = {
        "resource_id": VARIANT,
        "scalable_dimension": INSTANCES,
        "min_capacity": 1,
        "max_capacity": 2,
    }
    return ScalableTarget(stack, "It", **{**usual, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"resource_id": f"endpoint/{Aws.STACK_NAME}/variant/Blue"},
        {"scalable_dimension": COPIES, "resource_id": "inference-component/gpt-1"},
        {"scalable_dimension": Aws.STACK_NAME, "resource_id": "anything"},
        {"scalable_dimension": "sagemaker:variant:DesiredProvisionedConcurrency"},
        {"max_capacity": 2**31 - 1},
    ],
)
def test_takes_what_the_service_scales(stack: Stack, changes: dict[str, Any]) -> None:
    """
    Or what only deployment knows.
    """
    assert target(stack, **changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"resource_id": ""}, "LLM106 resource_id must be such as endpoint/<name>/var"),
        ({"resource_id": "endpoint/chat"}, "got 'endpoint/chat'"),
        ({"resource_id": "endpoint/a b/variant/c"}, "got 'endpoint/a b/variant/c'"),
        ({"scalable_dimension": COPIES}, "such as inference-component/<name> for"),
        ({"scalable_dimension": "copies"}, "LLM106 scalable_dimension must be sagema"),
        ({"max_capacity": 2**31}, "LLM105 max_capacity must be at most 2147483647"),
    ],
)
def test_fails_for_what_is_not_scaled(
    stack: Stack, changes: dict[str, Any], words: str
) -> None:
    """
    Application Auto Scaling would say so in the middle of a deployment.
    """
    with pytest.raises(ValueError, match=r"^Test/It: LLM10") as caught:
        target(stack, **changes)

    assert words in str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["", "a\nb", "a\0b", "a" * 257, Aws.STACK_NAME],
    ids=["empty", "line feed", "NUL", "too long", "token"],
)
def test_fails_if_a_policy_cannot_have_a_name(stack: Stack, name: str) -> None:
    """
    Which is its id.
    """
    scaling = target(stack)
    words = "the id of a policy must be known at synth, and 1 to 256 printable"
    with pytest.raises(ValueError, match=words):
        scaling.scale_to_track_metric(name, predefined_metric=METRIC, target_value=1)

    assert scaling.scale_to_track_metric(
        "é" * 100, predefined_metric=METRIC, target_value=1
    )


def test_fails_for_a_metric_that_is_not_predefined(stack: Stack) -> None:
    """
    The one that was meant is named.
    """
    scaling = target(stack)
    with pytest.raises(ValueError, match=f"LLM106 .* use {METRIC}"):
        scaling.scale_to_track_metric(
            "It", predefined_metric=f"{METRIC}s", target_value=1
        )


def test_fails_if_a_cooldown_is_longer_than_the_service_counts(stack: Stack) -> None:
    """
    In seconds.
    """
    with pytest.raises(ValueError, match="LLM129 scale_in_cooldown must be at most"):
        target(stack).scale_to_track_metric(
            "It",
            predefined_metric=METRIC,
            target_value=1,
            scale_in_cooldown=Duration.seconds(2**31),
        )
