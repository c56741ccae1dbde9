"""
Processing and training jobs: created, run by the clock, and told of.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from cdk_sagemaker_llm.local.aws.clock import now
from cdk_sagemaker_llm.local.aws.errors import AwsError, validation
from cdk_sagemaker_llm.local.engines.compiled import run
from cdk_sagemaker_llm.local.engines.job_containers import (
    Container,
    Files,
    MissingBucketError,
    MissingInputError,
)
from cdk_sagemaker_llm.local.hosting.records import (
    Record,
    Shelf,
    in_milliseconds,
    page,
    tags_of,
)
from cdk_sagemaker_llm.local.hosting.world import Operation, World
from cdk_sagemaker_llm.simulation.fleet import seconds

# What compiling takes: "approximately 7 minutes and more", as LMI's own page on it
# says of models of forty billion parameters and more.
_COMPILES = 600.0
_STOPS = 120.0  # Seconds that a container has to end in.
_UNDER_WAY = frozenset({"InProgress", "Stopping"})
_LONGEST_REASON = 1024
_NO_CAPACITY = (
    "CapacityError: Unable to provision requested ML compute capacity. Please retry "
    "using a different ML instance type or after some time."
)
Request = dict[str, Any]
_LONGEST = 86_400.0


@dataclass(kw_only=True)
class Job(Record):
    """
    A job.
    """

    status: str = "InProgress"
    secondary: str = "Starting"
    steps: list[dict[str, Any]] = field(default_factory=list)
    started: float | None = None
    ended: float | None = None
    failure: str | None = None


class _Processing:
    noun = "processing-job"
    word = "Processing"

    def refuse(self, request: Request) -> None:
        folders = [folder for _, folder in self.inputs(request)]
        for folder in folders:
            if not folder.startswith("/opt/ml/processing/"):
                raise validation(
                    f"LocalPath {folder} must begin with /opt/ml/processing/"
                )
        if len({*folders}) < len(folders):
            raise validation("LocalPath of every ProcessingInput must be unique")

    def program(self, request: Request) -> tuple[str, list[str]]:
        specification = request["AppSpecification"]
        entrypoint = specification.get("ContainerEntrypoint", [])
        arguments = specification.get("ContainerArguments", [])
        return specification["ImageUri"], [*entrypoint, *arguments]

    def instance_type(self, request: Request) -> str:
        cluster = request["ProcessingResources"].get("ClusterConfig", {})
        return str(cluster.get("InstanceType", ""))

    def inputs(self, request: Request) -> Iterator[tuple[str, str]]:
        for one in request.get("ProcessingInputs", []):
            if where := one.get("S3Input"):
                yield where["S3Uri"], where.get("LocalPath", "")

    def upload(self, name: str, request: Request, files: Files) -> None:  # noqa: ARG002 - the form of both
        for one in request.get("ProcessingOutputConfig", {}).get("Outputs", []):
            where = one.get("S3Output", {})
            if "LocalPath" in where:
                files.upload(where["LocalPath"], where["S3Uri"])


class _Training:
    noun = "training-job"
    word = "Training"

    def refuse(self, request: Request) -> None:
        if "TrainingImage" not in request.get("AlgorithmSpecification", {}):
            raise validation("not emulated: training jobs without a TrainingImage")
        for member in ("ResourceConfig", "StoppingCondition"):
            if member not in request:
                raise validation(f"{member} is required")
        if request["OutputDataConfig"].get("CompressionType") != "NONE":
            raise validation("not emulated: training jobs that pack their model")

    def program(self, request: Request) -> tuple[str, list[str]]:
        specification = request["AlgorithmSpecification"]
        entrypoint = specification.get("ContainerEntrypoint", [])
        # Those that SageMaker has for it.
        own = [] if entrypoint else ["train"]
        arguments = specification.get("ContainerArguments", own)
        return specification["TrainingImage"], [*entrypoint, *arguments]

    def instance_type(self, request: Request) -> str:
        return str(request["ResourceConfig"].get("InstanceType", ""))

    def inputs(self, request: Request) -> Iterator[tuple[str, str]]:
        for channel in request.get("InputDataConfig", []):
            if where := channel["DataSource"].get("S3DataSource"):
                yield where["S3Uri"], f"/opt/ml/input/data/{channel['ChannelName']}"

    def upload(self, name: str, request: Request, files: Files) -> None:
        files.upload("/opt/ml/model", _model_place(name, request))


class Jobs:
    """
    The operations on the jobs of one kind.
    """

    def __init__(
        self, world: World, kind: _Processing | _Training, shelf: Shelf[Job]
    ) -> None:
        self._world, self._kind, self._jobs = world, kind, shelf
        self._name = f"{kind.word}JobName"

    def operations(self) -> dict[str, Operation]:
        """
        Return the operations by their API names.
        """
        word = self._kind.word
        return {
            f"Create{word}Job": self._create,
            f"Describe{word}Job": lambda one: self._description(self._found(one)),
            f"List{word}Jobs": self._list,
            f"Stop{word}Job": self._stop,
        }

    def _create(self, request: Request) -> Request:
        name = request[self._name]
        arn = self._jobs.arn(name)
        if self._jobs.find(name) is not None:
            raise AwsError(
                "ResourceInUse",
                "Job name must be unique within an AWS account and region, and a job "
                f"with this name already exists ({arn})",
            )
        self._kind.refuse(request)
        job = Job(name=name, arn=arn, request=copy.deepcopy(request))
        job.tags = tags_of(request)
        self._jobs.add(job)
        self._enter(job, "InProgress", "Starting")
        kind, times = self._kind.instance_type(request), self._world.times
        if self._world.available(kind, 0.0) < 1:
            delay, action = times.refusal, partial(self._fail, job, _NO_CAPACITY)
        else:
            delay = seconds(times.provision, kind) + seconds(times.image_pull, kind)
            action = partial(self._begin, job)
        self._world.clock.after(delay, action)
        return {f"{self._kind.word}JobArn": arn}

    def _list(self, request: Request) -> Request:
        word = self._kind.word
        status, arn = f"{word}JobStatus", f"{word}JobArn"
        times = {"CreationTime", "LastModifiedTime", f"{word}EndTime"}
        keys = {self._name, arn, status, *times}
        found, token = page(
            self._jobs,
            # Other than of everything in hosting: API reference, ListTrainingJobs.
            {"SortOrder": "Ascending", **request},
            lambda job: {k: v for k, v in self._description(job).items() if k in keys},
        )
        return {f"{word}JobSummaries": found, **token}

    def _stop(self, request: Request) -> Request:
        job = self._found(request)
        if job.status not in _UNDER_WAY:
            raise validation(
                f"The request was rejected because the {self._kind.word.lower()} job "
                f"is in status {job.status}."
            )
        if job.status == "InProgress":
            self._enter(job, "Stopping", "Stopping")
            self._world.clock.after(_STOPS, partial(self._end, job, "Stopped"))
        return {}

    def _found(self, request: Request) -> Job:
        job = self._jobs.find(request[self._name])
        if job is None:
            raise validation(
                "Requested resource not found."
                if self._kind.word == "Training"
                else f"Could not find requested job with name: {request[self._name]}"
            )
        return job

    def _begin(self, job: Job) -> None:
        if job.status != "InProgress":
            return
        job.started = now()
        files = Files(self._world.surroundings)
        for url, folder in self._kind.inputs(job.request):
            try:
                files.mount(url, folder)
            except MissingInputError:
                self._fail(job, self._missing(url, job.request["RoleArn"]))
                return
        self._enter(job, "InProgress", self._kind.word)
        takes = 0.0 if self._world.clock.speed is None else _COMPILES
        condition = job.request.get("StoppingCondition", {})
        limit = float(condition.get("MaxRuntimeInSeconds", _LONGEST))
        if takes > limit:
            late = partial(self._end, job, "Stopped", "MaxRuntimeExceeded")
            self._world.clock.after(limit, late)
        else:
            self._world.clock.after(takes, partial(self._work, job, files))

    def _work(self, job: Job, files: Files) -> None:
        if job.status != "InProgress":
            return
        image, command = self._kind.program(job.request)
        container = Container(
            image=image,
            command=command,
            variables=job.request.get("Environment", {}),
            instance_type=self._kind.instance_type(job.request),
            files=files,
        )
        code = run(container)
        group = f"/aws/sagemaker/{self._kind.word}Jobs"
        stream = f"{job.name}/algo-1-{int(job.created * 1000)}"
        world = self._world
        world.surroundings.write_log(group, stream, container.log, world.clock.now)
        if code:
            # The script leaves no message of its own: SageMaker has only its exit code.
            self._fail(job, f"AlgorithmError: , exit code: {code}")
            return
        try:
            self._kind.upload(job.name, job.request, files)
        except MissingBucketError as error:
            # In this package's words; the service's are not known.
            self._fail(
                job,
                f"ClientError: Failed to upload {error}: The specified bucket does not "
                "exist",
            )
            return
        self._end(job, "Completed")

    def _fail(self, job: Job, reason: str) -> None:
        if job.status not in _UNDER_WAY:
            return
        job.failure = reason[:_LONGEST_REASON]
        self._end(job, "Failed")

    def _end(self, job: Job, status: str, secondary: str = "") -> None:
        if job.status not in _UNDER_WAY:
            return
        job.ended = now()
        self._enter(job, status, secondary or status)

    def _enter(self, job: Job, status: str, secondary: str) -> None:
        job.touch()
        job.status, job.secondary = status, secondary
        if job.steps:
            job.steps[-1].setdefault("EndTime", now())
        job.steps.append({"Status": secondary, "StartTime": now()})
        if job.ended is not None:
            job.steps[-1]["EndTime"] = now()
        self._world.surroundings.notify(
            "aws.sagemaker",
            f"SageMaker {self._kind.word} Job State Change",
            in_milliseconds(self._description(job)),
            job.arn,
        )

    def _description(self, job: Job) -> Request:
        word = self._kind.word
        answer = {
            **{k: v for k, v in job.request.items() if k != "Tags"},
            f"{word}JobArn": job.arn,
            f"{word}JobStatus": job.status,
            "CreationTime": job.created,
            "LastModifiedTime": job.modified,
        }
        if job.started is not None:
            answer[f"{word}StartTime"] = job.started
        if job.ended is not None:
            answer[f"{word}EndTime"] = job.ended
        if job.failure is not None:
            answer["FailureReason"] = job.failure
        if word == "Training":
            answer["SecondaryStatus"] = job.secondary
            answer["SecondaryStatusTransitions"] = job.steps
            # The model requires it, of a job that has not ended as well.
            place = _model_place(job.name, job.request)
            answer["ModelArtifacts"] = {"S3ModelArtifacts": place}
        return answer

    def _missing(self, url: str, role: str) -> str:
        bucket = url.partition("://")[2].partition("/")[0]
        return (
            f'ClientError: No S3 objects found under S3 URL "{url}" given in input '
            "data source. Please ensure that the bucket exists in the selected region "
            f"({self._world.region}), that objects exist under that S3 prefix, and "
            f'that the role "{role}" has "s3:ListBucket" permissions on bucket '
            f'"{bucket}".'
        )


def _model_place(name: str, request: Request) -> str:
    output = request["OutputDataConfig"]["S3OutputPath"]
    return f"{output.rstrip('/')}/{name}/output/model/"


def operations(world: World) -> dict[str, Operation]:
    """
    Return the operations on jobs, and lay out their shelves.
    """
    found: dict[str, Operation] = {}
    for kind in (_Processing(), _Training()):
        shelf: Shelf[Job] = Shelf(f"{kind.word.lower()} job", world.arn(kind.noun))
        world.jobs.append(shelf)
        found |= Jobs(world, kind, shelf).operations()
    return found
