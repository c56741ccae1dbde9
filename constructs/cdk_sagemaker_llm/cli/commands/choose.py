"""
``sagemaker-llm choose``: the cheapest deployment that keeps a latency objective.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from cdk_sagemaker_llm.choosing.load import Load
from cdk_sagemaker_llm.choosing.question import Question
from cdk_sagemaker_llm.cli.app.playing import RunSettings
from cdk_sagemaker_llm.cli.app.simulated import read_hosted
from cdk_sagemaker_llm.cli.app.traffic import written_traffic
from cdk_sagemaker_llm.cli.commands._choosing import (
    app_at,
    for_app,
    for_model,
    for_models,
)
from cdk_sagemaker_llm.cli.commands._loading import complain
from cdk_sagemaker_llm.cli.commands._options import (
    AsJson,
    check_writable,
    complete_models,
    grouped,
)
from cdk_sagemaker_llm.cli.commands._prices import PriceOptions
from cdk_sagemaker_llm.cli.commands._question import (
    BoundOptions,
    LoadOptions,
    ObjectiveOptions,
)

FOUND, NOTHING, MISUSE = 0, 1, 2


@grouped
def choose(
    *,
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            autocompletion=complete_models,
            help="A model of the catalogue, or several, which may share instances; or "
            "cdk.out or a template, to see what its endpoints cost and what would do "
            "it for less.",
        ),
    ],
    traffic: Annotated[LoadOptions, "Traffic"],
    objective: Annotated[ObjectiveOptions, "Objective"],
    bounds: Annotated[BoundOptions, "Bounds"],
    endpoint: Annotated[
        str | None,
        typer.Option(
            help="Only endpoints of an app with this in their name; if omitted, all.",
            rich_help_panel="Bounds",
        ),
    ] = None,
    costs: Annotated[PriceOptions, "Output"],
    write: Annotated[
        Path | None,
        typer.Option(help="Write an app with the first.", rich_help_panel="Output"),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            help="Write a web page with the picture.", rich_help_panel="Output"
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """
    Find the cheapest deployment that keeps a latency objective under a load.

    Every instance type, engine, quantized copy, split, number of copies and scaling is
    sized; the cheapest are simulated over a week. Exits with 0 if one keeps the
    objective, 1 if none does, 2 on misuse.
    """
    try:
        traffic.check(len(models))
        check_writable({"--write": write, "--html": html})
        path = app_at(models)
        _check_belonging(models, path, endpoint, bounds.revision, write)
        replay = traffic.replay()
        traffic = traffic.lasting(replay)
        settings = traffic.settings()
        home = read_hosted(path).region if path else ""
        prices = costs.read(home)
        duration = traffic.seconds
        question = Question(
            model=models[0],
            revision=bounds.revision,
            traffic=replay or written_traffic(settings, duration).traffic,
            objective=objective.read(),
            region=costs.region or home or "us-east-1",
            prices=dict(prices),
            instance_types=tuple(bounds.instance_type or ()),
            engines=bounds.engines(),
            quantized=bounds.quantized,
            budget=bounds.most(),
            scale_to_zero=bounds.scale_to_zero,
            speedups=bounds.speedups(),
            measured=bounds.measured(),
            duration=duration,
            timeout=settings.timeout,
            seed=traffic.seed,
        )
        if len(models) > 1:
            each = [
                written_traffic(traffic.settings(n), duration)
                for n, _ in enumerate(models)
            ]
            found = for_models(
                [
                    replace(question, model=model, traffic=one.traffic, budget=None)
                    for model, one in zip(models, each, strict=True)
                ],
                prices,
                question.budget,
            )
        elif path is None:
            load = Load.of(question)
            simulation = traffic.simulated(load.prompt, load.answer)
            found = for_model(question, prices, simulation)
        else:
            run_settings = RunSettings(
                traffic=settings,
                duration=duration,
                seed=traffic.seed,
                measured=question.measured,
            )
            found = for_app(path, run_settings, question, prices, endpoint)
        if write is not None and found.stack is not None:
            write.write_text(found.stack, encoding="utf-8")
        if html is not None:
            html.write_text(found.page(), encoding="utf-8")
    except (ValueError, OSError) as fault:
        complain("choose", str(fault))
        raise typer.Exit(MISUSE) from fault
    if as_json:
        typer.echo(json.dumps(found.facts(), indent=2))
    else:
        found.show()
    raise typer.Exit(FOUND if found.keeps else NOTHING)


def _check_belonging(
    models: Sequence[str],
    app: Path | None,
    endpoint: str | None,
    revision: str | None,
    write: Path | None,
) -> None:
    """
    Refuse options of an app without one, of models beside an app or others, and to
    write over code that somebody may have gone on with.
    """
    if endpoint is not None and app is None:
        raise ValueError(
            "--endpoint is one of an app; give cdk.out or a template with it"
        )
    if revision is not None and (app is not None or len(models) > 1):
        raise ValueError("--revision is a commit of one model; name that model alone")
    if write is not None and app is not None:
        raise ValueError(
            f"--write writes an app for a model, and {app} is one; the lines to change "
            "are in what is printed"
        )
    if write is not None and write.exists():
        raise ValueError(
            f"--write {write} must be a new file, got one that exists; name another, "
            "or remove it"
        )
