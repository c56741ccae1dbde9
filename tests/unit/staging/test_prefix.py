"""
What a stack asks for, as its custom resource says it.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.staging.prefix import StagedPrefix

PROPERTIES = {
    "Bucket": "bucket",
    "Base": "models/it",
    "Handle": "https://handle",
    "Keep": "true",
    "Project": "project",
    "Order": "{}",
}
EVENT: dict[str, object] = {
    "StackId": "stack/1",
    "LogicalResourceId": "Start",
    "ResourceProperties": PROPERTIES,
    "OldResourceProperties": {**PROPERTIES, "Keep": "false", "Base": "old"},
}


def test_a_wish_is_read_from_an_event() -> None:
    """
    All keys stand beside one another, and the mark is the stack's and resource's own.
    """
    wanted = StagedPrefix.of(EVENT, "ResourceProperties")

    assert wanted == StagedPrefix(
        bucket="bucket",
        base="models/it",
        handle="https://handle",
        keeps=True,
        project="project",
        order="{}",
        owner="ebd4338daf31f450",
    )
    assert wanted.prefix == "models/it/"
    assert wanted.manifest == "models/it.json"
    assert wanted.mark == "models/it.owners/ebd4338daf31f450"
    assert wanted.jobs == "models/it.jobs/"
    assert wanted.uri == "s3://bucket/models/it/"


def test_owners_are_told_apart() -> None:
    """
    By their stacks, and by their resources in one.
    """
    others = (
        EVENT,
        {**EVENT, "StackId": "stack/2"},
        {**EVENT, "LogicalResourceId": "Other"},
    )

    assert len({StagedPrefix.of(one, "ResourceProperties").mark for one in others}) == 3


def test_what_was_before_is_read_likewise() -> None:
    """
    And a project may be left out.
    """
    old = dict(PROPERTIES, Keep="false", Base="old")
    del old["Project"]
    wanted = StagedPrefix.of(
        {**EVENT, "OldResourceProperties": old}, "OldResourceProperties"
    )

    assert (wanted.base, wanted.keeps, wanted.project) == ("old", False, "")


def test_fails_if_properties_are_none() -> None:
    """
    The stack's event then says what it got.
    """
    with pytest.raises(
        TypeError, match="^ResourceProperties must be an object, got 'a'"
    ):
        StagedPrefix.of({**EVENT, "ResourceProperties": "a"}, "ResourceProperties")
