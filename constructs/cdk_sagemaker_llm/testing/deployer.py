"""
Deploying an app to an embedded AWS without the CDK CLI: its assembly is handed to
CloudFormation by boto3, as the CLI hands it over.
"""

from __future__ import annotations

import io
import json
import re
import time
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from aws_cdk import App

    from cdk_sagemaker_llm.local import EmbeddedAws
    from cdk_sagemaker_llm.local.aws.untyped import Untyped

_QUALIFIER = "hnb659fds"  # The CDK's own.
_TOOLKIT = "CDKToolkit"
_CAPABILITIES = ["CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]
# Stacks that can only be deleted before they are made again.
_LOST = {"CREATE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "REVIEW_IN_PROGRESS"}
_FAILED = re.compile("FAILED|ROLLBACK")
_LOOK = 0.01  # Seconds between two looks at a stack that is in progress.
_STEP = 10.0  # Seconds that pass between them where time is run by hand.
_PLACE = "cdk-${Qualifier}-%s-${AWS::AccountId}-${AWS::Region}"
# What deployments need of the bootstrap template of the CDK CLI, which goes on from it;
# nobody takes its roles here.
_BOOTSTRAP = {
    "Parameters": {"Qualifier": {"Type": "String"}},
    "Resources": {
        "StagingBucket": {
            "Type": "AWS::S3::Bucket",
            "Properties": {"BucketName": {"Fn::Sub": _PLACE % "assets"}},
        },
        "ContainerAssetsRepository": {
            "Type": "AWS::ECR::Repository",
            "Properties": {"RepositoryName": {"Fn::Sub": _PLACE % "container-assets"}},
        },
        "CdkBootstrapVersion": {
            "Type": "AWS::SSM::Parameter",
            "Properties": {
                "Type": "String",
                "Name": {"Fn::Sub": "/cdk-bootstrap/${Qualifier}/version"},
                "Value": "21",
            },
        },
    },
    "Outputs": {
        "BucketName": {"Value": {"Ref": "StagingBucket"}},
        "BootstrapVersion": {"Value": "21"},
    },
}


@dataclass(frozen=True, kw_only=True)
class DeploymentResult:
    """
    What came of a deployment or a deletion.

    Args:
        succeeded: Whether every stack ended as it should.

        events: What happened, an event a line, as the CDK CLI shows it.

        outputs: The outputs of each stack, by its name.
    """

    succeeded: bool
    events: str
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)

    def checked(self) -> DeploymentResult:
        """
        Return the result itself, so that its outputs can be read on.

        ``deployer.deploy(app).checked().outputs["Chat"]["EndpointName"]``

        Raises:
            AssertionError: If a stack failed; the message has the events.
        """
        if not self.succeeded:
            raise AssertionError(self.events)
        return self


@dataclass(frozen=True, kw_only=True)
class _Stack:
    """
    A stack of an assembly.
    """

    name: str
    template: Path
    assets: Path | None
    tags: dict[str, str]


class Deployer:
    """
    Deploys apps to an embedded AWS, whose account is bootstrapped if it is not yet.

    ``Deployer(aws).deploy(app).checked().outputs["Chat"]["EndpointName"]``

    Stacks are deployed first what others need, and files are uploaded where their
    templates look for them. Container images are not built: the embedded AWS runs none.

    Args:
        aws: The embedded AWS.

        qualifier: The qualifier of the bootstrap. If omitted, it is the CDK's own.

    Raises:
        ValueError: If the account cannot be bootstrapped with that qualifier.
    """

    def __init__(self, aws: EmbeddedAws, qualifier: str = _QUALIFIER) -> None:
        self._aws = aws
        self._cloudformation = aws.client("cloudformation")
        self._s3 = aws.client("s3")
        self._bucket = f"cdk-{qualifier}-assets-{aws.account}-{aws.region}"
        self._bootstrap(qualifier)

    @property
    def bucket(self) -> str:
        """
        The bucket that files are uploaded to.
        """
        return self._bucket

    def deploy(
        self,
        app: App | Path | str,
        *names: str,
        rollback: bool = True,
        parameters: Mapping[str, str] | None = None,
    ) -> DeploymentResult:
        """
        Deploy stacks until one fails.

        Args:
            app: The app, which is synthesised if it is not yet, or the folder of its
                cloud assembly, such as ``cdk.out``.

            names: The stacks, with which go those that they need.
                If omitted, all are deployed, those of stages too.

            rollback: Whether a stack that fails rolls back.

            parameters: The parameters of the stacks. If omitted, their defaults hold.
        """
        events: list[str] = []
        outputs = {}
        for stack in _stacks_of(_assembly_of(app), *names):
            self._upload(stack)
            status, happened = self._apply(stack, parameters or {}, rollback=rollback)
            events += happened
            if _FAILED.search(status):
                events.append(f"{stack.name} {status}")
                return DeploymentResult(succeeded=False, events="\n".join(events))
            outputs[stack.name] = self.outputs(stack.name)
        return DeploymentResult(
            succeeded=True, events="\n".join(events), outputs=outputs
        )

    def destroy(self, app: App | Path | str, *names: str) -> DeploymentResult:
        """
        Delete stacks, last what others need, until one fails.

        Args:
            app: The app, or the folder of its cloud assembly.

            names: The stacks, with which go those that they need.
                If omitted, all are deleted, those of stages too.
        """
        events: list[str] = []
        for stack in reversed(_stacks_of(_assembly_of(app), *names)):
            status, happened = self._delete(stack.name)
            events += happened
            if status not in {"", "DELETE_COMPLETE"}:
                return DeploymentResult(succeeded=False, events="\n".join(events))
        return DeploymentResult(succeeded=True, events="\n".join(events))

    def outputs(self, stack: str) -> dict[str, str]:
        """
        Return the outputs of a stack.

        Args:
            stack: The stack's name.
        """
        outputs = self._found(stack).get("Outputs", [])
        return {one["OutputKey"]: one["OutputValue"] for one in outputs}

    def _bootstrap(self, qualifier: str) -> None:
        toolkit = _TOOLKIT if qualifier == _QUALIFIER else f"{_TOOLKIT}-{qualifier}"
        if self._status(toolkit):
            return
        self._cloudformation.create_stack(
            StackName=toolkit,
            TemplateBody=json.dumps(_BOOTSTRAP),
            Parameters=_written({"Qualifier": qualifier}),
            Capabilities=_CAPABILITIES,
        )
        if self._settled(toolkit) != "CREATE_COMPLETE":
            events = "\n".join(self._events(toolkit, set()))
            raise ValueError(f"qualifier {qualifier!r} cannot be used:\n{events}")

    def _apply(
        self, stack: _Stack, parameters: Mapping[str, str], *, rollback: bool
    ) -> tuple[str, list[str]]:
        status = self._status(stack.name)
        if status in _LOST:
            self._delete(stack.name)
            status = ""
        seen = {event["EventId"] for event in self._raw_events(stack.name)}
        key = f"{stack.name}/{stack.template.name}"
        self._s3.put_object(
            Bucket=self.bucket, Key=key, Body=stack.template.read_bytes()
        )
        request: dict[str, Untyped] = {
            "StackName": stack.name,
            "TemplateURL": f"https://{self.bucket}.s3.{self._aws.region}.amazonaws.com/{key}",
            "Capabilities": _CAPABILITIES,
            "Parameters": _written(parameters),
            "Tags": [{"Key": k, "Value": v} for k, v in stack.tags.items()],
            "DisableRollback": not rollback,
        }
        try:
            if status:
                self._cloudformation.update_stack(**request)
            else:
                self._cloudformation.create_stack(**request)
        except ClientError as refusal:
            message = refusal.response["Error"]["Message"]
            if "No updates are to be performed" in message:
                return "UNCHANGED", [f"{stack.name} (no changes)"]
            return "FAILED", [f"{stack.name} {message}"]
        return self._settled(stack.name), self._events(stack.name, seen)

    def _delete(self, name: str) -> tuple[str, list[str]]:
        if not self._status(name):
            return "", []
        stack_id = self._found(name)["StackId"]
        seen = {event["EventId"] for event in self._raw_events(stack_id)}
        self._cloudformation.delete_stack(StackName=name)
        return self._settled(stack_id), self._events(stack_id, seen)

    def _settled(self, name: str) -> str:
        while (status := self._status(name)).endswith("IN_PROGRESS"):
            if self._aws.is_by_hand:
                self._aws.advance(_STEP)
            else:
                time.sleep(_LOOK)
        return status

    def _status(self, name: str) -> str:
        try:
            return str(self._found(name)["StackStatus"])
        except ClientError as error:
            if "does not exist" not in error.response["Error"]["Message"]:
                raise
            return ""

    def _found(self, name: str) -> Untyped:
        return self._cloudformation.describe_stacks(StackName=name)["Stacks"][0]

    def _events(self, name: str, seen: set[str]) -> list[str]:
        return [
            " | ".join(
                (
                    event["ResourceStatus"],
                    event["ResourceType"],
                    event["LogicalResourceId"]
                    + f" {event.get('ResourceStatusReason', '')}",
                )
            )
            for event in reversed(self._raw_events(name))
            if event["EventId"] not in seen
        ]

    def _raw_events(self, name: str) -> list[Untyped]:
        pages = self._cloudformation.get_paginator("describe_stack_events")
        try:
            return [
                event
                for page in pages.paginate(StackName=name)
                for event in page["StackEvents"]
            ]
        except ClientError:  # There is no such stack yet.
            return []

    def _upload(self, stack: _Stack) -> None:
        if stack.assets is None:
            return
        manifest = json.loads(stack.assets.read_text(encoding="utf-8"))
        for asset in manifest["files"].values():
            source = stack.assets.parent / asset["source"]["path"]
            zipped = asset["source"]["packaging"] == "zip"
            body = _zipped(source) if zipped else source.read_bytes()
            for destination in asset["destinations"].values():
                bucket, key = (
                    self._resolved(destination[name])
                    for name in ("bucketName", "objectKey")
                )
                self._s3.put_object(Bucket=bucket, Key=key, Body=body)

    def _resolved(self, text: str) -> str:
        text = text.replace("${AWS::AccountId}", self._aws.account)
        return text.replace("${AWS::Region}", self._aws.region)


def _assembly_of(app: App | Path | str) -> Path:
    return Path(app if isinstance(app, Path | str) else app.synth().directory)


def _stacks_of(assembly: Path, *names: str) -> list[_Stack]:
    """
    Return the stacks of an assembly and of its stages, first what others need.
    """
    artifacts = json.loads((assembly / "manifest.json").read_text())["artifacts"]
    needs = {key: set(each.get("dependencies", ())) for key, each in artifacts.items()}
    chosen = set(artifacts)
    if names:
        chosen &= set(names)
        while more := {need for key in chosen for need in needs[key]} - chosen:
            chosen |= more
    ordered = [key for key in TopologicalSorter(needs).static_order() if key in chosen]
    return [
        stack for key in ordered for stack in _stacks_in(assembly, key, artifacts[key])
    ]


def _stacks_in(assembly: Path, key: str, artifact: Untyped) -> Iterator[_Stack]:
    properties = artifact.get("properties", {})
    if artifact["type"] == "cdk:cloud-assembly":
        yield from _stacks_of(assembly / properties["directoryName"])
    if artifact["type"] == "aws:cloudformation:stack":
        assets = assembly / f"{key}.assets.json"
        yield _Stack(
            name=properties.get("stackName", key),
            template=assembly / properties["templateFile"],
            assets=assets if assets.exists() else None,
            tags=properties.get("tags", {}),
        )


def _written(parameters: Mapping[str, str]) -> list[dict[str, str]]:
    return [
        {"ParameterKey": key, "ParameterValue": value}
        for key, value in parameters.items()
    ]


def _zipped(folder: Path) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder))
    return written.getvalue()
