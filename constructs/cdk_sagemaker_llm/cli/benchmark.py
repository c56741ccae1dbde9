"""
``sagemaker-llm benchmark``: throughput and latency over numbers of users.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from cdk_sagemaker_llm.cli.loading import fitted, options
from cdk_sagemaker_llm.cli.loading.reading import (
    head_room_of,
    objective_of,
    refuse_all_but,
)
from cdk_sagemaker_llm.cli.loading.running import complain, refusing_misuse, run_live
from cdk_sagemaker_llm.cli.loading.shared import Asked
from cdk_sagemaker_llm.cli.shared_options import takes
from cdk_sagemaker_llm.cli.simulating import misuse, parsing
from cdk_sagemaker_llm.load.benchmark import Benchmark, run_benchmark
from cdk_sagemaker_llm.load.comparing import compare, differences
from cdk_sagemaker_llm.load.reading import Reading, reading_of
from cdk_sagemaker_llm.load.running import Progress
from cdk_sagemaker_llm.pages.shell import check_ending

_NAME = "benchmark"
_USERS = "100, 150, 200, 250, 300, 350, 400, 450, 500"
_TWO = 2
# What is heeded where nothing is measured.
_READ = {
    *("--from", "--compare", "--html", "--png", "--json", "--latency-objective"),
    *("--ttft-objective", "--percentile", "--copies", "--growth"),
    "--scale-out-time",
}


def register(app: typer.Typer) -> None:
    """
    Add the subcommand.
    """
    app.command(_NAME)(benchmark)


@takes(Asked)
def benchmark(
    context: typer.Context,
    endpoint: Annotated[
        str | None,
        typer.Argument(help="The endpoint's name; left out to read saved files."),
    ] = None,
    *,
    users: Annotated[
        str, typer.Option(help="How many users ask at a time, one number for each row.")
    ] = _USERS,
    run_time: options.RunTime = "90s",
    prompt_words: options.PromptWords = "1000",
    asked: Asked,
    latency_objective: options.LatencyObjective = None,
    first_token_objective: options.FirstTokenObjective = None,
    percentile: options.Percentile = None,
    copies: options.Copies = None,
    growth: options.Growth = "5%",
    scale_out_time: options.ScaleOutTime = "10m",
    save: options.SaveFile = None,
    source: options.FromFile = None,
    compare_with: options.CompareWith = None,
    html: options.HtmlFile = None,
    png: options.PngFile = None,
    service_times: fitted.ServiceTimes = None,
    max_sequences: fitted.MaxSequences = None,
    probe: fitted.Alone = "30s",
    as_json: options.AsJson = False,
) -> None:
    """
    Load an endpoint with more and more users, and print a table.

    Below it stands how many users the endpoint bears, and what to scale at. The
    defaults are 1000 words of prompt, 50 tokens of answer and 90 seconds a row. Ctrl-C
    ends it with the row that is being measured. Exits with 1 if the endpoint refuses,
    and with 2 on misuse.
    """
    with refusing_misuse(_NAME):
        saved = [_saved("--compare", path) for path in compare_with or ()]
        if endpoint is None and source is None:
            _two(context, saved)
            return
        if len(saved) > 1:
            raise ValueError("--compare takes one file beside a benchmark")
        objective = objective_of(latency_objective, first_token_objective, percentile)
        head_room = head_room_of(growth, scale_out_time)
        misuse.refuse_unwritable(
            {
                "--save": save,
                "--html": html,
                "--png": png,
                "--service-times": service_times,
            }
        )
        fitting = fitted.Fitting.of(
            service_times, copies, max_sequences, probe, is_streamed=asked.stream
        )
        if png is not None:
            check_ending(png)
        if source is not None:
            refuse_all_but(context, _READ, "--from")
            found = _saved("--from", source)
        else:
            counts = users_of(users)
            settings = asked.settings(
                endpoint or "",
                users=min(counts),
                run_time=parsing.seconds("--run-time", run_time),
                prompt_words=prompt_words,
            )
            if first_token_objective is not None and not settings.is_streamed:
                raise ValueError("--ttft-objective needs streams; leave one out")
    if source is None:

        def measure(show: Callable[[Progress], object]) -> Benchmark:
            fitting.before(settings, show)
            return run_benchmark(settings, counts, _saver(save), show, copies)

        found = run_live(_NAME, measure)
    elif copies is not None:
        found = replace(found, copies=copies)
    with refusing_misuse(_NAME):
        reading = reading_of(found, objective, head_room)
        _draw(found, reading, html=html, png=png)
        _print(found, reading, saved, as_json=as_json)
    _fit(fitting, found, is_error=as_json)


def users_of(text: str) -> list[int]:
    """
    Read numbers of users: ``100,150,200``.

    Raises:
        ValueError: If they are none.
    """
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = [0]
    if min(found) < 1 or len({*found}) < len(found):
        raise ValueError(
            f"--users must be different numbers such as 100,150,200, got {text!r}"
        )
    return found


def _print(
    found: Benchmark, reading: Reading, saved: Sequence[Benchmark], *, as_json: bool
) -> None:
    if as_json:
        facts = {**found.to_facts(), **reading.to_facts()}
        if saved:
            changed = differences(saved[0], found)
            facts["differences"] = [one.to_facts() for one in changed]
        typer.echo(json.dumps(facts, indent=2))
        return
    typer.echo(found.to_markdown())
    for sentence in (*reading.sentences(), *found.remarks()):
        typer.echo(f"- {sentence}")
    if saved:
        typer.echo(f"\n{compare(saved[0], found)}", nl=False)


def _draw(
    found: Benchmark, reading: Reading, *, html: Path | None, png: Path | None
) -> None:
    if html is not None:
        from cdk_sagemaker_llm.load.benchmark_page import page_of_benchmark  # noqa: PLC0415 - where it is asked for

        html.write_text(page_of_benchmark(found, reading), encoding="utf-8")
    if png is not None:
        from cdk_sagemaker_llm.load.reports import draw_benchmark  # noqa: PLC0415 - matplotlib

        draw_benchmark(found, png)


def _fit(fitting: fitted.Fitting, found: Benchmark, *, is_error: bool) -> None:
    try:
        lines = fitting.after(found)
    except ValueError as fault:
        complain(_NAME, f"--service-times: {fault}")
        raise typer.Exit(1) from fault
    for line in lines:
        typer.echo(line, err=is_error)


def _saver(path: Path | None) -> Callable[[Benchmark], object] | None:
    if path is None:
        return None
    return lambda found: path.write_text(found.to_json(), encoding="utf-8")


def _two(context: typer.Context, saved: Sequence[Benchmark]) -> None:
    if len(saved) != _TWO:
        raise ValueError(
            "name an endpoint to measure, give --from a saved benchmark to read, or "
            "give --compare twice to compare two files"
        )
    refuse_all_but(context, {"--compare"}, "two files to compare")
    typer.echo(compare(*saved), nl=False)


def _saved(flag: str, path: Path) -> Benchmark:
    try:
        return Benchmark.from_json(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as fault:
        raise ValueError(f"{flag} {path}: this is no saved benchmark") from fault
    except ValueError as fault:
        raise ValueError(f"{flag} {path}: {fault}") from fault
    except OSError as fault:
        raise ValueError(f"{flag} {path}: {fault.strerror}") from fault
