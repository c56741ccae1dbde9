"""
Apps as others publish them, rebuilt with L1 classes: none of this library's constructs.

Each has the resources and the settings of what it is named after, with an image that
the catalogue has where the original built one of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aws_cdk import CfnParameter, NestedStack, Stack
from aws_cdk import aws_applicationautoscaling as appscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

ROLE = "arn:aws:iam::111111111111:role/hosting"
REGISTRY = "763104351884.dkr.ecr.us-east-1.amazonaws.com"
LMI_13 = f"{REGISTRY}/djl-inference:0.31.0-lmi13.0.0-cu124"
LMI_28 = f"{REGISTRY}/djl-inference:0.36.0-lmi28.0.0-cu130"
TGI = (
    f"{REGISTRY}/huggingface-pytorch-tgi-inference:"
    "2.1.1-tgi1.4.5-gpu-py310-cu121-ubuntu22.04"
)
VLLM = f"{REGISTRY}/vllm:server-sagemaker-cuda-v2.6"
AMI_124 = "al2-ami-sagemaker-inference-gpu-3-1"
AMI_130 = "al2023-ami-sagemaker-inference-gpu-4-1"


def model(
    scope: Construct,
    id: str,
    image: str,
    environment: Mapping[str, str],
    model_name: str | None = None,
) -> sagemaker.CfnModel:
    """
    Define a model of one container.
    """
    container = {"image": image, "environment": dict(environment)}
    return sagemaker.CfnModel(
        scope,
        id,
        execution_role_arn=ROLE,
        primary_container=container,
        model_name=model_name,
    )


def variant(instance_type: str, **more: object) -> dict[str, Any]:
    """
    Write a variant of one instance.
    """
    return {
        "variantName": "AllTraffic",
        "instanceType": instance_type,
        "initialInstanceCount": 1,
        **more,
    }


def endpoint(
    scope: Construct,
    production: dict[str, Any],
    prefix: str = "",
    **more: Any,  # noqa: ANN401 - what the class takes
) -> sagemaker.CfnEndpoint:
    """
    Define an endpoint and its configuration.
    """
    config = sagemaker.CfnEndpointConfig(
        scope, f"{prefix}Config", production_variants=[production], **more
    )
    return sagemaker.CfnEndpoint(
        scope,
        f"{prefix}Endpoint",
        endpoint_config_name=config.attr_endpoint_config_name,
    )


def deepseek(stack: Stack) -> None:
    """
    A distilled DeepSeek R1 on LMI, in a construct of its own.
    """
    scope = Construct(stack, "DeepSeekR1")
    environment = {
        "HF_MODEL_ID": "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B",
        "OPTION_MAX_MODEL_LEN": "10000",
        "OPTION_GPU_MEMORY_UTILIZATION": "0.95",
        "OPTION_ROLLING_BATCH": "auto",
        "OPTION_MODEL_LOADING_TIMEOUT": "3600",
        "OPTION_DTYPE": "fp16",
    }
    own = model(scope, "Model", LMI_13, environment)
    production = variant(
        "ml.g5.2xlarge",
        modelName=own.attr_model_name,
        inferenceAmiVersion=AMI_124,
        containerStartupHealthCheckTimeoutInSeconds=3600,
    )
    endpoint(scope, production)


def scale_to_zero(stack: Stack) -> None:
    """
    One component that scales to zero by step policies and alarms, all with names.
    """
    own = model(
        stack,
        "Model",
        LMI_13,
        {"HF_MODEL_ID": "Qwen/Qwen2.5-1.5B-Instruct"},
        model_name="perception",
    )
    config = sagemaker.CfnEndpointConfig(
        stack,
        "EndpointConfig",
        execution_role_arn=ROLE,
        production_variants=[
            variant(
                "ml.g6e.xlarge",
                variantName="primary",
                inferenceAmiVersion=AMI_124,
                managedInstanceScaling={
                    "minInstanceCount": 0,
                    "maxInstanceCount": 1,
                    "status": "ENABLED",
                },
                routingConfig={"routingStrategy": "LEAST_OUTSTANDING_REQUESTS"},
                containerStartupHealthCheckTimeoutInSeconds=600,
                modelDataDownloadTimeoutInSeconds=600,
            )
        ],
    )
    host = sagemaker.CfnEndpoint(
        stack,
        "Endpoint",
        endpoint_name="perception",
        endpoint_config_name=config.attr_endpoint_config_name,
    )
    component = sagemaker.CfnInferenceComponent(
        stack,
        "InferenceComponent",
        endpoint_name="perception",
        inference_component_name="perception-component",
        variant_name="primary",
        specification={
            "modelName": own.attr_model_name,
            "computeResourceRequirements": {
                "numberOfAcceleratorDevicesRequired": 1,
                "minMemoryRequiredInMb": 512,
            },
            "startupParameters": {"containerStartupHealthCheckTimeoutInSeconds": 600},
        },
        runtime_config={"copyCount": 1},
    )
    component.add_resource_dependency(host)
    scaled: dict[str, Any] = {
        "service_namespace": "sagemaker",
        "resource_id": "inference-component/perception-component",
        "scalable_dimension": "sagemaker:inference-component:DesiredCopyCount",
    }
    target = appscaling.CfnScalableTarget(
        stack, "ScalableTarget", **scaled, min_capacity=0, max_capacity=1
    )
    policy = appscaling.CfnScalingPolicy(
        stack,
        "ScaleOutPolicy",
        policy_name="out-from-zero",
        policy_type="StepScaling",
        **scaled,
        step_scaling_policy_configuration={
            "adjustmentType": "ChangeInCapacity",
            "metricAggregationType": "Maximum",
            "cooldown": 60,
            "stepAdjustments": [
                {"metricIntervalLowerBound": 0, "scalingAdjustment": 1}
            ],
        },
    )
    policy.add_resource_dependency(target)
    cloudwatch.CfnAlarm(
        stack,
        "NoCapacityAlarm",
        alarm_actions=[policy.ref],
        namespace="AWS/SageMaker",
        metric_name="NoCapacityInvocationFailures",
        dimensions=[
            {"name": "InferenceComponentName", "value": "perception-component"}
        ],
        statistic="Maximum",
        period=60,
        evaluation_periods=1,
        comparison_operator="GreaterThanOrEqualToThreshold",
        threshold=1,
    )


def adapters(stack: Stack) -> None:
    """
    A base with its container in the component, and a LoRA adapter beside it.
    """
    production = variant("ml.g5.2xlarge", inferenceAmiVersion=AMI_130)
    host = endpoint(stack, production, execution_role_arn=ROLE)
    sagemaker.CfnInferenceComponent(
        stack,
        "BaseComponent",
        inference_component_name="llama-base",
        endpoint_name=host.attr_endpoint_name,
        variant_name="AllTraffic",
        specification={
            "container": {
                "image": LMI_28,
                "environment": {
                    "HF_MODEL_ID": "NousResearch/Meta-Llama-3.1-8B-Instruct",
                    "OPTION_ENABLE_LORA": "true",
                    "OPTION_MAX_LORAS": "4",
                    "OPTION_MAX_LORA_RANK": "64",
                },
            },
            "computeResourceRequirements": {
                "numberOfCpuCoresRequired": 2,
                "numberOfAcceleratorDevicesRequired": 1,
                "minMemoryRequiredInMb": 4096,
            },
        },
        runtime_config={"copyCount": 1},
    )
    sagemaker.CfnInferenceComponent(
        stack,
        "AdapterComponent",
        inference_component_name="llama-adapter",
        endpoint_name=host.attr_endpoint_name,
        specification={
            "baseInferenceComponentName": "llama-base",
            "container": {"artifactUrl": "s3://adapters/acme/adapter.tar.gz"},
        },
    )


def asynchronous(stack: Stack) -> None:
    """
    Answers in a bucket, and instances that follow the queue.
    """
    own = model(stack, "Model", TGI, {"HF_MODEL_ID": "HuggingFaceH4/zephyr-7b-beta"})
    host = endpoint(
        stack,
        variant("ml.g5.2xlarge", modelName=own.attr_model_name),
        async_inference_config={"outputConfig": {"s3OutputPath": "s3://answers/"}},
    )
    target = appscaling.CfnScalableTarget(
        stack,
        "Target",
        service_namespace="sagemaker",
        scalable_dimension="sagemaker:variant:DesiredInstanceCount",
        resource_id=f"endpoint/{host.attr_endpoint_name}/variant/AllTraffic",
        min_capacity=0,
        max_capacity=2,
    )
    appscaling.CfnScalingPolicy(
        stack,
        "Policy",
        policy_name="backlog",
        policy_type="TargetTrackingScaling",
        scaling_target_id=target.ref,
        target_tracking_scaling_policy_configuration={
            "targetValue": 5,
            "customizedMetricSpecification": {
                "metricName": "ApproximateBacklogSizePerInstance",
                "namespace": "AWS/SageMaker",
                "statistic": "Average",
                "dimensions": [
                    {"name": "EndpointName", "value": host.attr_endpoint_name}
                ],
            },
        },
    )


def by_parameters(stack: Stack) -> None:
    """
    Model, type and number of instances are parameters of the template.
    """
    id_ = CfnParameter(stack, "ModelId").value_as_string
    own = model(stack, "Model", LMI_13, {"HF_MODEL_ID": id_})
    production = variant(
        CfnParameter(stack, "InstanceType").value_as_string,
        modelName=own.attr_model_name,
        inferenceAmiVersion=AMI_124,
        initialInstanceCount=CfnParameter(
            stack, "Count", type="Number"
        ).value_as_number,
    )
    endpoint(stack, production)


def nested(stack: Stack) -> None:
    """
    Embeddings and a chat model, both in a nested stack.
    """
    inner = NestedStack(stack, "Llm")
    for prefix, id_, kind in (
        ("Embed", "BAAI/bge-m3", "ml.g5.xlarge"),
        ("Chat", "Qwen/Qwen2.5-7B-Instruct", "ml.g5.12xlarge"),
    ):
        own = model(inner, f"{prefix}Model", LMI_13, {"HF_MODEL_ID": id_})
        production = variant(
            kind, modelName=own.attr_model_name, inferenceAmiVersion=AMI_124
        )
        endpoint(inner, production, prefix)


def classifier(stack: Stack) -> None:
    """
    A model of Transformers on a serverless endpoint: no language model of ours.
    """
    image = f"{REGISTRY}/pytorch-inference:2.3.0-cpu-py311"
    own = model(stack, "Model", image, {"SAGEMAKER_PROGRAM": "inference.py"})
    production = {
        "variantName": "AllTraffic",
        "modelName": own.attr_model_name,
        "serverlessConfig": {"maxConcurrency": 2, "memorySizeInMb": 2048},
    }
    endpoint(stack, production)


def own_image(stack: Stack) -> None:
    """
    An image from one's own registry, and a key of one's own.
    """
    image = "111111111111.dkr.ecr.us-east-1.amazonaws.com/yolo:latest"
    own = model(stack, "Model", image, {}, model_name="yolo")
    endpoint(
        stack,
        variant("ml.c7i.xlarge", modelName=own.attr_model_name, volumeSizeInGb=64),
        kms_key_id="alias/hosting",
    )


def two_components(stack: Stack) -> None:
    """
    Two foundation models on the same instance.
    """
    production = variant(
        "ml.g5.12xlarge",
        inferenceAmiVersion=AMI_124,
        managedInstanceScaling={
            "minInstanceCount": 1,
            "maxInstanceCount": 2,
            "status": "ENABLED",
        },
    )
    host = endpoint(stack, production, execution_role_arn=ROLE)
    for name, id_ in (
        ("Dolly", "databricks/dolly-v2-7b"),
        ("Flan", "google/flan-t5-xxl"),
    ):
        own = model(stack, f"{name}Model", LMI_13, {"HF_MODEL_ID": id_})
        sagemaker.CfnInferenceComponent(
            stack,
            name,
            endpoint_name=host.attr_endpoint_name,
            variant_name="AllTraffic",
            specification={
                "modelName": own.attr_model_name,
                "computeResourceRequirements": {
                    "numberOfAcceleratorDevicesRequired": 2,
                    "minMemoryRequiredInMb": 1024,
                },
            },
            runtime_config={"copyCount": 1},
        )


def shadow(stack: Stack) -> None:
    """
    A new release on trial beside the one that answers.
    """
    variables = {"SM_VLLM_MODEL": "Qwen/Qwen2.5-7B-Instruct"}
    old, new = (model(stack, name, VLLM, variables) for name in ("Old", "New"))
    production = variant(
        "ml.g6e.2xlarge", modelName=old.attr_model_name, inferenceAmiVersion=AMI_130
    )
    trial = {**production, "variantName": "Trial", "modelName": new.attr_model_name}
    endpoint(stack, production, shadow_production_variants=[trial])


def pools(stack: Stack) -> None:
    """
    Instances of another type where the first has no capacity.
    """
    production: dict[str, Any] = variant("", inferenceAmiVersion=AMI_130)
    del production["instanceType"]
    variables = {"SM_VLLM_MODEL": "Qwen/Qwen2.5-7B-Instruct"}
    own = model(stack, "Model", VLLM, variables)
    production |= {
        "modelName": own.attr_model_name,
        "instancePools": [
            {"instanceType": "ml.g6e.2xlarge", "priority": 1},
            {"instanceType": "ml.g5.2xlarge", "priority": 2},
        ],
        "variantInstanceProvisionTimeoutInSeconds": 1800,
    }
    endpoint(stack, production)


def by_names(stack: Stack) -> None:
    """
    What belongs together is only named alike, without a reference.
    """
    model(
        stack,
        "Model",
        LMI_13,
        {"HF_MODEL_ID": "Qwen/Qwen2.5-7B-Instruct"},
        model_name="falcon",
    )
    sagemaker.CfnEndpointConfig(
        stack,
        "Config",
        endpoint_config_name="falcon",
        production_variants=[
            variant("ml.g5.12xlarge", modelName="falcon", inferenceAmiVersion=AMI_124)
        ],
    )
    sagemaker.CfnEndpoint(
        stack, "Endpoint", endpoint_name="falcon", endpoint_config_name="falcon"
    )


APPS: Mapping[str, tuple[Callable[[Stack], None], str]] = {
    "DeepSeek": (deepseek, "a DeepSeek R1 construct in TypeScript, public on GitHub"),
    "ScaleToZero": (scale_to_zero, "a scale-to-zero stack of Falcon Perception"),
    "Adapters": (adapters, "AnthusAI/Plexus, with the adapter in the template"),
    "Asynchronous": (asynchronous, "AWS's guide, async-inference-autoscale"),
    "ByParameters": (by_parameters, "philschmid/cdk-samples, sagemaker-endpoint"),
    "Nested": (nested, "a nested stack of three endpoints, in TypeScript"),
    "Classifier": (classifier, "a stack of serverless endpoints"),
    "OwnImage": (own_image, "a stack of YOLO v11 with an image of its own"),
    "TwoComponents": (
        two_components,
        "aws-samples/aws-kr-startup-samples, inference components",
    ),
    "Shadow": (shadow, "AWS's guide, model-shadow-deployment"),
    "Pools": (pools, "AWS's guide, realtime-endpoints-heterogeneous"),
    "ByNames": (by_names, "a model of Falcon by the names of its resources"),
}
