"""
The pattern for models on shared instances: every keyword ends where the service has it.
"""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import CfnParameter, Duration, SecretValue, Size, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms

from cdk_sagemaker_llm import (
    AllAtOnce,
    Assumptions,
    AvailabilityZoneBalance,
    CapacityReservation,
    DataCapture,
    HuggingFaceModel,
    InferenceComponentEndpoint,
    InstanceCapacity,
    InstanceType,
    LmiVllm,
    Network,
    Observability,
    PlacementStrategy,
    PrefixAwareRouting,
    ResourceRequirements,
    Rolling,
    S3Model,
    ScaleInPolicy,
    ScaleInStrategy,
    TensorRtLlm,
    Tgi,
)
from tests.unit.hosting.expected import (
    ACCESS_TO_MINE,
    ATTACH_TO_VPC,
    CAPTURE_CONFIG,
    DECRYPT_WEIGHTS,
    ENCRYPT_VOLUMES,
    KEY_ARN,
    LIST_WEIGHTS,
    LOG_IN,
    NAME_OF_MINE,
    PUBLISH_METRICS,
    PULL_TGI,
    PULL_VLLM,
    READ_WEIGHTS,
    RESERVATION_ARN,
    ROLE,
    ROLE_ARN,
    SECURITY_GROUP,
    TARBALL,
    TGI_IMAGE,
    TRT_IMAGE,
    VLLM_IMAGE,
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

COMPONENT = "SageMaker::InferenceComponent"
MISTRAL = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
LLAMA = HuggingFaceModel("org/like-llama", architecture="meta-llama/Llama-2-7b-hf")
ONE = ResourceRequirements(accelerators=1)
TGI = Tgi("1.4.5")


@pytest.fixture(name="every_keyword")
def _every_keyword(vpc: ec2.IVpc, key: kms.IKey, own_role: iam.IRole) -> dict[str, Any]:
    """
    A VPC, isolation, a key, a role of one's own and time-outs, all together.
    """
    return {
        "instance_type": "ml.p3.16xlarge",
        "instance_count": 2,
        "max_instance_count": 3,
        "endpoint_name": "shared",
        "role": own_role,
        "network": Network(
            vpc=vpc,
            subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED),
            isolated=True,
        ),
        "container_startup_health_check_timeout": Duration.seconds(1701),
        "inference_ami_version": "al2-ami-sagemaker-inference-gpu-2",
        "cuda_version": None,
        "engine": None,
        "volume_size": Size.gibibytes(200),
        "kms_key": key,
        "observability": Observability(
            detailed=True,
            enhanced_metrics=True,
            publish_frequency=Duration.seconds(10),
        ),
        "min_instance_count": 1,
        "rollout": AllAtOnce(termination_wait=Duration.seconds(601)),
        "capacity": InstanceCapacity(
            reservation=CapacityReservation(RESERVATION_ARN),
            provision_timeout=Duration.seconds(2401),
        ),
        "routing_strategy": PrefixAwareRouting(
            prefix_length=4096, concurrency_threshold=16
        ),
        "scale_in_policy": ScaleInPolicy(
            strategy=ScaleInStrategy.CONSOLIDATION,
            maximum_step_size=2,
            cooldown=Duration.minutes(30),
        ),
        "data_capture": DataCapture(bucket="s3://captured-bucket"),
        "monthly_budget": 100_000,
        "hourly_prices": {"ml.p3.16xlarge": 28.15},
    }


@pytest.fixture(name="every_keyword_of_a_model")
def _every_keyword_of_a_model(key: kms.IKey) -> dict[str, Any]:
    return {
        "model": S3Model("s3://weights-bucket/llama/", kms_key=key),
        "serving": TGI,
        "resources": ResourceRequirements(
            copies=2, accelerators=4, cpus=10.5, memory_mib=20480
        ),
        "copies": 3,
        "inference_component_name": "llama",
        "inference_component_name_prefix": None,
        "environment": {"MAX_BEST_OF": "4"},
        "container_startup_health_check_timeout": Duration.seconds(1501),
        "model_data_download_timeout": Duration.seconds(1201),
        "rollout": Rolling(copies=1),
        "retain_copy_count": True,
        "placement_strategy": PlacementStrategy.SPREAD,
        "availability_zone_balance": AvailabilityZoneBalance(max_imbalance=2),
        "data_caching": True,
        "assumptions": Assumptions(runtime_gib=2.0),
    }


def test_every_keyword_reaches_the_template(
    stack: Stack,
    every_keyword: dict[str, Any],
    every_keyword_of_a_model: dict[str, Any],
) -> None:
    """
    Model and endpoint share role, subnets, group and isolation.
    """
    host = InferenceComponentEndpoint(stack, "Host", **every_keyword)
    host.add_model("Llama", **every_keyword_of_a_model)

    assert written(stack) == {
        "HostConfigSecurityGroup": {
            **SECURITY_GROUP,
            # The interfaces in it go before what lets them be removed.
            "DependsOn": ["SageMakerAccessminePolicy"],
        },
        "HostConfig": {
            "Type": "AWS::SageMaker::EndpointConfig",
            "Properties": {
                "DataCaptureConfig": CAPTURE_CONFIG,
                "EnableNetworkIsolation": True,
                "ExecutionRoleArn": ROLE_ARN,
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
                        "ContainerStartupHealthCheckTimeoutInSeconds": 1701,
                        "InferenceAmiVersion": "al2-ami-sagemaker-inference-gpu-2",
                        "InitialInstanceCount": 2,
                        "InitialVariantWeight": 1,
                        "InstanceType": "ml.p3.16xlarge",
                        "ManagedInstanceScaling": {
                            "MaxInstanceCount": 3,
                            "MinInstanceCount": 1,
                            "ScaleInPolicy": {
                                "CooldownInMinutes": 30,
                                "MaximumStepSize": 2,
                                "Strategy": "CONSOLIDATION",
                            },
                            "Status": "ENABLED",
                        },
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
                "VpcConfig": {
                    "SecurityGroupIds": ["${HostConfigSecurityGroup.GroupId}"],
                    "Subnets": ["subnet-33333333", "subnet-44444444"],
                },
            },
            "DependsOn": [ACCESS_TO_MINE],
        },
        "HostEndpoint": {
            "Type": "AWS::SageMaker::Endpoint",
            "Properties": {
                "DeploymentConfig": {
                    "BlueGreenUpdatePolicy": {
                        "TerminationWaitInSeconds": 601,
                        "TrafficRoutingConfiguration": {
                            "Type": "ALL_AT_ONCE",
                            "WaitIntervalInSeconds": 0,
                        },
                    }
                },
                "EndpointConfigName": "${HostConfig.EndpointConfigName}",
                "EndpointName": "shared",
            },
        },
        ACCESS_TO_MINE: policy(
            NAME_OF_MINE,
            "mine",
            LOG_IN,
            WRITE_LOGS,
            PUBLISH_METRICS,
            ATTACH_TO_VPC,
            ENCRYPT_VOLUMES,
            WRITE_CAPTURED,
            PULL_TGI,
            READ_WEIGHTS,
            LIST_WEIGHTS,
            DECRYPT_WEIGHTS,
        ),
        "HostLlamaModel": {
            "Type": "AWS::SageMaker::Model",
            "Properties": {
                "EnableNetworkIsolation": True,
                "ExecutionRoleArn": ROLE_ARN,
                "PrimaryContainer": {
                    "Environment": {
                        "HF_MODEL_ID": "/opt/ml/model",
                        "MAX_BEST_OF": "4",
                        "SM_NUM_GPUS": "4",
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
                    "SecurityGroupIds": ["${HostConfigSecurityGroup.GroupId}"],
                    "Subnets": ["subnet-33333333", "subnet-44444444"],
                },
            },
            "DependsOn": [ACCESS_TO_MINE],
        },
        "HostLlamaComponentResourcec2216962": {
            "Type": "AWS::SageMaker::InferenceComponent",
            "Properties": {
                "DeploymentConfig": {
                    "RollingUpdatePolicy": {
                        "MaximumBatchSize": {"Type": "COPY_COUNT", "Value": 1},
                        "WaitIntervalInSeconds": 300,
                    }
                },
                "EndpointName": "${HostEndpoint.EndpointName}",
                "InferenceComponentName": "llama",
                "Specification": {
                    "ComputeResourceRequirements": {
                        "MinMemoryRequiredInMb": 20480,
                        "NumberOfAcceleratorDevicesRequired": 4,
                        "NumberOfCpuCoresRequired": 10.5,
                    },
                    "DataCacheConfig": {"EnableCaching": True},
                    "ModelName": "${HostLlamaModel.ModelName}",
                    "SchedulingConfig": {
                        "AvailabilityZoneBalance": {
                            "EnforcementMode": "PERMISSIVE",
                            "MaxImbalance": 2,
                        },
                        "PlacementStrategy": "SPREAD",
                    },
                    "StartupParameters": {
                        "ContainerStartupHealthCheckTimeoutInSeconds": 1501,
                        "ModelDataDownloadTimeoutInSeconds": 1201,
                    },
                },
                "VariantName": "AllTraffic",
            },
        },
    }


def test_no_keyword_is_left_out_above(
    every_keyword: dict[str, Any], every_keyword_of_a_model: dict[str, Any]
) -> None:
    """
    A new keyword is tested, or this fails.
    """
    made = InferenceComponentEndpoint.__init__
    added = InferenceComponentEndpoint.add_model

    assert keywords_of(made) == set(every_keyword)
    # Of what says which driver, one; of a name and its beginning, and of a type and
    # pools of them, too.
    assert left_at_default(made, every_keyword) == {"cuda_version", "engine"}
    assert fields_at_default(every_keyword["observability"]) == set()
    assert fields_at_default(every_keyword["capacity"]) == {"pools"}
    assert required_keywords_of(made) == set()
    assert keywords_of(added) == set(every_keyword_of_a_model)
    assert left_at_default(added, every_keyword_of_a_model) == {
        "inference_component_name_prefix"
    }
    assert required_keywords_of(added) == set()


def test_the_smallest_call_reaches_the_template(stack: Stack) -> None:
    """
    One role for all, the resources from the plan, and the host image of vLLM's CUDA.
    """
    host = InferenceComponentEndpoint(stack, "Host", instance_type="ml.p4d.24xlarge")
    host.add_model("Mistral", model=MISTRAL)

    assert written(stack) == {
        "HostRole": ROLE,
        "HostConfig": {
            "Type": "AWS::SageMaker::EndpointConfig",
            "Properties": {
                "ExecutionRoleArn": "${HostRole.Arn}",
                "MetricsConfig": {"EnableDetailedObservability": False},
                "ProductionVariants": [
                    {
                        "ContainerStartupHealthCheckTimeoutInSeconds": 1800,
                        "InferenceAmiVersion": "al2023-ami-sagemaker-inference-gpu-4-1",
                        "InitialInstanceCount": 1,
                        "InitialVariantWeight": 1,
                        "InstanceType": "ml.p4d.24xlarge",
                        "RoutingConfig": {
                            "RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"
                        },
                        "VariantName": "AllTraffic",
                    }
                ],
            },
            "DependsOn": ["HostAccess"],
        },
        "HostEndpoint": {
            "Type": "AWS::SageMaker::Endpoint",
            "Properties": {"EndpointConfigName": "${HostConfig.EndpointConfigName}"},
        },
        "HostAccess": policy(
            "HostAccess",
            "${HostRole}",
            LOG_IN,
            WRITE_LOGS,
            PUBLISH_METRICS,
            PULL_VLLM,
        ),
        "HostMistralModel": {
            "Type": "AWS::SageMaker::Model",
            "Properties": {
                "ExecutionRoleArn": "${HostRole.Arn}",
                "PrimaryContainer": {
                    "Environment": {
                        "SM_VLLM_MODEL": "HuggingFaceH4/zephyr-7b-beta",
                        "SM_VLLM_TENSOR_PARALLEL_SIZE": "1",
                    },
                    "Image": VLLM_IMAGE,
                },
            },
            "DependsOn": ["HostAccess"],
        },
        "HostMistralComponent": {
            "Type": "AWS::SageMaker::InferenceComponent",
            "Properties": {
                "EndpointName": "${HostEndpoint.EndpointName}",
                "RuntimeConfig": {"CopyCount": 1},
                "Specification": {
                    "ComputeResourceRequirements": {
                        "MinMemoryRequiredInMb": 1024,
                        "NumberOfAcceleratorDevicesRequired": 1,
                        "NumberOfCpuCoresRequired": 9,
                    },
                    "ModelName": "${HostMistralModel.ModelName}",
                    "StartupParameters": {
                        "ContainerStartupHealthCheckTimeoutInSeconds": 1800
                    },
                },
                "VariantName": "AllTraffic",
            },
        },
    }


def start_up_seconds(stack: Stack) -> tuple[int, int]:
    """
    Return how long the endpoint and its only component wait for a container.
    """
    name = "ContainerStartupHealthCheckTimeoutInSeconds"
    (variant,) = properties_of(stack, "SageMaker::EndpointConfig")["ProductionVariants"]
    specification = properties_of(stack, COMPONENT)["Specification"]
    return variant[name], specification["StartupParameters"][name]


@pytest.mark.parametrize(
    ("of_endpoint", "of_model", "expected"),
    [
        (None, None, (1800, 3600)),
        (2000, None, (2000, 2000)),
        (None, 2100, (1800, 2100)),
        (2000, 2100, (2000, 2100)),
    ],
)
def test_a_copy_is_waited_for_as_the_nearest_word_says(
    stack: Stack,
    of_endpoint: int | None,
    of_model: int | None,
    expected: tuple[int, int],
) -> None:
    """
    The model's own time-out, else its endpoint's, else what its size asks for.
    """
    host = InferenceComponentEndpoint(
        stack,
        "Host",
        instance_type="ml.p4de.24xlarge",
        container_startup_health_check_timeout=(
            Duration.seconds(of_endpoint) if of_endpoint else None
        ),
    )
    host.add_model(
        "Large",
        model=HuggingFaceModel("mistralai/Mixtral-8x22B-v0.1"),
        container_startup_health_check_timeout=(
            Duration.seconds(of_model) if of_model else None
        ),
    )

    assert start_up_seconds(stack) == expected


def test_the_plan_takes_for_granted_what_is_assumed(stack: Stack) -> None:
    """
    Who has measured less needs fewer devices.
    """
    host = InferenceComponentEndpoint(stack, "Host", instance_type="ml.g4dn.12xlarge")
    measured = Assumptions(
        gpu_memory_utilization=1.0, cuda_graphs_gib=0.5, runtime_gib=0.5
    )
    serving = LmiVllm(max_model_len=512)
    cautious = host.add_model("Cautious", model=LLAMA, serving=serving)
    bold = host.add_model("Bold", model=LLAMA, serving=serving, assumptions=measured)

    assert (cautious.resources.accelerators, bold.resources.accelerators) == (2, 1)


def test_given_resources_are_held_against_what_is_assumed(stack: Stack) -> None:
    """
    One device is enough at best, and too small by what was measured.
    """
    host = InferenceComponentEndpoint(stack, "Host", instance_type="ml.g4dn.12xlarge")
    measured = Assumptions(runtime_gib=4.0)
    serving = LmiVllm(max_model_len=512)

    with pytest.raises(ValueError, match="LLM190"):
        host.add_model(
            "Heavy", model=LLAMA, serving=serving, resources=ONE, assumptions=measured
        )
    host.add_model("Usual", model=LLAMA, serving=serving, resources=ONE)

    assert host.node.try_find_child("Heavy") is None
    assert host.node.try_find_child("Usual") is not None


def test_a_refused_model_takes_no_place(stack: Stack) -> None:
    """
    What was never defined is not counted beside the next one.
    """
    host = InferenceComponentEndpoint(stack, "Host", instance_type="ml.p4d.24xlarge")
    eight = ResourceRequirements(copies=8, accelerators=1)
    with pytest.raises(ValueError, match="LLM106"):
        host.add_model(
            "Refused",
            model=MISTRAL,
            serving=TGI,
            resources=eight,
            inference_component_name="a_b",
        )

    host.add_model("Taken", model=MISTRAL, serving=TGI, resources=eight)

    assert properties_of(stack, COMPONENT)["RuntimeConfig"] == {"CopyCount": 8}


def test_what_was_made_can_be_reached(
    stack: Stack, every_keyword: dict[str, Any], own_role: iam.IRole
) -> None:
    """
    Each attribute is the resource's own.
    """
    host = InferenceComponentEndpoint(stack, "Host", **every_keyword)
    groups = list(host.endpoint_config.network.security_groups)

    assert host.role is own_role
    assert host.endpoint_config.execution_role is own_role
    assert host.endpoint.endpoint_config is host.endpoint_config
    assert host.connections.security_groups == groups
    assert len(groups) == 1
    assert stack.resolve(host.endpoint_name) == stack.resolve(
        host.endpoint.endpoint_name
    )


def test_a_role_that_is_made_is_everyones(
    stack: Stack, host: InferenceComponentEndpoint
) -> None:
    """
    The service wants one role for the endpoint and all its models.
    """
    component = host.add_model("A", model=MISTRAL, serving=TGI, resources=ONE)

    assert component.model.role is host.role
    assert list(written(stack, "IAM::Role")) == ["HostRole"]


def test_a_tarball_of_a_component_is_its_models(stack: Stack) -> None:
    """
    Two models on one endpoint read their own tarballs with one role.
    """
    host = InferenceComponentEndpoint(stack, "Host", instance_type="ml.p4d.24xlarge")
    host.add_model(
        "A",
        model=MISTRAL,
        serving=TensorRtLlm("0.26.0", tensor_parallel_degree=1),
        resources=ONE,
    )

    assert properties_of(stack, "SageMaker::Model")["PrimaryContainer"] == {
        "Image": TRT_IMAGE,
        "ModelDataUrl": TARBALL,
    }


def test_a_type_of_ones_own_is_packed_by_its_figures(stack: Stack) -> None:
    """
    Its devices are counted as those of a catalogued type are.
    """
    new = InstanceType.of("ml.p9.4xlarge", accelerators=2, vcpus=16, memory_gib=256)
    host = InferenceComponentEndpoint(stack, "Host", instance_type=new)

    with pytest.raises(ValueError, match="LLM104 3 copies of A do not fit"):
        host.add_model("A", model=MISTRAL, serving=TGI, resources=ONE, copies=3)
    host.add_model("B", model=MISTRAL, serving=TGI, resources=ONE, copies=2)

    (variant,) = properties_of(stack, "SageMaker::EndpointConfig")["ProductionVariants"]
    assert variant["InstanceType"] == "ml.p9.4xlarge"
    assert properties_of(stack, COMPONENT)["RuntimeConfig"] == {"CopyCount": 2}


def test_a_type_known_only_at_deployment_is_passed_on(stack: Stack) -> None:
    """
    Nothing is looked up, planned or packed, and nothing is guessed.
    """
    name = CfnParameter(stack, "Type").value_as_string
    host = InferenceComponentEndpoint(stack, "Host", instance_type=name)
    host.add_model(
        "A",
        model=MISTRAL,
        serving=LmiVllm(),
        resources=ResourceRequirements(copies=99, accelerators=1),
    )

    (variant,) = properties_of(stack, "SageMaker::EndpointConfig")["ProductionVariants"]
    assert variant == {
        "ContainerStartupHealthCheckTimeoutInSeconds": 1800,
        "InitialInstanceCount": 1,
        "InitialVariantWeight": 1,
        "InstanceType": "${Type}",
        "RoutingConfig": {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"},
        "VariantName": "AllTraffic",
    }
    assert properties_of(stack, COMPONENT)["RuntimeConfig"] == {"CopyCount": 99}


def test_each_warning_has_one_owner(stack: Stack) -> None:
    """
    The model owns what its container says, the component what the host adds, and the
    group of both what only the plan shows.
    """
    host = InferenceComponentEndpoint(
        stack,
        "Host",
        instance_type="ml.g5.xlarge",
        inference_ami_version="al2-ami-sagemaker-inference-gpu-3-1",
    )
    component = host.add_model(
        "Code",
        model=HuggingFaceModel(
            "codellama/CodeLlama-7b-hf", token=SecretValue.secrets_manager("hub")
        ),
        serving=LmiVllm("0.36.0", max_model_len=15000, model_loading_timeout=7200),
        resources=ONE,
    )
    component.auto_scale_copy_count(max_capacity=2)

    assert codes_of(stack) == [
        ("/Test/Host/Code", "LLM290"),
        ("/Test/Host/Code/Component", "LLM245"),
        ("/Test/Host/Code/Component", "LLM221"),
        ("/Test/Host/Code/Component", "LLM203"),
        ("/Test/Host/Code/Component", "LLM213"),
        ("/Test/Host/Code/Component", "LLM816"),
        ("/Test/Host/Code/Model", "LLM202"),
    ]
