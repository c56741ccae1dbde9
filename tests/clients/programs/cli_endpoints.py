"""
Endpoints by the AWS CLI, of a shape each; their names are printed.

Its arguments are two images, of TGI and of LMI, and a role.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

COMMAND = Path(sys.executable).parent / "aws"
VARIANT = "AllTraffic"


def main(tgi: str, lmi: str, role: str) -> None:
    """
    Make all of them, and wait for the last.
    """
    environment = {"HF_MODEL_ID": "mistralai/Mistral-7B-Instruct-v0.3"}
    plain("cli-plain", {"Image": tgi, "Environment": environment}, role)
    tarball("cli-tarball", lmi, role)
    private("cli-private", {"Image": tgi, "Environment": environment}, role)
    queued("cli-queued", {"Image": tgi, "Environment": environment}, role)
    stepped("cli-stepped", {"Image": tgi, "Environment": environment}, role)
    shared("cli-shared", {"Image": lmi, "Environment": environment}, role)
    names = [
        one["EndpointName"]
        for one in aws("sagemaker", "list-endpoints", name_contains="cli-")["Endpoints"]
    ]
    for name in names:
        aws("sagemaker", "wait", "endpoint-in-service", endpoint_name=name)
    print(json.dumps({"endpoints": sorted(names)}))


def plain(name: str, container: Mapping[str, Any], role: str) -> None:
    """
    An environment, and tags on all three.
    """
    tags = [{"Key": "team", "Value": "search"}, {"Key": "cost", "Value": "42"}]
    model(name, container, role, tags=tags)
    endpoint(name, [variant(name)], tags=tags)


def tarball(name: str, image: str, role: str) -> None:
    """
    Data in a bucket, a volume and both time-outs.
    """
    bucket = f"artifacts-of-{name}"
    aws("s3", "mb", f"s3://{bucket}")
    with tempfile.TemporaryDirectory() as folder:
        properties = Path(folder) / "serving.properties"
        properties.write_text("option.model_id=Qwen/Qwen2.5-7B-Instruct\n")
        packed = Path(folder) / "model.tar.gz"
        command = ["tar", "-czf", str(packed), "-C", folder, properties.name]
        subprocess.run(command, check=True)
        aws("s3", "cp", str(packed), f"s3://{bucket}/model.tar.gz")
    model(
        name,
        {"Image": image, "ModelDataUrl": f"s3://{bucket}/model.tar.gz"},
        role,
    )
    longest = {
        "VolumeSizeInGB": 300,
        "ModelDataDownloadTimeoutInSeconds": 1800,
        "ContainerStartupHealthCheckTimeoutInSeconds": 1800,
    }
    # A disk of one's own is there on types without local storage alone.
    endpoint(name, [variant(name, InstanceType="ml.p3.2xlarge", **longest)])


def private(name: str, container: Mapping[str, Any], role: str) -> None:
    """
    In a VPC, without a network, on two variants.
    """
    subnets = aws("ec2", "describe-subnets")["Subnets"][:2]
    group = aws(
        *("ec2", "create-security-group"),
        group_name=name,
        description=name,
        vpc_id=subnets[0]["VpcId"],
    )
    network = {
        "Subnets": [one["SubnetId"] for one in subnets],
        "SecurityGroupIds": [group["GroupId"]],
    }
    isolated = ["--enable-network-isolation"]
    for one in (f"{name}-a", f"{name}-b"):
        model(one, container, role, *isolated, vpc_config=network)
    weights = {"VariantName": "B", "InitialVariantWeight": 0.25}
    endpoint(
        name,
        [variant(f"{name}-a", VariantName="A"), variant(f"{name}-b", **weights)],
    )


def queued(name: str, container: Mapping[str, Any], role: str) -> None:
    """
    Asynchronous, with data capture.
    """
    model(name, container, role)
    endpoint(
        name,
        [variant(name)],
        async_inference_config={
            "OutputConfig": {"S3OutputPath": f"s3://{name}/answers"},
            "ClientConfig": {"MaxConcurrentInvocationsPerInstance": 4},
        },
        data_capture_config={
            "EnableCapture": True,
            "InitialSamplingPercentage": 10,
            "DestinationS3Uri": f"s3://{name}/captured",
            "CaptureOptions": [{"CaptureMode": "Input"}],
        },
    )


def stepped(name: str, container: Mapping[str, Any], role: str) -> None:
    """
    Scaled by steps, by an alarm, and by the hour.
    """
    model(name, container, role)
    endpoint(name, [variant(name)], kms_key_id=key())
    scaled = {
        "service_namespace": "sagemaker",
        "resource_id": f"endpoint/{name}/variant/{VARIANT}",
        "scalable_dimension": "sagemaker:variant:DesiredInstanceCount",
    }
    autoscaling = "application-autoscaling"
    bounds = {"min_capacity": 1, "max_capacity": 4}
    aws(autoscaling, "register-scalable-target", **scaled, **bounds)
    policy = aws(
        *(autoscaling, "put-scaling-policy"),
        **scaled,
        policy_name=f"{name}-out",
        policy_type="StepScaling",
        step_scaling_policy_configuration={
            "AdjustmentType": "ChangeInCapacity",
            "StepAdjustments": [
                {"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}
            ],
            "Cooldown": 300,
            "MetricAggregationType": "Average",
        },
    )
    aws(
        *("cloudwatch", "put-metric-alarm"),
        alarm_name=f"{name}-busy",
        namespace="AWS/SageMaker",
        metric_name="InvocationsPerInstance",
        dimensions=[
            {"Name": "EndpointName", "Value": name},
            {"Name": "VariantName", "Value": VARIANT},
        ],
        statistic="Sum",
        period=60,
        evaluation_periods=2,
        threshold=120,
        comparison_operator="GreaterThanThreshold",
        alarm_actions=[policy["PolicyARN"]],
    )
    aws(
        *(autoscaling, "put-scheduled-action"),
        **scaled,
        scheduled_action_name="evening",
        schedule="cron(0 20 * * ? *)",
        scalable_target_action={"MinCapacity": 1, "MaxCapacity": 1},
    )


def shared(name: str, container: Mapping[str, Any], role: str) -> None:
    """
    Two components on instances that scale with them; one tracks its load.
    """
    instances = {"Status": "ENABLED", "MinInstanceCount": 1, "MaxInstanceCount": 3}
    host = {
        "VariantName": VARIANT,
        "InstanceType": "ml.g5.12xlarge",
        "InitialInstanceCount": 1,
        "ManagedInstanceScaling": instances,
        "RoutingConfig": {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"},
    }
    endpoint(name, [host], execution_role_arn=role)
    aws("sagemaker", "wait", "endpoint-in-service", endpoint_name=name)
    needs = {
        "NumberOfAcceleratorDevicesRequired": 1,
        "MinMemoryRequiredInMb": 8192,
        "NumberOfCpuCoresRequired": 4,
    }
    for component in (f"{name}-large", f"{name}-small"):
        model(component, container, role)
        aws(
            *("sagemaker", "create-inference-component"),
            inference_component_name=component,
            endpoint_name=name,
            variant_name=VARIANT,
            specification={
                "ModelName": component,
                "ComputeResourceRequirements": needs,
                "StartupParameters": {
                    "ContainerStartupHealthCheckTimeoutInSeconds": 900
                },
            },
            runtime_config={"CopyCount": 1},
        )
    scaled = {
        "service_namespace": "sagemaker",
        "resource_id": f"inference-component/{name}-small",
        "scalable_dimension": "sagemaker:inference-component:DesiredCopyCount",
    }
    autoscaling = "application-autoscaling"
    bounds = {"min_capacity": 1, "max_capacity": 3}
    aws(autoscaling, "register-scalable-target", **scaled, **bounds)
    metric = "SageMakerInferenceComponentInvocationsPerCopy"
    aws(
        *(autoscaling, "put-scaling-policy"),
        **scaled,
        policy_name=f"{name}-tracks",
        policy_type="TargetTrackingScaling",
        target_tracking_scaling_policy_configuration={
            "PredefinedMetricSpecification": {"PredefinedMetricType": metric},
            "TargetValue": 5,
        },
    )


def model(
    name: str, container: Mapping[str, Any], role: str, *flags: str, **options: Any
) -> None:
    """
    Create a model.
    """
    aws(
        *("sagemaker", "create-model", *flags),
        model_name=name,
        primary_container=container,
        execution_role_arn=role,
        **options,
    )


def variant(model_name: str, **settings: Any) -> dict[str, Any]:
    """
    Return a variant of one instance that a model fills.
    """
    return {
        "VariantName": VARIANT,
        "ModelName": model_name,
        "InstanceType": "ml.g5.2xlarge",
        "InitialInstanceCount": 1,
        **settings,
    }


def endpoint(
    name: str,
    variants: Sequence[Mapping[str, Any]],
    tags: Sequence[Mapping[str, str]] = (),
    **options: Any,
) -> None:
    """
    Create an endpoint and its configuration.
    """
    both = {"tags": tags} if tags else {}
    config = {"endpoint_config_name": f"{name}-config"}
    aws(
        *("sagemaker", "create-endpoint-config"),
        production_variants=variants,
        **config,
        **both,
        **options,
    )
    aws("sagemaker", "create-endpoint", endpoint_name=name, **config, **both)


def key() -> str:
    """
    Create a key, and return its ARN.
    """
    made: str = aws("kms", "create-key")["KeyMetadata"]["Arn"]
    return made


def aws(*words: str, **options: Any) -> Any:
    """
    Run a command that goes through, and return what it prints.
    """
    said = [
        word
        for name, value in options.items()
        for word in (
            f"--{name.replace('_', '-')}",
            value if isinstance(value, str) else json.dumps(value),
        )
    ]
    command = [str(COMMAND), *words, *said, "--output", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout) if done.stdout.startswith("{") else {}


if __name__ == "__main__":
    main(*sys.argv[1:])
