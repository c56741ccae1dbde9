"""
What a program hands over: refused in its own words, before anything is sent.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Callable
from typing import Any

import boto3
import pytest

from cdk_sagemaker_llm.client import (
    AsyncLlmClient,
    LlmClient,
    LlmError,
    RefusedError,
    Token,
    confidence,
    read_body,
    read_embeddings,
    read_stream,
)

# One for all clients: it keeps the service models that it has read.
SESSION = boto3.Session("test", "test", region_name="us-east-1")
NOBODY = "http://127.0.0.1:1"
BODY = b'{"generated_text": "Hi"}'
Ask = Callable[[LlmClient], object]


def client(endpoint: Any = "chat", component: Any = None, **more: Any) -> LlmClient:  # noqa: ANN401 - wrong on purpose
    """
    Make a client that reaches nobody.
    """
    given: dict[str, Any] = {"session": SESSION, "endpoint_url": NOBODY, **more}
    return LlmClient(endpoint, component, retries=given.pop("retries", 0), **given)


def a_dictionary(**options: Any) -> Any:  # noqa: ANN401 - wrong on purpose
    """
    Return options that no checker of types looks at.
    """
    return options


OPTIONS: list[tuple[Any, str]] = [
    ({"stop": "END"}, "stop must be a list, got 'END'; write stop=['END']"),
    ({"stop": [b"x"]}, "stop[0] must be a text, got b'x'"),
    ({"max_new_tokens": "5"}, "max_new_tokens must be a whole number, got '5'"),
    ({"max_new_tokens": True}, "max_new_tokens must be a whole number, got True"),
    ({"max_new_tokens": math.nan}, "max_new_tokens must be a whole number, got nan"),
    ({"seed": 1.5}, "seed must be a whole number, got 1.5"),
    ({"top_k": "1"}, "top_k must be a whole number, got '1'"),
    ({"temperature": math.nan}, "temperature must be a finite number, got nan"),
    ({"temperature": math.inf}, "temperature must be a finite number, got inf"),
    ({"top_p": "1"}, "top_p must be a number, got '1'"),
    ({"details": 1}, "details must be True or False, got 1"),
    ({"parameters": "ab"}, "parameters must be a dictionary, got 'ab'"),
    ({"parameters": {"x": {1}}}, "the request must be what JSON can say: Object of"),
    ({"parameters": {"x": math.nan}}, "the request must be what JSON can say: Out of"),
    ({"parameters": {"x": "\ud800"}}, r"got '\ud800', half a character; write text."),
]


@pytest.mark.parametrize(("options", "told"), OPTIONS, ids=[t for _, t in OPTIONS])
def test_fails_if_an_option_is_of_another_kind(options: Any, told: str) -> None:  # noqa: ANN401 - as above
    """
    A text as ``stop`` went out letter by letter, and NaN as what no JSON has.
    """
    for ask in (client().generate, client().chat, client().continue_to_end):
        with pytest.raises(ValueError, match=re.escape(told)):
            ask("Who?", **options)


ASKED: list[tuple[Ask, str]] = [
    (lambda c: c.generate(None), "prompt must be a text, got None"),  # type: ignore[arg-type]  # on purpose
    (lambda c: c.generate(b"Who?"), "prompt must be a text, got b'Who?'"),  # type: ignore[arg-type]  # on purpose
    (lambda c: c.generate("Who\udc80?"), r"got '\udc80', half a character"),
    (lambda c: c.chat(a_dictionary(role="user")), "messages must be a list, got {'r"),
    (lambda c: c.chat(b"Who?"), "messages must be a list, got b'Who?'; write [{"),  # type: ignore[arg-type]  # on purpose
    (lambda c: c.chat(None), "messages must be a list, got None"),  # type: ignore[arg-type]  # on purpose
    (lambda c: c.chat(["a"]), "messages[0] must be a dictionary, got 'a'"),  # type: ignore[list-item]  # on purpose
    (lambda c: c.chat("a", model=5), "model must be a text, got 5"),  # type: ignore[arg-type]  # on purpose
    (lambda c: c.embed(b"ab"), "inputs must be a list, got b'ab'; write ['one"),  # type: ignore[arg-type]  # on purpose
    (lambda c: c.embed([1]), "inputs[0] must be a text, got 1"),  # type: ignore[list-item]  # on purpose
    (lambda c: c.embed([]), "inputs must be at least one text, got []"),
    (lambda c: c.embed("a", parameters=3), "parameters must be a dictionary, got 3"),  # type: ignore[arg-type]  # on purpose
    (
        lambda c: c.continue_to_end("a", max_requests=0),
        "max_requests must be at least 1, got 0",
    ),
    (
        lambda c: c.continue_to_end("a", max_requests=math.nan),  # type: ignore[arg-type]  # on purpose
        "max_requests must be a whole number, got nan",
    ),
    (
        lambda c: c.continue_to_end("a", max_total_tokens=0),
        "max_total_tokens must be at least 1, got 0",
    ),
]


@pytest.mark.parametrize(("ask", "told"), ASKED, ids=[told for _, told in ASKED])
def test_fails_if_what_is_asked_is_of_another_kind(ask: Ask, told: str) -> None:
    """
    No container is asked what it would misunderstand.
    """
    with pytest.raises(ValueError, match=re.escape(told)):
        ask(client())


def test_none_is_left_out() -> None:
    """
    Whoever passes on a setting that is not made says nothing by it.
    """
    with pytest.raises(LlmError, match="Could not connect"):
        client().generate("Who?", max_new_tokens=None, stop=None, parameters=None)  # type: ignore[arg-type]  # on purpose


MADE: list[tuple[dict[str, Any], str]] = [
    ({"endpoint": None}, "endpoint must be a text, got None; name the endpoint: Llm"),
    ({"endpoint": ""}, "endpoint must be a name, got ''; name the endpoint: Llm"),
    (
        {"endpoint": "arn:aws:sagemaker:us-east-1:111122223333:endpoint/chat"},
        "; write 'chat'",
    ),
    (
        {"endpoint": "https://runtime.example/endpoints/chat/invocations"},
        "endpoint must be a name, no ARN and no address, got 'https://runtime.example",
    ),
    ({"component": ""}, "component must be a name, got ''; leave it out where there"),
    ({"component": 5}, "component must be a text, got 5"),
    ({"variant": ""}, "variant must be a name, got ''"),
    ({"custom_attributes": 5}, "custom_attributes must be a text, got 5"),
    (
        {"custom_attributes": "a\nb"},
        "custom_attributes must be printable ASCII, as it travels in a header, got 'a",
    ),
    ({"component": "a\r"}, "component must be printable ASCII"),
    ({"variant": "Ünï"}, "variant must be printable ASCII"),
    ({"prefix_aware_id": "a\x7f"}, "prefix_aware_id must be printable ASCII"),
    ({"schema": "vllm"}, "schema must be 'lmi', 'tgi', 'openai' or 'chat', got 'vllm'"),
    ({"format": "json"}, "format must be 'lmi', 'tgi', 'openai', 'llama.cpp' or"),
    ({"timeouts": 5}, "timeouts must be Timeouts, got 5; write Timeouts(read=30)"),
    ({"timeouts": 0}, "timeouts must be Timeouts, got 0; write Timeouts(read=30)"),
    ({"retries": 1.5}, "retries must be a whole number, got 1.5"),
    ({"max_connections": math.inf}, "max_connections must be a whole number, got inf"),
    ({"max_connections": 65_536}, "max_connections must be at most 65535, got 65536"),
    ({"wait_for_capacity": math.nan}, "wait_for_capacity must be at least 0, got nan"),
    ({"wait_for_capacity": "1"}, "wait_for_capacity must be a number of seconds, got"),
    ({"on_wait": "print"}, "on_wait must be a function of a text, got 'print'"),
    ({"config": {}}, "config must be a botocore.config.Config, got {}"),
    ({"session": "default"}, "session must be a boto3.Session, got 'default'"),
    ({"region": ""}, "region must be a name, got ''"),
    ({"region": 5}, "region must be a text, got 5"),
    (
        {"endpoint_url": "localhost:4566"},
        "endpoint_url must be such as https://HOST, got 'localhost:4566'",
    ),
]


@pytest.mark.parametrize(("given", "told"), MADE, ids=[told for _, told in MADE])
def test_fails_if_a_client_cannot_be_made(given: dict[str, Any], told: str) -> None:
    """
    When it is made, and not at the first request.
    """
    with pytest.raises(ValueError, match=re.escape(told)):
        client(**given)


def test_fails_if_a_header_cannot_carry_where_a_request_goes() -> None:
    """
    Nothing is sent, and nothing is called a broken connection; spaces are carried.
    """
    for name in ("inference_id", "session_id"):
        told = f"^{name} must be printable ASCII, as it travels in a header, got "
        for value in ("a\nb", "é"):
            with pytest.raises(ValueError, match=told):
                client().with_routing(**{name: value})
    client(custom_attributes="").with_routing(inference_id="order 17~")


def test_fails_if_boto3_knows_no_region(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    One family of errors, from the beginning on.
    """
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")

    for make in (LlmClient, AsyncLlmClient):
        with pytest.raises(RefusedError, match=r"NoRegionError.*with region="):
            make("chat", session=boto3.Session("test", "test"))
    with pytest.raises(RefusedError, match="match a supported format"):
        client(region="on the moon")


@pytest.mark.parametrize("wrong", [None, b'{"endpoint_name": "a"}', {}])
def test_fails_if_a_connection_is_no_text(wrong: Any) -> None:  # noqa: ANN401 - wrong on purpose
    """
    As where a variable of the environment is missing.
    """
    with pytest.raises(ValueError, match=r"connection must be a text, got .*missing"):
        LlmClient.from_connection(wrong)
    with pytest.raises(ValueError, match="parameter_name must be a text, got"):
        LlmClient.from_ssm(wrong)
    with pytest.raises(ValueError, match="parameter_name must be a text, got"):
        asyncio.run(AsyncLlmClient.from_ssm(wrong))


@pytest.mark.parametrize("wrong", [BODY, BODY.decode(), None, 5])
def test_fails_if_a_stream_is_no_iterable_of_bytes(wrong: Any) -> None:  # noqa: ANN401 - wrong on purpose
    """
    At once, and not as a connection that broke.
    """
    with pytest.raises(ValueError, match="chunks must be an iterable of bytes, got"):
        read_stream(wrong)


@pytest.mark.parametrize("wrong", ["{}", None, 5, {"PayloadPart": {"Bytes": BODY}}])
def test_fails_if_a_chunk_is_none(wrong: Any) -> None:  # noqa: ANN401 - wrong on purpose
    """
    The events of boto3's stream are no bytes, and have them.
    """
    told = r"each chunk must be bytes, got .*event\['PayloadPart'\]\['Bytes'\]"
    with pytest.raises(ValueError, match=told):
        list(read_stream([wrong]))


@pytest.mark.parametrize("wrong", ["{}", None, {"generated_text": "Hi"}])
def test_fails_if_a_body_is_none(wrong: Any) -> None:  # noqa: ANN401 - wrong on purpose
    """
    What is parsed already, or not read yet.
    """
    for read in (read_body, read_embeddings):
        with pytest.raises(ValueError, match=r"body must be bytes, got .*Body\.read"):
            read(wrong)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_whatever_holds_bytes_is_read(kind: Callable[[bytes], Any]) -> None:
    """
    As other transports hand it over.
    """
    assert read_body(kind(BODY)).text == "Hi"
    assert [token.text for token in read_stream([kind(BODY)])] == ["Hi"]


@pytest.mark.parametrize("wrong", [0, -1, None, math.nan, "5"])
def test_fails_if_nothing_may_be_kept(wrong: Any) -> None:  # noqa: ANN401 - wrong on purpose
    """
    With both readers.
    """
    with pytest.raises(ValueError, match="max_bytes must be"):
        read_body(BODY, max_bytes=wrong)
    with pytest.raises(ValueError, match="max_bytes must be"):
        read_stream([BODY], max_bytes=wrong)


@pytest.mark.parametrize("written", ["NaN", "Infinity", "1e400"])
def test_what_is_no_log_probability_is_not_counted(written: str) -> None:
    """
    Broken weights had a model be certain of what it said.
    """
    lines = [
        b'{"token": {"id": 1, "text": "a", "log_prob": %s}}\n' % written.encode(),
        b'{"token": {"id": 2, "text": "b", "log_prob": -1.0}, "generated_text": "ab"}',
    ]

    tokens = list(read_stream(lines))

    assert confidence(tokens) == pytest.approx(math.exp(-1))
    assert confidence(tokens[:1]) is None
    assert confidence([Token("a", 1, -math.inf)]) == 0
    assert json.dumps(confidence(tokens[:1])) == "null"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("x", "answer must be a list, got 'x'; pass what generate() returned"),
        (None, "answer must be a list, got None; pass what generate() returned"),
        ([Token("a"), "b"], "answer[1] must be a token, got 'b'"),
    ],
    ids=["a text", "nothing", "a list of texts"],
)
def test_fails_if_nothing_is_an_answer(wrong: Any, told: str) -> None:  # noqa: ANN401 - wrong on purpose
    """
    Only tokens have probabilities; in the caller's words.
    """
    for ask in (confidence, LlmClient.confidence):
        with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
            ask(wrong)
