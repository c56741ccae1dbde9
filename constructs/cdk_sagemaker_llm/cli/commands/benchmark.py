"""
``sagemaker-llm benchmark``: throughput and latency over numbers of users.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
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
    RunTime,
    check_streamed,
    complain,
    objective_of,
    refusing_misuse,
    run_live,
    write_files,
)
from cdk_sagemaker_llm.cli.commands._options import (
    check_writable,
    grouped,
    is_given,
    seconds,
)
from cdk_sagemaker_llm.load.benchmark import (
    Benchmark,
    Row,
    compare,
    differences,
    run_benchmark,
)
from cdk_sagemaker_llm.load.deployed import Deployed, deployed
from cdk_sagemaker_llm.load.fitting import Probe, save_service_times
from cdk_sagemaker_llm.load.observed import run_alone
from cdk_sagemaker_llm.load.reading import Reading, reading_of
from cdk_sagemaker_llm.load.running import Progress
from cdk_sagemaker_llm.load.scaling_target import HeadRoom
from cdk_sagemaker_llm.load.settings import LoadSettings

_NAME = "benchmark"
_USERS = "100, 150, 200, 250, 300, 350, 400, 450, 500"
# What is heeded where nothing is measured.
_READ = {
    *("--from", "--compare", "--html", "--png", "--json", "--latency-objective"),
    *("--ttft-objective", "--tpot-objective", "--percentile", "--copies"),
    *("--growth", "--scale-out-time"),
}
_PANEL = "Service times"
_UNKNOWN_COPIES = (
    "- not sure: copies: SageMaker was not asked how many serve, or did not say; one "
    "is taken: give --copies"
)
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")
# What is installed to have it.
EXTRA = "load"


@grouped
def benchmark(
    context: typer.Context,
    endpoint: Annotated[
        str | None,
        typer.Argument(help="The endpoint's name; omitted to read saved files."),
    ] = None,
    *,
    users: Annotated[
        str, typer.Option(help="How many users ask at a time, one number for each row.")
    ] = _USERS,
    run_time: RunTime = "90s",
    prompt_words: PromptWords = "1000",
    load: LoadOptions,
    latency_objective: LatencyObjective = None,
    first_token_objective: FirstTokenObjective = None,
    output_token_objective: OutputTokenObjective = None,
    percentile: Annotated[
        str | None,
        typer.Option(
            help="Of how many requests the objectives are asked: p50, p90, p95, p99, "
            "or longest for all. If omitted, p95."
        ),
    ] = None,
    copies: Annotated[
        int | None,
        typer.Option(
            help="How many copies serve, or instances where there are no components. "
            "If omitted, SageMaker is asked.",
            min=1,
        ),
    ] = None,
    growth: Annotated[
        str,
        typer.Option(
            help="How much the load may grow a minute, which the suggested scaling "
            "target leaves room for."
        ),
    ] = "5%",
    scale_out_time: Annotated[
        str, typer.Option(help="How long scaling takes until another copy serves.")
    ] = "10m",
    save: Annotated[
        Path | None,
        typer.Option("--save", help="Write it as JSON here, anew each row."),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Read a saved benchmark, and measure nothing. If omitted, it is "
            "measured.",
        ),
    ] = None,
    compare_with: Annotated[
        list[Path] | None,
        typer.Option(
            "--compare",
            help="A saved benchmark to compare with; given twice and without an "
            "endpoint, the two are compared.",
        ),
    ] = None,
    html: HtmlFile = None,
    png: PngFile = None,
    service_times: Annotated[
        Path | None,
        typer.Option(
            help="Compute what one copy takes for requests and write it here, for "
            "sagemaker-llm simulate. If omitted, it is not.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    max_sequences: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many sequences a copy writes at once, at most, such as vLLM's "
            "max_num_seqs. If omitted, it is told from the throughput of all rows.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    probe: Annotated[
        str,
        typer.Option(
            "--probe",
            help="For how long one user asks alone before the sweep, with short "
            "prompts and again with whole ones; 0s leaves it out.",
            rich_help_panel=_PANEL,
        ),
    ] = "30s",
    as_json: AsJson = False,
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
            if len(saved) != len(("before", "after")):
                raise ValueError(
                    "name an endpoint to measure, give --from a saved benchmark to "
                    "read, or give --compare twice to compare two files"
                )
            _check_only(context, {"--compare"}, "two files to compare")
            typer.echo(compare(*saved), nl=False)
            return
        if len(saved) > 1:
            raise ValueError("--compare takes one file beside a benchmark")
        objective = objective_of(
            latency_objective,
            first_token_objective,
            output_token_objective,
            percentile,
        )
        head_room = head_room_of(growth, scale_out_time)
        check_writable(
            {
                "--save": save,
                "--html": html,
                "--png": png,
                "--service-times": service_times,
            }
        )
        fitting = Fitting.of(
            service_times, copies, max_sequences, probe, is_streamed=load.stream
        )
        if source is not None:
            _check_only(context, _READ, "--from")
            found = _saved("--from", source)
        else:
            counts = users_of(users)
            settings = load.settings(
                endpoint or "",
                users=min(counts),
                run_time=seconds("--duration", run_time),
                prompt_words=prompt_words,
            )
            check_streamed(objective, settings)
    if source is None:

        def measure(show: Callable[[Progress], object]) -> Benchmark:
            fitting.before(settings, show)
            return run_benchmark(settings, counts, _save_so_far(save), show, copies)

        found = run_live(_NAME, measure)
    elif copies is not None:
        found = replace(found, copies=copies)
    with refusing_misuse(_NAME):
        reading = reading_of(found, objective, head_room)
        _print(found, reading, saved, as_json=as_json)
    is_written = write_files(
        _NAME,
        {
            "--save": (save if source is None else None, _saver(found)),
            "--html": (html, lambda path: _write_page(found, reading, path)),
            "--png": (png, lambda path: _draw(found, path)),
            "--service-times": (
                fitting.path,
                lambda _: _fit(fitting, found, is_error=as_json),
            ),
        },
    )
    if not is_written:
        raise typer.Exit(1)


def users_of(text: str) -> list[int]:
    """
    Read numbers of users: ``100,150,200``.
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


def _write_page(found: Benchmark, reading: Reading, path: Path) -> None:
    from cdk_sagemaker_llm.load.reports import page_of_benchmark  # noqa: PLC0415 - where it is asked for

    path.write_text(page_of_benchmark(found, reading), encoding="utf-8")


def _draw(found: Benchmark, path: Path) -> None:
    from cdk_sagemaker_llm.load.reports import draw_benchmark  # noqa: PLC0415 - matplotlib

    draw_benchmark(found, path)


def _fit(fitting: Fitting, found: Benchmark, *, is_error: bool) -> None:
    try:
        lines = fitting.after(found)
    except ValueError as fault:
        complain(_NAME, f"--service-times: {fault}")
        raise typer.Exit(1) from fault
    for line in lines:
        typer.echo(line, err=is_error)


def _saver(found: Benchmark) -> Callable[[Path], object]:
    return lambda path: path.write_text(found.to_json(), encoding="utf-8")


def _save_so_far(path: Path | None) -> Callable[[Benchmark], object] | None:
    """
    Save each row as it comes, where that can be done; at the end it is told.
    """
    if path is None:
        return None

    def save(found: Benchmark) -> None:
        with contextlib.suppress(OSError):
            _saver(found)(path)

    return save


def _saved(flag: str, path: Path) -> Benchmark:
    try:
        return Benchmark.from_json(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as fault:
        raise ValueError(f"{flag} {path}: this is no saved benchmark") from fault
    except ValueError as fault:
        raise ValueError(f"{flag} {path}: {fault}") from fault
    except OSError as fault:
        raise ValueError(f"{flag} {path}: {fault.strerror}") from fault


@dataclass(slots=True)
class Fitting:
    """
    What ``--service-times`` does before the sweep and after it.

    Args:
        copies: How many copies serve; ``None`` to ask SageMaker.

        max_sequences: How many sequences a copy writes at once; ``None`` to find out.

        seconds: For how long one user asks alone, each time.
    """

    path: Path | None
    copies: int | None
    max_sequences: int | None
    seconds: float
    alone: tuple[Row, ...] = ()
    served: Deployed | None = None

    @classmethod
    def of(
        cls,
        path: Path | None,
        copies: int | None,
        max_sequences: int | None,
        probe: str,
        *,
        is_streamed: bool,
    ) -> Fitting:
        if path is not None and not is_streamed:
            raise ValueError(
                "--service-times needs answers that are streamed; leave out --no-stream"
            )
        return cls(path, copies, max_sequences, seconds("--probe", probe))

    def before(
        self, settings: LoadSettings, on_progress: Callable[[Progress], object]
    ) -> None:
        """
        Measure what a single user meets with.
        """
        if self.path is None:
            return
        self.served = deployed(settings)
        if self.seconds:
            self.alone = run_alone(settings, self.seconds, on_progress)

    def after(self, benchmark: Benchmark) -> list[str]:
        """
        Write the file; return what there is to say of it.
        """
        if self.path is None or self.served is None:
            return []
        number = self.copies or benchmark.copies
        copies = number or 1
        probe = Probe(copies=copies, alone=self.alone, max_sequences=self.max_sequences)
        fitted = save_service_times(self.path, benchmark, probe, self.served)
        of = "1 copy" if copies == 1 else f"one of {copies} copies"
        return [
            f"service times of {of} are in {self.path}:",
            *(f"- {each}" for each in fitted.found),
            *(f"- not sure: {each}" for each in fitted.warnings),
            *([] if number else [_UNKNOWN_COPIES]),
        ]


def head_room_of(growth: str, scale_out_time: str) -> HeadRoom:
    """
    Read what scaling leaves room for.
    """
    found = _PERCENT.fullmatch(growth.strip())
    if found is None:
        raise ValueError(f"--growth must be such as 5% (a minute), got {growth!r}")
    return HeadRoom(
        growth=float(found[1]) / 100,
        scale_out_time=seconds("--scale-out-time", scale_out_time),
    )


def _check_only(command: typer.Context, heeded: Collection[str], instead: str) -> None:
    flags = [
        flag
        for parameter in command.command.params
        for flag in parameter.opts[:1]
        if flag not in heeded
        if is_given(command, parameter.name or "")
    ]
    if flags:
        raise ValueError(f"{', '.join(flags)} has no effect beside {instead}")
