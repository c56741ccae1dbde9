"""
What ``choose`` found as a web page: the picture, the table, the reasons and the call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from html import escape

from cdk_sagemaker_llm.choosing.answer import Answer, Choice
from cdk_sagemaker_llm.choosing.question import Question
from cdk_sagemaker_llm.cli.output.choices import sensed
from cdk_sagemaker_llm.cli.output.prices import Prices
from cdk_sagemaker_llm.cli.output.scatter import Group, Point, Scatter, front_of
from cdk_sagemaker_llm.pages import bullets, page, table
from cdk_sagemaker_llm.text import counted

_HEADS = (
    "deployment",
    "model",
    "copies",
    "$ a month",
    "minutes kept",
    "first token p50, s",
    "p95, s",
    "each further p50, s",
    "p95, s",
    "found by",
    "why not",
)
_COST = "US dollars a month"
_FIRST, _FURTHER = (
    "seconds to the first token, of 95 % of requests",
    "seconds for each further token, of 95 % of requests",
)


def page_of(answer: Answer, prices: Prices, simulation: str) -> str:
    """
    Write the page of an answer; ``simulation`` is the command that plays the best out.
    """
    return page(
        f"What to deploy for {answer.question.model}",
        AnswerPage(answer, prices, simulation).body(),
    )


class AnswerPage:
    """
    One answer as a part of a page.
    """

    def __init__(
        self,
        answer: Answer,
        prices: Prices,
        simulation: str,
        *,
        level: int = 2,
        of: str = "",
    ) -> None:
        self._answer = answer
        self._prices = prices
        self._simulation = simulation
        self._level = level
        # Each region of a page has a name of its own.
        self._of = f"{of}: " if of else ""

    def body(self) -> str:
        """
        Write everything below the page's title.
        """
        return "".join(self._parts())

    def _parts(self) -> Iterator[str]:
        answer = self._answer
        aim = answer.question.objective
        yield _paragraph(
            f"{answer.question.model} in {answer.question.region}: the first token "
            f"within {aim.ttft:g} s and each further one within {aim.tpot * 1000:g} "
            f"ms, for {aim.requests:.0%} of the requests of a minute, in "
            f"{aim.share:.1%} of the minutes."
        )
        yield _paragraph(self._verdict())
        if answer.best is not None:
            yield self._head("To deploy it")
            yield code(f"{self._of}the construct call", answer.construct_call)
            if self._simulation:
                yield _paragraph("To play it out:")
                label = f"{self._of}the command that plays it out"
                yield code(label, self._simulation)
        if answer.choices:
            yield self._head("Cost against latency")
            yield _scatter(answer, _FIRST, lambda one: one.result.ttft[1])
            yield _scatter(answer, _FURTHER, lambda one: one.result.tpot[1])
            yield self._head("All of them")
            rows = [self._row(one) for one in answer.choices]
            yield table(f"{self._of}all deployments", _HEADS, rows)
        yield from self._rest()

    def _verdict(self) -> str:
        best = self._answer.best
        if best is None:
            return "Nothing keeps the objective within the bounds."
        mark = self._prices.mark([best.candidate.setup.instance_type])
        return (
            f"{best.candidate.name}: {best.cost:,.0f}{mark} US dollars a month, the "
            f"objective kept in {best.result.kept:.1%} of the minutes."
        )

    def _row(self, one: Choice) -> tuple[str, ...]:
        setup, result = one.candidate.setup, one.result
        times = (*result.ttft, *result.tpot)
        return (
            setup.words,
            setup.model,
            one.candidate.scaling.words,
            f"{one.cost:,.0f}{self._prices.mark([setup.instance_type])}",
            f"{result.kept:.1%}",
            *("never" if math.isinf(each) else f"{each:.3f}" for each in times),
            _found_by(result.method),
            one.reason or "it is the one",
        )

    def _rest(self) -> Iterator[str]:
        answer = self._answer
        if answer.sensitivity:
            yield self._head("What would change it")
            yield bullets(map(sensed, answer.sensitivity))
        if answer.unpriced:
            yield self._head("Without a known price, in no order")
            names = [f"{one.candidate.name}: {one.reason}" for one in answer.unpriced]
            yield bullets(names)
        if answer.notes:
            yield self._head("Assumptions and notes")
            yield bullets(answer.notes)
        kinds = [one.candidate.setup.instance_type for one in answer.choices]
        yield _paragraph(self._prices.explain(kinds))
        if answer.refusals:
            rows = [(one.what, one.why) for one in answer.refusals]
            label = f"{self._of}left out, {counted(len(rows), 'setup')}"
            yield (
                f"<details>\n<summary>{escape(label)}</summary>\n"
                f"{table(f'{label}, and why', ('setup', 'why'), rows)}</details>\n"
            )

    def _head(self, text: str) -> str:
        return f"<h{self._level}>{escape(text)}</h{self._level}>\n"


def code(label: str, text: str) -> str:
    """
    Write a text that is to be copied, which scrolls by itself.

    Args:
        label: What it is, for whoever does not see what stands above it.

        text: The text.
    """
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(label)}">\n'
        f"<pre><code>{escape(text)}</code></pre>\n</div>\n"
    )


def _scatter(answer: Answer, unit: str, time: Callable[[Choice], float]) -> str:
    choices = [
        one
        for one in answer.choices
        if math.isfinite(one.cost) and math.isfinite(time(one))
    ]
    inside = [one for one in choices if _is_good(one, answer.question)]
    kept = set(map(id, inside))
    points = {id(one): Point(one.cost, time(one), _title(one, time)) for one in choices}
    best = [points[id(one)] for one in choices if not one.reason]
    good = [points[id(one)] for one in inside]
    front = list(front_of(good))
    behind = [one for one in good if one not in front]
    missing = [points[id(one)] for one in choices if id(one) not in kept]
    return Scatter(
        _COST,
        unit,
        (
            Group("chosen", "best c0", best),
            Group("on the front", "c0", front, is_joined=True),
            Group("beaten in both", "square c1", behind),
            Group("not simulated, or outside the bounds", "small c2", missing),
        ),
    ).draw()


def _is_good(one: Choice, question: Question) -> bool:
    """
    Whether it was simulated, and is within what was asked for.
    """
    is_within = question.budget is None or one.cost <= question.budget
    keeps = one.result.kept >= question.objective.share
    return one.result.method != "estimate" and keeps and is_within


def _title(one: Choice, time: Callable[[Choice], float]) -> str:
    why = f"; {one.reason}" if one.reason else ""
    return f"{one.candidate.name}: {one.cost:,.0f} $ a month, {time(one):.3f} s{why}"


def _found_by(method: str) -> str:
    return "estimate" if method == "estimate" else f"simulation, {method}"


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>\n"
