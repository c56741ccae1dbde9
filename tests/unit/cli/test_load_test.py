"""
``sagemaker-llm load-test`` and ``benchmark``, before any request is sent and after.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
import typer

from cdk_sagemaker_llm.cli.benchmark import benchmark
from cdk_sagemaker_llm.cli.load_test import load_test
from cdk_sagemaker_llm.cli.loading.live import line_of
from cdk_sagemaker_llm.cli.loading.shared import flag_of, parameters_of
from cdk_sagemaker_llm.load.records import UNFINISHED, Record
from cdk_sagemaker_llm.load.running import Progress
from cdk_sagemaker_llm.load.settings import LoadSettings
from tests.unit.cli.test_command import shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--users", "3", "--arrival-rate", "2"],
            "give either --users or --arrival-rate, not both",
        ),
        (
            ["--users", "0", "--drain", "1", "--schema", "x"],
            "--drain must be a time with its unit",
        ),
        (["--run-time", "60"], "--run-time must be a time with its unit, such as 90s"),
        (["--prompts", "not-there.txt"], "not-there.txt"),
        (["--prompt-words", "some"], "--prompt-words must be such as 1000, 100-5"),
        (["--parameter", "top_k"], "--parameter must be such as top_k=5, got 'top_k'"),
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
    status, text = shown(["load-test", "chat", *arguments], monkeypatch, capsys)

    assert status == 2
    assert text.startswith("sagemaker-llm load-test: ")
    assert message in text


REFUSED = [
    ("--users", "0", "--users must be at least 1, got 0"),
    ("--processes", "0", "--processes must be at least 1, got 0"),
    ("--processes", "11", "--processes must be at most --users, got 11 and 10"),
    ("--max-new-tokens", "0", "--max-new-tokens must be at least 1, got 0"),
    ("--arrival-rate", "0", "--arrival-rate must be more than 0, got 0.0"),
    ("--spawn-rate", "0", "--spawn-rate must be more than 0, got 0.0"),
    ("--spawn-rate", "nan", "--spawn-rate must be more than 0, got nan"),
    ("--run-time", "0s", "--run-time must be more than 0, got 0.0"),
    ("--timeout", "0s", "--timeout must be more than 0, got 0.0"),
    ("--timeout", "-1s", "--timeout must be a time with its unit"),
    ("--think-time", "-1s", "--think-time must be a time with its unit"),
    ("--drain", "-1s", "--drain must be a time with its unit"),
    ("--schema", "x", "--schema must be lmi or tgi or openai, got 'x'"),
    ("--prompt-words", "0", "--prompt-words must be such as 1000, 100-500 or"),
    ("--parameter", "=5", "--parameter must be such as top_k=5, got '=5'"),
    ("--tokenizer", "none.json", "--tokenizer none.json: there is no file none.json"),
    ("--tokenizer", "bad.json", "--tokenizer bad.json: bad.json is no tokenizer.json"),
]
# What a benchmark has none of: its users are numbers, and they do not think.
OWN = {"--users", "--arrival-rate", "--think-time"}


@pytest.mark.parametrize("command", ["load-test", "benchmark"])
@pytest.mark.parametrize(("flag", "value", "message"), REFUSED)
def test_what_a_setting_refuses_names_its_option(
    command: str,
    flag: str,
    value: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """
    As it was written, and not as Python has it.
    """
    monkeypatch.chdir(tmp_path)
    Path("bad.json").write_text("{}", encoding="utf-8")
    users = [] if flag in OWN else ["--users", "10"]
    arguments = [command, "chat", *users, f"{flag}={value}"]
    status, text = shown(arguments, monkeypatch, capsys)

    assert status == 2
    if command == "load-test" or flag not in OWN:
        assert text.startswith(f"sagemaker-llm {command}: {message}")


def test_several_faults_are_told_in_a_line_each(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    All of them at once.
    """
    arguments = ["load-test", "chat", "--users", "0", "--prompt-words", "x"]
    _, text = shown(arguments, monkeypatch, capsys)

    assert text.splitlines() == [
        "sagemaker-llm load-test: --users must be at least 1, got 0",
        (
            "sagemaker-llm load-test: --prompt-words must be such as 1000, 100-500 or "
            "normal:1000,200, got 'x'"
        ),
    ]


@pytest.mark.parametrize(
    ("command", "others"),
    [
        (load_test, {"endpoint"}),
        (benchmark, {"endpoint", "arrival_rate", "think_time"}),
    ],
)
def test_each_setting_has_an_option(
    command: Callable[..., None], others: set[str]
) -> None:
    """
    By which its faults are told.
    """
    app = typer.Typer()
    app.command()(command)
    known = {
        flag
        for parameter in typer.main.get_command(app).params
        for flag in parameter.opts
    }
    settings = {field.name for field in fields(LoadSettings)} - others

    assert {flag_of(name) for name in settings} <= known


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name an endpoint to measure, or give --compare twice"),
        (["chat", "--users", "1,a"], "--users must be different numbers such as 100"),
        (["chat", "--users", "0,1"], "--users must be different numbers such as 100"),
        (["chat", "--users", "5,5"], "--users must be different numbers such as 100"),
        (["chat", "--compare", "run.json"], "--compare run.json: this is no saved"),
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
