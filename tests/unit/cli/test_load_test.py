"""
``sagemaker-llm load-test`` and ``benchmark``, before any request is sent and after.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path

import pytest

from cdk_sagemaker_llm.cli.load_test import parameters_of
from cdk_sagemaker_llm.cli.loading.live import line_of
from cdk_sagemaker_llm.load.records import UNFINISHED, Record
from cdk_sagemaker_llm.load.running import Progress
from tests.unit.cli.test_command import shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--users", "0"], "users must be at least 1, got 0"),
        (
            ["--users", "3", "--arrival-rate", "2"],
            "give either users or arrival_rate, not both",
        ),
        (["--run-time", "60"], "--run-time must be a time with its unit, such as 90s"),
        (["--prompts", "not-there.txt"], "not-there.txt cannot be read: No such file"),
        (["--prompts", "."], ". cannot be read: Is a directory"),
        (["--prompts", "bytes.txt"], "bytes.txt is not UTF-8 text"),
        (["--prompts", "run.jsonl"], "run.jsonl:1 must be a JSON string, or an object"),
        (["--html", "."], "--html . cannot be written: it is a folder"),
        (["--run-time=-1s"], "--run-time must be a time with its unit, such as 90s"),
        (["--run-time", "0s"], "run_time must be more than 0, got 0.0"),
        (["--prompt-words", "some"], "prompt_words must be such as 1000, 100-500"),
        (["--parameter", "top_k"], "--parameter must be such as top_k=5, got 'top_k'"),
        (["--join", "a"], "--join takes the leader's settings; leave out the endpoint"),
        (["--bind", "a"], "nobody joins; add it, or leave out --bind"),
        (
            ["--join-within", "5m", "--bind", "a"],
            "nobody joins; add it, or leave out --bind, --join-within",
        ),
        (
            ["--expect-workers", "1", "--join-within", "5"],
            "--join-within must be a time with its unit",
        ),
        (["--expect-workers", "1", "--bind", "a:b"], "bind must be HOST or HOST:PORT"),
        (["--png", "run.doc"], "--png run.doc must end in the name of a format"),
        (["--csv", "not-there/run.csv"], "--csv not-there/run.csv cannot be written"),
    ],
)
def test_misuse_is_told(
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """
    Before anything is started, with the command's name in front.
    """
    monkeypatch.chdir(tmp_path)
    Path("bytes.txt").write_bytes(b"\xff")
    Path("run.jsonl").write_text("{", encoding="utf-8")
    status, text = shown(["load-test", "chat", *arguments], monkeypatch, capsys)

    assert status == 2
    assert text.startswith("sagemaker-llm load-test: ")
    assert message in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name an endpoint to load, or with --join HOST[:PORT] the load test"),
        (
            ["--join", "a", "--json", "--users", "2"],
            "--join takes the leader's settings; leave out --json, --users",
        ),
        (["--join", "a:0"], "--join must be HOST or HOST:PORT, such as 10.0.0.5"),
        (["--join", "a", "--processes", "0"], "--processes must be at least 1, got 0"),
        (["--join", "a", "--join-within", "5"], "--join-within must be a time with"),
    ],
)
def test_misuse_of_joining_is_told(
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    Before anybody is looked for.
    """
    status, text = shown(["load-test", *arguments], monkeypatch, capsys)

    assert status == 2
    assert text.startswith(f"sagemaker-llm load-test: {message}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name an endpoint to measure, or give --compare twice"),
        (["chat", "--users", "1,a"], "--users must be different numbers such as 100"),
        (["chat", "--users", "0,1"], "--users must be different numbers such as 100"),
        (["chat", "--users", "5,5"], "--users must be different numbers such as 100"),
        (["chat", "--compare", "run.json"], "--compare run.json: this is no saved"),
        (["chat", "--compare", "bytes"], "--compare bytes: this is no saved benchmark"),
        (["chat", "--compare", "none"], "--compare none: No such file or directory"),
        (["", "--run-time", "1s"], "endpoint must be a name, got ''"),
        (["chat", "--save", "not-there/run.json"], "not-there/run.json cannot be"),
    ],
)
def test_misuse_of_a_benchmark_is_told(
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """
    Before anything is started, too.
    """
    monkeypatch.chdir(tmp_path)
    Path("run.json").write_text("{}", encoding="utf-8")
    Path("bytes").write_bytes(b"\xff")
    status, text = shown(["benchmark", *arguments], monkeypatch, capsys)

    assert status == 2
    assert text.startswith("sagemaker-llm benchmark: ")
    assert message in text


def test_parameters_are_json_or_words() -> None:
    """
    A word needs no quotes.
    """
    given = ["top_k=5", "ignore_eos=true", "mode=fast", 'stop=["a=b"]']

    assert parameters_of(given) == {
        "top_k": 5,
        "ignore_eos": True,
        "mode": "fast",
        "stop": ["a=b"],
    }


def test_progress_is_of_the_last_ten_seconds() -> None:
    """
    Older requests are forgotten; what nobody waited for is no failure.
    """
    recent = deque(
        [
            Record(0.0, 9.9, tokens=1000),
            Record(10.0, 1.0, tokens=50),
            Record(10.0, 3.0, tokens=50),
            Record(10.0, 3.0, tokens=50),
            Record(15.0, 5.0, failure="ModelError 503"),
            Record(15.0, 5.0, failure=UNFINISHED),
        ]
    )
    progress = Progress(
        phase="measuring", seconds=20.0, users=3, recent=(), requests=99
    )

    assert line_of(progress, recent) == (
        "measuring, 20 s · 3 users · 99 requests · 0.3 requests/s · 15 tokens/s · "
        "median latency 3.00 s · 1 failed lately"
    )
    assert len(recent) == 5
