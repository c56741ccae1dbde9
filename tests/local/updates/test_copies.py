"""
Updates of inference components, with requests under way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.local.updates.traffic import Traffic
from tests.local.updates.versions_app import FIRST, NEW, OLD
from tests.local.waiting import until

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local.aws.untyped import Untyped
    from tests.local.updates.conftest import Team


@pytest.fixture(name="team", scope="module")
def _deployed(team: Team) -> Team:
    """
    Both tests go on from one deployment, in either order.
    """
    team.must_deploy("Copies", FIRST)
    return team


def copies(team: Team, name: str) -> tuple[int, int]:
    """
    Return how many copies a component runs, and how many it should.
    """
    running = team.component(name)["RuntimeConfig"]
    return running["CurrentCopyCount"], running["DesiredCopyCount"]


def scale(team: Team, name: str, count: int) -> None:
    """
    Set how many copies run, by the call that Application Auto Scaling makes.
    """
    team.sagemaker.update_inference_component_runtime_config(
        InferenceComponentName=name, DesiredRuntimeConfig={"CopyCount": count}
    )
    until(lambda: copies(team, name) == (count, count) and _is_settled(team, name))


@pytest.mark.whole
def test_updates_lose_no_request_and_keep_what_scaling_has_reached(team: Team) -> None:
    """
    Eight copies get a new image in batches, scaled ones a new option, a third
    component more copies, and scaling and the host other bounds: the whole host moves.
    """
    assert copies(team, "eight") == (8, 8)
    assert f"tgi{OLD}" in _container(team, "eight")["Image"]
    scale(team, "scaled", 4)
    model = team.component("more")["Specification"]["ModelName"]

    with Traffic(
        team.aws, ("shared", "eight"), ("shared", "scaled"), ("shared", "more")
    ) as traffic:
        second = replace(
            FIRST, tgi=NEW, tokens=1024, most=6, hosts=5, copies=3, is_retained=True
        )
        team.must_deploy("Copies", second)

    assert copies(team, "eight") == (8, 8)
    assert f"tgi{NEW}" in _container(team, "eight")["Image"]
    assert copies(team, "scaled") == (4, 4)
    variables = _container(team, "scaled")["Environment"]
    assert variables["MAX_TOTAL_TOKENS"] == "1024"
    assert copies(team, "more") == (3, 3)
    assert team.component("more")["Specification"]["ModelName"] == model
    (bounds,) = team.aws.client("application-autoscaling").describe_scalable_targets(
        ServiceNamespace="sagemaker", ResourceIds=["inference-component/scaled"]
    )["ScalableTargets"]
    assert (bounds["MinCapacity"], bounds["MaxCapacity"]) == (2, 6)
    (variant,) = team.endpoint("shared")["ProductionVariants"]
    assert variant["ManagedInstanceScaling"]["MaxInstanceCount"] == 5
    assert traffic.refused == []
    assert min(traffic.answered.values()) > 10


@pytest.mark.whole
def test_a_number_of_copies_in_the_template_undoes_what_scaling_has_reached(
    team: Team,
) -> None:
    """
    What the CloudFormation of AWS does is not documented; here it is the worst of what
    it may do, and ``retain_copy_count`` is the way past, as above.
    """
    scale(team, "scaled", 4)

    team.must_deploy("Copies", replace(FIRST, tokens=2048))

    assert copies(team, "scaled") == (2, 2)


def _is_settled(team: Team, name: str) -> bool:
    return bool(team.component(name)["InferenceComponentStatus"] == "InService")


def _container(team: Team, name: str) -> Untyped:
    model = team.component(name)["Specification"]["ModelName"]
    return team.container(model)
