"""
The build that brings a model from the Hub into a bucket, and how it is handed the Hub's
token: by the secret's name, never by its value.

It runs the package ``staging``, which is shipped with the versions that it needs.
"""

from __future__ import annotations

import functools
import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aws_cdk import (
    Acknowledgment,
    AssetHashType,
    Aws,
    RemovalPolicy,
    SecretValue,
    Token,
    Validations,
)
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from cdk_sagemaker_llm import staging
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.scope import account_of, stack_of
from cdk_sagemaker_llm.hosting.models.artifact import content_hash
from cdk_sagemaker_llm.hosting.roles.access import service_of
from cdk_sagemaker_llm.hosting.roles.network import Network
from cdk_sagemaker_llm.hosting.roles.statements import (
    Statement,
    arn_of,
    key_access,
    partition,
    prefix_condition,
)
from cdk_sagemaker_llm.hosting.weights.starter import (
    attach,
    key_statements,
    queued_minutes_of,
)

if TYPE_CHECKING:
    from aws_cdk import aws_ec2 as ec2
    from aws_cdk import aws_s3 as s3
    from aws_cdk import aws_secretsmanager as secretsmanager

    from cdk_sagemaker_llm.hosting.weights.starter import StagedPlace
    from cdk_sagemaker_llm.models import HuggingFaceModel

_PYTHON = "3.12"

REQUIREMENTS_FILE = "requirements.txt"
_INSTALL = (
    "python3 -m pip install --quiet --require-hashes --only-binary :all: "
    f"--requirement {REQUIREMENTS_FILE}"
)
# CodeBuild user guide, build-env-ref-compute-types. Those of Lambda stop after 15
# minutes, and have 10 GB of disk.
COMPUTE_TYPES = {
    codebuild.ComputeType.SMALL: "BUILD_GENERAL1_SMALL",
    codebuild.ComputeType.MEDIUM: "BUILD_GENERAL1_MEDIUM",
    codebuild.ComputeType.LARGE: "BUILD_GENERAL1_LARGE",
    codebuild.ComputeType.X_LARGE: "BUILD_GENERAL1_XLARGE",
    codebuild.ComputeType.X2_LARGE: "BUILD_GENERAL1_2XLARGE",
}
_PLAIN, _SECRET = "PLAINTEXT", "SECRETS_MANAGER"

Variable = codebuild.CfnProject.EnvironmentVariableProperty
_PACKAGE = "cdk_sagemaker_llm"

OTHER_TOKEN = Rule(
    "LLM767",
    "a token of a staged model is not in Secrets Manager",
    "CodeBuild API reference, EnvironmentVariable",
)
_REFERENCE = re.compile(
    r"\{\{resolve:secretsmanager:(?P<secret>arn:[^{}]*?:secret:[^:{}]+|[^:{}]+)"
    r"(?::SecretString:(?P<key>[^:{}]*):(?P<stage>[^:{}]*):(?P<version>[^:{}]*))?\}\}"
)

_ENDING = re.compile(r"-[A-Za-z0-9]{6}$")
# Stands for a reference while the text around it is read.
_HOLE = "\0"


class RunsBuild:
    """
    What a construct that runs a build shows of it.
    """

    _build: Build

    @property
    def project_name(self) -> str:
        """
        The name of CodeBuild's project, whose builds and their logs its page shows.
        """
        return self._build.project.ref

    @property
    def grant_principal(self) -> iam.IPrincipal:
        """
        The build's role, so that what it reads from may let it in.
        """
        return self._build.role.grant_principal

    @property
    def connections(self) -> ec2.Connections:
        """
        The build's security groups, where it runs in a VPC.
        """
        return self._build.network.connections


class Build:
    """
    A project of CodeBuild with a role and a log group of its own.

    What the CDK's own project lets its role do is more than this one needs: the whole
    bucket of assets, and every log group of its name.
    """

    def __init__(
        self, scope: Construct, work: BuildWork, worker: s3_assets.Asset
    ) -> None:
        self.role = iam.Role(
            scope,
            "BuildRole",
            assumed_by=service_of("codebuild", account_of(scope)),
            description=work.title,
        )
        self._log = logs.LogGroup(
            scope,
            "BuildLog",
            retention=logs.RetentionDays.THREE_MONTHS,
            removal_policy=RemovalPolicy.DESTROY,
        )
        statements = [*_own_statements(worker, self._log), *work.statements]
        self.access = attach(scope, "BuildAccess", self.role, statements)
        self.network = work.network.with_security_group(scope)
        self.project = self._make(scope, work, worker)
        # CodeBuild looks at the VPC with the role when the project is made; what lets
        # it pull an image is a policy of the role's own.
        pulling = self.role.node.try_find_child("DefaultPolicy")
        policies = [self.access] if pulling is None else [self.access, pulling]
        self.project.node.add_dependency(*policies, *self.network.ways_out())
        Validations.of(self.project).acknowledge(
            Acknowledgment(
                id="AwsSolutions-CB4",
                reason="the build has no artifacts that a key could encrypt",
            )
        )

    def _registry_credential(
        self, image: codebuild.IBuildImage
    ) -> codebuild.CfnProject.RegistryCredentialProperty | None:
        secret = image.secrets_manager_credentials
        if secret is None:
            return None
        secret.grant_read(self.role)
        return codebuild.CfnProject.RegistryCredentialProperty(
            credential=secret.secret_full_arn or secret.secret_name,
            credential_provider="SECRETS_MANAGER",
        )

    def _make(
        self, scope: Construct, work: BuildWork, worker: s3_assets.Asset
    ) -> codebuild.CfnProject:
        image = work.build_image or codebuild.LinuxBuildImage.AMAZON_LINUX_2023_5
        if image.repository is not None:
            image.repository.grant_pull(self.role)
        puller = image.image_pull_principal_type
        is_awss = puller is codebuild.ImagePullPrincipalType.CODEBUILD
        return codebuild.CfnProject(
            scope,
            "Build",
            description=work.title,
            service_role=self.role.role_arn,
            source=codebuild.CfnProject.SourceProperty(
                type="S3",
                location=f"{worker.s3_bucket_name}/{worker.s3_object_key}",
                build_spec=json.dumps(_build_spec(work), indent=1),
            ),
            artifacts=codebuild.CfnProject.ArtifactsProperty(type="NO_ARTIFACTS"),
            environment=codebuild.CfnProject.EnvironmentProperty(
                type=image.type,
                image=image.image_id,
                image_pull_credentials_type="CODEBUILD" if is_awss else "SERVICE_ROLE",
                registry_credential=self._registry_credential(image),
                compute_type=COMPUTE_TYPES[work.compute_type],
                environment_variables=list(work.variables),
            ),
            timeout_in_minutes=work.minutes,
            queued_timeout_in_minutes=queued_minutes_of(work.minutes * 60),
            logs_config=codebuild.CfnProject.LogsConfigProperty(
                cloud_watch_logs=codebuild.CfnProject.CloudWatchLogsConfigProperty(
                    status="ENABLED", group_name=self._log.log_group_name
                )
            ),
            vpc_config=_vpc_config(self.network),
        )


def model_work(
    *,
    bucket: s3.IBucket,
    place: StagedPlace,
    token: BuildToken | None,
    minutes: int,
    compute_type: codebuild.ComputeType,
    hub_url: str | None,
    build_image: codebuild.IBuildImage | None,
    network: Network,
) -> BuildWork:
    """
    Return what brings a model from the Hub, or from the mirror at ``hub_url``.
    """
    # What is downloaded is nobody's business.
    variables = [Variable(name="HF_HUB_DISABLE_TELEMETRY", value="1", type=_PLAIN)]
    if hub_url is not None:
        variables.append(Variable(name="HF_ENDPOINT", value=hub_url, type=_PLAIN))
    if token is not None:
        variables.append(Variable(name="HF_TOKEN", value=token.value, type=_SECRET))
    return BuildWork(
        title="Brings one revision of a model into a bucket",
        module="cdk_sagemaker_llm.staging",
        install=_INSTALL,
        statements=[
            *_writing_statements(bucket, place),
            *(token.statements if token else ()),
            *network.access_statements(),
        ],
        variables=variables,
        minutes=minutes,
        compute_type=compute_type,
        build_image=build_image,
        network=network,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildWork:
    """
    What a build does, and where.

    Args:
        build_image: The image; ``None`` for AWS's own.
    """

    title: str
    module: str
    install: str
    statements: Sequence[Statement]
    variables: Sequence[Variable]
    minutes: int
    compute_type: codebuild.ComputeType
    build_image: codebuild.IBuildImage | None
    network: Network


def worker_asset(scope: Construct, id: str) -> s3_assets.Asset:
    """
    Make the asset that builds and the function run; its hash is of its contents.
    """
    files = _worker_files()
    with tempfile.TemporaryDirectory() as folder:
        for name, contents in files.items():
            target = Path(folder) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(contents)
        return s3_assets.Asset(
            scope,
            id,
            path=folder,
            asset_hash=content_hash(files),
            asset_hash_type=AssetHashType.CUSTOM,
            display_name=f"{scope.node.path} staging worker",
        )


def _own_statements(worker: s3_assets.Asset, log: logs.LogGroup) -> Sequence[Statement]:
    bucket = f"arn:{partition()}:s3:::{worker.s3_bucket_name}"
    return [
        Statement(
            sid="ReadWorker",
            actions=["s3:GetObject", "s3:GetObjectVersion"],
            resources=[f"{bucket}/{worker.s3_object_key}"],
        ),
        Statement(
            sid="LocateWorker", actions=["s3:GetBucketLocation"], resources=[bucket]
        ),
        Statement(
            sid="LogBuilds",
            actions=["logs:CreateLogStream", "logs:PutLogEvents"],
            resources=[log.log_group_arn],
        ),
    ]


def _build_spec(work: BuildWork) -> dict[str, object]:
    install = {
        "runtime-versions": {"python": _PYTHON},
        **({"commands": [work.install]} if work.install else {}),
    }
    build = {"commands": [f"python3 -m {work.module}"]}
    # An image of the user's own has what the worker needs: no registry is asked.
    phases = {} if work.build_image is not None else {"install": install}
    return {"version": "0.2", "phases": {**phases, "build": build}}


def _vpc_config(network: Network) -> codebuild.CfnProject.VpcConfigProperty | None:
    if network.vpc is None:
        return None
    return codebuild.CfnProject.VpcConfigProperty(
        vpc_id=network.vpc.vpc_id,
        subnets=network.subnet_ids(),
        security_group_ids=network.security_group_ids(),
    )


def _writing_statements(bucket: s3.IBucket, place: StagedPlace) -> list[Statement]:
    arn = f"arn:{partition()}:s3:::{bucket.bucket_name}"
    return [
        Statement(
            sid="WriteWeights",
            # GetObject lets it see what is there already, and AbortMultipartUpload
            # leaves no parts behind.
            actions=["s3:AbortMultipartUpload", "s3:GetObject", "s3:PutObject"],
            resources=[f"{arn}/{place.prefix}*", f"{arn}/{place.manifest}"],
            wildcard_reason="a model is many files, named by its repository",
        ),
        # Without it S3 answers 403 in place of 404 where a key is not there.
        Statement(
            sid="FindWeights",
            actions=["s3:ListBucket"],
            resources=[arn],
            conditions=prefix_condition(f"{place.prefix}*", place.manifest),
        ),
        *key_statements("EncryptWeights", bucket),
    ]


@functools.cache
def _worker_files() -> Mapping[str, bytes]:
    source = Path(staging.__path__[0])
    modules = {
        f"{_PACKAGE}/staging/{path.name}": path.read_bytes()
        for path in sorted(source.glob("*.py"))
    }
    return {
        # Without it another copy of the library, where there is one, would be taken.
        f"{_PACKAGE}/__init__.py": b"",
        REQUIREMENTS_FILE: (source / REQUIREMENTS_FILE).read_bytes(),
        **modules,
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildToken:
    """
    A token as a build is given it.

    Args:
        value: What a variable of the type SECRETS_MANAGER has: secret, key, stage and
            version, with colons between them.
    """

    value: str
    statements: tuple[Statement, ...]


def token_of(scope: Construct, model: HuggingFaceModel) -> BuildToken | None:
    """
    Return a model's token; ``None`` if it has none, or one that no build can read.
    """
    token = model.token
    if token is None:
        return None
    if isinstance(token, SecretValue):
        return _referred(scope, token)
    return BuildToken(value=token.secret_arn, statements=_statements(token))


def token_findings(scope: Construct, model: HuggingFaceModel) -> list[Finding]:
    """
    Check that a build can read a model's token.
    """
    if model.token is None or token_of(scope, model) is not None:
        return []
    return [
        OTHER_TOKEN.finding(
            "token must be a secret of Secrets Manager, whose name is known at synth",
            "pass a Secret, or SecretValue.secrets_manager('name')",
        )
    ]


def _referred(scope: Construct, token: SecretValue) -> BuildToken | None:
    written = stack_of(scope).resolve(token.unsafe_unwrap())
    if not isinstance(written, str):
        return _joined(written)
    found = _REFERENCE.fullmatch(written)
    if found is None:
        return None
    arn = secret = found["secret"]
    if not secret.startswith("arn:"):
        place = f"arn:{partition()}:secretsmanager:{Aws.REGION}:{Aws.ACCOUNT_ID}"
        arn = f"{place}:secret:{secret}-??????"
    elif not _ENDING.search(secret):
        arn = f"{secret}-??????"
    return BuildToken(value=_value(secret, found), statements=(_read(arn),))


def _value(secret: str, found: re.Match[str]) -> str:
    parts = [secret, *(found[name] or "" for name in ("key", "stage", "version"))]
    return ":".join(parts).rstrip(":")


def _joined(written: object) -> BuildToken | None:
    """
    Return a field of a secret that is itself a reference, such as
    ``secret.secret_value_from_json("token")``: CloudFormation joins the parts.
    """
    parts = written.get("Fn::Join", ["", []])[1] if isinstance(written, dict) else []
    # A reference stands for an ARN as a whole, or for a part of one.
    text = "".join(part if isinstance(part, str) else _HOLE for part in parts)
    found = _REFERENCE.fullmatch(text)
    if found is None:
        return None
    filled = iter([part for part in parts if not isinstance(part, str)])

    def fill(template: str) -> str:
        first, *others = template.split(_HOLE)
        return first + "".join(
            Token.as_string(next(filled)) + other for other in others
        )

    secret = fill(found["secret"])
    # The ARN of a secret that is looked up by its name lacks the characters at its end.
    is_whole = found["secret"] == _HOLE
    read = _read(secret if is_whole else f"{secret}-??????")
    return BuildToken(value=_value(secret, found), statements=(read,))


def _read(arn: str) -> Statement:
    return Statement(
        sid="ReadToken",
        actions=["secretsmanager:GetSecretValue"],
        resources=[arn],
        wildcard_reason="a secret's ARN ends with six characters that nobody chooses",
    )


def _statements(secret: secretsmanager.ISecret) -> tuple[Statement, ...]:
    # An imported secret may be known without the six characters that end its ARN.
    read = _read(secret.secret_full_arn or f"{secret.secret_arn}-??????")
    if secret.encryption_key is None:
        return (read,)
    keys = [arn_of(secret.encryption_key)]
    return (read, *key_access("DecryptToken", ["kms:Decrypt"], keys))
