"""
What a fleet does and when, worked out by hand.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.simulation.clock import Timeline
from cdk_sagemaker_llm.simulation.fleet import (
    NO_CAPACITY,
    ByType,
    Copy,
    Fleet,
    FleetTimes,
    Listener,
    Pool,
    ScaleIn,
    Step,
    Trouble,
    seconds,
    start_seconds,
)

G5 = "ml.g5.12xlarge"  # Four accelerators.
P4 = "ml.p4d.24xlarge"  # Eight.
ONE = ResourceRequirements(accelerators=1)
FOUR = ResourceRequirements(accelerators=4)
TIMES = FleetTimes(
    provision=200.0,
    image_pull=100.0,
    model_start=50.0,
    drain=30.0,
    release=720.0,
    refusal=1860.0,
    retry=300.0,
)


def steps(fleet: Fleet, what: str) -> list[tuple[float, int]]:
    """
    Pick the times and new counts of one thing out of the log.
    """
    return [(step.time, step.after) for step in fleet.log if step.what == what]


def managed(timeline: Timeline, **settings: object) -> Fleet:
    """
    Make a fleet that follows its copies, from 0 to 3 instances.
    """
    given = {
        "pools": [Pool(G5)],
        "instances": 0,
        "minimum": 0,
        "maximum": 3,
        "managed": True,
        "times": TIMES,
        **settings,
    }
    return Fleet(timeline, **given)  # type: ignore[arg-type]  # keywords by name


def test_a_variant_with_a_model_has_a_copy_on_each_instance() -> None:
    """
    Three more instances: 200 s to come, 100 s for the image, 50 s for the model.
    """
    timeline = Timeline()
    fleet = Fleet(timeline, pools=[Pool(G5)], instances=1, times=TIMES, ready=True)
    fleet.add("model", None, ready=True)
    assert fleet.serving("model") == 1

    timeline.run_until(60.0)
    fleet.set_instances(4, "alarm")
    assert not fleet.is_settled()
    timeline.run_until(1000.0)
    fleet.set_instances(1, "quiet")
    timeline.run_until(2000.0)

    assert fleet.log == [
        Step(0.0, "instances", 0, 1, "at the start"),
        Step(0.0, "running instances", 0, 1, G5),
        Step(0.0, "serving copies of model", 0, 1, G5),
        Step(60.0, "desired instances", 1, 4, "alarm"),
        Step(60.0, "instances", 1, 2, "alarm"),
        Step(60.0, "instances", 2, 3, "alarm"),
        Step(60.0, "instances", 3, 4, "alarm"),
        Step(260.0, "running instances", 1, 2, G5),
        Step(260.0, "running instances", 2, 3, G5),
        Step(260.0, "running instances", 3, 4, G5),
        Step(410.0, "serving copies of model", 1, 2, G5),
        Step(410.0, "serving copies of model", 2, 3, G5),
        Step(410.0, "serving copies of model", 3, 4, G5),
        Step(1000.0, "desired instances", 4, 1, "quiet"),
        Step(1000.0, "serving copies of model", 4, 3, "quiet"),
        Step(1000.0, "serving copies of model", 3, 2, "quiet"),
        Step(1000.0, "serving copies of model", 2, 1, "quiet"),
        Step(1030.0, "instances", 4, 3, "its copies have ended"),
        Step(1030.0, "running instances", 4, 3, "its copies have ended"),
        Step(1030.0, "instances", 3, 2, "its copies have ended"),
        Step(1030.0, "running instances", 3, 2, "its copies have ended"),
        Step(1030.0, "instances", 2, 1, "its copies have ended"),
        Step(1030.0, "running instances", 2, 1, "its copies have ended"),
    ]
    assert fleet.is_settled()


def test_copies_bring_instances_and_the_image_is_pulled_once_for_each() -> None:
    """
    Four copies fit the first instance; the fifth asks for a second one.
    """
    timeline = Timeline()
    fleet = managed(timeline)
    fleet.add("chat", ONE, 4)
    timeline.run_until(400.0)
    assert steps(fleet, "serving copies of chat") == [
        (350.0, 1),
        (350.0, 2),
        (350.0, 3),
        (350.0, 4),
    ]

    fleet.set_copies("chat", 5)
    fleet.add("other", ONE, 1)
    timeline.run_until(800.0)
    assert steps(fleet, "instances") == [(0.0, 1), (400.0, 2)]
    assert steps(fleet, "serving copies of chat")[-1] == (750.0, 5)
    # The same image was on its way already.
    assert steps(fleet, "serving copies of other") == [(750.0, 1)]

    fleet.set_copies("other", 2)
    timeline.run_until(1000.0)
    assert steps(fleet, "serving copies of other")[-1] == (850.0, 2)


def test_an_instance_without_copies_is_released_after_twelve_minutes() -> None:
    """
    Scale to zero: the copy drains for 30 s, the instance is idle for 720 s.
    """
    timeline = Timeline()
    fleet = managed(timeline)
    fleet.add("chat", ONE, 1)
    timeline.run_until(1000.0)
    fleet.set_copies("chat", 0)
    assert not fleet.is_settled("chat")
    timeline.run_until(3000.0)

    assert steps(fleet, "serving copies of chat")[-1] == (1000.0, 0)
    assert steps(fleet, "running instances") == [(200.0, 1), (1750.0, 0)]
    assert fleet.instances == ()


def test_the_minimum_stays_and_an_idle_instance_is_used_again() -> None:
    """
    What is kept is not released, and a new copy on it needs neither it nor the image.
    """
    timeline = Timeline()
    fleet = managed(timeline, instances=1, minimum=1)
    fleet.add("chat", ONE, 1)
    timeline.run_until(1000.0)
    fleet.set_copies("chat", 0)
    timeline.run_until(5000.0)
    assert len(fleet.running_instances) == 1

    fleet.set_copies("chat", 1)
    timeline.run_until(6000.0)
    assert steps(fleet, "serving copies of chat")[-1] == (5050.0, 1)


def test_what_does_not_fit_waits_for_room() -> None:
    """
    Three instances of four accelerators hold twelve copies; the rest says why.
    """
    timeline = Timeline()
    fleet = managed(timeline)
    fleet.add("chat", ONE, 13)
    timeline.run_until(1000.0)

    assert (fleet.desired("chat"), fleet.serving("chat")) == (13, 12)
    assert "not enough hardware resources" in str(fleet.refusal("chat"))
    assert fleet.is_settled("chat")
    assert fleet.shortfall(ONE, 1) == (
        "There is not enough hardware resources on the instances for this endpoint to "
        "create a copy of the inference component. On 3 x ml.g5.12xlarge (at most 3): "
        "accelerators: needs 1, free 0."
    )

    fleet.set_copies("chat", 12)
    assert fleet.refusal("chat") is None


def test_a_pool_without_capacity_is_passed_over() -> None:
    """
    The type of the next priority is taken at once, and its own needs apply.
    """
    timeline = Timeline()
    pools = [Pool(P4, 2), Pool(G5, 1)]
    fleet = managed(
        timeline, pools=pools, capacity=lambda kind, _: 1 if kind == G5 else 9
    )
    fleet.add("chat", {G5: FOUR, P4: ResourceRequirements(accelerators=8)}, 2)
    timeline.run_until(1000.0)

    assert [i.instance_type for i in fleet.instances] == [G5, P4]
    assert [c.needs and c.needs.accelerators for c in fleet.copies("chat")] == [4, 8]
    assert fleet.serving("chat") == 2


def test_missing_capacity_is_known_after_half_an_hour_and_tried_again() -> None:
    """
    31 minutes until the refusal, five more until the next try, which has luck.
    """
    timeline = Timeline()
    fleet = managed(timeline, capacity=lambda _, now: 0 if now < 2000.0 else 9)
    fleet.add("chat", ONE, 1)
    timeline.run_until(1859.0)
    assert not fleet.is_settled("chat")
    assert fleet.refusal("chat") is None

    timeline.run_until(1860.0)
    assert fleet.refusal("chat") == NO_CAPACITY
    assert fleet.is_settled("chat")
    timeline.run_until(3000.0)
    assert steps(fleet, "instances") == [(0.0, 1), (1860.0, 0), (2160.0, 1)]
    assert steps(fleet, "serving copies of chat") == [(2510.0, 1)]
    assert fleet.refusal("chat") is None


def test_capacity_that_comes_back_while_one_waits_is_taken() -> None:
    """
    It is looked for every minute until the provisioning time-out.
    """
    timeline = Timeline()
    fleet = managed(
        timeline,
        capacity=lambda _, now: 0 if now < 90.0 else 9,
        provision_timeout=300.0,
    )
    fleet.add("chat", ONE, 1)
    timeline.run_until(1000.0)

    assert steps(fleet, "running instances") == [(320.0, 1)]


def test_an_unmanaged_variant_without_capacity_falls_back_to_what_runs() -> None:
    """
    So that whoever scales it asks again.
    """
    timeline = Timeline()
    fleet = Fleet(
        timeline,
        pools=[Pool(G5)],
        instances=1,
        times=TIMES,
        capacity=lambda *_: 1,
        provision_timeout=300.0,
    )
    fleet.add("model", None)
    timeline.run_until(400.0)
    fleet.set_instances(3)
    timeline.run_until(699.0)
    assert fleet.desired("model") == 3

    timeline.run_until(700.0)
    assert fleet.desired("model") == 1
    assert fleet.refusal() == NO_CAPACITY
    assert fleet.is_settled()


def test_consolidation_moves_copies_and_frees_an_instance() -> None:
    """
    20 minutes after the last change a copy is started beside the others, then the old
    one drains and its instance goes.
    """
    timeline = Timeline()
    policy = ScaleIn(strategy="CONSOLIDATION")
    fleet = managed(timeline, scale_in=policy)
    fleet.add("a", ONE, 4)
    fleet.add("b", ONE, 1)
    timeline.run_until(1000.0)
    fleet.set_copies("a", 2)
    # Drained at 1030; looked at 1200 s later; 50 s to start, 30 s to drain.
    timeline.run_until(2229.0)
    assert len(fleet.running_instances) == 2
    timeline.run_until(4000.0)

    assert steps(fleet, "running instances")[-1] == (2310.0, 1)
    assert steps(fleet, "serving copies of b") == [(350.0, 1), (2280.0, 2), (2280.0, 1)]
    assert [len(i.copies) for i in fleet.instances] == [3]
    assert fleet.is_settled()


def test_a_change_in_the_middle_of_consolidation_leaves_copies_where_they_are() -> None:
    """
    The copies that were to replace others go; what serves goes on.
    """
    timeline = Timeline()
    fleet = managed(timeline, scale_in=ScaleIn(strategy="CONSOLIDATION"))
    fleet.add("a", ONE, 4)
    fleet.add("b", ONE, 1)
    timeline.run_until(1000.0)
    fleet.set_copies("a", 2)
    timeline.run_until(2240.0)
    fleet.set_copies("b", 2)
    timeline.run_until(2400.0)

    assert fleet.serving("b") == 2
    assert len(fleet.running_instances) == 2
    assert all(copy.replaces is None for copy in fleet.copies("b"))


def test_spread_copies_keep_apart() -> None:
    """
    On two instances that are there, each takes one copy.
    """
    timeline = Timeline()
    fleet = Fleet(timeline, pools=[Pool(G5)], instances=2, times=TIMES, ready=True)
    fleet.add("packed", ONE, 2)
    fleet.add("spread", ONE, 2, placement="SPREAD")

    held = [[copy.name for copy in i.copies] for i in fleet.instances]
    assert held == [["packed", "packed", "spread"], ["spread"]]


def test_a_container_that_never_gets_healthy_fails_and_is_tried_again() -> None:
    """
    After its time-out the copy is gone and the reason stays; five minutes later again.
    """
    timeline = Timeline()
    bad = [True]
    fleet = Fleet(
        timeline,
        pools=[Pool(G5)],
        instances=1,
        times=TIMES,
        ready=True,
        trouble=lambda _: Trouble(600.0, "did not pass the ping") if bad[0] else None,
    )
    fleet.add("chat", ONE, 2)
    timeline.run_until(600.0)
    assert fleet.refusal("chat") == "did not pass the ping"
    assert fleet.copies("chat") == ()
    assert fleet.is_settled("chat")

    bad[0] = False
    timeline.run_until(2000.0)
    assert steps(fleet, "serving copies of chat") == [(1050.0, 1), (1050.0, 2)]
    assert fleet.refusal("chat") is None


def test_a_container_that_restarts_is_away_for_its_start() -> None:
    """
    The image is there: 50 s.
    """
    timeline = Timeline()
    fleet = Fleet(timeline, pools=[Pool(G5)], instances=1, times=TIMES, ready=True)
    fleet.add("chat", ONE, 1, ready=True)
    timeline.run_until(100.0)
    fleet.restart(fleet.copies("chat")[0], "out of memory")
    timeline.run_until(200.0)

    assert steps(fleet, "serving copies of chat") == [(0.0, 1), (100.0, 0), (150.0, 1)]


def test_a_removed_model_finishes_what_it_has() -> None:
    """
    It is forgotten at once, and its room is free when it has drained.
    """
    timeline = Timeline()
    fleet = Fleet(timeline, pools=[Pool(G5)], instances=1, times=TIMES, ready=True)
    fleet.add("old", FOUR, 1, ready=True)
    fleet.remove("old")
    fleet.add("new", FOUR, 1)
    assert fleet.names == ("new",)
    assert "not enough hardware" in str(fleet.refusal("new"))
    timeline.run_until(1000.0)

    assert steps(fleet, "serving copies of old") == [(0.0, 1), (0.0, 0)]
    # 30 s to drain, then the model's start: the image is there.
    assert steps(fleet, "serving copies of new") == [(80.0, 1)]


def test_a_closed_fleet_lets_everything_go() -> None:
    """
    Copies drain, instances follow, what is asked for is called off.
    """
    timeline = Timeline()
    fleet = managed(timeline, instances=1, minimum=1)
    fleet.add("chat", ONE, 4)
    timeline.run_until(400.0)
    fleet.set_copies("chat", 5)
    fleet.close()
    assert len(fleet.instances) == 1
    timeline.run_until(430.0)

    assert not fleet.instances


def test_a_listener_is_told_in_order() -> None:
    """
    An instance runs, its copy serves, leaves and ends, the instance goes.
    """
    told: list[str] = []

    class Recorder(Listener):
        def instance_running(self, _: object) -> None:
            told.append("running")

        def copy_serving(self, copy: Copy) -> None:
            told.append(f"{copy.name} serves")

        def copy_leaving(self, copy: Copy) -> None:
            told.append(f"{copy.name} leaves")

        def copy_gone(self, copy: Copy) -> None:
            told.append(f"{copy.name} is gone")

        def instance_gone(self, _: object) -> None:
            told.append("instance is gone")

    timeline = Timeline()
    fleet = managed(timeline, listener=Recorder())
    fleet.add("chat", ONE, 1)
    timeline.run_until(500.0)
    fleet.set_copies("chat", 0)
    timeline.run_until(5000.0)

    assert told == [
        "running",
        "chat serves",
        "chat leaves",
        "chat is gone",
        "instance is gone",
    ]


def test_what_scales_a_fleet_sees_and_sets_what_is_wanted() -> None:
    """
    By copies of a model, and by instances of a variant with a model.
    """
    timeline = Timeline()
    fleet = managed(timeline)
    fleet.add("chat", ONE, 1)
    copies = fleet.scalable("chat")
    timeline.run_until(500.0)
    copies.set_desired(2, "alarm")
    assert (copies.desired, copies.running, copies.is_settled) == (2, 1, False)
    timeline.run_until(600.0)
    assert (copies.desired, copies.running, copies.is_settled) == (2, 2, True)

    variant = Fleet(timeline, pools=[Pool(G5)], instances=1, times=TIMES, ready=True)
    variant.add("model", None, ready=True)
    instances = variant.scalable()
    instances.set_desired(2, "alarm")
    assert (instances.desired, instances.running, instances.is_settled) == (2, 1, False)
    timeline.run_until(1000.0)
    assert (instances.desired, instances.running, instances.is_settled) == (2, 2, True)


def test_times_differ_by_type_and_are_held_to_what_time_can_be() -> None:
    """
    The figure of the type counts, then the other; none is negative.
    """
    timeline = Timeline()
    times = FleetTimes(
        provision=ByType(10.0, {P4: 1000.0}), image_pull=0.0, model_start=1.0
    )
    fleet = managed(timeline, times=times)
    fleet.add("chat", ONE, 1, start=5.0)
    timeline.run_until(100.0)
    assert steps(fleet, "serving copies of chat") == [(15.0, 1)]

    with pytest.raises(ValueError, match="provision must be at least 0, got -1"):
        FleetTimes(provision=ByType(0.0, {P4: -1.0}))
    with pytest.raises(ValueError, match="drain must be a finite number or a B"):
        FleetTimes(drain=float("nan"))


@pytest.mark.parametrize("value", ["30", None, True, [30.0], float("inf")], ids=repr)
@pytest.mark.parametrize("name", [field.name for field in fields(FleetTimes)])
def test_a_time_is_a_number(name: str, value: object) -> None:
    """
    What else is given is refused by the field's name.
    """
    times: dict[str, Any] = {name: value}

    with pytest.raises(ValueError, match=rf"{name} must be a finite number"):
        FleetTimes(**times)


def test_a_figure_by_type_is_a_number() -> None:
    """
    Of every type, and of all others.
    """
    types: Any = {P4: "soon"}

    with pytest.raises(ValueError, match=r"types\['ml.p4d.24xlarge'\] must be a fin"):
        ByType(10.0, types)


def test_a_measured_start_is_the_same_on_every_type() -> None:
    """
    Also where an image takes longer than the figure it was measured against.
    """
    times = FleetTimes.measured(600.0)

    for kind in ("ml.g5.xlarge", "ml.g6.2xlarge"):
        parts = (times.provision, times.image_pull, times.model_start)
        assert sum(seconds(part, kind) for part in parts) == 600.0


def test_a_measured_start_is_split_into_instance_image_and_model() -> None:
    """
    First answer after 9 min 24 s, alarm after 67 s: 497 s from asking to answering.
    """
    timeline = Timeline()
    fleet = managed(timeline, times=FleetTimes.measured(564.0 - 67.0))
    fleet.add("chat", ONE, 1)
    timeline.run_until(1000.0)

    assert steps(fleet, "running instances") == [(201.0, 1)]
    assert steps(fleet, "serving copies of chat") == [(497.0, 1)]


def test_a_start_is_estimated_from_the_bytes() -> None:
    """
    The two figures that the estimate was made from.
    """
    assert start_seconds(141e9, source="s3") == pytest.approx(166.0, abs=1.0)
    assert start_seconds(14.5e9) == pytest.approx(176.0, abs=1.0)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"cooldown": 299.0}, "cooldown must be 300 to 86400, got 299.0"),
        ({"cooldown": 86401.0}, "cooldown must be 300 to 86400"),
        ({"maximum_step": 0}, "maximum_step must be 1 to 100, got 0"),
        ({"maximum_step": 101}, "maximum_step must be 1 to 100, got 101"),
    ],
)
def test_a_scale_in_policy_keeps_the_bounds_of_the_api(
    settings: dict[str, float], words: str
) -> None:
    """
    Five minutes to a day, one to a hundred instances.
    """
    with pytest.raises(ValueError, match=words):
        ScaleIn(strategy="CONSOLIDATION", **settings)  # type: ignore[arg-type]  # by name
    ScaleIn(strategy="IDLE_RELEASE", cooldown=300.0, maximum_step=100)
    ScaleIn(strategy="IDLE_RELEASE", cooldown=86400.0, maximum_step=1)


def test_a_model_may_be_removed_while_it_is_added() -> None:
    """
    As whoever listens does with one that fails at once.
    """

    class Remover(Listener):
        def __init__(self) -> None:
            self.fleet: Fleet | None = None

        def changed(self) -> None:
            if self.fleet and "chat" in self.fleet.names and self.fleet.refusal("chat"):
                self.fleet.remove("chat")

    remover = Remover()
    fleet = Fleet(
        Timeline(),
        pools=[Pool(G5)],
        instances=1,
        times=FleetTimes.instant(),
        trouble=lambda _: Trouble(0.0, "no"),
        listener=remover,
    )
    remover.fleet = fleet
    fleet.add("chat", ONE, 2)

    assert fleet.names == ()
    assert fleet.is_settled()
