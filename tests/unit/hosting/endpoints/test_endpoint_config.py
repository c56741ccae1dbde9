"""
EndpointConfig and its variants.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import Duration, Size, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk.assertions import Template

from cdk_sagemaker_llm import (
    AsyncInference,
    CapacityReservation,
    CustomContainer,
    DataCapture,
    EndpointConfig,
    HuggingFaceModel,
    InferenceComponentEndpoint,
    InstanceCapacity,
    InstanceType,
    LmiVllm,
    ManagedInstanceScaling,
    Model,
    Network,
    Observability,
    ProductionVariant,
    ResourceRequirements,
    RoutingStrategy,
    ScaleInPolicy,
    ScaleInStrategy,
    Tgi,
)
from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.serving.base import ServingConfiguration
from tests.unit.hosting.expected import (
    ACCESS_TO_MINE,
    ASYNC_CONFIG,
    ATTACH_TO_VPC,
    CAPTURE_CONFIG,
    ENCRYPT_VOLUMES,
    FIND_REQUESTS,
    KEY_ARN,
    LOG_IN,
    NAME_OF_MINE,
    PUBLISH_METRICS,
    READ_REQUESTS,
    RESERVATION_ARN,
    ROLE_ARN,
    SECURITY_GROUP,
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

Properties = Callable[[Stack, str], dict[str, Any]]
CONFIG = "AWS::SageMaker::EndpointConfig"
OLDER_HOST = "al2-ami-sagemaker-inference-gpu-3-1"
NEWEST_HOST = "al2023-ami-sagemaker-inference-gpu-4-1"


@pytest.fixture(name="model")
def _model(stack: Stack) -> Model:
    return Model(stack, "Model", model=HuggingFaceModel("a/b"), serving=Tgi("1.4.5"))


@pytest.fixture(name="role")
def _role(stack: Stack) -> iam.Role:
    principal = iam.ServicePrincipal("sagemaker.amazonaws.com")
    return iam.Role(stack, "Role", assumed_by=principal)


@pytest.fixture(name="every_keyword")
def _every_keyword(vpc: ec2.IVpc, key: kms.IKey, own_role: iam.IRole) -> dict[str, Any]:
    """
    Hosts for components, with every field but the model.
    """
    hosts = ProductionVariant(
        instance_type="ml.p3.16xlarge",
        variant_name="Blue",
        initial_instance_count=2,
        initial_variant_weight=0.5,
        container_startup_health_check_timeout=Duration.seconds(1501),
        model_data_download_timeout=Duration.seconds(1201),
        capacity=InstanceCapacity(
            provision_timeout=Duration.seconds(2401),
            reservation=CapacityReservation(RESERVATION_ARN),
        ),
        managed_instance_scaling=ManagedInstanceScaling(
            min_instance_count=1,
            max_instance_count=3,
            scale_in_policy=ScaleInPolicy(strategy=ScaleInStrategy.IDLE_RELEASE),
        ),
        routing_strategy=RoutingStrategy.RANDOM,
        inference_ami_version="al2-ami-sagemaker-inference-gpu-2",
        volume_size=Size.gibibytes(256),
    )
    return {
        "variants": [hosts],
        "execution_role": own_role,
        "network": Network(
            vpc=vpc,
            subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED),
            isolated=True,
        ),
        "kms_key": key,
        "observability": Observability(
            detailed=True,
            enhanced_metrics=True,
            publish_frequency=Duration.seconds(10),
        ),
        # The hosts of components have no shadow: tried in test_shadow.py.
        "shadow_variants": [],
        "async_inference": AsyncInference(output="s3://answers-bucket/out/"),
        "data_capture": DataCapture(bucket="s3://captured-bucket"),
    }


def test_every_keyword_reaches_the_template(
    stack: Stack, every_keyword: dict[str, Any]
) -> None:
    """
    Time-outs in seconds, sizes in GiB, and a group made where none was given.
    """
    EndpointConfig(stack, "Config", **every_keyword)

    assert written(stack) == {
        "ConfigSecurityGroup": {
            **SECURITY_GROUP,
            # The interfaces in it go before what lets them be removed.
            "DependsOn": ["SageMakerAccessminePolicy"],
        },
        ACCESS_TO_MINE: policy(
            NAME_OF_MINE,
            "mine",
            LOG_IN,
            WRITE_LOGS,
            PUBLISH_METRICS,
            ATTACH_TO_VPC,
            ENCRYPT_VOLUMES,
            WRITE_ANSWERS,
            READ_REQUESTS,
            FIND_REQUESTS,
            WRITE_CAPTURED,
        ),
        "Config": {
            "DependsOn": [ACCESS_TO_MINE],
            "Type": CONFIG,
            "Properties": {
                "AsyncInferenceConfig": ASYNC_CONFIG,
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
                        "ContainerStartupHealthCheckTimeoutInSeconds": 1501,
                        "InferenceAmiVersion": "al2-ami-sagemaker-inference-gpu-2",
                        "InitialInstanceCount": 2,
                        "InitialVariantWeight": 0.5,
                        "InstanceType": "ml.p3.16xlarge",
                        "ManagedInstanceScaling": {
                            "MaxInstanceCount": 3,
                            "MinInstanceCount": 1,
                            "ScaleInPolicy": {"Strategy": "IDLE_RELEASE"},
                            "Status": "ENABLED",
                        },
                        "ModelDataDownloadTimeoutInSeconds": 1201,
                        "RoutingConfig": {"RoutingStrategy": "RANDOM"},
                        "VariantInstanceProvisionTimeoutInSeconds": 2401,
                        "VariantName": "Blue",
                        "VolumeSizeInGB": 256,
                    }
                ],
                "VpcConfig": {
                    "SecurityGroupIds": ["${ConfigSecurityGroup.GroupId}"],
                    "Subnets": ["subnet-33333333", "subnet-44444444"],
                },
            },
        },
    }


def test_every_field_of_a_variant_with_a_model_reaches_the_template(
    stack: Stack, model: Model
) -> None:
    """
    Two of them, each with its own figures.
    """
    blue = ProductionVariant(
        instance_type="ml.p3.16xlarge",
        model=model,
        variant_name="Blue",
        initial_instance_count=2,
        initial_variant_weight=0.0,
        container_startup_health_check_timeout=Duration.minutes(60),
        model_data_download_timeout=Duration.minutes(20),
        capacity=InstanceCapacity(provision_timeout=Duration.minutes(50)),
        inference_ami_version="al2-ami-sagemaker-inference-gpu-2",
        volume_size=Size.gibibytes(256),
    )
    green = ProductionVariant(
        instance_type="ml.g5.xlarge", model=model, variant_name="Green"
    )
    EndpointConfig(stack, "Config", variants=[blue, green])

    assert properties_of(stack, "SageMaker::EndpointConfig") == {
        "MetricsConfig": {"EnableDetailedObservability": False},
        "ProductionVariants": [
            {
                "ContainerStartupHealthCheckTimeoutInSeconds": 3600,
                "InferenceAmiVersion": "al2-ami-sagemaker-inference-gpu-2",
                "InitialInstanceCount": 2,
                "InitialVariantWeight": 0,
                "InstanceType": "ml.p3.16xlarge",
                "ModelDataDownloadTimeoutInSeconds": 1200,
                "ModelName": "${Model.ModelName}",
                "RoutingConfig": {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"},
                "VariantInstanceProvisionTimeoutInSeconds": 3000,
                "VariantName": "Blue",
                "VolumeSizeInGB": 256,
            },
            {
                "ContainerStartupHealthCheckTimeoutInSeconds": 1800,
                "InitialInstanceCount": 1,
                "InitialVariantWeight": 1,
                "InstanceType": "ml.g5.xlarge",
                "ModelName": "${Model.ModelName}",
                "RoutingConfig": {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"},
                "VariantName": "Green",
            },
        ],
    }


def test_no_keyword_is_left_out_above(
    every_keyword: dict[str, Any], model: Model
) -> None:
    """
    A new keyword, or field of a variant, is tested, or this fails.
    """
    made = EndpointConfig.__init__
    (hosts,) = every_keyword["variants"]
    smallest = ProductionVariant(instance_type="ml.g5.xlarge", model=model)

    assert keywords_of(made) == set(every_keyword)
    assert left_at_default(made, every_keyword) == set()
    assert required_keywords_of(made) == {"variants"}
    assert fields_at_default(hosts) == {
        "model",
        "cuda_version",
        "engine",
    }
    assert fields_at_default(hosts.capacity) == {"pools"}
    assert fields_at_default(every_keyword["observability"]) == set()
    assert fields_at_default(smallest) == {
        "variant_name",
        "initial_instance_count",
        "initial_variant_weight",
        "container_startup_health_check_timeout",
        "model_data_download_timeout",
        "managed_instance_scaling",
        "routing_strategy",
        "inference_ami_version",
        "cuda_version",
        "engine",
        "volume_size",
        "capacity",
    }


def test_a_chosen_host_image_stays(stack: Stack) -> None:
    """
    The one that would be derived does not replace it.
    """
    new = Model(stack, "New", model=HuggingFaceModel("a/b"), serving=LmiVllm())
    chosen = "al2-ami-sagemaker-inference-gpu-3-1"
    variants = [
        ProductionVariant(
            instance_type="ml.g5.xlarge",
            model=new,
            variant_name="Chosen",
            inference_ami_version=chosen,
        ),
        ProductionVariant(
            instance_type="ml.g5.xlarge", model=new, variant_name="Derived"
        ),
    ]
    EndpointConfig(stack, "Config", variants=variants)
    config = properties_of(stack, "SageMaker::EndpointConfig")

    assert [each["InferenceAmiVersion"] for each in config["ProductionVariants"]] == [
        chosen,
        NEWEST_HOST,
    ]
    assert codes_of(stack) == [("/Test/Config", "LLM221")]


def _worded(value: object) -> str:
    # The same in every process: no object's address.
    return " ".join(value) if isinstance(value, dict) else str(value)


@pytest.mark.parametrize(
    ("purpose", "expected"),
    [
        ({}, NEWEST_HOST),
        ({"engine": LmiVllm()}, NEWEST_HOST),
        ({"engine": LmiVllm("0.33.0")}, "al2-ami-sagemaker-inference-gpu-3-1"),
        ({"engine": Tgi("1.4.5")}, None),
        ({"engine": CustomContainer(find_image("djl-lmi", "0.30.0"))}, OLDER_HOST),
        ({"cuda_version": "13.0"}, NEWEST_HOST),
        ({"cuda_version": "12.8"}, OLDER_HOST),
        ({"cuda_version": "12.1"}, None),
        ({"inference_ami_version": OLDER_HOST}, OLDER_HOST),
    ],
    ids=_worded,
)
def test_hosts_are_told_what_they_are_for(
    stack: Stack,
    own_role: iam.IRole,
    purpose: dict[str, Any],
    expected: str | None,
) -> None:
    """
    Left out, it is the library's default engine.
    """
    hosts = ProductionVariant(instance_type="ml.g5.xlarge", **purpose)
    EndpointConfig(stack, "Config", variants=[hosts], execution_role=own_role)
    (variant,) = properties_of(stack, "SageMaker::EndpointConfig")["ProductionVariants"]

    assert variant.get("InferenceAmiVersion") == expected


@pytest.mark.parametrize("models", [[], ["New"], ["Old"], ["New", "Old"]], ids=str)
def test_the_host_image_stays_whatever_models_come_and_go(
    stack: Stack, models: list[str]
) -> None:
    """
    A driver that follows the newest model would be swapped under all the others.
    """
    servings: dict[str, ServingConfiguration] = {
        "New": LmiVllm("0.34.0"),
        "Old": Tgi("3.3.6"),
    }
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.g5.12xlarge", cuda_version="12.8"
    )
    one = ResourceRequirements(accelerators=1)
    for name in models:
        host.add_model(
            name, model=HuggingFaceModel("a/b"), serving=servings[name], resources=one
        )

    (variant,) = properties_of(stack, "SageMaker::EndpointConfig")["ProductionVariants"]
    assert variant["InferenceAmiVersion"] == OLDER_HOST


@pytest.mark.parametrize(
    ("purpose", "message"),
    [
        (
            {"cuda_version": "12.8", "engine": LmiVllm()},
            (
                "LLM196 cuda_version and engine each say which driver the hosts have; "
                "give one of them"
            ),
        ),
        (
            {"inference_ami_version": OLDER_HOST, "engine": LmiVllm()},
            (
                "LLM196 inference_ami_version and engine each say which driver "
                "the hosts have; give one of them"
            ),
        ),
        (
            {"cuda_version": "14.0"},
            (
                "LLM196 no host image of ml.g5.xlarge is known for CUDA 14.0; give its "
                "name as inference_ami_version"
            ),
        ),
        (
            {"cuda_version": "cu128"},
            "LLM196 cuda_version must be a version such as '12.8', got 'cu128'",
        ),
    ],
    ids=["two", "image and engine", "of tomorrow", "a mark"],
)
def test_fails_if_it_is_not_clear_what_hosts_are_for(
    stack: Stack, own_role: iam.IRole, purpose: dict[str, Any], message: str
) -> None:
    """
    One word decides it.
    """
    hosts = ProductionVariant(instance_type="ml.g5.xlarge", **purpose)
    with pytest.raises(ValueError, match=re.escape(message)):
        EndpointConfig(stack, "Config", variants=[hosts], execution_role=own_role)


def test_fails_if_the_driver_of_a_models_own_hosts_is_derived_from_another(
    stack: Stack, model: Model
) -> None:
    """
    The model's image decides.
    """
    hosts = ProductionVariant(
        instance_type="ml.g5.xlarge", model=model, engine=LmiVllm()
    )
    message = (
        "LLM196 engine is for hosts of inference components; the host image of a "
        "variant with a model follows the model's image; leave it out"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        EndpointConfig(stack, "Config", variants=[hosts])


def test_what_was_made_can_be_reached(
    stack: Stack, every_keyword: dict[str, Any], own_role: iam.IRole
) -> None:
    """
    Each attribute is the resource's own.
    """
    config = EndpointConfig(stack, "Config", **every_keyword)

    assert config.execution_role is own_role
    assert config.hosts_components
    assert config.variants == tuple(every_keyword["variants"])
    assert len(config.network.security_groups) == 1
    assert config.network.isolated
    assert stack.resolve(config.endpoint_config_name) == {
        "Fn::GetAtt": [
            stack.get_logical_id(config.cfn_endpoint_config),
            "EndpointConfigName",
        ]
    }


def test_detailed_observability_is_off_unless_asked_for(
    stack: Stack, model: Model, properties: Properties
) -> None:
    """
    The service's default is on, and costs.
    """
    variant = ProductionVariant(instance_type="ml.g5.xlarge", model=model)
    EndpointConfig(stack, "Config", variants=[variant])

    metrics = properties(stack, CONFIG)["MetricsConfig"]

    assert metrics == {"EnableDetailedObservability": False}


def test_with_a_role_it_hosts_components(
    stack: Stack, role: iam.Role, network: Network, properties: Properties
) -> None:
    """
    Role and network are the endpoint's; the variant has no model.
    """
    variant = ProductionVariant(
        instance_type="ml.g5.12xlarge",
        managed_instance_scaling=ManagedInstanceScaling(
            min_instance_count=1, max_instance_count=3
        ),
    )
    config = EndpointConfig(
        stack, "Config", variants=[variant], execution_role=role, network=network
    )
    rendered = properties(stack, CONFIG)

    assert config.hosts_components
    assert rendered["VpcConfig"]["Subnets"] == ["subnet-11111111", "subnet-22222222"]
    assert "ExecutionRoleArn" in rendered
    assert "ModelName" not in rendered["ProductionVariants"][0]
    assert rendered["ProductionVariants"][0]["ManagedInstanceScaling"] == {
        "Status": "ENABLED",
        "MinInstanceCount": 1,
        "MaxInstanceCount": 3,
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"instance_type": "ml.g5.13xlarge"}, "LLM101 unknown instance type"),
        ({"instance_type": "ml.gr6.4xlarge"}, "LLM101 ml.gr6.4xlarge cannot host"),
        ({"initial_instance_count": 0}, "LLM105 initial_instance_count must be at"),
        ({"variant_name": "a_b"}, "LLM106 variant_name must be at most 63"),
        ({"variant_name": "-a"}, "LLM106 variant_name must be at most 63"),
        ({"variant_name": "a" * 64}, "LLM106 variant_name must be at most 63"),
        (
            {"container_startup_health_check_timeout": Duration.minutes(61)},
            "LLM111 container_startup_health_check_timeout must be 60 to 3600 seconds",
        ),
        (
            {"model_data_download_timeout": Duration.seconds(59)},
            "LLM111 model_data_download_timeout must be 60 to 3600 seconds, got 59",
        ),
        (
            {"capacity": InstanceCapacity(provision_timeout=Duration.seconds(299))},
            "LLM111 capacity.provision_timeout must be 300 to 3600 seconds, got 299",
        ),
        ({"volume_size": Size.gibibytes(30)}, "LLM121 ml.g5.xlarge refuses volume"),
        (
            {
                "managed_instance_scaling": ManagedInstanceScaling(
                    min_instance_count=1, max_instance_count=2
                )
            },
            "LLM122 managed_instance_scaling goes with inference components only",
        ),
    ],
    ids=_worded,
)
def test_fails_if_a_variant_is_wrong(
    stack: Stack, model: Model, changes: dict[str, Any], message: str
) -> None:
    """
    Each fault is the caller's word, the rule, the value.
    """
    variant = ProductionVariant(
        **{"instance_type": "ml.g5.xlarge", "model": model, **changes}
    )

    with pytest.raises(ValueError, match=message):
        EndpointConfig(stack, "Config", variants=[variant])

    Template.from_stack(stack).resource_count_is(CONFIG, 0)


def test_fails_with_all_faults_at_once(stack: Stack, model: Model) -> None:
    """
    One synth, one list.
    """
    variant = ProductionVariant(
        instance_type="ml.g5.13xlarge",
        model=model,
        variant_name="a b",
        initial_instance_count=0,
    )

    with pytest.raises(ValueError, match="Test/Config: 3 errors") as raised:
        EndpointConfig(stack, "Config", variants=[variant])

    assert [code in str(raised.value) for code in ("LLM101", "LLM105", "LLM106")] == [
        True
    ] * 3


def test_fails_if_min_is_above_max(stack: Stack, role: iam.Role) -> None:
    """
    The bounds are not swapped silently.
    """
    bounds = ManagedInstanceScaling(min_instance_count=3, max_instance_count=2)
    variant = ProductionVariant(
        instance_type="ml.g5.xlarge", managed_instance_scaling=bounds
    )

    with pytest.raises(ValueError, match="got max_instance_count=2 and min_instance"):
        EndpointConfig(stack, "Config", variants=[variant], execution_role=role)


def test_fails_if_model_and_components_are_mixed(
    stack: Stack, model: Model, role: iam.Role
) -> None:
    """
    The service takes one or the other.
    """
    full = ProductionVariant(instance_type="ml.g5.xlarge", model=model)
    empty = ProductionVariant(instance_type="ml.g5.xlarge")

    with pytest.raises(ValueError, match="LLM124 variant 'AllTraffic' has a model"):
        EndpointConfig(stack, "A", variants=[full], execution_role=role)
    with pytest.raises(ValueError, match="LLM124 variant 'AllTraffic' has neither"):
        EndpointConfig(stack, "B", variants=[empty])
    with pytest.raises(ValueError, match="LLM124 network is for inference components"):
        EndpointConfig(stack, "C", variants=[full], network=Network(isolated=True))


def test_fails_if_nvme_storage_is_to_be_encrypted_with_a_key(
    stack: Stack, model: Model
) -> None:
    """
    The service refuses the key there.
    """
    key = kms.Key.from_key_arn(stack, "Key", KEY_ARN)
    variant = ProductionVariant(instance_type="ml.g5.xlarge", model=model)

    with pytest.raises(ValueError, match="LLM121 ml.g5.xlarge refuses kms_key"):
        EndpointConfig(stack, "Config", variants=[variant], kms_key=key)


def test_a_new_instance_type_can_be_described(
    stack: Stack, model: Model, properties: Properties
) -> None:
    """
    The catalogue is no gate.
    """
    new = InstanceType.of("ml.g5.96xlarge", accelerators=16, vcpus=384, memory_gib=1536)
    variant = ProductionVariant(instance_type=new, model=model)
    EndpointConfig(stack, "Config", variants=[variant])

    (rendered,) = properties(stack, CONFIG)["ProductionVariants"]

    assert rendered["InstanceType"] == "ml.g5.96xlarge"


@pytest.mark.parametrize(
    ("instance_type", "refused"),
    [("ml.g5.12xlarge", False), ("ml.g5.xlarge", True)],
)
def test_fails_if_a_model_is_split_over_more_devices_than_its_hosts_have(
    stack: Stack, instance_type: str, *, refused: bool
) -> None:
    """
    A model that was defined by itself knew of none.
    """
    split = Model(
        stack,
        "Split",
        model=HuggingFaceModel("a/b"),
        serving=LmiVllm(tensor_parallel_degree=4),
    )
    variant = ProductionVariant(instance_type=instance_type, model=split)
    if not refused:
        EndpointConfig(stack, "Config", variants=[variant])
        return
    message = (
        "LLM172 the model is split over 4 devices, and a copy has 1 on ml.g5.xlarge; "
        "give it more devices, or split it over fewer"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        EndpointConfig(stack, "Config", variants=[variant])


def test_fails_if_a_model_does_not_load_on_the_hosts_of_its_variant(
    stack: Stack,
) -> None:
    """
    As the pattern does.
    """
    large = Model(
        stack,
        "Large",
        model=HuggingFaceModel("Qwen/Qwen2.5-32B-Instruct"),
        serving=LmiVllm(),
    )
    variant = ProductionVariant(instance_type="ml.g5.xlarge", model=large)
    with pytest.raises(ValueError, match="LLM190"):
        EndpointConfig(stack, "Config", variants=[variant])
