"""
What SageMaker refuses of components, word for word, and of requests that are not as
its API's model says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cdk_sagemaker_llm.local.aws.faults import Fault
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.by_hand import TIMES, HandRunAws, hand_run_aws
from tests.local.hosting_requests import (
    ROLE,
    TGI,
    TGI_3,
    make_config,
    make_endpoint,
    make_model,
    refusal,
    unchecked,
    unique,
)

_COMES = 400
_SMALL = {"InstanceType": "ml.g5.12xlarge"}
_NEEDS = {"NumberOfAcceleratorDevicesRequired": 1, "MinMemoryRequiredInMb": 1024}
_ONE = {"CopyCount": 1}


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws(TIMES) as aws:
        yield aws


@pytest.fixture(name="host", scope="module")
def _host(aws: HandRunAws) -> str:
    endpoint = make_endpoint(aws, make_config(aws, variant=_SMALL))
    aws.run(_COMES)
    return endpoint


def component(host: str, **settings: Untyped) -> dict[str, Any]:
    """
    Write a request for a component, with something changed.
    """
    request = {
        "InferenceComponentName": unique("component"),
        "EndpointName": host,
        "VariantName": "AllTraffic",
        "Specification": {
            "Container": {"Image": TGI},
            "ComputeResourceRequirements": _NEEDS,
        },
        "RuntimeConfig": _ONE,
        **settings,
    }
    return {key: value for key, value in request.items() if value is not None}


class TestComponents:
    """
    Components and what they say of themselves.
    """

    @pytest.mark.parametrize(
        ("change", "told"),
        [
            (
                {"VariantName": "Other"},
                'Could not find variant "Other" of endpoint "{arn}:endpoint/{host}".',
            ),
            (
                {"Specification": None},
                "Specify either Specification or Specifications.",
            ),
            (
                {"Specification": {"Container": {"Image": TGI}}},
                (
                    "ComputeResourceRequirements is required for an inference "
                    "component that is not an adapter."
                ),
            ),
            (
                {"Specification": {"ComputeResourceRequirements": _NEEDS}},
                "Specify either ModelName or Container.",
            ),
            (
                {
                    "Specification": {
                        "Container": {"Image": TGI},
                        "ComputeResourceRequirements": {
                            "MinMemoryRequiredInMb": 1024,
                            "MaxMemoryRequiredInMb": 1023,
                        },
                    }
                },
                (
                    "MaxMemoryRequiredInMb must be at least MinMemoryRequiredInMb, got "
                    "1023 and 1024."
                ),
            ),
            (
                {"EndpointName": "nobody"},
                'Could not find endpoint "{arn}:endpoint/nobody".',
            ),
        ],
    )
    def test_a_wrong_one_is_refused(
        self,
        aws: HandRunAws,
        arn: str,
        host: str,
        change: dict[str, Any],
        told: str,
    ) -> None:
        """
        In words that name what is wrong, and it does not come to be.
        """
        client = unchecked(aws, "sagemaker")
        request = component(host, **change)

        refused = refusal(client.create_inference_component, **request)

        assert refused == told.format(arn=arn, host=host)
        name = request["InferenceComponentName"]
        missing = refusal(
            client.describe_inference_component, InferenceComponentName=name
        )
        assert missing == (
            f'Could not find inference component "{arn}:inference-component/{name}".'
        )

    def test_model_and_endpoint_agree(
        self, aws: HandRunAws, sagemaker: Untyped, arn: str, host: str
    ) -> None:
        """
        On role, network and isolation: all that differs is named.
        """
        vpc = {"Subnets": ["subnet-1"], "SecurityGroupIds": ["sg-1"]}
        other = make_model(
            aws,
            ExecutionRoleArn=f"{ROLE}Other",
            VpcConfig=vpc,
            EnableNetworkIsolation=True,
        )
        specified = {"ModelName": other, "ComputeResourceRequirements": _NEEDS}

        create = sagemaker.create_inference_component
        assert refusal(create, **component(host, Specification=specified)) == (
            f'Model "{arn}:model/{other}" and endpoint "{arn}:endpoint/{host}" must '
            "have the same execution role and VPC configuration and network isolation "
            "to deploy an inference component."
        )

    def test_a_name_is_taken_once(
        self, aws: HandRunAws, sagemaker: Untyped, arn: str, host: str
    ) -> None:
        """
        A model's, a configuration's, an endpoint's and a component's.
        """
        create = sagemaker.create_inference_component
        request = component(host)
        create(**request)
        name = request["InferenceComponentName"]
        made = make_model(aws)
        config = make_config(aws)
        again = {"PrimaryContainer": {"Image": TGI}, "ExecutionRoleArn": ROLE}

        assert refusal(create, **request) == (
            "Cannot create already existing inference component "
            f'"{arn}:inference-component/{name}".'
        )
        refused = refusal(sagemaker.create_model, ModelName=made, **again)
        assert refused == f'Cannot create already existing model "{arn}:model/{made}".'
        its = {"EndpointName": host.upper(), "EndpointConfigName": config}
        assert refusal(sagemaker.create_endpoint, **its) == (
            f'Cannot create already existing endpoint "{arn}:endpoint/{host.upper()}".'
        )
        aws.run(_COMES)
        sagemaker.delete_inference_component(InferenceComponentName=name)
        aws.run(100)

    @pytest.mark.parametrize("status", ["Creating", "Failed"])
    def test_none_comes_to_an_endpoint_that_is_not_there(
        self, aws: HandRunAws, sagemaker: Untyped, arn: str, status: str
    ) -> None:
        """
        Not yet, or never.
        """
        if status == "Failed":
            aws.hosting.world.faults.put(Fault(kind="no-capacity"))
        name = make_endpoint(aws, make_config(aws, variant=_SMALL))
        if status == "Failed":
            aws.run(7200)
            aws.hosting.world.faults.clear()

        refused = refusal(sagemaker.create_inference_component, **component(name))
        assert refused == (
            f'Cannot create inference component on endpoint "{arn}:endpoint/{name}" '
            f"with status {status}."
        )

    def test_one_that_changes_is_left_alone(
        self, aws: HandRunAws, sagemaker: Untyped, arn: str, host: str
    ) -> None:
        """
        With the state that the service names.
        """
        request = component(host)
        sagemaker.create_inference_component(**request)
        its = {"InferenceComponentName": request["InferenceComponentName"]}
        named = f"{arn}:inference-component/{its['InferenceComponentName']}"

        def refused() -> list[str]:
            return [
                refusal(
                    sagemaker.update_inference_component, **its, RuntimeConfig=_ONE
                ),
                refusal(
                    sagemaker.update_inference_component_runtime_config,
                    **its,
                    DesiredRuntimeConfig=_ONE,
                ),
                refusal(sagemaker.delete_inference_component, **its),
            ]

        def told(state: str) -> list[str]:
            return [
                f'Cannot {verb} inference component "{named}" while it is in state '
                f"{state}."
                for verb in ("update", "update", "delete")
            ]

        assert refused() == told("CREATE_IN_PROGRESS")
        aws.run(_COMES)
        sagemaker.update_inference_component_runtime_config(
            **its, DesiredRuntimeConfig={"CopyCount": 2}
        )
        assert refused() == told("UPDATE_RC_IN_PROGRESS")
        aws.run(_COMES)
        sagemaker.delete_inference_component(**its)
        assert refused() == told("DELETE_IN_PROGRESS")
        aws.run(_COMES)

    def test_a_version_that_fails_says_why_until_the_next_one_serves(
        self, aws: HandRunAws, sagemaker: Untyped, host: str
    ) -> None:
        """
        The old copies serve meanwhile.
        """
        request = component(host)
        sagemaker.create_inference_component(**request)
        name = request["InferenceComponentName"]
        aws.run(_COMES)
        changed = {
            "Container": {"Image": TGI_3},
            "ComputeResourceRequirements": _NEEDS,
        }
        aws.hosting.world.faults.put(Fault(kind="cannot-start", target=name))
        update = sagemaker.update_inference_component
        update(InferenceComponentName=name, Specification=changed)
        aws.run(_COMES)
        aws.hosting.world.faults.clear()

        def described() -> tuple[str, str | None, str]:
            found = sagemaker.describe_inference_component(InferenceComponentName=name)
            image = found["Specification"]["Container"]["DeployedImage"]
            status = found["InferenceComponentStatus"]
            return status, found.get("FailureReason"), image["SpecifiedImage"]

        assert described() == (
            "InService",
            (
                "CannotStartContainerError. Please ensure the model container for "
                f"inference component {name} starts correctly when invoked with "
                "'docker run <image> serve'"
            ),
            TGI,
        )
        update(InferenceComponentName=name, Specification=changed)
        aws.run(_COMES)
        assert described() == ("InService", None, TGI_3)
        sagemaker.delete_inference_component(InferenceComponentName=name)
        aws.run(100)


class TestShapes:
    """
    What is not as the API's model says.
    """

    @pytest.mark.parametrize(
        ("request_", "told"),
        [
            (
                {},
                (
                    "1 validation error detected: Value null at 'modelName' failed to "
                    "satisfy constraint: Member must not be null"
                ),
            ),
            (
                {"ModelName": "m" * 64, "PrimaryContainer": {"Mode": "Some"}},
                (
                    f"2 validation errors detected: Value '{'m' * 64}' at 'modelName' "
                    "failed to satisfy constraint: Member must have length less than "
                    "or equal to 63; Value 'Some' at 'primaryContainer.mode' failed to "
                    "satisfy constraint: Member must satisfy enum value set: "
                    "[SingleModel, MultiModel]"
                ),
            ),
            (
                {"ModelName": "m", "Tags": [{"Key": "k"}]},
                (
                    "1 validation error detected: Value null at 'tags.1.member.value' "
                    "failed to satisfy constraint: Member must not be null"
                ),
            ),
        ],
    )
    def test_all_faults_are_told_together(
        self, aws: HandRunAws, request_: dict[str, Any], told: str
    ) -> None:
        """
        By the place of each.
        """
        client = unchecked(aws, "sagemaker")

        assert refusal(client.create_model, **request_) == told
