"""
``sagemaker-llm simulate``: what scaling does to an app under load, before anyone pays.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from cdk_sagemaker_llm.cli.prices import PriceError, read_prices
from cdk_sagemaker_llm.cli.shapes import AssemblyError
from cdk_sagemaker_llm.cli.simulating import files, misuse, options, parsing
from cdk_sagemaker_llm.cli.simulating.playing import Told
from cdk_sagemaker_llm.cli.simulating.results import Prices, Run
from cdk_sagemaker_llm.cli.simulating.subject import Subject
from cdk_sagemaker_llm.cli.simulating.traffics import Wanted, whole_minute
from cdk_sagemaker_llm.pages.shell import check_ending
from cdk_sagemaker_llm.simulation.metrics import MetricDelays
from cdk_sagemaker_llm.simulation.scenario import Method
from cdk_sagemaker_llm.simulation.service.measurement import (
    Measurement,
    read_service_times,
)

MISUSE = 2
_METHODS: Mapping[str, Method] = {"requests": "requests", "aggregate": "aggregate"}


def register(app: typer.Typer) -> None:
    """
    Add the subcommand.
    """
    app.command("simulate")(simulate)


def simulate(
    *,
    app: options.App = Path("cdk.out"),
    endpoint: options.Endpoint = None,
    traffic: options.Traffic = None,
    rate: options.Rate = None,
    peak: options.Peak = None,
    begin: options.Begin = None,
    lasting: options.Lasting = None,
    scale: options.Scale = 1.0,
    users: options.Users = None,
    think: options.Think = None,
    prompt_tokens: options.PromptTokens = 500,
    answer_tokens: options.AnswerTokens = 150,
    spread: options.Spread = 0.0,
    even: options.Even = False,
    busiest: options.Busiest = None,
    time_zone: options.TimeZone = None,
    timeout: options.Timeout = "60s",
    duration: options.Duration = "2h",
    start: options.Start = None,
    seed: options.Seed = 0,
    service_times: options.ServiceTimes = None,
    method: options.Method = None,
    available: options.Available = None,
    instance_start: options.InstanceStart = None,
    image_pull: options.ImagePull = None,
    model_start: options.ModelStart = None,
    drain: options.Drain = None,
    release: options.Release = None,
    refusal: options.Refusal = None,
    metric_delay: options.MetricDelay = None,
    fast_metric_delay: options.FastMetricDelay = None,
    setting: options.Setting = None,
    compare: options.Compare = None,
    compare_with: options.CompareWith = None,
    prices: options.Prices = None,
    region: options.Region = "us-east-1",
    png: options.PngFile = None,
    html: options.HtmlFile = None,
    csv: options.CsvFile = None,
    as_json: options.AsJson = False,
) -> None:
    """
    Play an app's scaling out in time, under a load, before anyone pays.

    Without options the load is a spike to four times what scaling aims at, and back.
    Exits with 2 on misuse.
    """
    shaping = {
        "--rate": rate,
        "--peak": peak,
        "--begin": begin,
        "--lasting": lasting,
        "--think": think,
        "--busiest": busiest,
        "--time-zone": time_zone,
    }
    given = {
        "provision": ("--instance-start", instance_start),
        "image_pull": ("--image-pull", image_pull),
        "model_start": ("--model-start", model_start),
        "drain": ("--drain", drain),
        "release": ("--release", release),
        "refusal": ("--refusal", refusal),
    }
    try:
        _require_numpy()
        misuse.refuse_unheeded(
            traffic,
            users,
            {flag for flag, value in shaping.items() if value is not None},
        )
        misuse.refuse_late(begin, duration)
        misuse.refuse_unwritable({"--png": png, "--html": html, "--csv": csv})
        if png is not None:
            check_ending(png)
        wanted = Wanted(
            shape=traffic or "spike",
            rate=_rate("--rate", rate),
            peak=_rate("--peak", peak),
            begin=_span("--begin", begin),
            lasting=_span("--lasting", lasting),
            scale=scale,
            users=users,
            think=_span("--think", think),
            prompt=prompt_tokens,
            answer=answer_tokens,
            spread=spread,
            even=even,
            busiest=14 if busiest is None else busiest,
            time_zone=time_zone or "UTC",
            timeout=parsing.seconds("--timeout", timeout),
        )
        told = Told(
            wanted=wanted,
            duration=parsing.seconds("--duration", duration),
            seed=seed,
            method=_method(method),
            times=_times(given),
            delays=_delays(metric_delay, fast_metric_delay),
            measured=tuple(map(_measured, service_times or ())),
            model_start=_span("--model-start", model_start),
            available=_available(available or ()),
            **(
                {"start": whole_minute(parsing.moment("--start", start))}
                if start
                else {}
            ),
        )
        costs = _prices(prices, region)
        subject = Subject(app, endpoint, setting or (), compare, compare_with or ())
        runs = [subject.run(told), *subject.others(told)]
        _write(runs, costs, png=png, html=html, csv=csv)
    except (ValueError, AssemblyError, PriceError, OSError) as fault:
        for line in str(fault).splitlines():
            typer.echo(f"sagemaker-llm simulate: {line}", err=True)
        raise typer.Exit(MISUSE) from fault
    if as_json:
        typer.echo(json.dumps(files.facts_of(runs, costs), indent=2))
    else:
        _show(runs, costs)


def _write(
    runs: Sequence[Run],
    prices: Prices,
    *,
    png: Path | None,
    html: Path | None,
    csv: Path | None,
) -> None:
    if png is not None:
        from cdk_sagemaker_llm.cli.simulating.picture import draw  # noqa: PLC0415 - matplotlib

        draw(runs, png)
    if html is not None:
        from cdk_sagemaker_llm.cli.simulating.page import page_of  # noqa: PLC0415 - where it is asked for

        html.write_text(page_of(runs, prices), encoding="utf-8")
    if csv is not None:
        csv.write_text(files.csv_of(runs), encoding="utf-8")


def _show(runs: Sequence[Run], prices: Prices) -> None:
    from cdk_sagemaker_llm.cli.simulating import terminal  # noqa: PLC0415 - rich

    if len(runs) == 1:
        terminal.show(runs[0], prices)
    else:
        terminal.show_compared(runs, prices)


def _require_numpy() -> None:
    if importlib.util.find_spec("numpy") is None:
        raise ValueError(
            "chance and curves need NumPy; install it with: "
            "pip install 'cdk-sagemaker-llm[cli,simulate]'"
        )


def _prices(given: str | None, region: str) -> Prices:
    if given is None:
        return {}
    found = read_prices(given, region)
    if not found:
        raise ValueError(f"--prices {given} has no price of any instance type")
    return found


def _rate(flag: str, text: str | None) -> float | None:
    return None if text is None else parsing.rate(flag, text)


def _span(flag: str, text: str | None) -> float | None:
    return None if text is None else parsing.seconds(flag, text)


def _method(text: str | None) -> Method | None:
    if text is not None and text not in _METHODS:
        raise ValueError(f"--method must be requests or aggregate, got {text!r}")
    return _METHODS[text] if text else None


def _measured(path: Path) -> Measurement:
    try:
        return read_service_times(path)
    except OSError as fault:
        raise ValueError(
            f"--service-times {path} cannot be read: {fault.strerror}; leave it out "
            "to estimate them"
        ) from fault


def _times(given: Mapping[str, tuple[str, str | None]]) -> dict[str, float]:
    return {
        name: parsing.seconds(flag, text)
        for name, (flag, text) in given.items()
        if text is not None
    }


def _delays(standard: str | None, fast: str | None) -> MetricDelays:
    usual = MetricDelays()
    slow, quick = _span("--metric-delay", standard), _span("--fast-metric-delay", fast)
    return MetricDelays(
        standard=usual.standard if slow is None else slow,
        high_resolution=usual.high_resolution if quick is None else quick,
    )


def _available(given: Sequence[str]) -> dict[str, int]:
    found = {}
    for text in given:
        name, sign, number = text.partition("=")
        if not sign or not name.startswith("ml."):
            raise ValueError(
                f"--available must be such as ml.g5.xlarge=2, got {text!r}"
            )
        found[name] = parsing.whole(f"--available {name}", number)
    return found
