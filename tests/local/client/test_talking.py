"""
``sagemaker-llm invoke`` and ``stream``: real processes, real sockets.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cdk_sagemaker_llm.local.engines.story import continue_prompt
from tests.local.client.commands import COMMAND, Terminal, clean, foreground, run
from tests.local.client.misbehaving import Misbehaving, Peer
from tests.local.client.test_misbehaving import CAT, END, THE, WHOLE, stream
from tests.local.hosting_requests import (
    LMI_28,
    TGI_3,
    make_component,
    make_config,
    make_endpoint,
    make_model,
    serve,
)

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

PROMPT = "Who are you?"
TOLD = continue_prompt(PROMPT, 7)
SEVEN = ("--max-new-tokens", "7")
NEAR = {
    "PATH": os.environ["PATH"],
    "HOME": "/nowhere",
    "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
}


@pytest.fixture(name="places", scope="module")
def _places(embedded_aws: EmbeddedAws) -> dict[str, list[str]]:
    """
    An endpoint on LMI, one on TGI, and a component on TGI, as arguments.
    """
    endpoint = make_endpoint(embedded_aws, make_config(embedded_aws))
    model = make_model(embedded_aws, image=TGI_3)
    component = make_component(embedded_aws, endpoint, model=model)
    return {
        "lmi": [serve(embedded_aws, LMI_28)],
        "tgi": [serve(embedded_aws, TGI_3), "--schema", "tgi"],
        "component": [endpoint, "--component", component, "--schema", "tgi"],
    }


@pytest.mark.parametrize("place", ["lmi", "tgi", "component"])
@pytest.mark.parametrize("name", ["invoke", "stream"])
def test_the_answer_is_all_of_standard_output(
    embedded_aws: EmbeddedAws, places: dict[str, list[str]], name: str, place: str
) -> None:
    """
    Without colours, and with one newline; the details are beside it.
    """
    done = run(
        embedded_aws.process_environment,
        *(name, *places[place], PROMPT, *SEVEN, "--details"),
    )

    assert (done.returncode, done.stdout) == (0, f"{TOLD.text}\n")
    assert done.stderr.startswith("finish reason length (cut off at its length), 7 tok")
    assert "confidence 0." in done.stderr
    assert "\x1b" not in done.stderr


def test_json_of_a_whole_answer(
    embedded_aws: EmbeddedAws, places: dict[str, list[str]]
) -> None:
    """
    One object, with every token.
    """
    done = run(
        embedded_aws.process_environment,
        *("invoke", *places["tgi"], PROMPT, *SEVEN, "--json"),
    )

    found = json.loads(done.stdout)
    assert (found["text"], found["finish_reason"]) == (TOLD.text, "length")
    assert (found["completion_tokens"], done.stderr) == (7, "")
    assert [(t["text"], t["id"], t["log_prob"]) for t in found["tokens"]] == [
        (token.text, token.id, token.log_prob) for token in TOLD.tokens
    ]
    assert 0 < found["confidence"] < 1


def test_json_lines_of_a_stream(
    embedded_aws: EmbeddedAws, places: dict[str, list[str]]
) -> None:
    """
    A line for each token, and one for the answer.
    """
    done = run(
        embedded_aws.process_environment,
        *("stream", *places["component"], PROMPT, *SEVEN, "--json"),
    )

    *tokens, last = (json.loads(line) for line in done.stdout.splitlines())
    assert "".join(line["token"]["text"] for line in tokens) == TOLD.text
    assert last["answer"]["text"] == TOLD.text
    assert last["answer"]["first_token_seconds"] > 0
    assert last["answer"]["tokens_per_second"] > 0


@pytest.mark.parametrize("way", ["argument", "input", "file"])
def test_where_a_prompt_comes_from(way: str, tmp_path: Path) -> None:
    """
    With the newline at its end that a shell adds left out.
    """
    file = tmp_path / "prompt.txt"
    file.write_text("Who?\n", encoding="utf-8")
    given = {"argument": ["Who?"], "input": ["-"], "file": ["--file", str(file)]}

    with Misbehaving(lambda peer: peer.whole(WHOLE)) as server:
        done = run(
            NEAR,
            *("invoke", "chat", *given[way], "--endpoint-url", server.url),
            *("--temperature", "0.5", "--stop", "!", "--parameter", "top_p=0.9"),
            said="Who?\n",
        )

    # Neither credentials nor a region are needed on this machine.
    assert (done.returncode, done.stdout, done.stderr) == (0, "The cat\n", "")
    assert json.loads(server.requests[0]) == {
        "inputs": "Who?",
        "parameters": {
            "temperature": 0.5,
            "stop_sequences": ["!"],
            "do_sample": True,
            "details": True,
            "top_p": 0.9,
        },
    }


def test_whom_to_ask_and_how_patiently() -> None:
    """
    As the options say.
    """
    whom = ("--component", "llama", "--variant", "blue")
    with Misbehaving(lambda peer: peer.whole(WHOLE)) as first:
        near = ("invoke", "chat", "Who?", "--endpoint-url", first.url)
        told = run(NEAR, *near, *whom)
        other = run(NEAR, *near, "--format", "openai")
    with Misbehaving(lambda peer: peer.left()) as server:
        near = ("invoke", "chat", "Who?", "--endpoint-url", server.url)
        began = time.monotonic()
        late = run(NEAR, *near, "--timeout", "0.5")

    assert told.stdout == "The cat\n"
    fields = first.fields[0]
    assert fields["x-amzn-sagemaker-inference-component"] == "llama"
    assert fields["x-amzn-sagemaker-target-variant"] == "blue"
    assert (other.returncode, other.stdout) == (1, "")
    assert "no known format has such a record" in other.stderr
    assert late.returncode == 1
    assert "or allow more time (--timeout)" in late.stderr
    assert time.monotonic() - began < 9


def test_a_prompt_as_a_chat() -> None:
    """
    For engines that take messages; the reasoning is no part of the answer in a pipe.
    """
    body = {
        "choices": [
            {
                "message": {
                    "content": "I am.",
                    "reasoning_content": "Hm.",
                    "tool_calls": [
                        {"function": {"name": "look", "arguments": '{"at": 1}'}}
                    ],
                },
                "finish_reason": "tool_calls",
            }
        ]
    }
    with Misbehaving(lambda peer: peer.whole(json.dumps(body).encode())) as server:
        arguments = ("invoke", "chat", "Who?", "--chat", "--endpoint-url", server.url)
        done = run(NEAR, *arguments)
        shown = Terminal(NEAR, *arguments)
        status = shown.end()

    assert (done.returncode, done.stdout) == (0, "I am.\n")
    assert done.stderr == 'calls look({"at": 1})\n'
    assert status == 0
    assert shown.shown.startswith("\x1b[2mHm.\x1b[0m\r\nI am.\r\n")
    assert json.loads(server.requests[0])["messages"][0]["content"] == "Who?"


def test_tokens_appear_as_they_arrive_and_are_shaded() -> None:
    """
    The first shows while the second is not there yet.
    """

    def slowly(peer: Peer) -> None:
        peer.begin()
        peer.part(THE)
        peer.left(2.0)
        peer.part(CAT)
        peer.part(END)
        peer.end()

    with Misbehaving(slowly) as server:
        shown = Terminal(
            NEAR, "stream", "chat", "x", "--details", "--endpoint-url", server.url
        )
        first = shown.await_text("The")
        status = shown.end()

    assert status == 0
    assert "cat" not in first
    assert "\x1b[33mThe" in first
    assert "\x1b[31m cat\x1b[0m" in shown.shown
    assert "finish reason stop, 3 tokens" in shown.shown
    assert "probability: plain from 0.9 on" in shown.shown


def test_a_terminal_does_not_obey_a_model() -> None:
    """
    In a pipe the text is what it was.
    """
    body = json.dumps({"generated_text": "a\x1b[2Jb\rc\n"}).encode()
    with Misbehaving(lambda peer: peer.whole(body)) as server:
        arguments = ("invoke", "chat", "x", "--endpoint-url", server.url)
        shown = Terminal(NEAR, *arguments)
        shown.end()
        piped = run(NEAR, *arguments)

    assert shown.shown == "a[2Jbc\r\n"
    assert piped.stdout == "a\x1b[2Jb\rc\n"


class TestEndings:
    """
    One plain message with the way out, and a status.
    """

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (["nobody"], "Endpoint nobody of account 123456789012 not found; check "),
            (["HOST"], "none is named; name the component: --component NAME\n"),
            (["LMI", "--component", "c"], "leave the component's name out: without --"),
            (["LMI", "--profile", "none-such"], "profile (none-such) could not be"),
            (["LMI", "--endpoint-url", "http://localhost:1"], "; check the network"),
            (["TGI", "--parameter", "max_new_tokens=-1"], "status 422: Input valid"),
        ],
    )
    def test_refusals(
        self,
        embedded_aws: EmbeddedAws,
        places: dict[str, list[str]],
        arguments: list[str],
        told: str,
    ) -> None:
        """
        In the words of the command, not of Python.
        """
        names = {
            "HOST": places["component"][0],
            "LMI": places["lmi"][0],
            "TGI": places["tgi"][0],
        }
        given = [names.get(one, one) for one in arguments]

        done = run(embedded_aws.process_environment, "stream", *given, PROMPT)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("sagemaker-llm stream: ")
        assert told in done.stderr
        assert done.stderr.count("\n") == 1
        assert "LlmClient" not in done.stderr

    def test_a_component_that_sleeps(self, embedded_aws: EmbeddedAws) -> None:
        """
        It says that it waits, once, and how to wait longer.
        """
        endpoint = make_endpoint(embedded_aws, make_config(embedded_aws))
        name = make_component(embedded_aws, endpoint, copies=0)

        done = run(
            embedded_aws.process_environment,
            *("invoke", endpoint, PROMPT, "--component", name, "--wait", "0.2"),
        )
        waiting, failed = done.stderr.splitlines()
        assert done.returncode == 1
        assert waiting.startswith("no copy of the model is there yet: waiting for one")
        assert "wait for one with --wait, raise the least number" in failed

    def test_a_stream_that_breaks_keeps_what_came(
        self, embedded_aws: EmbeddedAws
    ) -> None:
        """
        In JSON as well.
        """
        endpoint = serve(embedded_aws, LMI_28)
        arguments = ("stream", endpoint, PROMPT, "--max-new-tokens", "20")
        embedded_aws.fault("errors", endpoint, answer="cut")
        try:
            plain = run(embedded_aws.process_environment, *arguments)
            lines = run(embedded_aws.process_environment, *arguments, "--json")
        finally:
            embedded_aws.clear_faults()

        assert (plain.returncode, lines.returncode) == (1, 1)
        whole = continue_prompt(PROMPT, 20).text
        assert 0 < len(plain.stdout) < len(whole)
        assert whole.startswith(plain.stdout.rstrip("\n"))
        error = json.loads(lines.stdout.splitlines()[-1])["error"]
        assert error["kind"] == "ConnectionCutError"
        assert error["text"] == plain.stdout.rstrip("\n")
        assert plain.stderr == lines.stderr
        assert "ask again with the text so far" in plain.stderr

    @pytest.mark.parametrize("name", ["invoke", "stream"])
    def test_ctrl_c(self, name: str) -> None:
        """
        Ends the request, and its connection.
        """
        ended = []

        def stall(peer: Peer) -> None:
            if name == "stream":
                peer.begin()
                peer.part(THE)
            ended.append(peer.left())

        with Misbehaving(stall) as server, foreground():
            arguments = (name, "chat", "x", "--endpoint-url", server.url)
            with subprocess.Popen(
                [COMMAND, *arguments],
                env=clean(NEAR),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            ) as running:
                _wait_for(server)
                if name == "stream":
                    assert running.stdout is not None
                    assert running.stdout.read(3) == "The"
                running.send_signal(signal.SIGINT)
                out, told = running.communicate(timeout=30)

        assert running.returncode == 130
        assert out == ("\n" if name == "stream" else "")
        assert told == "\nstopped\n"
        assert ended == [True]

    def test_a_reader_that_leaves(self) -> None:
        """
        As ``head`` does: no traceback.
        """
        with (
            Misbehaving(stream(*[CAT] * 200, END)) as server,
            subprocess.Popen(
                [COMMAND, "stream", "chat", "x", "--endpoint-url", server.url],
                env=clean(NEAR),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            ) as running,
        ):
            assert running.stdout is not None
            assert running.stderr is not None
            running.stdout.close()
            told = running.stderr.read()

        assert running.returncode == 1
        assert told == b""


def _wait_for(server: Misbehaving) -> None:
    deadline = time.monotonic() + 30
    while not server.requests and time.monotonic() < deadline:
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["Who?", "--temperature", "nan"], "--temperature must be a finite number"),
        (["Who?", "--parameter", "x=NaN"], "the request must be what JSON can say"),
        (["Who?", "--component", ""], "--component must be a name, got ''"),
        (["Who?", "--timeout", "0"], "--timeout must be more than 0 s, got 0.0"),
        (["Who?", "--wait", "nan"], "--wait must be at least 0, got nan"),
        (["Who?", "--endpoint-url", "localhost:1"], "--endpoint-url must be such as"),
        ([b"Who \xff?"], "the request must be text that UTF-8 can carry"),
    ],
    ids=["nan", "parameter", "component", "timeout", "wait", "address", "bytes"],
)
def test_fails_if_what_is_asked_cannot_be_said(
    arguments: list[str | bytes], told: str
) -> None:
    """
    In the words of the command line, and not as a traceback.
    """
    near = ["--endpoint-url", "http://127.0.0.1:1"]
    done = run(NEAR, "invoke", "chat", *near, *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"sagemaker-llm invoke: {told}")
    assert done.stderr.count("\n") == 1
