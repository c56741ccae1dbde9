"""
The way from a benchmark to a file of service times, and what is refused on it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cdk_sagemaker_llm.load import observed as observing
from cdk_sagemaker_llm.load.benchmark import Benchmark, Row, row_of, steady_of
from cdk_sagemaker_llm.load.deployed import Deployed
from cdk_sagemaker_llm.load.fitting import Probe, fit_service_times, save_service_times
from cdk_sagemaker_llm.load.observed import observed, run_alone
from cdk_sagemaker_llm.load.result import LoadResult
from cdk_sagemaker_llm.load.settings import LoadSettings
from cdk_sagemaker_llm.simulation import read_service_times
from tests.unit.cli.test_command import shown
from tests.unit.load.examples import run_of
from tests.unit.load.virtual import Asked, sweep

if TYPE_CHECKING:
    from typing import Any


def with_facts(row: Row, **facts: Any) -> Row:  # noqa: ANN401 - JSON
    """
    Change what a row says besides its figures.
    """
    return replace(row, facts={**row.facts, **facts})


def test_what_is_under_way_is_counted_by_time() -> None:
    """
    Six take 2 s, one 4 s, and of the two across its ends half a second each counts.
    """
    found = steady_of(run_of())

    assert found is not None
    assert found.under_way == pytest.approx(1.7)
    assert (found.latency, found.first_token) == (2.125, 0.5625)


def test_a_row_is_one_copys() -> None:
    """
    Words are taken for tokens where nobody counts.
    """
    row = row_of(run_of())
    figures = {**row.facts["figures"], "prompt_tokens": None}
    settings = {"prompts": 0, "prompt_words": "10-30"}
    found = observed(with_facts(row, figures=figures, settings=settings), 2)

    assert found is not None
    assert found.users == 3
    assert found.under_way == pytest.approx(0.85)
    assert found.prompt == pytest.approx(20, rel=0.05)
    assert found.disturbance == ""


def test_a_user_alone_asks_with_a_quarter_and_with_the_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    Of the words that are put together, or of each prompt, and a word at least.
    """
    asked: list[LoadSettings] = []

    def run(settings: LoadSettings, on_progress: object) -> LoadResult:
        assert on_progress is None
        asked.append(settings)
        return run_of()

    monkeypatch.setattr(observing, "run_load", run)
    given = LoadSettings(endpoint="chat", users=50, processes=2, prompt_words="10")
    rows = run_alone(given, 7.0)
    run_alone(replace(given, prompts=("a b c d e f g h", "a")), 7.0)

    assert len(rows) == 2
    assert [one.prompt_words for one in asked[:2]] == ["2", "10"]
    assert [one.prompts for one in asked[2:]] == [
        ("a b", "a"),
        ("a b c d e f g h", "a"),
    ]
    for one in asked:
        assert (one.users, one.processes, one.run_time) == (1, 1, 7.0)


def test_a_benchmark_keeps_what_it_takes() -> None:
    """
    Written and read, the service times are the same.
    """
    rows = sweep(Asked(users=12), copies=1)
    kept = Benchmark(endpoint="chat", began="2027-01-17T12:00:00+00:00", rows=rows)
    read = Benchmark.from_json(kept.to_json())

    assert fit_service_times(read.rows).times == fit_service_times(rows).times


def test_the_file_says_what_was_measured(tmp_path: Path) -> None:
    """
    On what, with how many copies, and what could not be told.
    """
    rows = sweep(Asked(users=4), Asked(users=8), copies=2)
    benchmark = Benchmark(endpoint="chat", began="2027-01-17T12:00:00+00:00", rows=rows)
    served = Deployed(
        instance_type="ml.g5.2xlarge",
        model="mistralai/Mistral-7B-v0.1",
        engine="djl-inference",
        engine_version="0.36.0-lmi28.0.0-cu130",
    )
    path = tmp_path / "times.json"
    fitted = save_service_times(path, benchmark, Probe(copies=2), served)
    found = read_service_times(path)

    assert found.times == fitted.times
    assert found.times.source == "benchmark of chat, 2 copies, with 4, 8 users"
    assert found.date.isoformat() == "2027-01-17"
    assert found.requests == sum(row.requests for row in rows)
    assert (found.instance_type, found.accelerators) == ("ml.g5.2xlarge", 1)
    assert found.max_sequences_between == (4, None)
    assert "the sweep does not reach saturation" in found.notes


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"steady": None}, "no row has answers that were streamed and ended well"),
        (
            {
                "figures": {
                    "between_tokens": {"p50": 0.1},
                    "prompt_tokens": None,
                    "tokens": 10,
                },
                "settings": {"prompts": 5, "prompt_words": "100"},
            },
            "give --prompt-words instead of --prompts",
        ),
    ],
    ids=["not streamed", "not counted"],
)
def test_rows_that_tell_too_little_are_refused(
    facts: dict[str, Any], message: str
) -> None:
    """
    With what to do about it.
    """
    with pytest.raises(ValueError, match=message):
        fit_service_times([with_facts(row_of(run_of()), **facts)])


@pytest.mark.parametrize(
    "remark",
    [
        "the generator itself was the bottleneck: the endpoint is faster",
        "the generator's own delay is more than a tenth of p99: other figures stand",
    ],
)
def test_what_the_generator_did_is_told_as_the_row_tells_it(remark: str) -> None:
    """
    One does not say that figures stand of which the other says that they do not.
    """
    (row,) = sweep(Asked(users=12), copies=1)
    told = {"is_generator_bottleneck": True, "remarks": ["worker 1 was lost", remark]}
    found = fit_service_times([with_facts(row, **told)])

    assert [each for each in found.warnings if "generator" in each] == [
        f"at 12 users {remark}"
    ]


def test_prompts_that_cost_more_alone_than_under_load_leave_its_throughput() -> None:
    """
    As where an engine works on several at once: the rows under load are believed.
    """
    rows = sweep(Asked(users=12), Asked(users=40), copies=1)
    alone = tuple(
        with_facts(row, steady={**row.facts["steady"], "first_token": seconds})
        for row, seconds in zip(
            sweep(Asked(users=1, prompt=250), Asked(users=1), copies=1),
            (0.5, 2.0),
            strict=True,
        )
    )
    found = fit_service_times(rows, alone=alone)
    rate = rows[1].facts["steady"]["under_way"] / rows[1].facts["steady"]["latency"]
    times, most = found.times, found.times.max_sequences
    step = times.prompt_seconds_per_token * 1000 + times.pace(most) * 50 / most

    assert 1 / step == pytest.approx(rate, rel=0.05)
    assert any(
        each.startswith("at 1 user the time to the first token is ")
        for each in found.warnings
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--no-stream"], "--service-times needs answers that are streamed"),
        (["--probe", "3"], "--probe must be a time with its unit, such as 90s"),
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
    Before anything is measured.
    """
    monkeypatch.chdir(tmp_path)
    command = ["benchmark", "chat", "--service-times", "times.json", *arguments]
    status, text = shown(command, monkeypatch, capsys)

    assert status == 2
    assert message in text
    assert json.dumps([*map(str, tmp_path.iterdir())]) == "[]"
