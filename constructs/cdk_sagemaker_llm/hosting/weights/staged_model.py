"""
A model that is brought from the Hugging Face Hub into a bucket, once, at deployment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict, Unpack

import jsii
from aws_cdk import Annotations, Duration, RemovalPolicy
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.hosting.common.reporting import annotate, checked, report
from cdk_sagemaker_llm.hosting.common.scope import Connectable, belongs
from cdk_sagemaker_llm.hosting.roles.network import Network
from cdk_sagemaker_llm.hosting.variants.instance_types import hardware_findings
from cdk_sagemaker_llm.hosting.weights.build import (
    Build,
    RunsBuild,
    model_work,
    token_findings,
    token_of,
    worker_asset,
)
from cdk_sagemaker_llm.hosting.weights.compiling import CompileJob, plan_compilation
from cdk_sagemaker_llm.hosting.weights.staging_checks import (
    staging_findings,
    timeout_of,
    type_findings,
)
from cdk_sagemaker_llm.hosting.weights.starter import (
    MARGIN_SECONDS,
    StagingRequest,
    Starter,
    await_staged,
    minutes_of,
    owner_statements,
    place_of,
    start_statements,
    waited_seconds_of,
    watch_builds,
)
from cdk_sagemaker_llm.models import HuggingFaceModel, S3Model, kind_of, weight_bytes_of
from cdk_sagemaker_llm.serving.lmi.neuronx import NeuronX
from cdk_sagemaker_llm.serving.lmi.tensorrt_llm import TensorRtLlm
from cdk_sagemaker_llm.text import counted

if TYPE_CHECKING:
    from aws_cdk import aws_cloudwatch as cloudwatch
    from aws_cdk import aws_s3 as s3

_GB = 1e9


class BuildMetricOptions(TypedDict, total=False):
    """
    How a metric of builds is to be read; each may be omitted.

    Args:
        statistic: One of the metric's valid statistics, such as ``Average`` or ``p99``.

        period: The time that one value stands for; five minutes if omitted.

        label: Its name in a graph.

        color: Its colour in a graph, such as ``#1f77b4``.
    """

    statistic: str
    period: Duration
    label: str
    color: str


@jsii.implements(iam.IGrantable, Connectable)
class StagedModel(RunsBuild, Construct):
    """
    One revision of a model in a bucket of yours, put there by the deployment.

    The endpoint then needs no token and no way to the Hub. A build of CodeBuild
    downloads what is not there yet, several files at once, holds each against the
    Hub's hash, and writes a manifest last; the stack waits for it, twelve hours at
    most, and models that read the weights are made after it. What a failed deployment
    brought stays, and the next one goes on from there. Stacks that stage the same
    revision in the same bucket share it.

    ``weights = StagedModel(self, "Weights", bucket=bucket,``
    ``    model=HuggingFaceModel("org/name", revision="<commit>", token=secret))``
    ``LlmEndpoint(self, "Endpoint", model=weights.model, ...)``

    Args:
        model: The model, with the commit that is wanted as its revision.

        bucket:
            Where the weights go, in the endpoint's region.
            It should be of another stack: one that is rolled back takes its own
            bucket with it, or leaves it without an owner.

        folder: The beginning of the keys.

        include:
            Patterns of the files that are wanted, such as ``*.safetensors``; each must
            match a file.
            If omitted, weights are taken as safetensors where there are any, never as
            pickles, with all small files.

        exclude: Patterns of files that are not.

        compile:
            How TensorRT-LLM engines, or graphs of NeuronX, are compiled from the
            weights, once they are there, by LMI's own script in the image that will
            serve them. Serve ``model`` with ``serving``.
            If omitted, nothing is compiled.

        instance_type:
            The type that is compiled on: the one that will serve, or another of the
            same accelerator where no job can have that.

        removal_policy:
            What becomes of the weights when no stack wants them any more: ``DESTROY``
            removes them. A download that never finished stays, to be gone on with.
            If omitted, they are kept.

        timeout:
            How long the build may take, and the job that compiles, each, from 5
            minutes to 11 and a half hours.
            If omitted, four times what the download may take at 50 MB/s, an hour at
            least, and all of it where the size is not known.

        compute_type:
            The build's machine, whose disk holds the files that are on their way: eight
            at a time, 128 GB with ``LARGE``, 824 GB with ``X2_LARGE`` (CodeBuild user
            guide, build-env-ref-compute-types).
            If omitted, it is ``LARGE``.

        hub_url:
            The address of a mirror of the Hub.
            If omitted, it is the Hub.

        build_image:
            An image with Python 3.11 or later, ``boto3`` and ``huggingface_hub`` in
            it, where no package registry can be reached.
            If omitted, AWS's own, and both are installed by their hashes.

        network:
            The VPC that the build runs in; it needs a way to S3 and to the Hub.
            If omitted, it is CodeBuild's own network.

    Raises:
        ValueError: If the revision is no commit, or what else could not be staged; all
            reasons at once.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        model: HuggingFaceModel,
        bucket: s3.IBucket,
        folder: str = "models",
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        compile: TensorRtLlm | NeuronX | None = None,
        instance_type: str | InstanceType | None = None,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
        timeout: Duration | None = None,
        compute_type: codebuild.ComputeType = codebuild.ComputeType.LARGE,
        hub_url: str | None = None,
        build_image: codebuild.IBuildImage | None = None,
        network: Network | None = None,
    ) -> None:
        findings = [
            *staging_findings(
                scope,
                model=model,
                bucket=bucket,
                folder=folder,
                patterns=[*include, *exclude],
                timeout=timeout,
                network=network,
                compute_type=compute_type,
                hub_url=hub_url,
                build_image=build_image,
            ),
            *type_findings(compile, instance_type),
            *token_findings(scope, model),
        ]
        report(scope, id, findings)
        place = place_of(model, folder, include, exclude)
        weights = S3Model.from_bucket(bucket, place.prefix, architecture=kind_of(model))
        compiled = None
        if compile is not None:
            hardware, unknown = hardware_findings(instance_type)
            report(scope, id, unknown)
            compiled, found = plan_compilation(scope, compile, hardware, weights)
            findings += found
            report(scope, id, found)
        super().__init__(scope, id)
        belongs(self, scope)
        self.bucket = bucket
        """Where the weights are."""
        seconds = timeout_of(model, timeout)
        work = model_work(
            bucket=bucket,
            place=place,
            token=token_of(self, model),
            minutes=seconds // 60,
            compute_type=compute_type,
            hub_url=hub_url,
            build_image=build_image,
            network=network or Network(),
        )
        request = StagingRequest(
            step="Download",
            bucket=bucket,
            place=place,
            keeps=removal_policy is not RemovalPolicy.DESTROY,
            order={
                "model_id": model.model_id,
                "revision": model.revision,
                "bucket": bucket.bucket_name,
                "prefix": place.prefix,
                "manifest": place.manifest,
                "include": list(include),
                "exclude": list(exclude),
            },
            seconds=waited_seconds_of(seconds),
        )
        worker = worker_asset(self, "Worker")
        self._build = Build(self, work, worker)
        job = None
        if compiled is not None:
            engines = replace(
                request,
                step="Compile",
                place=compiled.place(place),
                seconds=seconds + MARGIN_SECONDS,
            )
            job = CompileJob(self, compiled, weights, engines)
        self._write(Starter(self, worker), request, weights, job)
        if job is not None:
            self._compile(job, seconds, weight_bytes_of(model))
        annotate(self, findings)
        self._tell(model)

    @property
    def s3_uri(self) -> str:
        """
        The prefix of the weights.
        """
        return self.model.uri

    @property
    def manifest_uri(self) -> str:
        """
        The list of the files with their sizes and hashes, which is written last.
        """
        return f"s3://{self.bucket.bucket_name}/{self._manifest}"

    def metric_duration(
        self, **options: Unpack[BuildMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Return how long builds take, in seconds: their average.
        """
        return self._metric("Duration", "Average", options)

    def metric_failed_builds(
        self, **options: Unpack[BuildMetricOptions]
    ) -> cloudwatch.Metric:
        """
        Return how many builds failed.
        """
        return self._metric("FailedBuilds", "Sum", options)

    def _metric(
        self, name: str, statistic: str, options: BuildMetricOptions
    ) -> cloudwatch.Metric:
        from aws_cdk import aws_cloudwatch as cloudwatch  # noqa: PLC0415 - slow to load

        merged: BuildMetricOptions = {"statistic": statistic, **options}
        return cloudwatch.Metric(
            namespace="AWS/CodeBuild",
            metric_name=name,
            dimensions_map={"ProjectName": self.project_name},
            **merged,
        )

    def _write(
        self,
        starter: Starter,
        request: StagingRequest,
        weights: S3Model,
        job: CompileJob | None,
    ) -> None:
        project, self._function = self._build.project, starter.function
        statements = [
            *start_statements(project),
            *owner_statements(request.bucket, request.place),
        ]
        # The project and the function are referred to, and need no saying.
        self._ready: list[Construct] = [watch_builds(self, project, self._function)]
        if job is not None:
            statements += job.starter_statements()
            self._ready += [job.access, job.watch(self._function), *job.awaited]
        self._ready.append(starter.allow(statements))
        if not request.keeps:
            requests = [request] if job is None else [request, job.request]
            self._ready.append(starter.allow_removal(requests))
        download = replace(request, project=project.ref)
        done = await_staged(self, download, self._function, self._ready)
        self.weights = replace(weights, depends_on=done)
        """The weights as the Hub has them."""
        self.model = self.weights
        """What an endpoint serves: what was compiled, or else the weights."""
        self.serving: TensorRtLlm | NeuronX | None = None
        """How it is served; ``None`` where nothing is compiled."""
        self._manifest = request.place.manifest

    def _compile(self, job: CompileJob, seconds: int, weight_bytes: int | None) -> None:
        request = replace(job.request, order=job.order(seconds, weight_bytes))
        done = self.weights.depends_on
        ready = self._ready if done is None else [*self._ready, done]
        self.model = S3Model.from_bucket(
            request.bucket,
            request.place.prefix,
            architecture=self.weights.architecture,
            depends_on=await_staged(self, request, self._function, ready),
            compiled=job.plan.compilation,
        )
        self.serving = job.plan.precompiled
        self._manifest = request.place.manifest

    def _tell(self, model: HuggingFaceModel) -> None:
        size = weight_bytes_of(model)
        minutes = minutes_of(size)
        if size is None or minutes is None:
            return
        Annotations.of(self).add_info(
            f"{model.model_id} is staged once: {size / _GB:.1f} GB of weights take "
            f"some {counted(minutes, 'minute')} of a build at 50 MB/s"
        )
