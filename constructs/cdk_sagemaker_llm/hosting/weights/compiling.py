"""
The job that compiles a model on the instance type that will serve it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from aws_cdk import Aws
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam

from cdk_sagemaker_llm.catalog.instances import (
    InstanceType,
    JobKind,
    job_kind,
    job_type_like,
    local_storage_gb,
)
from cdk_sagemaker_llm.findings import Finding, Rule, errors_of
from cdk_sagemaker_llm.hosting.common.scope import account_of, region_of
from cdk_sagemaker_llm.hosting.models.image import ServingImage, region_findings
from cdk_sagemaker_llm.hosting.models.model_weights import weights_statements
from cdk_sagemaker_llm.hosting.roles.access import service_of
from cdk_sagemaker_llm.hosting.roles.statements import (
    Statement,
    metrics_statement,
    own_logs,
    partition,
    prefix_condition,
)
from cdk_sagemaker_llm.hosting.weights.starter import (
    StagedPlace,
    attach,
    key_statements,
    owner_statements,
    short_hash,
)
from cdk_sagemaker_llm.models import Compilation, S3Model, weight_bytes_of
from cdk_sagemaker_llm.serving.base import Container
from cdk_sagemaker_llm.serving.images import instance_findings, named_image
from cdk_sagemaker_llm.serving.lmi.ahead_of_time import AheadOfTime, job_properties
from cdk_sagemaker_llm.serving.lmi.neuronx import NeuronX
from cdk_sagemaker_llm.serving.lmi.tensorrt_llm import TensorRtLlm
from cdk_sagemaker_llm.staging.prefix import JOBS

if TYPE_CHECKING:
    from aws_cdk import aws_lambda as lambda_
    from constructs import Construct

    from cdk_sagemaker_llm.hosting.weights.starter import StagingRequest

NO_JOB_TYPE = Rule(
    "LLM779",
    "engines are compiled on an instance type that no job can have",
    "SageMaker API reference, ProcessingInstanceType and TrainingInstanceType",
)
NO_HARDWARE = Rule("LLM781", "nothing says which accelerators engines are compiled for")

SMALL_DISK = Rule(
    "LLM865",
    "engines are compiled where the disk may not hold them",
    "SageMaker API reference, ProcessingClusterConfig and ResourceConfig",
)

# The weights, the checkpoint that they are converted to, and the engines.
_COPIES_ON_DISK = 3
_SPARE_GIB = 30
# Where the size is not known: what holds a model of 70 billion parameters.
_UNKNOWN_GIB = 500
_ADDRESS_LENGTH = 20
_STATUSES = ["Completed", "Failed", "Stopped"]

Compilable = TensorRtLlm | NeuronX
"""What LMI's scripts compile ahead of time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CompilePlan:
    """
    What a job compiles, and on which instance type.

    Args:
        serving: The configuration, with its degree in numbers.
    """

    serving: Compilable
    container: Container
    hardware: InstanceType
    kind: JobKind
    compilation: Compilation

    @property
    def way(self) -> AheadOfTime:
        """
        How it is compiled.
        """
        return self.serving.ahead_of_time

    def place(self, weights: StagedPlace) -> StagedPlace:
        """
        Return where engines go: beside their weights, by all that they are bound to.
        """
        bound = self.compilation
        key = short_hash(
            [
                bound.image,
                bound.accelerator_model,
                bound.tensor_parallel_degree,
                dict(bound.options),
            ]
        )
        return StagedPlace(
            base=f"{weights.base}-{self.way.name}-{key}", home=weights.home
        )

    @property
    def word(self) -> str:
        """
        The kind of job as the API's names have it.
        """
        return self.kind.capitalize()

    @property
    def precompiled(self) -> Compilable:
        """
        The configuration that serves the engines.
        """
        return replace(self.serving, precompiled=True)


def plan_compilation(
    scope: Construct,
    serving: Compilable,
    hardware: InstanceType | None,
    weights: S3Model,
) -> tuple[CompilePlan | None, list[Finding]]:
    """
    Plan a compilation; return what stands in its way too.
    """
    if hardware is None:
        missing = NO_HARDWARE.finding(
            "instance_type is missing, or known only at deployment: a model is "
            "compiled for one kind of accelerator",
            "pass the instance type that will serve them",
        )
        return None, [missing]
    if not hardware.accelerators:
        return None, [_no_job(hardware)]
    refused = serving.compiling_findings()
    serving = serving.compiling(hardware.accelerators)
    prepared = serving.prepare(weights, hardware.accelerators)
    found = [*refused, *prepared.findings]
    kind = job_kind(hardware)
    if kind is None:
        found.append(_no_job(hardware))
    container = prepared.container
    if container is not None:
        found += instance_findings(hardware, container.image)
        found += region_findings(region_of(scope), container.image)
        found += disk_findings(hardware, weight_bytes_of(weights))
    if container is None or kind is None or errors_of(found):
        return None, found
    lines = container.files["serving.properties"].decode().splitlines()
    texts = {key: value for key, _, value in (one.partition("=") for one in lines)}
    plan = CompilePlan(
        serving=serving,
        container=container,
        hardware=hardware,
        kind=kind,
        compilation=Compilation(
            image=named_image(container.image.version, serving.image),
            accelerator_model=hardware.accelerator_model,
            tensor_parallel_degree=int(serving.tensor_parallel_degree or 0),
            options=serving.ahead_of_time.bound_options(texts),
        ),
    )
    return plan, found


def _no_job(hardware: InstanceType) -> Finding:
    if not hardware.accelerators:
        return NO_JOB_TYPE.finding(
            f"a model is compiled on accelerators that serve it, and {hardware} has "
            "none",
            "choose a type with accelerators",
        )
    like = job_type_like(hardware)
    way_out = f"choose {like}" if like else "no job has that accelerator"
    return NO_JOB_TYPE.finding(
        f"{hardware} is neither a type of processing jobs nor of training jobs",
        way_out,
    )


class CompileJob:
    """
    What a job of SageMaker needs: a role that reads weights and writes engines.
    """

    def __init__(
        self,
        scope: Construct,
        plan: CompilePlan,
        weights: S3Model,
        request: StagingRequest,
    ) -> None:
        self._scope = scope
        self.plan = plan
        """What is compiled."""
        self._weights = weights
        self.request = request
        """Where the engines go."""
        self._bucket = request.bucket
        self._jobs = request.place.base + JOBS
        self._objects = f"arn:{partition()}:s3:::{request.bucket.bucket_name}"
        self.name = scope.node.addr[:_ADDRESS_LENGTH]
        """What the names of its jobs begin with."""
        self._image = ServingImage(scope, plan.container.image, region_of(scope))
        self._role = iam.Role(
            scope,
            "CompileRole",
            assumed_by=service_of("sagemaker", account_of(scope)),
            description="Compiles a model's engines",
        )
        self.awaited = self._image.sources()
        """What puts the image in place."""
        self.access = attach(scope, "CompileAccess", self._role, self._statements())

    def order(self, seconds: int, weight_bytes: int | None) -> dict[str, Any]:
        """
        Return the order with which the function starts the job.
        """
        plan = self.plan
        return {
            "kind": plan.kind,
            "name": self.name,
            "image": self._image.uri,
            "instance_type": str(plan.hardware),
            "role": self._role.role_arn,
            "arguments": plan.way.command(
                plan.container.image.version, plan.compilation.tensor_parallel_degree
            ),
            "folder": plan.way.folder,
            "needed": plan.way.needed,
            "weights": self._weights.uri,
            "properties": job_properties(plan.container.files["serving.properties"]),
            "volume_gib": volume_gib_of(plan.hardware, weight_bytes),
            "seconds": seconds,
            "compiled": {
                "image": plan.compilation.image,
                "accelerator_model": plan.compilation.accelerator_model,
                "tensor_parallel_degree": plan.compilation.tensor_parallel_degree,
                "options": dict(plan.compilation.options),
            },
        }

    def starter_statements(self) -> list[Statement]:
        """
        Return what the function needs: to start and stop jobs of this name, and to put
        in place what they made.
        """
        word, place = self.plan.word, self.request.place
        here = f"arn:{partition()}:sagemaker:{Aws.REGION}:{Aws.ACCOUNT_ID}"
        job = f"{here}:{word.lower()}-job/{self.name}-*"
        return [
            *owner_statements(self._bucket, place),
            Statement(
                sid="StartJobs",
                actions=[
                    f"sagemaker:{verb}{word}Job"
                    for verb in ("Create", "Describe", "Stop")
                ],
                resources=[job],
                wildcard_reason="each job has a name of its own",
            ),
            Statement(
                sid="PassRole",
                actions=["iam:PassRole"],
                resources=[self._role.role_arn],
                conditions={
                    "StringEquals": {"iam:PassedToService": ["sagemaker.amazonaws.com"]}
                },
            ),
            Statement(
                sid="PlaceEngines",
                actions=[
                    "s3:AbortMultipartUpload",
                    "s3:DeleteObject",
                    "s3:GetObject",
                    "s3:PutObject",
                ],
                resources=[
                    f"{self._objects}/{self._jobs}*",
                    f"{self._objects}/{place.prefix}*",
                    f"{self._objects}/{place.manifest}",
                ],
                wildcard_reason="engines are many files, one for each device",
            ),
            Statement(
                sid="ListJobs",
                actions=["s3:ListBucket"],
                resources=[self._objects],
                conditions=prefix_condition(f"{self._jobs}*"),
            ),
        ]

    def watch(self, starter: lambda_.IFunction) -> events.Rule:
        """
        Let the function know of jobs that ended.
        """
        word = self.plan.word
        return events.Rule(
            self._scope,
            "JobEnded",
            description="Tells a stack of a job that ended",
            event_pattern=events.EventPattern(
                source=["aws.sagemaker"],
                detail_type=[f"SageMaker {word} Job State Change"],
                detail={
                    f"{word}JobName": [{"prefix": f"{self.name}-"}],
                    f"{word}JobStatus": _STATUSES,
                },
            ),
            targets=[targets.LambdaFunction(starter)],
        )

    def _statements(self) -> list[Statement]:
        word = self.plan.word
        logs = f"{own_logs()}:/aws/sagemaker/{word}Jobs"
        key = S3Model.from_bucket(self._bucket, self._jobs)
        return [
            *self._image.pull_statements(),
            *weights_statements(self._weights),
            *weights_statements(key),
            Statement(
                sid="WriteEngines",
                actions=["s3:AbortMultipartUpload", "s3:PutObject"],
                resources=[f"{self._objects}/{self._jobs}*"],
                wildcard_reason="engines are many files, one for each device",
            ),
            *key_statements("EncryptEngines", self._bucket),
            Statement(
                sid="LogJobs",
                actions=[
                    "logs:CreateLogGroup",
                    "logs:CreateLogStream",
                    "logs:DescribeLogStreams",
                    "logs:PutLogEvents",
                ],
                resources=[logs, f"{logs}:*"],
                wildcard_reason="SageMaker names the streams after the job",
            ),
            metrics_statement(),
        ]


def volume_gib_of(hardware: InstanceType, weight_bytes: int | None) -> int:
    """
    Return the size of the volume that a job asks for.

    A job on a type with local storage is refused if it asks for more than that has
    (SageMaker API reference, ProcessingClusterConfig and ResourceConfig).
    """
    needed = _needed_gib(weight_bytes)
    local = local_storage_gb(hardware)
    return min(needed, local) if local else needed


def disk_findings(hardware: InstanceType, weight_bytes: int | None) -> list[Finding]:
    """
    Check that what is known of a model has room where it is compiled.
    """
    local, needed = local_storage_gb(hardware), _needed_gib(weight_bytes)
    if weight_bytes is None or not local or needed <= local:
        return []
    return [
        SMALL_DISK.finding(
            f"compiling may take {needed} GiB of disk, and the local storage of "
            f"{hardware} has {local} GB",
            "compile on a larger type of the same GPU, with the same degree",
        )
    ]


def _needed_gib(weight_bytes: int | None) -> int:
    if weight_bytes is None:
        return _UNKNOWN_GIB
    return math.ceil(_COPIES_ON_DISK * weight_bytes / 2**30) + _SPARE_GIB
