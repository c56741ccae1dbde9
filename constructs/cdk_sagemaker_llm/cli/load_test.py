"""
``sagemaker-llm load-test``: how an endpoint does under load.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from cdk_sagemaker_llm.cli.loading import joining, options
from cdk_sagemaker_llm.cli.simulating import misuse, parsing
from cdk_sagemaker_llm.load.prompts import read_prompts
from cdk_sagemaker_llm.load.result import LoadResult
from cdk_sagemaker_llm.load.running import LoadError, run_load
from cdk_sagemaker_llm.load.settings import LoadSettings

MISUSE = 2


def register(app: typer.Typer) -> None:
    """
    Add the subcommand.
    """
    app.command("load-test")(load_test)


def load_test(
    typer_context: typer.Context,
    endpoint: options.EndpointOrJoin = None,
    *,
    component: options.Component = None,
    variant: options.Variant = None,
    users: options.Users = None,
    arrival_rate: options.ArrivalRate = None,
    spawn_rate: options.SpawnRate = None,
    run_time: options.RunTime = "60s",
    think_time: options.ThinkTime = "0s",
    drain: options.Drain = "60s",
    processes: options.Processes = None,
    expect_workers: options.ExpectWorkers = None,
    bind: options.Bind = "127.0.0.1",
    join_within: options.JoinWithin = "5m",
    join: options.Join = None,
    prompts: options.Prompts = None,
    prompt_words: options.PromptWords = "100",
    max_new_tokens: options.MaxNewTokens = 50,
    parameter: options.Parameter = None,
    chat: options.Chat = False,
    stream: options.Stream = True,
    schema: options.Schema = "lmi",
    timeout: options.Timeout = "120s",
    seed: options.Seed = 0,
    region: options.Region = None,
    endpoint_url: options.EndpointUrl = None,
    csv: options.CsvFile = None,
    html: options.HtmlFile = None,
    png: options.PngFile = None,
    json_file: options.JsonFile = None,
    as_json: options.AsJson = False,
) -> None:
    """
    Load an endpoint with requests, and tell how it did.

    Nothing is tried again and no copy is waited for. The endpoint is asked once before
    it begins. Ctrl-C ends it early, with the figures so far. Exits with 1 if no request
    succeeded, the endpoint refuses or a worker was lost, and with 2 on misuse.
    """
    try:
        joining.refuse_unheeded(typer_context, endpoint)
        if join is not None:
            joining.join(join, processes=processes, within=join_within)
            return
        misuse.refuse_unwritable(
            {"--csv": csv, "--html": html, "--png": png, "--json-file": json_file}
        )
        if png is not None:
            _require_picture(png)
        settings = LoadSettings(
            endpoint=endpoint or "",
            component=component,
            variant=variant,
            users=users,
            arrival_rate=arrival_rate,
            spawn_rate=spawn_rate,
            run_time=parsing.seconds("--run-time", run_time),
            think_time=parsing.seconds("--think-time", think_time),
            drain=parsing.seconds("--drain", drain),
            processes=processes,
            workers=expect_workers,
            bind=bind,
            join_within=parsing.seconds("--join-within", join_within),
            prompts=read_prompts(prompts) if prompts else (),
            prompt_words=prompt_words,
            max_new_tokens=max_new_tokens,
            parameters=parameters_of(parameter or ()),
            is_chat=chat,
            is_streamed=stream,
            schema=schema,
            timeout=parsing.seconds("--timeout", timeout),
            seed=seed,
            region=region,
            endpoint_url=endpoint_url,
        )
    except (ValueError, OSError) as fault:
        _complain(str(fault))
        raise typer.Exit(MISUSE) from fault
    joining.announce(settings)
    result = _run(settings)
    _write(result, csv=csv, html=html, png=png, json_file=json_file)
    typer.echo(result.to_json() if as_json else result.to_markdown(), nl=False)
    if not result.figures.success_rate or result.measured.lost:
        raise typer.Exit(1)


def parameters_of(given: Sequence[str]) -> Mapping[str, Any]:
    """
    Read parameters as they are written on the command line: ``name=value``.

    Raises:
        ValueError: If one is written otherwise.
    """
    found = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise ValueError(f"--parameter must be such as top_k=5, got {text!r}")
        try:
            found[name] = json.loads(value)
        except ValueError:
            # A word needs no quotes.
            found[name] = value
    return found


def _run(settings: LoadSettings) -> LoadResult:
    from cdk_sagemaker_llm.cli.answers import in_our_words  # noqa: PLC0415 - rich
    from cdk_sagemaker_llm.cli.loading.live import live  # noqa: PLC0415 - as above

    try:
        with live() as show:
            return run_load(settings, show)
    except LoadError as error:
        _complain(in_our_words(str(error)))
        raise typer.Exit(1) from error


def _write(
    result: LoadResult,
    *,
    csv: Path | None,
    html: Path | None,
    png: Path | None,
    json_file: Path | None,
) -> None:
    if csv is not None:
        csv.write_text(result.to_csv(), encoding="utf-8")
    if json_file is not None:
        json_file.write_text(result.to_json(), encoding="utf-8")
    if html is not None:
        from cdk_sagemaker_llm.load.page import page_of  # noqa: PLC0415 - where it is asked for

        html.write_text(page_of(result), encoding="utf-8")
    if png is not None:
        from cdk_sagemaker_llm.load.picture import draw  # noqa: PLC0415 - matplotlib

        draw(result, png)


def _require_picture(path: Path) -> None:
    from cdk_sagemaker_llm.load.picture import refuse_ending  # noqa: PLC0415 - matplotlib

    refuse_ending(path)


def _complain(message: str) -> None:
    for line in message.splitlines():
        typer.echo(f"sagemaker-llm load-test: {line}", err=True)
