"""
Load tests of an endpoint of the embedded AWS: real requests for a second or two.
"""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from benchmarks.load import measure
from cdk_sagemaker_llm.load import LoadError, LoadSettings, run_load
from cdk_sagemaker_llm.load.deployed import Counting, copies_of
from cdk_sagemaker_llm.load.prompts import EVERYDAY
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.conftest import ROOT
from tests.local.hosting_requests import (
    LMI_28,
    make_component,
    make_config,
    make_endpoint,
    serve,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cdk_sagemaker_llm.load import LoadResult, Progress
    from cdk_sagemaker_llm.local import EmbeddedAws

COMMAND = str(Path(sys.executable).parent / "sagemaker-llm")
WAITING = "waiting for the last answers"
BRIEF: dict[str, Untyped] = {"run_time": 1.0, "max_new_tokens": 6, "drain": 20.0}


@pytest.fixture(name="endpoint")
def _endpoint(
    embedded_aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """
    An endpoint, with the AWS variables that lead to it.
    """
    name = serve(embedded_aws, LMI_28, None)
    for variable in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(variable)
    for variable, value in embedded_aws.environment.items():
        monkeypatch.setenv(variable, value)
    yield name
    embedded_aws.clear_faults()


def load(endpoint: str, **more: Untyped) -> LoadResult:
    """
    Run a short load test.
    """
    return run_load(LoadSettings(endpoint=endpoint, **{**BRIEF, **more}))


def test_users_stream(endpoint: str) -> None:
    """
    Five of them, each again when it is answered; progress is told meanwhile.
    What the first ask before the last is there is not measured.
    """
    told: list[Progress] = []
    result = run_load(
        LoadSettings(endpoint=endpoint, users=5, spawn_rate=3, **BRIEF), told.append
    )

    figures = result.figures
    assert figures.requests > 5
    assert min(one.start for one in result.measured.records) < result.begin - 0.5
    assert figures.success_rate == 1.0
    assert (figures.tokens, figures.failures) == (6.0, {})
    assert figures.latency is not None
    assert figures.first_token is not None
    assert figures.between_tokens is not None
    assert figures.latency.count == figures.first_token.count == figures.requests
    assert figures.first_token.p50 <= figures.latency.p50
    assert result.end - result.begin == pytest.approx(1.0, abs=0.5)
    assert "measuring" in {one.phase for one in told}
    assert max(one.users for one in told) == 5
    seen = [record for one in told for record in one.recent]
    # The processor's time is told, whatever it was, and each wake-up was looked at.
    assert len(seen) <= len(result.measured.records)
    assert result.measured.delay.cpu > 0
    assert result.measured.delays[1].count > 5


@pytest.mark.whole
def test_processes_share_the_work_and_failures_are_counted(
    embedded_aws: EmbeddedAws, endpoint: str
) -> None:
    """
    Two processes, whole answers; what the container refuses is counted by its kind.
    """
    embedded_aws.fault("errors", endpoint, answer="503", rate=0.5)
    result = load(endpoint, users=4, spawn_rate=50, processes=2, is_streamed=False)

    figures = result.figures
    good = [one for one in result.measured.records if one.is_success]
    assert {*figures.failures} == {"ModelError 503"}
    assert figures.success_rate == pytest.approx(0.5, abs=0.25)
    assert {(one.tokens, one.first_token) for one in good} == {(6, None)}
    assert figures.first_token is figures.between_tokens is None
    assert {*result.measured.delays} == {1, 2}
    assert any("503" in remark for remark in result.remarks())


def test_streams_that_break_are_failures(
    embedded_aws: EmbeddedAws, endpoint: str
) -> None:
    """
    Every one of them: nothing is tried again.
    """
    embedded_aws.fault("errors", endpoint, answer="cut")
    figures = load(endpoint, users=2, spawn_rate=50, is_chat=True).figures

    assert {*figures.failures} == {"ConnectionCutError"}
    assert figures.failures["ConnectionCutError"] == figures.requests > 0
    assert figures.success_rate == 0.0
    assert figures.latency is None


def test_requests_arrive_though_nobody_is_answered(
    embedded_aws: EmbeddedAws, endpoint: str
) -> None:
    """
    In an open loop; what is never answered is no success.
    """
    embedded_aws.fault("slow", endpoint, seconds=2)
    result = load(endpoint, arrival_rate=20.0, drain=0.1)

    figures = result.figures
    assert figures.requests == 0
    assert figures.success_rate == 0.0
    assert 5 <= figures.unfinished <= 60


def test_the_last_answers_are_waited_for_though_nobody_asks_any_more(
    embedded_aws: EmbeddedAws, endpoint: str
) -> None:
    """
    In an open loop too: an answer that takes longer than is measured is a success.
    """
    embedded_aws.fault("slow", endpoint, seconds=1)
    result = load(endpoint, arrival_rate=20.0, run_time=0.5)

    figures = result.figures
    assert (figures.success_rate, figures.unfinished) == (1.0, 0)
    assert figures.requests > 0


def test_an_interrupt_ends_it_with_what_was_measured(endpoint: str) -> None:
    """
    As Ctrl-C does, long before its time.
    """

    told: list[str] = []

    def interrupt(progress: Progress) -> None:
        told.append(progress.phase)
        if told.count("measuring") == 1 and progress.phase == "measuring":
            os.kill(os.getpid(), signal.SIGINT)

    settings = LoadSettings(
        endpoint=endpoint, users=2, spawn_rate=50, run_time=600, max_new_tokens=6
    )
    before = signal.getsignal(signal.SIGINT)
    result = run_load(settings, interrupt)

    assert 0 < result.end - result.begin < 300
    assert result.figures.requests > 0
    assert signal.getsignal(signal.SIGINT) is before


def test_the_second_interrupt_waits_for_no_more_answers(
    embedded_aws: EmbeddedAws, endpoint: str
) -> None:
    """
    And keeps what was measured all the same.
    """
    settings = LoadSettings(
        endpoint=endpoint,
        users=None,
        arrival_rate=20,
        run_time=600,
        max_new_tokens=6,
        drain=300,
    )
    told: list[str] = []
    slow: list[bool] = []

    def interrupt(progress: Progress) -> None:
        told.append(progress.phase)
        if progress.requests and not slow:
            # From now on nobody is answered in time.
            slow.append(True)
            embedded_aws.fault("slow", endpoint, seconds=60)
        elif slow and told[-2:] in (["measuring"] * 2, ["measuring", WAITING]):
            os.kill(os.getpid(), signal.SIGINT)

    result = run_load(settings, interrupt)

    assert told[-1] == WAITING
    assert result.end - result.begin < 300
    assert result.figures.requests > 0


@pytest.mark.whole
def test_the_benchmarks_stand_in_is_an_endpoint(endpoint: str) -> None:
    """
    It streams fifty tokens an answer, at its pace, and says how late it was.
    """
    assert endpoint
    result, (p50, p99, longest) = measure(20, 2.0)

    figures = result.figures
    assert (figures.success_rate, figures.tokens) == (1.0, 50.0)
    assert figures.latency is not None
    assert figures.latency.p50 >= 5.0
    assert figures.between_tokens is not None
    assert figures.between_tokens.p50 == pytest.approx(0.1, abs=0.05)
    assert 0 < p50 <= p99 <= longest


def test_an_endpoint_that_is_not_there_is_not_loaded(endpoint: str) -> None:
    """
    It is refused at once.
    """
    with pytest.raises(LoadError, match="not found; check the endpoint's name"):
        load(f"not-{endpoint}")


def test_missing_settings_of_aws_are_told(
    endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    With what to do about them.
    """
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)

    with pytest.raises(LoadError, match="name a region with --region or AWS_DEFAULT_R"):
        load(endpoint)


@pytest.mark.whole
def test_the_code_of_the_page_runs(
    endpoint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    What docs/load.md shows, for a second instead of a minute.
    """
    page = (ROOT / "docs" / "load.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    brief = block.replace("my-endpoint", endpoint).replace("run_time=60", "run_time=1")

    exec(compile(brief, "docs/load.md", "exec"), {})  # noqa: S102 - our own page
    assert "| success | 100.00% |" in capsys.readouterr().out


def test_a_trace_is_played_and_its_goodput_told(
    embedded_aws: EmbeddedAws, endpoint: str, tmp_path: Path
) -> None:
    """
    Of three requests, whose answers are as long as it says.
    """
    trace = tmp_path / "trace.csv"
    trace.write_text("time,prompt_tokens,output_tokens\n0,30,4\n0.2,20,6\n0.3,9,2\n")
    done = subprocess.run(
        [
            *(COMMAND, "load-test", endpoint, "--trace", str(trace), "--json"),
            *("--ttft-objective", "20s", "--tpot-objective", "10s"),
        ],
        env=embedded_aws.process_environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    facts = json.loads(done.stdout)

    assert (done.returncode, facts["figures"]["requests"]) == (0, 3)
    assert facts["seconds"] == pytest.approx(0.3 + 1.0, abs=0.3)
    assert facts["settings"]["trace"] == 3
    assert facts["figures"]["tokens"] == 4.0
    assert facts["goodput"]["share"] == 1.0
    assert facts["goodput"]["bounds"] == {"first_token": 20.0, "output_token": 10.0}


def test_the_command_writes_every_report(
    embedded_aws: EmbeddedAws, endpoint: str, tmp_path: Path
) -> None:
    """
    And prints the figures.
    """
    files = {
        flag: tmp_path / f"run.{flag.strip('-')}"
        for flag in ("--csv", "--html", "--png", "--json-file")
    }
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("Who are you?\nWhere are you?\n", encoding="utf-8")
    done = subprocess.run(
        [
            *(COMMAND, "load-test", endpoint),
            *("--users", "2", "--spawn-rate", "20", "--duration", "1s"),
            *("--max-new-tokens", "6", "--prompts", str(prompts), "--parameter"),
            *("ignore_eos=true", "--json"),
            *(str(part) for pair in files.items() for part in pair),
        ],
        env=embedded_aws.process_environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    facts = json.loads(done.stdout)
    assert facts == json.loads(files["--json-file"].read_text(encoding="utf-8"))
    assert facts["figures"]["success_rate"] == 1.0
    assert facts["settings"]["parameters"] == {"ignore_eos": True}
    with files["--csv"].open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) >= facts["figures"]["requests"] > 0
    assert {row["tokens"] for row in rows if not row["failure"]} == {"6"}
    assert files["--html"].read_text(encoding="utf-8").startswith("<!doctype html>")
    assert files["--png"].read_bytes().startswith(b"\x89PNG")


def test_a_benchmark_sweeps_saves_and_compares(
    embedded_aws: EmbeddedAws, endpoint: str, tmp_path: Path
) -> None:
    """
    A row for each number of users, and what changed since.
    """
    saved = tmp_path / "before.json"

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [COMMAND, "benchmark", *arguments],
            env=embedded_aws.process_environment,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    brief = ("--duration", "1s", "--spawn-rate", "50", "--prompt-words", "20")
    read = ("--from", str(saved), "--latency-objective", "50s", "--json")
    table = run(endpoint, "--users", "2,4", "--save", str(saved), *brief)
    both = run("--compare", str(saved), "--compare", str(saved))
    facts = json.loads(run(*read))

    lines = table.splitlines()
    assert lines[0].startswith("20 prompt words, at most 50 generated, 1 s per row. ")
    assert lines[2].startswith(
        "| concurrent users | requests | requests/s | median lat"
    )
    assert [line.split(" ")[1] for line in lines[4:6]] == ["2", "4"]
    assert [line.count("100% |") for line in lines[4:6]] == [1, 1]
    assert "\n- Throughput " in table
    assert both.count("| +0.0% | may be chance |") == 8
    # SageMaker was asked how many instances served.
    assert (facts["copies"], facts["knee"]["users"]) == (1, 4)
    assert facts["scaling_target"]["users"] in {2, 4}


@pytest.mark.whole
def test_a_benchmark_is_drawn_and_counts_tokens(
    embedded_aws: EmbeddedAws, endpoint: str, tmp_path: Path
) -> None:
    """
    With what it says below the table, by exactly as many tokens as are asked for.
    """
    files = {f"--{kind}": tmp_path / f"run.{kind}" for kind in ("html", "png", "save")}
    vocabulary = {"[UNK]": 0, **{word: n for n, word in enumerate(EVERYDAY, 1)}}
    words = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))  # noqa: S106 - a word
    words.pre_tokenizer = Whitespace()
    words.save(str(tmp_path / "tokenizer.json"))
    done = subprocess.run(
        [
            *(COMMAND, "benchmark", endpoint, "--users", "1,3", "--duration", "1s"),
            *("--prompt-words", "33", "--tokenizer", str(tmp_path)),
            *("--max-new-tokens", "6", "--latency-objective", "1ms"),
            *("--ttft-objective", "20s", "--percentile", "p50"),
            *(str(part) for pair in files.items() for part in pair),
        ],
        env=embedded_aws.process_environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("33 prompt tokens, at most 6 generated, 1 s per row.")
    assert (
        "- None of the numbers of users tried is within the objective (latency p50 at "
        "most 0.001 s and time to first token p50 at most 20 s): 1 are above it, "
    ) in done.stdout
    assert "- No scaling target: no number of users tried is within" in done.stdout
    page = files["--html"].read_text(encoding="utf-8")
    assert "Benchmark of" in page
    assert page.count('role="img"') == 3
    assert files["--png"].read_bytes().startswith(b"\x89PNG")


def test_copies_are_counted_where_they_can_be(
    embedded_aws: EmbeddedAws, endpoint: str
) -> None:
    """
    Instances of a variant, copies of a component; otherwise it says why not.
    """
    host = make_endpoint(embedded_aws, make_config(embedded_aws))
    component = make_component(embedded_aws, host, copies=2)

    assert copies_of(LoadSettings(endpoint=endpoint)) == 1
    assert copies_of(LoadSettings(endpoint=host, component=component)) == 2
    for settings, message in (
        (LoadSettings(endpoint="none"), "could not be read .ValidationException."),
        (
            LoadSettings(endpoint=endpoint, variant="other"),
            "could not be read .none is named.; say it with --copies",
        ),
        (
            LoadSettings(endpoint=endpoint, endpoint_url="http://127.0.0.1:1"),
            "is not looked up beside --endpoint-url; say it with --copies",
        ),
    ):
        with pytest.raises(LookupError, match=message):
            copies_of(settings)


def test_copies_that_change_are_not_counted(
    embedded_aws: EmbeddedAws, endpoint: str
) -> None:
    """
    Nobody could tell how many of them answered what.
    """
    counting = Counting(LoadSettings(endpoint=endpoint))

    assert counting.found() == {"copies": 1, "copies_untold": ""}
    variant = {"VariantName": "AllTraffic", "DesiredInstanceCount": 2}
    embedded_aws.client("sagemaker").update_endpoint_weights_and_capacities(
        EndpointName=endpoint, DesiredWeightsAndCapacities=[variant]
    )
    for _ in range(2):
        found = counting.found()
        assert found["copies"] is None
        assert found["copies_untold"].startswith("the copies changed from 1 to 2 while")
