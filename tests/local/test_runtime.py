"""
What the runtime answers: bytes, streams, refusals.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local.aws.artifacts import read_archive
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.engines.containers import (
    ServingContainer,
    serving_container,
)
from cdk_sagemaker_llm.local.engines.generated_text import RollingBatch, text_answer
from cdk_sagemaker_llm.local.engines.story import Generation, Token, continue_prompt
from tests.local.by_hand import HandRunAws, hand_run_aws
from tests.local.hosting_requests import (
    LMI_26,
    LMI_28,
    LMI_36,
    TGI,
    artifact,
    make_component,
    make_config,
    make_endpoint,
    prompt,
    serve,
)

WIRE = Path(__file__).parent / "wire"
CAT = Generation(
    prompt='Once "upon"\n',
    tokens=(
        Token(1124, "The", -0.5),
        Token(278, " cat", -1.25),
        Token(0, " sat", 0.0),
        Token(29889, ".", -0.125),
    ),
    end=Token(2, "", -0.01),
)
SHORT = Generation(prompt="Once", tokens=CAT.tokens[:2])


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws(takes_time=False) as aws:
        yield aws


def recorded(version: str) -> Untyped:
    """
    Read the bodies that a version was recorded to write.
    """
    return json.loads((WIRE / f"lmi_{version}.json").read_text())


class TestWireFormats:
    """
    Byte for byte what the containers write.
    """

    @pytest.mark.parametrize("formatter", ["json", "jsonlines"])
    @pytest.mark.parametrize("details", ["false", "true"])
    def test_lmi_0_26(self, formatter: str, details: str) -> None:
        """
        What is falsy is left out of a token.
        """
        expected = recorded("0.26")[f"{formatter}_details_{details}"]

        pieces = RollingBatch((0, 26, 0)).write(
            formatter, CAT, details=details == "true"
        )
        assert [piece.decode() for piece in pieces] == expected["chunks"]

    @pytest.mark.parametrize("formatter", ["json", "jsonlines", "sse"])
    @pytest.mark.parametrize("details", ["false", "true"])
    @pytest.mark.parametrize("flavour", ["", "_tgi"])
    def test_lmi_0_28(self, formatter: str, details: str, flavour: str) -> None:
        """
        Every token in full; tgi_compat has an array, other keys and details always.
        """
        expected = recorded("0.28")[f"{formatter}{flavour}_details_{details}"]

        pieces = RollingBatch((0, 28, 0), tgi=bool(flavour)).write(
            formatter, CAT, details=details == "true" or bool(flavour)
        )
        assert [piece.decode() for piece in pieces] == expected["chunks"]

    @pytest.mark.parametrize("stream", ["", "_stream"])
    @pytest.mark.parametrize("details", ["false", "true"])
    def test_lmi_0_35(self, stream: str, details: str) -> None:
        """
        The asynchronous service: logprob, nulls, blank lines at the end.
        """
        expected = recorded("async_0.35")[f"async{stream}_details_{details}"]

        content_type, pieces = text_answer(
            ServingContainer(server="lmi", version=(0, 35, 0)),
            SHORT,
            details=details == "true",
            stream=bool(stream),
        )
        assert content_type == expected["content_type"]
        assert b"".join(pieces).decode() == expected["body"]

    def test_lmi_0_27_writes_ids_as_lists(self) -> None:
        """
        Of all versions only that one.
        """
        pieces = RollingBatch((0, 27, 0)).write("jsonlines", CAT, details=True)

        lines = [json.loads(piece) for piece in pieces]
        assert lines[0] == {"token": {"id": [1124], "text": "The", "log_prob": -0.5}}
        assert lines[-1]["details"]["generated_tokens"] == 5


class TestContainers:
    """
    Which container answers.
    """

    @pytest.mark.parametrize(
        ("image", "server", "version"),
        [
            (LMI_26, "lmi", (0, 26, 0)),
            (LMI_36, "lmi", (0, 36, 0)),
            (TGI, "tgi", (1, 4, 5)),
        ],
    )
    def test_it_is_recognised_by_its_tag(
        self, image: str, server: str, version: tuple[int, ...]
    ) -> None:
        """
        The repository says which server, the tag which version.
        """
        found = serving_container(image, {}, {})

        assert found is not None
        assert (found.server, found.version) == (server, version)

    def test_the_artifact_wins_over_the_environment(self) -> None:
        """
        Both name options; what is in neither is left to the container.
        """
        environment = {"OPTION_OUTPUT_FORMATTER": "sse", "OPTION_TGI_COMPAT": "true"}
        read = read_archive(artifact(output_formatter="json"))
        found = serving_container(LMI_28, environment, read)

        assert found is not None
        assert found.options == {"output_formatter": "json", "tgi_compat": "true"}

    def test_the_old_rolling_batch_can_be_asked_for(self) -> None:
        """
        From 0.35 on the asynchronous service is the default, not the only one.
        """
        default = serving_container(LMI_36, {}, {})
        chosen = serving_container(LMI_36, {"OPTION_ROLLING_BATCH": "vllm"}, {})

        assert default is not None
        assert chosen is not None
        assert default.is_async
        assert not chosen.is_async


class TestInvocations:
    """
    Calls through boto3, over a socket.
    """

    def test_lmi_0_26_answers_one_document(self, aws: HandRunAws) -> None:
        """
        With details: a log probability a token and why it stopped.
        """
        endpoint = serve(aws, LMI_26)

        body = invoke(aws, endpoint, details=True, max_new_tokens=5)
        assert body["details"]["finish_reason"] == "length"
        assert len(body["details"]["tokens"]) == 5
        assert body["generated_text"] == continue_prompt("Who are you?", 5).text

    def test_tgi_answers_an_array(self, aws: HandRunAws) -> None:
        """
        On /invocations, when nothing is streamed.
        """
        endpoint = serve(aws, TGI)

        body = invoke(aws, endpoint, details=True, max_new_tokens=500)
        assert body[0]["details"]["finish_reason"] == "eos_token"
        assert body[0]["details"]["tokens"][-1]["special"] is True

    def test_a_stream_comes_in_parts_that_are_not_lines(self, aws: HandRunAws) -> None:
        """
        The parts together are the lines; at least one ends in the middle of one.
        """
        endpoint = serve(aws, LMI_26, output_formatter="jsonlines")

        content_type, parts = stream(aws, endpoint, prompt("Who are you?"))
        lines = [json.loads(line) for line in b"".join(parts).splitlines()]
        assert content_type == "application/jsonlines"
        assert len(parts) > 10
        assert any(not part.endswith(b"\n") for part in parts)
        assert lines[-1]["generated_text"] == "".join(
            line["token"].get("text", "") for line in lines
        )

    def test_lmi_0_26_ignores_stream_in_the_request(self, aws: HandRunAws) -> None:
        """
        The JSON formatter's document comes in fragments.
        """
        endpoint = serve(aws, LMI_26)

        _, parts = stream(aws, endpoint, prompt("Who are you?", stream=True))
        assert len(parts) > 1
        assert json.loads(b"".join(parts))["generated_text"]

    @pytest.mark.parametrize(
        ("image", "content_type", "start"),
        [
            (LMI_28, "application/jsonlines", b'{"token": {"id": '),
            (LMI_36, "application/jsonlines", b'{"index": 0, "token": {"id": '),
            (TGI, "text/event-stream", b'data:{"index":1,"token":{"id":'),
        ],
        ids=["lmi-0.28", "lmi-0.36", "tgi"],
    )
    def test_later_containers_stream_on_request(
        self, aws: HandRunAws, image: str, content_type: str, start: bytes
    ) -> None:
        """
        Each in its own format.
        """
        endpoint = serve(aws, image)

        found, parts = stream(aws, endpoint, prompt("Who are you?", stream=True))
        assert found == content_type
        assert b"".join(parts).startswith(start)

    def test_a_text_can_be_continued_to_its_end(self, aws: HandRunAws) -> None:
        """
        Asked again with the text so far while it stops for its length.
        """
        endpoint = serve(aws, LMI_26)
        text, reason, calls = "Who are you?", "length", 0
        while reason == "length":
            body = invoke(aws, endpoint, text, details=True, max_new_tokens=25)
            text += body["generated_text"]
            reason, calls = body["details"]["finish_reason"], calls + 1

        assert reason == "eos_token"
        assert calls > 2
        assert text == "Who are you?" + continue_prompt("Who are you?", 1000).text


class TestRefusals:
    """
    What SageMaker or the container does not answer.
    """

    def test_an_unknown_endpoint(self, aws: HandRunAws) -> None:
        """
        Named with the account.
        """
        with pytest.raises(ClientError, match=r"Endpoint x of account \d{12} not"):
            invoke(aws, "x")

    def test_a_component_has_to_be_named(self, aws: HandRunAws) -> None:
        """
        On an endpoint for components, and only there.
        """
        endpoint = make_endpoint(aws, make_config(aws))
        name = make_component(aws, endpoint)
        other = serve(aws, TGI)
        runtime = aws.client("sagemaker-runtime")

        with pytest.raises(ClientError, match="Component Name header is required"):
            invoke(aws, endpoint)
        with pytest.raises(ClientError, match="Name header is not allowed"):
            runtime.invoke_endpoint(
                EndpointName=other, InferenceComponentName=name, Body=prompt("Hello")
            )
        answered = runtime.invoke_endpoint(
            EndpointName=endpoint, InferenceComponentName=name, Body=prompt("Hello")
        )
        assert json.loads(answered["Body"].read())[0]["generated_text"]

    def test_a_component_without_copies(self, aws: HandRunAws) -> None:
        """
        Scaled to zero it has no capacity: an error, not a wait.
        """
        endpoint = make_endpoint(aws, make_config(aws))
        name = make_component(aws, endpoint, copies=0)

        with pytest.raises(ClientError, match="has no capacity to process this"):
            aws.client("sagemaker-runtime").invoke_endpoint(
                EndpointName=endpoint, InferenceComponentName=name, Body=prompt("Hello")
            )

    @pytest.mark.parametrize(
        ("image", "status", "words"),
        [(LMI_26, 424, '"code": 424'), (TGI, 422, "Failed to deserialize the JSON")],
        ids=["lmi", "tgi"],
    )
    def test_a_request_that_is_no_json(
        self, aws: HandRunAws, image: str, status: int, words: str
    ) -> None:
        """
        The container's status and body inside SageMaker's ModelError.
        """
        endpoint = serve(aws, image)

        with pytest.raises(ClientError, match=re.escape(words)) as caught:
            aws.client("sagemaker-runtime").invoke_endpoint(
                EndpointName=endpoint, Body=b"{"
            )
        response: Any = caught.value.response
        assert response["Error"]["Code"] == "ModelError"
        assert response["OriginalStatusCode"] == status
        assert response["ResponseMetadata"]["HTTPStatusCode"] == 424

    def test_an_image_it_knows_nothing_of(self, aws: HandRunAws) -> None:
        """
        Rather a refusal than an answer in the wrong format.
        """
        endpoint = serve(aws, "example/some-server:1.0")

        with pytest.raises(ClientError, match="does not know the answers of image"):
            invoke(aws, endpoint)


def invoke(
    aws: HandRunAws, endpoint: str, text: str = "Who are you?", **parameters: Untyped
) -> Untyped:
    """
    Call an endpoint and read its JSON.
    """
    answered = aws.client("sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoint,
        ContentType="application/json",
        Body=prompt(text, **parameters),
    )
    return json.loads(answered["Body"].read())


def stream(aws: HandRunAws, endpoint: str, body: bytes) -> tuple[str, list[bytes]]:
    """
    Call an endpoint and collect the parts of its stream.
    """
    answered = aws.client("sagemaker-runtime").invoke_endpoint_with_response_stream(
        EndpointName=endpoint, Body=body
    )
    parts = [event["PayloadPart"]["Bytes"] for event in answered["Body"]]
    return answered["ContentType"], parts
