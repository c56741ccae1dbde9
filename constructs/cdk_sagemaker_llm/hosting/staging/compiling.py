"""
The job that compiles TensorRT-LLM engines on the instance type that will serve them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam

from cdk_sagemaker_llm._records import dataclass
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.catalog.job_types import (
    JobKind,
    job_kind,
    job_type_like,
    local_storage_gb,
)
from cdk_sagemaker_llm.findings import Finding, Rule, errors_of
from cdk_sagemaker_llm.hosting.access import service_of
from cdk_sagemaker_llm.hosting.arns import own_logs, own_names, partition
from cdk_sagemaker_llm.hosting.image import ServingImage, region_findings
from cdk_sagemaker_llm.hosting.keys import arn_of, key_access
from cdk_sagemaker_llm.hosting.scope import account_of, region_of
from cdk_sagemaker_llm.hosting.staging.places import StagedPlace, short_hash
from cdk_sagemaker_llm.hosting.staging.policies import attach
from cdk_sagemaker_llm.hosting.staging.starter import owner_statements
from cdk_sagemaker_llm.hosting.statements import Statement, prefix_condition
from cdk_sagemaker_llm.hosting.weights import weights_statements
from cdk_sagemaker_llm.models import Compilation, S3Model
from cdk_sagemaker_llm.serving.configuration import Container
from cdk_sagemaker_llm.serving.host import instance_findings
from cdk_sagemaker_llm.serving.lmi.ahead_of_time import (
    command,
    compile_options,
    job_properties,
)
from cdk_sagemaker_llm.serving.lmi.tensorrt_llm import TensorRtLlm
from cdk_sagemaker_llm.staging.wanted import JOBS

if TYPE_CHECKING:
    from aws_cdk import aws_lambda as lambda_
    from aws_cdk import aws_s3 as s3
    from constructs import Construct

    from cdk_sagemaker_llm.hosting.staging.awaiting import Asked

NO_JOB_TYPE = Rule(
    "LLM779",
    "engines are compiled on an instance type that no job can have",
    "SageMaker API reference, ProcessingInstanceType and TrainingInstanceType",
)
NO_HARDWARE = Rule("LLM781", "nothing says which accelerators engines are compiled for")

# The weights, the checkpoint that they are converted to, and the engines.
_COPIES_ON_DISK = 3
_SPARE_GIB = 30
# Where the size is not known: what holds a model of 70 billion parameters.
_UNKNOWN_GIB = 500
_ADDRESS_LENGTH = 20
_STATUSES = ["Completed", "Failed", "Stopped"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CompilePlan:
    """
    What is compiled, on what.

    Args:
        serving: The configuration, with its degree in numbers.

        container: What it starts.

        hardware: The instance type.

        kind: The kind of job.

        compilation: What the engines are bound to.
    """

    serving: TensorRtLlm
    container: Container
    hardware: InstanceType
    kind: JobKind
    compilation: Compilation

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
        return StagedPlace(base=f"{weights.base}-tensorrt-llm-{key}")

    @property
    def word(self) -> str:
        """
        The kind of job as the API's names have it.
        """
        return self.kind.capitalize()

    @property
    def precompiled(self) -> TensorRtLlm:
        """
        The configuration that serves the engines.
        """
        return replace(self.serving, precompiled=True)


def plan_compilation(
    scope: Construct,
    serving: TensorRtLlm,
    hardware: InstanceType | None,
    weights: S3Model,
) -> tuple[CompilePlan | None, list[Finding]]:
    """
    Plan a compilation; return what stands in its way too.
    """
    if hardware is None:
        missing = NO_HARDWARE.finding(
            "instance_type is missing: engines are compiled for one kind of GPU",
            "pass the instance type that will serve them",
        )
        return None, [missing]
    degree = serving.tensor_parallel_degree
    settled = degree if isinstance(degree, int) else hardware.accelerators
    serving = replace(serving, tensor_parallel_degree=settled, precompiled=False)
    prepared = serving.prepare(weights, hardware.accelerators)
    found = list(prepared.findings)
    kind = job_kind(hardware)
    if kind is None:
        found.append(_no_job(hardware))
    container = prepared.container
    if container is not None:
        found += instance_findings(hardware, container.image)
        found += region_findings(region_of(scope), container.image)
    if container is None or kind is None or errors_of(found):
        return None, found
    texts = _texts(container)
    plan = CompilePlan(
        serving=serving,
        container=container,
        hardware=hardware,
        kind=kind,
        compilation=Compilation(
            image=serving.image or container.image.version,
            accelerator_model=hardware.accelerator_model,
            tensor_parallel_degree=settled,
            options=compile_options(texts),
        ),
    )
    return plan, found


def _texts(container: Container) -> dict[str, str]:
    lines = container.files["serving.properties"].decode().splitlines()
    return {key: value for key, _, value in (one.partition("=") for one in lines)}


def _no_job(hardware: InstanceType) -> Finding:
    like = job_type_like(hardware)
    way_out = f"choose {like}" if like else "no job has that accelerator"
    return NO_JOB_TYPE.finding(
        f"{hardware} is neither a type of processing jobs nor of training jobs",
        way_out,
    )


class CompileJob:
    """
    What a job of SageMaker needs: a role that reads weights and writes engines.

    Args:
        scope: Where it is defined.

        plan: What is compiled.

        weights: The weights.

        asked: Where the engines go.
    """

    def __init__(
        self,
        scope: Construct,
        plan: CompilePlan,
        weights: S3Model,
        asked: Asked,
    ) -> None:
        self._scope = scope
        self._plan = plan
        self._weights = weights
        self._asked = asked
        self._bucket = asked.bucket
        self._jobs = asked.place.base + JOBS
        self._objects = f"arn:{partition()}:s3:::{asked.bucket.bucket_name}"
        self.name = scope.node.addr[:_ADDRESS_LENGTH]
        """What the names of its jobs begin with."""
        self._image = ServingImage(scope, plan.container.image, region_of(scope))
        self._role = iam.Role(
            scope,
            "CompileRole",
            assumed_by=service_of("sagemaker", account_of(scope)),
            description="Compiles a model's engines",
        )
        self.access = attach(scope, "CompileAccess", self._role, self._statements())

    def order(self, seconds: int, weight_bytes: int | None) -> dict[str, Any]:
        """
        Return what the function is told to start.
        """
        plan = self._plan
        return {
            "kind": plan.kind,
            "name": self.name,
            "image": self._image.uri,
            "instance_type": str(plan.hardware),
            "role": self._role.role_arn,
            "arguments": command(
                plan.container.image.version, plan.compilation.tensor_parallel_degree
            ),
            "weights": self._weights.uri,
            "properties": job_properties(plan.container.files["serving.properties"]),
            "volume_gib": _volume_gib(weight_bytes, plan.hardware),
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
        Return what the function needs: to start jobs of this name, and to put in place
        what they made.
        """
        word, place = self._plan.word, self._asked.place
        job = f"arn:{partition()}:sagemaker:{_here()}:{word.lower()}-job/{self.name}-*"
        return [
            *owner_statements(self._bucket, place, keeps=self._asked.keeps),
            Statement(
                sid="StartJobs",
                actions=[f"sagemaker:Create{word}Job", f"sagemaker:Describe{word}Job"],
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
        word = self._plan.word
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
        word = self._plan.word
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
            *_encryption(self._bucket),
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
            Statement(
                sid="PublishMetrics",
                actions=["cloudwatch:PutMetricData"],
                resources=["*"],
                wildcard_reason="CloudWatch has no resource to name for metrics",
            ),
        ]


def _encryption(bucket: s3.IBucket) -> list[Statement]:
    if bucket.encryption_key is None:
        return []
    actions = ["kms:Decrypt", "kms:GenerateDataKey"]
    return key_access("EncryptEngines", actions, [arn_of(bucket.encryption_key)])


def _here() -> str:
    _, region, account = own_names()
    return f"{region}:{account}"


def _volume_gib(weight_bytes: int | None, hardware: InstanceType) -> int:
    wanted = (
        _UNKNOWN_GIB
        if weight_bytes is None
        else math.ceil(_COPIES_ON_DISK * weight_bytes / 2**30) + _SPARE_GIB
    )
    # SageMaker API reference, ProcessingClusterConfig: a job cannot ask for more than
    # an instance's own storage, which it has in place of a volume.
    most = local_storage_gb(hardware)
    return wanted if most is None else min(wanted, most)
