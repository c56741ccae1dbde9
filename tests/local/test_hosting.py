"""
What the control plane takes, shows and refuses.
"""

from __future__ import annotations

import re
import urllib.request
from json import loads
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.hosting_requests import (
    ROLE,
    make_component,
    make_config,
    make_endpoint,
    make_model,
    unique,
)

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws


@pytest.fixture(name="sagemaker", scope="module")
def _sagemaker(embedded_aws: EmbeddedAws) -> Untyped:
    return embedded_aws.client("sagemaker")


def refused(words: str) -> Untyped:
    """
    Expect the service's words.
    """
    return pytest.raises(ClientError, match=re.escape(words))


class TestComponents:
    """
    Inference components and the room they need.
    """

    def test_eight_copies_fit_the_eight_gpus_of_one_instance(
        self, embedded_aws: EmbeddedAws, sagemaker: Untyped
    ) -> None:
        """
        The copies are placed, counted and shown where they are.
        """
        endpoint = make_endpoint(embedded_aws, make_config(embedded_aws))
        needs = {"NumberOfCpuCoresRequired": 10, "MinMemoryRequiredInMb": 100 * 1024}
        name = make_component(embedded_aws, endpoint, copies=8, needs=needs)

        shown = sagemaker.describe_inference_component(InferenceComponentName=name)
        assert shown["RuntimeConfig"] == {"DesiredCopyCount": 8, "CurrentCopyCount": 8}
        assert shown["InferenceComponentStatus"] == "InService"
        variant = placed(embedded_aws, endpoint)
        assert variant["CopiesPlaced"] == 8
        assert variant["Instances"] == [{"Instance": 0, "Copies": {name: 8}}]

    @pytest.mark.parametrize(
        ("needs", "why"),
        [
            (
                {"NumberOfAcceleratorDevicesRequired": 1},
                "accelerators: needs 1, free 0",
            ),
            ({"NumberOfCpuCoresRequired": 20}, "CPU cores: needs 20, free 16"),
            ({"MinMemoryRequiredInMb": 300 * 1024}, "memory (MiB): needs 307200, free"),
        ],
        ids=["accelerators", "cpu", "memory"],
    )
    def test_a_copy_that_does_not_fit_is_refused_with_what_is_short(
        self, embedded_aws: EmbeddedAws, needs: dict[str, int], why: str
    ) -> None:
        """
        The service's words, then the resource, what it needs and what is free.
        """
        endpoint = make_endpoint(embedded_aws, make_config(embedded_aws))
        too_many = 9 if "NumberOfAcceleratorDevicesRequired" in needs else 5

        with refused("There is not enough hardware resources") as caught:
            make_component(embedded_aws, endpoint, copies=too_many, needs=needs)
        assert why in str(caught.value)
        assert placed(embedded_aws, endpoint)["CopiesPlaced"] == 0

    def test_managed_scaling_grows_the_fleet_as_far_as_its_maximum(
        self, embedded_aws: EmbeddedAws, sagemaker: Untyped
    ) -> None:
        """
        Copies bring instances along, and take them with them down to the minimum.
        """
        scaling = {"Status": "ENABLED", "MinInstanceCount": 0, "MaxInstanceCount": 2}
        config = make_config(embedded_aws, variant={"ManagedInstanceScaling": scaling})
        endpoint = make_endpoint(embedded_aws, config)
        name = make_component(embedded_aws, endpoint, copies=16)
        assert instances(sagemaker, endpoint) == 2

        with refused("There is not enough hardware resources"):
            set_copies(sagemaker, name, 17)
        set_copies(sagemaker, name, 3)
        assert instances(sagemaker, endpoint) == 1
        set_copies(sagemaker, name, 0)
        assert instances(sagemaker, endpoint) == 0

    def test_an_update_that_does_not_fit_changes_nothing(
        self, embedded_aws: EmbeddedAws, sagemaker: Untyped
    ) -> None:
        """
        The copies that ran go on running.
        """
        endpoint = make_endpoint(embedded_aws, make_config(embedded_aws))
        name = make_component(embedded_aws, endpoint, copies=4)

        with refused("There is not enough hardware resources"):
            sagemaker.update_inference_component(
                InferenceComponentName=name, RuntimeConfig={"CopyCount": 9}
            )
        shown = sagemaker.describe_inference_component(InferenceComponentName=name)
        assert shown["RuntimeConfig"]["CurrentCopyCount"] == 4
        assert placed(embedded_aws, endpoint)["CopiesPlaced"] == 4

    def test_an_endpoint_of_a_model_takes_none(self, embedded_aws: EmbeddedAws) -> None:
        """
        A model in the variant rules components out.
        """
        variant = {"ModelName": make_model(embedded_aws)}
        endpoint = make_endpoint(
            embedded_aws, make_config(embedded_aws, variant=variant)
        )

        with refused("Inference Components are not supported in this Endpoint."):
            make_component(embedded_aws, endpoint)

    def test_the_role_of_model_and_endpoint_must_match(
        self, embedded_aws: EmbeddedAws
    ) -> None:
        """
        So must network and isolation: the page "Model and endpoint compatibility".
        """
        endpoint = make_endpoint(embedded_aws, make_config(embedded_aws))
        other = make_model(embedded_aws, ExecutionRoleArn=f"{ROLE}Other")
        isolated = make_model(embedded_aws, EnableNetworkIsolation=True)
        vpc = {"Subnets": ["subnet-1"], "SecurityGroupIds": ["sg-1"]}
        elsewhere = make_model(embedded_aws, VpcConfig=vpc)

        with refused("must have the same execution role"):
            make_component(embedded_aws, endpoint, model=other)
        with refused("must have the same network isolation"):
            make_component(embedded_aws, endpoint, model=isolated)
        with refused("must have the same VPC"):
            make_component(embedded_aws, endpoint, model=elsewhere)

    def test_pools_and_an_instance_type_exclude_each_other(
        self, embedded_aws: EmbeddedAws
    ) -> None:
        """
        Pools replace the type.
        """
        pools = [
            {"InstanceType": kind, "Priority": priority}
            for priority, kind in enumerate(("ml.g6.xlarge", "ml.g5.xlarge"), start=1)
        ]

        with refused("specify InstanceType or InstancePools, not both"):
            make_config(embedded_aws, variant={"InstancePools": pools})

    def test_a_component_can_be_deleted_and_its_room_used_again(
        self, embedded_aws: EmbeddedAws, sagemaker: Untyped
    ) -> None:
        """
        Deleting frees what the copies held.
        """
        endpoint = make_endpoint(embedded_aws, make_config(embedded_aws))
        name = make_component(embedded_aws, endpoint, copies=8)
        sagemaker.delete_inference_component(InferenceComponentName=name)

        make_component(embedded_aws, endpoint, copies=8)
        listed = sagemaker.list_inference_components(EndpointNameEquals=endpoint)
        assert len(listed["InferenceComponents"]) == 1


class TestEndpoints:
    """
    Endpoints: updates, scaling targets, deletion.
    """

    def test_an_endpoint_with_components_cannot_be_deleted(
        self, embedded_aws: EmbeddedAws, sagemaker: Untyped
    ) -> None:
        """
        The component has to be gone first.
        """
        endpoint = make_endpoint(embedded_aws, make_config(embedded_aws))
        name = make_component(embedded_aws, endpoint)

        with refused("Cannot delete endpoint with inference component associated."):
            sagemaker.delete_endpoint(EndpointName=endpoint)
        sagemaker.delete_inference_component(InferenceComponentName=name)
        sagemaker.delete_endpoint(EndpointName=endpoint)

    @pytest.mark.parametrize(("retain", "count"), [(True, 3), (False, 1)])
    def test_an_update_keeps_the_endpoint_and_resets_its_count_unless_retained(
        self, embedded_aws: EmbeddedAws, sagemaker: Untyped, *, retain: bool, count: int
    ) -> None:
        """
        The same name, ARN and birthday on another configuration.
        """
        variant = {"ModelName": make_model(embedded_aws)}
        endpoint = make_endpoint(
            embedded_aws, make_config(embedded_aws, variant=variant)
        )
        before = sagemaker.describe_endpoint(EndpointName=endpoint)
        sagemaker.update_endpoint_weights_and_capacities(
            EndpointName=endpoint,
            DesiredWeightsAndCapacities=[
                {"VariantName": "AllTraffic", "DesiredInstanceCount": 3}
            ],
        )
        sagemaker.update_endpoint(
            EndpointName=endpoint,
            EndpointConfigName=make_config(embedded_aws, variant=variant),
            RetainAllVariantProperties=retain,
        )

        after = sagemaker.describe_endpoint(EndpointName=endpoint)
        assert after["EndpointArn"] == before["EndpointArn"]
        assert after["CreationTime"] == before["CreationTime"]
        assert after["EndpointConfigName"] != before["EndpointConfigName"]
        assert after["ProductionVariants"][0]["DesiredInstanceCount"] == count

    def test_components_move_to_the_new_configuration(
        self, embedded_aws: EmbeddedAws
    ) -> None:
        """
        They are placed anew, and the update is refused where they do not fit.
        """
        sagemaker = embedded_aws.client("sagemaker")
        endpoint = make_endpoint(embedded_aws, make_config(embedded_aws))
        make_component(embedded_aws, endpoint, copies=8)
        small = make_config(embedded_aws, variant={"InstanceType": "ml.g5.12xlarge"})

        with refused("There is not enough hardware resources"):
            sagemaker.update_endpoint(EndpointName=endpoint, EndpointConfigName=small)
        assert placed(embedded_aws, endpoint)["CopiesPlaced"] == 8

    def test_a_scaled_variant_keeps_its_instance_type(
        self, embedded_aws: EmbeddedAws, sagemaker: Untyped
    ) -> None:
        """
        It must be deregistered first; deleting the endpoint deregisters it.
        """
        scaling = embedded_aws.client("application-autoscaling")
        variant = {"ModelName": make_model(embedded_aws)}
        endpoint = make_endpoint(
            embedded_aws, make_config(embedded_aws, variant=variant)
        )
        resource_id = f"endpoint/{endpoint}/variant/AllTraffic"
        scaling.register_scalable_target(
            ServiceNamespace="sagemaker",
            ResourceId=resource_id,
            ScalableDimension="sagemaker:variant:DesiredInstanceCount",
            MinCapacity=1,
            MaxCapacity=2,
        )
        other = {**variant, "InstanceType": "ml.p5.48xlarge"}

        with refused("must be deregistered as scalable target with AutoScaling"):
            sagemaker.update_endpoint(
                EndpointName=endpoint,
                EndpointConfigName=make_config(embedded_aws, variant=other),
            )
        sagemaker.delete_endpoint(EndpointName=endpoint)
        left = scaling.describe_scalable_targets(
            ServiceNamespace="sagemaker", ResourceIds=[resource_id]
        )
        assert left["ScalableTargets"] == []

    def test_a_configuration_and_a_model_in_use_may_go(
        self, embedded_aws: EmbeddedAws, sagemaker: Untyped
    ) -> None:
        """
        The endpoint goes on with its own copies, and moves to another configuration.
        """
        model = make_model(embedded_aws)
        config = make_config(embedded_aws, variant={"ModelName": model})
        endpoint = make_endpoint(embedded_aws, config)

        sagemaker.delete_endpoint_config(EndpointConfigName=config)
        with refused("Could not find endpoint configuration"):
            sagemaker.describe_endpoint_config(EndpointConfigName=config)
        other = make_config(embedded_aws, variant={"ModelName": model})
        sagemaker.update_endpoint(EndpointName=endpoint, EndpointConfigName=other)
        shown = sagemaker.describe_endpoint(EndpointName=endpoint)
        assert shown["EndpointConfigName"] == other
        sagemaker.delete_model(ModelName=model)
        answer = embedded_aws.client("sagemaker-runtime").invoke_endpoint(
            EndpointName=endpoint, Body=b'{"inputs": "Still there?"}'
        )
        assert answer["InvokedProductionVariant"] == "AllTraffic"


class TestDefinitions:
    """
    Models and endpoint configurations.
    """

    def test_managed_instance_scaling_is_for_components(
        self, embedded_aws: EmbeddedAws
    ) -> None:
        """
        A variant with a model cannot have it.
        """
        scaling = {"Status": "ENABLED", "MinInstanceCount": 1, "MaxInstanceCount": 2}
        variant = {
            "ModelName": make_model(embedded_aws),
            "ManagedInstanceScaling": scaling,
        }

        with refused(
            "ManagedInstanceScaling is only supported for inference component"
        ):
            make_config(embedded_aws, variant=variant)

    def test_a_variant_needs_a_model_or_a_role_on_the_configuration(
        self, sagemaker: Untyped
    ) -> None:
        """
        With neither it is an endpoint of nothing.
        """
        variant = {
            "VariantName": "AllTraffic",
            "InstanceType": "ml.g5.xlarge",
            "InitialInstanceCount": 1,
        }

        with refused("has no ModelName and the endpoint configuration has no Exec"):
            sagemaker.create_endpoint_config(
                EndpointConfigName=unique("config"), ProductionVariants=[variant]
            )

    def test_what_is_not_there_is_named_by_its_arn(
        self, embedded_aws: EmbeddedAws, sagemaker: Untyped
    ) -> None:
        """
        The service's ValidationException, not a ResourceNotFound.
        """
        with refused('Could not find model "arn:aws:sagemaker:us-east-1:123456789012:'):
            make_config(embedded_aws, variant={"ModelName": "nobody"})
        with refused("Could not find endpoint configuration"):
            make_endpoint(embedded_aws, "nobody")
        with refused("Could not find inference component"):
            sagemaker.describe_inference_component(InferenceComponentName="nobody")

    def test_a_name_can_be_used_once(
        self, embedded_aws: EmbeddedAws, sagemaker: Untyped
    ) -> None:
        """
        Endpoint names differ by more than their case.
        """
        config = make_config(embedded_aws)
        endpoint = make_endpoint(embedded_aws, config)

        with refused("Cannot create already existing endpoint "):
            sagemaker.create_endpoint(
                EndpointName=endpoint.upper(), EndpointConfigName=config
            )
        with refused("Cannot create already existing endpoint configuration"):
            sagemaker.create_endpoint_config(
                EndpointConfigName=config,
                ExecutionRoleArn=ROLE,
                ProductionVariants=[{"VariantName": "AllTraffic"}],
            )

    def test_model_data_must_be_there(self, embedded_aws: EmbeddedAws) -> None:
        """
        A tarball that was never uploaded is the service's error at CreateModel.
        """
        data = {"ModelDataUrl": "s3://nobody/artifact.tar.gz"}

        with refused("Could not access model data at s3://nobody/artifact.tar.gz."):
            make_model(embedded_aws, container=data)

    def test_requests_are_checked_against_the_current_api(
        self, embedded_aws: EmbeddedAws
    ) -> None:
        """
        A newer instance type is known, a wrong one is refused in the service's words.
        """
        make_config(embedded_aws, variant={"InstanceType": "ml.p6-b200.48xlarge"})

        with refused("'productionVariants.1.member.instanceType' failed to satisfy"):
            make_config(embedded_aws, variant={"InstanceType": "ml.p9.huge"})

    def test_tags_are_kept_with_the_resource(
        self, embedded_aws: EmbeddedAws, sagemaker: Untyped
    ) -> None:
        """
        Tags of hosting's resources are hosting's; all others are moto's.
        """
        arn = sagemaker.describe_model(ModelName=make_model(embedded_aws))["ModelArn"]
        sagemaker.add_tags(ResourceArn=arn, Tags=[{"Key": "team", "Value": "llm"}])
        sagemaker.delete_tags(ResourceArn=arn, TagKeys=["nothing"])

        assert sagemaker.list_tags(ResourceArn=arn)["Tags"] == [
            {"Key": "team", "Value": "llm"}
        ]

    def test_lists_come_in_pages(self, fresh_aws: EmbeddedAws) -> None:
        """
        Ten to a page if nothing else is said, the newest first.
        """
        names = [make_model(fresh_aws) for _ in range(12)]
        pages = fresh_aws.client("sagemaker").get_paginator("list_models").paginate()

        found = [[m["ModelName"] for m in page["Models"]] for page in pages]
        assert [len(page) for page in found] == [10, 2]
        assert [name for page in found for name in page] == names[::-1]

    def test_what_is_not_hosting_goes_to_moto(self, sagemaker: Untyped) -> None:
        """
        The rest of SageMaker answers as well.
        """
        assert sagemaker.list_experiments()["ExperimentSummaries"] == []


class TestScaling:
    """
    Application Auto Scaling's side of it.
    """

    def test_a_target_must_be_there(self, embedded_aws: EmbeddedAws) -> None:
        """
        moto takes any resource id; the service does not.
        """
        with refused("SageMaker has no resource with resource ID: inference-component"):
            register(embedded_aws, "inference-component/nobody")

    def test_a_component_scales_on_its_own_metrics(
        self, embedded_aws: EmbeddedAws
    ) -> None:
        """
        From zero copies; a variant's metric is refused.
        """
        endpoint = make_endpoint(embedded_aws, make_config(embedded_aws))
        name = make_component(embedded_aws, endpoint)
        resource_id = f"inference-component/{name}"
        register(embedded_aws, resource_id)

        put_policy(
            embedded_aws,
            resource_id,
            "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution",
        )
        with refused("is not supported for scalable dimension"):
            put_policy(
                embedded_aws, resource_id, "SageMakerVariantInvocationsPerInstance"
            )


def register(aws: EmbeddedAws, resource_id: str) -> None:
    """
    Register a component's target.
    """
    aws.client("application-autoscaling").register_scalable_target(
        ServiceNamespace="sagemaker",
        ResourceId=resource_id,
        ScalableDimension="sagemaker:inference-component:DesiredCopyCount",
        MinCapacity=0,
        MaxCapacity=4,
    )


def put_policy(aws: EmbeddedAws, resource_id: str, metric: str) -> None:
    """
    Track a predefined metric.
    """
    aws.client("application-autoscaling").put_scaling_policy(
        PolicyName="Load",
        ServiceNamespace="sagemaker",
        ResourceId=resource_id,
        ScalableDimension="sagemaker:inference-component:DesiredCopyCount",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration={
            "TargetValue": 4,
            "PredefinedMetricSpecification": {"PredefinedMetricType": metric},
        },
    )


def placed(aws: EmbeddedAws, endpoint: str) -> Untyped:
    """
    Read where an endpoint's copies are.
    """
    url = f"{aws.url}/_embedded/hosting"
    with urllib.request.urlopen(url) as response:  # noqa: S310 - our own server
        report = loads(response.read())
    mine = [e for e in report["Endpoints"] if e["EndpointName"] == endpoint]
    return mine[0]["Variants"][0]


def instances(sagemaker: Untyped, endpoint: str) -> int:
    """
    Return the instance count that DescribeEndpoint shows.
    """
    shown = sagemaker.describe_endpoint(EndpointName=endpoint)
    count: int = shown["ProductionVariants"][0]["CurrentInstanceCount"]
    return count


def set_copies(sagemaker: Untyped, name: str, copies: int) -> None:
    """
    Scale a component.
    """
    sagemaker.update_inference_component_runtime_config(
        InferenceComponentName=name, DesiredRuntimeConfig={"CopyCount": copies}
    )
