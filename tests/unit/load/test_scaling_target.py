"""
What to scale at, by what a benchmark measured.
"""

from __future__ import annotations

import inspect
from dataclasses import replace

import pytest

from cdk_sagemaker_llm.hosting.scaling.counts import (
    ScalableCopyCount,
    ScalableInstanceCount,
)
from cdk_sagemaker_llm.load.objective import Objective
from cdk_sagemaker_llm.load.reading import reading_of
from cdk_sagemaker_llm.load.scaling_target import HeadRoom, ScalingTarget
from cdk_sagemaker_llm.load.settings import SettingsError
from tests.unit.load.sweeps import published, row, sweep

PUBLISHED = [
    (
        "Throughput is saturated from 150 users on: 26.32 requests/s, within 5 % of "
        "the most, 26.72 at 200 users. More users only wait longer."
    ),
    (
        "Scaling target: 150 users on 8 copies are 18.75 requests under way and 197.4 "
        "requests a minute on each."
    ),
    (
        "Until another serves, 10 min pass, in which a load that grows by 5 % a minute "
        "comes to 1.5 times itself: 18.75 / 1.5 and 197.4 / 1.5, rounded down."
    ),
    (
        "Requests under way are seen every 10 seconds and count a stream until its "
        'last token: `count.scale_on_concurrency("Concurrency", per_copy=12)`.'
    ),
    ('The other way: `count.scale_on_invocations("Invocations", per_minute=131)`.'),
]


def target(
    users: int,
    rate: float = 1.0,
    copies: int = 1,
    *,
    growth: float = 0.0,
    has_components: bool = True,
) -> ScalingTarget:
    """
    Take a target from a row, with a scale-out of ten minutes.
    """
    return ScalingTarget.of(
        row(users, rate=rate),
        copies,
        has_components=has_components,
        head_room=HeadRoom(growth=growth),
    )


def test_the_published_table_suggests_a_target() -> None:
    """
    12.5 requests on a copy, rounded down, where it is saturated.
    """
    assert reading_of(published()).sentences() == PUBLISHED


@pytest.mark.parametrize(
    ("users", "copies", "growth", "concurrency"),
    [
        (150, 8, 0.05, 12),
        (150, 8, 0.0, 18),
        (15, 1, 0.05, 10),
        # Below ten in tenths.
        (14, 1, 0.05, 9.3),
        (13, 1, 0.03, 10),
        # 33 / 1.1 is a hair below 30 by binary fractions alone.
        (33, 1, 0.01, 30),
        (8, 8, 0.1, 0.5),
        # Never to nothing.
        (1, 100, 0.0, 0.1),
    ],
)
def test_concurrency_leaves_head_room(
    users: int, copies: int, growth: float, concurrency: float
) -> None:
    """
    Users / copies / (1 + growth x minutes), rounded down.
    """
    found = target(users, copies=copies, growth=growth)

    assert found.concurrency == pytest.approx(concurrency)


@pytest.mark.parametrize(
    ("rate", "copies", "growth", "invocations"),
    [
        (26.32, 8, 0.05, 131),
        (26.32, 8, 0.0, 197),
        (1.0, 6, 0.0, 10),
        (0.165, 1, 0, 9.9),
    ],
)
def test_invocations_leave_the_same(
    rate: float, copies: int, growth: float, invocations: float
) -> None:
    """
    Requests a second x 60 / copies / head room.
    """
    found = target(10, rate=rate, copies=copies, growth=growth)

    assert found.invocations == pytest.approx(invocations)


@pytest.mark.parametrize(("users", "is_by_concurrency"), [(16, True), (15, False)])
def test_whole_requests_are_coarse_below_two(
    *, users: int, is_by_concurrency: bool
) -> None:
    """
    On a copy: requests a minute are better there.
    """
    found = target(users, copies=8)

    assert found.is_by_concurrency is is_by_concurrency
    assert found.calls[0].startswith(
        "count.scale_on_concurrency" if is_by_concurrency else "count.scale_on_invo"
    )
    assert ("With less than 2 requests" in "".join(found.sentences())) is not (
        is_by_concurrency
    )


@pytest.mark.parametrize(
    ("has_components", "kind", "keyword"),
    [
        (True, ScalableCopyCount, "per_copy"),
        (False, ScalableInstanceCount, "per_instance"),
    ],
)
def test_the_calls_are_those_of_the_constructs(
    kind: type[ScalableCopyCount | ScalableInstanceCount],
    keyword: str,
    *,
    has_components: bool,
) -> None:
    """
    With the names of their arguments.
    """
    found = target(16, rate=2.0, has_components=has_components)

    assert found.calls == (
        f'count.scale_on_concurrency("Concurrency", {keyword}=16)',
        'count.scale_on_invocations("Invocations", per_minute=120)',
    )
    assert keyword in inspect.signature(kind.scale_on_concurrency).parameters
    assert "per_minute" in inspect.signature(kind.scale_on_invocations).parameters


def test_a_single_copy_and_instances_are_said() -> None:
    """
    In the right number.
    """
    assert "10 users on 1 copy are 10 requests" in target(10).sentences()[0]
    one, two = (target(10, copies=n, has_components=False) for n in (1, 2))
    assert "on 1 instance are" in one.sentences()[0]
    assert "on 2 instances are" in two.sentences()[0]


def test_a_target_in_json() -> None:
    """
    With the calls.
    """
    assert target(15, copies=8, rate=26.32).to_facts() == {
        "users": 15,
        "rate": 26.32,
        "copies": 8,
        "has_components": True,
        "head_room": {"growth": 0.0, "scale_out_time": 600.0},
        "concurrency": 1.8,
        "invocations_per_minute": 197,
        "call": 'count.scale_on_invocations("Invocations", per_minute=197)',
        "other_call": 'count.scale_on_concurrency("Concurrency", per_copy=1.8)',
    }


@pytest.mark.parametrize(
    ("growth", "seconds", "factor"),
    [(0.0, 600.0, 1.0), (0.05, 0.0, 1.0), (0.05, 600.0, 1.5), (1.0, 90.0, 2.5)],
)
def test_head_room_is_growth_by_time(
    growth: float, seconds: float, factor: float
) -> None:
    """
    A load that doubles each minute is two and a half times itself after 90 seconds.
    """
    assert HeadRoom(growth=growth, scale_out_time=seconds).factor == factor


@pytest.mark.parametrize("wrong", [-0.1, float("nan"), float("inf")])
def test_what_is_no_head_room_is_refused(wrong: float) -> None:
    """
    Both of it at once.
    """
    message = "growth must be at least 0, got .*; scale_out_time must be at least 0"
    with pytest.raises(SettingsError, match=message):
        HeadRoom(growth=wrong, scale_out_time=wrong)


@pytest.mark.parametrize(
    ("objective", "users"), [(4.0, 100), (5.0, 100), (6.0, 150), (10.0, 150)]
)
def test_the_fewer_users_decide(objective: float, users: int) -> None:
    """
    Of the objective's knee and of saturation, beyond which nothing more is done.
    """
    asked = Objective(latency=objective, percentile="p50")
    found = reading_of(published(), asked).target

    assert found is not None
    assert found.users == users
    assert found.rate == {100: 24.74, 150: 26.32}[users]


def test_an_objective_is_enough_where_throughput_still_grows() -> None:
    """
    The most users within it.
    """
    rows = (row(10, rate=1.0, p95=1.0), row(20, rate=2.0, p95=2.0))
    found = reading_of(sweep(*rows), Objective(latency=3.0)).target

    assert found is not None
    assert (found.users, found.has_components) == (20, True)


@pytest.mark.parametrize(
    ("objective", "why"),
    [
        (None, "where the endpoint is saturated was not measured; try more users, or"),
        (0.5, "no number of users tried is within the objective; try fewer"),
    ],
)
def test_without_a_knee_there_is_no_target(objective: float | None, why: str) -> None:
    """
    It says why.
    """
    rows = (row(10, rate=1.0), row(20, rate=2.0))
    found = reading_of(sweep(*rows), Objective(latency=objective))

    assert found.target is None
    assert found.sentences()[-1].startswith(f"No scaling target: {why}")


def test_without_copies_there_is_no_target() -> None:
    """
    It says what to do.
    """
    unknown = replace(published(), copies=None)
    told = replace(unknown, copies_untold="the copies changed from 4 to 8")

    assert reading_of(unknown).sentences()[-1] == (
        "No scaling target: how many copies served is not known; say it with --copies."
    )
    assert reading_of(told).sentences()[-1] == (
        "No scaling target: the copies changed from 4 to 8."
    )
    assert reading_of(told).to_facts()["scaling_target"] is None


def test_what_was_not_measured_is_said_before_what_is_not_known() -> None:
    """
    More users are asked for, and not the copies.
    """
    rows = (row(10, rate=1.0), row(20, rate=2.0))
    told = reading_of(sweep(*rows, copies=None)).sentences()[-1]

    assert told.startswith(
        "No scaling target: where the endpoint is saturated was not measured; try more"
    )


def test_a_reading_in_json() -> None:
    """
    Each part by its name, and the sentences.
    """
    objective = Objective(latency=5.0, percentile="p50")
    facts = reading_of(published(), objective).to_facts()

    assert facts["knee"] == {
        "latency": 5.0,
        "first_token": None,
        "percentile": "p50",
        "users": 100,
        "above": 150,
        "again": [],
    }
    assert facts["saturation"]["users"] == 150
    assert facts["scaling_target"]["concurrency"] == 8.3
    assert facts["sentences"][0].startswith("Within the objective (latency p50")


def test_one_row_is_said_to_tell_little() -> None:
    """
    Of saturation; an objective may be met.
    """
    found = reading_of(sweep(row(10, component=None)), Objective(latency=3.0))

    assert found.saturation is None
    assert "does not tell where throughput" in found.sentences()[1]
    assert found.target is not None
    assert not found.target.has_components
