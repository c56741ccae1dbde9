"""
Jobs of SageMaker while time runs by hand: what they tell at each moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cdk_sagemaker_llm.local.aws.faults import Fault
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.simulation.fleet import FleetTimes
from tests.local.by_hand import HandRunAws, hand_run_aws
from tests.local.hosting_requests import LMI_36, ROLE, put_weights, refusal, unique
from tests.local.test_descriptions import plain

_TIMES = FleetTimes(provision=200.0, image_pull=100.0, model_start=100.0)
_STARTS = 300


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws(_TIMES) as aws:
        yield aws


@pytest.fixture(name="bucket", scope="module")
def _bucket(aws: HandRunAws) -> str:
    name = unique("bucket")
    put_weights(aws, name, "model")
    return name


def processing(bucket: str, **change: Untyped) -> dict[str, Any]:
    """
    Write a request for a processing job, with something changed.
    """
    return {
        "ProcessingJobName": unique("job"),
        "RoleArn": ROLE,
        "AppSpecification": {"ImageUri": LMI_36, "ContainerEntrypoint": ["ls"]},
        "ProcessingResources": {
            "ClusterConfig": {
                "InstanceCount": 1,
                "InstanceType": "ml.g5.xlarge",
                "VolumeSizeInGB": 30,
            }
        },
        "ProcessingInputs": [given("model", f"s3://{bucket}/model/")],
        **change,
    }


def given(name: str, url: str, folder: str = "") -> dict[str, Any]:
    """
    Write an input.
    """
    where = {
        "S3Uri": url,
        "S3DataType": "S3Prefix",
        "S3InputMode": "File",
        "LocalPath": folder or f"/opt/ml/processing/{name}",
    }
    return {"InputName": name, "S3Input": where}


def training(bucket: str, **change: Untyped) -> dict[str, Any]:
    """
    Write a request for a training job, with something changed.
    """
    return {
        "TrainingJobName": unique("job"),
        "RoleArn": ROLE,
        "AlgorithmSpecification": {
            "TrainingImage": LMI_36,
            "TrainingInputMode": "File",
        },
        "OutputDataConfig": {
            "S3OutputPath": f"s3://{bucket}/out/",
            "CompressionType": "NONE",
        },
        "ResourceConfig": {
            "InstanceCount": 1,
            "InstanceType": "ml.g5.xlarge",
            "VolumeSizeInGB": 30,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
        **change,
    }


def test_a_job_is_told_from_its_start_to_its_stop(
    aws: HandRunAws, sagemaker: Untyped, arn: str, bucket: str
) -> None:
    """
    Its request without the tags, its times, and the two minutes that a stop takes.
    """
    request = processing(bucket)
    name, began = request["ProcessingJobName"], aws.wall()
    its = {"ProcessingJobName": name}
    tags = [{"Key": "team", "Value": "llm"}]
    made = sagemaker.create_processing_job(**request, Tags=tags)
    assert made["ProcessingJobArn"] == f"{arn}:processing-job/{name}"
    assert sagemaker.list_tags(ResourceArn=made["ProcessingJobArn"])["Tags"] == tags

    def told() -> dict[str, Any]:
        found: dict[str, Any] = plain(sagemaker.describe_processing_job(**its))
        return found

    whole = {
        **request,
        "ProcessingJobArn": f"{arn}:processing-job/{name}",
        "ProcessingJobStatus": "InProgress",
        "CreationTime": began,
        "LastModifiedTime": began,
    }
    assert told() == whole
    aws.run(_STARTS - 1)
    assert told() == whole
    aws.run(1)
    running = {
        **whole,
        "ProcessingStartTime": began + 300,
        "LastModifiedTime": began + 300,
    }
    assert told() == running
    aws.run(599)
    assert told() == running
    sagemaker.stop_processing_job(**its)
    sagemaker.stop_processing_job(**its)
    stopping = {"ProcessingJobStatus": "Stopping", "LastModifiedTime": began + 899}
    assert told() == {**running, **stopping}
    aws.run(119)
    assert told() == {**running, **stopping}
    aws.run(1)
    assert told() == {
        **running,
        "ProcessingJobStatus": "Stopped",
        "LastModifiedTime": began + 1019,
        "ProcessingEndTime": began + 1019,
    }
    assert plain(sagemaker.list_processing_jobs(NameContains=name)) == {
        "ProcessingJobSummaries": [
            {
                "ProcessingJobName": name,
                "ProcessingJobArn": f"{arn}:processing-job/{name}",
                "ProcessingJobStatus": "Stopped",
                "CreationTime": began,
                "LastModifiedTime": began + 1019,
                "ProcessingEndTime": began + 1019,
            }
        ]
    }
    assert refusal(sagemaker.stop_processing_job, **its) == (
        "The request was rejected because the processing job is in status Stopped."
    )


def test_a_training_job_tells_every_step(
    aws: HandRunAws, sagemaker: Untyped, bucket: str
) -> None:
    """
    Until its time is up: less than what compiling takes.
    """
    limit = {"MaxRuntimeInSeconds": 599}
    request = training(bucket, StoppingCondition=limit)
    its, began = {"TrainingJobName": request["TrainingJobName"]}, aws.wall()
    sagemaker.create_training_job(**request)
    aws.run(_STARTS + 598)
    assert sagemaker.describe_training_job(**its)["TrainingJobStatus"] == "InProgress"
    aws.run(1)

    found = plain(sagemaker.describe_training_job(**its))
    assert found["TrainingJobStatus"] == "Stopped"
    assert found["SecondaryStatus"] == "MaxRuntimeExceeded"
    assert found["TrainingStartTime"] == began + 300
    assert found["TrainingEndTime"] == began + 899
    assert found["SecondaryStatusTransitions"] == [
        {"Status": "Starting", "StartTime": began, "EndTime": began + 300},
        {"Status": "Training", "StartTime": began + 300, "EndTime": began + 899},
        {
            "Status": "MaxRuntimeExceeded",
            "StartTime": began + 899,
            "EndTime": began + 899,
        },
    ]


def test_a_job_without_its_input_fails(
    aws: HandRunAws, sagemaker: Untyped, bucket: str
) -> None:
    """
    When its instance is there, in the service's words.
    """
    url = f"s3://{bucket}/nothing/"
    request = processing(bucket, ProcessingInputs=[given("x", url)])
    its, began = {"ProcessingJobName": request["ProcessingJobName"]}, aws.wall()
    sagemaker.create_processing_job(**request)
    aws.run(_STARTS)

    found = plain(sagemaker.describe_processing_job(**its))
    assert found["ProcessingJobStatus"] == "Failed"
    assert found["ProcessingEndTime"] == began + 300
    assert found["FailureReason"] == (
        f'ClientError: No S3 objects found under S3 URL "{url}" given in input data '
        "source. Please ensure that the bucket exists in the selected region "
        "(us-east-1), that objects exist under that S3 prefix, and that the role "
        f'"{ROLE}" has "s3:ListBucket" permissions on bucket "{bucket}".'
    )


def test_a_job_without_an_instance_fails(
    aws: HandRunAws, sagemaker: Untyped, bucket: str
) -> None:
    """
    In the service's words; it never started.
    """
    fault = Fault(kind="no-capacity", target="ml.g5.xlarge")
    aws.hosting.world.faults.put(fault)
    request = training(bucket)
    its = {"TrainingJobName": request["TrainingJobName"]}
    sagemaker.create_training_job(**request)
    aws.hosting.world.faults.clear()
    aws.run(3600)

    found = plain(sagemaker.describe_training_job(**its))
    assert found["TrainingJobStatus"] == "Failed"
    assert "TrainingStartTime" not in found
    assert found["FailureReason"] == (
        "CapacityError: Unable to provision requested ML compute capacity. Please "
        "retry using a different ML instance type or after some time."
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"AlgorithmSpecification": {"TrainingInputMode": "File"}},
            "not emulated: training jobs without a TrainingImage",
        ),
        (
            {"OutputDataConfig": {"S3OutputPath": "s3://b/out/"}},
            "not emulated: training jobs that pack their model",
        ),
        (
            {
                "OutputDataConfig": {
                    "S3OutputPath": "s3://b/out/",
                    "CompressionType": "GZIP",
                }
            },
            "not emulated: training jobs that pack their model",
        ),
    ],
)
def test_what_is_not_emulated_is_refused(
    sagemaker: Untyped, bucket: str, change: dict[str, Any], told: str
) -> None:
    """
    And says so.
    """
    request = training(bucket, **change)

    assert refusal(sagemaker.create_training_job, **request) == told


def test_inputs_have_folders_of_their_own(sagemaker: Untyped, bucket: str) -> None:
    """
    In the one that containers expect.
    """
    url, create = f"s3://{bucket}/model/", sagemaker.create_processing_job
    elsewhere = processing(bucket, ProcessingInputs=[given("x", url, "/opt/x")])
    assert refusal(create, **elsewhere) == (
        "LocalPath /opt/x must begin with /opt/ml/processing/"
    )
    folder = "/opt/ml/processing/same"
    both = [given("x", url, folder), given("y", url, folder)]
    assert refusal(create, **processing(bucket, ProcessingInputs=both)) == (
        "LocalPath of every ProcessingInput must be unique"
    )


def test_a_name_is_used_once(sagemaker: Untyped, arn: str, bucket: str) -> None:
    """
    By each kind of job; what is not there is told in the words of its kind.
    """
    request = training(bucket)
    sagemaker.create_training_job(**request)
    name = request["TrainingJobName"]
    sagemaker.create_processing_job(**processing(bucket, ProcessingJobName=name))

    with pytest.raises(sagemaker.exceptions.ResourceInUse) as caught:
        sagemaker.create_training_job(**request)
    assert caught.value.response["Error"]["Message"] == (
        "Job name must be unique within an AWS account and region, and a job with this "
        f"name already exists ({arn}:training-job/{name})"
    )
    missing = refusal(sagemaker.describe_training_job, TrainingJobName="nothing")
    assert missing == "Requested resource not found."
    missing = refusal(sagemaker.describe_processing_job, ProcessingJobName="nothing")
    assert missing == "Could not find requested job with name: nothing"
