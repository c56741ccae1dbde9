"""
``sagemaker-llm load-test`` and ``benchmark``, before any request is sent and after.
"""

from __future__ import annotations

import inspect
import json
from collections import deque
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest
import typer

from cdk_sagemaker_llm.cli.commands import load_test as load_testing
from cdk_sagemaker_llm.cli.commands._loading import (
    LoadOptions,
    flag_of,
    line_of,
    objective_of,
    parameters_of,
)
from cdk_sagemaker_llm.cli.commands.benchmark import (
    benchmark,
    head_room_of,
    users_of,
)
from cdk_sagemaker_llm.cli.commands.load_test import load_test
from cdk_sagemaker_llm.load import benchmark as measuring
from cdk_sagemaker_llm.load.measured import UNFINISHED, Record
from cdk_sagemaker_llm.load.objective import Objective
from cdk_sagemaker_llm.load.reports import page_of
from cdk_sagemaker_llm.load.running import Progress
from cdk_sagemaker_llm.load.scaling_target import HeadRoom
from cdk_sagemaker_llm.load.settings import LoadSettings
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.unit.cli.test_command import shown
from tests.unit.load.examples import BEGIN, RECORDS, run_of
from tests.unit.load.sweeps import published


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--users", "3", "--rate", "2"],
            "give either --users or --rate, not both",
        ),
        (
            ["--users", "0", "--drain", "1", "--schema", "x"],
            "--drain must be a time with its unit",
        ),
        (["--duration", "60"], "--duration must be a time with its unit, such as 90s"),
        (["--prompts", "not-there.txt"], "not-there.txt cannot be read: No such file"),
        (["--prompts", "."], ". cannot be read: Is a directory"),
        (["--prompts", "bytes.txt"], "bytes.txt is not UTF-8 text"),
        (["--prompts", "run.jsonl"], "run.jsonl:1 must be a JSON string, or an object"),
        (["--html", "."], "--html . cannot be written: it is a folder"),
        (["--duration=-1s"], "--duration must be a time with its unit, such as 90s"),
        (["--duration", "0s"], "--duration must be more than 0, got 0.0"),
        (["--prompt-words", "some"], "--prompt-words must be such as 1000, 100-500"),
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
        (
            ["--expect-workers", "1", "--bind", "a:b"],
            "--bind must be HOST or HOST:PORT",
        ),
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


READ = """
- Within the objective (latency p50 at most 8 s): at most 200 of the users tried, \
latency p50 7.81 s; 250 are above it, latency p90 9.79 s, as 83 of 2769 requests were \
not answered.
- Throughput is saturated from 150 users on: 26.32 requests/s, within 5 % of the most, \
26.72 at 200 users. More users only wait longer.
- Scaling target: 150 users on 8 copies are 18.75 requests under way and 197.4 \
requests a minute on each.
- Until another serves, 4 min pass, in which a load that grows by 2.5 % a minute comes \
to 1.1 times itself: 18.75 / 1.1 and 197.4 / 1.1, rounded down.
- Requests under way are seen every 10 seconds and count a stream until its last \
token: `count.scale_on_concurrency("Concurrency", per_copy=17)`.
- The other way: `count.scale_on_invocations("Invocations", per_minute=179)`.
"""
REFUSED = [
    ("--users", "0", "--users must be at least 1, got 0"),
    ("--processes", "0", "--processes must be at least 1, got 0"),
    ("--processes", "11", "--processes must be at most --users, got 11 and 10"),
    ("--max-new-tokens", "0", "--max-new-tokens must be at least 1, got 0"),
    ("--rate", "0", "--rate must be more than 0, got 0.0"),
    ("--spawn-rate", "0", "--spawn-rate must be more than 0, got 0.0"),
    ("--spawn-rate", "nan", "--spawn-rate must be more than 0, got nan"),
    ("--duration", "0s", "--duration must be more than 0, got 0.0"),
    ("--timeout", "0s", "--timeout must be more than 0, got 0.0"),
    ("--timeout", "-1s", "--timeout must be a time with its unit"),
    ("--think-time", "-1s", "--think-time must be a time with its unit"),
    ("--drain", "-1s", "--drain must be a time with its unit"),
    ("--schema", "x", "--schema must be lmi or tgi or openai or chat, got 'x'"),
    ("--prompt-words", "0", "--prompt-words must be such as 1000, 100-500 or"),
    ("--parameter", "=5", "--parameter must be such as top_k=5, got '=5'"),
    ("--tokenizer", "none.json", "--tokenizer none.json: there is no file none.json"),
    ("--tokenizer", "bad.json", "--tokenizer bad.json: bad.json is no tokenizer.json"),
]
# What a benchmark has none of: its users are numbers, and they do not think.
OWN = {"--users", "--rate", "--think-time"}


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
        (
            benchmark,
            {
                *("endpoint", "arrival_rate", "think_time"),
                *("workers", "bind", "join_within", "trace", "trace_speed"),
            },
        ),
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
        ([], "name an endpoint to measure, give --from a saved benchmark to read, or"),
        (["--compare", "run.json"], "--compare run.json: this is no saved benchmark;"),
        (["--from", "run.json"], "--from run.json: this is no saved benchmark; name"),
        (["--from", "new.json"], "--from new.json: this is a benchmark in version 2"),
        (["chat", "--from", "old.json"], "endpoint has no effect beside --from"),
        (
            ["--from", "old.json", "--users", "5", "--save", "x.json"],
            "--users, --save has no effect beside --from",
        ),
        (
            ["--compare", "old.json", "--compare", "old.json", "--json"],
            "--json has no effect beside two files to compare",
        ),
        (
            ["chat", "--compare", "old.json", "--compare", "old.json"],
            "--compare takes one file beside a benchmark",
        ),
        (
            ["chat", "--percentile", "p50"],
            "--percentile is said of --latency-objective",
        ),
        (
            ["chat", "--latency-objective", "5s", "--percentile", "p96"],
            "--percentile must be one of p50, p90, p95, p99, longest, got 'p96'",
        ),
        (
            ["chat", "--latency-objective", "5"],
            "--latency-objective must be a time with",
        ),
        (
            ["chat", "--latency-objective", "0s"],
            "--latency-objective must be more than 0, got 0.0",
        ),
        (
            ["chat", "--ttft-objective", "0ms"],
            "--ttft-objective must be more than 0, got 0.0",
        ),
        (
            ["chat", "--ttft-objective", "1s", "--no-stream"],
            "--ttft-objective needs streams; leave one out",
        ),
        (
            ["chat", "--growth", "0.05"],
            "--growth must be such as 5% (a minute), got '0",
        ),
        (["chat", "--scale-out-time", "5"], "--scale-out-time must be a time with its"),
        (["chat", "--copies", "0"], "'--copies'"),
        (
            ["chat", "--html", "not-there/run.html"],
            "--html not-there/run.html cannot be",
        ),
        (
            ["chat", "--png", "run.doc"],
            "--png run.doc must end in the name of a format",
        ),
        (["chat", "--users", "1,a"], "--users must be different numbers such as 100"),
        (["chat", "--users", "0,1"], "--users must be different numbers such as 100"),
        (["chat", "--users", "5,5"], "--users must be different numbers such as 100"),
        (["chat", "--compare", "run.json"], "--compare run.json: this is no saved"),
        (["chat", "--compare", "bytes"], "--compare bytes: this is no saved benchmark"),
        (["chat", "--compare", "none"], "--compare none: No such file or directory"),
        (["", "--duration", "1s"], "endpoint must be a name, got ''"),
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
    written = published().to_json()
    Path("run.json").write_text("{}", encoding="utf-8")
    Path("bytes").write_bytes(b"\xff")
    Path("old.json").write_text(written, encoding="utf-8")
    newer = written.replace('"version": 1', '"version": 2')
    Path("new.json").write_text(newer, encoding="utf-8")
    status, text = shown(["benchmark", *arguments], monkeypatch, capsys)

    assert status == 2
    assert "--copies" in text or text.startswith("sagemaker-llm benchmark: ")
    assert message in text


def test_a_saved_benchmark_is_read_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """
    With another objective, as a table and in sentences, drawn, and nothing measured.
    """
    monkeypatch.chdir(tmp_path)
    Path("old.json").write_text(published(None).to_json(), encoding="utf-8")
    arguments = [
        *("benchmark", "--from", "old.json", "--latency-objective", "8s"),
        *("--percentile", "p50", "--copies", "8", "--growth", "2.5%"),
        *("--scale-out-time", "4m", "--html", "run.html", "--png", "run.png"),
    ]
    status, text = shown(arguments, monkeypatch, capsys)

    assert (status, text) == (0, published().to_markdown() + READ)
    assert Path("run.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert Path("run.png").read_bytes().startswith(b"\x89PNG")


def test_a_saved_benchmark_is_read_as_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """
    With what it says, and how another differed.
    """
    monkeypatch.chdir(tmp_path)
    Path("old.json").write_text(published().to_json(), encoding="utf-8")
    arguments = [
        *("benchmark", "--from", "old.json", "--ttft-objective", "500ms"),
        *("--percentile", "p50", "--compare", "old.json", "--json"),
    ]
    status, text = shown(arguments, monkeypatch, capsys)
    facts = json.loads(text)

    assert status == 0
    assert (facts["format"], facts["version"]) == ("cdk-sagemaker-llm/benchmark", 1)
    assert [row["users"] for row in facts["rows"]] == [*range(100, 501, 50)]
    assert (facts["knee"]["first_token"], facts["knee"]["users"]) == (0.5, 100)
    assert facts["saturation"]["users"] == 150
    assert facts["scaling_target"]["users"] == 100
    assert {one["differs"] for one in facts["differences"]} == {False}
    assert len(facts["differences"]) == 9 * 4


def test_the_defaults_are_those_that_are_published() -> None:
    """
    100 to 500 users in steps of 50, 1000 words, 50 tokens, 90 seconds.
    """
    default = {
        name: one.default
        for name, one in inspect.signature(benchmark).parameters.items()
    }

    assert users_of(default["users"]) == [*range(100, 501, 50)]
    assert (default["prompt_words"], default["run_time"]) == ("1000", "90s")
    assert default["max_new_tokens"] == 50


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


def test_progress_of_the_first_second_and_at_the_windows_end() -> None:
    """
    No rate is higher than what came; what ended ten seconds ago still counts.
    """
    begun = Progress(phase="ramp", seconds=0.5, users=0, recent=(), requests=1)
    recent = deque([Record(0.0, 1.0, tokens=5), Record(10.0, 1.0, tokens=15)])

    assert line_of(begun, deque([Record(0.0, 0.25, tokens=8)])) == (
        "ramp, 0 s · 1 request · 1.0 requests/s · 8 tokens/s · median latency 0.25 s"
    )
    assert "0.2 requests/s · 2 tokens/s" in line_of(
        Progress(phase="measuring", seconds=11.0, users=0, recent=(), requests=2),
        recent,
    )
    assert len(recent) == 2


TOOL = {"type": "function", "function": {"name": "weather"}}


def test_each_option_becomes_its_setting(tmp_path: Path) -> None:
    """
    And what is left out is what the library takes, too.
    """
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([TOOL]))
    load = LoadOptions(
        component="llama",
        variant="blue",
        spawn_rate=3.0,
        drain="30s",
        processes=2,
        prefix_words=40,
        prefixes=3,
        turns="2-4",
        tools=tools,
        max_new_tokens=9,
        parameter=["top_k=5"],
        chat=True,
        stream=False,
        schema="tgi",
        timeout="10s",
        seed=7,
        region="eu-west-1",
        profile="team",
        endpoint_url="http://localhost:1",
    )

    assert load.settings("chat", users=5) == LoadSettings(
        endpoint="chat",
        component="llama",
        variant="blue",
        users=5,
        spawn_rate=3.0,
        drain=30.0,
        processes=2,
        prefix_words=40,
        prefixes=3,
        turns="2-4",
        tools=(TOOL,),
        max_new_tokens=9,
        parameters={"top_k": 5},
        is_chat=True,
        is_streamed=False,
        schema="tgi",
        timeout=10.0,
        seed=7,
        region="eu-west-1",
        profile="team",
        endpoint_url="http://localhost:1",
    )
    assert LoadOptions().settings("chat") == LoadSettings(endpoint="chat")


@pytest.mark.parametrize(
    ("given", "objective"),
    [
        (("5s", None, None, None), Objective(latency=5.0)),
        (("500ms", None, None, None), Objective(latency=0.5, percentile="p95")),
        ((None, "1.5 s", None, "p99"), Objective(first_token=1.5, percentile="p99")),
        ((None, None, "50ms", None), Objective(output_token=0.05)),
        ((None, None, None, None), Objective()),
    ],
)
def test_an_objective_is_read(
    given: tuple[str | None, str | None, str | None, str | None], objective: Objective
) -> None:
    """
    Of 95 in a hundred requests, unless it is said.
    """
    assert objective_of(*given) == objective


def test_a_percentile_of_a_first_token_alone_is_one() -> None:
    """
    One of nothing is refused.
    """
    with pytest.raises(ValueError, match="--percentile is said of --latency-objective"):
        objective_of(None, None, None, "p99")


def test_head_room_is_read() -> None:
    """
    Growth in per cent a minute.
    """
    assert head_room_of("5%", "10m") == HeadRoom(growth=0.05, scale_out_time=600.0)
    assert head_room_of("5%", "10m") == HeadRoom()
    with pytest.raises(ValueError, match=r"--growth must be such as 5% .a minute."):
        head_room_of("5", "10m")


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({}, 0),
        ({"lost": {2: BEGIN + 3}}, 1),
        ({"records": [replace(RECORDS[1], failure="ModelError 503")]}, 1),
        ({"records": []}, 1),
    ],
    ids=["well", "a lost worker", "no success", "nothing"],
)
def test_the_exit_status_is_the_runs(
    change: dict[str, Untyped],
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    Whatever it printed: a run that lost a worker is none to rely on.
    """
    run = run_of()
    result = replace(run, measured=replace(run.measured, **change))
    monkeypatch.setattr(load_testing, "run_load", lambda *_: result)

    found, text = shown(["load-test", "chat"], monkeypatch, capsys)

    assert found == status
    assert "| requests |" in text


def test_each_file_has_what_it_is_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """
    A row for each request, the figures, and a page.
    """
    monkeypatch.setattr(load_testing, "run_load", lambda *_: run_of())
    rows, figures, page = (tmp_path / f"run.{kind}" for kind in ("csv", "json", "html"))
    arguments = ["--csv", rows, "--json-file", figures, "--html", page]
    status, text = shown(
        ["load-test", "chat", *map(str, arguments)], monkeypatch, capsys
    )

    assert status == 0
    assert text.endswith(run_of().to_markdown())
    assert rows.read_text(encoding="utf-8") == run_of().to_csv()
    assert figures.read_text(encoding="utf-8") == run_of().to_json()
    assert page.read_text(encoding="utf-8") == page_of(run_of())


def test_a_file_that_cannot_be_written_costs_nothing_of_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """
    The figures are printed, the others written, and the file is named.
    """
    monkeypatch.setattr(load_testing, "run_load", lambda *_: run_of())
    written = tmp_path / "run.json"

    # A disk that is full.
    arguments = ["--csv", "/dev/full", "--json-file", str(written)]
    status, text = shown(["load-test", "chat", *arguments], monkeypatch, capsys)

    assert status == 1
    assert "| requests |" in text
    assert "load-test: --csv /dev/full cannot be written: No space left" in text
    assert json.loads(written.read_text(encoding="utf-8"))["seconds"] == 10


def test_a_benchmark_goes_on_though_it_cannot_be_saved(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Its rows are printed, and the file is named.
    """
    monkeypatch.setattr(measuring, "run_load", lambda *_: run_of())
    arguments = ["chat", "--users", "3,4", "--save", "/dev/full", "--copies", "1"]

    status, text = shown(["benchmark", *arguments], monkeypatch, capsys)

    assert status == 1
    assert "| 3 | 9 |" in text
    assert "benchmark: --save /dev/full cannot be written: No space left" in text
