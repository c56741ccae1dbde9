"""
The pattern for one model: every keyword ends where the service has it.
"""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import CfnParameter, Duration, SecretValue, Size, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms

from cdk_sagemaker_llm import (
    Assumptions,
    AsyncInference,
    CapacityReservation,
    DataCapture,
    HuggingFaceModel,
    InstanceCapacity,
    Linear,
    LlmEndpoint,
    LmiVllm,
    Network,
    Observability,
    PrefixAwareRouting,
    S3Model,
    ShadowVariant,
    Tgi,
)
from tests.unit.hosting.expected import (
    ACCESS_TO_MINE,
    ASYNC_CONFIG,
    ATTACH_TO_VPC,
    CAPTURE_CONFIG,
    DECRYPT_WEIGHTS,
    ENCRYPT_VOLUMES,
    FIND_REQUESTS,
    KEY_ARN,
    LIST_WEIGHTS,
    LOG_IN,
    NAME_OF_MINE,
    PUBLISH_METRICS,
    PULL_TGI,
    PULL_VLLM,
    READ_REQUESTS,
    READ_WEIGHTS,
    RESERVATION_ARN,
    ROLE,
    ROLE_ARN,
    SECURITY_GROUP,
    TGI_IMAGE,
    VLLM_IMAGE,
    WRITE_ANSWERS,
    WRITE_CAPTURED,
    WRITE_LOGS,
    policy,
)
from tests.unit.hosting.written import (
    codes_of,
    fields_at_default,
    keywords_of,
    left_at_default,
    properties_of,
    required_keywords_of,
    written,
)

MISTRAL = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")


@pytest.fixture(name="every_keyword")
def _every_keyword(vpc: ec2.IVpc, key: kms.IKey, own_role: iam.IRole) -> dict[str, Any]:
    """
    A VPC, isolation, a key, a role of one's own and time-outs, all together.
    """
    return {
        "instance_type": "ml.p3.16xlarge",
        "serving": Tgi("1.4.5"),
        "model": S3Model(
            # It runs without flash attention, which V100 lacks.
            "s3://weights-bucket/llama/",
            kms_key=key,
            architecture="bigscience/bloom-7b1",
        ),
        "instance_count": 2,
        "endpoint_name": "chat",
        "environment": {"MAX_BEST_OF": "4"},
        "role": own_role,
        "network": Network(
            vpc=vpc,
            subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED),
            isolated=True,
        ),
        "container_startup_health_check_timeout": Duration.seconds(1501),
        "model_data_download_timeout": Duration.seconds(1201),
        "inference_ami_version": "al2-ami-sagemaker-inference-gpu-2",
        "volume_size": Size.gibibytes(200),
        "kms_key": key,
        "observability": Observability(
            detailed=True,
            enhanced_metrics=True,
            publish_frequency=Duration.seconds(10),
        ),
        "rollout": Linear(percent=50),
        "capacity": InstanceCapacity(
            reservation=CapacityReservation(RESERVATION_ARN),
            provision_timeout=Duration.seconds(2401),
        ),
        "routing_strategy": PrefixAwareRouting(
            prefix_length=4096, concurrency_threshold=16
        ),
        "async_inference": AsyncInference(output="s3://answers-bucket/out/"),
        "shadow": ShadowVariant(
            model=S3Model("s3://weights-bucket/llama/", kms_key=key),
            instance_count=3,
            share=0.25,
        ),
        "data_capture": DataCapture(bucket="s3://captured-bucket"),
        "assumptions": Assumptions(runtime_gib=2.0),
        "monthly_budget": 200_000,
        "hourly_prices": {"ml.p3.16xlarge": 28.15},
    }


def test_every_keyword_reaches_the_template(
    stack: Stack, every_keyword: dict[str, Any]
) -> None:
    """
    Nothing more is made, and nothing that was asked for is lost.
    """
    LlmEndpoint(stack, "Llm", **every_keyword)

    assert written(stack) == {
        "LlmModelSecurityGroup": {
            **SECURITY_GROUP,
            # The interfaces in it go before what lets them be removed.
            "DependsOn": ["SageMakerAccessminePolicy"],
        },
        ACCESS_TO_MINE: policy(
            NAME_OF_MINE,
            "mine",
            LOG_IN,
            PULL_TGI,
            READ_WEIGHTS,
            LIST_WEIGHTS,
            DECRYPT_WEIGHTS,
            WRITE_LOGS,
            PUBLISH_METRICS,
            ATTACH_TO_VPC,
            ENCRYPT_VOLUMES,
            WRITE_ANSWERS,
            READ_REQUESTS,
            FIND_REQUESTS,
            WRITE_CAPTURED,
        ),
        "LlmModel": {
            "Type": "AWS::SageMaker::Model",
            "Properties": {
                "EnableNetworkIsolation": True,
                "ExecutionRoleArn": ROLE_ARN,
                "PrimaryContainer": {
                    "Environment": {
                        "HF_MODEL_ID": "/opt/ml/model",
                        "MAX_BEST_OF": "4",
                        "SM_NUM_GPUS": "8",
                    },
                    "Image": TGI_IMAGE,
                    "ModelDataSource": {
                        "S3DataSource": {
                            "CompressionType": "None",
                            "S3DataType": "S3Prefix",
                            "S3Uri": "s3://weights-bucket/llama/",
                        }
                    },
                },
                "VpcConfig": {
                    "SecurityGroupIds": ["${LlmModelSecurityGroup.GroupId}"],
                    "Subnets": ["subnet-33333333", "subnet-44444444"],
                },
            },
            "DependsOn": [ACCESS_TO_MINE],
        },
        "LlmShadowModel": {
            "Type": "AWS::SageMaker::Model",
            "Properties": {
                "EnableNetworkIsolation": True,
                "ExecutionRoleArn": ROLE_ARN,
                "PrimaryContainer": {
                    "Environment": {
                        "HF_MODEL_ID": "/opt/ml/model",
                        "SM_NUM_GPUS": "8",
                    },
                    "Image": TGI_IMAGE,
                    "ModelDataSource": {
                        "S3DataSource": {
                            "CompressionType": "None",
                            "S3DataType": "S3Prefix",
                            "S3Uri": "s3://weights-bucket/llama/",
                        }
                    },
                },
                "VpcConfig": {
                    "SecurityGroupIds": ["${LlmModelSecurityGroup.GroupId}"],
                    "Subnets": ["subnet-33333333", "subnet-44444444"],
                },
            },
            "DependsOn": [ACCESS_TO_MINE],
        },
        "LlmConfig": {
            "DependsOn": [ACCESS_TO_MINE],
            "Type": "AWS::SageMaker::EndpointConfig",
            "Properties": {
                "AsyncInferenceConfig": ASYNC_CONFIG,
                "DataCaptureConfig": CAPTURE_CONFIG,
                "KmsKeyId": KEY_ARN,
                "MetricsConfig": {
                    "EnableDetailedObservability": True,
                    "EnableEnhancedMetrics": True,
                    "MetricPublishFrequencyInSeconds": 10,
                },
                "ProductionVariants": [
                    {
                        "CapacityReservationConfig": {
                            "CapacityReservationPreference": (
                                "capacity-reservations-only"
                            ),
                            "MlReservationArn": RESERVATION_ARN,
                        },
                        "ContainerStartupHealthCheckTimeoutInSeconds": 1501,
                        "InferenceAmiVersion": "al2-ami-sagemaker-inference-gpu-2",
                        "InitialInstanceCount": 2,
                        "InitialVariantWeight": 1,
                        "InstanceType": "ml.p3.16xlarge",
                        "ModelDataDownloadTimeoutInSeconds": 1201,
                        "ModelName": "${LlmModel.ModelName}",
                        "RoutingConfig": {
                            "PrefixAwareRoutingConfig": {
                                "ConcurrencyThreshold": 16,
                                "PrefixLength": 4096,
                            },
                            "RoutingStrategy": "PREFIX_AWARE",
                        },
                        "VariantInstanceProvisionTimeoutInSeconds": 2401,
                        "VariantName": "AllTraffic",
                        "VolumeSizeInGB": 200,
                    }
                ],
                "ShadowProductionVariants": [
                    {
                        "ContainerStartupHealthCheckTimeoutInSeconds": 1800,
                        "InitialInstanceCount": 3,
                        "InitialVariantWeight": 0.25,
                        "InstanceType": "ml.p3.16xlarge",
                        "ModelDataDownloadTimeoutInSeconds": 1800,
                        "ModelName": "${LlmShadowModel.ModelName}",
                        "RoutingConfig": {
                            "RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"
                        },
                        "VariantName": "Shadow",
                    }
                ],
            },
        },
        "LlmEndpoint": {
            "Type": "AWS::SageMaker::Endpoint",
            "Properties": {
                "DeploymentConfig": {
                    "BlueGreenUpdatePolicy": {
                        "TerminationWaitInSeconds": 0,
                        "TrafficRoutingConfiguration": {
                            "LinearStepSize": {"Type": "CAPACITY_PERCENT", "Value": 50},
                            "Type": "LINEAR",
                            "WaitIntervalInSeconds": 300,
                        },
                    }
                },
                "EndpointConfigName": "${LlmConfig.EndpointConfigName}",
                "EndpointName": "chat",
            },
        },
    }


def test_no_keyword_is_left_out_above(every_keyword: dict[str, Any]) -> None:
    """
    A new keyword is tested, or this fails.
    """
    assert keywords_of(LlmEndpoint.__init__) == set(every_keyword)
    assert left_at_default(LlmEndpoint.__init__, every_keyword) == set()
    assert fields_at_default(every_keyword["observability"]) == set()
    # Pools stand in place of a type.
    assert fields_at_default(every_keyword["capacity"]) == {"pools"}
    assert required_keywords_of(LlmEndpoint.__init__) == set()


def test_the_smallest_call_reaches_the_template(stack: Stack) -> None:
    """
    A role, a tarball and defaults that suit a language model.
    """
    LlmEndpoint(stack, "Llm", model=MISTRAL, instance_type="ml.g5.12xlarge")

    assert written(stack) == {
        "LlmModelRole": ROLE,
        "LlmModelAccess": policy(
            "LlmModelAccess",
            "${LlmModelRole}",
            LOG_IN,
            PULL_VLLM,
            WRITE_LOGS,
            PUBLISH_METRICS,
        ),
        "LlmModel": {
            "Type": "AWS::SageMaker::Model",
            "Properties": {
                "ExecutionRoleArn": "${LlmModelRole.Arn}",
                "PrimaryContainer": {
                    "Environment": {
                        "SM_VLLM_MODEL": "HuggingFaceH4/zephyr-7b-beta",
                        "SM_VLLM_TENSOR_PARALLEL_SIZE": "4",
                    },
                    "Image": VLLM_IMAGE,
                },
            },
            "DependsOn": ["LlmModelAccess"],
        },
        "LlmConfig": {
            "Type": "AWS::SageMaker::EndpointConfig",
            "Properties": {
                "MetricsConfig": {"EnableDetailedObservability": False},
                "ProductionVariants": [
                    {
                        "ContainerStartupHealthCheckTimeoutInSeconds": 1800,
                        "InferenceAmiVersion": "al2023-ami-sagemaker-inference-gpu-4-1",
                        "InitialInstanceCount": 1,
                        "InitialVariantWeight": 1,
                        "InstanceType": "ml.g5.12xlarge",
                        "ModelName": "${LlmModel.ModelName}",
                        "RoutingConfig": {
                            "RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"
                        },
                        "VariantName": "AllTraffic",
                    }
                ],
            },
        },
        "LlmEndpoint": {
            "Type": "AWS::SageMaker::Endpoint",
            "Properties": {"EndpointConfigName": "${LlmConfig.EndpointConfigName}"},
        },
    }


def test_what_was_made_can_be_reached(
    stack: Stack, every_keyword: dict[str, Any], own_role: iam.IRole
) -> None:
    """
    Each attribute is the resource's own.
    """
    llm = LlmEndpoint(stack, "Llm", **every_keyword)
    caller = iam.Role(
        stack, "Caller", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com")
    )
    llm.grant_invoke(caller)

    assert llm.role is own_role
    assert llm.connections.security_groups == list(llm.model.network.security_groups)
    assert len(llm.connections.security_groups) == 1
    assert stack.resolve(llm.endpoint_name) == stack.resolve(llm.endpoint.endpoint_name)
    assert written(stack, "IAM::Policy")["CallerDefaultPolicy"]["Properties"][
        "PolicyDocument"
    ]["Statement"] == [
        {
            "Action": [
                "sagemaker:InvokeEndpoint",
                "sagemaker:InvokeEndpointWithResponseStream",
            ],
            "Effect": "Allow",
            "Resource": "${LlmEndpoint}",
        }
    ]


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [({"max_capacity": 4, "min_capacity": 2}, (2, 4)), ({"max_capacity": 4}, (1, 4))],
    ids=["every keyword", "smallest call"],
)
def test_its_instances_scale_between_the_bounds(
    stack: Stack, bounds: dict[str, int], expected: tuple[int, int]
) -> None:
    """
    On the one variant there is; updates keep what scaling has reached.
    """
    llm = LlmEndpoint(stack, "Llm", model=MISTRAL, instance_type="ml.g5.12xlarge")
    llm.auto_scale_instance_count(**bounds)

    assert properties_of(stack, "ApplicationAutoScaling::ScalableTarget") == {
        "MinCapacity": expected[0],
        "MaxCapacity": expected[1],
        "ResourceId": "endpoint/${LlmEndpoint.EndpointName}/variant/AllTraffic",
        "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
        "ServiceNamespace": "sagemaker",
    }
    assert properties_of(stack, "SageMaker::Endpoint") == {
        "EndpointConfigName": "${LlmConfig.EndpointConfigName}",
        "ExcludeRetainedVariantProperties": [
            {"VariantPropertyType": "DesiredWeight"},
            {"VariantPropertyType": "DataCaptureConfig"},
        ],
        "RetainAllVariantProperties": True,
    }
    assert keywords_of(LlmEndpoint.auto_scale_instance_count) == {
        "max_capacity",
        "min_capacity",
    }


@pytest.mark.parametrize(("chosen", "expected"), [(None, 3600), (2000, 2000)])
def test_a_large_model_is_waited_for_as_long_as_was_said(
    stack: Stack, chosen: int | None, expected: int
) -> None:
    """
    A figure of one's own, else what the size asks for.
    """
    LlmEndpoint(
        stack,
        "Llm",
        model=HuggingFaceModel("mistralai/Mixtral-8x22B-v0.1"),
        instance_type="ml.p4de.24xlarge",
        container_startup_health_check_timeout=(
            None if chosen is None else Duration.seconds(chosen)
        ),
    )
    (variant,) = properties_of(stack, "SageMaker::EndpointConfig")["ProductionVariants"]

    assert variant["ContainerStartupHealthCheckTimeoutInSeconds"] == expected


def test_a_type_known_only_at_deployment_is_passed_on(stack: Stack) -> None:
    """
    Nothing is looked up or planned, and nothing is guessed.
    """
    parameters = {
        name: CfnParameter(stack, name).value_as_string for name in ("Type", "Name")
    }
    count = CfnParameter(stack, "Count", type="Number").value_as_number
    LlmEndpoint(
        stack,
        "Llm",
        model=MISTRAL,
        serving=Tgi("1.4.5"),
        instance_type=parameters["Type"],
        endpoint_name=parameters["Name"],
        instance_count=int(count),
    )

    (variant,) = properties_of(stack, "SageMaker::EndpointConfig")["ProductionVariants"]
    assert variant == {
        "ContainerStartupHealthCheckTimeoutInSeconds": 1800,
        "InitialInstanceCount": "${Count}",
        "InitialVariantWeight": 1,
        "InstanceType": "${Type}",
        "ModelName": "${LlmModel.ModelName}",
        "RoutingConfig": {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"},
        "VariantName": "AllTraffic",
    }
    assert properties_of(stack, "SageMaker::Endpoint")["EndpointName"] == "${Name}"
    assert properties_of(stack, "SageMaker::Model")["PrimaryContainer"] == {
        "Environment": {"HF_MODEL_ID": "HuggingFaceH4/zephyr-7b-beta"},
        "Image": TGI_IMAGE,
    }


def test_each_warning_has_one_owner(stack: Stack) -> None:
    """
    The model owns what its container says, the configuration what the host adds, and
    the pattern what only the two together show.
    """
    LlmEndpoint(
        stack,
        "Llm",
        model=HuggingFaceModel(
            "codellama/CodeLlama-7b-hf", token=SecretValue.secrets_manager("hub")
        ),
        serving=LmiVllm("0.36.0", max_model_len=15000, model_loading_timeout=7200),
        instance_type="ml.g5.xlarge",
        inference_ami_version="al2-ami-sagemaker-inference-gpu-3-1",
    )

    assert codes_of(stack) == [
        ("/Test/Llm", "LLM290"),
        ("/Test/Llm/Config", "LLM221"),
        ("/Test/Llm/Config", "LLM213"),
        ("/Test/Llm/Model", "LLM202"),
    ]
