"""
Instances that wait for capacity, and which ones go first.
"""

from __future__ import annotations

from cdk_sagemaker_llm.fit import ResourceRequirements
from cdk_sagemaker_llm.simulation.clock import Timeline
from cdk_sagemaker_llm.simulation.fleet import (
    Copy,
    Fleet,
    FleetTimes,
    Instance,
    Pool,
)
from cdk_sagemaker_llm.simulation.fleet.copies import moves_off, shortfall
from cdk_sagemaker_llm.simulation.fleet.parts import nameplate

ONE = ResourceRequirements(accelerators=1)
POOL = Pool("ml.g5.xlarge")
LARGE = "ml.g5.48xlarge"  # Eight accelerators and 768 GiB.


def test_who_waits_for_capacity_does_not_hold_it() -> None:
    """
    One instance can be had from 50 s on: looked for at 60, it is there at 260.
    """
    timeline = Timeline()
    fleet = Fleet(
        timeline,
        pools=[POOL],
        instances=0,
        minimum=0,
        maximum=3,
        managed=True,
        times=FleetTimes(provision=200.0),
        capacity=lambda _, now: 0 if now < 50.0 else 1,
    )
    fleet.add("chat", ONE, 1)
    timeline.run_until(1000.0)

    steps = [step for step in fleet.log if step.what == "running instances"]
    assert [(step.time, step.after) for step in steps] == [(260.0, 1)]


def test_the_newest_of_idle_instances_goes() -> None:
    """
    Of two that have been idle for as long, down to the minimum.
    """
    timeline = Timeline()
    fleet = Fleet(
        timeline,
        pools=[POOL],
        instances=2,
        minimum=1,
        maximum=3,
        managed=True,
        times=FleetTimes(release=720.0),
        ready=True,
    )
    first, second = fleet.instances

    timeline.run_until(719.0)
    assert fleet.instances == (first, second)
    timeline.run_until(5000.0)
    assert list(fleet.instances) == [first]


def test_a_model_is_settled_by_itself() -> None:
    """
    Another one that waits for its instance does not matter to it.
    """
    timeline = Timeline()
    fleet = _two_models(timeline)

    assert fleet.is_settled("a")
    assert not fleet.is_settled("b")
    assert not fleet.is_settled()
    timeline.run_until(1000.0)
    assert fleet.is_settled()


def test_a_copy_that_is_taken_while_it_starts_never_serves() -> None:
    """
    Its instance is there at 200, and it would serve at 350.
    """
    timeline = Timeline()
    fleet = _two_models(timeline)
    timeline.run_until(210.0)
    fleet.set_copies("b", 0)
    timeline.run_until(1000.0)

    assert not [step for step in fleet.log if step.what == "serving copies of b"]
    assert (fleet.serving("a"), fleet.copies("b")) == (1, ())


def _two_models(timeline: Timeline) -> Fleet:
    fleet = Fleet(
        timeline,
        pools=[POOL],
        instances=1,
        minimum=0,
        maximum=2,
        managed=True,
        times=FleetTimes(provision=200.0, image_pull=100.0, model_start=50.0),
        ready=True,
    )
    fleet.add("a", ONE, 1, ready=True)
    fleet.add("b", ONE, 1)
    return fleet


def test_what_is_short_is_that_of_the_nearest_place() -> None:
    """
    Of nine accelerators and 100 GiB the small type lacks both, the large one the first.
    """
    needs = ResourceRequirements(accelerators=9, memory_mib=102_400)
    places = [(kind, nameplate(kind)) for kind in (POOL.instance_type, LARGE)]

    short = shortfall(places, needs, 1)
    assert short is not None
    assert len(short) == 1
    assert len(shortfall(places[:1], needs, 1) or ()) == 2
    assert shortfall([], needs, 1) == []
    assert shortfall([], needs, 0) is None


def test_copies_move_to_the_same_hardware_alone() -> None:
    """
    What one needs elsewhere is not known.
    """
    here = Instance(POOL.instance_type, 0.0, "running")
    here.copies.append(Copy("a", here, ONE, 0.0, "serving"))
    other, same = Instance(LARGE, 0.0), Instance(POOL.instance_type, 0.0)

    assert moves_off(here, {other: other.free}) is None
    moves = moves_off(here, {other: other.free, same: same.free})
    assert moves == [(here.copies[0], same)]
