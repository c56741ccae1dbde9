"""
Every example, and the reference app, is deployed to the embedded AWS, and deleted again
with nothing left: with the context of this project, and with that of ``cdk init``. The
CDK CLI itself is tried in ``tests/local``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.hosting.models.artifact import tarball
from cdk_sagemaker_llm.local import EmbeddedAws
from tests.deployments import EXAMPLES, Deployer
from tests.examples.synthesis import ERROR, REFERENCE
from tests.secrecy import TOKEN

# These ask the Hub for weights, or AWS for an image: tests/local deploys them with
# servers of its own, and with the context of ``cdk init``.
STAGED = {"compiled_engine", "mirrored_image", "staged_weights"}
NAMES = sorted({app.parent.name for app in EXAMPLES.glob("*/app.py")} - STAGED)
# What the context of ``cdk init`` makes another app of: references between stacks that
# do not bind, and a VPC whose default group is closed.
CHANGED = {"customer_managed_key", "in_a_vpc", "private_vpc"}
OF_INIT = re.compile(r"Fn::GetStackOutput|\bCustom::\w+")
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
            body = b"{}" if is_folder else tarball({"adapter_config.json": b"{}"})
            for name in [key + file for file in files] if is_folder else [key]:
                self._s3.put_object(Bucket=bucket, Key=name, Body=body)

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
    deploy_and_delete(assemblies / name, account)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in CHANGED else pytest.mark.whole)
        for name in [*NAMES, REFERENCE]
    ],
)
def test_an_example_is_deployed_with_the_context_of_cdk_init(
    name: str, init_assemblies: Path, account: Account
) -> None:
    """
    As in an app that a newcomer makes.
    """
    deploy_and_delete(init_assemblies / name, account)


def test_the_context_of_cdk_init_changes_these_examples_alone(
    assemblies: Path, init_assemblies: Path
) -> None:
    """
    Every example synthesises with it. Where functions or custom resources come with it,
    the test above always runs, or the weights are the Hub's.
    """
    errors = [path.read_text() for path in init_assemblies.glob(f"*/{ERROR}")]
    assert errors == []
    found = {
        app.name
        for app in init_assemblies.iterdir()
        if functions_of(app) - functions_of(assemblies / app.name)
    }

    assert found - STAGED == CHANGED


def functions_of(app: Path) -> set[str]:
    """
    Return what of an app's templates only some contexts bring.
    """
    texts = [path.read_text() for path in app.glob("*.template.json")]
    return {found for text in texts for found in OF_INIT.findall(text)}


def deploy_and_delete(app: Path, account: Account) -> None:
    """
    Deploy an app and delete it, with nothing left.
    """
    for template in app.glob("*.template.json"):
        account.prepare(template.read_text())

    account.deployer.deploy(app).checked()
    assert account.sagemaker.list_endpoints()["Endpoints"]
    account.deployer.destroy(app).checked()
    assert account.left() == []


def test_adapters_of_examples_are_of_the_documented_form(assemblies: Path) -> None:
    """
    One archive each (API reference, InferenceComponentContainerSpecification).
    """
    text = "".join((path.read_text()) for path in assemblies.glob("*/*.template.json"))
    found = re.findall(r'"ArtifactUrl": "([^"]+)"', text)

    assert len(found) == 4
    assert all(each.endswith(".tar.gz") for each in found)
