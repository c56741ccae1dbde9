"""
A plugin of pytest for moto's own tests: it clears away what the test before has left in
the embedded AWS, and makes of what AWS would refuse what it would take.
"""

from __future__ import annotations

import os
from typing import Any

import boto3
import pytest
import requests
from botocore import handlers

URL = os.environ["TEST_SERVER_MODE_ENDPOINT"]
ROLE = "arn:aws:iam::123456789012:role/Hosting"
IMAGE = "382416733822.dkr.ecr.us-east-1.amazonaws.com/factorization-machines:1"


def client(service: str) -> Any:
    """
    Make a client of the embedded AWS.
    """
    return boto3.client(  # type: ignore[call-overload]  # any service by name
        service, endpoint_url=URL, region_name="us-east-1"
    )


def make_real(params: dict[str, Any], **_: Any) -> None:
    """
    Put a role's ARN where a test has that of something else, and leave model data out,
    whose bucket is not there.
    """
    for member in ("ExecutionRoleArn", "RoleArn"):
        if ":role/" not in str(params.get(member, ":role/")):
            params[member] = ROLE
    container = params.get("PrimaryContainer", {})
    container.pop("ModelDataUrl", None)


def add_container(params: dict[str, Any], **_: Any) -> None:
    """
    Put a container where a test has none.
    """
    if not params.keys() & {"PrimaryContainer", "Containers"}:
        params["PrimaryContainer"] = {"Image": IMAGE}


def make_endpoint(params: dict[str, Any], **_: Any) -> None:
    """
    Create the endpoint that a scalable target is a variant of, unless it is there.
    """
    kind, *names = params["ResourceId"].split("/")
    sagemaker = client("sagemaker")
    if kind != "endpoint" or sagemaker.list_endpoints()["Endpoints"]:
        return
    sagemaker.create_model(ModelName="m", ExecutionRoleArn=ROLE)
    variant = {
        "VariantName": names[-1],
        "ModelName": "m",
        "InstanceType": "ml.m5.large",
        "InitialInstanceCount": 1,
    }
    sagemaker.create_endpoint_config(
        EndpointConfigName="c", ProductionVariants=[variant]
    )
    sagemaker.create_endpoint(EndpointName=names[0], EndpointConfigName="c")


for operation, handler in (
    ("sagemaker", make_real),
    ("sagemaker.CreateModel", add_container),
    ("application-autoscaling.RegisterScalableTarget", make_endpoint),
):
    handlers.BUILTIN_HANDLERS.append((f"provide-client-params.{operation}", handler))


@pytest.fixture(autouse=True)
def _fresh() -> None:
    # moto's own services by moto's own call, and then hosting, which is not moto's.
    requests.post(f"{URL}/moto-api/reset", timeout=60)
    sagemaker = client("sagemaker")
    for endpoint in sagemaker.list_endpoints(MaxResults=100)["Endpoints"]:
        sagemaker.delete_endpoint(EndpointName=endpoint["EndpointName"])
    configs = sagemaker.list_endpoint_configs(MaxResults=100)["EndpointConfigs"]
    for config in configs:
        name = config["EndpointConfigName"]
        sagemaker.delete_endpoint_config(EndpointConfigName=name)
    for model in sagemaker.list_models(MaxResults=100)["Models"]:
        sagemaker.delete_model(ModelName=model["ModelName"])
