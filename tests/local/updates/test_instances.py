"""
Updates of endpoints that one model fills, with requests under way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.local.updates.traffic import Traffic
from tests.local.updates.versions_app import FIRST, NEW, OLD
from tests.local.waiting import endpoint_status, until

if TYPE_CHECKING:
    from tests.local.updates.conftest import Team


def counts(team: Team, endpoint: str) -> tuple[int, int]:
    """
    Return how many instances an endpoint runs, and how many it should.
    """
    (variant,) = team.endpoint(endpoint)["ProductionVariants"]
    return variant["CurrentInstanceCount"], variant["DesiredInstanceCount"]


def scale(team: Team, endpoint: str, count: int) -> None:
    """
    Set how many instances run, by the call that Application Auto Scaling makes.
    """
    wanted = {"VariantName": "AllTraffic", "DesiredInstanceCount": count}
    team.sagemaker.update_endpoint_weights_and_capacities(
        EndpointName=endpoint, DesiredWeightsAndCapacities=[wanted]
    )
    until(lambda: endpoint_status(team.sagemaker, endpoint) == "InService")


@pytest.mark.whole
def test_updates_lose_no_request_and_keep_what_scaling_has_reached(team: Team) -> None:
    """
    A new image in steps and in batches; then a new option, another number of
    instances, and other bounds.
    """
    team.must_deploy("Instances", FIRST)
    assert f"tgi{OLD}" in team.image("plain")
    assert counts(team, "plain") == counts(team, "scaled") == (2, 2)
    scale(team, "scaled", 4)

    with Traffic(team.aws, ("plain", None), ("scaled", None)) as traffic:
        second = replace(FIRST, tgi=NEW)
        team.must_deploy("Instances", second)
        assert f"tgi{NEW}" in team.image("plain")
        assert f"tgi{NEW}" in team.image("scaled")
        assert counts(team, "plain") == (2, 2)
        assert counts(team, "scaled") == (4, 4)

        third = replace(second, tokens=1024, instances=3, most=6)
        team.must_deploy("Instances", third)

    assert counts(team, "plain") == (3, 3)
    assert counts(team, "scaled") == (4, 4)
    assert [environment(team, name) for name in ("plain", "scaled")] == ["1024"] * 2
    (bounds,) = team.aws.client("application-autoscaling").describe_scalable_targets(
        ServiceNamespace="sagemaker", ResourceIds=["endpoint/scaled/variant/AllTraffic"]
    )["ScalableTargets"]
    assert (bounds["MinCapacity"], bounds["MaxCapacity"]) == (2, 6)
    assert traffic.refused == []
    assert min(traffic.answered.values()) > 10


def environment(team: Team, endpoint: str) -> str:
    """
    Return how long a sequence may be, as the endpoint's container is told.
    """
    config = team.endpoint(endpoint)["EndpointConfigName"]
    (variant,) = team.sagemaker.describe_endpoint_config(EndpointConfigName=config)[
        "ProductionVariants"
    ]
    return str(team.container(variant["ModelName"])["Environment"]["MAX_TOTAL_TOKENS"])
