"""
What an app's tests are given: an AWS to deploy to, snapshots, and findings.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import Annotations, App, CfnOutput, CfnParameter, Stack
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk import aws_sns as sns
from syrupy.assertion import SnapshotAssertion

from cdk_sagemaker_llm import HuggingFaceModel, LlmEndpoint, Vllm, testing
from cdk_sagemaker_llm.client import LlmClient
from cdk_sagemaker_llm.findings import Severity
from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.testing import (
    Deployer,
    TemplateSnapshotExtension,
    findings_of,
)

IMAGE = (
    "763104351884.dkr.ecr.us-east-1.amazonaws.com/huggingface-pytorch-tgi-inference:"
    "2.7.0-tgi3.3.6-gpu-py311-cu124-ubuntu22.04"
)
COMMIT = "c1899de289a04d12100db370d81485cdf75e47ca"


def chat(stack: Stack, *, revision: str | None = COMMIT) -> LlmEndpoint:
    """
    Define an endpoint that scales.
    """
    endpoint = LlmEndpoint(
        stack,
        "Chat",
        model=HuggingFaceModel("Qwen/Qwen3-0.6B", revision=revision),
        serving=Vllm(max_model_len=4096),
        instance_type="ml.g5.xlarge",
    )
    instances = endpoint.auto_scale_instance_count(max_capacity=2)
    instances.scale_on_concurrency("Load", per_instance=8)
    return endpoint


def test_an_app_is_deployed_asked_and_deleted(
    app: App, deployer: Deployer, llm_client: Callable[..., LlmClient]
) -> None:
    """
    Without the CDK CLI, by the names that its outputs have.
    """
    stack = Stack(app, "Asked")
    CfnOutput(stack, "EndpointName", value=chat(stack).endpoint_name)

    outputs = deployer.deploy(app).checked().outputs["Asked"]
    answer = llm_client(outputs["EndpointName"]).chat("Hello")
    deployer.destroy(app).checked()

    assert answer.text


def test_a_deployment_that_fails_tells_its_events(app: App, deployer: Deployer) -> None:
    """
    By the test that fails, in CloudFormation's words.
    """
    stack = Stack(app, "Failing")
    sagemaker.CfnEndpoint(stack, "Chat", endpoint_config_name="missing")

    result = deployer.deploy(app)

    assert not result.succeeded
    with pytest.raises(AssertionError, match="Could not find endpoint configuration"):
        result.checked()


def test_a_stack_has_its_parameters_and_tags(
    app: App, deployer: Deployer, embedded_aws: EmbeddedAws
) -> None:
    """
    Those that are given, and those of the app.
    """
    stack = Stack(app, "Asked", tags={"team": "search"})
    size = CfnParameter(stack, "Size", default="1")
    topic = sns.CfnTopic(stack, "Topic", display_name=size.value_as_string)
    CfnOutput(stack, "SizeGiven", value=str(topic.display_name))

    result = deployer.deploy(app, parameters={"Size": "7"}).checked()

    cloudformation = embedded_aws.client("cloudformation")
    (found,) = cloudformation.describe_stacks(StackName="Asked")["Stacks"]
    assert result.outputs == {"Asked": {"SizeGiven": "7"}}
    assert found["Tags"] == [{"Key": "team", "Value": "search"}]


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({}, "ROLLBACK_COMPLETE"),
        ({"rollback": True}, "ROLLBACK_COMPLETE"),
        ({"rollback": False}, "CREATE_FAILED"),
    ],
    ids=["usual", "rollback", "no-rollback"],
)
def test_a_stack_that_fails_is_kept_without_rollback(
    app: App,
    deployer: Deployer,
    embedded_aws: EmbeddedAws,
    options: dict[str, Any],
    status: str,
) -> None:
    """
    To look at what was made.
    """
    stack = Stack(app, f"Failing{len(options)}{status.partition('_')[0]}")
    sagemaker.CfnEndpoint(stack, "Chat", endpoint_config_name="missing")

    deployer.deploy(app, **options)

    cloudformation = embedded_aws.client("cloudformation")
    (found,) = cloudformation.describe_stacks(StackName=stack.stack_name)["Stacks"]
    assert found["StackStatus"] == status


def test_the_second_deployment_tells_its_own_events(
    app: App, deployer: Deployer
) -> None:
    """
    Not those of the first.
    """
    stack = Stack(app, "Twice")
    sns.CfnTopic(stack, "Topic", display_name="first")
    deployer.deploy(app).checked()
    again = App()
    later = Stack(again, "Twice")
    sns.CfnTopic(later, "Topic", display_name="second")

    events = deployer.deploy(again).checked().events

    assert "UPDATE_COMPLETE | AWS::SNS::Topic | Topic" in events
    assert "CREATE_COMPLETE" not in events


def test_a_snapshot_does_not_change_with_an_asset(
    template_snapshot: SnapshotAssertion,
) -> None:
    """
    Its hash is masked; whatever else there is stays as it is.
    """
    keys = [f"{digit * 64}.zip" for digit in "ab"]

    for key in keys:
        assert {"S3Key": key, "Size": 1} == template_snapshot(name="asset")


def test_a_snapshot_is_what_the_command_writes() -> None:
    """
    JSON with its keys in order: an app that was just made has its snapshot already.
    """
    extension = TemplateSnapshotExtension()

    written = extension.serialize({"b": [{"d": "ä", "c": None}], "a": "f" * 64})

    assert written == (
        '{\n  "a": "<asset hash>",\n  "b": [\n    {\n      "c": null,\n'
        '      "d": "ä"\n    }\n  ]\n}\n'
    )


def test_nothing_is_found_in_a_clean_app(app: App, stack: Stack) -> None:
    """
    The app may be given itself, or the folder of its assembly.
    """
    chat(stack)

    assert findings_of(app) == []
    assert findings_of(app.synth().directory) == []
    assert findings_of(Path(app.outdir)) == []


def test_warnings_are_found_until_they_are_acknowledged(app: App, stack: Stack) -> None:
    """
    As synthesis tells them.
    """
    chat(stack, revision=None)

    (found,) = findings_of(app)

    assert (found.severity, found.code) == (Severity.WARNING, "LLM816")
    assert "may run different commits" in found.message


def test_acknowledged_warnings_are_not_found(app: App, stack: Stack) -> None:
    """
    Nobody acknowledges twice.
    """
    endpoint = chat(stack, revision=None)
    Annotations.of(endpoint).acknowledge_warning("cdk-sagemaker-llm:LLM816")

    assert findings_of(app) == []


def test_errors_in_templates_are_found(app: App, stack: Stack) -> None:
    """
    Also of models that others define.
    """
    sagemaker.CfnModel(
        stack,
        "Model",
        execution_role_arn="arn:aws:iam::111111111111:role/mine",
        primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
            image=IMAGE,
            environment={"NUM_SHARD": "0", "HF_MODEL_ID": "a/b"},
        ),
    )

    assert {one.severity for one in findings_of(app)} == {Severity.ERROR}


def test_a_folder_that_is_no_assembly_is_refused(tmp_path: Path) -> None:
    """
    Rather than to find nothing in it.
    """
    with pytest.raises(ValueError, match="cdk.out"):
        findings_of(tmp_path)


@pytest.mark.parametrize("name", testing.__all__)
def test_every_public_name_says_what_it_is(name: str) -> None:
    """
    In its docstring; the names are a sorted list.
    """
    assert inspect.getdoc(getattr(testing, name))
    assert sorted(testing.__all__) == testing.__all__
