"""
The question that ``choose`` answers: the load, how fast answers must be, and bounds.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, get_args

import typer

from cdk_sagemaker_llm.choosing.question import (
    ENGINES,
    Engine,
    Objective,
    Speedups,
)
from cdk_sagemaker_llm.cli.app.traffic import TrafficSettings, read_replay
from cdk_sagemaker_llm.cli.commands._options import (
    BusiestHour,
    Spread,
    ThinkTime,
    TimeZone,
    UserCount,
    Weekend,
    complete,
    complete_instance_types,
    positive,
    rate,
    seconds,
)
from cdk_sagemaker_llm.cli.commands._runs import read_measured
from cdk_sagemaker_llm.simulation.service.measurement import Measurement
from cdk_sagemaker_llm.simulation.traffic.replay import Replay
from cdk_sagemaker_llm.text import counted

_MILLI = "ms"
_LONGEST = 92 * 86400.0


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadOptions:
    """
    The load: requests at a rate, by the hours of a day, of users, or of a trace.
    """

    rate: Annotated[
        list[str] | None,
        typer.Option(
            help="Requests, as 20/min or 5/s: all the time, or with --peak at the "
            "quietest hour of a day, once for each model; if omitted, --users or "
            "--trace says the load."
        ),
    ] = None
    peak: Annotated[
        list[str] | None,
        typer.Option(
            help="Requests at the busiest hour of a day, likewise; if omitted, all "
            "hours are alike."
        ),
    ] = None
    users: UserCount = None
    think: ThinkTime = None
    trace: Annotated[
        Path | None,
        typer.Option(
            help="A CSV file of requests, or a trace of Azure's or Mooncake's; if "
            "omitted, there is a rate."
        ),
    ] = None
    input_tokens: Annotated[
        int | None, typer.Option(min=1, help="Tokens of a prompt; if omitted, 500.")
    ] = None
    output_tokens: Annotated[
        int | None, typer.Option(min=1, help="Tokens of an answer; if omitted, 150.")
    ] = None
    spread: Spread = 0.0
    busiest: BusiestHour = None
    time_zone: TimeZone = None
    weekend: Weekend = None
    duration: Annotated[
        str | None,
        typer.Option(
            help="How much time is played out; if omitted, 7d, or as long as the trace "
            "is."
        ),
    ] = None
    timeout: Annotated[
        str, typer.Option(help="How long a client waits for an answer.")
    ] = "60s"
    seed: Annotated[int, typer.Option(min=0, help="What chance follows.")] = 0

    def check(self, models: int) -> None:
        """
        Check that there is one load for each model, and that every option belongs to
        it.
        """
        if faults := [*self._faults(models), *self._misfits()]:
            raise ValueError("\n".join(faults))

    def replay(self) -> Replay | None:
        """
        Read the trace; ``None`` without one.
        """
        return None if self.trace is None else read_replay("--trace", self.trace)

    def lasting(self, replay: Replay | None) -> LoadOptions:
        """
        Return the same with its duration: a week, or the minutes of the trace.
        """
        if self.duration is not None:
            return self
        minutes = 0.0 if replay is None else min(replay.seconds, _LONGEST - 60) // 60
        text = "7d" if replay is None else f"{minutes + 1:.0f}m"
        return replace(self, duration=text)

    @property
    def seconds(self) -> float:
        """
        For how long it is played out.
        """
        return seconds("--duration", self.duration or "7d")

    def settings(self, model: int = 0) -> TrafficSettings:
        """
        Read the load of the model of that number.
        """
        rates, peaks = self.rate or (), self.peak or ()
        shape = "day" if peaks else "constant"
        return TrafficSettings(
            shape=shape if self.trace is None else str(self.trace),
            rate=rate("--rate", rates[model]) if rates else None,
            peak=rate("--peak", peaks[model]) if peaks else None,
            users=self.users,
            think=None if self.think is None else seconds("--think-time", self.think),
            prompt=self.input_tokens,
            answer=self.output_tokens,
            spread=self.spread,
            busiest=14 if self.busiest is None else self.busiest,
            time_zone=self.time_zone or "UTC",
            weekend=1.0 if self.weekend is None else self.weekend,
            timeout=seconds("--timeout", self.timeout),
        )

    def simulated(self, prompt: float, answer: float) -> str:
        """
        Write the command that plays the same traffic out for a synthesised app, with
        the tokens of prompts and answers.
        """
        words = ["sagemaker-llm simulate cdk.out"]
        if self.users is not None:
            words.append(f"--users {self.users}")
        elif self.trace is not None:
            words.append(f"--traffic {shlex.quote(str(self.trace))}")
        else:
            shape = "day" if self.peak else "constant"
            words += [
                f"--traffic {shape}",
                *(f"--rate {one}" for one in self.rate or ()),
            ]
            words += [f"--peak {one}" for one in self.peak or ()]
        words += [
            f"--{name} {value}"
            for name, value in (
                ("think-time", self.think),
                ("busiest", self.busiest),
                ("time-zone", self.time_zone),
                ("weekend", self.weekend),
            )
            if value is not None
        ]
        if self.trace is None:
            prompt, answer = self.input_tokens or 500, self.output_tokens or 150
            words += [f"--spread {self.spread:g}"] * bool(self.spread)
        words.append(f"--prompt-tokens {prompt:.0f} --answer-tokens {answer:.0f}")
        words.append(f"--duration {self.duration}")
        words += [f"--timeout {self.timeout}"] * (self.timeout != "60s")
        words += [f"--seed {self.seed}"] * bool(self.seed)
        return " ".join(words)

    def _faults(self, models: int) -> Iterator[str]:
        loads = {
            "--rate": self.rate or None,
            "--users": self.users,
            "--trace": self.trace,
        }
        named = [flag for flag, value in loads.items() if value is not None]
        if not named:
            yield "--rate, --users or --trace must say what is asked of the model"
        elif len(named) > 1:
            yield f"{' and '.join(named)} are different loads; give one of them"
        if self.seconds > _LONGEST:
            yield (
                f"--duration must be at most {_LONGEST / 86400:.0f}d, got "
                f"{self.duration}: a week tells what a year of such weeks would"
            )
        for flag, several in (("--rate", self.rate), ("--peak", self.peak)):
            if several and len(several) != models:
                yield (
                    f"{flag} must be given once for each model, in order, got "
                    f"{counted(len(several), 'value')} for {counted(models, 'model')}"
                )
        if models > 1 and not self.rate:
            yield "--rate must be given for each of several models, in order"

    def _misfits(self) -> Iterator[str]:
        """
        Say which options belong to another load.
        """
        if self.peak and not self.rate:
            yield "--peak is that of a day; give its quietest hour with --rate"
        if self.think is not None and self.users is None:
            yield (
                "--think-time is how long users think; say how many there are with "
                "--users"
            )
        for flag, value in (
            ("--busiest", self.busiest),
            ("--time-zone", self.time_zone),
            ("--weekend", self.weekend),
        ):
            if value is not None and not self.peak:
                yield f"{flag} shapes a day; give its busiest hour's rate with --peak"
        lengths: tuple[tuple[str, float | None], ...] = (
            ("--input-tokens", self.input_tokens),
            ("--output-tokens", self.output_tokens),
            ("--spread", self.spread or None),
        )
        for flag, length in lengths:
            if length is not None and self.trace is not None:
                yield f"{flag} has no effect on --trace, whose requests have their own"


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectiveOptions:
    """
    How fast, and how often.
    """

    ttft: Annotated[
        str, typer.Option(help="Until the first token, at most, as 1s or 800ms.")
    ] = "1s"
    tpot: Annotated[
        str, typer.Option(help="For each further token, at most, as 50ms.")
    ] = "50ms"
    share: Annotated[
        float, typer.Option(help="The part of the minutes in which both must hold.")
    ] = 0.99
    requests: Annotated[
        float,
        typer.Option(help="The part of a minute's requests for which both must hold."),
    ] = 0.95

    def read(self) -> Objective:
        return Objective(
            ttft=_quick("--ttft", self.ttft),
            tpot=_quick("--tpot", self.tpot),
            share=self.share,
            requests=self.requests,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class BoundOptions:
    """
    Within which bounds it is looked for.
    """

    instance_type: Annotated[
        list[str] | None,
        typer.Option(
            autocompletion=complete_instance_types,
            help="An instance type to look at; if omitted, all with GPUs.",
        ),
    ] = None
    serving: Annotated[
        list[str] | None,
        typer.Option(
            autocompletion=complete(*ENGINES),
            help=f"An engine to look at; if omitted, {', '.join(ENGINES)}.",
        ),
    ] = None
    revision: Annotated[
        str | None,
        typer.Option(help="The model's commit, to pin; if omitted, none is."),
    ] = None
    quantized: Annotated[
        bool,
        typer.Option(
            "--quantized/--as-published",
            help="Look at published quantized copies of the model, too.",
        ),
    ] = True
    budget: Annotated[
        str | None,
        typer.Option(help="US dollars a month, at most; if omitted, any number."),
    ] = None
    scale_to_zero: Annotated[
        bool,
        typer.Option("--scale-to-zero", help="Nothing need run while nobody asks."),
    ] = False
    service_times: Annotated[
        list[Path] | None,
        typer.Option(
            help="A file of measured service times; if omitted, all are estimated."
        ),
    ] = None
    shared_prefix: Annotated[
        float,
        typer.Option(help="Assume this part of the prompts' tokens to be cached."),
    ] = 0.0
    drafted_tokens: Annotated[
        int, typer.Option(help="Assume so many tokens to be drafted a step.")
    ] = 0
    acceptance: Annotated[
        float, typer.Option(help="Assume this part of drafted tokens to be accepted.")
    ] = 0.0
    adapter_cost: Annotated[
        float,
        typer.Option(help="Assume steps with LoRA to take so many times as long."),
    ] = 1.0

    def most(self) -> float | None:
        """
        Read the budget.
        """
        return None if self.budget is None else positive("--budget", self.budget)

    def engines(self) -> tuple[Engine, ...]:
        known = get_args(Engine)
        for name in self.serving or ():
            if name not in known:
                raise ValueError(
                    f"--serving must be one of {', '.join(known)}, got {name!r}"
                )
        return tuple(one for one in ENGINES if one in (self.serving or known))

    def measured(self) -> tuple[Measurement, ...]:
        return read_measured(self.service_times or ())

    def speedups(self) -> Speedups:
        return Speedups(
            shared_prefix=self.shared_prefix,
            drafted_tokens=self.drafted_tokens,
            acceptance=self.acceptance,
            adapter_cost=self.adapter_cost,
        )


def _quick(flag: str, text: str) -> float:
    """
    Read a time that may be in milliseconds.
    """
    number = text.strip().removesuffix(_MILLI)
    if number != text.strip():
        return positive(flag, number.strip()) / 1000
    return seconds(flag, text)
