"""
Compiling engines in a job of SageMaker, and putting them in place when it is done.

A job writes beside the prefix that is served, each into a folder of its own: what is
half-made, or made twice, never lies where an endpoint reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

import boto3
from boto3.s3.transfer import TransferConfig

from cdk_sagemaker_llm.staging.prefix import (
    JOBS,
    MANIFEST_ENDING,
    NOTE,
    StagedPrefix,
    objects,
)
from cdk_sagemaker_llm.staging.signalling import say, signal

_PROCESSING, _TRAINING = "processing", "training"
_INPUT = {_PROCESSING: "/opt/ml/processing/input", _TRAINING: "/opt/ml/input/data"}
_OUTPUT = {_PROCESSING: "/opt/ml/processing/output", _TRAINING: "/opt/ml/model"}
_NAME_LENGTH = 63
# Where a training job puts what it made; a processing job is told to do the same.
_MADE = "output/model/"
# S3 copies each part by itself: large ones, many at once, and an engine of hundreds of
# GB is in place long before the function's 15 minutes are over.
_PARTS = TransferConfig(multipart_chunksize=256 * 2**20, max_concurrency=20)


def start(prefix: StagedPrefix, token: str) -> None:
    """
    Start the job that an order asks for; the same token is one job.
    """
    order = json.loads(prefix.order)
    name = f"{order['name']}-{token}"[:_NAME_LENGTH].rstrip("-")
    s3 = boto3.client("s3")
    folder = f"{prefix.jobs}{name}/"
    s3.put_object(
        Bucket=prefix.bucket,
        Key=f"{folder}properties/serving.properties",
        Body=order["properties"].encode(),
    )
    kept = ("compiled", "folder", "needed")
    note = {"handle": prefix.handle, **{each: order[each] for each in kept}}
    s3.put_object(
        Bucket=prefix.bucket, Key=_note(prefix.base, name), Body=json.dumps(note)
    )
    place = f"s3://{prefix.bucket}/{folder}"
    sagemaker = boto3.client("sagemaker")
    try:
        if order["kind"] == _PROCESSING:
            sagemaker.create_processing_job(**processing_request(order, name, place))
        else:
            sagemaker.create_training_job(**training_request(order, name, place))
    except sagemaker.exceptions.ResourceInUse:
        say(f"{name} was started before")
        return
    say(f"{prefix.uri} is compiled by {name}")


def processing_request(
    order: Mapping[str, Any], name: str, place: str
) -> dict[str, Any]:
    """
    Return the request of CreateProcessingJob.
    """
    folder = _INPUT[_PROCESSING]
    inputs = {"model": order["weights"], "properties": f"{place}properties/"}
    return {
        "ProcessingJobName": name,
        "RoleArn": order["role"],
        "AppSpecification": {
            "ImageUri": order["image"],
            "ContainerArguments": arguments(order, _PROCESSING),
        },
        "ProcessingInputs": [
            {
                "InputName": each,
                "S3Input": {
                    "S3Uri": uri,
                    "LocalPath": f"{folder}/{each}",
                    "S3DataType": "S3Prefix",
                    "S3InputMode": "File",
                },
            }
            for each, uri in inputs.items()
        ],
        "ProcessingOutputConfig": {
            "Outputs": [
                {
                    "OutputName": "engines",
                    "S3Output": {
                        "S3Uri": f"{place}{_MADE}",
                        "LocalPath": _OUTPUT[_PROCESSING],
                        "S3UploadMode": "EndOfJob",
                    },
                }
            ]
        },
        "ProcessingResources": {
            "ClusterConfig": {
                "InstanceCount": 1,
                "InstanceType": order["instance_type"],
                "VolumeSizeInGB": order["volume_gib"],
            }
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": order["seconds"]},
        # All that it reads is brought to it.
        "NetworkConfig": {"EnableNetworkIsolation": True},
    }


def training_request(order: Mapping[str, Any], name: str, place: str) -> dict[str, Any]:
    """
    Return what CreateTrainingJob is asked; its arguments are those of
    ``processing_request``.
    """
    inputs = {"model": order["weights"], "properties": f"{place}properties/"}
    return {
        "TrainingJobName": name,
        "RoleArn": order["role"],
        "AlgorithmSpecification": {
            "TrainingImage": order["image"],
            "TrainingInputMode": "File",
            "ContainerArguments": arguments(order, _TRAINING),
        },
        "InputDataConfig": [
            {
                "ChannelName": each,
                "DataSource": {
                    "S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": uri}
                },
            }
            for each, uri in inputs.items()
        ],
        "OutputDataConfig": {
            # The job's name and output/model/ follow.
            "S3OutputPath": place.removesuffix(f"{name}/"),
            "CompressionType": "NONE",
        },
        "ResourceConfig": {
            "InstanceCount": 1,
            "InstanceType": order["instance_type"],
            "VolumeSizeInGB": order["volume_gib"],
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": order["seconds"]},
        "EnableNetworkIsolation": True,
    }


def arguments(order: Mapping[str, Any], kind: str) -> list[str]:
    """
    Return the command, with the folders that a job of this kind has.
    """
    folders = {"{input}": _INPUT[kind], "{output}": _OUTPUT[kind]}
    found = list(order["arguments"])
    for name, folder in folders.items():
        found = [each.replace(name, folder) for each in found]
    return found


def tell(event: Mapping[str, Any]) -> None:
    """
    Put in place what a job made, or pass on why it made nothing.
    """
    detail, sagemaker = event["detail"], boto3.client("sagemaker")
    if "ProcessingJobName" in detail:
        name, group = detail["ProcessingJobName"], "ProcessingJobs"
        job = sagemaker.describe_processing_job(ProcessingJobName=name)
        status = job["ProcessingJobStatus"]
        output = job["ProcessingOutputConfig"]["Outputs"][0]["S3Output"]["S3Uri"]
    else:
        name, group = detail["TrainingJobName"], "TrainingJobs"
        job = sagemaker.describe_training_job(TrainingJobName=name)
        status = job["TrainingJobStatus"]
        output = job["OutputDataConfig"]["S3OutputPath"]
    bucket, _, key = output.removeprefix("s3://").partition("/")
    made = Made(bucket, key.partition(JOBS)[0], name)
    log = f"its log is {name} in /aws/sagemaker/{group}"
    reason = f"job {name} ended as {status}: {_why(job)}; {log}"
    made.end("" if status == "Completed" else reason)


def _why(job: Mapping[str, Any]) -> str:
    reasons = [job.get("FailureReason", ""), job.get("ExitMessage", "")]
    return "; ".join(filter(None, reasons)) or "it says no reason"


def _note(base: str, name: str) -> str:
    return f"{base}{JOBS}{name}{NOTE}"


class Made:
    """
    What one job made.

    Args:
        base: The prefix that it was asked for, without its slash.
    """

    def __init__(self, bucket: str, base: str, name: str) -> None:
        self._bucket = bucket
        self._base = base
        self._name = name
        self._s3 = boto3.client("s3")

    def end(self, reason: str) -> None:
        """
        Put it in place and tell who waits, or tell why there is nothing.
        """
        key = {"Bucket": self._bucket, "Key": _note(self._base, self._name)}
        note = json.loads(self._s3.get_object(**key)["Body"].read())
        try:
            if not reason and not self._is_placed():
                reason = self._place(note)
        except Exception as fault:  # noqa: BLE001 - the stack's event must say what it was
            reason = f"{type(fault).__name__}: {fault}"
        say(reason or f"{self._name} is done")
        signal(note["handle"], unique_id=self._name, reason=reason)

    def _is_placed(self) -> bool:
        """
        Whether engines are in place already: the same event may come twice, and two
        stacks may have compiled at once. What endpoints read is not written over.
        """
        manifest = self._base + MANIFEST_ENDING
        return any(key == "" for key, _ in self._sizes(manifest))

    def _place(self, note: Mapping[str, Any]) -> str:
        """
        Copy what was made, and write the manifest; return why not.
        """
        folder = f"{self._base}{JOBS}{self._name}/{_MADE}{note['folder']}"
        sizes = dict(self._sizes(folder))
        if not any(fnmatchcase(key, note["needed"]) for key in sizes):
            return (
                f"job {self._name} wrote no {note['needed']}, but "
                f"{sorted(sizes) or 'nothing'}"
            )
        for key in sizes:
            self._s3.copy(
                {"Bucket": self._bucket, "Key": folder + key},
                self._bucket,
                f"{self._base}/{key}",
                Config=_PARTS,
            )
        manifest = {
            "compiled": note["compiled"],
            "job": self._name,
            "files": {key: {"size": size} for key, size in sizes.items()},
        }
        self._s3.put_object(
            Bucket=self._bucket,
            Key=self._base + MANIFEST_ENDING,
            Body=json.dumps(manifest, indent=1, sort_keys=True).encode(),
            ContentType="application/json",
        )
        for key in sizes:
            self._s3.delete_object(Bucket=self._bucket, Key=folder + key)
        return ""

    def _sizes(self, folder: str) -> Iterator[tuple[str, int]]:
        for key, size in objects(self._s3, self._bucket, folder):
            yield key.removeprefix(folder), size
