"""
The alarms of scaling policies that a stack makes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.local.hosting_requests import unique
from tests.local.stacks import Stacks, hosted

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws


@pytest.fixture(name="stacks")
def _stacks(near_aws: EmbeddedAws) -> Stacks:
    return Stacks(near_aws)


def _thresholds(aws: EmbeddedAws, endpoint: str) -> dict[str, float]:
    found = aws.client("cloudwatch").describe_alarms(
        AlarmNamePrefix=f"TargetTracking-endpoint/{endpoint}/"
    )
    return {alarm["AlarmName"]: alarm["Threshold"] for alarm in found["MetricAlarms"]}


def test_they_come_change_and_go_with_the_policy(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    An update keeps their names, and the policy its ARN.
    """
    name, template = unique("scaled"), hosted()
    assert stacks.create(name, template) == "CREATE_COMPLETE"
    endpoint = stacks.physical_ids(name)["Endpoint"].rpartition("/")[2]
    before = _thresholds(near_aws, endpoint)

    policy = next(
        resource
        for resource in template["Resources"].values()
        if resource["Type"].endswith("::ScalingPolicy")
    )
    tracking = policy["Properties"]["TargetTrackingScalingPolicyConfiguration"]
    tracking["TargetValue"] = 40
    assert stacks.update(name, template) == "UPDATE_COMPLETE"
    after = _thresholds(near_aws, endpoint)
    stacks.delete(name)

    assert sorted(kind.rpartition("-Alarm")[2][:3] for kind in before) == ["Hig", "Low"]
    assert after.keys() == before.keys()
    assert sorted(after.values()) == [36.0, 40.0]
    assert _thresholds(near_aws, endpoint) == {}
