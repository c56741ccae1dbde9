"""
The examples of asynchronous inference and of a shadow, deployed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.deployments import example
from tests.local.hosting_requests import prompt

if TYPE_CHECKING:
    from pathlib import Path

    from cdk_sagemaker_llm.local import EmbeddedAws
    from tests.deployments import Deployer


def only_endpoint(aws: EmbeddedAws, stack: str) -> dict[str, Any]:
    """
    Describe the endpoint of a stack.
    """
    found = aws.client("cloudformation").describe_stack_resources(StackName=stack)
    (name,) = (
        each["PhysicalResourceId"].rpartition("/")[2]
        for each in found["StackResources"]
        if each["ResourceType"] == "AWS::SageMaker::Endpoint"
    )
    described: dict[str, Any] = aws.client("sagemaker").describe_endpoint(
        EndpointName=name
    )
    return described


def test_the_asynchronous_example_is_deployed(
    embedded_aws: EmbeddedAws, deployer: Deployer, tmp_path: Path
) -> None:
    """
    It answers a request that lies in its bucket, and is set up to go to zero.
    """
    app = example("async_endpoint", tmp_path / "out")
    deployer.deploy(app).checked()
    endpoint = only_endpoint(embedded_aws, "Batch")
    name, s3 = endpoint["EndpointName"], embedded_aws.client("s3")
    output = endpoint["AsyncInferenceConfig"]["OutputConfig"]["S3OutputPath"]
    bucket = output.removeprefix("s3://").partition("/")[0]
    body = json.dumps({"prompt": "Once", "max_tokens": 4})
    s3.put_object(Bucket=bucket, Key="requests/1.json", Body=body)
    told = embedded_aws.client("sagemaker-runtime").invoke_endpoint_async(
        EndpointName=name,
        InputLocation=f"s3://{bucket}/requests/1.json",
        ContentType="application/json",
    )
    place = told["OutputLocation"]
    answer = s3.get_object(Bucket=bucket, Key=place.removeprefix(f"s3://{bucket}/"))[
        "Body"
    ].read()

    assert place.startswith(f"s3://{bucket}/answers/")
    assert json.loads(answer)
    scaling = embedded_aws.client("application-autoscaling")
    key = {"ServiceNamespace": "sagemaker"}
    resource = f"endpoint/{name}/variant/AllTraffic"
    (target,) = scaling.describe_scalable_targets(**key, ResourceIds=[resource])[
        "ScalableTargets"
    ]
    policies = scaling.describe_scaling_policies(**key, ResourceId=resource)
    assert (target["MinCapacity"], target["MaxCapacity"]) == (0, 4)
    assert sorted(p["PolicyType"] for p in policies["ScalingPolicies"]) == [
        "StepScaling",
        "TargetTrackingScaling",
    ]
    deployer.destroy(app).checked()
    # It outlives its stack.
    assert bucket in {each["Name"] for each in s3.list_buckets()["Buckets"]}


def test_the_shadow_example_is_deployed(
    embedded_aws: EmbeddedAws, deployer: Deployer, tmp_path: Path
) -> None:
    """
    Of four requests the shadow gets two, and both variants' answers are kept.
    """
    app = example("shadow_variant", tmp_path / "out")
    deployer.deploy(app).checked()
    endpoint = only_endpoint(embedded_aws, "Trial")
    runtime = embedded_aws.client("sagemaker-runtime")
    for _ in range(4):
        runtime.invoke_endpoint(
            EndpointName=endpoint["EndpointName"],
            ContentType="application/json",
            Body=prompt("Once", max_new_tokens=4),
        )["Body"].read()
    (shadow,) = endpoint["ShadowProductionVariants"]
    bucket = endpoint["DataCaptureConfig"]["DestinationS3Uri"].split("/")[2]
    kept = embedded_aws.client("s3").list_objects_v2(Bucket=bucket)["Contents"]
    variants = sorted(each["Key"].split("/")[2] for each in kept)

    assert (shadow["VariantName"], shadow["CurrentWeight"]) == ("Shadow", 0.5)
    assert variants == ["AllTraffic"] * 4 + ["Shadow"] * 2
    deployer.destroy(app).checked()
