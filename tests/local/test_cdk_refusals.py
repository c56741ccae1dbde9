"""
What the service refuses, as the events of a deployment show it.

The constructs refuse all of this at synth; each stack is therefore defined well and
then bent through its L1 resources.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from aws_cdk import App, Environment, Stack

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
    ResourceRequirements,
    Tgi,
)
from cdk_sagemaker_llm.local import EmbeddedAws
from tests.deployments import Deployer
from tests.local.conftest import ACCOUNT, REGION

MODEL = HuggingFaceModel("mistralai/Mistral-7B-v0.1")
TGI = Tgi("1.4.5")
NEEDS = "Specification.ComputeResourceRequirements"
VARIANT = "ProductionVariants.0"


def hosted(
    stack: Stack, endpoint_name: str | None = None
) -> tuple[InferenceComponentEndpoint, Callable[[str, object], None]]:
    """
    Define an endpoint with one component; return it, and a way to bend that.
    """
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.g5.12xlarge", endpoint_name=endpoint_name
    )
    component = host.add_model(
        "Model",
        model=MODEL,
        serving=TGI,
        resources=ResourceRequirements(accelerators=1),
    )
    return host, component.cfn_inference_component.add_property_override


def without_role(stack: Stack) -> None:
    """
    A component on an endpoint whose configuration has no execution role.
    """
    host, _ = hosted(stack)
    config = host.endpoint_config.cfn_endpoint_config
    config.add_property_deletion_override("ExecutionRoleArn")


def on_a_model(stack: Stack) -> None:
    """
    A component on an endpoint whose variant has a model.
    """
    filled = LlmEndpoint(
        stack, "Llm", model=MODEL, serving=TGI, instance_type="ml.g5.12xlarge"
    )
    _, bend = hosted(stack)
    bend("EndpointName", filled.endpoint_name)


def managed_scaling_of_a_model(stack: Stack) -> None:
    """
    Managed instance scaling where a model fills the variant.
    """
    filled = LlmEndpoint(
        stack, "Llm", model=MODEL, serving=TGI, instance_type="ml.g5.12xlarge"
    )
    filled.endpoint_config.cfn_endpoint_config.add_property_override(
        f"{VARIANT}.ManagedInstanceScaling",
        {"Status": "ENABLED", "MinInstanceCount": 1, "MaxInstanceCount": 2},
    )


def too_many_accelerators(stack: Stack) -> None:
    """
    A copy larger than the instance's four GPUs.
    """
    _, bend = hosted(stack)
    bend(f"{NEEDS}.NumberOfAcceleratorDevicesRequired", 5)


def too_many_cores(stack: Stack) -> None:
    """
    A copy larger than the instance's 48 cores.
    """
    _, bend = hosted(stack)
    bend(f"{NEEDS}.NumberOfCpuCoresRequired", 49)


def too_much_memory(stack: Stack) -> None:
    """
    A copy larger than the instance's 192 GiB.
    """
    _, bend = hosted(stack)
    bend(f"{NEEDS}.MinMemoryRequiredInMb", 193 * 1024)


def too_many_copies(stack: Stack) -> None:
    """
    Five copies of one GPU each, on four.
    """
    _, bend = hosted(stack)
    bend("RuntimeConfig.CopyCount", 5)


def a_name_that_exists(stack: Stack) -> None:
    """
    An endpoint of that name, in other case, was made before.
    """
    hosted(stack, endpoint_name="Taken")


@pytest.mark.parametrize(
    ("define", "message"),
    [
        (without_role, "has no ExecutionRoleArn"),
        (on_a_model, "Inference Components are not supported in this Endpoint"),
        (managed_scaling_of_a_model, "ManagedInstanceScaling is only supported"),
        (too_many_accelerators, "not enough hardware.*accelerators"),
        (too_many_cores, "not enough hardware.*CPU cores"),
        (too_much_memory, "not enough hardware.*memory"),
        (too_many_copies, "not enough hardware.*accelerators"),
        (a_name_that_exists, "Cannot create already existing endpoint"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_refusal_is_shown_and_rolled_back(
    embedded_aws: EmbeddedAws,
    deployer: Deployer,
    tmp_path: Path,
    define: Callable[[Stack], None],
    message: str,
) -> None:
    """
    The service's words are in the event, and nothing of the stack is left.
    """
    _take_the_name(embedded_aws)
    name = define.__name__.replace("_", "-")
    app = App(outdir=str(tmp_path / "cdk.out"))
    define(Stack(app, name, env=Environment(account=ACCOUNT, region=REGION)))
    app.synth()

    before = _endpoints(embedded_aws)
    done = deployer.deploy(tmp_path / "cdk.out")
    described = embedded_aws.client("cloudformation").describe_stacks(StackName=name)

    assert not done.succeeded
    (line, *_) = [line for line in done.events.splitlines() if "CREATE_FAILED" in line]
    assert re.search(message, line)
    assert described["Stacks"][0]["StackStatus"] == "ROLLBACK_COMPLETE"
    assert _endpoints(embedded_aws) == before


def test_an_endpoint_with_components_is_not_deleted(
    embedded_aws: EmbeddedAws, deployer: Deployer, tmp_path: Path
) -> None:
    """
    A component that another team added stops the destruction, and says so.
    """
    app = App(outdir=str(tmp_path / "cdk.out"))
    stack = Stack(app, "kept", env=Environment(account=ACCOUNT, region=REGION))
    hosted(stack, endpoint_name="shared")
    app.synth()
    assembly = tmp_path / "cdk.out"
    deployer.deploy(assembly).checked()
    sagemaker = embedded_aws.client("sagemaker")
    (theirs,) = sagemaker.list_inference_components(EndpointNameEquals="shared")[
        "InferenceComponents"
    ]
    model = sagemaker.describe_inference_component(
        InferenceComponentName=theirs["InferenceComponentName"]
    )["Specification"]["ModelName"]
    sagemaker.create_inference_component(
        InferenceComponentName="theirs",
        EndpointName="shared",
        VariantName="AllTraffic",
        Specification={
            "ModelName": model,
            "ComputeResourceRequirements": {"MinMemoryRequiredInMb": 128},
        },
        RuntimeConfig={"CopyCount": 1},
    )

    refused = deployer.destroy(assembly)
    sagemaker.delete_inference_component(InferenceComponentName="theirs")
    deployer.destroy(assembly).checked()

    assert not refused.succeeded
    assert "Cannot delete endpoint with inference component" in refused.events


def _endpoints(aws: EmbeddedAws) -> set[str]:
    found = aws.client("sagemaker").list_endpoints()["Endpoints"]
    return {endpoint["EndpointName"] for endpoint in found}


def _take_the_name(aws: EmbeddedAws) -> None:
    """
    Make an endpoint named "taken", once, as somebody else would have.
    """
    sagemaker = aws.client("sagemaker")
    found = sagemaker.list_endpoints(NameContains="taken")["Endpoints"]
    if found:
        return
    sagemaker.create_endpoint_config(
        EndpointConfigName="taken",
        ExecutionRoleArn=f"arn:aws:iam::{ACCOUNT}:role/theirs",
        ProductionVariants=[
            {
                "VariantName": "AllTraffic",
                "InstanceType": "ml.g5.12xlarge",
                "InitialInstanceCount": 1,
            }
        ],
    )
    sagemaker.create_endpoint(EndpointName="taken", EndpointConfigName="taken")
