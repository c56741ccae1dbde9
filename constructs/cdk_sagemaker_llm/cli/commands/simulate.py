"""
``sagemaker-llm simulate``: what scaling does to an app under load, before anyone pays.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cdk_sagemaker_llm.cli.app.playing import RunSettings
from cdk_sagemaker_llm.cli.app.traffic import SHAPES, TrafficSettings, whole_minute
from cdk_sagemaker_llm.cli.commands._options import (
    BusiestHour,
    Spread,
    ThinkTime,
    TimeZone,
    UserCount,
    Weekend,
    check_writable,
    complete,
    grouped,
    moment,
    rate,
    seconds,
)
from cdk_sagemaker_llm.cli.commands._prices import PriceOptions
from cdk_sagemaker_llm.cli.commands._runs import ComparingOptions, ServingOptions
from cdk_sagemaker_llm.cli.output import files
from cdk_sagemaker_llm.cli.output.prices import Prices
from cdk_sagemaker_llm.cli.output.runs import Run
from cdk_sagemaker_llm.simulation.metrics import MetricDelays

MISUSE = 2
_LONGEST = 92 * 86400.0
# Which traffic heeds what; a file of requests and users heed none of these.
_HEEDED: Mapping[str, tuple[str, ...]] = {
    "--rate": SHAPES,
    "--peak": ("ramp", "spike", "day"),
    "--begin": ("constant", "ramp", "spike"),
    "--lasting": ("constant", "ramp", "spike"),
    "--busiest": ("day",),
    "--time-zone": ("day",),
    "--weekend": ("day",),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class TrafficOptions:
    """
    The load: its shape, its lengths, and for how long.
    """

    traffic: Annotated[
        str | None,
        typer.Option(
            autocompletion=complete(*SHAPES),
            help=f"{', '.join(SHAPES)}, or a CSV file of requests; if omitted, spike.",
        ),
    ] = None
    rate: Annotated[
        str | None,
        typer.Option(
            help="Requests, as 20/min or 5/s: before and after a spike, at "
            "first, or at the quietest hour; if omitted, it follows from the "
            "target of scaling."
        ),
    ] = None
    peak: Annotated[
        str | None,
        typer.Option(
            help="Requests at most; if omitted, four times the rate or the target."
        ),
    ] = None
    begin: Annotated[
        str | None,
        typer.Option(
            help="When a spike or a ramp begins, as 10m; if omitted, after ten "
            "minutes or a sixth of the duration."
        ),
    ] = None
    lasting: Annotated[
        str | None,
        typer.Option(
            help="How long a spike lasts or a ramp takes; if omitted, a third or a"
            " half of the duration."
        ),
    ] = None
    scale: Annotated[
        float, typer.Option(min=0, max=1000000.0, help="How many times the requests.")
    ] = 1.0
    users: UserCount = None
    think: ThinkTime = None
    prompt_tokens: Annotated[int, typer.Option(min=1, help="Tokens of a prompt.")] = 500
    answer_tokens: Annotated[int, typer.Option(min=1, help="Tokens of an answer.")] = (
        150
    )
    spread: Spread = 0.0
    even: Annotated[
        bool, typer.Option("--even", help="Requests come in even steps, not at random.")
    ] = False
    busiest: BusiestHour = None
    time_zone: TimeZone = None
    weekend: Weekend = None
    timeout: Annotated[
        str, typer.Option(help="How long a client waits for an answer.")
    ] = "60s"
    duration: Annotated[str, typer.Option(help="How much time is played out.")] = "2h"
    start: Annotated[
        str | None,
        typer.Option(
            help="When it begins, as 2026-03-02T08:00+01:00, for schedules and "
            "days; if omitted, a Monday at midnight UTC."
        ),
    ] = None
    seed: Annotated[int, typer.Option(min=0, help="What chance follows.")] = 0

    def settings(self) -> TrafficSettings:
        return TrafficSettings(
            shape=self.traffic or "spike",
            rate=_rate("--rate", self.rate),
            peak=_rate("--peak", self.peak),
            begin=_span("--begin", self.begin),
            lasting=_span("--lasting", self.lasting),
            scale=self.scale,
            users=self.users,
            think=_span("--think-time", self.think),
            prompt=self.prompt_tokens,
            answer=self.answer_tokens,
            spread=self.spread,
            even=self.even,
            busiest=14 if self.busiest is None else self.busiest,
            time_zone=self.time_zone or "UTC",
            weekend=1.0 if self.weekend is None else self.weekend,
            timeout=seconds("--timeout", self.timeout),
        )

    def check(self) -> None:
        """
        Check that every option belongs to this traffic, and that it begins before the
        end.
        """
        shaping = {
            "--rate": self.rate,
            "--peak": self.peak,
            "--begin": self.begin,
            "--lasting": self.lasting,
            "--think-time": self.think,
            "--busiest": self.busiest,
            "--time-zone": self.time_zone,
            "--weekend": self.weekend,
        }
        flags = {flag for flag, value in shaping.items() if value is not None}
        faults = list(_faults(self.traffic, self.users, flags))
        if faults:
            raise ValueError("\n".join(faults))
        duration = seconds("--duration", self.duration)
        if duration > _LONGEST:
            raise ValueError(
                f"--duration must be at most {_LONGEST / 86400:.0f}d, got "
                f"{self.duration}: a day takes seconds to play out, and tells what a "
                "year of such days would"
            )
        if self.begin is not None and seconds("--begin", self.begin) >= duration:
            raise ValueError(
                f"--begin must be before the end, got {self.begin} of --duration "
                f"{self.duration}"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class TimeOptions:
    """
    How long things take.
    """

    instance_start: Annotated[
        str | None,
        typer.Option(help="Until an instance runs, as 4m; if omitted, 201s."),
    ] = None
    image_pull: Annotated[
        str | None,
        typer.Option(
            help="Until an instance has the image; if omitted, 213s, and 333s on "
            "an ml.g6.2xlarge."
        ),
    ] = None
    model_start: Annotated[
        str | None,
        typer.Option(
            help="From the container's start until it serves; if omitted, "
            "estimated from the model's bytes."
        ),
    ] = None
    drain: Annotated[
        str | None,
        typer.Option(help="What a copy takes to finish and end; if omitted, 30s."),
    ] = None
    release: Annotated[
        str | None,
        typer.Option(
            help="How long an instance without copies is kept; if omitted, 12m."
        ),
    ] = None
    refusal: Annotated[
        str | None,
        typer.Option(help="Until missing capacity is an error; if omitted, 31m."),
    ] = None
    metric_delay: Annotated[
        str | None,
        typer.Option(
            help="How late metrics by the minute can be read; if omitted, 120s."
        ),
    ] = None
    fast_metric_delay: Annotated[
        str | None,
        typer.Option(help="The same of metrics in ten seconds; if omitted, 30s."),
    ] = None

    def times(self) -> dict[str, float]:
        """
        Read the times of the fleet that were written, by field.
        """
        written = {
            "provision": ("--instance-start", self.instance_start),
            "image_pull": ("--image-pull", self.image_pull),
            "model_start": ("--model-start", self.model_start),
            "drain": ("--drain", self.drain),
            "release": ("--release", self.release),
            "refusal": ("--refusal", self.refusal),
        }
        return {
            name: seconds(flag, text)
            for name, (flag, text) in written.items()
            if text is not None
        }

    def delays(self) -> MetricDelays:
        """
        Read how late metrics can be read.
        """
        usual = MetricDelays()
        slow = _span("--metric-delay", self.metric_delay)
        quick = _span("--fast-metric-delay", self.fast_metric_delay)
        return MetricDelays(
            standard=usual.standard if slow is None else slow,
            high_resolution=usual.high_resolution if quick is None else quick,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class FileOptions:
    """
    The files that are written.
    """

    png: Annotated[Path | None, typer.Option(help="Draw it to a file.")] = None
    html: Annotated[Path | None, typer.Option(help="Write a web page.")] = None
    csv: Annotated[
        Path | None, typer.Option(help="Write a line for each minute to a file.")
    ] = None

    def write(self, runs: Sequence[Run], prices: Prices) -> None:
        if self.png is not None:
            files.draw(runs, self.png)
        if self.html is not None:
            self.html.write_text(files.page_of(runs, prices), encoding="utf-8")
        if self.csv is not None:
            self.csv.write_text(files.csv_of(runs), encoding="utf-8")


@grouped
def simulate(
    *,
    app: Annotated[
        Path, typer.Argument(help="cdk.out, or a single template in JSON.")
    ] = Path("cdk.out"),
    endpoint: Annotated[
        str | None,
        typer.Option(help="Only endpoints with this in their name; if omitted, all."),
    ] = None,
    traffic: Annotated[TrafficOptions, "Traffic"],
    serving: Annotated[ServingOptions, "Serving"],
    times: Annotated[TimeOptions, "How long things take"],
    comparing: Annotated[ComparingOptions, "Comparing"],
    costs: Annotated[PriceOptions, "Output"],
    output: Annotated[FileOptions, "Output"],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON.", rich_help_panel="Output")
    ] = False,
) -> None:
    """
    Play an app's scaling out in time, under a load, before anyone pays.

    Without options the load is a spike to four times what scaling aims at, and back.
    Exits with 2 on misuse.
    """
    try:
        if importlib.util.find_spec("numpy") is None:
            raise ValueError(  # noqa: TRY301 - told as every misuse is
                "chance and curves need NumPy; install it with: "
                "pip install 'cdk-sagemaker-llm[cli,simulate]'"
            )
        traffic.check()
        check_writable(
            {"--png": output.png, "--html": output.html, "--csv": output.csv}
        )
        run_settings = RunSettings(
            traffic=traffic.settings(),
            duration=seconds("--duration", traffic.duration),
            seed=traffic.seed,
            method=serving.way(),
            times=times.times(),
            delays=times.delays(),
            measured=serving.measured(),
            model_start=_span("--model-start", times.model_start),
            available=serving.limits(),
            **(
                {"start": whole_minute(moment("--start", traffic.start))}
                if traffic.start
                else {}
            ),
        )
        subject = comparing.subject(app, endpoint)
        prices = _prices(costs, subject.region)
        runs = [subject.run(run_settings), *subject.others(run_settings)]
        output.write(runs, prices)
    except (ValueError, OSError) as fault:
        for line in str(fault).splitlines():
            typer.echo(f"sagemaker-llm simulate: {line}", err=True)
        raise typer.Exit(MISUSE) from fault
    if as_json:
        typer.echo(json.dumps(files.facts_of(runs, prices), indent=2))
        return
    from cdk_sagemaker_llm.cli.output import terminal  # noqa: PLC0415 - rich

    if len(runs) == 1:
        terminal.show(runs[0], prices)
    else:
        terminal.show_compared(runs, prices)


def _faults(
    traffic: str | None, users: int | None, flags: Collection[str]
) -> Iterator[str]:
    shape = traffic or "spike"
    if users is not None and traffic is not None:
        yield f"--users come instead of a traffic, got --traffic {traffic} besides"
    elif users is None and "--think-time" in flags:
        yield (
            "--think-time is how long users think; say how many there are with --users"
        )
    for flag, shapes in _HEEDED.items():
        if flag in flags and users is not None:
            yield f"{flag} has no effect on --users; leave one of the two out"
        elif flag in flags and shape not in shapes:
            names = ", ".join(shapes)
            yield f"{flag} has no effect on --traffic {shape}; it shapes {names}"


def _prices(costs: PriceOptions, region: str) -> Prices:
    found = costs.read(region)
    if costs.prices is not None and not found:
        raise ValueError(f"--prices {costs.prices} has no price of any instance type")
    return found


def _rate(flag: str, text: str | None) -> float | None:
    return None if text is None else rate(flag, text)


def _span(flag: str, text: str | None) -> float | None:
    return None if text is None else seconds(flag, text)
