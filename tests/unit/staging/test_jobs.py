"""
What SageMaker is asked for when engines are compiled.
"""

from __future__ import annotations

from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator

from cdk_sagemaker_llm.serving.lmi.ahead_of_time import (
    NEURONX,
    TENSORRT_LLM,
    AheadOfTime,
)
from cdk_sagemaker_llm.staging.jobs import (
    _why,
    arguments,
    processing_request,
    training_request,
)

IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/djl-inference:0.28.0"
ROLE = "arn:aws:iam::111111111111:role/Compile"
ASKED: dict[str, Any] = {
    "kind": "processing",
    "name": "c8a0b1",
    "image": IMAGE,
    "instance_type": "ml.g5.12xlarge",
    "role": ROLE,
    "arguments": ["python", "{input}/properties", "{output}", "4", "{input}/model"],
    "weights": "s3://bucket/weights/",
    "properties": "option.dtype=fp16\n",
    "volume_gib": 71,
    "seconds": 3600,
    "compiled": {},
}
PLACE = "s3://bucket/engines.jobs/c8a0b1-1/"


def faults(operation: str, request: dict[str, Any]) -> str:
    """
    Hold a request against botocore's model of the API.
    """
    model = botocore.session.get_session().get_service_model("sagemaker")
    shape = model.operation_model(operation).input_shape
    assert shape is not None
    return str(ParamValidator().validate(request, shape).generate_report())


def test_a_processing_job_is_asked_for() -> None:
    """
    The whole request: two folders come in, one goes out, and no network is reached.
    """
    request = processing_request(ASKED, "c8a0b1-1", PLACE)

    assert request == {
        "ProcessingJobName": "c8a0b1-1",
        "RoleArn": ROLE,
        "AppSpecification": {
            "ImageUri": IMAGE,
            "ContainerArguments": [
                "python",
                "/opt/ml/processing/input/properties",
                "/opt/ml/processing/output",
                "4",
                "/opt/ml/processing/input/model",
            ],
        },
        "ProcessingInputs": [
            {
                "InputName": "model",
                "S3Input": {
                    "S3Uri": "s3://bucket/weights/",
                    "LocalPath": "/opt/ml/processing/input/model",
                    "S3DataType": "S3Prefix",
                    "S3InputMode": "File",
                },
            },
            {
                "InputName": "properties",
                "S3Input": {
                    "S3Uri": "s3://bucket/engines.jobs/c8a0b1-1/properties/",
                    "LocalPath": "/opt/ml/processing/input/properties",
                    "S3DataType": "S3Prefix",
                    "S3InputMode": "File",
                },
            },
        ],
        "ProcessingOutputConfig": {
            "Outputs": [
                {
                    "OutputName": "engines",
                    "S3Output": {
                        "S3Uri": "s3://bucket/engines.jobs/c8a0b1-1/output/model/",
                        "LocalPath": "/opt/ml/processing/output",
                        "S3UploadMode": "EndOfJob",
                    },
                }
            ]
        },
        "ProcessingResources": {
            "ClusterConfig": {
                "InstanceCount": 1,
                "InstanceType": "ml.g5.12xlarge",
                "VolumeSizeInGB": 71,
            }
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
        "NetworkConfig": {"EnableNetworkIsolation": True},
    }
    assert faults("CreateProcessingJob", request) == ""


def test_a_training_job_is_asked_for() -> None:
    """
    Its channels are folders of the same names, and SageMaker appends the job's name and
    ``output/model/`` to where it writes.
    """
    request = training_request(ASKED, "c8a0b1-1", PLACE)

    assert request == {
        "TrainingJobName": "c8a0b1-1",
        "RoleArn": ROLE,
        "AlgorithmSpecification": {
            "TrainingImage": IMAGE,
            "TrainingInputMode": "File",
            "ContainerArguments": [
                "python",
                "/opt/ml/input/data/properties",
                "/opt/ml/model",
                "4",
                "/opt/ml/input/data/model",
            ],
        },
        "InputDataConfig": [
            {
                "ChannelName": "model",
                "DataSource": {
                    "S3DataSource": {
                        "S3DataType": "S3Prefix",
                        "S3Uri": "s3://bucket/weights/",
                    }
                },
            },
            {
                "ChannelName": "properties",
                "DataSource": {
                    "S3DataSource": {
                        "S3DataType": "S3Prefix",
                        "S3Uri": "s3://bucket/engines.jobs/c8a0b1-1/properties/",
                    }
                },
            },
        ],
        "OutputDataConfig": {
            "S3OutputPath": "s3://bucket/engines.jobs/",
            "CompressionType": "NONE",
        },
        "ResourceConfig": {
            "InstanceCount": 1,
            "InstanceType": "ml.g5.12xlarge",
            "VolumeSizeInGB": 71,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
        "EnableNetworkIsolation": True,
    }
    assert faults("CreateTrainingJob", request) == ""


@pytest.mark.parametrize("way", [TENSORRT_LLM, NEURONX], ids=lambda way: way.name)
@pytest.mark.parametrize("version", ["0.28.0", "0.30.0"])
@pytest.mark.parametrize("kind", ["processing", "training"])
def test_the_api_takes_what_the_script_is_told(
    version: str, kind: str, way: AheadOfTime
) -> None:
    """
    A hundred words at most, of 256 characters each, which botocore does not hold.
    """
    words = arguments({"arguments": way.command(version, 8)}, kind)

    assert 1 <= len(words) <= 100
    assert max(map(len, words)) <= 256
    assert not any("{" in word for word in words)


def test_an_order_is_not_changed() -> None:
    """
    The same words serve each kind of job.
    """
    asked = {"arguments": ["{input}{output}", "plain"]}

    assert arguments(asked, "training") == ["/opt/ml/input/data/opt/ml/model", "plain"]
    assert asked == {"arguments": ["{input}{output}", "plain"]}


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ({}, "it says no reason"),
        ({"FailureReason": "full"}, "full"),
        ({"ExitMessage": "bye"}, "bye"),
        ({"FailureReason": "full", "ExitMessage": "bye"}, "full; bye"),
    ],
)
def test_a_job_says_why_in_two_places(job: dict[str, str], words: str) -> None:
    """
    SageMaker's own words, and those of a processing job's container.
    """
    assert _why(job) == words
