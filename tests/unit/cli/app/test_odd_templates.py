"""
Odd values in a template are told of, and never end in a traceback.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdk_sagemaker_llm.cli.app.simulated import read_hosted
from cdk_sagemaker_llm.cli.app.template_shapes import AssemblyError
from tests.unit.cli.app.templates import (
    COPIES,
    Resources,
    components,
    stepping,
    target,
    template,
    tracking,
)

WHOLE: Resources = {
    **components(
        ManagedInstanceScaling={
            "Status": "ENABLED",
            "MinInstanceCount": 0,
            "MaxInstanceCount": 3,
            "ScaleInPolicy": {"Strategy": "CONSOLIDATION", "CooldownInMinutes": 10},
        },
        RoutingConfig={"RoutingStrategy": "RANDOM"},
    ),
    **target(
        "inference-component/${Llama.InferenceComponentName}",
        COPIES,
        ScheduledActions=[
            {
                "ScheduledActionName": "x",
                "Schedule": "rate(1 hour)",
                "ScalableTargetAction": {"MinCapacity": 1},
            }
        ],
        SuspendedState={"DynamicScalingInSuspended": True},
    ),
    **tracking(DisableScaleIn=False),
    **stepping(),
}
ODD: list[Any] = [
    None,
    True,
    -1,
    1.5,
    1e308,
    "",
    "${",
    [],
    {},
    [1, 2],
    {"Ref": "x"},
    {"Ref": "AWS::NoValue"},
    {"Fn::Select": [9, []]},
    {"Fn::Split": [1, 2]},
    {"Fn::Sub": ["${a}", {"a": [1]}]},
    {"Fn::If": ["c"]},
    {"Fn::FindInMap": [1, [2], {"a": 1}]},
]


def places(value: object, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """
    Return the way to every value in a template.
    """
    if way:
        yield way
    inner = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else inner
    for key, each in items:
        yield from places(each, (*way, key))


@given(way=st.sampled_from(list(places(WHOLE))), odd=st.sampled_from(ODD))
def test_an_odd_value_anywhere_is_no_crash(
    way: tuple[Any, ...], odd: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """
    The template is read, or refused as what it is.
    """
    resources = copy.deepcopy(WHOLE)
    holder: Any = resources
    for key in way[:-1]:
        holder = holder[key]
    holder[way[-1]] = copy.deepcopy(odd)

    try:
        found = read_hosted(template(tmp_path_factory.mktemp("odd"), resources))
    except AssemblyError as fault:
        assert str(fault)  # noqa: PT017 - either answer is one
    else:
        assert all(isinstance(why, str) for why in found.left_out)
        json.dumps(found.left_out)


def test_the_whole_template_is_read(tmp_path: Path) -> None:
    """
    Nothing of it is left out before it is made odd.
    """
    found = read_hosted(template(tmp_path, WHOLE))

    assert found.left_out == ()
    (one,) = found.variants
    assert one.models[0].scaling is not None
    assert len(one.models[0].scaling.policies) == 2
