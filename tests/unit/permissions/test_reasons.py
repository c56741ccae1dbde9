"""
The table of reasons: nothing is in it twice, and nothing of others is taken for ours.
"""

from __future__ import annotations

from collections import Counter

import pytest

from cdk_sagemaker_llm.permissions import reason_for, reasons


def test_each_action_of_a_statement_has_one_reason() -> None:
    """
    The second one would never be shown.
    """
    counted = Counter((one.sid, action) for one in reasons() for action in one.actions)

    assert [key for key, number in counted.items() if number > 1] == []


def test_each_reason_is_a_sentence_with_a_source() -> None:
    """
    A reader acts on it.
    """
    for one in reasons():
        assert one.actions
        assert all(":" in action and "*" not in action for action in one.actions)
        assert min(len(one.why), len(one.without), len(one.source)) > 10
        assert not one.why.endswith(".")


@pytest.mark.parametrize(
    "sid", ["ReadWeights", "ReadWeights2", "ReadWeights12"], ids=str
)
def test_a_statement_is_known_by_its_name_without_its_number(sid: str) -> None:
    """
    The second of one name has a number.
    """
    found = reason_for(sid, "s3:GetObject")

    assert found is not None
    assert found.why == "reads the model's weights, under their prefix alone"


def test_a_key_by_its_alias_is_used_for_the_same() -> None:
    """
    The statement's name says that the condition names it.
    """
    assert reason_for("DecryptWeightsByAlias2", "kms:Decrypt") == reason_for(
        "DecryptWeights", "kms:Decrypt"
    )


PULLED = "pulls the container's image, of this repository alone"
PUSHED = "copies an image into this repository, and sees what is there already"


@pytest.mark.parametrize(
    ("sid", "action", "why"),
    [
        ("PullImage", "ecr:BatchCheckLayerAvailability", PULLED),
        ("PullImage", "ecr:BatchGetImage", PULLED),
        ("PullImage", "ecr:GetDownloadUrlForLayer", PULLED),
        ("PushImage", "ecr:BatchCheckLayerAvailability", PUSHED),
        ("PushImage", "ecr:BatchGetImage", PUSHED),
        ("PushImage", "ecr:CompleteLayerUpload", PUSHED),
        ("PushImage", "ecr:InitiateLayerUpload", PUSHED),
        ("PushImage", "ecr:PutImage", PUSHED),
        ("PushImage", "ecr:UploadLayerPart", PUSHED),
    ],
)
def test_one_action_has_the_reason_of_its_statement(
    sid: str, action: str, why: str
) -> None:
    """
    An image is read where it is pulled, and where one is pushed.
    """
    found = reason_for(sid, action)

    assert found is not None
    assert found.why == why


@pytest.mark.parametrize(
    ("sid", "action"),
    [
        ("ReadWeights", "s3:PutObject"),
        ("ReadWeightsToo", "s3:GetObject"),
        ("", "s3:GetBucketLocation"),
        ("", "ecr:GetAuthorizationToken"),
        ("ByAlias", "s3:GetObject"),
    ],
)
def test_what_others_allow_has_no_reason(sid: str, action: str) -> None:
    """
    The same name does not make it ours, nor does the same action.
    """
    assert reason_for(sid, action) is None


@pytest.mark.parametrize(
    ("action", "beside"),
    [
        ("s3:GetObject", "sagemaker:InvokeEndpointAsync"),
        ("kms:Decrypt", "sagemaker:InvokeEndpointAsync"),
        ("ssm:GetParameter", "sagemaker:InvokeEndpoint"),
        (
            "application-autoscaling:RegisterScalableTarget",
            "sagemaker:UpdateInferenceComponentRuntimeConfig",
        ),
    ],
)
def test_what_anybody_may_grant_is_ours_beside_our_own(
    action: str, beside: str
) -> None:
    """
    A principal that asks no model reads no parameter for us.
    """
    assert reason_for("", action) is None
    assert reason_for("", action, {"sagemaker:DescribeEndpoint"}) is None
    assert reason_for("", action, {beside}) is not None
