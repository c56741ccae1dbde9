"""
Engines with OpenAI's routes: what is sent to them, and what comes back.
"""

from __future__ import annotations

import asyncio
import json

import pytest

from cdk_sagemaker_llm.client import (
    FinishReason,
    ModelError,
    ToolCall,
    UnreadableAnswerError,
    Usage,
)
from tests.local.client.conftest import Connect, ConnectAsync
from tests.local.client.misbehaving import Behaviour, Misbehaving, Peer
from tests.local.client.test_misbehaving import refuse_as_model, stream
from tests.unit.client.wire_examples import EMBEDDINGS, EXAMPLES, VECTORS

BODIES = {example.name: example.body for example in EXAMPLES}
TOOLS = [{"type": "function", "function": {"name": "look_up"}}]


def whole(body: bytes) -> Behaviour:
    """
    Send one answer.
    """
    return lambda peer: peer.whole(body)


def test_completions(connect: Connect) -> None:
    """
    ``prompt``, and log probabilities if they are asked for.
    """
    with Misbehaving(whole(BODIES["completion"])) as server:
        client = connect(server.url, schema="openai")
        answer = client.generate("Who?", max_new_tokens=4, details=True)

    assert (answer.text, answer.finish_reason) == ("The cat sat.", FinishReason.LENGTH)
    assert answer.confidence is not None
    assert [json.loads(body) for body in server.requests] == [
        {"prompt": "Who?", "max_tokens": 4, "logprobs": 1}
    ]


def test_chats_that_think_and_call_tools(connect: Connect) -> None:
    """
    The reasoning is no part of the answer; calls come whole with the last token.
    """
    with Misbehaving(stream(BODIES["reasoning"]), stream(BODIES["tools"])) as server:
        client = connect(server.url)
        thought = list(client.stream_chat("Who?"))
        called = list(client.stream_chat("Who?", tools=TOOLS))

    assert "".join(token.reasoning for token in thought) == "Hm, well"
    assert called[-1].tool_calls == (ToolCall("look_up", '{"city": "Köln"}', "call_1"),)
    assert json.loads(server.requests[1])["tools"] == TOOLS


def test_chains_of_completions(connect: Connect) -> None:
    """
    The usage of a stream counts the tokens of all requests.
    """
    with Misbehaving(stream(BODIES["completion stream"])) as server:
        answer = connect(server.url, schema="openai").continue_to_end(
            "Who?", max_requests=2
        )

    assert answer.text == "The cat sat." * 2
    assert (answer.requests, answer.completion_tokens) == (2, 8)
    assert [json.loads(body)["prompt"] for body in server.requests] == [
        "Who?",
        "Who?The cat sat.",
    ]


@pytest.mark.parametrize(
    ("name", "schema", "field"),
    [
        ("vllm", "openai", "input"),
        ("vllm base64", "openai", "input"),
        ("tei", "tgi", "inputs"),
    ],
)
def test_embeddings(connect: Connect, name: str, schema: str, field: str) -> None:
    """
    One vector for each text.
    """
    with Misbehaving(whole(EMBEDDINGS[name])) as server:
        found = connect(server.url, schema=schema).embed(
            ["a", "b"], parameters={"truncate": True}
        )

    assert found.vectors == VECTORS
    assert found.usage == (None if name == "tei" else Usage(6))
    assert json.loads(server.requests[0]) == {field: ["a", "b"], "truncate": True}


def test_embeddings_in_asyncio(connect_async: ConnectAsync) -> None:
    """
    The same.
    """

    async def main(url: str) -> None:
        async with connect_async(url) as client:
            assert (await client.embed(["a", "b"])).vectors == VECTORS

    with Misbehaving(whole(EMBEDDINGS["tei"])) as server:
        asyncio.run(main(server.url))


def test_fails_if_no_embeddings_come(connect: Connect) -> None:
    """
    Or fewer than there are texts.
    """
    with Misbehaving(whole(BODIES["completion"]), whole(EMBEDDINGS["tei"])) as server:
        client = connect(server.url)
        with pytest.raises(UnreadableAnswerError, match="a text, no embeddings"):
            client.embed("a")
        with pytest.raises(UnreadableAnswerError, match="2 vectors came for 1 texts"):
            client.embed("a")


def test_a_schema_that_is_not_the_engines(connect: Connect) -> None:
    """
    The engine's words mislead; the remedy does not.
    """
    told = {
        "error": {
            "message": "Either prompt or prompt_embeds must be provided and non-empty.",
            "type": "BadRequestError",
            "code": 400,
        }
    }

    def refuse(peer: Peer) -> None:
        refuse_as_model(peer, 400, json.dumps(told))

    with (
        Misbehaving(refuse) as server,
        pytest.raises(ModelError, match="schema='openai'"),
    ):
        connect(server.url, schema="lmi").generate("Who?")


def test_an_empty_prompt_is_told_as_that(connect: Connect) -> None:
    """
    vLLM misses it as what is not there, in whatever form it was asked.
    """
    told = "Either prompt or prompt_embeds must be provided and non-empty."

    def refuse(peer: Peer) -> None:
        refuse_as_model(peer, 400, json.dumps({"error": {"message": told}}))

    with Misbehaving(refuse, refuse, refuse) as server:
        client = connect(server.url, schema=None)
        for ask in (client.generate, lambda prompt: list(client.stream(prompt))):
            with pytest.raises(ModelError) as raised:
                ask("")

            assert raised.value.remedy == "write a prompt that is not empty"
    asked = [json.loads(body).get("prompt") for body in server.requests]
    assert asked == [None, "", ""]
