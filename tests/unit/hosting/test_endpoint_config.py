"""
EndpointConfig and its variants.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import Duration, Size, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk.assertions import Template

from cdk_sagemaker_llm import (
    EndpointConfig,
    HuggingFaceModel,
    InstanceType,
    ManagedInstanceScaling,
    Model,
    Network,
    ProductionVariant,
    Tgi,
)

KEY_ARN = "arn:aws:kms:us-east-1:111111111111:key/12345678-1234-1234-1234-123456789012"
Properties = Callable[[Stack, str], dict[str, Any]]
CONFIG = "AWS::SageMaker::EndpointConfig"


@pytest.fixture(name="model")
def _model(stack: Stack) -> Model:
    return Model(stack, "Model", model=HuggingFaceModel("a/b"), serving=Tgi("1.4.5"))


@pytest.fixture(name="role")
def _role(stack: Stack) -> iam.Role:
    principal = iam.ServicePrincipal("sagemaker.amazonaws.com")
    return iam.Role(stack, "Role", assumed_by=principal)


def test_every_setting_reaches_the_template(
    stack: Stack, model: Model, properties: Properties
) -> None:
    """
    Time-outs in seconds, sizes in GiB.
    """
    key = kms.Key.from_key_arn(stack, "Key", KEY_ARN)
    variant = ProductionVariant(
        instance_type="ml.p3.16xlarge",
        model=model,
        variant_name="Blue",
        initial_instance_count=2,
        initial_variant_weight=0.5,
        container_startup_health_check_timeout=Duration.minutes(60),
        model_data_download_timeout=Duration.minutes(20),
        instance_provision_timeout=Duration.minutes(50),
        inference_ami_version="al2-ami-sagemaker-inference-neuron-2",
        volume_size=Size.gibibytes(256),
    )

    EndpointConfig(
        stack, "Config", variants=[variant], kms_key=key, detailed_observability=True
    )
    config = properties(stack, CONFIG)

    assert config["KmsKeyId"] == KEY_ARN
    assert config["MetricsConfig"] == {"EnableDetailedObservability": True}
    assert "EndpointConfigName" not in config
    (rendered,) = config["ProductionVariants"]
    del rendered["ModelName"]
    assert rendered == {
        "VariantName": "Blue",
        "InstanceType": "ml.p3.16xlarge",
        "InitialInstanceCount": 2,
        "InitialVariantWeight": 0.5,
        "ContainerStartupHealthCheckTimeoutInSeconds": 3600,
        "ModelDataDownloadTimeoutInSeconds": 1200,
        "VariantInstanceProvisionTimeoutInSeconds": 3000,
        "InferenceAmiVersion": "al2-ami-sagemaker-inference-neuron-2",
        "RoutingConfig": {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"},
        "VolumeSizeInGB": 256,
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
            {"instance_provision_timeout": Duration.seconds(299)},
            "LLM111 instance_provision_timeout must be 300 to 3600 seconds, got 299",
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
    ids=str,
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


def test_fails_if_variants_share_a_name(stack: Stack, model: Model) -> None:
    """
    The name tells them apart in metrics and scaling.
    """
    variant = ProductionVariant(instance_type="ml.g5.xlarge", model=model)

    with pytest.raises(ValueError, match="LLM123 variant_name 'AllTraffic' is used"):
        EndpointConfig(stack, "Config", variants=[variant, variant])
    with pytest.raises(ValueError, match="LLM123 variants must be 1 to 10, got 0"):
        EndpointConfig(stack, "None", variants=[])


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
