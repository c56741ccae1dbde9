"""
Runs side by side: the same numbers of each.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cdk_sagemaker_llm.cli.simulating.playing import Played
from cdk_sagemaker_llm.cli.simulating.results import (
    Prices,
    Run,
    cost_of,
    figures_of,
    shown_figure,
)

# What instances are of that several models share.
ALL_MODELS = "all models"


@dataclass(frozen=True, slots=True)
class Comparison:
    """
    One model of each run.

    Args:
        endpoint: The first run's endpoint.

        models: The model's name in each run; empty where a run has none.

        rows: What is compared, and its value in each run.
    """

    endpoint: str
    models: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def side_by_side(runs: Sequence[Run], prices: Prices) -> Iterator[Comparison]:
    """
    Compare runs model by model.

    Another app has other names for the same, so that places tell what is compared.
    """
    for group in itertools.zip_longest(*(run.played for run in runs)):
        names = [list(one.outcome.workloads) if one else [] for one in group]
        for models in itertools.zip_longest(*names, fillvalue=""):
            yield _comparison(
                group,
                models,
                [
                    dict(figures(one, model, prices)) if one and model else {}
                    for one, model in zip(group, models, strict=True)
                ],
            )
        if any(map(shares, names)):
            yield _comparison(
                group,
                tuple(ALL_MODELS if shares(each) else "" for each in names),
                [
                    dict(costs(one, prices)) if one and shares(each) else {}
                    for one, each in zip(group, names, strict=True)
                ],
            )


def _comparison(
    group: Sequence[Played | None],
    models: tuple[str, ...],
    columns: Sequence[Mapping[str, str]],
) -> Comparison:
    whats = dict.fromkeys(name for column in columns for name in column)
    return Comparison(
        endpoint=next(one.hosted.endpoint for one in group if one),
        models=models,
        rows=tuple(
            (what, *(column.get(what, "") for column in columns)) for what in whats
        ),
    )


def shares(models: Collection[str]) -> bool:
    """
    Whether models share instances, whose cost is that of all of them together.
    """
    return len(models) > 1


def figures(played: Played, model: str, prices: Prices) -> Iterator[tuple[str, str]]:
    """
    Return the numbers of a model as they are shown, with instances and money where
    they are the model's alone.
    """
    for name, value in figures_of(played, model).items():
        yield name, shown_figure(name, value)
    if not shares(played.outcome.workloads):
        yield from costs(played, prices)


def costs(played: Played, prices: Prices) -> Iterator[tuple[str, str]]:
    """
    Return instance hours and money of a variant as they are shown.
    """
    for kind, hours in played.outcome.instance_hours.items():
        yield f"instance hours, {kind}", f"{hours:.2f}"
    if prices:
        cost = cost_of(played, prices)
        yield "US dollars", "price not known" if cost is None else f"{cost:,.2f}"
