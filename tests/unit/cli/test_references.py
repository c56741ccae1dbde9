"""
References: followed as far as the app goes, and no further.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.cli.app.assembly import Stack
from cdk_sagemaker_llm.cli.app.intrinsics import evaluate, resolve

MODEL: dict[str, Any] = {"Type": "AWS::SageMaker::Model"}


def nested() -> tuple[Stack, Stack]:
    """
    Return a stack, and one that is nested in it.
    """
    outer = Stack("Outer", Path(), {"Mine": MODEL, "Child": {}})
    inner = Stack(
        "Outer/Child",
        Path(),
        {"Theirs": MODEL},
        outputs={
            "Name": {"Value": {"Ref": "Theirs"}},
            "Back": {"Value": {"Ref": "Given"}},
            "Bad": "text",
        },
        parent=outer,
        parameters={
            "Given": {"Ref": "Mine"},
            "Round": {"Fn::GetAtt": "Child.Outputs.Loop"},
        },
    )
    inner.outputs["Loop"] = {"Value": {"Ref": "Round"}}  # type: ignore[index] # ours
    outer.nested["Child"] = inner
    outer.exports["Shared"] = inner, {"Ref": "Theirs"}
    return outer, inner


@pytest.mark.parametrize(
    ("is_inner", "value", "found"),
    [
        (False, {"Ref": "Mine"}, "Outer/Mine"),
        (False, {"Fn::GetAtt": ["Mine", "ModelName"]}, "Outer/Mine"),
        (False, {"Fn::Sub": "${Mine.ModelName}"}, "Outer/Mine"),
        (False, {"Fn::Sub": "x-${Mine}"}, None),
        (False, {"Fn::GetAtt": ["Child", "Outputs.Name"]}, "Outer/Child/Theirs"),
        (False, {"Fn::GetAtt": "Child.Outputs.Name"}, "Outer/Child/Theirs"),
        (False, {"Fn::GetAtt": "Child.Outputs.Back"}, "Outer/Mine"),
        (True, {"Ref": "Given"}, "Outer/Mine"),
        (True, {"Ref": "Theirs"}, "Outer/Child/Theirs"),
        (False, {"Fn::ImportValue": "Shared"}, "Outer/Child/Theirs"),
        # What leads nowhere, or round and round.
        (False, {"Fn::ImportValue": "Other"}, None),
        (False, {"Fn::GetAtt": "Child.Outputs.Missing"}, None),
        (False, {"Fn::GetAtt": "Child.Outputs.Bad"}, None),
        (False, {"Fn::GetAtt": "Child.Outputs.Loop"}, None),
        (False, {"Fn::GetAtt": "Mine.Outputs.Name"}, None),
        (True, {"Ref": "Mine"}, None),
        (False, {"Ref": "Given"}, None),
        (False, "Mine", None),
        (False, None, None),
    ],
)
def test_a_reference_is_followed(
    value: object,
    found: str | None,
    *,
    is_inner: bool,
) -> None:
    """
    Through parameters, outputs and exports.
    """
    outer, inner = nested()

    assert resolve(inner if is_inner else outer, value) == found


def test_a_resource_is_one_of_one_stack() -> None:
    """
    Two stacks may use one logical id.
    """
    outer, inner = nested()
    other = Stack("Other", Path(), {"Mine": MODEL})

    assert resolve(inner, {"Ref": "Given"}) == "Outer/Mine"
    assert resolve(other, {"Ref": "Mine"}) == "Other/Mine"
    assert resolve(outer, "Mine") is None


def test_text_names_what_is_meant_in_full() -> None:
    """
    So that two ways to one resource read alike.
    """
    outer, inner = nested()

    def way(name: str) -> dict[str, Any]:
        return {"Fn::Join": ["/", ["endpoint", {"Ref": name}, "variant"]]}

    assert evaluate(outer, way("Mine")) == "endpoint/${Outer/Mine}/variant"
    assert evaluate(inner, way("Given")) == "endpoint/${Outer/Mine}/variant"
    assert evaluate(outer, way("Else")) == "endpoint/${Else}/variant"
    assert evaluate(outer, {"Fn::Join": ["", {"Ref": "List"}]}) == "${List}"
    assert evaluate(outer, "plain") == "plain"
