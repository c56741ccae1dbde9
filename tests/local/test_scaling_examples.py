"""
What the constructs can make of scaling, deployed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.deployments import ROOT, Deployer, example, synthesised

if TYPE_CHECKING:
    from pathlib import Path

    from cdk_sagemaker_llm.local import EmbeddedAws

COMPONENT = "every-policy"


@pytest.mark.parametrize(
    "name", ["concurrency_scaling", "scheduled_scaling", "step_scaling"]
)
def test_an_example_deploys(name: str, deployer: Deployer, tmp_path: Path) -> None:
    """
    Policies, alarms and schedules are taken, and go with the stack.
    """
    app = example(name, tmp_path)

    deployer.deploy(app).checked()
    deployer.destroy(app).checked()


def test_every_policy_deploys(
    embedded_aws: EmbeddedAws, deployer: Deployer, tmp_path: Path
) -> None:
    """
    What is described is what was asked for.
    """
    app = ROOT / "tests" / "local" / "scaling_app.py"
    assembly = synthesised(app, tmp_path)
    deployer.deploy(assembly).checked()
    scaling = embedded_aws.client("application-autoscaling")
    of = {"ServiceNamespace": "sagemaker"}
    pages = scaling.get_paginator("describe_scaling_policies").paginate(**of)
    policies = pages.build_full_result()
    actions = scaling.describe_scheduled_actions(**of)["ScheduledActions"]
    alarms = embedded_aws.client("cloudwatch").describe_alarms()["MetricAlarms"]
    deployer.destroy(assembly).checked()

    of_copies = _of_copies(policies["ScalingPolicies"])
    assert sorted(one["PolicyName"] for one in of_copies) == [
        "In",
        "Invocations",
        "Latency",
        "Out",
        "Queue",
        "Share",
        "Wake",
    ]
    summer = next(
        one for one in _of_copies(actions) if one["ScheduledActionName"] == "Summer"
    )
    assert summer["Schedule"] == "cron(0 8 * * ? *)"
    assert summer["Timezone"] == "Europe/Berlin"
    assert summer["StartTime"].isoformat().startswith("2027-06-01T00:00:00")
    assert summer["ScalableTargetAction"] == {"MinCapacity": 2}
    assert sorted(one["ScheduledActionName"] for one in _of_copies(actions)) == [
        "Again",
        "NightCloses",
        "NightOpens",
        "Once",
        "Summer",
    ]
    (wake,) = [
        one
        for one in alarms
        if one.get("MetricName") == "NoCapacityInvocationFailures"
        and one["Dimensions"][0]["Value"] == COMPONENT
    ]
    assert (wake["Period"], wake["Threshold"]) == (30, 1.0)


def _of_copies(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    # Others on the same server have components of their own names.
    own = f"inference-component/{COMPONENT}"
    return [one for one in found if one["ResourceId"] == own]
