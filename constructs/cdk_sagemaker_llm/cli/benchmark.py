"""
``sagemaker-llm benchmark``: throughput and latency over numbers of users.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from cdk_sagemaker_llm.cli.load_test import parameters_of
from cdk_sagemaker_llm.cli.loading import fitted, options
from cdk_sagemaker_llm.cli.simulating import misuse, parsing
from cdk_sagemaker_llm.load.benchmark import Benchmark, compare, run_benchmark
from cdk_sagemaker_llm.load.prompts import read_prompts
from cdk_sagemaker_llm.load.running import LoadError
from cdk_sagemaker_llm.load.settings import LoadSettings

MISUSE = 2
_USERS = "100, 150, 200, 250, 300, 350, 400, 450, 500"
_TWO = 2


def register(app: typer.Typer) -> None:
    """
    Add the subcommand.
    """
    app.command("benchmark")(benchmark)


def benchmark(
    endpoint: Annotated[
        str | None,
        typer.Argument(help="The endpoint's name; left out to compare two files."),
    ] = None,
    *,
    users: Annotated[
        str, typer.Option(help="How many users ask at a time, one number for each row.")
    ] = _USERS,
    component: options.Component = None,
    variant: options.Variant = None,
    spawn_rate: options.SpawnRate = None,
    run_time: options.RunTime = "90s",
    drain: options.Drain = "60s",
    processes: options.Processes = None,
    prompts: options.Prompts = None,
    prompt_words: options.PromptWords = "1000",
    max_new_tokens: options.MaxNewTokens = 50,
    parameter: options.Parameter = None,
    chat: options.Chat = False,
    stream: options.Stream = True,
    schema: options.Schema = "lmi",
    timeout: options.Timeout = "120s",
    seed: options.Seed = 0,
    region: options.Region = None,
    endpoint_url: options.EndpointUrl = None,
    save: Annotated[
        Path | None,
        typer.Option(help="Write it as JSON here, anew after each row."),
    ] = None,
    compare_with: Annotated[
        list[Path] | None,
        typer.Option(
            "--compare",
            help="A saved benchmark to compare with; given twice and without an "
            "endpoint, the two are compared. Left out, nothing is.",
        ),
    ] = None,
    service_times: fitted.ServiceTimes = None,
    copies: fitted.Copies = None,
    max_sequences: fitted.MaxSequences = None,
    probe: fitted.Alone = "30s",
    as_json: options.AsJson = False,
) -> None:
    """
    Load an endpoint with more and more users, and print a table.

    The defaults are 1000 words of prompt, 50 tokens of answer and 90 seconds a row.
    Ctrl-C ends it with the row that is being measured. Exits with 1 if the endpoint
    refuses, and with 2 on misuse.
    """
    try:
        saved = [_saved(path) for path in compare_with or ()]
        if endpoint is None:
            typer.echo(_two(saved), nl=False)
            return
        if len(saved) > 1:
            raise ValueError("--compare takes one file when an endpoint is measured")  # noqa: TRY301 - one place that tells
        misuse.refuse_unwritable({"--save": save, "--service-times": service_times})
        fitting = fitted.Fitting.of(
            service_times, copies, max_sequences, probe, is_streamed=stream
        )
        counts = users_of(users)
        settings = LoadSettings(
            endpoint=endpoint,
            component=component,
            variant=variant,
            users=min(counts),
            spawn_rate=spawn_rate,
            run_time=parsing.seconds("--run-time", run_time),
            drain=parsing.seconds("--drain", drain),
            processes=processes,
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
    found = _run(settings, counts, _saver(save), fitting)
    if as_json:
        typer.echo(found.to_json(), nl=False)
    else:
        typer.echo(found.to_markdown())
        for remark in found.remarks():
            typer.echo(f"- {remark}")
    _fit(fitting, found, is_error=as_json)
    if saved and not as_json:
        try:
            typer.echo(f"\n{compare(saved[0], found)}", nl=False)
        except ValueError as fault:
            _complain(str(fault))
            raise typer.Exit(MISUSE) from fault


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


def _run(
    settings: LoadSettings,
    counts: Sequence[int],
    on_row: Callable[[Benchmark], object] | None,
    fitting: fitted.Fitting,
) -> Benchmark:
    from cdk_sagemaker_llm.cli.answers import in_our_words  # noqa: PLC0415 - rich
    from cdk_sagemaker_llm.cli.loading.live import live  # noqa: PLC0415 - as above

    try:
        with live() as show:
            fitting.before(settings, show)
            return run_benchmark(settings, counts, on_row, show)
    except LoadError as error:
        _complain(in_our_words(str(error)))
        raise typer.Exit(1) from error


def _fit(fitting: fitted.Fitting, found: Benchmark, *, is_error: bool) -> None:
    try:
        lines = fitting.after(found)
    except ValueError as fault:
        _complain(f"--service-times: {fault}")
        raise typer.Exit(1) from fault
    for line in lines:
        typer.echo(line, err=is_error)


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
    except UnicodeDecodeError as fault:
        raise ValueError(f"--compare {path}: this is no saved benchmark") from fault
    except ValueError as fault:
        raise ValueError(f"--compare {path}: {fault}") from fault
    except OSError as fault:
        raise ValueError(f"--compare {path}: {fault.strerror}") from fault


def _complain(message: str) -> None:
    for line in message.splitlines():
        typer.echo(f"sagemaker-llm benchmark: {line}", err=True)
