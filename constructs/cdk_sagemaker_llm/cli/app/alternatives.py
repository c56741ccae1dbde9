"""
What each endpoint of an app costs and keeps under a load, what would do it for less,
and which lines to change for that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cdk_sagemaker_llm.architectures.architecture import find_architecture
from cdk_sagemaker_llm.catalog.prices import HOURS_A_MONTH
from cdk_sagemaker_llm.choosing.answer import Answer
from cdk_sagemaker_llm.choosing.candidates import Result, result_of
from cdk_sagemaker_llm.choosing.choosing import Progress, choose
from cdk_sagemaker_llm.choosing.load import Load
from cdk_sagemaker_llm.choosing.question import Question
from cdk_sagemaker_llm.choosing.sharing import Sharing, choose_together
from cdk_sagemaker_llm.choosing.sizing import Sizing
from cdk_sagemaker_llm.cli.app.changes import (
    Change,
    HostLines,
    Lines,
    endpoint_place,
    engine_of,
)
from cdk_sagemaker_llm.cli.app.hosting import App
from cdk_sagemaker_llm.cli.app.places import Place
from cdk_sagemaker_llm.cli.app.playing import RunSettings, VariantResult, play
from cdk_sagemaker_llm.cli.app.simulated import HostedModel, HostedVariant, read_hosted

_HOUR = 3600.0
# US dollars a month that are worth a change.
_WORTH = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """
    What could take the place of a variant.

    Args:
        answer: What was found, of one model or of several.

        changes: The lines to change for the best of it.
    """

    answer: Answer | Sharing
    changes: tuple[Change, ...] = ()

    @property
    def cost(self) -> float:
        """
        US dollars a month of the best; infinite if nothing keeps the objective.
        """
        if isinstance(self.answer, Sharing):
            return self.answer.cost if self.answer.keeps else math.inf
        best = self.answer.best
        return math.inf if best is None else best.cost

    @property
    def words(self) -> str:
        """
        Say in a few words where the best runs.
        """
        if isinstance(self.answer, Sharing):
            host = self.answer.host
            if host is None or not self.answer.is_shared:
                return "each on instances of its own"
            return f"shared {host.instance_type}"
        found = self.answer.best
        return "" if found is None else found.candidate.setup.words

    @property
    def call(self) -> str:
        """
        The construct call of the best; empty if there is none.
        """
        if isinstance(self.answer, Sharing):
            return self.answer.construct_call or ""
        return "" if self.answer.best is None else self.answer.construct_call


@dataclass(frozen=True, kw_only=True, slots=True)
class Alternative:
    """
    One variant of an endpoint as it is, and what would do the same for less.

    Args:
        hosted: The variant.

        place: Where its endpoint is.

        result: What it is today, played out.

        monthly_cost: US dollars in 730 hours today; ``None`` without a known price.

        models: What each of its models comes to; without those that no objective can
            be held against.

        same: What would do with the same model and the engine that it has; ``None``
            where that is not looked for.

        other: What would do with any engine or quantized copy; ``None`` likewise.

        unknown: What is not known or not looked for, and why, one sentence each.

        share: The part of the minutes in which the objective must be kept.

        budget: US dollars a month, at most; ``None`` without a limit.
    """

    hosted: HostedVariant
    place: Place
    result: VariantResult
    monthly_cost: float | None
    models: Mapping[str, Result]
    same: Proposal | None = None
    other: Proposal | None = None
    unknown: tuple[str, ...] = ()
    share: float = 1.0
    budget: float | None = None

    @property
    def is_over_budget(self) -> bool:
        """
        Whether it costs more than it may today.
        """
        if self.budget is None or self.monthly_cost is None:
            return False
        return self.monthly_cost > self.budget

    @property
    def keeps(self) -> bool | None:
        """
        Whether all models keep the objective today; ``None`` if that is not known.
        """
        if len(self.models) < len(self.hosted.models):
            return None
        return all(one.kept >= self.share for one in self.models.values())

    @property
    def worth(self) -> Sequence[Proposal]:
        """
        What is worth a change, the engine that it has first: what keeps the objective
        for less, or for more where it is not kept today.
        """
        limit = math.inf
        if self.keeps and self.monthly_cost is not None:
            limit = self.monthly_cost
        found = []
        for one in (self.same, self.other):
            if one is not None and one.cost < math.inf and one.cost <= limit - _WORTH:
                found.append(one)
                limit = one.cost
        return found

    @property
    def is_kept_by_any(self) -> bool:
        """
        Whether it keeps the objective within the budget, or something that was found
        does.
        """
        found = [one for one in (self.same, self.other) if one is not None]
        is_good = bool(self.keeps) and not self.is_over_budget
        return is_good or any(one.cost < math.inf for one in found)

    def saving(self, proposal: Proposal) -> float | None:
        """
        Return the US dollars a month that a proposal saves; negative if it costs more
        than what runs; ``None`` if one of the two is not known.

        Args:
            proposal: What would do instead.
        """
        if self.monthly_cost is None or math.isinf(proposal.cost):
            return None
        return self.monthly_cost - proposal.cost


def read_alternatives(
    path: Path,
    settings: RunSettings,
    question: Question,
    *,
    endpoint: str | None = None,
    progress: Progress | None = None,
) -> tuple[list[Alternative], tuple[str, ...]]:
    """
    Look at every endpoint of an app, and return what is left out besides.

    Args:
        path: A cloud assembly or a template.

        settings: The load that is played out.

        question: What is asked of each model; its own name and traffic take the place
            of the question's.

        endpoint: Part of the names of those to look at. If omitted, all are.

        progress: What is called now and then with how far it is.
    """
    hosted = read_hosted(path)
    chosen = (endpoint or "").lower()
    variants = [one for one in hosted.variants if chosen in one.endpoint.lower()]
    if not hosted.variants:
        reasons = "".join(f"\n{why}" for why in hosted.left_out)
        raise ValueError(f"{path} hosts no endpoint that can be played out{reasons}")
    if not variants:
        names = ", ".join(one.endpoint for one in hosted.variants)
        raise ValueError(
            f"--endpoint must be in one of these names: {names}; got {endpoint!r}"
        )
    app = App.read(path)
    found = []
    for one in variants:
        reader = _Reader(app, one, settings, question, progress)
        found.append(reader.alternative())
    return found, (*hosted.left_out, *hosted.assumed)


class _Reader:
    """
    Looks at one variant.
    """

    def __init__(
        self,
        app: App,
        hosted: HostedVariant,
        settings: RunSettings,
        question: Question,
        progress: Progress | None,
    ) -> None:
        self._app = app
        self._hosted = hosted
        self._settings = settings
        self._question = question
        self._progress = progress
        self._unknown: list[str] = []

    def alternative(self) -> Alternative:
        hosted = self._hosted
        (result,) = play([hosted], self._settings, [hosted])
        cost = self._monthly(result)
        if cost is None:
            kinds = ", ".join(sorted(result.outcome.instance_hours))
            self._tell(f"the price of {kinds} is not known; give it with --prices")
        today = Alternative(
            hosted=hosted,
            place=endpoint_place(self._app, hosted),
            result=result,
            monthly_cost=cost,
            models=self._models(result, cost),
            share=self._question.objective.share,
            budget=self._question.budget,
        )
        same, other = self._proposals(result)
        return replace(today, same=same, other=other, unknown=tuple(self._unknown))

    def _monthly(self, result: VariantResult) -> float | None:
        outcome, prices = result.outcome, self._question.price
        found = [
            (hours, prices(kind)) for kind, hours in outcome.instance_hours.items()
        ]
        costs = [hours * price for hours, price in found if price is not None]
        if len(costs) < len(found):
            return None
        return sum(costs) * HOURS_A_MONTH * _HOUR / outcome.duration

    def _models(self, result: VariantResult, cost: float | None) -> dict[str, Result]:
        outcome, found = result.outcome, {}
        for model, workload in zip(
            self._hosted.models, result.scenario.workloads, strict=True
        ):
            why = _unknown(model)
            if why:
                self._tell(f"of {model.name}, {why}")
                continue
            question = replace(self._question, traffic=workload.traffic)
            sizing = Sizing(workload.service, Load.of(question), question.objective)
            found[model.name] = result_of(
                outcome.workloads[model.name],
                sizing,
                monthly_cost=cost,
                instance_hours=sum(outcome.instance_hours.values()),
                method=outcome.method,
            )
        return found

    def _proposals(
        self, result: VariantResult
    ) -> tuple[Proposal | None, Proposal | None]:
        models = self._hosted.models
        if len(models) > 1:
            return self._together(result)
        (model,), (workload,) = models, result.scenario.workloads
        served = model.served
        if _unknown(model) or served.model is None:
            return None, None
        question = replace(
            self._question,
            model=served.model,
            traffic=workload.traffic,
            context_length=served.context_length,
            scale_to_zero=self._question.scale_to_zero or _goes_to_zero(model),
        )
        own = engine_of(served.image)
        same = None
        if own is None:
            self._tell(
                f"{served.model} runs on an image whose engine choose has no times of; "
                "the engines that it knows are looked at"
            )
        elif own in question.engines:
            same = self._proposal(replace(question, engines=(own,), quantized=False))
        if question.engines == (own,) and not question.quantized:
            return same, None
        return same, self._proposal(question)

    def _together(
        self, result: VariantResult
    ) -> tuple[Proposal | None, Proposal | None]:
        models = self._hosted.models
        if any(map(_unknown, models)):
            self._tell("what else would do is looked for where all models are known")
            return None, None
        questions = [
            replace(
                self._question,
                model=model.served.model or "",
                traffic=workload.traffic,
                context_length=model.served.context_length,
                scale_to_zero=self._question.scale_to_zero or _goes_to_zero(model),
                budget=None,
            )
            for model, workload in zip(models, result.scenario.workloads, strict=True)
        ]
        own = {engine_of(model.served.image) for model in models}
        same = None
        engine = own.pop()
        if not own and engine is not None and engine in self._question.engines:
            one = [
                replace(each, engines=(engine,), quantized=False) for each in questions
            ]
            same = self._of_several(one)
        if questions[0].engines == (engine,) and not questions[0].quantized:
            return same, None
        return same, self._of_several(questions)

    def _of_several(self, questions: Sequence[Question]) -> Proposal | None:
        budget = self._question.budget
        try:
            found = choose_together(questions, budget=budget, progress=self._progress)
        except ValueError as fault:
            self._tell(str(fault))
            return None
        lines = HostLines(self._app, self._hosted, found)
        changes = tuple(lines.changes()) if found.keeps else ()
        return Proposal(answer=found, changes=changes)

    def _proposal(self, question: Question) -> Proposal | None:
        try:
            answer = choose(question, progress=self._progress)
        except ValueError as fault:
            self._tell(str(fault))
            return None
        changes: tuple[Change, ...] = ()
        if answer.best is not None:
            lines = Lines(self._app, self._hosted, answer.best.candidate)
            changes = tuple(lines.changes())
        return Proposal(answer=answer, changes=changes)

    def _tell(self, why: str) -> None:
        if why not in self._unknown:
            self._unknown.append(why)


def _goes_to_zero(model: HostedModel) -> bool:
    return model.scaling is not None and model.scaling.bounds.minimum == 0


def _unknown(model: HostedModel) -> str:
    """
    Say why no objective can be held against a model; nothing if one can.
    """
    served = model.served
    if model.at_once is not None:
        return "callers do not wait: it is asynchronous, and has no time to a token"
    if served.architecture is None:
        return served.unknown or "its model is not known"
    if served.model is None or find_architecture(served.model) is None:
        return f"the catalogue does not have {served.model} by that name"
    return ""
