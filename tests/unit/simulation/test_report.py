"""
The report of a run: every sentence is about something that happened in it.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.simulation.fleet import FleetTimes, Pool
from cdk_sagemaker_llm.simulation.metrics import Metric, MetricQuery
from cdk_sagemaker_llm.simulation.report import count, moment, report, share, span
from cdk_sagemaker_llm.simulation.running import run
from cdk_sagemaker_llm.simulation.scaling import Bounds, TargetTracking
from cdk_sagemaker_llm.simulation.scenario import Scenario, Workload
from cdk_sagemaker_llm.simulation.service.times import ServiceTimes
from cdk_sagemaker_llm.simulation.traffic.lengths import Lengths
from cdk_sagemaker_llm.simulation.traffic.rates import Constant

# A hundred tokens take ten seconds, of two requests at once.
SLOW = ServiceTimes(decode=((1, 0.1),), max_sequences=2)
LENGTHS = Lengths(prompt=1, answer=100)
TIMES = FleetTimes(provision=120.0, image_pull=60.0, model_start=30.0, drain=0.0)


def tracking(
    target: float = 5.0, cooldown: float = 60.0, scale_in: float = 300.0
) -> TargetTracking:
    """
    Make a policy on requests a minute.
    """
    metric = Metric.of_variant("InvocationsPerInstance", "chat", "blue")
    return TargetTracking(
        name="Track",
        query=MetricQuery(metric, "Sum", 60),
        target=target,
        scale_out_cooldown=cooldown,
        scale_in_cooldown=scale_in,
    )


def told(
    *,
    rate: float,
    end: float = 1800.0,
    minutes: float = 60,
    maximum: int = 4,
    policies: tuple[TargetTracking, ...] = (),
    times: FleetTimes = TIMES,
    available: float = float("inf"),
) -> dict[str, tuple[str, ...]]:
    """
    Play out requests a minute from 0:10 on, and return the report by its titles.
    """
    traffic = Constant(
        rate=rate / 60, begin=600.0, end=end, lengths=LENGTHS, spacing="even"
    )
    workload = Workload(
        name="blue",
        traffic=traffic,
        service=SLOW,
        bounds=Bounds(minimum=1, maximum=maximum) if policies else None,
        policies=policies,
    )
    scenario = Scenario(
        workloads=(workload,),
        duration=60.0 * minutes,
        endpoint="chat",
        pools=(Pool("ml.g5.xlarge"),),
        times=times,
        capacity=lambda _, __: available,
    )
    sections = report(scenario, run(scenario, "requests"))
    return {section.title: section.sentences for section in sections}


def test_what_was_answered_is_counted() -> None:
    """
    All of them, and how long they took.
    """
    found = told(rate=3)

    assert found["Requests"] == (
        "60 requests came; 60 (100 %) were answered in time",
        (
            "an answer took 10.0 s on average; in the worst minute, at 0:10:00, 95 % "
            "of them took up to 10.0 s"
        ),
    )
    assert found["From load to capacity"] == (
        "nothing scales it: there is no policy to play out",
    )


def test_what_had_no_answer_in_time_is_told_with_when() -> None:
    """
    Thirty a minute come, and twelve are served.
    """
    found = told(rate=30, minutes=20)["Requests"]

    assert "300 requests came; " in found[0]
    assert any(
        "had no answer within the 60 s that a client waits, between 0:11:00 and 0:20:00"
        in sentence
        for sentence in found
    )
    assert any("the line was longest at" in sentence for sentence in found)


def test_each_part_of_the_way_to_capacity_is_told() -> None:
    """
    Points, delay, instance, image and model, which add up.
    """
    # A shorter cooldown would read points from before the second instance again.
    policies = (tracking(cooldown=300.0),)
    found = told(rate=10, policies=policies)["From load to capacity"]

    assert found == (
        (
            "the load was too high from 0:10:00 on; the first scale-out, from 1 to 2, "
            "was decided at 0:15:00, 5.0 min later: 3.0 min are the points that its "
            "alarm wants, 2.0 min is how late the last of them can be read"
        ),
        (
            "then 2.0 min until the instance ran, 1.0 min until its image was there, "
            "30 s until the model had started: the first new copy served at 0:18:30, "
            "8.5 min after the load came"
        ),
        (
            "the load was low from 0:30:00 on; the first scale-in, from 2 to 1, was "
            "decided at 0:47:00, 17.0 min later: 15.0 min of points and 2.0 min of "
            "delay"
        ),
    )


def test_a_copy_that_did_not_come_in_time_is_told() -> None:
    """
    The run ends before the instance is there.
    """
    found = told(rate=10, minutes=16, policies=(tracking(),))["From load to capacity"]

    assert found[1:] == (
        "no new copy served before the end",
        "no policy scaled it in before the end",
    )


def test_a_load_below_the_target_scales_nothing() -> None:
    """
    And the report says so.
    """
    found = told(rate=3, policies=(tracking(),))

    assert found["From load to capacity"] == ("no policy scaled it out",)


def test_the_bound_that_was_hit_is_told() -> None:
    """
    Forty a minute want eight instances, and two are the most.
    """
    found = told(rate=40, maximum=2, policies=(tracking(),))["What held scaling up"]

    assert found[0] == (
        "from 0:16:00 on the load was too high at the maximum of 2, of which 1 served "
        "by then"
    )


def test_capacity_that_is_not_there_is_told() -> None:
    """
    Two instances can be had of the four that are wanted.
    """
    found = told(rate=20, end=3600.0, policies=(tracking(),), available=2)

    assert found["What held scaling up"][-2:] == (
        (
            "2 instances could not be had, as was known first at 0:46:00: Unable to "
            "provision requested ML compute capacity due to "
            "InsufficientInstanceCapacity error. Please retry using a different ML "
            "instance type or after some time."
        ),
        "at the end 4 copies were wanted, and 2 served",
    )


@pytest.mark.parametrize(
    ("cooldown", "words"),
    [
        (
            300.0,
            (
                "scaling in took 3 steps, from 4 to 1, over 12.0 min, of which the "
                "cooldown of 300 s took 10.0 min"
            ),
        ),
        (
            0.0,
            (
                "scaling in took 3 steps, from 4 to 1, over 2.0 min; its cooldown of 0 "
                "s held nothing up"
            ),
        ),
    ],
)
def test_what_cooldowns_cost_is_told(cooldown: float, words: str) -> None:
    """
    From four instances to one, one at a time; the first goes at 0:47.
    """
    drained = FleetTimes(provision=120.0, image_pull=60.0, model_start=30.0, drain=30.0)
    times = drained if cooldown else TIMES
    policies = (tracking(scale_in=cooldown),)
    found = told(rate=20, policies=policies, times=times)["What held scaling up"]

    assert found[-1] == words


def test_instances_and_assumptions_come_last() -> None:
    """
    Hours by type, and what nobody has measured.
    """
    found = told(rate=3)

    assert found["Instances"] == (
        "ml.g5.xlarge: 1.00 instance hours, at most 1 at once",
    )
    (only,) = found["Assumed or estimated"]
    assert only.startswith("of the fleet, release, refusal, retry are the library's")


def test_several_models_are_told_apart() -> None:
    """
    By their names in the titles.
    """
    needs = ResourceRequirements(accelerators=None)
    traffic = Constant(rate=0.05, lengths=LENGTHS, spacing="even")
    scenario = Scenario(
        workloads=tuple(
            Workload(name=name, traffic=traffic, service=SLOW, needs=needs)
            for name in ("chat", "rank")
        ),
        duration=600.0,
        pools=(Pool("ml.g5.xlarge"),),
    )
    titles = [s.title for s in report(scenario, run(scenario, "requests"), ())]

    assert titles == [
        "Requests of chat",
        "From load to capacity of chat",
        "Requests of rank",
        "From load to capacity of rank",
        "Instances",
    ]


def test_numbers_are_written_as_one_says_them() -> None:
    """
    What is not all never reads as all.
    """
    assert [moment(s) for s in (0, 59.6, 3661, 90000)] == [
        "0:00:00",
        "0:01:00",
        "1:01:01",
        "day 2, 1:00:00",
    ]
    assert [span(s) for s in (59, 60, 7199, 7200)] == [
        "59 s",
        "1.0 min",
        "120.0 min",
        "2.0 h",
    ]
    assert [count(n, "request") for n in (0, 1, 1234)] == [
        "0 requests",
        "1 request",
        "1,234 requests",
    ]
    assert [share(*n) for n in ((0, 0), (1, 3), (99999, 100000), (3, 3))] == [
        "none",
        "33.3 %",
        "99.9 %",
        "100 %",
    ]
    assert [share(part, 10000) for part in (0, 4, 5, 15, 9990, 9996, 10001)] == [
        "0 %",
        "less than 0.1 %",
        "0.1 %",
        "0.1 %",
        "99.9 %",
        "99.9 %",
        "100 %",
    ]
