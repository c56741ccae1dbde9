"""
What holds of a fleet whatever is asked of it, and whenever.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdk_sagemaker_llm.catalog import find_instance_type
from cdk_sagemaker_llm.fit.placement import Capacity, ResourceRequirements
from cdk_sagemaker_llm.simulation.clock import Timeline
from cdk_sagemaker_llm.simulation.fleet import (
    Fleet,
    FleetTimes,
    Pool,
    ScaleIn,
    Trouble,
)

G5 = "ml.g5.12xlarge"  # Four accelerators.
P4 = "ml.p4d.24xlarge"  # Eight.
A_DAY = 86400.0

seconds = st.sampled_from([0.0, 1.0, 20.0, 300.0, 1000.0])
changes = st.lists(
    st.tuples(
        seconds,
        st.sampled_from(["a", "b"]),
        st.integers(0, 20),
    ),
    max_size=12,
)


@dataclass
class PackedFleet:
    """
    Copies of equal size on instances that are there at once, the first with room first.

    This is how the embedded AWS places where nothing takes time.
    """

    minimum: int
    maximum: int
    instances: int
    copies: list[int] = field(default_factory=list)

    def grow(self, each: int, count: int) -> bool:
        """
        Place more copies, all of them or none.
        """
        before = list(self.copies), self.instances
        for _ in range(count):
            for index in range(max(self.maximum, self.instances)):
                if (self.copies.count(index) + 1) * each <= 4:
                    self.copies.append(index)
                    self.instances = max(self.instances, index + 1)
                    break
            else:
                self.copies, self.instances = before
                return False
        return True

    def shrink(self, count: int) -> None:
        """
        Take the newest copies away, and instances that are empty.
        """
        del self.copies[len(self.copies) - count :]
        used = max((index + 1 for index in self.copies), default=0)
        if self.minimum < self.maximum:
            self.instances = max(self.minimum, min(used, self.instances))


@given(
    minimum=st.integers(0, 3),
    more=st.integers(0, 3),
    each=st.integers(1, 4),
    counts=st.lists(st.integers(0, 14), max_size=10),
)
def test_where_nothing_takes_time_a_fleet_packs(
    minimum: int, more: int, each: int, counts: list[int]
) -> None:
    """
    The same copies on the same instances, the same refusals, at once.
    """
    first = max(1, minimum)
    maximum = first + more
    packed = PackedFleet(minimum, maximum, first)
    fleet = Fleet(
        Timeline(),
        pools=[Pool(G5)],
        instances=first,
        minimum=minimum,
        maximum=maximum,
        managed=minimum < maximum,
        times=FleetTimes.instant(),
    )
    needs = ResourceRequirements(accelerators=each)
    fleet.add("a", needs)
    for count in counts:
        more_copies = count - len(packed.copies)
        if more_copies > 0:
            fits = fleet.shortfall(needs, more_copies) is None
            assert packed.grow(each, more_copies) == fits
            if not fits:
                continue
        elif more_copies < 0:
            packed.shrink(-more_copies)
        fleet.set_copies("a", count)

        held = [len(instance.copies) for instance in fleet.instances]
        assert held == [packed.copies.count(i) for i in range(packed.instances)]
        assert fleet.serving("a") == count
        assert fleet.refusal("a") is None
        assert fleet.is_settled()


@given(
    minimum=st.integers(0, 2),
    more=st.integers(1, 4),
    asked=changes,
    sizes=st.tuples(st.integers(1, 4), st.integers(1, 8)),
    strategy=st.sampled_from([None, "IDLE_RELEASE", "CONSOLIDATION"]),
    placement=st.sampled_from(["BINPACK", "SPREAD"]),
    mixed=st.booleans(),
)
def test_bounds_hold_copies_have_room_and_everything_settles(
    minimum: int,
    more: int,
    asked: list[tuple[float, str, int]],
    sizes: tuple[int, int],
    strategy: str | None,
    placement: str,
    *,
    mixed: bool,
) -> None:
    """
    At every change: never fewer instances than the minimum nor more than the maximum,
    and no instance holds more than it has.
    """
    timeline = Timeline()
    maximum = minimum + more
    policy = ScaleIn(strategy=strategy, maximum_step=2) if strategy else None  # type: ignore[arg-type]  # one of the two
    scarce = {P4: 1.0, G5: 99.0}
    fleet = Fleet(
        timeline,
        pools=[Pool(P4, 1), Pool(G5, 2)] if mixed else [Pool(P4)],
        instances=max(1, minimum),
        minimum=minimum,
        maximum=maximum,
        managed=True,
        capacity=lambda kind, _: scarce[kind] if mixed else 99.0,
        scale_in=policy,
    )
    needs = [ResourceRequirements(accelerators=size) for size in sizes]

    def hold() -> None:
        assert minimum <= len(fleet.instances) <= maximum
        assert len(fleet.running_instances) <= len(fleet.instances)
        for instance in fleet.instances:
            held = sum(
                c.needs.accelerators or 0
                for c in instance.copies
                if c.needs is not None
            )
            limit = Capacity.of(find_instance_type(instance.instance_type))
            assert held <= limit.accelerators
            assert all(copy.instance is instance for copy in instance.copies)

    for name, own in zip("ab", needs, strict=True):
        fleet.add(name, own, placement=placement)  # type: ignore[arg-type]  # one of the two
    for delay, name, count in asked:
        end = timeline.now + delay
        while timeline.next is not None and timeline.next <= end:
            timeline.run_until(timeline.next)
            hold()
        timeline.run_until(end)
        fleet.set_copies(name, count)
        hold()
    while timeline.next is not None and timeline.next < A_DAY:
        timeline.run_until(timeline.next)
        hold()

    # What cannot be had is tried again and again.
    assert mixed or (fleet.is_settled() and timeline.next is None)
    for name in "ab":
        wanted, there = fleet.desired(name), fleet.serving(name)
        assert there == wanted or (there < wanted and (mixed or fleet.refusal(name)))
    idle = sum(not instance.copies for instance in fleet.instances)
    assert idle == 0 or len(fleet.running_instances) == minimum


@given(
    counts=st.lists(st.tuples(seconds, st.integers(0, 6)), max_size=10),
    limit=st.integers(0, 4),
)
def test_a_variant_of_a_model_settles_at_what_can_be_had(
    counts: list[tuple[float, int]], limit: int
) -> None:
    """
    As many copies as instances, as many instances as were asked for or are there.
    """
    timeline = Timeline()
    fleet = Fleet(
        timeline, pools=[Pool(G5)], instances=1, capacity=lambda *_: float(limit)
    )
    fleet.add("model", None)
    for delay, count in counts:
        timeline.run_until(timeline.now + delay)
        fleet.set_instances(count)
    timeline.run_until(A_DAY)

    wanted = counts[-1][1] if counts else 1
    assert fleet.serving("model") == len(fleet.instances) == min(wanted, limit)
    assert fleet.desired("model") == len(fleet.instances)
    assert fleet.is_settled()


@given(seed=st.lists(st.tuples(seconds, st.integers(0, 9)), max_size=8))
def test_the_same_requests_give_the_same_log(seed: list[tuple[float, int]]) -> None:
    """
    Nothing is left to chance.
    """

    def play() -> list[object]:
        timeline = Timeline()
        fleet = Fleet(
            timeline,
            pools=[Pool(G5)],
            instances=0,
            minimum=0,
            maximum=2,
            managed=True,
            trouble=lambda c: Trouble(60.0, "no") if c.asked % 2 else None,
        )
        fleet.add("a", ResourceRequirements(accelerators=1))
        for delay, count in seed:
            timeline.run_until(timeline.now + delay)
            fleet.set_copies("a", count)
        timeline.run_until(10_000.0)
        return list(fleet.log)

    assert play() == play()


@pytest.mark.parametrize("why", ["capacity", "trouble"])
def test_what_fails_at_once_is_known_at_once(why: str) -> None:
    """
    Where nothing takes time neither does a failure, and nothing is tried for ever.
    """
    bad = [True]
    fleet = Fleet(
        Timeline(),
        pools=[Pool(G5)],
        instances=1,
        minimum=1,
        maximum=2,
        managed=True,
        times=FleetTimes.instant(),
        capacity=lambda *_: 1.0 if bad[0] and why == "capacity" else 9.0,
        trouble=lambda _: (
            Trouble(0.0, "never healthy") if bad[0] and why == "trouble" else None
        ),
    )
    fleet.add("a", ResourceRequirements(accelerators=4), 2)
    assert fleet.serving("a") == (1 if why == "capacity" else 0)
    assert fleet.refusal("a")
    assert fleet.is_settled()

    bad[0] = False
    fleet.retry()
    assert fleet.serving("a") == 2
    assert fleet.refusal("a") is None
