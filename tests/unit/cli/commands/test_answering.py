"""
``sagemaker-llm invoke`` and ``stream``: what is asked, and all that is printed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self
from unittest import mock

import pytest
from botocore.config import Config

from cdk_sagemaker_llm.cli.commands import _asking as asking
from cdk_sagemaker_llm.cli.output.answers import note
from cdk_sagemaker_llm.client import llm_client
from cdk_sagemaker_llm.client.answers import (
    FinishReason,
    Generation,
    Token,
    ToolCall,
    Usage,
    gather,
)
from cdk_sagemaker_llm.client.errors import LlmError
from cdk_sagemaker_llm.client.requests import Schema
from cdk_sagemaker_llm.client.runtime import Timeouts
from cdk_sagemaker_llm.client.wire.step import WireFormat
from tests.running import run

TOKENS = [
    Token("It ", token_id=7, log_prob=-0.5),
    Token("is", token_id=8, log_prob=-0.25),
    Token("", finish_reason=FinishReason.STOP, usage=Usage(3, 2)),
]
FACTS = {
    "text": "It is",
    "finish_reason": "stop",
    "confidence": pytest.approx(0.687, abs=0.001),
    "reasoning": "",
    "tool_calls": [],
    "prompt_tokens": 3,
    "completion_tokens": 2,
}


def token(text: str, number: int | None, log_prob: float | None) -> dict[str, Any]:
    """
    Write a token as JSON has it.
    """
    return {
        "text": text,
        "id": number,
        "log_prob": log_prob,
        "reasoning": "",
        "special": False,
        "finish_reason": None if text else "stop",
        "index": 0,
    }


FACTS_OF_TOKENS = [token("It ", 7, -0.5), token("is", 8, -0.25), token("", None, None)]


class Client:
    """
    Answers whatever it is asked, and notes how.
    """

    def __init__(self, *tokens: Token | BaseException) -> None:
        self.tokens = tokens
        self.asked: list[tuple[str, str, dict[str, Any]]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any of the four ways
        def ask(text: str, **options: Any) -> Generation | Iterator[Token]:  # noqa: ANN401 - as above
            self.asked.append((name, text, options))
            return self._stream() if "stream" in name else gather(self._stream())

        return ask

    def _stream(self) -> Iterator[Token]:
        for each in self.tokens:
            if isinstance(each, BaseException):
                raise each
            yield each


def ask(
    command: str, *options: str, tokens: list[Any] | None = None, said: bytes = b""
) -> tuple[Client, Any]:
    """
    Run a command; return whom it asked, and how it ended.
    """
    client = Client(*(TOKENS if tokens is None else tokens))
    with mock.patch.object(asking.QuestionOptions, "connect", return_value=client):
        return client, run(command, "it", *options, said=said)


@pytest.mark.parametrize(
    ("command", "options", "way"),
    [
        ("invoke", [], "generate"),
        ("invoke", ["--chat"], "chat"),
        ("stream", [], "stream"),
        ("stream", ["--chat"], "stream_chat"),
    ],
)
def test_a_prompt_is_asked_with_its_options(
    command: str, options: list[str], way: str, tmp_path: Path
) -> None:
    """
    Wherever it comes from.
    """
    file = tmp_path / "prompt"
    file.write_text("Who?\n")
    more = ("--max-new-tokens", "5", "--stop", "a", "--stop", "b")
    for prompt, said in ((["Who?"], b""), (["-"], b"Who?\n"), (["--file", file], b"")):
        client, done = ask(command, *map(str, prompt), *options, *more, said=said)
        assert client.asked == [
            (way, "Who?", {"max_new_tokens": 5, "stop": ["a", "b"]})
        ]
        assert (done.returncode, done.stdout, done.stderr) == (0, "It is\n", "")


def test_json_of_a_whole_answer_has_its_tokens() -> None:
    """
    One object.
    """
    _, done = ask("invoke", "Who?", "--json")
    facts = json.loads(done.stdout)

    assert facts.pop("tokens") == FACTS_OF_TOKENS[:2]
    seconds, pace = facts.pop("seconds"), facts.pop("tokens_per_second")
    assert pace == pytest.approx(2 / seconds, rel=0.1)
    assert facts == FACTS
    assert done.stdout.count("\n") == 1


def test_json_of_a_stream_is_a_line_for_each_token() -> None:
    """
    And one for the answer.
    """
    _, done = ask("stream", "Who?", "--json")
    *lines, last = map(json.loads, done.stdout.splitlines())

    assert lines == [{"token": each} for each in FACTS_OF_TOKENS]
    answer = last.pop("answer")
    assert last == {}
    assert 0 <= answer.pop("first_token_seconds") <= answer.pop("seconds")
    del answer["tokens_per_second"]
    assert answer == FACTS


@pytest.mark.parametrize("command", ["invoke", "stream"])
def test_details_are_said_beside_the_answer(command: str) -> None:
    """
    With the calls that the model makes, which are told in any case.
    """
    call = ToolCall("look", "{}")
    last = Token("", finish_reason=FinishReason.TOOL_CALLS, tool_calls=(call,))
    client, done = ask(
        command, "Who?", "--details", tokens=[*TOKENS[:2], last], said=b""
    )
    calls, summary = done.stderr.splitlines()

    assert client.asked[0][2] == {"details": True}
    assert calls == "calls look({})"
    assert "2 tokens, " in summary
    assert ("the first after" in summary) == (command == "stream")
    assert "confidence 0.687" in summary
    assert done.stdout == "It is\n"
    _, plain = ask(command, "Who?", tokens=[*TOKENS[:2], last])
    assert plain.stderr == "calls look({})\n"


@pytest.mark.parametrize("command", ["invoke", "stream"])
def test_what_fails_ends_with_1(command: str) -> None:
    """
    A stream with what had come; as JSON with all that there is to say.
    """
    fault = LlmError("it is gone.", remedy="ask again", text="It ")
    _, done = ask(command, "Who?", tokens=[TOKENS[0], fault])
    _, as_json = ask(command, "Who?", "--json", tokens=[TOKENS[0], fault])

    assert done.returncode == as_json.returncode == 1
    assert done.stdout == ("It \n" if command == "stream" else "")
    told = f"sagemaker-llm {command}: it is gone; ask again\n"
    assert done.stderr == as_json.stderr == told
    assert json.loads(as_json.stdout.splitlines()[-1]) == {
        "error": {
            "kind": "LlmError",
            "message": "it is gone.",
            "remedy": "ask again",
            "status": None,
            "text": "It ",
            "reasoning": "",
        }
    }


@pytest.mark.parametrize("command", ["invoke", "stream"])
def test_ctrl_c_ends_it_with_130(command: str) -> None:
    """
    And what had come stands there.
    """
    _, done = ask(command, "Who?", tokens=[TOKENS[0], KeyboardInterrupt()])

    assert done.returncode == 130
    assert done.stdout == ("It \n" if command == "stream" else "")
    assert done.stderr == "\nstopped\n"


def test_what_the_client_refuses_is_misuse() -> None:
    """
    In its words, by the option's name where there is one.
    """
    _, done = ask("invoke", "Who?", tokens=[ValueError("the prompt is \x1b[2Jempty")])

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "sagemaker-llm invoke: the prompt is [2Jempty\n"


def connected(
    monkeypatch: pytest.MonkeyPatch, *options: str, **environment: str
) -> dict[str, Any]:
    """
    Return what the client is made with.
    """
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/none")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/none")
    with mock.patch.object(
        llm_client, "LlmClient", return_value=Client(*TOKENS)
    ) as made:
        done = run("invoke", "chat", "Who?", *options)
    assert done.returncode == 0, done.stderr
    (call,) = made.call_args_list
    return {"endpoint": call.args[0], "component": call.args[1], **call.kwargs}


KEYS = {"AWS_ACCESS_KEY_ID": "mine", "AWS_SECRET_ACCESS_KEY": "mine"}


def test_a_client_is_made_as_the_options_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    And by its own defaults where they say nothing.
    """
    usual = connected(monkeypatch, "--region", "eu-west-1", **KEYS)
    session = usual.pop("session")

    assert session.region_name == "eu-west-1"
    assert session.get_credentials().access_key == "mine"
    assert usual.pop("on_wait") is note
    assert usual == {
        "endpoint": "chat",
        "component": None,
        "variant": None,
        "schema": None,
        "format": None,
        "timeouts": Timeouts(read=120.0),
        "wait_for_capacity": 600.0,
        "endpoint_url": None,
        "config": None,
    }
    told = connected(
        monkeypatch,
        *("--component", "llama", "--variant", "blue", "--schema", "tgi"),
        *("--format", "openai"),
        *("--timeout", "5", "--wait", "7"),
        *("--endpoint-url", "https://runtime.invalid", "--region", "eu-west-1"),
        **KEYS,
    )
    assert (told["component"], told["variant"]) == ("llama", "blue")
    assert told["schema"] is Schema.TGI
    assert told["format"] is WireFormat.OPENAI
    assert told["timeouts"] == Timeouts(read=5.0)
    assert told["wait_for_capacity"] == 7.0
    assert told["endpoint_url"] == "https://runtime.invalid"
    assert told["config"] is None


@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.1:4566", "http://localhost:4566", "http://[::1]:4566"],
)
def test_an_emulation_on_this_machine_takes_anything(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Credentials that are there count all the same, and no proxy stands between.
    """
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for options, environment in (
        (("--endpoint-url", address), {}),
        ((), {"AWS_ENDPOINT_URL": address}),
        ((), {"AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME": address}),
    ):
        for name in KEYS:
            monkeypatch.delenv(name, raising=False)
        found = connected(monkeypatch, *options, **environment)
        session = found["session"]
        assert session.get_credentials().access_key == "test"
        assert session.get_credentials().secret_key == "test"  # noqa: S105 - any value does
        assert session.region_name == "us-east-1"
        assert isinstance(found["config"], Config)
        assert getattr(found["config"], "proxies", None) == {"http": "", "https": ""}
        own = connected(
            monkeypatch, *options, "--region", "eu-west-1", **environment, **KEYS
        )["session"]
        assert own.get_credentials().access_key == "mine"
        assert own.region_name == "eu-west-1"
