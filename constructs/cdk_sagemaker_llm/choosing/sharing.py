"""
Several models: their copies on instances that they share, or each on instances of its
own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cdk_sagemaker_llm.choosing.answer import Answer
from cdk_sagemaker_llm.choosing.candidates import Candidate, result_of
from cdk_sagemaker_llm.choosing.choosing import Progress, choose
from cdk_sagemaker_llm.choosing.code import (
    app_around,
    construct_call,
    outputs,
)
from cdk_sagemaker_llm.choosing.hosts import Host, Tenant
from cdk_sagemaker_llm.choosing.load import Load
from cdk_sagemaker_llm.choosing.question import Question
from cdk_sagemaker_llm.choosing.scaling import Scaling, scalings
from cdk_sagemaker_llm.choosing.setups import Setup, setups
from cdk_sagemaker_llm.choosing.sizing import Sizing
from cdk_sagemaker_llm.simulation.running import run

_MINUTE, _HOUR = 60.0, 3600.0
# So many of the cheapest by estimate are simulated.
_PLAYED = 6
_NOT_A_NAME = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sharing:
    """
    Several models together, and each by itself.

    Args:
        answers: The answer for each model by itself.

        names: What each is called in the calls.

        hosts: Instances that all share, the best first.

        budget: US dollars a month for all, at most; ``None`` without a limit.
    """

    answers: tuple[Answer, ...]
    names: tuple[str, ...]
    hosts: tuple[Host, ...]
    budget: float | None = None

    @property
    def host(self) -> Host | None:
        """
        The cheapest instances that all share; ``None`` where none keeps the objectives.
        """
        first = self.hosts[0] if self.hosts else None
        return first if first is not None and not first.reason else None

    @property
    def separate_cost(self) -> float:
        """
        US dollars a month of each model by itself; infinite if one has no deployment.
        """
        return sum(
            math.inf if one.best is None else one.best.cost for one in self.answers
        )

    @property
    def is_shared(self) -> bool:
        """
        Whether sharing costs less.
        """
        return self.host is not None and self.host.monthly_cost < self.separate_cost

    @property
    def cost(self) -> float:
        """
        US dollars a month of the cheaper of the two; infinite if neither does.
        """
        together = math.inf if self.host is None else self.host.monthly_cost
        return min(together, self.separate_cost)

    @property
    def keeps(self) -> bool:
        """
        Whether one of them keeps all objectives within the budget.
        """
        budget = math.inf if self.budget is None else self.budget
        return self.cost < math.inf and self.cost <= budget

    @property
    def separate_call(self) -> str | None:
        """
        The construct calls of each by itself; ``None`` if one of them has none.
        """
        if self.separate_cost == math.inf:
            return None
        return "\n".join(
            construct_call(candidate, question, id=name)
            for name, candidate, question in self._separate()
        )

    @property
    def construct_call(self) -> str | None:
        """
        The construct calls of the cheaper of the two; ``None`` if neither does.
        """
        if self.host is not None and self.is_shared:
            return self.host.construct_call
        return self.separate_call

    @property
    def stack(self) -> str | None:
        """
        A whole app with the cheaper of the two, as the text of its file; ``None`` if
        neither keeps all objectives within the budget.
        """
        if not self.keeps:
            return None
        count = len(self.names)
        if self.host is not None and self.is_shared:
            return app_around(
                f"{self.host.construct_call}\n"
                'CfnOutput(self, "EndpointName", value=host.endpoint_name)',
                [(one.candidate, one.question) for one in self.host.tenants],
                title=f"{count} models on {self.host.instance_type}",
                words="one host, whose instances all models share",
            )
        lines = [
            "\n".join(
                [
                    construct_call(candidate, question, id=name),
                    *outputs(candidate, id=name),
                ]
            )
            for name, candidate, question in self._separate()
        ]
        return app_around(
            "\n".join(lines),
            [(candidate, question) for _, candidate, question in self._separate()],
            title=f"{count} models on instances of their own",
            words="an endpoint for each model",
        )

    def _separate(self) -> Iterator[tuple[str, Candidate, Question]]:
        for name, answer in zip(self.names, self.answers, strict=True):
            if answer.best is not None:
                yield name, answer.best.candidate, answer.question


def choose_together(
    questions: Sequence[Question],
    *,
    budget: float | None = None,
    progress: Progress | None = None,
) -> Sharing:
    """
    Find out whether several models cost less on instances that they share.

    Args:
        questions: What each model must do; the same region, prices and time for all.

        budget: US dollars a month for all, at most. If omitted, there is no limit.

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
    names = tuple(_names([one.model for one in questions]))
    answers = tuple(choose(one, progress=progress) for one in questions)
    search = _Search(dict(zip(names, questions, strict=True)), progress)
    return Sharing(
        answers=answers,
        names=names,
        hosts=tuple(search.hosts(budget)),
        budget=budget,
    )


class _Search:
    """
    The hosts of several models.
    """

    def __init__(
        self, questions: Mapping[str, Question], progress: Progress | None
    ) -> None:
        self._questions = questions
        self._progress = progress
        self._loads = {name: Load.of(one) for name, one in questions.items()}
        self._sizings: dict[tuple[str, int], Sizing] = {}

    def hosts(self, budget: float | None) -> list[Host]:
        """
        Return those that were simulated, the best first.
        """
        costed = sorted(
            (
                (host.monthly(self._hours(host), self._duration) or 0.0, host)
                for host in self._hosts()
            ),
            key=lambda pair: (pair[0], pair[1].words),
        )
        played = list(self._plays(costed, budget))
        good = [one for one in played if not self._fault(one, budget)]
        best = min(good, key=lambda one: one.monthly_cost, default=None)
        others = [
            replace(one, reason=self._reason(one, best, budget))
            for one in played
            if one is not best
        ]
        others.sort(key=lambda one: (self._fault(one, budget) != "", one.monthly_cost))
        return others if best is None else [best, *others]

    def _plays(
        self, costed: Sequence[tuple[float, Host]], budget: float | None
    ) -> Iterator[Host]:
        """
        Simulate the cheapest by estimate, until one is found that keeps the objectives
        and nothing that is left can be cheaper.
        """
        cheapest, count = math.inf, 0
        for cost, host in costed:
            trial: Host | None = host
            while trial is not None and count < _PLAYED:
                if cost >= cheapest:
                    return
                if self._progress is not None:
                    self._progress("simulating hosts", count, _PLAYED)
                count += 1
                one = self._played(trial)
                yield one
                if not self._fault(one, budget):
                    cheapest = min(cheapest, one.monthly_cost)
                failing = self._failing(one)
                # One copy more is tried, but not two: another type is as good then.
                trial = trial.with_more(failing) if failing and trial is host else None

    def _failing(self, host: Host) -> list[str]:
        return [
            one.name
            for one, kept in zip(host.tenants, host.kept, strict=True)
            if kept < one.question.objective.share
        ]

    @property
    def _duration(self) -> float:
        return next(iter(self._questions.values())).duration

    def _hosts(self) -> Iterator[Host]:
        options = {name: self._options(name) for name in self._questions}
        for kind in next(iter(options.values())):
            if not all(kind in each for each in options.values()):
                continue
            fixed, scaled = zip(*(each[kind] for each in options.values()), strict=True)
            yield Host(tenants=fixed)
            if scaled != fixed:
                yield Host(tenants=scaled)

    def _options(self, name: str) -> dict[str, tuple[Tenant, Tenant]]:
        """
        Return, by instance type, a model's copies that take the fewest accelerators,
        always the same number and scaled.
        """
        question, load = self._questions[name], self._loads[name]
        peak = load.peak(question.objective.share)
        fewest: dict[str, tuple[int, Setup]] = {}
        for setup in setups(question, load)[0]:
            if not setup.shares or setup.price is None:
                continue
            least = self._sizing(name, setup).least(peak)
            if not least:
                continue
            taken = least * setup.degree
            if taken < fewest.get(setup.instance_type, (math.inf, setup))[0]:
                fewest[setup.instance_type] = taken, setup
        return {kind: self._scaled(name, setup) for kind, (_, setup) in fewest.items()}

    def _scaled(self, name: str, setup: Setup) -> tuple[Tenant, Tenant]:
        question, sizing = self._questions[name], self._sizing(name, setup)
        to_zero = question.scale_to_zero

        def spent(one: Scaling) -> float:
            return float(sum(one.counts(sizing, setup.start_seconds)))

        found = list(scalings(sizing, setup.start_seconds, to_zero=to_zero))
        keeping = [
            one
            for one in found
            if Candidate(setup=setup, scaling=one).estimate(sizing, question).kept
            >= question.objective.share
        ]
        best = min(keeping, key=spent, default=found[0])
        fixed, scaled = (
            Tenant(
                name=name,
                question=question,
                candidate=Candidate(setup=setup, scaling=one),
            )
            for one in (found[0], best)
        )
        return fixed, scaled

    def _hours(self, host: Host) -> float:
        import numpy as np  # noqa: PLC0415 - what chooses nothing starts without it

        counts = [
            one.candidate.scaling.counts(
                self._sizing(one.name, one.setup), one.setup.start_seconds
            )
            for one in host.tenants
        ]
        rows, times = np.unique(np.column_stack(counts), axis=0, return_counts=True)
        minutes = sum(
            host.packed(row) * count
            for row, count in zip(rows.tolist(), times.tolist(), strict=True)
        )
        return float(minutes * _MINUTE / _HOUR)

    def _sizing(self, name: str, setup: Setup) -> Sizing:
        key = name, id(setup.times)
        if key not in self._sizings:
            objective = self._questions[name].objective
            self._sizings[key] = Sizing(setup.times, self._loads[name], objective)
        return self._sizings[key]

    def _played(self, host: Host) -> Host:
        outcome = run(host.scenario())
        spent = sum(outcome.instance_hours.values())
        cost = host.monthly(spent, outcome.duration)
        return replace(
            host,
            results=tuple(
                result_of(
                    outcome.workloads[one.name],
                    self._sizing(one.name, one.setup),
                    monthly_cost=cost,
                    instance_hours=spent,
                    method=outcome.method,
                )
                for one in host.tenants
            ),
        )

    def _fault(self, host: Host, budget: float | None) -> str:
        for name in self._failing(host):
            question = self._questions[name]
            kept = next(
                kept
                for one, kept in zip(host.tenants, host.kept, strict=True)
                if one.name == name
            )
            return (
                f"{question.model} keeps the objective in {kept:.1%} of the minutes, "
                f"{question.objective.share:.1%} are asked for"
            )
        cost = host.monthly_cost
        if budget is not None and cost > budget:
            return f"it costs {cost:,.0f} $ a month, over the budget of {budget:,.0f}"
        return ""

    def _reason(self, host: Host, best: Host | None, budget: float | None) -> str:
        fault = self._fault(host, budget)
        if fault or best is None:
            return fault
        return f"it costs {host.monthly_cost - best.monthly_cost:,.0f} $ a month more"


def _names(models: Sequence[str]) -> list[str]:
    """
    Return what models are called as constructs, each otherwise.
    """
    found: list[str] = []
    for model in models:
        words = _NOT_A_NAME.split(model.rpartition("/")[2])
        name = "".join(word[:1].upper() + word[1:] for word in words) or "Model"
        name = name if name[0].isalpha() else f"Model{name}"
        number = 1
        while (numbered := name if number == 1 else f"{name}n{number}") in found:
            number += 1
        found.append(numbered)
    return found
