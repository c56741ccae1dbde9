"""
Terraform plans of what others publish, as ``terraform show -json`` prints them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.unit.cli.app.test_terraform import plan, planned
from tests.unit.foreign.cdk_apps import (
    AMI_124,
    AMI_130,
    LMI_13,
    LMI_28,
    REGISTRY,
    ROLE,
    TGI,
    VLLM,
)

TRANSFORMERS = (
    f"{REGISTRY}/huggingface-pytorch-inference:"
    "1.9.1-transformers4.12.3-cpu-py38-ubuntu20.04"
)


def hosted(
    name: str,
    image: str,
    environment: Mapping[str, str],
    *further: dict[str, Any],
    **variant: object,
) -> dict[str, Any]:
    """
    Write the plan of a model, its configuration and its endpoint, all called alike.
    """
    container = {
        "image": image,
        "environment": dict(environment) or None,
        "image_config": [],
        "mode": "SingleModel",
        "model_data_source": [],
        "model_data_url": variant.pop("model_data_url", None),
    }
    async_config = variant.pop("async_inference_config", [])
    role = variant.pop("execution_role_arn", None)
    shape = {
        "variant_name": "AllTraffic",
        "model_name": name,
        "initial_instance_count": 1,
        "initial_variant_weight": 1,
        "instance_type": None,
        "managed_instance_scaling": [],
        "routing_config": [],
        "serverless_config": [],
        **variant,
    }
    return plan(
        planned(
            "aws_sagemaker_model.this",
            name=name,
            execution_role_arn=ROLE,
            primary_container=[container],
            container=[],
            vpc_config=[],
        ),
        planned(
            "aws_sagemaker_endpoint_configuration.this",
            name=name,
            execution_role_arn=role,
            production_variants=[shape],
            shadow_production_variants=[],
            async_inference_config=async_config,
            data_capture_config=[],
        ),
        planned(
            "aws_sagemaker_endpoint.this",
            name=name,
            endpoint_config_name=name,
            deployment_config=[],
        ),
        *further,
    )


def target(name: str, **values: object) -> dict[str, Any]:
    """
    Write what scales the instances of an endpoint.
    """
    return planned(
        "aws_appautoscaling_target.this",
        service_namespace="sagemaker",
        scalable_dimension="sagemaker:variant:DesiredInstanceCount",
        resource_id=f"endpoint/{name}/variant/AllTraffic",
        **{"min_capacity": 1, "max_capacity": 4, **values},
    )


def component() -> dict[str, Any]:
    """
    Write an inference component of the provider awscc.
    """
    return planned(
        "awscc_sagemaker_inference_component.this",
        inference_component_name="shared",
        endpoint_name="shared",
        variant_name="AllTraffic",
        specification={
            "model_name": "shared",
            "compute_resource_requirements": {
                "min_memory_required_in_mb": 1024,
                "number_of_accelerator_devices_required": 2,
            },
        },
        runtime_config={"copy_count": 2},
    )


LLAMA = {
    "HF_MODEL_ID": "NousResearch/Meta-Llama-3-8B-Instruct",
    "SM_NUM_GPUS": "1",
    "MAX_INPUT_LENGTH": "4000",
    "MAX_TOTAL_TOKENS": "4096",
    "MAX_BATCH_TOTAL_TOKENS": "6144",
    "MESSAGES_API_ENABLED": "true",
}
_BACKLOG = {
    "namespace": "AWS/SageMaker",
    "metric_name": "ApproximateBacklogSize",
    "dimensions": {"EndpointName": "neo"},
    "metric_query": [],
}

PLANS: Mapping[str, tuple[dict[str, Any], str]] = {
    "TfLlm": (
        hosted("llama3", TGI, LLAMA, instance_type="ml.g5.2xlarge"),
        "philschmid/terraform-aws-llm-sagemaker, examples/basic",
    ),
    "TfLmi": (
        hosted(
            "lmi",
            LMI_13,
            {
                "HF_MODEL_ID": "Qwen/Qwen2.5-7B-Instruct",
                "SERVING_FAIL_FAST": "true",
                "OPTION_ROLLING_BATCH": "vllm",
                "OPTION_TENSOR_PARALLEL_DEGREE": "4",
            },
            instance_type="ml.g5.12xlarge",
            inference_ami_version=AMI_124,
        ),
        "aws-samples/sagemaker-genai-hosting-examples, LMIv16 without managed scaling",
    ),
    "TfNeo": (
        hosted(
            "neo",
            TGI,
            {
                "HF_MODEL_ID": "/opt/ml/model",
                "MAX_INPUT_LENGTH": "1024",
                "MAX_TOTAL_TOKENS": "2048",
                "SM_NUM_GPUS": "1",
            },
            target("neo", min_capacity=0, max_capacity=2),
            planned("aws_cloudwatch_metric_alarm.backlog", **_BACKLOG),
            instance_type="ml.g5.2xlarge",
            model_data_url="s3://weights/gpt-neo/model.tar.gz",
            async_inference_config=[
                {"output_config": [{"s3_output_path": "s3://answers/"}]}
            ],
        ),
        "uktrade/data-workspace, infra/sagemaker_llm_resources.tf",
    ),
    "TfTransformers": (
        hosted(
            "deploy-hub",
            TRANSFORMERS,
            {"HF_MODEL_ID": "distilbert/distilbert-base-uncased", "HF_TASK": "x"},
            target("deploy-hub"),
            instance_type="ml.g4dn.xlarge",
        ),
        "philschmid/terraform-aws-sagemaker-huggingface, autoscaling",
    ),
    "TfServerless": (
        hosted(
            "injection",
            TRANSFORMERS,
            {"HF_MODEL_ID": "deepset/deberta-v3-base-injection"},
            initial_instance_count=None,
            serverless_config=[{"max_concurrency": 3, "memory_size_in_mb": 3072}],
        ),
        "Safetorun/PromptDefender, terraform/huggingface.tf",
    ),
    "TfMedium": (
        hosted(
            "my-model",
            "174872318107.dkr.ecr.us-west-2.amazonaws.com/kmeans:1",
            {},
            instance_type="ml.t2.medium",
        ),
        "the provider's documentation, aws_sagemaker_model",
    ),
    "TfVllm": (
        hosted(
            "vllm",
            VLLM,
            {"SM_VLLM_MODEL": "Qwen/Qwen2.5-7B-Instruct"},
            instance_type="ml.g5.2xlarge",
            inference_ami_version=AMI_130,
        ),
        "a configuration of vLLM on ml.g5.2xlarge, public on GitHub",
    ),
    "TfShared": (
        hosted(
            "shared",
            LMI_13,
            {
                "HF_MODEL_ID": "Qwen/Qwen2.5-7B-Instruct",
                "OPTION_TENSOR_PARALLEL_DEGREE": "2",
            },
            component(),
            instance_type="ml.g5.12xlarge",
            inference_ami_version=AMI_124,
            model_name=None,
            execution_role_arn=ROLE,
            managed_instance_scaling=[
                {"status": "ENABLED", "min_instance_count": 1, "max_instance_count": 2}
            ],
        ),
        "terraform-provider-aws issue 35226, which names awscc for components",
    ),
    "TfFilled": (
        hosted(
            "chat",
            LMI_28,
            {"HF_MODEL_ID": "Qwen/Qwen3-4B"},
            instance_type="ml.g6.2xlarge",
            inference_ami_version=AMI_130,
        ),
        "this documentation, move-from-terraform.md",
    ),
    "TfVolume": (
        hosted(
            "jumpstart",
            TGI,
            {"HF_MODEL_ID": "/opt/ml/model", "SM_NUM_GPUS": "4"},
            instance_type="ml.g5.12xlarge",
            model_data_url="s3://jumpstart/falcon/model.tar.gz",
            container_startup_health_check_timeout_in_seconds=900,
        ),
        "aws-ia/terraform-aws-sagemaker-endpoint, examples/jumpstart_rte",
    ),
}
