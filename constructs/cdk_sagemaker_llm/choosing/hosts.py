"""
Instances of one type that the copies of several models share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cdk_sagemaker_llm.catalog.prices import HOURS_A_MONTH
from cdk_sagemaker_llm.choosing.candidates import Candidate, Result
from cdk_sagemaker_llm.choosing.code import component_call, host_call
from cdk_sagemaker_llm.choosing.question import Question
from cdk_sagemaker_llm.choosing.setups import Setup
from cdk_sagemaker_llm.fit.packing import fewest_instances
from cdk_sagemaker_llm.fit.placement import Capacity
from cdk_sagemaker_llm.simulation.scenario import Scenario

_HOUR = 3600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Tenant:
    """
    One model among several on the same instances.

    Args:
        name: What it is called there.

        question: What is asked of it.

        candidate: What one copy is, and how many there are when.
    """

    name: str
    question: Question
    candidate: Candidate

    @property
    def setup(self) -> Setup:
        """
        What one copy is.
        """
        return self.candidate.setup

    @property
    def copies(self) -> int:
        """
        How many there are at the start.
        """
        return self.candidate.copies


@dataclass(frozen=True, kw_only=True, slots=True)
class Host:
    """
    Instances of one type, which the copies of several models share.

    Args:
        tenants: The models.

        results: What each of them comes to; the cost is that of all together.
            If omitted, nothing was simulated.

        reason: Why it lost; empty for the best.
    """

    tenants: tuple[Tenant, ...]
    results: tuple[Result, ...] = ()
    reason: str = ""

    @property
    def instance_type(self) -> str:
        """
        The type's API name.
        """
        return self.tenants[0].setup.instance_type

    @property
    def monthly_cost(self) -> float:
        """
        US dollars in 730 hours of all together; infinite without a known price.
        """
        cost = self.results[0].monthly_cost if self.results else None
        return math.inf if cost is None else cost

    @property
    def kept(self) -> tuple[float, ...]:
        """
        The part of the minutes that kept the objective of each model.
        """
        return tuple(one.kept for one in self.results)

    @property
    def is_fixed(self) -> bool:
        """
        Whether nothing changes.
        """
        return all(one.candidate.scaling.is_fixed for one in self.tenants)

    @property
    def instances(self) -> int:
        """
        How many instances there are at the start.
        """
        return self.counts[0]

    @property
    def counts(self) -> tuple[int, int, int]:
        """
        How many instances there are at the start, at least and at most, with room for
        one more where an update starts copies beside the old ones.
        """
        scalings = [one.candidate.scaling for one in self.tenants]
        least = self.packed([one.least for one in scalings])
        most = self.packed([one.most for one in scalings])
        return max(least, 1), least, most + 1 if self.is_fixed else most

    @property
    def construct_call(self) -> str:
        """
        The construct calls that define it, to paste into a stack.
        """
        first = self.tenants[0]
        calls = [host_call(first.setup, self.counts, first.question, id="Host")]
        calls += [
            component_call(one.candidate, one.question, id=one.name)
            for one in self.tenants
        ]
        return "\n".join(calls)

    @property
    def words(self) -> str:
        """
        Say it in one line.
        """
        models = ", ".join(
            f"{one.setup.model} ({one.setup.engine}, split over {one.setup.degree}; "
            f"{one.candidate.scaling.words})"
            for one in self.tenants
        )
        start, _, most = self.counts
        count = f"{start}" if self.is_fixed else f"{start} to {most}"
        return f"{count} x {self.instance_type} shared by {models}"

    def packed(self, copies: Sequence[int]) -> int:
        """
        Return on how many instances so many copies of each model find a place.

        Args:
            copies: How many there are of each, in order.
        """
        if not any(copies):
            return 0
        needs = {
            one.name: replace(one.setup.plan.resources, copies=count)
            for one, count in zip(self.tenants, copies, strict=True)
        }
        capacity = Capacity.of(self.tenants[0].setup.plan.instance_type)
        return len(fewest_instances(needs, capacity).instances)

    def with_more(self, names: Sequence[str]) -> Host:
        """
        Return the same with one more copy of some models, not simulated.

        Args:
            names: What they are called there.
        """
        return Host(
            tenants=tuple(
                replace(one, candidate=_with_one_more(one.candidate))
                if one.name in names
                else one
                for one in self.tenants
            )
        )

    def monthly(self, hours: float, duration: float) -> float | None:
        """
        Return what instance-hours come to in a month, in US dollars.

        Args:
            hours: The hours of all instances.

            duration: In so many seconds.
        """
        price = self.tenants[0].setup.price
        if price is None:
            return None
        return hours * price * HOURS_A_MONTH * _HOUR / duration

    def scenario(self) -> Scenario:
        """
        Return what a simulation plays out: the same that ``simulate`` reads of the app
        that the construct calls make.
        """
        start, least, most = self.counts
        first = self.tenants[0]
        return replace(
            first.candidate.scenario(first.question),
            workloads=tuple(
                one.candidate.workload(one.question, one.name) for one in self.tenants
            ),
            instances=start,
            minimum=least,
            maximum=most,
            managed=True,
        )


def _with_one_more(candidate: Candidate) -> Candidate:
    scaling = candidate.scaling
    hours = scaling.hours
    more = replace(
        scaling,
        least=scaling.least + 1,
        most=scaling.most + 1,
        hours=hours and replace(hours, copies=hours.copies + 1),
    )
    return replace(candidate, scaling=more)
