"""
What ``choose`` found for several models: text, JSON and a page.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from typing import Any

from rich.table import Table

from cdk_sagemaker_llm.choosing.answer import Answer
from cdk_sagemaker_llm.choosing.hosts import Host
from cdk_sagemaker_llm.choosing.sharing import Sharing
from cdk_sagemaker_llm.cli.output import choices
from cdk_sagemaker_llm.cli.output.choice_pages import AnswerPage, code
from cdk_sagemaker_llm.cli.output.plans import plain_console
from cdk_sagemaker_llm.cli.output.prices import Prices
from cdk_sagemaker_llm.pages import page, table
from cdk_sagemaker_llm.text import counted

_HEADS = ("deployment", "$ a month", "minutes kept", "why not")


def show(found: Sharing, prices: Prices) -> None:
    """
    Print what was found.
    """
    console = plain_console()
    rows = Table(box=None, pad_edge=False, collapse_padding=True)
    for name in _HEADS:
        is_text = name in {"deployment", "why not"}
        rows.add_column(name, justify="left" if is_text else "right")
    for row in _rows(found, prices):
        rows.add_row(*row)
    console.print(rows)
    notes = notes_of(found)
    if notes:
        console.print("\nNotes:")
        for note in notes:
            console.print(f"  {note}")
    console.print(f"\n{prices.explain(kinds_of(found))}")
    console.print(f"\n{verdict(found)}")
    for answer in found.answers:
        if answer.best is None:
            console.print(f"\nLeft out of {answer.question.model} by itself:")
            for reason in choices.leading_reasons(answer):
                console.print(f"  {reason}")
    for title, call in _calls(found):
        console.print(f"\n{title}:\n\n{call}")


def facts_of(found: Sharing, prices: Prices) -> dict[str, Any]:
    """
    Return all of it for JSON.
    """
    return {
        "models": [one.question.model for one in found.answers],
        "is_shared": found.is_shared if found.cost < math.inf else None,
        "usd_per_month": _finite_cost(found.cost),
        "keeps": found.keeps,
        "verdict": verdict(found),
        "separate": {
            "usd_per_month": _finite_cost(found.separate_cost),
            "construct_call": found.separate_call,
            "models": [choices.facts_of(one, prices) for one in found.answers],
        },
        "shared": {
            "construct_call": None if found.host is None else found.host.construct_call,
            "hosts": [_fact(one, prices) for one in found.hosts],
        },
    }


def page_of(found: Sharing, prices: Prices) -> str:
    """
    Write all of it as a page.
    """
    models = " and ".join(one.question.model for one in found.answers)
    return page(f"What to deploy for {models}", body_of(found, prices))


def body_of(found: Sharing, prices: Prices, *, level: int = 2, of: str = "") -> str:
    """
    Write what stands below the title of a page or of a part of it.

    Args:
        found: What was found.

        prices: Where the prices are from.

        level: That of its headings.

        of: What it is a part of.
    """
    prefix = f"{of}: " if of else ""
    parts = [
        f"<p>{escape(verdict(found))}</p>\n",
        table(f"{prefix}together and apart", _HEADS, list(_rows(found, prices))),
        f"<p>{escape(prices.explain(kinds_of(found)))}</p>\n",
    ]
    for title, call in _calls(found):
        head = f"<h{level}>{escape(title)}</h{level}>\n"
        parts.append(f"{head}{code(f'{prefix}{title}', call)}")
    for name, answer in zip(found.names, found.answers, strict=True):
        title = f"{answer.question.model} by itself"
        parts.append(f"<h{level}>{escape(title)}</h{level}>\n")
        part = AnswerPage(answer, prices, "", level=level + 1, of=f"{prefix}{name}")
        parts.append(part.body())
    return "".join(parts)


def verdict(found: Sharing) -> str:
    """
    Say in a sentence what is to be done.
    """
    if found.cost == math.inf:
        return "Nothing keeps the objective for all of them within the bounds."
    best = found.host
    if not found.keeps:
        return (
            f"The cheapest costs {found.cost:,.0f} $ a month, over the budget of "
            f"{found.budget or 0:,.0f}."
        )
    if best is None:
        return (
            f"Each on instances of its own: {found.separate_cost:,.0f} $ a month; none "
            "that they share does."
        )
    shared, apart = f"{best.monthly_cost:,.0f}", f"{found.separate_cost:,.0f}"
    if found.separate_cost == math.inf:
        return (
            f"On shared instances: {shared} $ a month; one of them has none of its own."
        )
    if found.is_shared:
        return (
            f"On shared instances: {shared} $ a month, against {apart} each by itself."
        )
    return (
        f"Each on instances of its own: {apart} $ a month, against {shared} on shared "
        "instances."
    )


def _rows(found: Sharing, prices: Prices) -> Iterator[tuple[str, ...]]:
    for host in found.hosts:
        kept = min(host.kept)
        mark = prices.mark([host.instance_type])
        reason = host.reason
        if not reason and not found.is_shared:
            reason = "each by itself is cheaper"
        cost = f"{host.monthly_cost:,.0f}{mark}"
        yield host.words, cost, f"{kept:.1%}", reason
    for answer in found.answers:
        best = answer.best
        if best is None:
            yield f"{answer.question.model} by itself", "", "", "none keeps it"
            continue
        mark = prices.mark([best.candidate.setup.instance_type])
        yield (
            best.candidate.name,
            f"{best.cost:,.0f}{mark}",
            f"{best.result.kept:.1%}",
            "sharing is cheaper" if found.is_shared else "",
        )
    if found.separate_cost < math.inf:
        count = counted(len(found.answers), "model")
        yield f"{count}, each by itself", f"{found.separate_cost:,.0f}", "", ""


def _calls(found: Sharing) -> Iterator[tuple[str, str]]:
    shared = None if found.host is None else found.host.construct_call
    calls = [
        ("On shared instances", shared),
        ("Each by itself", found.separate_call),
    ]
    for title, call in calls if found.is_shared else reversed(calls):
        if call is not None:
            yield title, call


def _fact(one: Host, prices: Prices) -> dict[str, Any]:
    start, least, most = one.counts
    return {
        "instance_type": one.instance_type,
        "price": prices.facts(one.instance_type),
        "instances": {"start": start, "least": least, "most": most},
        "usd_per_month": _finite_cost(one.monthly_cost),
        "reason": one.reason,
        "models": {
            tenant.name: {
                "model": tenant.setup.model,
                "engine": tenant.setup.engine,
                "tensor_parallel_degree": tenant.setup.degree,
                "copies": {
                    "start": tenant.copies,
                    "least": tenant.candidate.scaling.least,
                    "most": tenant.candidate.scaling.most,
                },
                "kept": result.kept,
                "lost": result.lost,
                "ttft": choices.pair(result.ttft),
                "tpot": choices.pair(result.tpot),
                "method": result.method,
            }
            for tenant, result in zip(one.tenants, one.results, strict=True)
        },
    }


def _finite_cost(cost: float) -> float | None:
    return None if math.isinf(cost) else cost


def notes_of(found: Sharing | Answer) -> list[str]:
    """
    Return what was assumed, each once.
    """
    answers = found.answers if isinstance(found, Sharing) else [found]
    return list(dict.fromkeys(note for one in answers for note in one.notes))


def kinds_of(found: Sharing | Answer) -> list[str]:
    """
    Return the instance types of the best of what was found.
    """
    answers = found.answers if isinstance(found, Sharing) else [found]
    shared = found.hosts if isinstance(found, Sharing) else ()
    kinds = [one.instance_type for one in shared]
    best = [one.best for one in answers if one.best is not None]
    kinds += [one.candidate.setup.instance_type for one in best]
    return list(dict.fromkeys(kinds))
