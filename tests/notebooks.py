"""
Scripts and notebooks that deploy, in the shapes that public ones have.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.adoption.deployment import Deployment
from cdk_sagemaker_llm.adoption.scripts import read_script

ROLE = """
    import sagemaker
    role = sagemaker.get_execution_role()
"""
TGI = (
    """
    !pip install sagemaker --quiet
    import json
    import sagemaker
    from sagemaker.huggingface import HuggingFaceModel, get_huggingface_llm_image_uri
    """,
    """
    sess = sagemaker.Session()
    try:
        role = sagemaker.get_execution_role()
    except ValueError:
        role = boto3.client("iam").get_role(RoleName="sagemaker")["Role"]["Arn"]
    llm_image = get_huggingface_llm_image_uri("huggingface", version="1.4.5")
    """,
    """
    number_of_gpu = 4
    config = {
        "HF_MODEL_ID": "mistralai/Mistral-7B-Instruct-v0.1",
        "SM_NUM_GPUS": json.dumps(number_of_gpu),
        "MAX_INPUT_LENGTH": json.dumps(2048),
        "MAX_TOTAL_TOKENS": str(2 * 2048),
    }
    llm_model = HuggingFaceModel(role=role, image_uri=llm_image, env=config)
    """,
    """
    llm = llm_model.deploy(
        initial_instance_count=1,
        instance_type="ml.g5.12xlarge",
        endpoint_name="mistral-tgi",
        container_startup_health_check_timeout=600,
    )
    """,
    """
    llm.predict({"inputs": "Hello"})
    """,
    """
    llm.delete_model()
    llm.delete_endpoint()
    """,
)
LMI = (
    """
    import boto3
    import sagemaker
    from sagemaker import Model, image_uris
    role = sagemaker.get_execution_role()
    sess = sagemaker.session.Session()
    """,
    """
    %%writefile serving.properties
    engine=MPI
    option.model_id=TheBloke/Llama-2-7B-fp16
    option.tensor_parallel_degree=4
    option.rolling_batch=vllm
    """,
    """
    %%sh
    mkdir -p mymodel
    mv serving.properties mymodel/
    tar czvf mymodel.tar.gz mymodel/
    rm -rf mymodel
    """,
    """
    image_uri = image_uris.retrieve(
        framework="djl-deepspeed",
        region=sess.boto_session.region_name,
        version="0.27.0",
    )
    s3_code_prefix = "large-model-lmi/code"
    bucket = sess.default_bucket()
    code_artifact = sess.upload_data("mymodel.tar.gz", bucket, s3_code_prefix)
    """,
    """
    model = Model(image_uri=image_uri, model_data=code_artifact, role=role)
    endpoint_name = sagemaker.utils.name_from_base("lmi-model")
    model.deploy(1, "ml.g5.12xlarge", endpoint_name=endpoint_name)
    """,
)
JUMPSTART = (
    """
    from sagemaker.jumpstart.model import JumpStartModel
    model = JumpStartModel(model_id="meta-textgeneration-llama-3-8b-instruct")
    """,
    """
    predictor = model.deploy(accept_eula=True)
    """,
)
BUILDER = (
    """
    from sagemaker.serve import ModelBuilder
    from sagemaker.serve.builder.schema_builder import SchemaBuilder
    from sagemaker.core.helper.session_helper import get_execution_role
    """,
    """
    builder = ModelBuilder(
        image_uri="763104351884.dkr.ecr.eu-west-1.amazonaws.com/vllm:0.30.0-gpu-py312",
        env_vars={"SM_VLLM_MODEL": "Qwen/Qwen3-8B", "SM_VLLM_MAX_MODEL_LEN": "16384"},
        role_arn=get_execution_role(),
        instance_type="ml.g6e.2xlarge",
    )
    model = builder.build(model_name="qwen3")
    endpoint = builder.deploy(endpoint_name="qwen3-8b", initial_instance_count=2)
    """,
)
COMPONENTS = (
    """
    import boto3
    import sagemaker
    from datetime import datetime
    role = sagemaker.get_execution_role()
    region = "us-west-2"
    sm_client = boto3.client("sagemaker", region_name=region)
    prefix = sagemaker.utils.unique_name_from_base("demo")
    """,
    """
    image = f"763104351884.dkr.ecr.{region}.amazonaws.com/djl-inference:{tag}"
    """.replace("{tag}", "0.36.0-lmi27.0.0-cu130"),
    """
    endpoint_name = f"{prefix}-endpoint"
    sm_client.create_endpoint_config(
        EndpointConfigName=f"{prefix}-config",
        ExecutionRoleArn=role,
        ProductionVariants=[
            {
                "VariantName": "AllTraffic",
                "InstanceType": "ml.g6.12xlarge",
                "InitialInstanceCount": 1,
                "ModelDataDownloadTimeoutInSeconds": 60 * 60,
                "ContainerStartupHealthCheckTimeoutInSeconds": 60 * 60,
                "ManagedInstanceScaling": {
                    "Status": "ENABLED",
                    "MinInstanceCount": 0,
                    "MaxInstanceCount": 2,
                },
                "RoutingConfig": {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"},
            }
        ],
    )
    sm_client.create_endpoint(
        EndpointName=endpoint_name, EndpointConfigName=f"{prefix}-config"
    )
    """,
    """
    def serve(model_id, accelerators, copies=1):
        base = model_id.split("/")[-1].lower()
        name = f"{base}-{datetime.now().strftime('%y%m%d-%H%M%S')}"
        sm_client.create_model(
            ModelName=name,
            ExecutionRoleArn=role,
            PrimaryContainer={
                "Image": image,
                "Environment": {"HF_MODEL_ID": model_id, **shared},
            },
        )
        sm_client.create_inference_component(
            InferenceComponentName=f"ic-{base}",
            EndpointName=endpoint_name,
            VariantName="AllTraffic",
            Specification={
                "ModelName": name,
                "StartupParameters": {"ModelDataDownloadTimeoutInSeconds": 1200},
                "ComputeResourceRequirements": {
                    "NumberOfAcceleratorDevicesRequired": accelerators,
                    "MinMemoryRequiredInMb": 1024 * 16,
                },
            },
            RuntimeConfig={"CopyCount": copies},
        )
        return f"ic-{base}"
    """,
    """
    shared = {"OPTION_ROLLING_BATCH": "disable", "OPTION_ASYNC_MODE": "true"}
    for model_id, accelerators in [("Qwen/Qwen3-4B", 1), ("Qwen/Qwen3-8B", 2)]:
        component = serve(model_id, accelerators)
        while True:
            desc = sm_client.describe_inference_component(
                InferenceComponentName=component
            )
            if desc["InferenceComponentStatus"] in ["InService", "Failed"]:
                break
            time.sleep(30)
    """,
    """
    autoscaling = boto3.client("application-autoscaling")
    cloudwatch = boto3.client("cloudwatch")
    resource_id = f"inference-component/{component}"
    dimension = "sagemaker:inference-component:DesiredCopyCount"
    autoscaling.register_scalable_target(
        ServiceNamespace="sagemaker",
        ResourceId=resource_id,
        ScalableDimension=dimension,
        MinCapacity=0,
        MaxCapacity=4,
    )
    answer = autoscaling.put_scaling_policy(
        PolicyName="wake",
        PolicyType="StepScaling",
        ServiceNamespace="sagemaker",
        ResourceId=resource_id,
        ScalableDimension=dimension,
        StepScalingPolicyConfiguration={
            "AdjustmentType": "ChangeInCapacity",
            "MetricAggregationType": "Maximum",
            "Cooldown": 60,
            "StepAdjustments": [
                {"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}
            ],
        },
    )
    cloudwatch.put_metric_alarm(
        AlarmName="wake",
        AlarmActions=[answer["PolicyARN"]],
        MetricName="NoCapacityInvocationFailures",
        Namespace="AWS/SageMaker",
        Statistic="Maximum",
        Dimensions=[{"Name": "InferenceComponentName", "Value": component}],
        Period=30,
        EvaluationPeriods=1,
        DatapointsToAlarm=1,
        Threshold=1,
        ComparisonOperator="GreaterThanOrEqualToThreshold",
        TreatMissingData="missing",
    )
    """,
)
ASYNC = (
    ROLE,
    """
    from sagemaker.huggingface.model import HuggingFaceModel
    from sagemaker.async_inference.async_inference_config import AsyncInferenceConfig
    model = HuggingFaceModel(
        image_uri="763104351884.dkr.ecr.us-east-1.amazonaws.com/vllm:0.30.0-gpu-py312",
        env={"SM_VLLM_MODEL": "Qwen/Qwen3-8B"},
        role=role,
    )
    predictor = model.deploy(
        initial_instance_count=1,
        instance_type="ml.g6.2xlarge",
        endpoint_name="later",
        async_inference_config=AsyncInferenceConfig(
            output_path="s3://answers/out",
            failure_path="s3://answers/failed",
            max_concurrent_invocations_per_instance=4,
        ),
    )
    """,
    """
    client = boto3.client("application-autoscaling")
    target = dict(
        ServiceNamespace="sagemaker",
        ResourceId="endpoint/" + predictor.endpoint_name + "/variant/AllTraffic",
        ScalableDimension="sagemaker:variant:DesiredInstanceCount",
    )
    client.register_scalable_target(**target, MinCapacity=0, MaxCapacity=5)
    client.put_scaling_policy(
        **target,
        PolicyName="backlog",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration={
            "TargetValue": 2.0,
            "CustomizedMetricSpecification": {
                "MetricName": "ApproximateBacklogSizePerInstance",
                "Namespace": "AWS/SageMaker",
                "Dimensions": [{"Name": "EndpointName", "Value": "later"}],
                "Statistic": "Average",
            },
            "ScaleInCooldown": 600,
        },
    )
    """,
)
SHARED = (
    ROLE,
    """
    from sagemaker.compute_resource_requirements.resource_requirements import (
        ResourceRequirements,
    )
    from sagemaker.djl_inference import DJLModel
    from sagemaker.enums import EndpointType
    resources = ResourceRequirements(
        requests={"copies": 2, "num_accelerators": 1, "num_cpus": 4, "memory": 16384},
        limits={"memory": 32768},
    )
    """,
    """
    for name in ("one", "two"):
        model = DJLModel(
            model_id=f"company/{name}",
            djl_version="0.30.0",
            tensor_parallel_degree=1,
            role=role,
            name=name,
        )
        model.deploy(
            initial_instance_count=1,
            instance_type="ml.g5.12xlarge",
            endpoint_name="shared",
            endpoint_type=EndpointType.INFERENCE_COMPONENT_BASED,
            resources=resources,
            managed_instance_scaling={"MaxInstanceCount": 3},
            routing_config={"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"},
            inference_component_name=f"{name}-component",
            container_startup_health_check_timeout=900,
        )
    """,
)
ALL = {
    "tgi": TGI,
    "lmi": LMI,
    "builder": BUILDER,
    "components": COMPONENTS,
    "async": ASYNC,
    "shared": SHARED,
}


def notebook(folder: Path, *cells: str) -> Path:
    """
    Write a notebook whose cells are these, all of them code.
    """
    path = folder / "notebook.ipynb"
    rows: list[dict[str, Any]] = [
        {
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": textwrap.dedent(cell).strip("\n").splitlines(keepends=True),
        }
        for cell in cells
    ]
    path.write_text(json.dumps({"cells": rows, "nbformat": 4}), "utf-8")
    return path


def script(folder: Path, text: str) -> Path:
    """
    Write a script.
    """
    path = folder / "script.py"
    path.write_text(textwrap.dedent(text).strip("\n"), "utf-8")
    return path


def read(folder: Path, text: str, *, region: str = "us-east-1") -> Deployment:
    """
    Read a script of this text.
    """
    return read_script(script(folder, text), region=region)


def read_cells(folder: Path, *cells: str, region: str = "us-east-1") -> Deployment:
    """
    Read a notebook of these cells.
    """
    return read_script(notebook(folder, *cells), region=region)


def remarks(deployment: Deployment) -> list[tuple[str, str]]:
    """
    Return what could not be converted, and where it stands.
    """
    return [(one.where, one.what) for one in deployment.remarks]
