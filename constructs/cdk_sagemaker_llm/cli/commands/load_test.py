"""
``sagemaker-llm load-test``: how an endpoint does under load.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from cdk_sagemaker_llm.cli.commands._loading import (
    AsJson,
    FirstTokenObjective,
    HtmlFile,
    LatencyObjective,
    LoadOptions,
    OutputTokenObjective,
    PngFile,
    PromptWords,
    check_streamed,
    objective_of,
    refusing_misuse,
    run_live,
    status_of,
    write_files,
)
from cdk_sagemaker_llm.cli.commands._options import (
    check_writable,
    grouped,
    is_given,
    rate,
    seconds,
)
from cdk_sagemaker_llm.load.result import LoadResult
from cdk_sagemaker_llm.load.running import LoadError, join_load, run_load
from cdk_sagemaker_llm.load.settings import LoadSettings, address_of
from cdk_sagemaker_llm.simulation.traffic.trace import TracedRequest, read_trace

_NAME = "load-test"
_OF_JOINING = {"join", "join_within", "processes"}
# What is installed to have it.
EXTRA = "load"


@grouped
def load_test(
    typer_context: typer.Context,
    endpoint: Annotated[
        str | None, typer.Argument(help="The endpoint's name; omitted with --join.")
    ] = None,
    *,
    users: Annotated[
        int | None,
        typer.Option(
            help="How many users ask, each again when its answer has come (closed "
            "loop). If omitted, 10."
        ),
    ] = None,
    arrival_rate: Annotated[
        str | None,
        typer.Option(
            "--rate",
            help="Instead of --users: how many requests arrive, as 5/s or 300/min, at "
            "random, whether or not those before have been answered (open loop). If "
            "omitted, users ask.",
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            help="Instead of --users: requests as they were seen, at their moments and "
            "with their lengths: a CSV file with time, prompt_tokens and "
            "output_tokens, a trace of Azure's (.csv), or one of Mooncake's (.jsonl). "
            "If omitted, users ask."
        ),
    ] = None,
    trace_speed: Annotated[
        float, typer.Option(help="How many times as fast as it was it is played.")
    ] = 1.0,
    run_time: Annotated[
        str | None,
        typer.Option(
            "--duration",
            help="For how long it is measured, once all users have begun: 90s, 15m. If "
            "omitted, 60s, or until the trace ends.",
        ),
    ] = None,
    think_time: Annotated[
        str, typer.Option(help="How long a user waits between an answer and a request.")
    ] = "0s",
    expect_workers: Annotated[
        int | None,
        typer.Option(
            help="How many processes of other machines, each started with --join, do "
            "the work. If omitted, processes of this machine do."
        ),
    ] = None,
    bind: Annotated[
        str,
        typer.Option(
            metavar="HOST[:PORT]",
            help="With --expect-workers, the address of this machine where they join; "
            "the port is 5557 if omitted. What goes over it is not encrypted, and "
            "whoever reaches it can join.",
        ),
    ] = "127.0.0.1",
    join_within: Annotated[
        str,
        typer.Option(help="For how long workers, or with --join the leader, may take."),
    ] = "5m",
    join: Annotated[
        str | None,
        typer.Option(
            metavar="HOST[:PORT]",
            help="Instead of an endpoint: work for the load test that another machine "
            "leads there with --expect-workers, which says all else but --processes. "
            "If omitted, this machine loads or leads.",
        ),
    ] = None,
    prompt_words: PromptWords = "100",
    load: LoadOptions,
    latency_objective: LatencyObjective = None,
    first_token_objective: FirstTokenObjective = None,
    output_token_objective: OutputTokenObjective = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", help="Write a row for each request here.")
    ] = None,
    html: HtmlFile = None,
    png: PngFile = None,
    json_file: Annotated[
        Path | None, typer.Option("--json-file", help="Write the figures as JSON here.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """
    Load an endpoint with requests, and tell how it did.

    Nothing is tried again and no copy is waited for. The endpoint is asked once before
    it begins. Ctrl-C ends it early, with the figures so far; twice, without the last
    answers. Exits with 1 if no request succeeded, the endpoint refuses, a worker was
    lost or a file cannot be written, and with 2 on misuse.
    """
    with refusing_misuse(_NAME):
        _check_heeded(typer_context, endpoint)
        if join is not None:
            _work_for(join, processes=load.processes, within=join_within)
            return
        check_writable(
            {"--csv": csv, "--html": html, "--png": png, "--json-file": json_file}
        )
        objective = objective_of(
            latency_objective, first_token_objective, output_token_objective
        )
        settings = load.settings(
            endpoint or "",
            users=users,
            arrival_rate=_rate(arrival_rate),
            trace=_traced(trace),
            trace_speed=trace_speed,
            run_time=None if run_time is None else seconds("--duration", run_time),
            think_time=seconds("--think-time", think_time),
            workers=expect_workers,
            bind=bind,
            join_within=seconds("--join-within", join_within),
            prompt_words=prompt_words,
        )
        check_streamed(objective, settings)
    _announce(settings)
    measured = run_live(_NAME, lambda show: run_load(settings, show))
    result = replace(measured, objective=objective)
    typer.echo(result.to_json() if as_json else result.to_markdown(), nl=False)
    is_written = write_files(
        _NAME,
        {
            "--csv": (csv, _writing(result.to_csv)),
            "--json-file": (json_file, _writing(result.to_json)),
            "--html": (html, _writing(lambda: _page_of(result))),
            "--png": (png, lambda path: _draw(result, path)),
        },
    )
    if not result.figures.success_rate or result.measured.lost or not is_written:
        raise typer.Exit(1)


def _writing(text: Callable[[], str]) -> Callable[[Path], object]:
    return lambda path: path.write_text(text(), encoding="utf-8")


def _page_of(result: LoadResult) -> str:
    from cdk_sagemaker_llm.load.reports import page_of  # noqa: PLC0415 - where it is asked for

    return page_of(result)


def _draw(result: LoadResult, path: Path) -> None:
    from cdk_sagemaker_llm.load.reports import draw  # noqa: PLC0415 - matplotlib

    draw(result, path)


def _announce(settings: LoadSettings) -> None:
    if settings.workers is None:
        return
    host, port = address_of(settings.bind)
    is_any = host == "0.0.0.0"  # noqa: S104 - what somebody else wrote
    address = f"{'THIS-MACHINE' if is_any else host}:{port}"
    count = settings.workers
    workers = "1 worker; start it" if count == 1 else f"{count} workers; start them"
    _say(f"waiting for {workers} with: sagemaker-llm load-test --join {address}")
    try:
        is_near = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_near = host == "localhost"
    if is_near:
        _say(f"on other machines after: ssh -N -L {port}:{host}:{port} THIS-MACHINE")
    else:
        _say(
            "warning: what goes over this port is not encrypted, and whoever reaches "
            "it can join, read the settings and send figures, or be this test to its "
            "workers; leave --bind out and join through ssh, or keep the network closed"
        )


def _traced(path: Path | None) -> tuple[TracedRequest, ...]:
    if path is None:
        return ()
    try:
        return read_trace(path)
    except OSError as fault:
        raise ValueError(f"--trace {path} cannot be read: {fault.strerror}") from fault


def _check_heeded(context: typer.Context, endpoint: str | None) -> None:
    flags = {name for name in context.params if is_given(context, name)}
    if "join" in flags:
        if unheeded := sorted(flags - _OF_JOINING):
            names = ", ".join(_flag(context, name) for name in unheeded)
            raise ValueError(f"--join takes the leader's settings; leave out {names}")
    elif endpoint is None:
        raise ValueError(
            "name an endpoint to load, or with --join HOST[:PORT] the load test to "
            "work for"
        )
    elif "trace" in flags and (
        unheeded := sorted(flags & {"prompt_words", "turns", "max_new_tokens"})
    ):
        names = ", ".join(_flag(context, name) for name in unheeded)
        raise ValueError(f"--trace says how long requests are; leave out {names}")
    elif "trace_speed" in flags and "trace" not in flags:
        raise ValueError("--trace-speed is said of --trace; give both")
    elif "expect_workers" not in flags and (
        unheeded := sorted(flags & {"bind", "join_within"})
    ):
        names = ", ".join(_flag(context, name) for name in unheeded)
        raise ValueError(
            f"without --expect-workers nobody joins; add it, or leave out {names}"
        )


def _work_for(address: str, *, processes: int | None, within: str) -> None:
    if processes is not None and processes < 1:
        raise ValueError(f"--processes must be at least 1, got {processes}")
    try:
        address_of(address)
    except ValueError as error:
        raise ValueError(f"--join {error}") from error
    patience = seconds("--join-within", within)
    _say(f"looking for the load test at {address}, for up to {within}")
    try:
        join_load(address, processes=processes, within=patience, on_told=_say)
    except LoadError as error:
        for line in str(error).splitlines():
            _say(line)
        raise typer.Exit(status_of(error)) from error


def _rate(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        # A bare number is of a second.
        return float(text)
    except ValueError:
        return rate("--rate", text)


def _flag(context: typer.Context, name: str) -> str:
    written = {one.name: one.opts[0] for one in context.command.params}
    return "the endpoint" if name == "endpoint" else written[name]


def _say(text: str) -> None:
    typer.echo(f"sagemaker-llm load-test: {text}", err=True)
