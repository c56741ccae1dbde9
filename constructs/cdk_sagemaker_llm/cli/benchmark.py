"""
``sagemaker-llm benchmark``: throughput and latency over numbers of users.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from cdk_sagemaker_llm.cli.loading import options
from cdk_sagemaker_llm.cli.loading.running import refusing_misuse, run_live
from cdk_sagemaker_llm.cli.loading.shared import Asked, takes_shared
from cdk_sagemaker_llm.cli.simulating import misuse, parsing
from cdk_sagemaker_llm.load.benchmark import Benchmark, run_benchmark
from cdk_sagemaker_llm.load.comparing import compare

_NAME = "benchmark"
_USERS = "100,150,200,250,300,350,400,450,500"
_TWO = 2


def register(app: typer.Typer) -> None:
    """
    Add the subcommand.
    """
    app.command(_NAME)(benchmark)


@takes_shared
def benchmark(
    endpoint: Annotated[
        str | None,
        typer.Argument(help="The endpoint's name; left out to compare two files."),
    ] = None,
    *,
    users: Annotated[
        str, typer.Option(help="How many users ask at a time, one number for each row.")
    ] = _USERS,
    run_time: options.RunTime = "90s",
    prompt_words: options.PromptWords = "1000",
    asked: Asked,
    save: Annotated[
        Path | None,
        typer.Option(help="Write it as JSON here, anew after each row."),
    ] = None,
    compare_with: Annotated[
        list[Path] | None,
        typer.Option(
            "--compare",
            help="A saved benchmark to compare with; given twice and without an "
            "endpoint, the two are compared.",
        ),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """
    Load an endpoint with more and more users, and print a table.

    The defaults are 1000 words of prompt, 50 tokens of answer and 90 seconds a row.
    Ctrl-C ends it with the row that is being measured. Exits with 1 if the endpoint
    refuses, and with 2 on misuse.
    """
    with refusing_misuse(_NAME):
        saved = [_saved(path) for path in compare_with or ()]
        if endpoint is None:
            typer.echo(_two(saved), nl=False)
            return
        if len(saved) > 1:
            raise ValueError("--compare takes one file when an endpoint is measured")
        misuse.refuse_unwritable({"--save": save})
        counts = users_of(users)
        settings = asked.settings(
            endpoint,
            users=min(counts),
            run_time=parsing.seconds("--run-time", run_time),
            prompt_words=prompt_words,
        )
    found = run_live(
        _NAME, lambda show: run_benchmark(settings, counts, _saver(save), show)
    )
    if as_json:
        typer.echo(found.to_json(), nl=False)
        return
    typer.echo(found.to_markdown())
    for remark in found.remarks():
        typer.echo(f"- {remark}")
    if saved:
        with refusing_misuse(_NAME):
            typer.echo(f"\n{compare(saved[0], found)}", nl=False)


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


def _saver(path: Path | None) -> Callable[[Benchmark], object] | None:
    if path is None:
        return None
    return lambda found: path.write_text(found.to_json(), encoding="utf-8")


def _two(saved: Sequence[Benchmark]) -> str:
    if len(saved) != _TWO:
        raise ValueError(
            "name an endpoint to measure, or give --compare twice to compare two files"
        )
    return compare(*saved)


def _saved(path: Path) -> Benchmark:
    try:
        return Benchmark.from_json(path.read_text(encoding="utf-8"))
    except ValueError as fault:
        raise ValueError(f"--compare {path}: {fault}") from fault
