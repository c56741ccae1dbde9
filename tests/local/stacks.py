"""
Stacks made by boto3, in few words.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.hosting_requests import ROLE, TGI

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

Template = dict[str, Any]


class Stacks:
    """
    Stacks of one server, in few words.
    """

    def __init__(self, aws: EmbeddedAws) -> None:
        self._client = aws.client("cloudformation")
        self.sagemaker = aws.client("sagemaker")
        self.scaling = aws.client("application-autoscaling")

    def create(self, name: str, template: Template, **parameters: str) -> str:
        """
        Create a stack and return the status it ends in.
        """
        self._client.create_stack(
            StackName=name,
            TemplateBody=json.dumps(template),
            Parameters=as_list(parameters),
            Capabilities=["CAPABILITY_NAMED_IAM"],
        )
        return self.status(name)

    def update(self, name: str, template: Template, **parameters: str) -> str:
        """
        Update a stack and return the status it ends in.
        """
        self._client.update_stack(
            StackName=name,
            TemplateBody=json.dumps(template),
            Parameters=as_list(parameters),
            Capabilities=["CAPABILITY_NAMED_IAM"],
        )
        return self.status(name)

    def delete(self, name: str) -> str:
        """
        Delete a stack and return the status it ends in.
        """
        stack_id = self.describe(name)["StackId"]
        self._client.delete_stack(StackName=name)
        return self.status(stack_id)

    def describe(self, name: str) -> Untyped:
        """
        Return what DescribeStacks shows.
        """
        return self._client.describe_stacks(StackName=name)["Stacks"][0]

    def status(self, name: str) -> str:
        """
        Return the stack's status.
        """
        status: str = self.describe(name)["StackStatus"]
        return status

    def outputs(self, name: str) -> dict[str, str]:
        """
        Return the outputs by key.
        """
        outputs = self.describe(name).get("Outputs", [])
        return {o["OutputKey"]: o["OutputValue"] for o in outputs}

    def events(self, name: str) -> list[tuple[str, str, str]]:
        """
        Return logical id, status and reason, in the order they came.
        """
        events = self._client.describe_stack_events(StackName=name)["StackEvents"]
        return [
            (
                event["LogicalResourceId"],
                event["ResourceStatus"],
                event.get("ResourceStatusReason", ""),
            )
            for event in reversed(events)
        ]

    def physical_ids(self, name: str) -> dict[str, str]:
        """
        Return the physical ids by logical id.
        """
        found = self._client.describe_stack_resources(StackName=name)
        return {
            r["LogicalResourceId"]: r["PhysicalResourceId"]
            for r in found["StackResources"]
        }


def as_list(parameters: dict[str, str]) -> list[dict[str, str]]:
    """
    Write parameters as the API wants them.
    """
    return [
        {"ParameterKey": key, "ParameterValue": value}
        for key, value in parameters.items()
    ]


def hosted(image: str = TGI, **changes: Untyped) -> Template:
    """
    Declare model, configuration, endpoint, target and policy.
    """
    variant = {
        "VariantName": "AllTraffic",
        "ModelName": {"Fn::GetAtt": ["Model", "ModelName"]},
        "InstanceType": changes.get("instance_type", "ml.g5.12xlarge"),
        "InitialInstanceCount": "1",
    }
    endpoint = {"Fn::GetAtt": ["Endpoint", "EndpointName"]}
    resource_id = {"Fn::Sub": "endpoint/${Endpoint.EndpointName}/variant/AllTraffic"}
    return {
        "Resources": {
            "Policy": {
                "Type": "AWS::ApplicationAutoScaling::ScalingPolicy",
                "Properties": {
                    "PolicyName": "Traffic",
                    "PolicyType": "TargetTrackingScaling",
                    "ScalingTargetId": {"Ref": "Target"},
                    "TargetTrackingScalingPolicyConfiguration": {
                        "TargetValue": changes.get("target_value", 5),
                        "PredefinedMetricSpecification": {
                            "PredefinedMetricType": changes.get(
                                "metric", "SageMakerVariantInvocationsPerInstance"
                            )
                        },
                    },
                },
            },
            "Target": {
                "Type": "AWS::ApplicationAutoScaling::ScalableTarget",
                "Properties": {
                    "ServiceNamespace": "sagemaker",
                    "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
                    "ResourceId": resource_id,
                    "MinCapacity": 1,
                    "MaxCapacity": changes.get("max_capacity", 4),
                },
            },
            "Endpoint": {
                "Type": "AWS::SageMaker::Endpoint",
                "Properties": {
                    "EndpointConfigName": {
                        "Fn::GetAtt": ["Config", "EndpointConfigName"]
                    }
                },
            },
            "Config": {
                "Type": "AWS::SageMaker::EndpointConfig",
                "Properties": {"ProductionVariants": [variant]},
            },
            "Model": {
                "Type": "AWS::SageMaker::Model",
                "Properties": {
                    "ExecutionRoleArn": ROLE,
                    "PrimaryContainer": {
                        "Image": image,
                        "Environment": changes.get("environment", {"NUMBER": 1}),
                    },
                },
            },
        },
        "Outputs": {
            "Name": {"Value": endpoint},
            "Model": {"Value": {"Ref": "Model"}},
            "Target": {"Value": {"Ref": "Target"}},
        },
    }


def hosting_components(copies: int = 8, **component: Untyped) -> Template:
    """
    Declare an endpoint for components and one of them.
    """
    return {
        "Resources": {
            "Model": {
                "Type": "AWS::SageMaker::Model",
                "Properties": {
                    "ExecutionRoleArn": ROLE,
                    "PrimaryContainer": {"Image": component.pop("image", TGI)},
                },
            },
            "Config": {
                "Type": "AWS::SageMaker::EndpointConfig",
                "Properties": {
                    "ExecutionRoleArn": ROLE,
                    "ProductionVariants": [
                        {
                            "VariantName": "AllTraffic",
                            "InstanceType": "ml.p4d.24xlarge",
                            "InitialInstanceCount": 1,
                        }
                    ],
                },
            },
            "Endpoint": {
                "Type": "AWS::SageMaker::Endpoint",
                "Properties": {
                    "EndpointConfigName": {
                        "Fn::GetAtt": ["Config", "EndpointConfigName"]
                    }
                },
            },
            "Component": {
                "Type": "AWS::SageMaker::InferenceComponent",
                "Properties": {
                    "EndpointName": {"Fn::GetAtt": ["Endpoint", "EndpointName"]},
                    "VariantName": "AllTraffic",
                    "RuntimeConfig": {"CopyCount": copies},
                    "Specification": {
                        "ModelName": {"Fn::GetAtt": ["Model", "ModelName"]},
                        "ComputeResourceRequirements": {
                            "NumberOfAcceleratorDevicesRequired": 1,
                            "MinMemoryRequiredInMb": 1024,
                        },
                    },
                    **component,
                },
            },
        },
        "Outputs": {
            "Component": {
                "Value": {"Fn::Select": [1, {"Fn::Split": ["/", {"Ref": "Component"}]}]}
            },
            "Name": {"Value": {"Fn::GetAtt": ["Endpoint", "EndpointName"]}},
        },
    }
