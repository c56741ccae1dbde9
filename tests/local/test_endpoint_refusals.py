"""
What SageMaker refuses of endpoints, word for word; and what it takes beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cdk_sagemaker_llm.local.aws.faults import Fault
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.by_hand import TIMES, HandRunAws, hand_run_aws
from tests.local.hosting_requests import (
    make_component,
    make_config,
    make_endpoint,
    make_model,
    refusal,
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


def served(aws: HandRunAws, **variant: Untyped) -> str:
    """
    Make an endpoint of a model, which is coming.
    """
    settings = {"ModelName": make_model(aws), **_SMALL, **variant}
    return make_endpoint(aws, make_config(aws, variant=settings))


def state(sagemaker: Untyped, endpoint: str) -> str:
    """
    Return the status of an endpoint.
    """
    described = sagemaker.describe_endpoint(EndpointName=endpoint)
    return str(described["EndpointStatus"])


class TestEndpoints:
    """
    Endpoints and their capacity.
    """

    def test_one_that_changes_is_left_alone(
        self, aws: HandRunAws, sagemaker: Untyped, arn: str
    ) -> None:
        """
        Whatever is asked of it, until it is in service; and while it is deleted.
        """
        config = make_config(aws, variant={"ModelName": make_model(aws), **_SMALL})
        name = make_endpoint(aws, config)
        its = {"EndpointName": name}
        one = [{"VariantName": "AllTraffic", "DesiredInstanceCount": 2}]

        def refused() -> list[str]:
            return [
                refusal(sagemaker.update_endpoint, **its, EndpointConfigName=config),
                refusal(sagemaker.delete_endpoint, **its),
                refusal(
                    sagemaker.update_endpoint_weights_and_capacities,
                    **its,
                    DesiredWeightsAndCapacities=one,
                ),
            ]

        told = f'Cannot update in-progress endpoint "{arn}:endpoint/{name}".'
        assert refused() == [told] * 3
        aws.run(_COMES)
        sagemaker.update_endpoint_weights_and_capacities(
            **its, DesiredWeightsAndCapacities=one
        )
        assert state(sagemaker, name) == "Updating"
        assert refused() == [told] * 3
        aws.run(_COMES)
        assert state(sagemaker, name) == "InService"
        sagemaker.delete_endpoint(**its)
        assert state(sagemaker, name) == "Deleting"
        assert refused() == [told] * 3
        aws.run(100)
        missing = refusal(sagemaker.describe_endpoint, **its)
        assert missing == f'Could not find endpoint "{arn}:endpoint/{name}".'

    def test_one_that_failed_can_only_be_deleted(
        self, aws: HandRunAws, sagemaker: Untyped, arn: str
    ) -> None:
        """
        It says so, and why it failed.
        """
        name = served(aws)
        fault = Fault(kind="cannot-start", target=name)
        aws.hosting.world.faults.put(fault)
        aws.run(_COMES)
        aws.hosting.world.faults.clear()
        its = {"EndpointName": name}
        described = sagemaker.describe_endpoint(**its)

        assert described["EndpointStatus"] == "Failed"
        assert described["FailureReason"] == (
            "CannotStartContainerError. Please ensure the model container for variant "
            "AllTraffic starts correctly when invoked with 'docker run <image> serve'"
        )
        told = (
            f'Cannot update endpoint "{arn}:endpoint/{name}" with status Failed: '
            "DeleteEndpoint is the only operation that can be performed on it."
        )
        config = described["EndpointConfigName"]
        update = sagemaker.update_endpoint
        assert refusal(update, **its, EndpointConfigName=config) == told
        assert (
            refusal(
                sagemaker.update_endpoint_weights_and_capacities,
                **its,
                DesiredWeightsAndCapacities=[
                    {"VariantName": "AllTraffic", "DesiredInstanceCount": 2}
                ],
            )
            == told
        )
        sagemaker.delete_endpoint(**its)

    def test_capacities_are_those_of_its_variants(
        self, aws: HandRunAws, sagemaker: Untyped, arn: str
    ) -> None:
        """
        Each once, by a name that is there; a wrong one changes nothing.
        """
        name = served(aws)
        aws.run(_COMES)

        def asked(*every: dict[str, Any]) -> str:
            return refusal(
                sagemaker.update_endpoint_weights_and_capacities,
                EndpointName=name,
                DesiredWeightsAndCapacities=list(every),
            )

        right = {
            "VariantName": "AllTraffic",
            "DesiredWeight": 5.0,
            "DesiredInstanceCount": 3,
        }
        assert asked(right, right) == 'Variant "AllTraffic" is listed more than once.'
        assert asked(right, {**right, "VariantName": "Other"}) == (
            f'Could not find variant "Other" of endpoint "{arn}:endpoint/{name}".'
        )
        (one,) = sagemaker.describe_endpoint(EndpointName=name)["ProductionVariants"]
        assert (one["DesiredWeight"], one["DesiredInstanceCount"]) == (1.0, 1)

        sagemaker.update_endpoint_weights_and_capacities(
            EndpointName=name,
            DesiredWeightsAndCapacities=[
                {"VariantName": "AllTraffic", "DesiredWeight": 0.0}
            ],
        )
        (one,) = sagemaker.describe_endpoint(EndpointName=name)["ProductionVariants"]
        assert (one["DesiredWeight"], one["DesiredInstanceCount"]) == (0.0, 1)
        assert state(sagemaker, name) == "InService"

    @pytest.mark.parametrize(("count", "taken"), [(1, 0), (2, 1), (3, 1), (4, 0)])
    def test_managed_scaling_bounds_what_can_be_asked_for(
        self, aws: HandRunAws, sagemaker: Untyped, count: int, taken: int
    ) -> None:
        """
        From its minimum to its maximum.
        """
        managed = {"Status": "ENABLED", "MinInstanceCount": 2, "MaxInstanceCount": 3}
        variant = {"InitialInstanceCount": 2, "ManagedInstanceScaling": managed}
        name = make_endpoint(aws, make_config(aws, variant={**_SMALL, **variant}))
        aws.run(_COMES)
        request = {
            "EndpointName": name,
            "DesiredWeightsAndCapacities": [
                {"VariantName": "AllTraffic", "DesiredInstanceCount": count}
            ],
        }
        update = sagemaker.update_endpoint_weights_and_capacities

        if taken:
            update(**request)
        else:
            assert refusal(update, **request) == (
                f'DesiredInstanceCount {count} of variant "AllTraffic" must be between '
                "the MinInstanceCount 2 and the MaxInstanceCount 3 of its "
                "ManagedInstanceScaling."
            )

    def test_a_serverless_variant_has_no_instances(
        self, aws: HandRunAws, sagemaker: Untyped
    ) -> None:
        """
        Its weight can be set.
        """
        config = unique("config")
        sagemaker.create_endpoint_config(
            EndpointConfigName=config,
            ProductionVariants=[
                {
                    "VariantName": "Small",
                    "ModelName": make_model(aws),
                    "ServerlessConfig": {"MemorySizeInMB": 2048, "MaxConcurrency": 5},
                }
            ],
        )
        name = make_endpoint(aws, config)
        aws.run(_COMES)
        update = sagemaker.update_endpoint_weights_and_capacities
        small = {"VariantName": "Small", "DesiredWeight": 2.0}

        asked = [{**small, "DesiredInstanceCount": 1}]
        refused = refusal(update, EndpointName=name, DesiredWeightsAndCapacities=asked)
        assert refused == (
            'Variant "Small" is serverless: DesiredInstanceCount is not supported.'
        )
        update(EndpointName=name, DesiredWeightsAndCapacities=[small])

    def test_a_queue_stays_a_queue(self, aws: HandRunAws, sagemaker: Untyped) -> None:
        """
        An update cannot take the configuration of asynchronous inference away.
        """
        variant = {"ModelName": make_model(aws), **_SMALL}
        later = {"OutputConfig": {"S3OutputPath": "s3://answers/here"}}
        queued = make_config(aws, variant=variant, AsyncInferenceConfig=later)
        name = make_endpoint(aws, queued)
        aws.run(_COMES)
        described = sagemaker.describe_endpoint(EndpointName=name)
        assert described["AsyncInferenceConfig"] == later

        plain = make_config(aws, variant=variant)
        update = sagemaker.update_endpoint
        assert refusal(update, EndpointName=name, EndpointConfigName=plain) == (
            "The AsyncInferenceConfig parameter cannot be removed from this endpoint "
            f"{name}."
        )
        update(EndpointName=name, EndpointConfigName=queued)

    def test_components_keep_their_variant_and_role(
        self, aws: HandRunAws, sagemaker: Untyped, arn: str
    ) -> None:
        """
        A configuration without either is refused.
        """
        name = make_endpoint(aws, make_config(aws, variant=_SMALL))
        aws.run(_COMES)
        one = make_component(aws, name)
        aws.run(200)
        elsewhere = make_config(aws, variant={**_SMALL, "VariantName": "Other"})
        roleless = make_config(aws, variant={"ModelName": make_model(aws), **_SMALL})

        for config in (elsewhere, roleless):
            update = sagemaker.update_endpoint
            refused = refusal(update, EndpointName=name, EndpointConfigName=config)
            assert refused == (
                f'Inference component "{arn}:inference-component/{one}" cannot run on '
                "the new endpoint configuration: variant AllTraffic or the execution "
                "role is missing."
            )

    def test_a_scaled_variant_stays(self, aws: HandRunAws, sagemaker: Untyped) -> None:
        """
        With its instance type; deregistered, it can be removed.
        """
        name = served(aws)
        aws.run(_COMES)
        scaling = aws.client("application-autoscaling")
        key = {
            "ServiceNamespace": "sagemaker",
            "ResourceId": f"endpoint/{name}/variant/AllTraffic",
            "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
        }
        scaling.register_scalable_target(**key, MinCapacity=1, MaxCapacity=2)
        own = {"ModelName": make_model(aws), **_SMALL}
        others = [
            make_config(aws, variant={**own, "VariantName": "Other"}),
            make_config(aws, variant={**own, "InstanceType": "ml.g5.xlarge"}),
        ]
        told = (
            "The variant(s) \"['AllTraffic']\" must be deregistered as scalable target "
            "with AutoScaling before they can be removed or have their instance type "
            "updated."
        )
        update = sagemaker.update_endpoint
        for config in others:
            assert refusal(update, EndpointName=name, EndpointConfigName=config) == told
        scaling.deregister_scalable_target(**key)
        update(EndpointName=name, EndpointConfigName=others[0])


class TestRetained:
    """
    What an update keeps of the endpoint.
    """

    @pytest.mark.parametrize(
        ("settings", "count"),
        [
            ({}, 1),
            ({"RetainAllVariantProperties": True}, 3),
            (
                {
                    "RetainAllVariantProperties": True,
                    "ExcludeRetainedVariantProperties": [
                        {"VariantPropertyType": "DesiredInstanceCount"}
                    ],
                },
                1,
            ),
            (
                {
                    "RetainAllVariantProperties": True,
                    "ExcludeRetainedVariantProperties": [
                        {"VariantPropertyType": "DataCaptureConfig"}
                    ],
                },
                3,
            ),
        ],
    )
    def test_the_instances_it_has(
        self,
        aws: HandRunAws,
        sagemaker: Untyped,
        settings: dict[str, Any],
        count: int,
    ) -> None:
        """
        If they are retained and not excluded.
        """
        name = served(aws)
        aws.run(_COMES)
        aws.client("sagemaker").update_endpoint_weights_and_capacities(
            EndpointName=name,
            DesiredWeightsAndCapacities=[
                {"VariantName": "AllTraffic", "DesiredInstanceCount": 3}
            ],
        )
        aws.run(_COMES)
        config = make_config(aws, variant={"ModelName": make_model(aws), **_SMALL})

        sagemaker.update_endpoint(
            EndpointName=name, EndpointConfigName=config, **settings
        )
        aws.run(1000)

        described = sagemaker.describe_endpoint(EndpointName=name)
        assert described["EndpointConfigName"] == config
        (one,) = described["ProductionVariants"]
        assert one["CurrentInstanceCount"] == count

    @pytest.mark.parametrize(("retained", "waits"), [(True, True), (False, False)])
    def test_its_last_deployment(
        self, aws: HandRunAws, sagemaker: Untyped, *, retained: bool, waits: bool
    ) -> None:
        """
        Ten minutes of waiting count again only if they are retained.
        """
        name = served(aws)
        aws.run(_COMES)
        config = make_config(aws, variant={"ModelName": make_model(aws), **_SMALL})
        waiting = {
            "BlueGreenUpdatePolicy": {
                "TrafficRoutingConfiguration": {
                    "Type": "ALL_AT_ONCE",
                    "WaitIntervalInSeconds": 600,
                }
            }
        }
        its = {"EndpointName": name, "EndpointConfigName": config}
        sagemaker.update_endpoint(**its, DeploymentConfig=waiting)
        aws.run(1200)
        assert state(sagemaker, name) == "InService"

        sagemaker.update_endpoint(**its, RetainDeploymentConfig=retained)
        aws.run(_COMES + 100)

        assert (state(sagemaker, name) == "Updating") is waits
        aws.run(1200)
        described = sagemaker.describe_endpoint(EndpointName=name)
        assert described["LastDeploymentConfig"] == waiting
