"""
What a synthesised app takes, for the terminal and for programs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import typer

from cdk_sagemaker_llm.cli.app.fleets import VariantPlan, quotas
from cdk_sagemaker_llm.fit.packing import Fleet, Packing, fewest_instances
from cdk_sagemaker_llm.fit.placement import ResourceRequirements


def show(variants: Sequence[VariantPlan]) -> None:
    """
    Print what each endpoint takes, where its copies go, and the quotas of all.
    """
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
        for other in variant.fallbacks:
            typer.echo(f"  without capacity: {other.instances} x {other.instance_type}")
            for line in _lines(other):
                typer.echo(f"    {line}")
    typer.echo("\nservice quotas, for all instances that may run")
    for name, count in quotas(variants).items():
        typer.echo(f"  {name}: {count}")


def facts(variants: Sequence[VariantPlan]) -> dict[str, Any]:
    """
    Return the same for JSON.
    """
    return {
        "endpoints": [_facts_of(variant) for variant in variants],
        "quotas": quotas(variants),
    }


def _facts_of(variant: VariantPlan) -> dict[str, Any]:
    packing = variant.fleet and variant.fleet.pack()
    fewest = packing and _fewest(variant, packing)
    return {
        "endpoint": variant.endpoint,
        "variant": variant.variant,
        "instance_type": variant.instance_type,
        "instances": variant.instances,
        "most_instances": variant.most_instances,
        "accelerators_used": variant.accelerators_used,
        "accelerators_free": _free(variant.fleet),
        "copies": variant.copies,
        "placement": packing and packing.instances,
        "left_over": packing and packing.left_over,
        "reasons": packing and packing.reasons,
        "fewest_instances": fewest and len(fewest.instances),
        "quota": variant.quota,
        **_facts_of_fallbacks(variant),
    }


def _facts_of_fallbacks(variant: VariantPlan) -> dict[str, Any]:
    others = [_facts_of(other) for other in variant.fallbacks]
    return {"fallbacks": others} if others else {}


def _lines(variant: VariantPlan) -> Iterator[str]:
    fleet = variant.fleet
    models = variant.components if fleet is None else fleet.models
    used, free = _known(variant.accelerators_used), _known(_free(fleet))
    yield f"accelerators: {used} used, {free} free"
    for name, copies in variant.copies.items():
        yield f"{copies} x {name}: {_each(models.get(name))} each"
    if fleet is not None:
        yield from _places(variant, fleet.pack())


def _places(variant: VariantPlan, packing: Packing) -> Iterator[str]:
    yield from packing.explain().splitlines()
    yield from packing.reasons
    if not packing.is_complete and not packing.is_impossible:
        yield "not decided: all copies may have a place in a packing that was not found"
    fewest = _fewest(variant, packing)
    if fewest is not None:
        count = len(fewest.instances)
        proven = "" if fewest.is_fewest else f"{fewest.at_least} to "
        yield f"fewest instances for all copies: {proven}{count}"


def _fewest(variant: VariantPlan, packing: Packing) -> Packing | None:
    """
    Find how few instances hold all copies, where there may be more than at the start.
    """
    may_grow = variant.most_instances > variant.instances
    if variant.filled_by is not None or not may_grow:
        return None
    try:
        return fewest_instances(packing.needs, packing.capacity)
    except ValueError:
        # A copy that is larger than an instance is among the packing's reasons.
        return None


def _free(fleet: Fleet | None) -> int | None:
    return None if fleet is None else fleet.accelerators - fleet.accelerators_used


def _known(value: int | None) -> str:
    return "unknown" if value is None else str(value)


def _each(needs: ResourceRequirements | None) -> str:
    if needs is None:
        return "a whole instance"
    return (
        f"{needs.accelerators or 0} accelerators, {needs.cpus or 0:g} CPU cores, "
        f"{needs.memory_mib:,} MiB"
    )
