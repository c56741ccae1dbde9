"""
SageMaker's route for OpenAI's clients: what they send is answered, and refused, in the
form that they read.
"""

from __future__ import annotations

import http.client
import json
import socket
import struct
from typing import TYPE_CHECKING, Any

import pytest

from cdk_sagemaker_llm.client import bearer_token
from tests.local.bearer import CHAT, address, ask, make_token
from tests.local.hosting_requests import (
    LMI_26,
    LMI_28,
    LMI_36,
    REGISTRY,
    TGI,
    TGI_3,
    make_component,
    make_config,
    make_endpoint,
    make_model,
    serve,
    unique,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cdk_sagemaker_llm.local import EmbeddedAws
    from cdk_sagemaker_llm.local.aws.untyped import Untyped

VLLM = f"{REGISTRY}/vllm:server-sagemaker-cuda-v2.6"
TEI = f"{REGISTRY}/tei:2.0.1-tei1.8.2-gpu-py310-cu122-ubuntu22.04"
ENVIRONMENT = {
    "SM_VLLM_MODEL": "Qwen/Qwen3-4B",
    "SM_VLLM_ENABLE_AUTO_TOOL_CHOICE": "true",
    "SM_VLLM_TOOL_CALL_PARSER": "hermes",
}
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


@pytest.fixture(name="aws", scope="module")
def _aws(near_aws: EmbeddedAws) -> EmbeddedAws:
    return near_aws


@pytest.fixture(name="model", scope="module")
def _model(aws: EmbeddedAws) -> str:
    return make_model(aws, image=VLLM, container={"Environment": ENVIRONMENT})


@pytest.fixture(name="endpoint", scope="module")
def _endpoint(aws: EmbeddedAws, model: str) -> str:
    variant = {"ModelName": model, "InstanceType": "ml.g6.2xlarge"}
    return make_endpoint(aws, make_config(aws, variant=variant))


@pytest.fixture(name="host", scope="module")
def _host(aws: EmbeddedAws) -> str:
    return make_endpoint(aws, make_config(aws))


@pytest.fixture(name="component", scope="module")
def _component(aws: EmbeddedAws, host: str, model: str) -> str:
    return make_component(aws, host, model=model)


@pytest.fixture(name="faulty")
def _faulty(aws: EmbeddedAws) -> Iterator[EmbeddedAws]:
    yield aws
    aws.clear_faults()


def invoked(aws: EmbeddedAws, endpoint: str, **body: Untyped) -> dict[str, Any]:
    """
    Return what ``InvokeEndpoint`` answers a chat with.
    """
    answer = aws.client("sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoint,
        ContentType="application/json",
        Body=json.dumps({**CHAT, **body}),
    )
    document: dict[str, Any] = json.load(answer["Body"])
    return document


def test_a_chat_is_answered_as_by_invoke_endpoint(
    aws: EmbeddedAws, endpoint: str
) -> None:
    """
    The same container answers in its own words.
    """
    reply = ask(aws, address(endpoint))

    assert (reply.status, reply.kind) == (200, "application/json")
    assert reply.document["object"] == "chat.completion"
    assert reply.document["model"] == "Qwen/Qwen3-4B"
    assert reply.document["choices"] == invoked(aws, endpoint)["choices"]
    assert reply.document["usage"]["completion_tokens"] == 12


def test_the_clients_own_token_is_taken(aws: EmbeddedAws, endpoint: str) -> None:
    """
    Signed with the credentials that the embedded AWS hands out.
    """
    token = bearer_token(session=aws.session, seconds=60)

    assert ask(aws, address(endpoint), token=token).status == 200


def test_a_stream_is_of_server_sent_events(aws: EmbeddedAws, endpoint: str) -> None:
    """
    As the container writes them, without frames of SageMaker's, to the last word.
    """
    options = {"stream": True, "stream_options": {"include_usage": True}}

    reply = ask(aws, address(endpoint), {**CHAT, **options})

    assert (reply.status, reply.kind) == (200, "text/event-stream")
    *chunks, last = reply.chunks
    text = "".join(one["choices"][0]["delta"].get("content", "") for one in chunks)
    assert text == invoked(aws, endpoint)["choices"][0]["message"]["content"]
    assert {one["object"] for one in chunks} == {"chat.completion.chunk"}
    assert last["usage"]["completion_tokens"] == 12


def test_tools_are_called(aws: EmbeddedAws, endpoint: str) -> None:
    """
    The call that the model makes comes back in OpenAI's form.
    """
    body = {**CHAT, "tools": [TOOL], "tool_choice": "required"}

    reply = ask(aws, address(endpoint), body)

    (call,) = reply.document["choices"][0]["message"]["tool_calls"]
    assert call["function"]["name"] == "weather"
    assert isinstance(json.loads(call["function"]["arguments"]), dict)
    assert reply.document["choices"][0]["finish_reason"] == "tool_calls"


def test_a_component_is_named_in_the_path(
    aws: EmbeddedAws, host: str, component: str
) -> None:
    """
    Its copies answer.
    """
    reply = ask(aws, address(host, component))

    assert reply.status == 200
    assert reply.document["choices"][0]["message"]["content"]


@pytest.mark.parametrize(
    ("name", "status"), [("", 200), ("Qwen/Qwen3-4B", 200), ("gpt-5", 404)]
)
def test_the_container_checks_what_the_model_is_called(
    aws: EmbeddedAws, endpoint: str, name: str, status: int
) -> None:
    """
    An empty name is any; below ``/invocations`` vLLM does not look at it.
    """
    assert ask(aws, address(endpoint), {**CHAT, "model": name}).status == status
    assert invoked(aws, endpoint, model=name)["choices"]


@pytest.mark.parametrize(
    ("image", "kind"),
    [(TGI, "text/event-stream"), (TGI_3, "text/event-stream")]
    + [(image, "application/jsonlines") for image in (LMI_28, LMI_36)],
    ids=["tgi1", "tgi3", "lmi28", "lmi36"],
)
def test_other_containers_answer_in_their_own_way(
    aws: EmbeddedAws, image: str, kind: str
) -> None:
    """
    TGI has the path from 1.4 on; LMI's stream is not one that OpenAI's SDK reads.
    """
    base = address(serve(aws, image))

    assert ask(aws, base).document["choices"][0]["message"]["content"]
    assert ask(aws, base, {**CHAT, "stream": True}).kind == kind


@pytest.mark.parametrize("image", [LMI_26, TEI], ids=["lmi26", "tei"])
def test_a_container_without_chats_has_no_such_path(
    aws: EmbeddedAws, image: str
) -> None:
    """
    What it says of that is passed on.
    """
    environment = {"HF_MODEL_ID": "BAAI/bge-small-en-v1.5"}

    reply = ask(aws, address(serve(aws, image, environment)))

    assert reply.status == 404
    assert reply.error["code"] == "model_error"


class TestRefusals:
    """
    In OpenAI's form.
    """

    def test_an_endpoint_that_is_not_there(self, aws: EmbeddedAws) -> None:
        """
        The words, the type and the code are those of the real service.
        """
        reply = ask(aws, address("nobody"))

        assert (reply.status, reply.kind) == (400, "application/json")
        assert reply.document == {
            "error": {
                "message": f"Endpoint nobody of account {aws.account} not found.",
                "type": "invalid_request_error",
                "code": "validation_error",
            }
        }

    def test_an_endpoint_without_instances_yet(
        self, faulty: EmbeddedAws, model: str
    ) -> None:
        """
        One that did not come up is not there.
        """
        faulty.fault("no-capacity", "ml.g6.4xlarge")
        variant = {"ModelName": model, "InstanceType": "ml.g6.4xlarge"}
        endpoint = make_endpoint(faulty, make_config(faulty, variant=variant))

        reply = ask(faulty, address(endpoint))

        assert reply.status == 400
        assert reply.error["message"].endswith("not found.")

    def test_a_component_without_copies(
        self, aws: EmbeddedAws, host: str, model: str
    ) -> None:
        """
        The real service's own body.
        """
        component = make_component(aws, host, model=model, copies=0)

        reply = ask(aws, address(host, component))

        assert reply.status == 400
        assert reply.error == {
            "message": "Inference Component has no capacity to process this request. "
            "ApplicationAutoScaling may be in-progress (if configured) or try to "
            "increase the capacity by invoking UpdateInferenceComponentRuntimeConfig "
            "API.",
            "type": "invalid_request_error",
            "code": "validation_error",
        }

    def test_a_component_that_is_needed_or_not_there(
        self, aws: EmbeddedAws, endpoint: str, host: str, component: str
    ) -> None:
        """
        None, one that nobody knows, and one of an endpoint that has a model.
        """
        told = [
            ask(aws, base).error["message"]
            for base in (
                address(host),
                address(host, "nobody"),
                address(endpoint, component),
            )
        ]

        assert told[0].startswith("Inference Component Name header is required")
        assert told[1] == f"Inference Component nobody of endpoint {host} not found."
        assert told[2].startswith("Inference Component Name header is not allowed")

    def test_the_header_that_names_a_component(
        self, aws: EmbeddedAws, host: str, component: str
    ) -> None:
        """
        Here the path does, whatever the header says.
        """
        headers = {"X-Amzn-SageMaker-Inference-Component": component}

        reply = ask(aws, address(host, component), headers=headers)

        assert reply.status == 400
        assert "name the component in the path" in reply.error["message"]

    def test_what_the_container_refuses(self, aws: EmbeddedAws, endpoint: str) -> None:
        """
        Its status, and its body whole in the message, as the real service has them.
        """
        reply = ask(aws, address(endpoint), {**CHAT, "max_tokens": 10_000_000})

        own = (
            '{"error":{"message":"max_tokens=10000000 cannot be greater than '
            "max_model_len=max_total_tokens=40960. Please request fewer output tokens. "
            '(parameter=max_tokens, value=10000000)","type":"BadRequestError",'
            '"param":"max_tokens","code":400}}'
        )
        assert reply.status == 400
        assert reply.error == {
            "message": f'Received client error (400) from primary with message "{own}".'
            " See https://us-east-1.console.aws.amazon.com/cloudwatch/home?region="
            "us-east-1#logEventViewer:group=/aws/sagemaker/Endpoints/"
            f"{endpoint} in account {aws.account} for more information.",
            "type": "server_error",
            "code": "model_error",
        }

    def test_a_body_that_is_no_json(self, aws: EmbeddedAws, endpoint: str) -> None:
        """
        The container says so.
        """
        reply = ask(aws, address(endpoint), b"{")

        assert (reply.status, reply.error["code"]) == (400, "model_error")
        assert "JSON decode error" in reply.error["message"]

    @pytest.mark.parametrize(
        ("answer", "status", "code"),
        [
            ("503", 503, "model_error"),
            ("429", 429, "model_error"),
            ("throttled", 429, "throttling_error"),
        ],
    )
    def test_faults(
        self, faulty: EmbeddedAws, endpoint: str, answer: str, status: int, code: str
    ) -> None:
        """
        The container's status reaches the client, and so does the service's limit.
        """
        faulty.fault("errors", endpoint, answer=answer)

        reply = ask(faulty, address(endpoint))

        assert (reply.status, reply.error["code"]) == (status, code)

    @pytest.mark.parametrize(
        ("size", "status"), [(6_291_456, 400), (6_291_457, 413)], ids=["at", "above"]
    )
    def test_a_body_that_is_too_large(
        self, aws: EmbeddedAws, endpoint: str, size: int, status: int
    ) -> None:
        """
        Up to the limit of ``InvokeEndpoint`` it reaches the container.
        """
        reply = ask(aws, address(endpoint), b"x" * size)

        assert reply.status == status
        assert set(reply.error) == {"message", "type", "code"}

    @pytest.mark.parametrize(
        ("method", "path"),
        [
            ("GET", "/models"),
            ("POST", "/embeddings"),
            ("POST", "/completions"),
            ("POST", "/responses"),
            ("GET", "/chat/completions"),
            ("PUT", "/chat/completions"),
            ("PATCH", "/chat/completions"),
            ("POST", ""),
            ("POST", "/chat/completions/"),
        ],
    )
    def test_what_the_route_is_not_known_to_have(
        self, aws: EmbeddedAws, endpoint: str, method: str, path: str
    ) -> None:
        """
        The guide has chats alone; the message says what to do instead.
        """
        reply = ask(aws, address(endpoint), method=method, path=path)

        assert (reply.status, reply.error["code"]) == (404, "not_found")
        assert (
            f"{method} {address(endpoint)}{path} is not there"
            in (reply.error["message"])
        )
        assert "by InvokeEndpoint" in reply.error["message"]

    @pytest.mark.parametrize(
        "base",
        [
            "",
            "/v1",
            "/openai/v1",
            "/endpoints/a/v1",
            "/endpoints/a/b/openai/v1",
            "/endpoints//openai/v1",
            "/endpoints/a/inference-components/openai/v1",
        ],
    )
    @pytest.mark.parametrize("method", ["POST", "DELETE"])
    def test_a_base_address_that_is_none(
        self, aws: EmbeddedAws, base: str, method: str
    ) -> None:
        """
        The message says what one ends in.
        """
        reply = ask(aws, base, method=method)

        assert (reply.status, reply.error["code"]) == (404, "not_found")
        assert f"{method} {base}/chat/completions is not" in reply.error["message"]
        assert "/endpoints/NAME/openai/v1" in reply.error["message"]

    def test_an_endpoint_of_asynchronous_inference(
        self, aws: EmbeddedAws, model: str
    ) -> None:
        """
        Nobody waits for it.
        """
        place = {"OutputConfig": {"S3OutputPath": "s3://answers/out"}}
        variant = {"ModelName": model, "InstanceType": "ml.g6.2xlarge"}
        config = make_config(aws, variant=variant, AsyncInferenceConfig=place)

        reply = ask(aws, address(make_endpoint(aws, config)))

        assert reply.status == 400
        assert "invoke it by InvokeEndpointAsync" in reply.error["message"]


def test_a_stream_that_breaks_off_ends_without_its_end(
    faulty: EmbeddedAws, endpoint: str
) -> None:
    """
    A client notices: the last chunk of the transfer is missing.
    """
    faulty.fault("errors", endpoint, answer="cut")

    with pytest.raises(http.client.IncompleteRead) as caught:
        ask(faulty, address(endpoint), {**CHAT, "stream": True})

    assert caught.value.partial.startswith(b'data: {"id"')
    assert b"[DONE]" not in caught.value.partial


def test_a_client_that_goes_leaves_nothing_behind(
    aws: EmbeddedAws, endpoint: str
) -> None:
    """
    In the middle of its request, or of the answer; the next one is answered.
    """
    for sent in (0.5, 1.0):
        body = json.dumps({**CHAT, "stream": True}).encode()
        head = (
            f"POST {address(endpoint)}/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {make_token()}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection(("localhost", aws.port)) as connection:
            connection.sendall(head.encode() + body[: int(len(body) * sent)])
            # Gone at once, by a reset.
            linger = struct.pack("ii", 1, 0)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

        assert ask(aws, address(endpoint)).status == 200


def test_names_that_nobody_has(aws: EmbeddedAws) -> None:
    """
    Whatever letters they are of.
    """
    for name in ("caf%C3%A9", "a%20b", "%F0%9F%98%80", unique("x") * 9):
        reply = ask(aws, address(name))

        assert reply.status == 400
        assert reply.error["message"].endswith("not found.")
