"""
Plans of a model and of an app: tables, a bar of each accelerator's memory, a picture,
and JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cdk_sagemaker_llm.catalog.prices import HOURS_A_MONTH
from cdk_sagemaker_llm.cli.output.prices import (
    NO_PRICE,
    Prices,
    dollars,
    running_costs,
)
from cdk_sagemaker_llm.fit.memory import Outcome
from cdk_sagemaker_llm.fit.plans import Plan
from cdk_sagemaker_llm.fit.setting import GIB
from cdk_sagemaker_llm.text import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cdk_sagemaker_llm.cli.app.fleets import VariantPlan
    from cdk_sagemaker_llm.fit.packing import Fleet, Packing
    from cdk_sagemaker_llm.fit.placement import ResourceRequirements


_BAR_CELLS = 48
_MOST_ROWS = 15
_STYLES = {
    "weights": ("W", "blue"),
    "draft": ("D", "red"),
    "runtime": ("r", "magenta"),
    "activations": ("a", "yellow"),
    "cuda_graphs": ("g", "cyan"),
    "kv_cache": ("K", "green"),
}
_MOST_BARS = 12
# A terminal with less has room for the figures alone.
_WIDTH_WITH_BARS = 115
_SEQUENCES = "sequences: at once on one copy, promised and at best"


class Choice(NamedTuple):
    """
    An instance type that can host the copies, and what that takes.
    """

    plan: Plan
    copies: int
    prices: Prices

    @property
    def instances(self) -> int:
        """
        How many instances hold the copies.
        """
        return -(-self.copies // self.plan.replicas) if self.plan.replicas else 0

    @property
    def accelerators(self) -> int:
        """
        How many accelerators the copies reserve.
        """
        if self.plan.is_on_host:
            return 0
        return self.copies * self.plan.tensor_parallel_degree

    @property
    def cost(self) -> float | None:
        """
        US dollars an hour; ``None`` if no price is known.
        """
        price = self.prices.get(self.plan.instance_type.name)
        return None if price is None else price * self.instances

    def rank(self) -> tuple[float, ...]:
        """
        Order by accelerators used, then by price, then by what is left idle.
        """
        hardware = self.plan.instance_type
        unknown = float("inf")
        return (
            self.accelerators,
            unknown if self.cost is None else self.cost,
            self.instances * hardware.accelerators * hardware.accelerator_memory_gib,
            hardware.vcpus,
        )


def show_plan(choice: Choice) -> None:
    """
    Print one plan's arithmetic and the bar of an accelerator.
    """
    console = plain_console()
    console.print(choice.plan.explain())
    console.print()
    console.print(memory_bar(choice.plan))
    if not choice.plan.fits:
        return
    names = [choice.plan.instance_type.name]
    count = counted(choice.accelerators, "accelerator")
    devices = "" if choice.plan.is_on_host else f", {count}"
    copies = counted(choice.copies, "copy", "copies")
    console.print(
        f"{copies}: {counted(choice.instances, 'instance')}{devices}, "
        f"{running_costs(choice.cost, choice.prices.mark(names))}",
    )
    console.print(choice.prices.explain(names))


def show_ranking(choices: Sequence[Choice]) -> None:
    """
    Print the instance types that can host the copies, the best first.
    """
    console = plain_console()
    if not choices:
        console.print("no instance type of the catalogue can host it")
        return
    first = choices[0].plan
    kind = first.setting.gguf_type or f"{first.weight_bits} bits"
    head = (
        f"{first.architecture.architecture}, {first.architecture.parameter_count:,} "
        f"parameters in {kind}, {first.context_length} tokens"
    )
    console.print(head)
    has_bars = console.width >= _WIDTH_WITH_BARS
    table = Table(box=None, pad_edge=False, collapse_padding=not has_bars)
    rows = choices[:_MOST_ROWS]
    names = [choice.plan.instance_type.name for choice in rows]
    table.add_column("instance type", min_width=max(map(len, names)))
    for name in ("degree", "copies each", "instances", "accelerators", "sequences"):
        table.add_column(name, justify="right")
    table.add_column("$/h", justify="right")
    if has_bars:
        table.add_column("memory of an accelerator")
    for choice in rows:
        bar = [memory_bar(choice.plan, cells=16)] if has_bars else []
        table.add_row(*_row(choice), *bar)
    console.print(table)
    if len(choices) > _MOST_ROWS:
        console.print(f"and {len(choices) - _MOST_ROWS} more")
    bars = f"{_terms(first)}; " if has_bars else ""
    console.print(f"{bars}{_SEQUENCES}")
    console.print(choices[0].prices.explain(names))


def memory_bar(plan: Plan, *, cells: int = _BAR_CELLS) -> Text:
    """
    Draw the terms of one accelerator to scale; what is too much ends in ``!``.
    """
    bar = Text("[")
    edges = [0]
    used = 0
    for name, value in plan.terms.items().items():
        used += value
        edges.append(min(round(used / plan.capacity * cells), cells))
        letter, style = _STYLES[name]
        bar.append(letter * (edges[-1] - edges[-2]), style)
    bar.append("." * (cells - edges[-1]))
    return bar.append("!", "red") if used > plan.capacity else bar.append("]")


def _row(choice: Choice) -> list[str]:
    plan = choice.plan
    promised, best = plan.concurrent_sequences, plan.best.sequences
    return [
        plan.instance_type.name,
        str(plan.tensor_parallel_degree),
        str(plan.replicas),
        str(choice.instances),
        str(choice.accelerators),
        str(promised) if promised == best else f"{promised}-{best}",
        dollars(choice.cost, choice.prices.mark([plan.instance_type.name])),
    ]


def _terms(plan: Plan) -> str:
    names = ", ".join(
        f"{_STYLES[name][0]} {name.replace('_', ' ')}" for name in plan.terms.items()
    )
    return f"{names} of one sequence"


def plain_console() -> Console:
    """
    Return where tables are printed: as they are, and in a pipe or a file not cut.
    """
    # Names may have brackets and colons, which are neither markup nor emoji.
    console = Console(soft_wrap=True, markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = 200
    return console


def draw_memory(plans: Sequence[Plan], path: Path) -> None:
    """
    Draw a stacked bar for each plan into a file, whose ending chooses the format.
    """
    memory_figure(plans).savefig(path)


def memory_figure(plans: Sequence[Plan]) -> Figure:
    """
    Draw a stacked bar for each plan, in GiB, with a line at what an accelerator has.

    The bar is the cautious case; a dotted line leads back to the best one.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra
    except ImportError as fault:
        raise ValueError(
            "--png needs matplotlib; install it with: "
            "pip install 'cdk-sagemaker-llm[plot]'"
        ) from fault
    rows = plans[:_MOST_BARS]
    if not rows:
        raise ValueError("there is nothing to draw: no instance type fits")
    figure = Figure(figsize=(9, 1.5 + 0.45 * len(rows)), layout="constrained")
    axes = figure.subplots()
    labels = [
        f"{plan.instance_type.name} (degree {plan.tensor_parallel_degree})"
        for plan in rows
    ]
    begun = [0.0] * len(rows)
    for name in rows[0].terms.items():
        sizes = [plan.terms.items()[name] / GIB for plan in rows]
        axes.barh(labels, sizes, left=begun, label=name.replace("_", " "))
        begun = [left + size for left, size in zip(begun, sizes, strict=True)]
    for index, plan in enumerate(rows):
        edge = plan.capacity / GIB
        axes.plot([edge, edge], [index - 0.45, index + 0.45], color="black")
        least, most = plan.best.terms.total / GIB, plan.terms.total / GIB
        axes.hlines(index, least, most, colors="black", linestyles="dotted")
    axes.invert_yaxis()
    axes.set_xlabel(
        "GiB per accelerator, cautiously; dotted: back to the best case; "
        "the line is its capacity"
    )
    axes.legend(ncols=5, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    return figure


def facts_of(choice: Choice) -> Mapping[str, Any]:
    one = choice.plan
    return {
        "instance_type": one.instance_type.name,
        "fits": one.fits,
        "loads": one.loads,
        "limit": one.limit,
        "tensor_parallel_degree": one.tensor_parallel_degree,
        "replicas": one.replicas,
        "copies": choice.copies,
        "instances": choice.instances,
        "accelerators": choice.accelerators,
        "context_length": one.context_length,
        "largest_context": one.largest_context,
        "concurrent_sequences": one.concurrent_sequences,
        "engine": one.engine,
        "engine_version": one.engine_version,
        "gguf_type": one.setting.gguf_type,
        **_draft_facts(one),
        "memory_of": "host" if one.is_on_host else "accelerator",
        "range": {
            "best": _outcome(one.best),
            "expected": _outcome(one.expected),
            "cautious": _outcome(one.cautious),
        },
        "bytes_per_accelerator": {
            **one.terms.items(),
            "total": one.terms.total,
            "capacity": one.capacity,
        },
        "usd_per_hour": choice.cost,
        "price": choice.prices.facts(one.instance_type.name),
    }


def _draft_facts(plan: Plan) -> Mapping[str, Any]:
    if plan.draft is None:
        return {}
    is_counted = plan.setting.draft is not None
    return {"draft_model": plan.draft.name, "draft_model_is_counted": is_counted}


def _outcome(outcome: Outcome) -> Mapping[str, Any]:
    return {
        "fits": outcome.fits,
        "loads": outcome.loads,
        "kv_cache_bytes": outcome.kv_cache_room,
        "kv_cache_tokens": outcome.kv_cache_tokens,
        "concurrent_sequences": outcome.sequences,
        "bytes_per_accelerator": outcome.terms.items(),
    }


def show_app(variants: Sequence[VariantPlan], prices: Prices) -> None:
    """
    Print what each endpoint takes, where its copies go, and the quotas of all.
    """
    from cdk_sagemaker_llm.cli.app.fleets import quotas  # noqa: PLC0415 - a model's plan reads no app

    if not variants:
        typer.echo("the app defines no endpoint")
        return
    for variant in variants:
        typer.echo(
            f"{variant.endpoint} ({variant.variant}): {variant.instances} x "
            f"{variant.instance_type}, at most {variant.most_instances}"
        )
        for line in _lines(variant):
            typer.echo(f"  {line}")
        typer.echo(f"  {_costs(variant, prices)}")
        for other in variant.fallbacks:
            typer.echo(f"  without capacity: {other.instances} x {other.instance_type}")
            for line in _lines(other):
                typer.echo(f"    {line}")
    _show_costs_of_all(variants, prices)
    typer.echo("\nservice quotas, for all instances that may run")
    for name, count in quotas(variants).items():
        typer.echo(f"  {name}: {count}")


def app_facts(variants: Sequence[VariantPlan], prices: Prices) -> dict[str, Any]:
    from cdk_sagemaker_llm.cli.app.fleets import quotas  # noqa: PLC0415 - as above

    return {
        "endpoints": [_variant_facts(variant, prices) for variant in variants],
        "quotas": quotas(variants),
    }


def _variant_facts(variant: VariantPlan, prices: Prices) -> dict[str, Any]:
    packing = variant.fleet and variant.fleet.pack()
    fewest = variant.fewest
    others = [_variant_facts(other, prices) for other in variant.fallbacks]
    return {
        "endpoint": variant.endpoint,
        "variant": variant.variant,
        "instance_type": variant.instance_type,
        "instances": variant.instances,
        "instances_running": variant.running,
        "most_instances": variant.most_instances,
        "accelerators_used": variant.accelerators_used,
        "accelerators_free": _free(variant.fleet),
        "copies": variant.copies,
        "placement": packing and packing.instances,
        "left_over": packing and packing.left_over,
        "reasons": packing and packing.reasons,
        "fewest_instances": fewest and len(fewest.instances),
        "quota": variant.quota,
        **_cost_facts(variant, prices),
        **({"fallbacks": others} if others else {}),
    }


def _cost_facts(variant: VariantPlan, prices: Prices) -> dict[str, Any]:
    price = prices.get(variant.instance_type)
    hourly = None if price is None else price * variant.running
    most = None if price is None else price * variant.most_instances
    return {
        "usd_per_hour": hourly,
        "most_usd_per_hour": most,
        "usd_per_month": None if hourly is None else hourly * HOURS_A_MONTH,
        "price": prices.facts(variant.instance_type),
    }


def _costs(variant: VariantPlan, prices: Prices) -> str:
    name = variant.instance_type
    if name not in prices:
        return f"costs: {NO_PRICE} for {name}"
    usual, most = (
        running_costs(prices[name] * count, prices.mark([name]))
        for count in (variant.running, variant.most_instances)
    )
    return f"costs: {usual}; at most {most}"


def _show_costs_of_all(variants: Sequence[VariantPlan], prices: Prices) -> None:
    types = list(dict.fromkeys(variant.instance_type for variant in variants))
    unknown = [one for one in types if one not in prices]
    costs = [
        prices[one.instance_type] * one.running
        for one in variants
        if one.instance_type in prices
    ]
    without = f", without {', '.join(unknown)}" if unknown and costs else ""
    hourly = sum(costs) if costs else None
    typer.echo(f"\nin all{without}: {running_costs(hourly, prices.mark(types))}")
    typer.echo(prices.explain(types))


def _lines(variant: VariantPlan) -> Iterator[str]:
    fleet = variant.fleet
    models = variant.components if fleet is None else fleet.models
    yield _accelerators(variant)
    for name, copies in variant.copies.items():
        yield f"{copies} x {name}: {_each(models.get(name))} each"
    if fleet is not None:
        yield from _places(variant, fleet.pack())


def _accelerators(variant: VariantPlan) -> str:
    fleet, used = variant.fleet, variant.accelerators_used
    if fleet is None or used is None:
        return f"accelerators: {'unknown' if used is None else used} used, unknown free"
    if used > fleet.accelerators:
        return f"accelerators: {used} needed, {fleet.accelerators} there"
    grown = variant.running > variant.instances
    where = (
        f", on the {variant.running} instances that the copies need" if grown else ""
    )
    return f"accelerators: {used} used, {fleet.accelerators - used} free{where}"


def _places(variant: VariantPlan, packing: Packing) -> Iterator[str]:
    yield from packing.explain().splitlines()
    yield from packing.reasons
    if not packing.is_complete and not packing.is_impossible:
        yield "not decided: all copies may have a place in a packing that was not found"
    fewest = variant.fewest
    if fewest is not None:
        count = len(fewest.instances)
        proven = "" if fewest.is_fewest else f"{fewest.at_least} to "
        yield f"fewest instances for all copies: {proven}{count}"


def _free(fleet: Fleet | None) -> int | None:
    if fleet is None:
        return None
    return max(0, fleet.accelerators - fleet.accelerators_used)


def _each(needs: ResourceRequirements | None) -> str:
    if needs is None:
        return "a whole instance"
    return (
        f"{counted(needs.accelerators or 0, 'accelerator')}, "
        f"{counted(needs.cpus or 0, 'CPU core')}, {needs.memory_mib:,} MiB"
    )
