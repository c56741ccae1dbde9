"""
What SageMaker tells of models, endpoints and components: every member, and no other.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.by_hand import TIMES, HandRunAws, hand_run_aws
from tests.local.hosting_requests import ROLE, TGI, TGI_3, unique

_COMES = 400
_TAGS = [{"Key": "team", "Value": "llm"}]
_NEEDS = {"NumberOfAcceleratorDevicesRequired": 1, "MinMemoryRequiredInMb": 1024}
_MANAGED = {"Status": "ENABLED", "MinInstanceCount": 1, "MaxInstanceCount": 2}


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws(TIMES) as aws:
        aws.run_to_the_hour()
        yield aws


def plain(answer: Untyped) -> Untyped:
    """
    Return an answer without what every one has, its times as seconds.
    """
    if isinstance(answer, dict):
        return {k: plain(v) for k, v in answer.items() if k != "ResponseMetadata"}
    if isinstance(answer, list):
        return [plain(one) for one in answer]
    return answer.timestamp() if isinstance(answer, datetime) else answer


def model(sagemaker: Untyped, image: str = TGI, **settings: Untyped) -> str:
    """
    Make a model and return its name.
    """
    name = unique("model")
    sagemaker.create_model(
        ModelName=name,
        ExecutionRoleArn=ROLE,
        PrimaryContainer={"Image": image, "Environment": {"A": "b"}},
        **settings,
    )
    return name


def variant(name: str = "Main", **settings: Untyped) -> dict[str, Any]:
    """
    Write a variant of one instance.
    """
    return {
        "VariantName": name,
        "InstanceType": "ml.g5.12xlarge",
        "InitialInstanceCount": 1,
        **settings,
    }


def configured(sagemaker: Untyped, *variants: dict[str, Any], **more: Untyped) -> str:
    """
    Make a configuration and return its name.
    """
    name = unique("config")
    sagemaker.create_endpoint_config(
        EndpointConfigName=name,
        ExecutionRoleArn=ROLE,
        ProductionVariants=list(variants),
        **more,
    )
    return name


def endpoint_on(sagemaker: Untyped, config: str, **settings: Untyped) -> str:
    """
    Make an endpoint and return its name.
    """
    name = unique("endpoint")
    sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=config, **settings)
    return name


def shown(sagemaker: Untyped, endpoint: str) -> dict[str, Any]:
    """
    Describe an endpoint.
    """
    found: dict[str, Any] = plain(sagemaker.describe_endpoint(EndpointName=endpoint))
    return found


def test_a_model_is_told_as_it_was_made(
    aws: HandRunAws, sagemaker: Untyped, arn: str
) -> None:
    """
    Without its tags, and with the isolation it has by default.
    """
    now = aws.wall()
    name = model(sagemaker, Tags=_TAGS)

    assert plain(sagemaker.describe_model(ModelName=name)) == {
        "ModelName": name,
        "ModelArn": f"{arn}:model/{name}",
        "PrimaryContainer": {"Image": TGI, "Environment": {"A": "b"}},
        "ExecutionRoleArn": ROLE,
        "EnableNetworkIsolation": False,
        "CreationTime": now,
    }
    assert plain(sagemaker.list_models(NameContains=name)) == {
        "Models": [
            {"ModelName": name, "ModelArn": f"{arn}:model/{name}", "CreationTime": now}
        ]
    }


def test_a_configuration_is_told_as_it_was_made(
    aws: HandRunAws, sagemaker: Untyped, arn: str
) -> None:
    """
    Without its tags.
    """
    now = aws.wall()
    name = configured(sagemaker, variant(), Tags=_TAGS)

    shown_config = plain(sagemaker.describe_endpoint_config(EndpointConfigName=name))
    assert shown_config == {
        "EndpointConfigName": name,
        "EndpointConfigArn": f"{arn}:endpoint-config/{name}",
        "ExecutionRoleArn": ROLE,
        "ProductionVariants": [variant()],
        "CreationTime": now,
    }
    assert plain(sagemaker.list_endpoint_configs(NameContains=name)) == {
        "EndpointConfigs": [
            {
                "EndpointConfigName": name,
                "EndpointConfigArn": f"{arn}:endpoint-config/{name}",
                "CreationTime": now,
            }
        ]
    }


def test_an_endpoint_is_told_while_it_comes_and_when_it_is_there(
    aws: HandRunAws, sagemaker: Untyped, arn: str
) -> None:
    """
    What it is becoming first, with the variants of its configuration.
    """
    name = model(sagemaker)
    routing = {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"}
    main = variant(ModelName=name, RoutingConfig=routing, InitialVariantWeight=3.0)
    shadow = variant("Dark", ModelName=name, InitialInstanceCount=2)
    capture = {
        "EnableCapture": False,
        "InitialSamplingPercentage": 25,
        "DestinationS3Uri": "s3://captured/here",
        "KmsKeyId": "some-key",
        "CaptureOptions": [{"CaptureMode": "Input"}],
    }
    metrics = {"EnableEnhancedMetrics": True, "MetricPublishFrequencyInSeconds": 60}
    config = configured(
        sagemaker,
        main,
        ShadowProductionVariants=[shadow],
        DataCaptureConfig=capture,
        MetricsConfig=metrics,
    )
    began = aws.wall()
    guardrails = {"AutoRollbackConfiguration": {"Alarms": [{"AlarmName": "a"}]}}
    endpoint = endpoint_on(sagemaker, config, DeploymentConfig=guardrails, Tags=_TAGS)

    def told(number: int, there: int, weight: float) -> dict[str, Any]:
        one = (main, shadow)[number]
        return {
            "VariantName": one["VariantName"],
            "DeployedImages": [
                {"SpecifiedImage": TGI, "ResolvedImage": TGI, "ResolutionTime": began}
            ],
            "CurrentWeight": weight,
            "DesiredWeight": weight,
            "CurrentInstanceCount": there,
            "DesiredInstanceCount": one["InitialInstanceCount"],
            **({} if number else {"RoutingConfig": routing}),
        }

    creating = {"VariantStatus": [{"Status": "Creating"}]}
    whole = {
        "EndpointName": endpoint,
        "EndpointArn": f"{arn}:endpoint/{endpoint}",
        "EndpointConfigName": config,
        "ProductionVariants": [told(0, 0, 3.0)],
        "ShadowProductionVariants": [told(1, 0, 1.0)],
        "DataCaptureConfig": {
            "EnableCapture": False,
            "CaptureStatus": "Stopped",
            "CurrentSamplingPercentage": 25,
            "DestinationS3Uri": "s3://captured/here",
            "KmsKeyId": "some-key",
        },
        "MetricsConfig": metrics,
        "LastDeploymentConfig": guardrails,
        "EndpointStatus": "Creating",
        "CreationTime": began,
        "LastModifiedTime": began,
    }
    assert shown(sagemaker, endpoint) == {
        **whole,
        "PendingDeploymentSummary": {
            "EndpointConfigName": config,
            "StartTime": began,
            "ProductionVariants": [told(0, 0, 3.0) | creating],
            "ShadowProductionVariants": [told(1, 0, 1.0) | creating],
        },
    }

    aws.run(_COMES)
    began += _COMES
    assert shown(sagemaker, endpoint) == {
        **whole,
        "ProductionVariants": [told(0, 1, 3.0)],
        "ShadowProductionVariants": [told(1, 2, 1.0)],
        "EndpointStatus": "InService",
        "LastModifiedTime": began,
    }
    assert plain(sagemaker.list_endpoints(NameContains=endpoint)) == {
        "Endpoints": [
            {
                "EndpointName": endpoint,
                "EndpointArn": f"{arn}:endpoint/{endpoint}",
                "CreationTime": began - _COMES,
                "LastModifiedTime": began,
                "EndpointStatus": "InService",
            }
        ]
    }


def test_capture_is_on_unless_it_is_switched_off(sagemaker: Untyped) -> None:
    """
    And has no key unless one is named.
    """
    capture = {
        "InitialSamplingPercentage": 100,
        "DestinationS3Uri": "s3://captured/here",
        "CaptureOptions": [{"CaptureMode": "Output"}],
    }
    main = variant(ModelName=model(sagemaker))
    config = configured(sagemaker, main, DataCaptureConfig=capture)
    endpoint = endpoint_on(sagemaker, config)

    assert shown(sagemaker, endpoint)["DataCaptureConfig"] == {
        "EnableCapture": True,
        "CaptureStatus": "Started",
        "CurrentSamplingPercentage": 100,
        "DestinationS3Uri": "s3://captured/here",
        "KmsKeyId": "",
    }


def test_a_move_is_told_stage_by_stage(aws: HandRunAws, sagemaker: Untyped) -> None:
    """
    The new fleet comes, gets its share, bakes; then the old one goes.
    """
    old, new = model(sagemaker), model(sagemaker, TGI_3)
    first = configured(sagemaker, variant(ModelName=old, InitialInstanceCount=2))
    second = configured(
        sagemaker,
        variant(ModelName=new, InitialInstanceCount=4, InitialVariantWeight=2.0),
    )
    endpoint = endpoint_on(sagemaker, first)
    aws.run(_COMES)
    began = aws.wall()
    sagemaker.update_endpoint(
        EndpointName=endpoint,
        EndpointConfigName=second,
        DeploymentConfig={
            "BlueGreenUpdatePolicy": {
                "TrafficRoutingConfiguration": {
                    "Type": "CANARY",
                    "CanarySize": {"Type": "INSTANCE_COUNT", "Value": 1},
                    "WaitIntervalInSeconds": 300,
                },
                "TerminationWaitInSeconds": 600,
            }
        },
    )

    def pending() -> dict[str, Any]:
        found: dict[str, Any] = shown(sagemaker, endpoint)["PendingDeploymentSummary"]
        return found

    def told(there: int, status: str) -> dict[str, Any]:
        image = {
            "SpecifiedImage": TGI_3,
            "ResolvedImage": TGI_3,
            "ResolutionTime": began,
        }
        return {
            "EndpointConfigName": second,
            "StartTime": began,
            "ProductionVariants": [
                {
                    "VariantName": "Main",
                    "DeployedImages": [image],
                    "CurrentWeight": 2.0,
                    "DesiredWeight": 2.0,
                    "CurrentInstanceCount": there,
                    "DesiredInstanceCount": 4,
                    "VariantStatus": [{"Status": status}],
                }
            ],
        }

    assert pending() == told(0, "Creating")
    aws.run(_COMES)
    assert pending() == told(4, "Baking")
    running = shown(sagemaker, endpoint)
    assert running["EndpointConfigName"] == first
    assert running["ProductionVariants"][0]["CurrentInstanceCount"] == 2
    aws.run(300)
    assert pending()["ProductionVariants"][0]["VariantStatus"] == [{"Status": "Baking"}]
    aws.run(1200)
    done = shown(sagemaker, endpoint)

    assert done["EndpointStatus"] == "InService"
    assert done["EndpointConfigName"] == second
    assert done["ProductionVariants"][0]["CurrentWeight"] == 2.0
    assert "PendingDeploymentSummary" not in done


def test_a_component_is_told_with_its_container(
    aws: HandRunAws, sagemaker: Untyped, arn: str
) -> None:
    """
    Its image as it was specified and as it was resolved.
    """
    endpoint = endpoint_on(
        sagemaker, configured(sagemaker, variant(ManagedInstanceScaling=_MANAGED))
    )
    aws.run(_COMES)
    (hosting,) = shown(sagemaker, endpoint)["ProductionVariants"]
    assert hosting["ManagedInstanceScaling"] == _MANAGED
    assert hosting["DeployedImages"] == []
    name, began = unique("component"), aws.wall()
    sagemaker.create_inference_component(
        InferenceComponentName=name,
        EndpointName=endpoint,
        Specification={
            "Container": {"Image": TGI, "Environment": {"A": "b"}},
            "ComputeResourceRequirements": _NEEDS,
        },
        Tags=_TAGS,
    )

    summary = {
        "InferenceComponentName": name,
        "InferenceComponentArn": f"{arn}:inference-component/{name}",
        "EndpointName": endpoint,
        "EndpointArn": f"{arn}:endpoint/{endpoint}",
        "VariantName": "Main",
        "CreationTime": began,
        "LastModifiedTime": began,
        "InferenceComponentStatus": "Creating",
    }
    listed = plain(sagemaker.list_inference_components(NameContains=name))
    assert listed == {"InferenceComponents": [summary]}
    described = plain(
        sagemaker.describe_inference_component(InferenceComponentName=name)
    )
    assert described == {
        **summary,
        "Specification": {
            "Container": {
                "DeployedImage": {"SpecifiedImage": TGI, "ResolvedImage": TGI},
                "Environment": {"A": "b"},
            },
            "ComputeResourceRequirements": _NEEDS,
        },
        "RuntimeConfig": {"DesiredCopyCount": 1, "CurrentCopyCount": 0},
    }
    aws.run(200)
    described = plain(
        sagemaker.describe_inference_component(InferenceComponentName=name)
    )
    assert described["InferenceComponentStatus"] == "InService"
    assert described["LastModifiedTime"] == began + 200
    assert described["RuntimeConfig"] == {"DesiredCopyCount": 1, "CurrentCopyCount": 1}


def test_the_hosting_page_tells_where_copies_are(
    aws: HandRunAws, sagemaker: Untyped
) -> None:
    """
    Of each endpoint, variant and instance.
    """
    config = configured(sagemaker, variant(InitialInstanceCount=2))
    endpoint = endpoint_on(sagemaker, config)
    aws.run(_COMES)
    names = sorted(unique("component") for _ in range(2))
    for name in names:
        sagemaker.create_inference_component(
            InferenceComponentName=name,
            EndpointName=endpoint,
            VariantName="Main",
            Specification={
                "ModelName": model(sagemaker),
                "ComputeResourceRequirements": _NEEDS,
            },
            RuntimeConfig={"CopyCount": 3},
        )

    (mine,) = (
        one
        for one in aws.hosting.report()["Endpoints"]
        if one["EndpointName"] == endpoint
    )
    assert mine == {
        "EndpointName": endpoint,
        "EndpointConfigName": config,
        "Variants": [
            {
                "VariantName": "Main",
                "InstanceType": "ml.g5.12xlarge",
                "InstanceCount": 2,
                "CopiesPlaced": 6,
                "Instances": [
                    {"Instance": 0, "Copies": {names[0]: 3, names[1]: 1}},
                    {"Instance": 1, "Copies": {names[1]: 2}},
                ],
            }
        ],
    }


def test_tags_are_of_each_kind(aws: HandRunAws, sagemaker: Untyped, arn: str) -> None:
    """
    Those it was made with, those that come, and none that goes.
    """
    name = model(sagemaker, Tags=_TAGS)
    config = configured(sagemaker, variant(), Tags=_TAGS)
    endpoint = endpoint_on(sagemaker, config, Tags=_TAGS)
    aws.run(_COMES)
    component = unique("component")
    sagemaker.create_inference_component(
        InferenceComponentName=component,
        EndpointName=endpoint,
        VariantName="Main",
        Specification={"ModelName": name, "ComputeResourceRequirements": _NEEDS},
        RuntimeConfig={"CopyCount": 1},
        Tags=_TAGS,
    )
    for place in (
        f"model/{name}",
        f"endpoint-config/{config}",
        f"endpoint/{endpoint}",
        f"inference-component/{component}",
    ):
        its = {"ResourceArn": f"{arn}:{place}"}
        assert sagemaker.list_tags(**its)["Tags"] == _TAGS
        other = {"Key": "stage", "Value": "dev"}
        assert sagemaker.add_tags(**its, Tags=[other])["Tags"] == [*_TAGS, other]
        sagemaker.delete_tags(**its, TagKeys=["team"])
        assert sagemaker.list_tags(**its)["Tags"] == [other]
