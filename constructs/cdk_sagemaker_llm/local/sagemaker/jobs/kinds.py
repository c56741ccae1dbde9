"""
The two kinds of job, by what is otherwise in each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from cdk_sagemaker_llm.local.errors import AwsError, validation
from cdk_sagemaker_llm.local.sagemaker.jobs.files import Files

Request = dict[str, Any]

_LONGEST = 86_400.0


class Kind(Protocol):
    """
    A kind of job.
    """

    noun: str
    word: str

    def refuse(self, request: Request) -> None:
        """
        Refuse what the API's model lets pass and the service does not.
        """

    def program(self, request: Request) -> tuple[str, list[str], list[str]]:
        """
        Return the image, its entrypoint and its arguments.
        """

    def instance_type(self, request: Request) -> str:
        """
        Return what it runs on.
        """

    def limit(self, request: Request) -> float:
        """
        Return after how many seconds it is ended.
        """

    def inputs(self, request: Request) -> Iterator[tuple[str, str]]:
        """
        Walk through its inputs: the address of each, and the folder it comes into.
        """

    def upload(self, name: str, request: Request, files: Files) -> Request:
        """
        Bring what the container has written to S3; return what a description has of it.
        """


class Processing:
    """
    A processing job.
    """

    noun = "processing-job"
    word = "Processing"

    def refuse(self, request: Request) -> None:
        """
        Refuse folders elsewhere, and the same one twice.
        """
        folders = [folder for _, folder in self.inputs(request)]
        for folder in folders:
            if not folder.startswith("/opt/ml/processing/"):
                raise validation(
                    f"LocalPath {folder} must begin with /opt/ml/processing/"
                )
        if len({*folders}) < len(folders):
            raise validation("LocalPath of every ProcessingInput must be unique")

    def program(self, request: Request) -> tuple[str, list[str], list[str]]:
        """
        Return the image, its entrypoint and its arguments.
        """
        told = request["AppSpecification"]
        entrypoint = told.get("ContainerEntrypoint", [])
        return told["ImageUri"], entrypoint, told.get("ContainerArguments", [])

    def instance_type(self, request: Request) -> str:
        """
        Return what it runs on.
        """
        cluster = request["ProcessingResources"].get("ClusterConfig", {})
        return str(cluster.get("InstanceType", ""))

    def limit(self, request: Request) -> float:
        """
        Return after how many seconds it is ended.
        """
        stopping = request.get("StoppingCondition", {})
        return float(stopping.get("MaxRuntimeInSeconds", _LONGEST))

    def inputs(self, request: Request) -> Iterator[tuple[str, str]]:
        """
        Walk through its inputs.
        """
        for one in request.get("ProcessingInputs", []):
            if where := one.get("S3Input"):
                yield where["S3Uri"], where.get("LocalPath", "")

    def upload(self, name: str, request: Request, files: Files) -> Request:  # noqa: ARG002 - the form of both
        """
        Copy its folders, each to its place.
        """
        for one in request.get("ProcessingOutputConfig", {}).get("Outputs", []):
            where = one.get("S3Output", {})
            if "LocalPath" in where:
                files.upload(where["LocalPath"], where["S3Uri"])
        return {}


class Training:
    """
    A training job.
    """

    noun = "training-job"
    word = "Training"

    def refuse(self, request: Request) -> None:
        """
        Refuse a job without an image, instances or an end.
        """
        if "TrainingImage" not in request.get("AlgorithmSpecification", {}):
            raise validation("not emulated: training jobs without a TrainingImage")
        for needed in ("ResourceConfig", "StoppingCondition"):
            if needed not in request:
                raise validation(f"{needed} is required")

    def program(self, request: Request) -> tuple[str, list[str], list[str]]:
        """
        Return the image, its entrypoint and its arguments, which SageMaker has for it.
        """
        told = request["AlgorithmSpecification"]
        entrypoint = told.get("ContainerEntrypoint", [])
        own = [] if entrypoint else ["train"]
        return told["TrainingImage"], entrypoint, told.get("ContainerArguments", own)

    def instance_type(self, request: Request) -> str:
        """
        Return what it runs on.
        """
        return str(request["ResourceConfig"].get("InstanceType", ""))

    def limit(self, request: Request) -> float:
        """
        Return after how many seconds it is ended.
        """
        stopping = request["StoppingCondition"]
        return float(stopping.get("MaxRuntimeInSeconds", _LONGEST))

    def inputs(self, request: Request) -> Iterator[tuple[str, str]]:
        """
        Walk through its channels.
        """
        for channel in request.get("InputDataConfig", []):
            if where := channel["DataSource"].get("S3DataSource"):
                name = channel["ChannelName"]
                yield where["S3Uri"], f"/opt/ml/input/data/{name}"

    def upload(self, name: str, request: Request, files: Files) -> Request:
        """
        Bring its model to S3, packed unless that is not wanted.
        """
        output = request["OutputDataConfig"]
        place = f"{output['S3OutputPath'].rstrip('/')}/{name}/output/model"
        if output.get("CompressionType") == "NONE":
            files.upload("/opt/ml/model", f"{place}/")
            return {"ModelArtifacts": {"S3ModelArtifacts": f"{place}/"}}
        if files.names("/opt/ml/model"):
            files.upload_file(files.packed("/opt/ml/model"), f"{place}.tar.gz")
        return {"ModelArtifacts": {"S3ModelArtifacts": f"{place}.tar.gz"}}


def in_use(arn: str) -> AwsError:
    """
    Make the service's error for a name that is taken, for good.
    """
    return AwsError(
        "ResourceInUse",
        "Job name must be unique within an AWS account and region, and a job with this "
        f"name already exists ({arn})",
    )
