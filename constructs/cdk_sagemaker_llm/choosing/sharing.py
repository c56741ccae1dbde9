"""
Several models on the same instances, or each on its own: which costs less.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.catalog.prices import HOURS_A_MONTH
from cdk_sagemaker_llm.choosing.answer import Answer
from cdk_sagemaker_llm.choosing.candidates import kept_share
from cdk_sagemaker_llm.choosing.choosing import Progress, choose
from cdk_sagemaker_llm.choosing.code import (
    accepted,
    model_text,
    serving_text,
    token_warnings,
)
from cdk_sagemaker_llm.choosing.load import Load
from cdk_sagemaker_llm.choosing.question import Question
from cdk_sagemaker_llm.choosing.setups import Setup, setups
from cdk_sagemaker_llm.choosing.sizing import Sizing
from cdk_sagemaker_llm.fit.packing import fewest_instances
from cdk_sagemaker_llm.fit.placement import Capacity
from cdk_sagemaker_llm.simulation.fleet import Pool
from cdk_sagemaker_llm.simulation.running import run
from cdk_sagemaker_llm.simulation.scenario import Scenario, Workload

# So many of the cheapest hosts are simulated until one keeps every objective.
_PLAYED = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Tenant:
    """
    One model among several on the same instances.

    Args:
        question: What is asked of it.

        setup: What one copy is.

        copies: How many there are.
    """

    question: Question
    setup: Setup
    copies: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Host:
    """
    Instances that several models share.

    Args:
        instance_type: Their type.

        instances: How many there are.

        tenants: The models.

        monthly_cost: US dollars in 730 hours.

        kept: The part of the minutes that kept the objective of each model.
    """

    instance_type: str
    instances: int
    tenants: tuple[Tenant, ...]
    monthly_cost: float
    kept: tuple[float, ...]

    @property
    def construct_call(self) -> str:
        """
        The construct calls that define it, to paste into a stack.
        """
        lines = [
            "host = InferenceComponentEndpoint(",
            "    self,",
            '    "Host",',
            f'    instance_type="{self.instance_type}",',
            f"    instance_count={self.instances},",
            # An update starts new copies beside the old ones.
            f"    max_instance_count={self.instances + 1},",
            ")",
        ]
        for number, one in enumerate(self.tenants, start=1):
            lines += [
                "host.add_model(",
                f'    "Model{number}",',
                f"    model={model_text(one.setup, one.question)},",
                f"    serving={serving_text(one.setup, one.question)},",
                f"    copies={one.copies},",
                ")",
            ]
        warnings = {each for one in self.tenants for each in token_warnings(one.setup)}
        return "\n".join([*lines, *accepted(sorted(warnings))])


@dataclass(frozen=True, kw_only=True, slots=True)
class Sharing:
    """
    Several models together, and each by itself.

    Args:
        answers: The answer for each model by itself.

        host: The cheapest instances that all share; ``None`` where none holds them.
    """

    answers: tuple[Answer, ...]
    host: Host | None

    @property
    def separate_cost(self) -> float:
        """
        US dollars a month of each model by itself; infinite if one has no deployment.
        """
        return sum(
            float("inf") if one.best is None else one.best.cost for one in self.answers
        )

    @property
    def is_shared(self) -> bool:
        """
        Whether sharing costs less.
        """
        return self.host is not None and self.host.monthly_cost < self.separate_cost


def choose_together(
    questions: Sequence[Question], *, progress: Progress | None = None
) -> Sharing:
    """
    Find out whether several models cost less on instances that they share.

    A host has a fixed number of copies of each model, as many as its busiest minute
    needs; by itself each model may scale.

    Args:
        questions: What each model must do; the same region, prices and time for all.

        progress: What is called now and then with how far it is.
            If omitted, nothing is.

    Raises:
        ValueError: If there are fewer than two questions, or they are of different
            times.
    """
    if len(questions) < len(("one", "other")):
        raise ValueError(
            f"questions must be two at least, got {len(questions)}; choose answers one"
        )
    times = {(one.duration, one.start, one.seed) for one in questions}
    if len(times) > 1:
        raise ValueError("questions must be of the same duration, start and seed")
    answers = tuple(choose(one, progress=progress) for one in questions)
    hosts = sorted(
        _hosts(questions), key=lambda one: (one.monthly_cost, one.instance_type)
    )
    for host in hosts[:_PLAYED]:
        played = replace(host, kept=tuple(_kept(host)))
        aims = (one.objective.share for one in questions)
        if all(kept >= aim for kept, aim in zip(played.kept, aims, strict=True)):
            return Sharing(answers=answers, host=played)
    return Sharing(answers=answers, host=None)


def _hosts(questions: Sequence[Question]) -> Iterator[Host]:
    by_type: list[Mapping[str, Tenant]] = [_tenants(one) for one in questions]
    shared = set(by_type[0]).intersection(*by_type[1:])
    for name in sorted(shared):
        tenants = tuple(each[name] for each in by_type)
        price = tenants[0].setup.price
        if price is None:
            continue
        needs = {
            str(number): replace(one.setup.plan.resources, copies=one.copies)
            for number, one in enumerate(tenants)
        }
        packed = fewest_instances(needs, Capacity.of(find_instance_type(name)))
        count = len(packed.instances)
        yield Host(
            instance_type=name,
            instances=count,
            tenants=tenants,
            monthly_cost=count * price * HOURS_A_MONTH,
            kept=(),
        )


def _tenants(question: Question) -> Mapping[str, Tenant]:
    """
    Return the copies of a model that take the fewest GPUs, by instance type.
    """
    load = Load.of(question)
    found: dict[str, Tenant] = {}
    for setup in setups(question, load)[0]:
        if setup.copies == 1:
            continue
        sizing = Sizing(setup.times, load, question.objective)
        count = sizing.least(load.peak(question.objective.share))
        if not count:
            continue
        known = found.get(setup.instance_type)
        size = count * setup.degree
        if known is None or size < known.copies * known.setup.degree:
            found[setup.instance_type] = Tenant(
                question=question, setup=setup, copies=count
            )
    return found


def _kept(host: Host) -> Iterator[float]:
    first = host.tenants[0].question
    scenario = Scenario(
        workloads=tuple(
            Workload(
                name=f"model{number}",
                traffic=one.question.traffic,
                service=one.setup.times,
                needs=one.setup.plan.resources,
                copies=one.copies,
                start_seconds=one.setup.start_seconds,
                timeout=one.question.timeout,
            )
            for number, one in enumerate(host.tenants, start=1)
        ),
        duration=first.duration,
        start=first.start,
        seed=first.seed,
        pools=(Pool(host.instance_type),),
        instances=host.instances,
        minimum=host.instances,
        maximum=host.instances + 1,
        managed=True,
    )
    outcome = run(scenario, "aggregate")
    for one, series in zip(host.tenants, outcome.workloads.values(), strict=True):
        load = Load.of(one.question)
        sizing = Sizing(one.setup.times, load, one.question.objective)
        yield kept_share(series, sizing)[0]
