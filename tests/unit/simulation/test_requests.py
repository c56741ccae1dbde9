"""
A run request by request: minutes, fleet and metrics by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from cdk_sagemaker_llm.fit import ResourceRequirements
from cdk_sagemaker_llm.simulation import (
    Bounds,
    Constant,
    Empirical,
    FleetTimes,
    Lengths,
    Metric,
    MetricQuery,
    Pool,
    Replay,
    Scenario,
    ScheduledAction,
    ServiceTimes,
    run,
    running,
)
from cdk_sagemaker_llm.simulation.metrics import MetricStore
from cdk_sagemaker_llm.simulation.publishing import Publisher
from tests.unit.simulation.scenarios import of_rate, scaled

SECOND = ServiceTimes(decode=((1, 0.01),), max_sequences=100, overhead_seconds=0.25)
EVEN = Constant(rate=1, lengths=Lengths(prompt=1, answer=100), spacing="even")


def test_a_minute_counts_what_it_saw() -> None:
    """
    One a second, each done after a second: the last of a minute is under way.
    """
    workload = of_rate(0, traffic=EVEN, service=SECOND)
    outcome = run(Scenario(workloads=(workload,), duration=150), "requests")
    series = outcome.workloads["chat"]

    assert series.arrived == [60, 60, 30]
    assert series.served == [59, 60, 30]
    assert series.concurrency == [1, 1, 1]
    assert series.copies == series.desired == [1, 1, 1]
    assert series.latency_mean == series.latency_p99 == [pytest.approx(1.25)] * 3
    assert series.totals.accounted == series.totals.arrived == 150


def test_percentiles_are_of_the_minutes_answers() -> None:
    """
    Of answers of 1 to 100 s half take 50 s at most, 95 of them 95 s; none takes less.
    """
    times = ServiceTimes(decode=((1, 1.0),), max_sequences=100)
    traffic = Replay(tuple((100.0 - n, 1, n) for n in range(1, 101)))
    workload = of_rate(0, traffic=traffic, service=times, timeout=1000)
    outcome = run(Scenario(workloads=(workload,), duration=180), "requests")
    series = outcome.workloads["chat"]

    # The first comes at 0 and takes 100 s; they end together at 100 s.
    assert series.served == [0, 100, 0]
    assert series.latency_mean[1] == pytest.approx(50.5)
    assert series.latency_p50[1] == pytest.approx(50)
    assert series.latency_p95[1] == pytest.approx(95)
    assert series.latency_p99[1] == pytest.approx(99)
    assert series.latency_mean[0] is None


def test_first_tokens_are_of_all_answers() -> None:
    """
    Two at once, each with a second of prompt and a token of 0.5 s, and 0.25 s outside:
    the first waits for its own prompt, the second for both. What was computed in
    aggregate has no single ones.
    """
    times = ServiceTimes(
        decode=((1, 0.5),),
        max_sequences=2,
        prompt_seconds_per_token=0.1,
        overhead_seconds=0.25,
    )
    workload = of_rate(0, traffic=Replay(((0.0, 10, 4), (0.0, 10, 4))), service=times)
    scenario = Scenario(workloads=(workload,), duration=60)

    firsts = run(scenario, "requests").workloads["chat"].firsts

    assert firsts is not None
    assert (firsts.at(0.5), firsts.at(0.51)) == pytest.approx((1.75, 2.75))
    within = [firsts.within(each) for each in (1.74, 1.75, 2.74, 2.75)]
    assert within == [0.0, 0.5, 0.5, 1.0]
    assert run(scenario, "aggregate").workloads["chat"].firsts is None


def test_no_answer_has_no_first_token() -> None:
    """
    Nor has a request of a queue, which a copy knows from when it took it.
    """
    silent = of_rate(0, traffic=EVEN.scaled(0), service=SECOND)
    queued = of_rate(0, traffic=EVEN, service=SECOND, at_once=1)
    found, other = (
        run(Scenario(workloads=(one,), duration=60), "requests").workloads["chat"]
        for one in (silent, queued)
    )

    assert found.firsts is not None
    assert (found.firsts.at(0.5), found.firsts.within(9.0)) == (None, None)
    assert other.firsts is None


def scheduled(times: FleetTimes) -> Scenario:
    """
    One instance, two from 0:10 and one again from 0:20.
    """
    actions = (
        ScheduledAction(name="more", schedule="cron(10 0 * * ? *)", minimum=2),
        ScheduledAction(
            name="less", schedule="cron(20 0 * * ? *)", minimum=1, maximum=1
        ),
    )
    workload = of_rate(
        0,
        traffic=EVEN,
        service=SECOND,
        bounds=Bounds(minimum=1, maximum=2),
        schedules=actions,
    )
    return Scenario(
        workloads=(workload,),
        duration=1800,
        pools=(Pool("ml.g5.xlarge"),),
        times=times,
    )


def test_instances_come_and_go_as_the_fleet_has_it() -> None:
    """
    Asked for at 600 s, there at 700, serving at 780; leaving at 1200, gone at 1230.
    """
    times = FleetTimes(provision=100, image_pull=50, model_start=30, drain=30)
    outcome = run(scheduled(times), "requests")
    series = outcome.workloads["chat"]

    assert series.desired == [1] * 9 + [2] * 10 + [1] * 11
    assert series.copies == [1] * 12 + [2] * 7 + [1] * 11
    running = outcome.instances["ml.g5.xlarge"]
    assert running == [1] * 11 + [2] * 9 + [1] * 10
    assert outcome.instance_hours == {
        "ml.g5.xlarge": pytest.approx((1800 + 1230 - 700) / 3600)
    }
    assert [activity.after for activity in outcome.activities["chat"]] == [2, 1]
    assert series.totals.served + 1 == series.totals.arrived == 1800


def test_what_still_runs_on_a_copy_that_is_gone_is_lost() -> None:
    """
    Without time to drain, what it has is refused: half of the ten that are under way.
    """
    slow = ServiceTimes(decode=((1, 0.1),), max_sequences=100)
    scenario = scheduled(FleetTimes.instant())
    workload = replace(scenario.workloads[0], service=slow)
    outcome = run(replace(scenario, workloads=(workload,)), "requests")
    totals = outcome.workloads["chat"].totals

    assert totals.refused["copy gone"] == 5
    assert totals.accounted == totals.arrived == 1800


def test_runs_that_start_elsewhere_differ_in_their_schedules_alone() -> None:
    """
    At noon nothing is scheduled.
    """
    noon = replace(scheduled(FleetTimes()), start=datetime(2026, 1, 5, 12, tzinfo=UTC))

    assert run(noon, "requests").activities["chat"] == ()


def value(store: MetricStore, metric: Metric, statistic: str) -> float | None:
    """
    Read the first minute.
    """
    return store.read(MetricQuery(metric, statistic, 60), 60)


def test_metrics_have_the_services_names_and_units() -> None:
    """
    Of a component by copy, of a variant by instance.
    """
    store = MetricStore()
    component = of_rate(1, needs=ResourceRequirements(accelerators=1))
    for workload in (component, of_rate(1)):
        publisher = Publisher(workload, "endpoint", store)
        publisher.invoked(0, 30, 3)
        publisher.invoked(10, 6, 3)
        publisher.concurrent(0, 12, 3, 2, 7)
        publisher.answered(0, 5.0, 4, 0.5, 2.0)
        publisher.failed(0, 0, 2)

    for each, model, make in (
        ("Copy", "Copy", lambda name: Metric.of_component(name, "chat")),
        ("Instance", "Model", lambda name: Metric.of_variant(name, "endpoint", "chat")),
    ):
        metric: Callable[[str], Metric] = make
        assert value(store, metric("Invocations"), "Sum") == 36
        assert value(store, metric(f"InvocationsPer{each}"), "Sum") == 12
        assert value(store, metric(f"ConcurrentRequestsPer{model}"), "Maximum") == 7
        assert value(store, metric(f"ConcurrentRequestsPer{model}"), "Average") == 4
        assert value(store, metric("ModelLatency"), "Average") == 1_250_000
        assert value(store, metric("ModelLatency"), "Maximum") == 2_000_000
        assert value(store, metric("Invocation4XXErrors"), "Sum") == 2
        assert value(store, metric("NoCapacityInvocationFailures"), "Sum") is None


def test_no_traffic_is_zero_and_no_copies_is_nothing() -> None:
    """
    But for the refusals, which wake it.
    """
    store = MetricStore()
    publisher = Publisher(
        of_rate(1, needs=ResourceRequirements(accelerators=1)), "endpoint", store
    )
    invocations = Metric.of_component("InvocationsPerCopy", "chat")
    publisher.invoked(0, 0, 0)
    publisher.concurrent(0, 0, 0, 0, 0)
    assert value(store, invocations, "Sum") is None
    publisher.failed(0, 3, 0)
    refusals = Metric.of_component("NoCapacityInvocationFailures", "chat")
    assert value(store, refusals, "Sum") == 3
    assert value(store, refusals, "Maximum") == 1
    publisher.invoked(0, 0, 2)

    assert value(store, invocations, "Sum") == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: of_rate(1, copies=-1), "copies must be at least 0, got -1"),
        (lambda: of_rate(1, queue_limit=-1), "queue_limit must be at least 0, got -1"),
        (
            lambda: of_rate(1, timeout=0.05),
            (
                "timeout must be more than the service's overhead_seconds, got 0.05 s "
                "and 0.05 s"
            ),
        ),
        (
            lambda: of_rate(1, schedules=(ScheduledAction(name="a", schedule="x"),)),
            (
                "bounds of chat must be given where it has policies or schedules: "
                "write Bounds(minimum=..., maximum=...)"
            ),
        ),
        (
            lambda: of_rate(1, traffic=10),
            (
                "traffic must be requests at a rate such as Constant(...), a Replay or "
                "Users, got a value of type int"
            ),
        ),
        (
            lambda: of_rate(1, service="fast"),
            "service must be ServiceTimes(...), got a value of type str",
        ),
        (
            lambda: Scenario(workloads=(), duration=60),
            "workloads must be at least one, each with a name of its own, got none",
        ),
        (
            lambda: Scenario(workloads=(of_rate(1), of_rate(2)), duration=60),
            (
                "workloads must be at least one, each with a name of its own, got "
                "chat, chat"
            ),
        ),
        (
            lambda: Scenario(workloads=(of_rate(1),), duration=0),
            "duration must be above 0, got 0",
        ),
        (
            lambda: Scenario(
                workloads=(of_rate(1),),
                duration=60,
                start=datetime(2026, 1, 5),  # noqa: DTZ001 - the mistake
            ),
            ("start must be a whole minute with a time zone, got 2026-01-05T00:00:00"),
        ),
        (
            lambda: Scenario(
                workloads=(of_rate(1, bounds=Bounds(minimum=1, maximum=2)),),
                duration=60,
            ),
            (
                "pools must name at least one instance type where something scales, as "
                "chat does"
            ),
        ),
    ],
)
def test_fails_if_it_cannot_be_played(make: Any, message: str) -> None:  # noqa: ANN401 - builds anything
    """
    The field, the rule and the value.
    """
    with pytest.raises(ValueError, match="must") as caught:
        make()

    assert str(caught.value) == message


def test_fails_if_there_is_no_such_way() -> None:
    """
    There are two.
    """
    scenario = Scenario(workloads=(of_rate(1),), duration=60)
    with pytest.raises(ValueError, match="'requests' or 'aggregate', got 'both'"):
        run(scenario, "both")  # type: ignore[arg-type] # the mistake


def test_fails_without_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The extra that brings it is named.
    """
    monkeypatch.setattr(running, "find_spec", lambda _: None)
    with pytest.raises(
        ValueError, match=r"pip install 'cdk-sagemaker-llm\[simulate\]'"
    ):
        run(Scenario(workloads=(of_rate(1),), duration=60))


def test_defaults_of_the_fleet_and_of_delays_are_said() -> None:
    """
    What is given is not among them.
    """
    scenario = scaled(EVEN, duration=60)
    said = " ".join(run(scenario).notes)

    assert "of the fleet, drain, release, refusal, retry are" in said
    assert "metrics can be read 120 s late, those in ten seconds 30 s" in said


def test_an_even_mix_of_lengths_is_served() -> None:
    """
    Lengths as they were seen are drawn as often.
    """
    lengths = Lengths(prompt=Empirical((1, 2)), answer=Empirical((50, 150)))
    traffic = Constant(rate=2, lengths=lengths, spacing="even")
    workload = of_rate(0, traffic=traffic, service=SECOND)
    outcome = run(Scenario(workloads=(workload,), duration=3600), "requests")
    means = [each for each in outcome.workloads["chat"].latency_mean if each]

    assert sum(means) / len(means) == pytest.approx(1.25, rel=0.02)
