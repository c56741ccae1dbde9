"""
The app of several models: it synthesises without findings, and ``simulate`` of it says
what ``choose`` said.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cdk_sagemaker_llm.choosing import (
    Candidate,
    Host,
    Objective,
    Question,
    Scaling,
    Sharing,
    Tenant,
    choose,
)
from cdk_sagemaker_llm.choosing.load import Load
from cdk_sagemaker_llm.choosing.setups import setups
from cdk_sagemaker_llm.cli.app.playing import RunSettings, play
from cdk_sagemaker_llm.cli.app.simulated import read_hosted
from cdk_sagemaker_llm.cli.app.traffic import TrafficSettings, written_traffic
from cdk_sagemaker_llm.simulation import Outcome, run
from tests.unit.choosing.test_code import warnings_of

MINUTES = 20 * 60.0
SETTINGS = TrafficSettings(shape="constant", rate=2.0)
QUESTION = Question(
    model="Qwen/Qwen3-8B",
    traffic=written_traffic(SETTINGS, MINUTES).traffic,
    objective=Objective(ttft=1, tpot=0.05),
    instance_types=("ml.g6e.12xlarge",),
    engines=("vllm",),
    quantized=False,
    duration=MINUTES,
)
QUESTIONS = {
    "Small": QUESTION,
    "Large": replace(QUESTION, model="Qwen/Qwen3-14B"),
}


def host() -> Host:
    """
    Return a small model that follows the load, and a larger one split over two GPUs.
    """
    return Host(
        tenants=tuple(
            Tenant(
                name=name,
                question=question,
                candidate=Candidate(
                    setup=next(
                        one
                        for one in setups(question, Load.of(question))[0]
                        if one.degree == degree
                    ),
                    scaling=scaling,
                ),
            )
            for (name, question), degree, scaling in zip(
                QUESTIONS.items(),
                (1, 2),
                (Scaling(least=2, most=4, target=8.0), Scaling(least=1, most=1)),
                strict=True,
            )
        )
    )


def figures_of(outcome: Outcome) -> dict[str, object]:
    """
    Return what two runs are compared by.
    """
    models = outcome.workloads.values()
    return {
        "instance hours": dict(outcome.instance_hours),
        "served": [round(one.totals.served, 6) for one in models],
        "copies": [one.copies for one in models],
    }


@pytest.mark.parametrize("is_shared", [True, False], ids=["shared", "separate"])
def test_the_app_is_sound_and_simulates_alike(
    tmp_path: Path, *, is_shared: bool
) -> None:
    """
    One host, or an endpoint for each.
    """
    answers = tuple(choose(one) for one in QUESTIONS.values())
    found = Sharing(answers=answers, names=tuple(QUESTIONS), hosts=())
    scenarios = [
        one.best.candidate.scenario(one.question) for one in answers if one.best
    ]
    if is_shared:
        # For a dollar a month it is the cheaper.
        result = replace(answers[0].choices[0].result, monthly_cost=1.0)
        shared = replace(host(), results=(result, result))
        found = replace(found, hosts=(shared,))
        scenarios = [shared.scenario()]
    assert found.is_shared is is_shared

    text = found.stack or ""
    there = text.replace("app = App()", f"app = App(outdir={str(tmp_path)!r})")
    exec(compile(there, "app.py", "exec"), {"__name__": "app"})  # noqa: S102 - our own text

    hosted = read_hosted(tmp_path)
    settings = RunSettings(traffic=SETTINGS, duration=MINUTES, method="aggregate")
    played = play(hosted.variants, settings, hosted.variants)
    assert warnings_of(tmp_path) == []
    assert [figures_of(one.outcome) for one in played] == [
        figures_of(run(one, "aggregate")) for one in scenarios
    ]
