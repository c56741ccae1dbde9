"""
What two linters of IAM policies say of templates: parliament and cloudsplaining.

Both are in checkov's environment, where ``program.py`` runs. A policy is linted as it
will be: with plausible ARNs where a template has references.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.cli.app.assembly import Stack, read_stacks
from cdk_sagemaker_llm.cli.app.intrinsics import resolve
from cdk_sagemaker_llm.permissions import pasted

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-checkov" / "bin" / "python"
_KNOWN = {
    "AWS::Partition": "aws",
    "AWS::Region": "us-east-1",
    "AWS::AccountId": "111111111111",
}
# An account that is looked up by the region, and what else is not known.
_MAPPED = re.compile(r"(?<=:)\$\{[^}]*\}(?=:)")
_OPEN = re.compile(r"\$\{[^}]*\}")
_HERE = "us-east-1:111111111111"
# What stands for a reference to a resource, and to anything else.
_ARNS = {
    "AWS::SageMaker::Endpoint": f"arn:aws:sagemaker:{_HERE}:endpoint/it",
    "AWS::SageMaker::EndpointConfig": f"arn:aws:sagemaker:{_HERE}:endpoint-config/it",
    "AWS::SageMaker::InferenceComponent": (
        f"arn:aws:sagemaker:{_HERE}:inference-component/it"
    ),
    "AWS::CodeBuild::Project": f"arn:aws:codebuild:{_HERE}:project/it",
    "AWS::ECR::Repository": f"arn:aws:ecr:{_HERE}:repository/it",
    "AWS::IAM::Role": "arn:aws:iam::111111111111:role/it",
    "AWS::KMS::Key": f"arn:aws:kms:{_HERE}:key/0f2a",
    "AWS::Logs::LogGroup": f"arn:aws:logs:{_HERE}:log-group:it:*",
    "AWS::SecretsManager::Secret": f"arn:aws:secretsmanager:{_HERE}:secret:it-a1b2c3",
    "AWS::SNS::Topic": f"arn:aws:sns:{_HERE}:it",
}
_ELSEWHERE = _ARNS["AWS::SageMaker::Endpoint"]
_INTERFACES = (
    "SageMaker makes the interfaces in the subnets that it is given, and its guide "
    "names no resource to limit that to (host-vpc)"
)
_OF_LAMBDA = (
    "Lambda makes the interfaces of a function in a VPC, which do not exist before: "
    "its guide names no resource (configuration-vpc); the function is the example's"
)
ARGUED: Mapping[tuple[str, str, str], str] = {
    ("parliament", "UNKNOWN_ACTION", "sagemaker:CallWithBearerToken"): (
        "the action is newer than parliament's list of 2025; the guide's page on "
        "OpenAI-compatible APIs and AmazonSageMakerJobRuntimeAccess have it"
    ),
    (
        "parliament",
        "RESOURCE_STAR",
        (
            "['ec2:CreateNetworkInterface', 'ec2:CreateNetworkInterfacePermission', "
            "'ec2:DeleteNetworkInterface']"
        ),
    ): _INTERFACES,
    (
        "parliament",
        "RESOURCE_STAR",
        (
            "['ec2:AssignPrivateIpAddresses', 'ec2:CreateNetworkInterface', "
            "'ec2:DeleteNetworkInterface', 'ec2:UnassignPrivateIpAddresses']"
        ),
    ): _OF_LAMBDA,
    (
        "parliament",
        "RESOURCE_STAR",
        "['application-autoscaling:RegisterScalableTarget']",
    ): (
        "a target's ARN ends in an id that registering makes, and lists differ in "
        "whether the action takes one: conditions limit it to one number of SageMaker's"
    ),
    ("cloudsplaining", "credentials_exposure", "ecr:GetAuthorizationToken"): (
        "the login to a registry is no more than the image's pull needs, and has no "
        "resource to name"
    ),
    **{
        ("cloudsplaining", "infrastructure_modification", f"ec2:{action}"): _OF_LAMBDA
        for action in ("AssignPrivateIpAddresses", "UnassignPrivateIpAddresses")
    },
    **{
        ("cloudsplaining", "infrastructure_modification", f"ec2:{action}"): _INTERFACES
        for action in (
            "CreateNetworkInterface",
            "CreateNetworkInterfacePermission",
            "DeleteNetworkInterface",
            "DeleteNetworkInterfacePermission",
        )
    },
    **{
        (
            "cloudsplaining",
            "permissions_management_without_constraints",
            f"ec2:{action}",
        ): _INTERFACES
        for action in (
            "CreateNetworkInterfacePermission",
            "DeleteNetworkInterfacePermission",
        )
    },
}
"""Why a finding stays, by linter, issue and what is found."""


@dataclass(frozen=True, order=True, slots=True)
class Found:
    """
    What a linter has found.
    """

    app: str
    policy: str
    linter: str
    issue: str
    detail: str

    @property
    def argument(self) -> str | None:
        """
        Why it stays; ``None`` if nobody has said so.
        """
        return ARGUED.get((self.linter, self.issue, self.detail))


def documents(assembly: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """
    Return every identity policy of an app with its place.
    """
    stacks = read_stacks(assembly)
    kinds = {
        f"{stack.name}/{name}": str(resource.get("Type"))
        for stack in stacks
        for name, resource in stack.resources.items()
    }
    for stack in stacks:
        for kind in ("Policy", "ManagedPolicy"):
            for name, properties in stack.of_type(kind, "IAM"):
                yield f"{stack.name}/{name}", _filled(stack, properties, kinds)
        for name, properties in stack.of_type("Role", "IAM"):
            for each in properties.get("Policies", ()):
                yield f"{stack.name}/{name}", _filled(stack, each, kinds)


def lint(apps: Iterable[Path]) -> list[Found]:
    """
    Return all that is found in some apps, which end in their names.
    """
    places = [(app.name, *each) for app in apps for each in documents(app)]
    done = subprocess.run(
        [PYTHON, Path(__file__).with_name("program.py")],
        input=json.dumps([document for *_, document in places]),
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout)
    return sorted(
        Found(app, policy, *each)
        for (app, policy, _), found in zip(places, told, strict=True)
        for each in found
    )


def _filled(
    stack: Stack, properties: Mapping[str, Any], kinds: Mapping[str, str]
) -> dict[str, Any]:
    document: dict[str, Any] = _with_arns(stack, properties["PolicyDocument"], kinds)
    return document


def _with_arns(stack: Stack, value: Any, kinds: Mapping[str, str]) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, list):
        return [_with_arns(stack, each, kinds) for each in value]
    if not isinstance(value, Mapping):
        return value
    if "Fn::Join" in value or "Fn::Sub" in value:
        text = pasted(value, _KNOWN)
        return _OPEN.sub("it", _MAPPED.sub(_KNOWN["AWS::AccountId"], text))
    if len(value) == 1 and next(iter(value)).startswith(("Ref", "Fn::")):
        kind = kinds.get(resolve(stack, value) or "", "")
        return _ARNS.get(kind, _ELSEWHERE)
    return {key: _with_arns(stack, each, kinds) for key, each in value.items()}
