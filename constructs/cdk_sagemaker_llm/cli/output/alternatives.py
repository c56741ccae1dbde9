"""
What an app costs under a load, and what would do it for less: text, JSON and a page.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from rich.table import Table

from cdk_sagemaker_llm.choosing.sharing import Sharing
from cdk_sagemaker_llm.cli.app.alternatives import Alternative, Proposal
from cdk_sagemaker_llm.cli.app.changes import Change
from cdk_sagemaker_llm.cli.output import choices, together
from cdk_sagemaker_llm.cli.output.choice_pages import AnswerPage
from cdk_sagemaker_llm.cli.output.plans import plain_console
from cdk_sagemaker_llm.cli.output.prices import NO_PRICE, Prices
from cdk_sagemaker_llm.pages import bullets, page, table

_HEADS = (
    "endpoint",
    "today",
    "$ a month",
    "minutes kept",
    "same engine",
    "any engine",
    "saving a month",
)
_CHANGES = ("construct", "line", "today", "change to")
_MODELS = ("model", "minutes kept", "first token p95, s", "each further p95, s", "lost")


def show(found: Sequence[Alternative], left_out: Sequence[str], prices: Prices) -> None:
    """
    Print what was found.
    """
    console = plain_console()
    rows = Table(box=None, pad_edge=False, collapse_padding=True)
    for number, name in enumerate(_HEADS):
        rows.add_column(name, justify="right" if number in {2, 3, 6} else "left")
    for one in found:
        rows.add_row(*_row(one, prices))
    console.print(rows)
    for one in found:
        console.print(f"\n{one.hosted.endpoint}: {verdict(one)}")
        for why in one.unknown:
            console.print(f"  {why}")
        for proposal in one.worth:
            console.print(f"\n  {offer(one, proposal)}:")
            for change in proposal.changes:
                console.print(f"    {sentence(change)}")
            console.print(f"\n{proposal.call}")
    for title, lines in (("Notes", notes_of(found)), ("Left out or assumed", left_out)):
        if lines:
            console.print(f"\n{title}:")
            for line in lines:
                console.print(f"  {line}")
    console.print(f"\n{prices.explain(_kinds(found))}")


def facts_of(
    found: Sequence[Alternative], left_out: Sequence[str], prices: Prices
) -> dict[str, Any]:
    """
    Return all of it for JSON.
    """
    return {
        "endpoints": [_fact(one, prices) for one in found],
        "left_out": list(left_out),
    }


def page_of(
    found: Sequence[Alternative], left_out: Sequence[str], prices: Prices
) -> str:
    """
    Write all of it as a page.
    """
    parts = [table("all endpoints", _HEADS, [_row(one, prices) for one in found])]
    parts.append(f"<p>{escape(prices.explain(_kinds(found)))}</p>\n")
    for one in found:
        parts += _section(one, prices)
    if left_out:
        parts.append(f"<h2>Left out or assumed</h2>\n{bullets(left_out)}")
    return page("What the app costs, and what it could cost", "".join(parts))


def verdict(one: Alternative) -> str:
    """
    Say in a sentence what it is today.
    """
    if one.keeps is None:
        return "whether it keeps the objective is not known"
    kept = "it keeps the objective" if one.keeps else "it fails the objective"
    if one.is_over_budget:
        kept += f", over the budget of {one.budget or 0:,.0f} $ a month"
    if one.worth:
        return kept
    if one.same is None and one.other is None:
        return f"{kept}; what else would do is not looked for"
    if one.keeps and not one.is_over_budget:
        return f"{kept}, and nothing that was found is cheaper: leave it as it is"
    return f"{kept}; nothing that was looked at does better"


def offer(one: Alternative, proposal: Proposal) -> str:
    """
    Say in a sentence what would do instead, and for how much.
    """
    answer = proposal.answer
    name = proposal.words
    if not isinstance(answer, Sharing) and answer.best is not None:
        name = answer.best.candidate.name
    text = f"{name}, for {proposal.cost:,.0f} $ a month"
    saving = one.saving(proposal)
    if saving is None:
        return text
    return f"{text}, which {'saves' if saving >= 0 else 'adds'} {abs(saving):,.0f} $"


def sentence(change: Change) -> str:
    """
    Say what to change where.
    """
    return (
        f"{where(change)}: {change.what} from {change.before or 'nothing'} to "
        f"{change.after}"
    )


def where(change: Change) -> str:
    """
    Name the construct of a change, and the line of the app where it is known.
    """
    place = change.place
    if place is None:
        return "a new construct"
    if place.app_file is None:
        return place.name
    file, line = place.app_file
    return f"{place.name} ({file}:{line})"


def notes_of(found: Sequence[Alternative]) -> list[str]:
    """
    Return what was assumed of what is worth a change, each once.
    """
    return list(
        dict.fromkeys(
            note
            for one in found
            for proposal in one.worth
            for note in together.notes_of(proposal.answer)
        )
    )


def _row(one: Alternative, prices: Prices) -> tuple[str, ...]:
    hosted = one.hosted
    kinds = " or ".join(pool.instance_type for pool in hosted.pools)
    scaled = hosted.minimum != hosted.maximum
    count = f"{hosted.minimum} to {hosted.maximum}" if scaled else hosted.instances
    savings = [one.saving(each) for each in one.worth]
    saving = next((each for each in reversed(savings) if each is not None), None)
    return (
        hosted.endpoint,
        f"{count} x {kinds}",
        _dollars(one.monthly_cost) + prices.mark(one.result.outcome.instance_hours),
        _kept(one),
        _best(one.same),
        _best(one.other),
        "" if saving is None else f"{saving:,.0f}",
    )


def _kept(one: Alternative) -> str:
    found = [each.kept for each in one.models.values()]
    if len(found) < len(one.hosted.models):
        return "not known"
    return f"{min(found, default=0.0):.1%}"


def _best(proposal: Proposal | None) -> str:
    if proposal is None:
        return "not looked for"
    if proposal.cost == math.inf:
        return "none keeps it"
    return f"{proposal.words}: {proposal.cost:,.0f} $"


def _dollars(cost: float | None) -> str:
    return NO_PRICE if cost is None else f"{cost:,.0f}"


def _section(one: Alternative, prices: Prices) -> Iterator[str]:
    name = one.hosted.endpoint
    title = f"{name} ({one.hosted.variant})"
    yield f"<h2>{escape(title)}</h2>\n<p>{escape(verdict(one))}.</p>\n"
    if one.models:
        rows = [
            (
                model,
                f"{each.kept:.1%}",
                *(
                    "never" if math.isinf(pair[1]) else f"{pair[1]:.3f}"
                    for pair in (each.ttft, each.tpot)
                ),
                f"{each.lost:,.0f}",
            )
            for model, each in one.models.items()
        ]
        yield f"<h3>Today</h3>\n{table(f'{title}: today', _MODELS, rows)}"
    if one.unknown:
        yield f"<h3>Not known</h3>\n{bullets(one.unknown)}"
    for proposal, words in ((one.same, "The same engine"), (one.other, "Any engine")):
        if proposal is None:
            continue
        of = f"{title}, {words.lower()}"
        yield f"<h3>{words}</h3>\n"
        if proposal in one.worth:
            yield f"<p>{escape(offer(one, proposal))}.</p>\n"
        if proposal.changes:
            rows = [
                (where(each), each.what, each.before, each.after)
                for each in proposal.changes
            ]
            yield f"<h4>Lines to change</h4>\n{table(f'{of}: lines', _CHANGES, rows)}"
        answer = proposal.answer
        if isinstance(answer, Sharing):
            yield together.body_of(answer, prices, level=4, of=of)
        else:
            yield AnswerPage(answer, prices, "", level=4, of=of).body()


def _fact(one: Alternative, prices: Prices) -> dict[str, Any]:
    hosted, outcome = one.hosted, one.result.outcome
    return {
        "endpoint": hosted.endpoint,
        "construct": one.place.construct_path or None,
        "variant": hosted.variant,
        "today": {
            "instance_types": [pool.instance_type for pool in hosted.pools],
            "instances": {
                "start": hosted.instances,
                "least": hosted.minimum,
                "most": hosted.maximum,
            },
            "instance_hours": dict(outcome.instance_hours),
            "usd_per_month": one.monthly_cost,
            "keeps": one.keeps,
            "is_over_budget": one.is_over_budget,
            "method": outcome.method,
            "models": {
                name: {
                    "kept": each.kept,
                    "lost": each.lost,
                    "ttft": choices.pair(each.ttft),
                    "tpot": choices.pair(each.tpot),
                }
                for name, each in one.models.items()
            },
        },
        "same_engine": _proposal_facts(one, one.same, prices),
        "any_engine": _proposal_facts(one, one.other, prices),
        "verdict": verdict(one),
        "not_known": list(one.unknown),
    }


def _proposal_facts(
    one: Alternative, proposal: Proposal | None, prices: Prices
) -> dict[str, Any] | None:
    if proposal is None:
        return None
    answer = proposal.answer
    found = (
        together.facts_of(answer, prices)
        if isinstance(answer, Sharing)
        else choices.facts_of(answer, prices)
    )
    return {
        **found,
        "is_worth_a_change": proposal in one.worth,
        "usd_saved_per_month": one.saving(proposal),
        "changes": [
            {
                "construct": None if each.place is None else each.place.name,
                "template": None if each.place is None else str(each.place.template),
                "line": each.what,
                "before": each.before,
                "after": each.after,
            }
            for each in proposal.changes
        ],
    }


def _kinds(found: Sequence[Alternative]) -> list[str]:
    kinds = [kind for one in found for kind in one.result.outcome.instance_hours]
    for each in (each for one in found for each in (one.same, one.other) if each):
        kinds += together.kinds_of(each.answer)
    return list(dict.fromkeys(kinds))
