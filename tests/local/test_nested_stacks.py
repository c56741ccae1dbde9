"""
Nested stacks come, change, roll back and go with their parent.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from aws_cdk import App, CfnOutput, CfnResource, Environment, NestedStack, Stack

from tests.local.conftest import ACCOUNT, REGION
from tests.local.hosting_requests import ROLE, TGI, unique
from tests.local.stacks import Stacks, Template, hosted

if TYPE_CHECKING:
    from pathlib import Path

    from cdk_sagemaker_llm.local import EmbeddedAws
    from tests.deployments import Deployer
    from tests.local.conftest import Cdk


@pytest.fixture(name="stacks", scope="module")
def _stacks(near_aws: EmbeddedAws) -> Stacks:
    return Stacks(near_aws)


def test_a_nested_stack_is_made_changed_and_deleted(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    With parameters, outputs, tags, its parent's id and events of its own.
    """
    name = unique("parent")
    template = parent(stored(near_aws, child()), Word="first")
    stacks.create(name, template)

    made = stacks.physical_ids(name)["Nested"]
    shown = stacks.describe(made)
    assert shown["StackStatus"] == "CREATE_COMPLETE"
    assert shown["ParentId"] == shown["RootId"] == stacks.describe(name)["StackId"]
    assert shown["StackName"].startswith(f"{name}-Nested-")
    assert ("Topic", "CREATE_COMPLETE", "") in stacks.events(made)
    topic = stacks.physical_ids(made)["Topic"]
    assert stacks.outputs(name) == {"Joined": f"{topic} first", "Plain": topic}

    template = parent(stored(near_aws, child()), Word="second")
    assert stacks.update(name, template) == "UPDATE_COMPLETE"
    assert stacks.outputs(name)["Joined"] == f"{topic} second"
    assert stacks.status(made) == "UPDATE_COMPLETE"

    stacks.delete(name)
    assert stacks.status(made) == "DELETE_COMPLETE"
    topics = near_aws.client("sns").list_topics()["Topics"]
    assert topic not in [found["TopicArn"] for found in topics]


def test_a_nested_failure_fails_the_parent(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    The parent's event says which nested resource it was; nothing is left.
    """
    name = unique("parent")
    broken = stored(near_aws, hosted(instance_type="ml.p9.huge"))

    assert stacks.create(name, parent(broken)) == "ROLLBACK_COMPLETE"

    reasons = [reason for what, _, reason in stacks.events(name) if what == "Nested"]
    assert "was not successfully created" in reasons[1]
    assert "failed to create: [Config]" in reasons[1]
    listed = near_aws.client("cloudformation").describe_stacks()["Stacks"]
    names = [stack["StackName"] for stack in listed]
    assert not [found for found in names if found.startswith(f"{name}-")]


def test_a_nested_update_that_fails_rolls_both_back(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    And one that went through is taken back when its parent fails later.
    """
    name = unique("parent")
    stacks.create(name, parent(stored(near_aws, hosted())))
    made = stacks.physical_ids(name)["Nested"]
    before = stacks.physical_ids(made)

    broken = stored(near_aws, hosted(instance_type="ml.p9.huge"))
    assert stacks.update(name, parent(broken)) == "UPDATE_ROLLBACK_COMPLETE"
    assert stacks.status(made) == "UPDATE_ROLLBACK_COMPLETE"
    assert stacks.physical_ids(made) == before

    later = parent(stored(near_aws, hosted(max_capacity=9)))
    properties = {"AlarmName": {"Ref": "Nested"}, "ComparisonOperator": "Wrong"}
    wrong = {"Type": "AWS::CloudWatch::Alarm", "Properties": properties}
    later["Resources"]["Wrong"] = wrong
    assert stacks.update(name, later) == "UPDATE_ROLLBACK_COMPLETE"
    target = stacks.outputs(made)["Target"].split("|")[0]
    found = stacks.scaling.describe_scalable_targets(
        ServiceNamespace="sagemaker", ResourceIds=[target]
    )
    assert found["ScalableTargets"][0]["MaxCapacity"] == 4


def test_a_template_that_is_not_there_fails_the_resource(stacks: Stacks) -> None:
    """
    With the address in the reason.
    """
    name = unique("parent")
    url = "https://s3.us-east-1.amazonaws.com/no-bucket/nothing.json"

    assert stacks.create(name, parent(url)) == "ROLLBACK_COMPLETE"
    assert "must reference a valid S3 object" in json.dumps(stacks.events(name))


def test_a_change_set_reaches_into_nested_stacks(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    Where it is asked to; the nested one knows its parent.
    """
    name = unique("parent")
    stacks.create(name, parent(stored(near_aws, child()), Word="first"))
    client = near_aws.client("cloudformation")
    outer = client.create_change_set(
        StackName=name,
        ChangeSetName="wider",
        TemplateBody=json.dumps(
            parent(stored(near_aws, child(DisplayName="new")), Word="first")
        ),
        IncludeNestedStacks=True,
    )["Id"]

    changes = client.describe_change_set(ChangeSetName=outer)["Changes"]

    inner = client.describe_change_set(
        ChangeSetName=changes[0]["ResourceChange"]["ChangeSetId"]
    )
    assert inner["ParentChangeSetId"] == outer
    assert inner["Changes"][0]["ResourceChange"]["LogicalResourceId"] == "Topic"


def test_an_app_with_a_nested_stack_is_deployed_changed_and_destroyed(
    near_aws: EmbeddedAws, near_deployer: Deployer, tmp_path: Path
) -> None:
    """
    An endpoint in the nested stack, its name in an output of the parent.
    """
    first, edited = (
        synth(tmp_path / str(count), count, near_aws.account) for count in (1, 2)
    )
    sagemaker = near_aws.client("sagemaker")

    deployed = near_deployer.deploy(first).checked()
    near_deployer.deploy(edited).checked()

    assert deployed.outputs["Nesting"]["EndpointName"] == "nested-endpoint"
    found = sagemaker.describe_endpoint(EndpointName="nested-endpoint")
    assert found["ProductionVariants"][0]["CurrentInstanceCount"] == 2
    near_deployer.destroy(first).checked()
    names = [e["EndpointName"] for e in sagemaker.list_endpoints()["Endpoints"]]
    assert "nested-endpoint" not in names


@pytest.mark.whole
def test_cdk_diff_looks_into_a_nested_stack(cdk: Cdk, tmp_path: Path) -> None:
    """
    By the real CLI, which deploys and destroys it as well.
    """
    first, edited = synth(tmp_path / "a", 1), synth(tmp_path / "b", 2)

    deployed = cdk("deploy", "--require-approval", "never", app=first)
    same = cdk("diff", "--fail", app=first)
    differing = cdk("diff", "--fail", app=edited)
    destroyed = cdk("destroy", "--force", app=first)

    assert deployed.returncode == 0, deployed.stdout
    assert "Nesting.EndpointName = nested-endpoint" in deployed.stdout
    assert same.returncode == 0, same.stdout
    assert differing.returncode == 1
    assert "AWS::SageMaker::EndpointConfig Config replace" in differing.stdout
    assert destroyed.returncode == 0, destroyed.stdout


def child(**properties: str) -> Template:
    """
    Declare a topic and a parameter, and both as outputs.
    """
    return {
        "Parameters": {"Word": {"Type": "String"}},
        "Resources": {"Topic": {"Type": "AWS::SNS::Topic", "Properties": properties}},
        "Outputs": {
            "Arn": {"Value": {"Ref": "Topic"}},
            "Word": {"Value": {"Ref": "Word"}},
        },
    }


def parent(url: str, **parameters: str) -> Template:
    """
    Declare a nested stack, and of those with parameters the outputs.
    """
    nested = {"TemplateURL": url, **({"Parameters": parameters} if parameters else {})}
    template: Template = {
        "Resources": {
            "Nested": {"Type": "AWS::CloudFormation::Stack", "Properties": nested}
        }
    }
    if parameters:
        template["Outputs"] = {
            "Plain": {"Value": {"Fn::GetAtt": ["Nested", "Outputs.Arn"]}},
            "Joined": {
                "Value": {"Fn::Sub": "${Nested.Outputs.Arn} ${Nested.Outputs.Word}"}
            },
        }
    return template


def stored(aws: EmbeddedAws, template: Template) -> str:
    """
    Put a template into the embedded S3 and return its address.
    """
    s3, key = aws.client("s3"), unique("template")
    s3.create_bucket(Bucket="nested-templates")
    s3.put_object(Bucket="nested-templates", Key=key, Body=json.dumps(template))
    return f"https://s3.us-east-1.amazonaws.com/nested-templates/{key}"


def synth(outdir: Path, instances: int, account: str = ACCOUNT) -> Path:
    """
    Write an app with an endpoint in a nested stack.
    """
    # The CLI says so where it runs an app itself, and reads nested templates by it.
    context = {"aws:cdk:enable-asset-metadata": True}
    app = App(outdir=str(outdir), analytics_reporting=False, context=context)
    stack = Stack(app, "Nesting", env=Environment(account=account, region=REGION))
    nested = NestedStack(stack, "Inner")

    def add(id: str, kind: str, **properties: Any) -> CfnResource:  # noqa: ANN401 - a template's
        return CfnResource(
            nested, id, type=f"AWS::SageMaker::{kind}", properties=properties
        )

    model = add(
        "Model", "Model", ExecutionRoleArn=ROLE, PrimaryContainer={"Image": TGI}
    )
    variant = {
        "VariantName": "AllTraffic",
        "ModelName": model.get_att("ModelName"),
        "InstanceType": "ml.g5.12xlarge",
        "InitialInstanceCount": instances,
    }
    config = add("Config", "EndpointConfig", ProductionVariants=[variant])
    endpoint = add(
        "Endpoint",
        "Endpoint",
        EndpointName="nested-endpoint",
        EndpointConfigName=config.get_att("EndpointConfigName"),
    )
    name = endpoint.get_att("EndpointName").to_string()
    CfnOutput(stack, "EndpointName", value=name)
    app.synth()
    return outdir
