"""
What other clients send, byte for byte, without the clients: their requests were
recorded. The clients themselves are tried by ``make clients``.
"""

from __future__ import annotations

import http.client
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.eventstream import EventStreamBuffer

from tests.local.hosting_requests import (
    LMI_28,
    LMI_36,
    TGI,
    TGI_3,
    make_component,
    make_config,
    make_endpoint,
    make_model,
    serve,
)

if TYPE_CHECKING:
    from pathlib import Path

    from cdk_sagemaker_llm.local import EmbeddedAws

STREAMS = 50
STREAMED = "invocations-response-stream"
PROMPT: dict[str, Any] = {
    # litellm leaves its own settings among the parameters.
    "parameters": {"temperature": 0.2, "max_new_tokens": 12, "model_id": "any"},
    "inputs": "Who is Roger Federer?",
}
CHAT: dict[str, Any] = {
    "model": "endpoint",
    "messages": [{"role": "user", "content": "Who is Roger Federer?"}],
    "temperature": 0.2,
    "stream": False,
    "max_tokens": 12,
    "model_id": "any",
}


class TestLitellm:
    """
    Requests that it signs by itself, for the host that it makes from the region.
    """

    @pytest.mark.parametrize("image", [TGI, LMI_28, LMI_36], ids=["tgi", "28", "36"])
    def test_completions(self, embedded_aws: EmbeddedAws, image: str) -> None:
        """
        ``sagemaker/``, at once and streamed.
        """
        endpoint = serve(embedded_aws, image)

        told = json.loads(post(embedded_aws, endpoint, "invocations", PROMPT))
        told = told[0] if isinstance(told, list) else told
        parts = stream(embedded_aws, endpoint, {**PROMPT, "stream": True})
        text = "".join(one["token"]["text"] for one in objects(parts))
        assert text == told["generated_text"]
        # langchain-aws waits for it, without end.
        assert parts[-1].endswith(b"\n")

    @pytest.mark.parametrize("image", [TGI_3, LMI_36], ids=["tgi3", "36"])
    def test_chat_completions(self, embedded_aws: EmbeddedAws, image: str) -> None:
        """
        ``sagemaker_chat/``: each event is one chunk of OpenAI's.
        """
        endpoint = serve(embedded_aws, image)

        told = json.loads(post(embedded_aws, endpoint, "invocations", CHAT))
        parts = stream(embedded_aws, endpoint, {**CHAT, "stream": True})
        choices = [one["choices"][0] for one in objects(parts) if one["choices"]]
        text = "".join(choice["delta"].get("content") or "" for choice in choices)
        assert text == told["choices"][0]["message"]["content"]
        assert told["choices"][0]["finish_reason"] == "length"
        assert choices[-1]["finish_reason"] == "length"

    def test_a_component_by_a_header_that_is_not_signed(
        self, embedded_aws: EmbeddedAws
    ) -> None:
        """
        ``model_id`` comes after the signature.
        """
        endpoint = make_endpoint(embedded_aws, make_config(embedded_aws))
        component = make_component(embedded_aws, endpoint)

        header = {"X-Amzn-SageMaker-Inference-Component": component}
        told = post(embedded_aws, endpoint, "invocations", PROMPT, **header)
        assert json.loads(told)[0]["generated_text"]


class TestSageMakerSdk:
    """
    The order of its calls, and what it leaves out of them.
    """

    def test_the_configuration_is_deleted_before_the_endpoint(
        self, embedded_aws: EmbeddedAws
    ) -> None:
        """
        As ``delete_model()`` and ``delete_endpoint()`` do it, one after the other.
        """
        sagemaker = embedded_aws.client("sagemaker")
        model = make_model(embedded_aws)
        variant = {"ModelName": model, "InitialVariantWeight": 1}
        config = make_config(embedded_aws, variant=variant)
        endpoint = make_endpoint(embedded_aws, config)

        sagemaker.delete_model(ModelName=model)
        sagemaker.delete_endpoint_config(EndpointConfigName=config)
        shown = sagemaker.describe_endpoint(EndpointName=endpoint)
        assert shown["EndpointStatus"] == "InService"
        assert shown["EndpointConfigName"] == config
        assert post(embedded_aws, endpoint, "invocations", PROMPT)
        sagemaker.delete_endpoint(EndpointName=endpoint)

    def test_an_update_of_resources_keeps_the_model(
        self, embedded_aws: EmbeddedAws
    ) -> None:
        """
        ``update_predictor(resources=...)`` sends nothing else.
        """
        sagemaker = embedded_aws.client("sagemaker")
        endpoint = make_endpoint(embedded_aws, make_config(embedded_aws))
        model = make_model(embedded_aws)
        name = make_component(embedded_aws, endpoint, model=model)
        resources = {
            "NumberOfAcceleratorDevicesRequired": 2,
            "MinMemoryRequiredInMb": 2048,
        }

        sagemaker.update_inference_component(
            InferenceComponentName=name,
            Specification={"ComputeResourceRequirements": resources},
            RuntimeConfig={"CopyCount": 2},
        )
        shown = sagemaker.describe_inference_component(InferenceComponentName=name)
        assert shown["Specification"]["ModelName"] == model
        assert shown["Specification"]["ComputeResourceRequirements"] == resources
        assert shown["RuntimeConfig"]["CurrentCopyCount"] == 2

    def test_an_update_to_another_model_forgets_the_container(
        self, embedded_aws: EmbeddedAws
    ) -> None:
        """
        A component has one or the other.
        """
        sagemaker = embedded_aws.client("sagemaker")
        config = make_config(embedded_aws)
        endpoint = make_endpoint(embedded_aws, config)
        name = make_component(embedded_aws, endpoint)
        resources = {
            "NumberOfAcceleratorDevicesRequired": 1,
            "MinMemoryRequiredInMb": 1024,
        }

        for served in ({"Container": {"Image": TGI}}, {"ModelName": None}):
            wanted = {k: v or make_model(embedded_aws) for k, v in served.items()}
            sagemaker.update_inference_component(
                InferenceComponentName=name,
                Specification={**wanted, "ComputeResourceRequirements": resources},
            )
            shown = sagemaker.describe_inference_component(InferenceComponentName=name)
            assert set(shown["Specification"]) == {
                *served,
                "ComputeResourceRequirements",
            }


def test_fifty_streams_are_open_at_once(embedded_aws: EmbeddedAws) -> None:
    """
    As aioboto3's in one event loop; nobody reads before everybody has an answer.
    """
    endpoint = serve(embedded_aws, LMI_28)
    config = Config(max_pool_connections=STREAMS, retries={"max_attempts": 0})
    runtime = embedded_aws.client("sagemaker-runtime", config=config)
    opened = threading.Barrier(STREAMS)

    def read(number: int) -> str:
        answer = runtime.invoke_endpoint_with_response_stream(
            EndpointName=endpoint,
            ContentType="application/json",
            Accept="application/json",
            Body=json.dumps({"inputs": f"Question {number}", "stream": True}),
        )
        opened.wait(timeout=60)
        parts = [event["PayloadPart"]["Bytes"] for event in answer["Body"]]
        return b"".join(parts).decode()

    with ThreadPoolExecutor(STREAMS) as pool:
        bodies = list(pool.map(read, range(STREAMS)))
    told = [[json.loads(line) for line in body.splitlines()] for body in bodies]
    texts = {lines[-1]["generated_text"] for lines in told}
    assert len(texts) > 1
    for lines in told:
        text = "".join(line["token"]["text"] for line in lines)
        assert text == lines[-1]["generated_text"]


def test_the_documented_versions_are_the_locked_ones(root: Path) -> None:
    """
    Each row of the table of clients names what ``make clients`` installs.
    """
    paths = (root / "tools" / "clients").glob("*/requirements.txt")
    locked = "".join(path.read_text() for path in paths)
    pins = re.findall(r"^(\S+)==(\S+)", locked, re.MULTILINE)
    lock = json.loads((root / "package-lock.json").read_text())
    cli = lock["packages"]["node_modules/aws-cdk"]["version"]
    text = (root / "docs" / "local.md").read_text()
    table = text.partition("| Client | Version | Tried |")[2].partition("\n\n")[0]
    rows = [row.split(" | ") for row in table.splitlines()[2:]]
    versions = {row[0].strip("| "): row[1] for row in rows}

    assert versions.pop("CDK CLI") == cli
    packages = {name.split("`")[1]: version for name, version in versions.items()}
    assert len(packages) == 12
    for name, version in packages.items():
        assert (name.replace(".", "-"), version) in pins


def post(
    aws: EmbeddedAws, endpoint: str, action: str, body: dict[str, Any], **after: str
) -> bytes:
    """
    Send a request that is signed for the service's own address, and return the answer.

    Args:
        after: Headers that the signature does not cover.
    """
    host = f"runtime.sagemaker.{aws.region}.amazonaws.com"
    path = f"/endpoints/{endpoint}/{action}"
    data = json.dumps(body).encode()
    content = {"Content-Type": "application/json"}
    request = AWSRequest("POST", f"https://{host}{path}", content, data)
    credentials = Credentials("test", "test")
    SigV4Auth(credentials, "sagemaker", aws.region).add_auth(request)
    own = {"Accept": "*/*", "Accept-Encoding": "gzip, deflate", "Host": host}
    connection = http.client.HTTPConnection("127.0.0.1", aws.port, timeout=60)
    connection.request("POST", path, data, {**own, **dict(request.headers), **after})
    response = connection.getresponse()
    answer = response.read()
    connection.close()
    assert response.status == 200, answer
    return answer


def stream(aws: EmbeddedAws, endpoint: str, body: dict[str, Any]) -> list[bytes]:
    """
    Send a request for a stream and return the parts of the answer.
    """
    buffer = EventStreamBuffer()
    buffer.add_data(post(aws, endpoint, STREAMED, body))
    return [event.payload for event in buffer]


def objects(parts: list[bytes]) -> list[dict[str, Any]]:
    """
    Read the objects of a stream's parts as litellm does.

    A part is added to what is not yet JSON; with two objects at once it never is.
    """
    found: list[dict[str, Any]] = []
    held = ""
    for part in parts:
        text = part.decode().replace("\n\n", "")
        held += (
            text.removeprefix("data:").lstrip() if text.startswith("data:") else text
        )
        if held.strip() in {"", "[DONE]"}:
            held = ""
            continue
        try:
            found.append(json.loads(held))
        except ValueError:
            continue
        held = ""
    assert not held
    return found
