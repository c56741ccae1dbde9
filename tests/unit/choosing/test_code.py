"""
The construct call of a choice: it synthesises without findings, and ``simulate`` of
what it makes says what ``choose`` said.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdk_sagemaker_llm.choosing import Candidate, Objective, Question, Scaling, Setup
from cdk_sagemaker_llm.choosing.code import app_text
from cdk_sagemaker_llm.choosing.load import Load
from cdk_sagemaker_llm.choosing.scaling import scalings
from cdk_sagemaker_llm.choosing.setups import setups
from cdk_sagemaker_llm.choosing.sizing import Sizing
from cdk_sagemaker_llm.cli.app.playing import RunSettings, play
from cdk_sagemaker_llm.cli.app.simulated import read_hosted
from cdk_sagemaker_llm.cli.app.traffic import TrafficSettings, written_traffic
from cdk_sagemaker_llm.simulation import Outcome, run

HOURS = 6 * 3600.0
SETTINGS = TrafficSettings(shape="day", rate=0.2, peak=6.0, busiest=3)
QUESTION = Question(
    # Gated, so that a token is named.
    model="mistralai/Mistral-7B-v0.1",
    traffic=written_traffic(SETTINGS, HOURS).traffic,
    objective=Objective(ttft=1, tpot=0.05),
    instance_types=("ml.g6e.xlarge", "ml.g5.12xlarge"),
    engines=("vllm", "lmi-vllm"),
    scale_to_zero=True,
    duration=HOURS,
)
LOAD = Load.of(QUESTION)


def kind_of(setup: Setup, scaling: Scaling) -> str:
    """
    Say what makes the text of two candidates differ.
    """
    how = "clock" if scaling.hours else "fixed" if scaling.is_fixed else "load"
    where = "components" if setup.shares else "instances"
    zero = "" if scaling.least else " to zero"
    return f"{setup.engine} {where} split over {setup.degree} by {how}{zero}"


def candidates() -> Iterator[tuple[str, Candidate]]:
    """
    Give one candidate of each kind.
    """
    seen = set()
    for setup in setups(QUESTION, LOAD)[0]:
        by = setup.copies if setup.shares else 1
        sizing = Sizing(setup.times, LOAD, QUESTION.objective)
        for scaling in scalings(sizing, setup.start_seconds, to_zero=True, by=by):
            kind = kind_of(setup, scaling)
            is_new = kind not in seen and (scaling.least or setup.shares)
            is_usual = setup.engine == "vllm" and setup.degree in {1, 4}
            is_plain = not setup.shares and scaling.is_fixed
            if is_new and (is_usual or (is_plain and setup.degree == 1)):
                seen.add(kind)
                yield kind, Candidate(setup=setup, scaling=scaling)


CANDIDATES = dict(candidates())


def warnings_of(assembly: Path) -> list[str]:
    """
    Return what a synthesis warned of.
    """
    return [
        str(entry)
        for file in assembly.glob("*.json")
        for entry in _entries(json.loads(file.read_text(encoding="utf-8")))
    ]


def _entries(part: object) -> Iterator[object]:
    if isinstance(part, dict):
        if part.get("type") in {"aws:cdk:warning", "aws:cdk:error"}:
            yield part
        for each in part.values():
            yield from _entries(each)
    elif isinstance(part, list):
        for each in part:
            yield from _entries(each)


def figures_of(outcome: Outcome) -> dict[str, object]:
    """
    Return what two runs are compared by.
    """
    (series,) = outcome.workloads.values()
    return {
        "instance hours": dict(outcome.instance_hours),
        "served": round(series.totals.served, 6),
        "copies": series.copies,
        "latency": [round(each or 0.0, 9) for each in series.latency_mean],
    }


def test_every_kind_is_there() -> None:
    """
    Instances and components, split or not, fixed, by the clock and by the load.
    """
    assert {name.rpartition(" by ")[2] for name in CANDIDATES} >= {
        "fixed",
        "load",
        "load to zero",
    }
    assert {name.partition(" by ")[0] for name in CANDIDATES} >= {
        "vllm instances split over 1",
        "vllm instances split over 4",
        "vllm components split over 1",
        "lmi-vllm instances split over 1",
    }


@pytest.mark.parametrize("kind", CANDIDATES)
def test_the_app_is_sound_and_simulates_alike(kind: str, tmp_path: Path) -> None:
    """
    Nothing is found of it, and it is the very scenario that was played.
    """
    candidate = CANDIDATES[kind]
    text = app_text(candidate, QUESTION)
    there = text.replace("app = App()", f"app = App(outdir={str(tmp_path)!r})")

    exec(compile(there, "app.py", "exec"), {"__name__": "app"})  # noqa: S102 - our own text

    hosted = read_hosted(tmp_path)
    settings = RunSettings(traffic=SETTINGS, duration=HOURS, method="aggregate")
    (played,) = play(hosted.variants, settings, hosted.variants)
    assert warnings_of(tmp_path) == []
    own = run(candidate.scenario(QUESTION), "aggregate")
    assert figures_of(played.outcome) == figures_of(own)


@pytest.mark.parametrize(
    ("commit", "written"),
    [
        ("0123456789abcdef", '"0123456789abcdef"'),
        # A tag of git may have it.
        ('v"1', '"v\\"1"'),
    ],
    ids=["a commit", "a quote"],
)
def test_a_commit_is_pinned(commit: str, written: str) -> None:
    """
    Then nothing need be accepted of copies that run different ones.
    """
    pinned = Question(
        model=QUESTION.model,
        revision=commit,
        traffic=QUESTION.traffic,
        objective=QUESTION.objective,
    )
    candidate = CANDIDATES["vllm instances split over 1 by load"]

    text = app_text(candidate, pinned)

    assert f"revision={written}" in text
    assert "LLM816" not in text
    assert "LLM816" in app_text(candidate, QUESTION)
