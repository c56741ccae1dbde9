"""
``sagemaker-llm load-test``: how an endpoint does under load.
"""

from __future__ import annotations

from pathlib import Path

import typer

from cdk_sagemaker_llm.cli.loading import joining, options
from cdk_sagemaker_llm.cli.loading.running import refusing_misuse, run_live
from cdk_sagemaker_llm.cli.loading.shared import Asked
from cdk_sagemaker_llm.cli.shared_options import takes
from cdk_sagemaker_llm.cli.simulating import misuse, parsing
from cdk_sagemaker_llm.load.result import LoadResult
from cdk_sagemaker_llm.load.running import run_load
from cdk_sagemaker_llm.pages.shell import check_ending

_NAME = "load-test"


def register(app: typer.Typer) -> None:
    """
    Add the subcommand.
    """
    app.command(_NAME)(load_test)


@takes(Asked)
def load_test(
    typer_context: typer.Context,
    endpoint: options.EndpointOrJoin = None,
    *,
    users: options.Users = None,
    arrival_rate: options.ArrivalRate = None,
    run_time: options.RunTime = "60s",
    think_time: options.ThinkTime = "0s",
    expect_workers: options.ExpectWorkers = None,
    bind: options.Bind = "127.0.0.1",
    join_within: options.JoinWithin = "5m",
    join: options.Join = None,
    prompt_words: options.PromptWords = "100",
    asked: Asked,
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
    with refusing_misuse(_NAME):
        joining.refuse_unheeded(typer_context, endpoint)
        if join is not None:
            joining.join(join, processes=asked.processes, within=join_within)
            return
        misuse.refuse_unwritable(
            {"--csv": csv, "--html": html, "--png": png, "--json-file": json_file}
        )
        if png is not None:
            check_ending(png)
        settings = asked.settings(
            endpoint or "",
            users=users,
            arrival_rate=arrival_rate,
            run_time=parsing.seconds("--run-time", run_time),
            think_time=parsing.seconds("--think-time", think_time),
            workers=expect_workers,
            bind=bind,
            join_within=parsing.seconds("--join-within", join_within),
            prompt_words=prompt_words,
        )
    joining.announce(settings)
    result = run_live(_NAME, lambda show: run_load(settings, show))
    _write(result, csv=csv, html=html, png=png, json_file=json_file)
    typer.echo(result.to_json() if as_json else result.to_markdown(), nl=False)
    if not result.figures.success_rate or result.measured.lost:
        raise typer.Exit(1)


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
        from cdk_sagemaker_llm.load.reports import page_of  # noqa: PLC0415 - where it is asked for

        html.write_text(page_of(result), encoding="utf-8")
    if png is not None:
        from cdk_sagemaker_llm.load.reports import draw  # noqa: PLC0415 - matplotlib

        draw(result, png)
