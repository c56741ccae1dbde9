"""
Each kind of scaling that the CDK can write is played out, or told of with its reason.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cdk_sagemaker_llm.cli.app.simulated import read_hosted
from tests.unit.cli.app import policies_app
from tests.unit.cli.commands.simulations import facts, sentences

# Two requests a second from ten minutes before the offices of Berlin open: more than
# one copy or instance can serve at the pace that is aimed at.
LOAD = (
    *("--traffic", "constant", "--rate", "2/s", "--duration", "40m"),
    *("--start", "2026-03-02T07:50+01:00"),
)
# The first change of capacity: from, to, by which policy or action, at which second.
FIRST: dict[str, tuple[int, int, str, float]] = {
    "InvocationsPerInstance": (1, 4, "Load", 300),
    "ConcurrencyPerInstance": (1, 2, "Load", 250),
    "InvocationsPerCopy": (1, 4, "Load", 300),
    "ConcurrencyPerCopy": (1, 4, "Load", 60),
    "BusyGpus": (1, 2, "Track", 300),
    "BusyCopies": (1, 2, "Track", 300),
    "BusyHost": (1, 2, "Track", 300),
    "MathOverTypes": (1, 2, "Track", 300),
    "MathOverMetrics": (1, 2, "Track", 300),
    "Latency": (1, 2, "Step", 180),
    "FirstChunk": (1, 2, "Step", 180),
    "AlarmOfMath": (1, 2, "Step", 90),
    "Wake": (0, 1, "Step", 60),
    "Backlog": (1, 2, "Backlog", 300),
    "Schedules": (1, 3, "Open", 600),
    "WrittenByTheCdk": (1, 2, "Adding", 180),
    "Consolidating": (1, 4, "Load", 60),
    "Pools": (1, 4, "Load", 60),
}
WHY = {
    "Cores": (
        "Cores/Track: it follows CPUUtilization of /aws/sagemaker/Endpoints, which no "
        "run computes"
    ),
    "OwnMetric": (
        "OwnMetric/Track: it follows QueueDepth of Acme/Chat, which no run computes"
    ),
    "OfANewFleet": (
        "OfANewFleet/Track: it follows ModelLatency of AWS/SageMaker by "
        "EndpointConfigName, EndpointName, VariantName, which no run computes"
    ),
    "UnknownMath": (
        "UnknownMath/Track: its metric math 'RATE(all)' is not understood; "
        "arithmetic, comparisons, AND, OR and ABS, AVG, CEIL, FILL, FLOOR, IF, MAX, "
        "METRICS, MIN, SUM are"
    ),
}
STANDS = (
    "GPUMemoryUtilizationNormalized is what engines hold from their start on, by the "
    "plan: they take the KV cache then, so that it does not follow the load"
)
SILENT = (
    "GPUUtilizationNormalized has no values: SageMaker publishes it for endpoints of "
    "components alone"
)


@pytest.fixture(name="apps", scope="module")
def _apps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return policies_app.write(tmp_path_factory.mktemp("apps"))


def changes(template: Path, *more: str) -> list[tuple[int, int, str, float]]:
    """
    Play an app out; return what changed its capacity.
    """
    (variant,) = facts(template, *LOAD, *more)["runs"][0]["variants"]
    (model,) = variant["models"].values()
    return [
        (each["before"], each["after"], each["policy"], each["time"])
        for each in model["activities"]
        if each["before"] != each["after"]
    ]


def test_each_kind_is_tried() -> None:
    """
    None of the app's stacks is left out below.
    """
    assert FIRST.keys() == policies_app.PLAYED.keys()
    assert WHY.keys() == policies_app.TOLD.keys()


@pytest.mark.parametrize("name", FIRST)
def test_a_policy_is_played_out(name: str, apps: Path) -> None:
    """
    Nothing of it is left out, and it changes the capacity when its metric says so.
    """
    template = apps / f"{name}.template.json"

    assert read_hosted(template).left_out == ()
    assert changes(template)[0] == FIRST[name]


@pytest.mark.parametrize("name", ["BusyGpus", "BusyCopies", "BusyHost", "FirstChunk"])
def test_in_aggregate_it_is_alike(name: str, apps: Path) -> None:
    """
    What accelerators do and when answers begin is computed from rates as well.
    """
    template = apps / f"{name}.template.json"

    assert changes(template, "--method", "aggregate")[0] == FIRST[name]


def test_percentiles_in_aggregate_are_those_of_the_answers(apps: Path) -> None:
    """
    Of the longest tenth, without what chance adds: an alarm that chance trips is quiet.
    """
    template = apps / "Latency.template.json"
    more = ("--method", "aggregate", "--rate", "10/s")

    assert changes(template, *more)[0] == (1, 2, "Step", 180)


@pytest.mark.parametrize("name", WHY)
def test_what_cannot_be_played_out_is_told(name: str, apps: Path) -> None:
    """
    With the policy's name, and the reason.
    """
    template = apps / f"{name}.template.json"

    assert read_hosted(template).left_out == (WHY[name],)
    assert changes(template) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [("Memory", STANDS), ("NormalizedOfAVariant", SILENT)],
    ids=["memory", "normalized"],
)
def test_a_metric_that_cannot_move_is_told(name: str, words: str, apps: Path) -> None:
    """
    The policy is played out; the report says why it does nothing.
    """
    template = apps / f"{name}.template.json"

    assert read_hosted(template).left_out == ()
    assert changes(template) == []
    assert words in sentences(template, *LOAD)["Assumed or estimated"]


def test_nothing_fails_in_a_run(apps: Path) -> None:
    """
    An alarm on failures is watched, and stays quiet.
    """
    template = apps / "Errors.template.json"

    assert read_hosted(template).left_out == ()
    assert changes(template) == []
