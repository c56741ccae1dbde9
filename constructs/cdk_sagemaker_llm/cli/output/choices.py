"""
What ``choose`` found: a table with the front first, the reasons, and JSON.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from rich.table import Table

from cdk_sagemaker_llm.choosing.answer import Answer, Choice, Sensitivity
from cdk_sagemaker_llm.cli.output.plans import plain_console
from cdk_sagemaker_llm.cli.output.prices import Prices
from cdk_sagemaker_llm.text import counted

_MOST_ROWS, _MOST_NAMED = 12, 5
_MS = 1000


def show_answer(answer: Answer, prices: Prices, simulation: str) -> None:
    """
    Print what was found; ``simulation`` is the command that plays the best one out.
    """
    console = plain_console()
    question = answer.question
    aim = question.objective
    console.print(
        f"{question.model}: the first token within {aim.ttft:g} s and each further one "
        f"within {aim.tpot * _MS:g} ms, for {aim.requests:.0%} of the requests of a "
        f"minute, in {aim.share:.1%} of the minutes"
    )
    rows = _rows(answer)
    if rows:
        console.print(_table(rows, prices))
        console.print(
            "> on the front: none is both cheaper and sooner; ~ estimated, not "
            "simulated; times are the median and the slowest of 95 %"
        )
    if len(answer.choices) > len(rows):
        console.print(f"and {len(answer.choices) - len(rows)} more, in --json")
    if not rows:
        console.print("nothing that has a known price serves it")
    for title, lines in _parts(answer):
        if lines:
            console.print(f"\n{title}")
            for line in lines:
                console.print(f"  {line}")
    names = [one.candidate.setup.instance_type for one in rows]
    console.print(f"\n{prices.explain(names)}")
    if answer.best is None:
        console.print("nothing keeps the objective within the bounds")
        return
    console.print(f"\nTo deploy the first:\n\n{answer.construct_call}")
    console.print(f"\nTo play it out: {simulation}")


def facts_of(answer: Answer, prices: Prices) -> dict[str, Any]:
    """
    Return all of it for JSON.
    """
    best = answer.best
    return {
        "model": answer.question.model,
        "best": None if best is None else _fact(best, prices),
        "construct_call": None if best is None else answer.construct_call,
        "choices": [_fact(one, prices) for one in answer.choices],
        "without_price": [_fact(one, prices) for one in answer.unpriced],
        "left_out": [{"what": one.what, "why": one.why} for one in answer.refusals],
        "sensitivity": [
            {
                "what": one.what,
                "chosen": None if one.candidate is None else one.candidate.name,
                "usd_per_month": one.monthly_cost,
                "is_same": one.is_same,
            }
            for one in answer.sensitivity
        ],
        "notes": list(answer.notes),
    }


def _rows(answer: Answer) -> list[Choice]:
    front = list(answer.front)
    best = [answer.best] if answer.best else []
    others = [one for one in answer.choices if not one.is_on_front and one not in best]
    first = [*best, *(one for one in front if one not in best)]
    return [*first, *others[: max(_MOST_ROWS - len(first), 0)]]


def _table(rows: Sequence[Choice], prices: Prices) -> Table:
    table = Table(box=None, pad_edge=False, collapse_padding=True)
    table.add_column("", min_width=2)
    for name in ("deployment", "copies"):
        table.add_column(name)
    for name in ("$ a month", "kept", "first token", "each further", "why not"):
        is_text = name == "why not"
        table.add_column(name, justify="left" if is_text else "right")
    for one in rows:
        setup, result = one.candidate.setup, one.result
        marks = (">" if one.is_on_front else " ") + (
            "~" if result.method == "estimate" else " "
        )
        table.add_row(
            marks,
            setup.words + ("" if _is_own(one) else f" ({setup.model})"),
            one.candidate.scaling.words,
            f"{one.cost:,.0f}{prices.mark([setup.instance_type])}",
            f"{result.kept:.1%}",
            f"{_seconds(result.ttft[0])} / {_seconds(result.ttft[1])}",
            f"{_seconds(result.tpot[0])} / {_seconds(result.tpot[1])}",
            one.reason,
        )
    return table


def _is_own(one: Choice) -> bool:
    return one.candidate.setup.plan.architecture.weight_format is None


def _seconds(value: float) -> str:
    if math.isinf(value):
        return "never"
    return f"{value:.2f} s" if value >= 1 else f"{value * _MS:.0f} ms"


def _parts(answer: Answer) -> Iterator[tuple[str, list[str]]]:
    yield "What would change it:", [sensed(one) for one in answer.sensitivity]
    unpriced = [
        f"{one.candidate.name}: {one.reason}" for one in answer.unpriced[:_MOST_NAMED]
    ]
    if len(answer.unpriced) > _MOST_NAMED:
        unpriced.append(f"and {len(answer.unpriced) - _MOST_NAMED} more, in --json")
    yield "Without a known price, in no order:", unpriced
    yield "Left out:", list(_left_out(answer))
    yield "Notes:", list(answer.notes)


def _left_out(answer: Answer) -> Iterator[str]:
    count = len(answer.refusals)
    if count:
        yield f"{counted(count, 'setup')}, each with its reason in --json"
    if answer.best is None:
        yield from leading_reasons(answer)


def leading_reasons(answer: Answer) -> Iterator[str]:
    """
    Say what most often speaks against a setup, each with the one that comes nearest.
    """
    for count, nearest in answer.reasons[:_MOST_NAMED]:
        many = f"{counted(count, 'setup')}, the nearest " if count > 1 else ""
        yield f"{many}{nearest.what}: {nearest.why}"


def sensed(one: Sensitivity) -> str:
    """
    Say what would be chosen if something were otherwise.
    """
    if one.candidate is None:
        return f"{one.what}: nothing keeps the objective"
    kept = "the same setup" if one.is_same else one.candidate.setup.words
    return (
        f"{one.what}: {kept}, {one.candidate.scaling.words}, "
        f"{one.monthly_cost or 0:,.0f} $ a month"
    )


def _fact(one: Choice, prices: Prices) -> dict[str, Any]:
    candidate, result = one.candidate, one.result
    setup, scaling = candidate.setup, candidate.scaling
    start, least, most = candidate.instances
    return {
        "name": candidate.name,
        "model": setup.model,
        "instance_type": setup.instance_type,
        "engine": setup.engine,
        "tensor_parallel_degree": setup.degree,
        "copies_an_instance": setup.copies,
        "inference_component": setup.shares,
        "copies": {
            "start": candidate.copies,
            "least": scaling.least,
            "most": scaling.most,
            "target": scaling.target,
            "hours": None
            if scaling.hours is None
            else {
                "opens": scaling.hours.opens,
                "closes": scaling.hours.closes,
                "copies": scaling.hours.copies,
            },
        },
        "instances": {"start": start, "least": least, "most": most},
        "usd_per_month": result.monthly_cost,
        "price": prices.facts(setup.instance_type),
        "instance_hours": result.instance_hours,
        "kept": result.kept,
        "lost": result.lost,
        "ttft": pair(result.ttft),
        "tpot": pair(result.tpot),
        "method": result.method,
        "is_on_front": one.is_on_front,
        "reason": one.reason,
    }


def pair(values: tuple[float, float]) -> dict[str, float | None]:
    """
    Return the median and the slow end of times, for JSON, which has no infinity.
    """
    names = ("p50", "p95")
    return {
        name: None if math.isinf(value) else value
        for name, value in zip(names, values, strict=True)
    }
