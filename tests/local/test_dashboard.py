"""
The example of a dashboard, deployed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.deployments import example

if TYPE_CHECKING:
    from pathlib import Path

    from cdk_sagemaker_llm.local import EmbeddedAws
    from tests.deployments import Deployer

STACK = "Watched"


def test_the_example_is_deployed(
    embedded_aws: EmbeddedAws, deployer: Deployer, tmp_path: Path
) -> None:
    """
    Its dashboard names what was made: the component, its alarms, its region.
    """
    app = example("dashboard", tmp_path / "cdk.out")
    deployer.deploy(app).checked()

    cloudwatch = embedded_aws.client("cloudwatch")
    described = embedded_aws.client("cloudformation").describe_stacks(StackName=STACK)
    (output,) = described["Stacks"][0]["Outputs"]
    shown = cloudwatch.get_dashboard(DashboardName=output["OutputValue"])
    widgets = json.loads(shown["DashboardBody"])["widgets"]
    (states,) = (each for each in widgets if each["type"] == "alarm")
    metrics = [each["properties"] for each in widgets if each["type"] == "metric"]
    made = cloudwatch.describe_alarms()["MetricAlarms"]
    components = embedded_aws.client("sagemaker").list_inference_components()
    names = {
        each["InferenceComponentName"] for each in components["InferenceComponents"]
    }
    drawn = {
        row[3]
        for each in metrics
        for row in each["metrics"]
        if row[2:3] == ["InferenceComponentName"]
    }

    assert {each["region"] for each in metrics} == {"us-east-1"}
    assert len(drawn) == 1
    assert drawn <= names
    assert len(states["properties"]["alarms"]) == 8
    assert {*states["properties"]["alarms"]} <= {each["AlarmArn"] for each in made}

    deployer.destroy(app).checked()
    entries = cloudwatch.list_dashboards()["DashboardEntries"]
    assert output["OutputValue"] not in {each["DashboardName"] for each in entries}
