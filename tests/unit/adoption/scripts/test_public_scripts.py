"""
What people deploy converts: the environments of public notebooks and recipes, in the
scripts that deploy them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.adoption.deployment import Deployment
from cdk_sagemaker_llm.adoption.scripts import read_script
from cdk_sagemaker_llm.catalog.images import find_image
from tests.notebooks import notebook, script

DATA = Path(__file__).parents[3] / "data"
ENVIRONMENTS: list[dict[str, Any]] = json.loads(
    (DATA / "public_environments.json").read_text("utf-8")
)["environments"]
DICTIONARIES: list[dict[str, Any]] = json.loads(
    (DATA / "public_dictionaries.json").read_text("utf-8")
)["dictionaries"]
# Whose image a dictionary is for stands elsewhere in its file.
ANY = {"container": "vllm", "version": "0.17.0", "instance_type": "ml.g5.2xlarge"}
ROWS = [*ENVIRONMENTS, *({**ANY, **row} for row in DICTIONARIES)]
ROLE = "arn:aws:iam::111111111111:role/hosting"


def by_boto3(folder: Path, row: Mapping[str, Any], image: str) -> Path:
    """
    Write a script that asks SageMaker itself.
    """
    return script(
        folder,
        f"""
import boto3
client = boto3.client("sagemaker", region_name="us-east-1")
environment = {row["environment"]!r}
client.create_model(
    ModelName="model",
    ExecutionRoleArn={ROLE!r},
    PrimaryContainer={{"Image": {image!r}, "Environment": environment}},
)
client.create_endpoint_config(
    EndpointConfigName="config",
    ProductionVariants=[{{
        "VariantName": "AllTraffic", "ModelName": "model",
        "InstanceType": {row["instance_type"]!r}, "InitialInstanceCount": 1,
    }}],
)
client.create_endpoint(EndpointName="endpoint", EndpointConfigName="config")
""",
    )


def by_sdk(folder: Path, row: Mapping[str, Any], image: str) -> Path:
    """
    Write a notebook that fills the environment in line by line.
    """
    first, *rest = row["environment"].items()
    lines = [f"env[{name!r}] = {value!r}" for name, value in rest]
    return notebook(
        folder,
        "!pip install -q sagemaker",
        f"env = {{{first[0]!r}: {first[1]!r}}}",
        "\n".join(lines) or "pass",
        f"registry = {image.partition('/')[0]!r}",
        f"""
model = Model(
    image_uri=f"{{registry}}/{image.partition("/")[2]}", env=env, role={ROLE!r}
)
model.deploy(1, {row["instance_type"]!r}, endpoint_name="endpoint")
""",
    )


def by_functions(folder: Path, row: Mapping[str, Any], image: str) -> Path:
    """
    Write a script that puts the environment together in a function.
    """
    half = len(row["environment"]) // 2
    pairs = [*row["environment"].items()]
    return script(
        folder,
        f"""
COMMON = dict({dict(pairs[:half])!r})
def environment(**more):
    merged = {{**COMMON}}
    merged.update(more)
    return merged
def main(role, instance_type={row["instance_type"]!r}):
    HuggingFaceModel(
        role=role, image_uri={image!r}, env=environment(**{dict(pairs[half:])!r})
    ).deploy(initial_instance_count=1, instance_type=instance_type)
if __name__ == "__main__":
    main({ROLE!r})
""",
    )


@pytest.mark.parametrize("write", [by_boto3, by_sdk, by_functions])
def test_each_environment_converts(
    write: Callable[[Path, Mapping[str, Any], str], Path], tmp_path: Path
) -> None:
    """
    Each of over 300 becomes the same model on the same instance, byte for byte.
    """
    assert len(ROWS) > 300
    for row in ROWS:
        image = find_image(row["container"], row["version"]).uri("us-east-1")

        found = read_script(write(tmp_path, row, image), region="us-east-1")

        (model,) = found.of("CreateModel")
        assert model.parameters["PrimaryContainer"] == {
            "Image": image,
            "Environment": row["environment"],
        }
        assert model.parameters["ExecutionRoleArn"] == ROLE
        assert type_of(found) == row["instance_type"]
        assert len(list(found.of("CreateEndpoint"))) == 1
        assert [
            one.what for one in found.remarks if "is made when" not in one.what
        ] == []


def type_of(deployment: Deployment) -> object:
    """
    Return the instance type of the one variant.
    """
    (config,) = deployment.of("CreateEndpointConfig")
    (variant,) = config.parameters["ProductionVariants"]
    return variant["InstanceType"]
