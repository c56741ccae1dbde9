"""
Every example is deployed to the embedded AWS, and deleted again with nothing left.

CloudFormation is called as the CDK CLI calls it, with what the CLI would upload: files
and templates in the bootstrap bucket. The CLI itself is tried in ``tests/local``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.local import EmbeddedAws
from tests.examples.synthesis import EXAMPLES
from tests.secrecy import TOKEN

# These ask the Hub for weights, or AWS for an image: tests/local deploys them, with
# servers of its own.
STAGED = {"compiled_engine", "mirrored_image", "staged_weights"}
NAMES = sorted({app.parent.name for app in EXAMPLES.glob("*/app.py")} - STAGED)
ACCOUNT, REGION = "123456789012", "us-east-1"
BUCKET = f"cdk-hnb659fds-assets-{ACCOUNT}-{REGION}"
SECRET = re.compile(r"{{resolve:secretsmanager:([\w-]+):")
WEIGHTS = re.compile(r"s3://([a-z0-9.-]+)/([^\"\\$]+)")


class Account:
    """
    An account that has what examples refer to and do not make.

    Args:
        aws: The embedded AWS.
    """

    def __init__(self, aws: EmbeddedAws) -> None:
        self._cloudformation = aws.client("cloudformation")
        self._s3 = aws.client("s3")
        self._secrets = aws.client("secretsmanager")
        self.sagemaker = aws.client("sagemaker")
        self.scaling = aws.client("application-autoscaling")
        # What `cdk bootstrap` leaves, as far as a template asks for it.
        self._s3.create_bucket(Bucket=BUCKET)
        version = {"Name": "/cdk-bootstrap/hnb659fds/version", "Value": "30"}
        aws.client("ssm").put_parameter(**version, Type="String")

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

    def deploy(self, assembly: Path, stack: str, template: str) -> str:
        """
        Create a stack as the CDK CLI does; return the status it ends in, and why.
        """
        path = assembly / template
        self.prepare(path.read_text())
        self._upload(
            assembly,
            json.loads(path.with_suffix("").with_suffix(".assets.json").read_text()),
        )
        self._s3.put_object(Bucket=BUCKET, Key=template, Body=path.read_bytes())
        self._cloudformation.create_stack(
            StackName=stack,
            TemplateURL=f"https://{BUCKET}.s3.{REGION}.amazonaws.com/{template}",
            Capabilities=["CAPABILITY_NAMED_IAM"],
        )
        return self._status(stack)

    def delete(self, stack: str) -> str:
        """
        Delete a stack; return the status it ends in, and why.
        """
        (found,) = self._cloudformation.describe_stacks(StackName=stack)["Stacks"]
        self._cloudformation.delete_stack(StackName=stack)
        return self._status(found["StackId"])

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

    def _upload(self, assembly: Path, assets: dict[str, Any]) -> None:
        for asset in assets["files"].values():
            source = assembly / asset["source"]["path"]
            (target,) = asset["destinations"].values()
            if source.is_file():
                body = source.read_bytes()
                self._s3.put_object(Bucket=BUCKET, Key=target["objectKey"], Body=body)

    def _status(self, stack: str) -> str:
        (found,) = self._cloudformation.describe_stacks(StackName=stack)["Stacks"]
        if not found["StackStatus"].startswith(("ROLLBACK", "DELETE_FAILED")):
            return str(found["StackStatus"])
        events = self._cloudformation.describe_stack_events(StackName=stack)
        why = [each.get("ResourceStatusReason", "") for each in events["StackEvents"]]
        return f"{found['StackStatus']}: {[each for each in why if each]}"


@pytest.fixture(name="account", scope="module")
def _account() -> Iterator[Account]:
    with EmbeddedAws(region=REGION) as aws:
        yield Account(aws)


def stacks_of(assembly: Path) -> list[tuple[str, str]]:
    """
    Return the stacks of an assembly with their templates, first what others need.
    """
    artifacts = json.loads((assembly / "manifest.json").read_text())["artifacts"]
    waiting = {
        name: each
        for name, each in artifacts.items()
        if each["type"] == "aws:cloudformation:stack"
    }
    ordered: list[tuple[str, str]] = []
    while waiting:
        name = next(
            name
            for name, each in waiting.items()
            if not waiting.keys() & set(each.get("dependencies", ()))
        )
        given = waiting.pop(name)["properties"]
        ordered.append((given.get("stackName", name), given["templateFile"]))
    return ordered


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_deployed_and_deleted(
    name: str, assemblies: Path, account: Account
) -> None:
    """
    Each stack is created, something is hosted, and nothing of it is left.
    """
    stacks = stacks_of(assemblies / name)

    for stack, template in stacks:
        status = account.deploy(assemblies / name, stack, template)
        assert status == "CREATE_COMPLETE"
    assert account.sagemaker.list_endpoints()["Endpoints"]
    for stack, _ in reversed(stacks):
        assert account.delete(stack) == "DELETE_COMPLETE"
    assert account.left() == []
