"""
Every example, and the reference app, is deployed to the embedded AWS, and deleted again
with nothing left. The CDK CLI itself is tried in ``tests/local``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.local import EmbeddedAws
from tests.deployments import EXAMPLES, Deployer
from tests.examples.synthesis import REFERENCE
from tests.secrecy import TOKEN

# These ask the Hub for weights, or AWS for an image: tests/local deploys them, with
# servers of its own.
STAGED = {"compiled_engine", "mirrored_image", "staged_weights"}
NAMES = sorted({app.parent.name for app in EXAMPLES.glob("*/app.py")} - STAGED)
SECRET = re.compile(r"{{resolve:secretsmanager:([\w-]+):")
WEIGHTS = re.compile(r"s3://([a-z0-9.-]+)/([^\"\\$]+)")


class Account:
    """
    An account that has what examples refer to and do not make.

    Args:
        aws: The embedded AWS.
    """

    def __init__(self, aws: EmbeddedAws) -> None:
        self._s3 = aws.client("s3")
        self._secrets = aws.client("secretsmanager")
        self.sagemaker = aws.client("sagemaker")
        self.scaling = aws.client("application-autoscaling")
        self.deployer = Deployer(aws)

    def prepare(self, text: str) -> None:
        """
        Make the secrets and the weights that a template names.
        """
        kept = {each["Name"] for each in self._secrets.list_secrets()["SecretList"]}
        for name in set(SECRET.findall(text)) - kept:
            self._secrets.create_secret(Name=name, SecretString=TOKEN)
        for bucket, key in set(WEIGHTS.findall(text)):
            self._s3.create_bucket(Bucket=bucket)
            # Of a model, or of an adapter.
            files = ("config.json", "adapter_config.json")
            is_folder = key.endswith("/")
            for name in [key + file for file in files] if is_folder else [key]:
                self._s3.put_object(Bucket=bucket, Key=name, Body=b"{}")

    def left(self) -> list[Any]:
        """
        Return what of hosting there is.
        """
        sagemaker = self.sagemaker
        targets = self.scaling.describe_scalable_targets(ServiceNamespace="sagemaker")
        return [
            *sagemaker.list_endpoints()["Endpoints"],
            *sagemaker.list_endpoint_configs()["EndpointConfigs"],
            *sagemaker.list_models()["Models"],
            *sagemaker.list_inference_components()["InferenceComponents"],
            *targets["ScalableTargets"],
        ]


@pytest.fixture(name="account", scope="module")
def _account() -> Iterator[Account]:
    with EmbeddedAws() as aws:
        yield Account(aws)


@pytest.mark.parametrize("name", [*NAMES, REFERENCE])
def test_an_example_is_deployed_and_deleted(
    name: str, assemblies: Path, account: Account
) -> None:
    """
    Each stack is created, something is hosted, and nothing of it is left.
    """
    for template in (assemblies / name).glob("*.template.json"):
        account.prepare(template.read_text())

    account.deployer.deploy(assemblies / name).checked()
    assert account.sagemaker.list_endpoints()["Endpoints"]
    account.deployer.destroy(assemblies / name).checked()
    assert account.left() == []
