"""
What is asked in a client's name, and what is made of an answer that says little.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from cdk_sagemaker_llm.client import FinishReason, Options, UnreadableAnswerError
from tests.local.client.conftest import Connect
from tests.local.client.misbehaving import Misbehaving, Peer
from tests.local.client.test_misbehaving import BEGIN, WHOLE, answer


@pytest.mark.parametrize(
    ("details", "options", "reason"),
    [
        ({"generated_tokens": 9}, {"max_new_tokens": 10}, FinishReason.STOP),
        ({"generated_tokens": 10}, {"max_new_tokens": 10}, FinishReason.LENGTH),
        ({"generated_tokens": 10}, {}, None),
        ({}, {"max_new_tokens": 10}, None),
        ({"input_length": 3}, {"max_new_tokens": 10}, None),
        (
            {"generated_tokens": 9, "finish_reason": "length"},
            {"max_new_tokens": 10},
            FinishReason.LENGTH,
        ),
    ],
)
def test_a_count_tells_why_an_answer_ended(
    connect: Connect,
    details: dict[str, object],
    options: Options,
    reason: FinishReason | None,
) -> None:
    """
    Where the container gives no reason: with fewer tokens than asked for it stopped.
    """
    body = json.dumps({"generated_text": "a", "details": details}).encode()
    with Misbehaving(lambda peer: peer.whole(body)) as server:
        found = connect(server.url).generate("Who?", **options)

    assert found.finish_reason is reason


def test_a_text_alone_is_embedded_as_one(connect: Connect) -> None:
    """
    And not letter by letter.
    """
    with Misbehaving(lambda peer: peer.whole(b"[[0.5, 1]]")) as server:
        client = connect(server.url)
        found = client.embed("two", parameters={"truncate": True})
        assert found.vectors == ((0.5, 1.0),)
        client.embed(["two"])

    assert [json.loads(body) for body in server.requests] == [
        {"inputs": ["two"], "truncate": True},
        {"inputs": ["two"]},
    ]


@pytest.mark.parametrize("count", [1, 3])
def test_fails_if_texts_and_vectors_do_not_match(connect: Connect, count: int) -> None:
    """
    Nobody knows then which belongs to which.
    """
    body = json.dumps([[0.5]] * count).encode()
    with (
        Misbehaving(lambda peer: peer.whole(body)) as server,
        pytest.raises(UnreadableAnswerError, match=f"{count} vectors came for 2 texts"),
    ):
        connect(server.url).embed(["a", "b"])


def test_fails_if_a_text_comes_instead_of_vectors(connect: Connect) -> None:
    """
    It says how to ask a model that writes.
    """
    with (
        Misbehaving(lambda peer: peer.whole(WHOLE)) as server,
        pytest.raises(UnreadableAnswerError, match="no embeddings; use generate"),
    ):
        connect(server.url).embed("a")


@pytest.mark.parametrize(
    ("indices", "top_n", "count"),
    [
        ([0], None, 1),
        ([1, 1], None, 1),
        # The third of two texts is none.
        ([0, 2], None, 2),
        ([2], 1, 1),
    ],
)
def test_fails_if_texts_and_scores_do_not_match(
    connect: Connect, indices: list[int], top_n: int | None, count: int
) -> None:
    """
    Each has one of its own, as far as they are asked for.
    """
    body = json.dumps([{"index": each, "score": 0.5} for each in indices]).encode()
    with (
        Misbehaving(lambda peer: peer.whole(body)) as server,
        pytest.raises(
            UnreadableAnswerError, match=f"the scores of {count} texts came for 2"
        ),
    ):
        connect(server.url).rerank("q", ["a", "b"], top_n=top_n)


def test_the_best_of_a_ranking_are_as_many_as_are_asked_for(connect: Connect) -> None:
    """
    All of them where nothing is said, or more than there are.
    """
    scores = [{"index": 0, "score": 0.25}, {"index": 1, "score": 0.75}]
    body = json.dumps(scores).encode()
    with Misbehaving(lambda peer: peer.whole(body)) as server:
        client = connect(server.url)
        found = [client.rerank("q", ["a", "b"], top_n=each) for each in (None, 1, 5)]

    assert [[one.index for one in each] for each in found] == [[1, 0], [1], [1, 0]]


def test_fails_if_a_text_comes_instead_of_a_ranking(connect: Connect) -> None:
    """
    It says how to ask a model that writes.
    """
    with (
        Misbehaving(lambda peer: peer.whole(WHOLE)) as server,
        pytest.raises(UnreadableAnswerError, match="the model answered no ranking"),
    ):
        connect(server.url).rerank("q", ["a"])


def test_a_text_that_is_asked_for_as_a_whole_is_no_token(connect: Connect) -> None:
    """
    A completion says how many there were, or nothing.
    """
    choice = {"text": "The cat", "finish_reason": "stop"}
    body = json.dumps({"choices": [choice]}).encode()
    with Misbehaving(lambda peer: peer.whole(body)) as server:
        found = connect(server.url, schema="openai").generate("Who?")

    assert (found.text, found.tokens) == ("The cat", ())


def test_a_format_that_was_given_is_not_guessed(connect: Connect) -> None:
    """
    Neither of a stream nor of a document.
    """
    with Misbehaving(answer) as server:
        client = connect(server.url, format="openai")
        with pytest.raises(UnreadableAnswerError, match="no known format"):
            client.generate("Who?")
        with pytest.raises(UnreadableAnswerError, match="no known format"):
            list(client.stream("Who?"))


def test_names_and_attributes_go_with_each_request(connect: Connect) -> None:
    """
    As SageMaker's headers.
    """
    with Misbehaving(answer) as server:
        client = connect(
            server.url, component="llama", variant="blue", custom_attributes="route=b"
        )
        client.generate("Who?")
        list(client.stream("Who?"))
        connect(server.url).generate("Who?")

    names = [
        "x-amzn-sagemaker-inference-component",
        "x-amzn-sagemaker-target-variant",
        "x-amzn-sagemaker-custom-attributes",
        "content-type",
    ]
    assert [[each.get(name) for name in names] for each in server.fields] == [
        ["llama", "blue", "route=b", "application/json"],
        ["llama", "blue", "route=b", "application/json"],
        [None, None, None, "application/json"],
    ]


def test_a_program_ends_though_a_stream_was_left_open() -> None:
    """
    However much time its answer still had.
    """

    def behave(peer: Peer) -> None:
        for step in BEGIN:
            step(peer)
        peer.left()

    with Misbehaving(behave) as server:
        code = (
            "import boto3\n"
            "from cdk_sagemaker_llm.client import LlmClient, Timeouts\n"
            "session = boto3.Session('test', 'test', region_name='us-east-1')\n"
            f"client = LlmClient('chat', endpoint_url={server.url!r},"
            " session=session, timeouts=Timeouts(total=3600))\n"
            "tokens = client.stream('Who?')\n"
            "print(next(tokens).text)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )

    assert done.stdout == "The\n"
