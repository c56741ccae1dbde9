"""
The traffic of the command line; what it leaves open follows from the app.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from cdk_sagemaker_llm.cli.app.simulated import HostedModel
from cdk_sagemaker_llm.simulation.metrics import MetricQuery
from cdk_sagemaker_llm.simulation.scaling import TargetTracking
from cdk_sagemaker_llm.simulation.service.times import ServiceTimes
from cdk_sagemaker_llm.simulation.traffic.base import Traffic, Users
from cdk_sagemaker_llm.simulation.traffic.lengths import Fixed, Lengths, LogNormal
from cdk_sagemaker_llm.simulation.traffic.rates import Constant, DayCurve, Ramp, Spike
from cdk_sagemaker_llm.simulation.traffic.replay import Replay

SHAPES = ("constant", "ramp", "spike", "day")
_MINUTE = 60.0
# Where nothing is said: half of what a target is met with, and four times that target.
_QUIET, _BUSY = 0.5, 4.0
_PROMPT, _ANSWER = 500, 150
# Seconds over which users come who hardly think, as those of a load test do.
_JOINING = 5.0
# Requests a second at one copy, beyond which a target is none that traffic is made for.
_ABSURD = 1e6


@dataclass(frozen=True, kw_only=True, slots=True)
class TrafficSettings:
    """
    The settings of the traffic; ``None`` for what the command line leaves open.

    Args:
        shape: One of the shapes, or the name of a CSV file.

        rate: Requests a second: all the time, before and after a spike, at first, or
            at the quietest hour.

        peak: Requests a second at most.

        begin: Seconds until a spike or a ramp begins.

        lasting: Seconds that a spike lasts, or a ramp takes.

        spread: How much lengths differ; all are the same at 0.

        even: Whether requests come in even steps.
    """

    shape: str = "spike"
    rate: float | None = None
    peak: float | None = None
    begin: float | None = None
    lasting: float | None = None
    scale: float = 1.0
    users: int | None = None
    think: float | None = None
    prompt: int | None = None
    answer: int | None = None
    spread: float = 0.0
    even: bool = False
    busiest: int = 14
    time_zone: str = "UTC"
    weekend: float = 1.0
    timeout: float = _MINUTE

    @property
    def lengths(self) -> Lengths:
        prompt, answer = self.prompt or _PROMPT, self.answer or _ANSWER
        if not self.spread:
            return Lengths(prompt=Fixed(prompt), answer=Fixed(answer))
        return Lengths(
            prompt=LogNormal(median=float(prompt), spread=self.spread),
            answer=LogNormal(median=float(answer), spread=self.spread),
        )


@dataclass(frozen=True, slots=True)
class ModelTraffic:
    """
    A traffic, and what it is in words.
    """

    traffic: Traffic | Users
    words: str


def traffic_of(
    settings: TrafficSettings,
    model: HostedModel,
    service: ServiceTimes,
    duration: float,
) -> ModelTraffic:
    is_shape = settings.users is None and settings.shape in SHAPES
    if settings.rate is not None or not is_shape:
        return written_traffic(settings, duration)
    one = rate_at_target(model, service, settings.lengths)
    if one > _ABSURD:
        raise ValueError(
            f"--rate must be given: {model.name} meets its target at {one:.3g} "
            "requests a second and copy, for which no traffic is made"
        )
    copies = max(model.copies, 1)
    rate = one * _QUIET * model.copies
    if settings.shape == "constant":
        rate = one * copies
    peak = settings.peak
    if peak is None:
        peak = max(one * _BUSY * copies, rate)
    return _shaped(settings, rate * settings.scale, peak * settings.scale, duration)


def written_traffic(settings: TrafficSettings, duration: float) -> ModelTraffic:
    """
    Make the traffic of settings that leave no rate open.
    """
    if settings.users is not None:
        return _users(settings)
    if settings.shape not in SHAPES:
        return _replayed(settings)
    rate = settings.rate or 0.0
    peak = rate * _BUSY if settings.peak is None else settings.peak
    return _shaped(settings, rate * settings.scale, peak * settings.scale, duration)


def rate_at_target(
    model: HostedModel, service: ServiceTimes, lengths: Lengths
) -> float:
    """
    Return the requests a second at which one copy meets its target, or half of what
    it can serve where there is none.
    """
    for policy in model.scaling.policies if model.scaling else ():
        if isinstance(policy, TargetTracking) and isinstance(policy.query, MetricQuery):
            name = policy.query.metric.name
            if name.startswith("Invocations"):
                return policy.target / _MINUTE
            if name.startswith("ConcurrentRequests"):
                return policy.target / _latency(service, lengths, policy.target)
    most = service.most_sequences(lengths.prompts.mean + lengths.answers.mean)
    return _QUIET * most / _latency(service, lengths, most)


def _latency(service: ServiceTimes, lengths: Lengths, sequences: float) -> float:
    # What prompts cost holds up the others, who pay for one each.
    prompt = lengths.prompts.mean * service.prompt_seconds_per_token
    pace = service.pace(min(max(sequences, 1.0), service.max_sequences))
    return (
        service.overhead_seconds
        + prompt * max(sequences, 1.0)
        + lengths.answers.mean * pace
    )


def _shaped(
    settings: TrafficSettings, rate: float, peak: float, duration: float
) -> ModelTraffic:
    lengths = settings.lengths
    spacing: Literal["random", "even"] = "even" if settings.even else "random"
    begin = (
        min(10 * _MINUTE, duration / 6) if settings.begin is None else settings.begin
    )
    lasting = settings.lasting
    if settings.shape == "constant":
        end = None if lasting is None else begin + lasting
        first = 0.0 if settings.begin is None else begin
        one = Constant(
            rate=rate, begin=first, end=end, lengths=lengths, spacing=spacing
        )
        until = "" if end is None else f" until minute {end / _MINUTE:g}"
        words = f"{rate_text(rate)} from minute {first / _MINUTE:g} on{until}"
        return ModelTraffic(one, words)
    if settings.shape == "ramp":
        over = duration / 2 if lasting is None else lasting
        ramp = Ramp(
            start=rate,
            stop=peak,
            over=over,
            begin=begin,
            lengths=lengths,
            spacing=spacing,
        )
        when = f"over {over / _MINUTE:g} minutes from minute {begin / _MINUTE:g} on"
        return ModelTraffic(ramp, f"from {rate_text(rate)} to {rate_text(peak)} {when}")
    if settings.shape == "day":
        if peak < rate:
            raise ValueError(
                f"--peak of a day must be at least --rate, got {rate_text(peak)} and "
                f"{rate_text(rate)}; --busiest says when the day is at its peak"
            )
        day = DayCurve.between(
            rate,
            peak,
            lengths=lengths,
            busiest=settings.busiest,
            time_zone=settings.time_zone,
            spacing=spacing,
            weekend=settings.weekend,
        )
        hour = f"{settings.busiest}:00 {settings.time_zone}"
        words = f"{rate_text(rate)} to {rate_text(peak)}, the most at {hour}"
        if settings.weekend != 1:
            words += f", {settings.weekend:g} times that on Saturdays and Sundays"
        return ModelTraffic(day, words)
    high = duration / 3 if lasting is None else lasting
    spike = Spike(
        base=rate, peak=peak, at=begin, lasting=high, lengths=lengths, spacing=spacing
    )
    when = f"for {high / _MINUTE:g} minutes from minute {begin / _MINUTE:g} on"
    return ModelTraffic(spike, f"{rate_text(rate)}, and {rate_text(peak)} {when}")


def _users(settings: TrafficSettings) -> ModelTraffic:
    think = 20.0 if settings.think is None else settings.think
    count = round((settings.users or 0) * settings.scale)
    users = Users(
        count=count,
        think=think,
        lengths=settings.lengths,
        thinking="even" if settings.even else "random",
        joining=_JOINING if think < _JOINING else None,
    )
    who = "user who thinks" if count == 1 else "users who think"
    return ModelTraffic(users, f"{count} {who} for {think:g} s")


def _replayed(settings: TrafficSettings) -> ModelTraffic:
    found = read_replay("--traffic", Path(settings.shape), SHAPES)
    times = "" if settings.scale == 1 else f", {settings.scale:g} times"
    name = Path(settings.shape).name
    return ModelTraffic(found.scaled(settings.scale), f"the requests of {name}{times}")


def read_replay(flag: str, path: Path, others: Sequence[str] = ()) -> Replay:
    """
    Read the requests of a file.

    Args:
        flag: The option that names it.

        path: The file.

        others: What else the option takes.
    """
    if path.suffix.lower() not in {".csv", ".jsonl"}:
        raise ValueError(
            f"{flag} must be {''.join(f'{one}, ' for one in others)}a CSV file with "
            "the columns time, prompt_tokens and output_tokens, a trace of Azure's "
            f"(.csv) or one of Mooncake's (.jsonl), got {str(path)!r}"
        )
    try:
        return Replay.from_trace(path)
    except OSError as fault:
        raise ValueError(f"{flag} {path} cannot be read: {fault.strerror}") from fault


def rate_text(rate: float) -> str:
    """
    Write a rate in the unit that suits it.
    """
    if rate and rate < 1:
        return f"{rate * _MINUTE:.3g}/min"
    return f"{rate:.4g}/s"


def whole_minute(start: datetime) -> datetime:
    """
    Leave out the seconds, which no schedule has.
    """
    return start.replace(second=0, microsecond=0)
