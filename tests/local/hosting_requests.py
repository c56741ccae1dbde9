"""
Requests that several tests start from.
"""

from __future__ import annotations

import io
import json
import tarfile
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local.aws.untyped import Untyped

ROLE = "arn:aws:iam::123456789012:role/Hosting"
REGISTRY = "763104351884.dkr.ecr.us-east-1.amazonaws.com"
TGI = f"{REGISTRY}/huggingface-pytorch-tgi-inference:2.1.1-tgi1.4.5-gpu-py310-cu121"
TGI_3 = f"{REGISTRY}/huggingface-pytorch-tgi-inference:2.7.0-tgi3.3.6-gpu-py311-cu124"
LMI_26 = f"{REGISTRY}/djl-inference:0.26.0-tensorrtllm0.7.1-cu122"
LMI_28 = f"{REGISTRY}/djl-inference:0.28.0-lmi10.0.0-cu124"
LMI_36 = f"{REGISTRY}/djl-inference:0.36.0-lmi28.0.0-cu130"


class Aws(Protocol):
    """
    An embedded AWS: a server's, or one inside the test's own process.
    """

    def client(self, service: str, **settings: Untyped) -> Untyped:
        """
        Make a boto3 client that talks to it.
        """


def unique(stem: str) -> str:
    """
    Make a name that no other test uses.
    """
    return f"{stem}-{uuid.uuid4().hex[:8]}"


def unchecked(aws: Aws, service: str) -> Untyped:
    """
    Make a client that sends what boto3 itself would refuse.
    """
    config = Config(
        retries={"max_attempts": 0}, proxies={"http": ""}, parameter_validation=False
    )
    return aws.client(service, config=config)


def make_model(aws: Aws, **settings: Untyped) -> str:
    """
    Create a model, TGI if nothing else is said, and return its name.
    """
    name = unique("model")
    container = {"Image": settings.pop("image", TGI)}
    container |= settings.pop("container", {})
    request = {"ExecutionRoleArn": ROLE, "PrimaryContainer": container, **settings}
    aws.client("sagemaker").create_model(ModelName=name, **request)
    return name


def make_config(
    aws: Aws, *, variant: dict[str, Any] | None = None, **settings: Untyped
) -> str:
    """
    Create an endpoint configuration for inference components and return its name.

    With a ``ModelName`` in the variant it is one for an endpoint of that model.
    """
    name = unique("config")
    one = {
        "VariantName": "AllTraffic",
        "InstanceType": "ml.p4d.24xlarge",
        "InitialInstanceCount": 1,
        **(variant or {}),
    }
    role = {} if "ModelName" in one else {"ExecutionRoleArn": ROLE}
    aws.client("sagemaker").create_endpoint_config(
        EndpointConfigName=name, ProductionVariants=[one], **role, **settings
    )
    return name


def make_endpoint(aws: Aws, config: str) -> str:
    """
    Create an endpoint and return its name.
    """
    name = unique("endpoint")
    aws.client("sagemaker").create_endpoint(
        EndpointName=name, EndpointConfigName=config
    )
    return name


def make_component(
    aws: Aws,
    endpoint: str,
    *,
    needs: Mapping[str, int] | None = None,
    model: str | None = None,
    copies: int = 1,
) -> str:
    """
    Create an inference component of one accelerator a copy and return its name.
    """
    name = unique("component")
    resources = {
        "NumberOfAcceleratorDevicesRequired": 1,
        "MinMemoryRequiredInMb": 1024,
        **(needs or {}),
    }
    aws.client("sagemaker").create_inference_component(
        InferenceComponentName=name,
        EndpointName=endpoint,
        VariantName="AllTraffic",
        Specification={
            "ModelName": model or make_model(aws),
            "ComputeResourceRequirements": resources,
        },
        RuntimeConfig={"CopyCount": copies},
    )
    return name


def serve(
    aws: Aws,
    image: str,
    environment: Mapping[str, str] | None = None,
    **options: str,
) -> str:
    """
    Deploy a container with options in its artifact and return the endpoint's name.
    """
    bucket, key = unique("bucket"), "artifact.tar.gz"
    s3 = aws.client("s3")
    s3.create_bucket(Bucket=bucket)
    s3.put_object(Bucket=bucket, Key=key, Body=artifact(**options))
    data = {
        "ModelDataUrl": f"s3://{bucket}/{key}",
        "Environment": dict(environment or {}),
    }
    model = make_model(aws, image=image, container=data)
    variant = {"ModelName": model, "InstanceType": "ml.g5.12xlarge"}
    return make_endpoint(aws, make_config(aws, variant=variant))


def artifact(**options: str) -> bytes:
    """
    Pack a serving.properties with the options.
    """
    text = "".join(f"option.{name}={value}\n" for name, value in options.items())
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        member = tarfile.TarInfo("serving.properties")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text.encode()))
    return buffer.getvalue()


def put_weights(aws: Aws, bucket: str, *names: str) -> None:
    """
    Make a bucket with an object under each prefix.
    """
    s3 = aws.client("s3")
    s3.create_bucket(Bucket=bucket)
    for name in names:
        s3.put_object(Bucket=bucket, Key=f"{name}/config.json", Body=b"{}")


def prompt(text: str, *, stream: bool = False, **parameters: Untyped) -> bytes:
    """
    Write a request body.
    """
    body: dict[str, Any] = {"inputs": text, "parameters": parameters}
    return json.dumps(body | ({"stream": True} if stream else {})).encode()


def refusal(call: Callable[..., object], /, **request: Untyped) -> str:
    """
    Return the message of the ValidationException that a call is answered with.
    """
    with pytest.raises(ClientError) as caught:
        call(**request)
    answer = caught.value.response
    assert answer["Error"]["Code"] == "ValidationException"
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 400
    return str(answer["Error"]["Message"])


def words(call: Untyped, /, **request: Untyped) -> str:
    """
    Return the message of a refusal of any service; ``None`` stands for what is left
    out.
    """
    asked = {name: value for name, value in request.items() if value is not None}
    with pytest.raises(ClientError) as caught:
        call(**asked)
    return str(caught.value.response["Error"]["Message"])


def topic_with_queue(aws: Aws) -> tuple[str, str]:
    """
    Make a topic, and a queue that hears of it.
    """
    topic = str(aws.client("sns").create_topic(Name=unique("topic"))["TopicArn"])
    return topic, queue_of(aws, topic)


def queue_of(aws: Aws, topic: str) -> str:
    """
    Make a queue that hears of a topic.
    """
    sqs = aws.client("sqs")
    queue = str(sqs.create_queue(QueueName=unique("queue"))["QueueUrl"])
    asked = {"QueueUrl": queue, "AttributeNames": ["QueueArn"]}
    arn = sqs.get_queue_attributes(**asked)["Attributes"]["QueueArn"]
    aws.client("sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)
    return queue


def heard(aws: Aws, queue: str) -> list[dict[str, Any]]:
    """
    Return what a topic told its queue since the last look.
    """
    return [json.loads(each["Message"]) for each in notices(aws, queue)]


def notices(aws: Aws, queue: str) -> list[dict[str, Any]]:
    """
    Return the notices around that, with their subjects, and remove them.
    """
    sqs = aws.client("sqs")
    asked = {"QueueUrl": queue, "MaxNumberOfMessages": 10}
    found = sqs.receive_message(**asked).get("Messages", [])
    for each in found:
        sqs.delete_message(QueueUrl=queue, ReceiptHandle=each["ReceiptHandle"])
    return [json.loads(each["Body"]) for each in found]
