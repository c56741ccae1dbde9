"""
Chat completions through the runtime: who knows them, and how they are written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local.engines.story import continue_prompt
from tests.local.by_hand import HandRunAws, hand_run_aws
from tests.local.hosting_requests import (
    LMI_26,
    LMI_28,
    LMI_36,
    REGISTRY,
    TGI,
    prompt,
    serve,
)

TGI_3 = f"{REGISTRY}/huggingface-pytorch-tgi-inference:2.6.0-tgi3.2.3-gpu-py311-cu124"
LMI_27 = f"{REGISTRY}/djl-inference:0.27.0-deepspeed0.12.6-cu121"
ASKED = {
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Who are you?"}]},
    ]
}
TEXT = continue_prompt("Be brief.\nWho are you?", 1000).text
ENABLED = {"MESSAGES_API_ENABLED": "true"}

KNOWING = pytest.mark.parametrize(
    ("image", "environment"),
    [(LMI_27, {}), (LMI_28, {}), (LMI_36, {}), (TGI, ENABLED), (TGI_3, {})],
    ids=["lmi-0.27", "lmi-0.28", "lmi-0.36", "tgi-1.4.5", "tgi-3.2.3"],
)


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws(takes_time=False) as aws:
        yield aws


@KNOWING
def test_the_whole_answer(
    aws: HandRunAws, image: str, environment: dict[str, str]
) -> None:
    """
    One choice, why it stopped, and the tokens that were used.
    """
    endpoint = serve(aws, image, environment)

    content_type, body = call(aws, endpoint, max_tokens=5)
    answer = json.loads(body)
    assert content_type == "application/json"
    assert answer["object"] == "chat.completion"
    assert answer["choices"][0]["message"] == {
        "role": "assistant",
        "content": continue_prompt("Be brief.\nWho are you?", 5).text,
    }
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"] == {
        "prompt_tokens": 5,
        "completion_tokens": 5,
        "total_tokens": 10,
    }


@pytest.mark.parametrize(
    ("image", "environment", "reason"),
    [
        (LMI_28, {}, "eos_token"),
        (LMI_36, {}, "stop"),
        (TGI, ENABLED, "eos_token"),
        (TGI_3, {}, "stop"),
    ],
    ids=["lmi-0.28", "lmi-0.36", "tgi-1.4.5", "tgi-3.2.3"],
)
def test_why_it_stopped(
    aws: HandRunAws, image: str, environment: dict[str, str], reason: str
) -> None:
    """
    In each container's own word.
    """
    endpoint = serve(aws, image, environment)

    choice = json.loads(call(aws, endpoint, max_tokens=500)[1])["choices"][0]
    assert choice["message"]["content"] == TEXT
    assert choice["finish_reason"] == reason


@KNOWING
def test_a_stream(aws: HandRunAws, image: str, environment: dict[str, str]) -> None:
    """
    Server-sent events of TGI, which end with DONE, and lines of JSON of LMI.
    """
    endpoint = serve(aws, image, environment)

    content_type, body = call_stream(aws, endpoint, max_tokens=500)
    if "tgi" in image:
        assert content_type == "text/event-stream"
        *events, done = [e.removeprefix("data:") for e in body.split("\n\n") if e]
        assert done == " [DONE]"
    else:
        assert content_type == "application/jsonlines"
        events = body.splitlines()
    chunks = [json.loads(event) for event in events]
    choices = [chunk["choices"][0] for chunk in chunks]
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert choices[0]["delta"]["role"] == "assistant"
    assert "".join(choice["delta"]["content"] for choice in choices) == TEXT
    reasons = [choice["finish_reason"] for choice in choices]
    assert set(reasons[:-1]) == {None}
    assert reasons[-1] in {"stop", "eos_token"}


@pytest.mark.parametrize("image", [LMI_36, TGI_3], ids=["lmi-0.36", "tgi-3.2.3"])
def test_a_stream_counts_its_tokens_on_request(aws: HandRunAws, image: str) -> None:
    """
    In a last chunk without choices.
    """
    endpoint = serve(aws, image)

    _, body = call_stream(
        aws, endpoint, max_tokens=5, stream_options={"include_usage": True}
    )
    usage = re.findall(r'"total_tokens": ?(\d+)', body)
    assert usage == ["10"]


@pytest.mark.parametrize(
    ("image", "environment", "words"),
    [
        (LMI_26, {}, "missing field `inputs`"),
        (TGI, {}, "missing field `inputs`"),
        (TGI, {"MESSAGES_API_ENABLED": "false"}, "missing field `inputs`"),
    ],
    ids=["lmi-0.26", "tgi-1.4.5", "tgi-1.4.5-off"],
)
def test_who_does_not_know_them_refuses(
    aws: HandRunAws, image: str, environment: dict[str, str], words: str
) -> None:
    """
    As a body without its prompt.
    """
    endpoint = serve(aws, image, environment)

    with pytest.raises(ClientError, match=rf"\(ModelError\).*{words}"):
        call(aws, endpoint)


def test_an_older_tgi_that_chats_does_nothing_else(aws: HandRunAws) -> None:
    """
    The variable exchanges the route behind /invocations.
    """
    endpoint = serve(aws, TGI, ENABLED)

    with pytest.raises(ClientError, match="missing field `messages`"):
        aws.client("sagemaker-runtime").invoke_endpoint(
            EndpointName=endpoint, Body=prompt("Who?")
        )


@pytest.mark.parametrize("image", [LMI_28, LMI_36, TGI_3])
def test_a_plain_prompt_is_answered_beside(aws: HandRunAws, image: str) -> None:
    """
    By its shape.
    """
    endpoint = serve(aws, image)

    answered = aws.client("sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoint, Body=prompt("Who?")
    )
    assert b"generated_text" in answered["Body"].read()


@pytest.mark.parametrize(
    "messages",
    [[], "Who?", [7], [{"content": "Who?"}], [{"role": "user", "content": 7}]],
    ids=str,
)
@pytest.mark.parametrize("image", [LMI_28, LMI_36, TGI_3])
def test_what_are_no_messages_is_refused(
    aws: HandRunAws,
    image: str,
    messages: Any,  # noqa: ANN401 - anything but messages
) -> None:
    """
    By the container.
    """
    endpoint = serve(aws, image)

    with pytest.raises(ClientError, match=r"\(ModelError\)"):
        call(aws, endpoint, messages=messages)


def call(aws: HandRunAws, endpoint: str, **more: object) -> tuple[str, str]:
    """
    Ask for a chat completion.
    """
    answered = aws.client("sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoint,
        ContentType="application/json",
        Body=json.dumps({**ASKED, **more}),
    )
    return answered["ContentType"], answered["Body"].read().decode()


def call_stream(aws: HandRunAws, endpoint: str, **more: object) -> tuple[str, str]:
    """
    Ask for a chat completion in parts.
    """
    answered = aws.client("sagemaker-runtime").invoke_endpoint_with_response_stream(
        EndpointName=endpoint,
        ContentType="application/json",
        Body=json.dumps({**ASKED, "stream": True, **more}),
    )
    parts = (event["PayloadPart"]["Bytes"] for event in answered["Body"])
    return answered["ContentType"], b"".join(parts).decode()
