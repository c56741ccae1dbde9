"""
The same deployments written by hand on the CDK's L1 classes.

It makes the same resources with the same settings: what a careful engineer would
write without this library, with the tarballs made beforehand.
"""

import sys
import tarfile
import tempfile
from pathlib import Path

from aws_cdk import App, CfnOutput, Environment, Fn, Stack
from aws_cdk import aws_applicationautoscaling as appscaling
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3_assets as s3_assets
from aws_cdk import aws_sagemaker as sagemaker

ENVIRONMENT = Environment(account="111111111111", region="us-east-1")
REGISTRY = "763104351884.dkr.ecr.us-east-1.amazonaws.com"
TRT = f"{REGISTRY}/djl-inference:0.26.0-tensorrtllm0.7.1-cu122"
TGI = (
    f"{REGISTRY}/huggingface-pytorch-tgi-inference:"
    "2.1.1-tgi1.4.5-gpu-py310-cu121-ubuntu22.04"
)
TOKEN = "{{resolve:secretsmanager:hugging-face-token:SecretString:::}}"  # noqa: S105 - a reference
MISTRAL = """\
engine=MPI
option.tensor_parallel_degree=4
option.model_id=mistralai/Mistral-7B-v0.1
option.max_rolling_batch_size=16
option.rolling_batch=auto
"""
MIXTRAL = """\
engine=MPI
option.model_id=mistralai/Mixtral-8x7B-v0.1
option.tensor_parallel_degree=max
option.max_rolling_batch_size=32
option.rolling_batch=auto
option.model_loading_timeout=7200
"""


def make_role(
    stack: Stack, repository: str, statements: list[dict[str, object]]
) -> tuple[iam.CfnRole, iam.CfnPolicy]:
    """
    Make a least-privilege role and its policy.
    """
    role = iam.CfnRole(
        stack,
        "Role",
        description="Runs a language model on SageMaker",
        assume_role_policy_document={
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Effect": "Allow",
                    "Action": "sts:AssumeRole",
                    "Principal": {"Service": "sagemaker.amazonaws.com"},
                    "Condition": {
                        "StringEquals": {"aws:SourceAccount": ENVIRONMENT.account}
                    },
                }
            ],
        },
    )
    logs = "arn:aws:logs:us-east-1:111111111111:log-group:/aws/sagemaker"
    policy = iam.CfnPolicy(
        stack,
        "Policy",
        policy_name="Access",
        roles=[role.ref],
        policy_document={
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Effect": "Allow",
                    "Action": "ecr:GetAuthorizationToken",
                    "Resource": "*",
                },
                {
                    "Effect": "Allow",
                    "Action": [
                        "ecr:BatchCheckLayerAvailability",
                        "ecr:BatchGetImage",
                        "ecr:GetDownloadUrlForLayer",
                    ],
                    "Resource": "arn:aws:ecr:us-east-1:763104351884:repository/"
                    + repository,
                },
                *statements,
                {
                    "Effect": "Allow",
                    "Action": [
                        "logs:CreateLogGroup",
                        "logs:CreateLogStream",
                        "logs:DescribeLogStreams",
                        "logs:PutLogEvents",
                    ],
                    "Resource": [
                        f"{logs}/Endpoints/*",
                        f"{logs}/InferenceComponents/*",
                    ],
                },
                {
                    "Effect": "Allow",
                    "Action": "cloudwatch:PutMetricData",
                    "Resource": "*",
                },
            ],
        },
    )
    return role, policy


def read_tarball(asset: s3_assets.Asset) -> list[dict[str, object]]:
    """
    Allow the role to read model tarballs.
    """
    bucket = f"arn:aws:s3:::{asset.s3_bucket_name}"
    return [
        {"Effect": "Allow", "Action": "s3:GetObject", "Resource": f"{bucket}/*.gz"},
        {
            "Effect": "Allow",
            "Action": "s3:ListBucket",
            "Resource": bucket,
            "Condition": {"StringLike": {"s3:prefix": ["*.gz"]}},
        },
    ]


def filled_endpoint(
    stack: Stack, tarball: Path, instance_type: str
) -> sagemaker.CfnEndpoint:
    """
    Define an endpoint that one model fills.
    """
    asset = s3_assets.Asset(stack, "Tarball", path=str(tarball))
    role, policy = make_role(stack, "djl-inference", read_tarball(asset))
    model = sagemaker.CfnModel(
        stack,
        "Model",
        execution_role_arn=role.attr_arn,
        primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
            image=TRT, model_data_url=asset.s3_object_url
        ),
    )
    model.add_resource_dependency(policy)
    config = sagemaker.CfnEndpointConfig(
        stack,
        "Config",
        production_variants=[
            variant_of(instance_type, model_name=model.attr_model_name)
        ],
        metrics_config=sagemaker.CfnEndpointConfig.MetricsConfigProperty(
            enable_detailed_observability=False
        ),
    )
    endpoint = sagemaker.CfnEndpoint(
        stack, "Endpoint", endpoint_config_name=config.attr_endpoint_config_name
    )
    CfnOutput(stack, "EndpointName", value=endpoint.attr_endpoint_name)
    return endpoint


def variant_of(
    instance_type: str, model_name: str | None = None
) -> sagemaker.CfnEndpointConfig.ProductionVariantProperty:
    """
    Describe the only variant of an endpoint.
    """
    return sagemaker.CfnEndpointConfig.ProductionVariantProperty(
        variant_name="AllTraffic",
        model_name=model_name,
        instance_type=instance_type,
        initial_instance_count=1,
        initial_variant_weight=1,
        container_startup_health_check_timeout_in_seconds=1800,
        routing_config=sagemaker.CfnEndpointConfig.RoutingConfigProperty(
            routing_strategy="LEAST_OUTSTANDING_REQUESTS"
        ),
    )


def mistral(app: App, name: str, tarball: Path) -> None:
    """
    Define deployment A.
    """
    stack = Stack(app, name, env=ENVIRONMENT)
    endpoint = filled_endpoint(stack, tarball, "ml.g5.12xlarge")
    endpoint.retain_all_variant_properties = True
    target = appscaling.CfnScalableTarget(
        stack,
        "Target",
        service_namespace="sagemaker",
        resource_id=f"endpoint/{endpoint.attr_endpoint_name}/variant/AllTraffic",
        scalable_dimension="sagemaker:variant:DesiredInstanceCount",
        min_capacity=1,
        max_capacity=4,
    )
    tracking = appscaling.CfnScalingPolicy
    tracking(
        stack,
        "Traffic",
        policy_name="Traffic",
        policy_type="TargetTrackingScaling",
        scaling_target_id=target.ref,
        target_tracking_scaling_policy_configuration=tracking.TargetTrackingScalingPolicyConfigurationProperty(
            target_value=5,
            scale_in_cooldown=300,
            scale_out_cooldown=60,
            predefined_metric_specification=tracking.PredefinedMetricSpecificationProperty(
                predefined_metric_type="SageMakerVariantInvocationsPerInstance"
            ),
        ),
    )


def mixtral(app: App, name: str, tarball: Path) -> None:
    """
    Define deployment B.
    """
    filled_endpoint(Stack(app, name, env=ENVIRONMENT), tarball, "ml.p4d.24xlarge")


def llama(app: App, name: str) -> None:
    """
    Define deployment C.
    """
    stack = Stack(app, name, env=ENVIRONMENT)
    role, policy = make_role(stack, "huggingface-pytorch-tgi-inference", [])
    model = sagemaker.CfnModel(
        stack,
        "Model",
        execution_role_arn=role.attr_arn,
        primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
            image=TGI,
            environment={
                "HF_MODEL_ID": "meta-llama/Llama-2-13b-chat-hf",
                "HF_TOKEN": TOKEN,
                "HUGGING_FACE_HUB_TOKEN": TOKEN,
                "MAX_BATCH_TOTAL_TOKENS": "16384",
                "MAX_INPUT_LENGTH": "2048",
                "MAX_TOTAL_TOKENS": "4096",
                "SM_NUM_GPUS": "1",
            },
        ),
    )
    model.add_resource_dependency(policy)
    config = sagemaker.CfnEndpointConfig(
        stack,
        "Config",
        execution_role_arn=role.attr_arn,
        production_variants=[variant_of("ml.p4d.24xlarge")],
        metrics_config=sagemaker.CfnEndpointConfig.MetricsConfigProperty(
            enable_detailed_observability=False
        ),
    )
    config.add_resource_dependency(policy)
    endpoint = sagemaker.CfnEndpoint(
        stack, "Endpoint", endpoint_config_name=config.attr_endpoint_config_name
    )
    component = sagemaker.CfnInferenceComponent
    copies = component(
        stack,
        "Component",
        endpoint_name=endpoint.attr_endpoint_name,
        variant_name="AllTraffic",
        specification=component.InferenceComponentSpecificationProperty(
            model_name=model.attr_model_name,
            compute_resource_requirements=component.InferenceComponentComputeResourceRequirementsProperty(
                number_of_accelerator_devices_required=1,
                number_of_cpu_cores_required=10,
                min_memory_required_in_mb=102400,
            ),
            startup_parameters=component.InferenceComponentStartupParametersProperty(
                container_startup_health_check_timeout_in_seconds=1800
            ),
        ),
        runtime_config=component.InferenceComponentRuntimeConfigProperty(copy_count=8),
    )
    CfnOutput(stack, "EndpointName", value=endpoint.attr_endpoint_name)
    name = Fn.select(1, Fn.split("/", copies.ref))
    CfnOutput(stack, "InferenceComponentName", value=name)


def pack(folder: Path, name: str, properties: str) -> Path:
    """
    Make a model tarball.
    """
    source = folder / "serving.properties"
    source.write_text(properties)
    target = folder / f"{name}.tar.gz"
    with tarfile.open(target, "w:gz") as tar:
        tar.add(source, arcname=source.name)
    return target


def main() -> None:
    """
    Synthesise as many stacks as the command line says.
    """
    app = App()
    with tempfile.TemporaryDirectory() as folder:
        mistral_tarball = pack(Path(folder), "mistral", MISTRAL)
        mixtral_tarball = pack(Path(folder), "mixtral", MIXTRAL)
        for index in range(int(sys.argv[1]) // 3):
            mistral(app, f"MistralTrtLlm{index}", mistral_tarball)
            mixtral(app, f"Mixtral{index}", mixtral_tarball)
            llama(app, f"Llama13BX8{index}")
    app.synth()


if __name__ == "__main__":
    main()
