"""
Templates of endpoints that scale, for the tests beside this file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Resources = dict[str, dict[str, Any]]
COPIES = "sagemaker:inference-component:DesiredCopyCount"
INSTANCES = "sagemaker:variant:DesiredInstanceCount"


def resource(kind: str, **properties: object) -> dict[str, Any]:
    """
    Write a resource of a template.
    """
    return {"Type": f"AWS::{kind}", "Properties": properties}


def name_of(resource_id: str, attribute: str) -> dict[str, Any]:
    """
    Refer to a resource's name.
    """
    return {"Fn::GetAtt": [resource_id, attribute]}


def template(folder: Path, resources: Resources, **sections: object) -> Path:
    """
    Write a template.
    """
    path = folder / "Host.template.json"
    path.write_text(json.dumps({"Resources": resources, **sections}))
    return path


def variant(**given: object) -> Resources:
    """
    Write an endpoint whose variant serves a model of which nothing is known.
    """
    production = {
        "VariantName": "AllTraffic",
        "ModelName": name_of("Model", "ModelName"),
        "InstanceType": "ml.g5.xlarge",
        "InitialInstanceCount": 1,
        **given,
    }
    return {
        "Model": resource("SageMaker::Model", PrimaryContainer={}),
        "Config": resource(
            "SageMaker::EndpointConfig", ProductionVariants=[production]
        ),
        "Host": resource(
            "SageMaker::Endpoint",
            EndpointConfigName=name_of("Config", "EndpointConfigName"),
        ),
    }


def components(**given: object) -> Resources:
    """
    Write an endpoint for components, with one of them.
    """
    hosts = variant(**given)
    del hosts["Config"]["Properties"]["ProductionVariants"][0]["ModelName"]
    hosts["Llama"] = resource(
        "SageMaker::InferenceComponent",
        EndpointName=name_of("Host", "EndpointName"),
        VariantName="AllTraffic",
        RuntimeConfig={"CopyCount": 1},
        Specification={
            "ModelName": name_of("Model", "ModelName"),
            "ComputeResourceRequirements": {
                "NumberOfAcceleratorDevicesRequired": 1,
                "MinMemoryRequiredInMb": 1024,
            },
        },
    )
    return hosts


def target(
    resource_id: object = "endpoint/${Host.EndpointName}/variant/AllTraffic",
    dimension: str = INSTANCES,
    **given: object,
) -> Resources:
    """
    Write what scales: the variant, unless told otherwise.
    """
    written = {"Fn::Sub": resource_id} if isinstance(resource_id, str) else resource_id
    return {
        "Target": resource(
            "ApplicationAutoScaling::ScalableTarget",
            **{
                "ServiceNamespace": "sagemaker",
                "ScalableDimension": dimension,
                "ResourceId": written,
                "MinCapacity": 1,
                "MaxCapacity": 4,
                **given,
            },
        )
    }


def tracking(**given: object) -> Resources:
    """
    Write a target tracking policy of that target.
    """
    return {
        "Track": resource(
            "ApplicationAutoScaling::ScalingPolicy",
            PolicyName="Track",
            PolicyType="TargetTrackingScaling",
            ScalingTargetId={"Ref": "Target"},
            TargetTrackingScalingPolicyConfiguration={
                "PredefinedMetricSpecification": {
                    "PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"
                },
                "TargetValue": 5,
                **given,
            },
        )
    }


def stepping(**alarm: object) -> Resources:
    """
    Write a step policy of that target, and an alarm on a component's refusals.
    """
    return {
        "Wake": resource(
            "ApplicationAutoScaling::ScalingPolicy",
            PolicyName="Wake",
            PolicyType="StepScaling",
            ScalingTargetId={"Ref": "Target"},
            StepScalingPolicyConfiguration={
                "AdjustmentType": "ChangeInCapacity",
                "MetricAggregationType": "Maximum",
                "Cooldown": 60,
                "StepAdjustments": [
                    {"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}
                ],
            },
        ),
        "Refused": resource(
            "CloudWatch::Alarm",
            **{
                "AlarmName": "Refused",
                "AlarmActions": [{"Ref": "Wake"}],
                "Namespace": "AWS/SageMaker",
                "MetricName": "NoCapacityInvocationFailures",
                "Dimensions": [
                    {
                        "Name": "InferenceComponentName",
                        "Value": name_of("Llama", "InferenceComponentName"),
                    }
                ],
                "Statistic": "Maximum",
                "Period": 30,
                "EvaluationPeriods": 1,
                "Threshold": 1,
                "ComparisonOperator": "GreaterThanOrEqualToThreshold",
                "TreatMissingData": "missing",
                **alarm,
            },
        ),
    }
