"""
What is asked: which model, which traffic, which latency, where, and within which
bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal, get_args

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.arguments import hold_kinds, raise_faults
from cdk_sagemaker_llm.arguments.kinds import Fault
from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.catalog.prices import MOST_USD_PER_HOUR, known_prices
from cdk_sagemaker_llm.models import revision_findings
from cdk_sagemaker_llm.simulation.service.measurement import Measurement
from cdk_sagemaker_llm.simulation.service.times import ServiceTimes
from cdk_sagemaker_llm.simulation.traffic.base import Traffic, Users

Engine = Literal["vllm", "lmi-vllm", "sglang"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
WEEK = 7 * 86400.0
# A Monday, so that a week of traffic is a week of the calendar.
_START = datetime(2026, 1, 5, tzinfo=UTC)
_MINUTE = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Objective:
    """
    How fast answers must be, and how often.

    ``Objective(ttft=1, tpot=0.05)``

    Args:
        ttft: Seconds until the first token of an answer, at most.

        tpot: Seconds for each further token of it, at most.

        share: The part of the minutes in which both must hold.
            If omitted, it is 0.99.

        requests: The part of a minute's requests for which both must hold.
            If omitted, it is 0.95.
    """

    ttft: float
    tpot: float
    share: float = 0.99
    requests: float = 0.95

    def __post_init__(self) -> None:
        hold_kinds(self)
        raise_faults(self._faults())

    def _faults(self) -> Iterator[Fault]:
        for name, value in (("ttft", self.ttft), ("tpot", self.tpot)):
            if not value > 0:
                yield Fault(f"{name} must be above 0 s, got {value:g}")
        for name, value in (("share", self.share), ("requests", self.requests)):
            if not 0 < value <= 1:
                yield Fault(f"{name} must be above 0 and at most 1, got {value:g}")
        if self.requests == 1:
            yield Fault(
                "requests must be below 1: chance lets one of very many wait for any "
                "time; write 0.999"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class Speedups:
    """
    What is assumed of an engine's accelerations and additions; each is in the answer.

    Args:
        shared_prefix: Which part of the prompts' tokens is in the cache already, as
            requests begin alike. If omitted, none is.

        drafted_tokens: How many tokens are drafted for each step, by n-grams of the
            prompt. If omitted, none is.

        acceptance: The part of the drafted tokens that the model accepts, one by one.

        adapter_cost: How many times as long each step takes, with LoRA adapters.
            If omitted, there are none.
    """

    shared_prefix: float = 0.0
    drafted_tokens: int = 0
    acceptance: float = 0.0
    adapter_cost: float = 1.0

    def __post_init__(self) -> None:
        hold_kinds(self)
        raise_faults(self._faults())

    @property
    def tokens_a_step(self) -> float:
        """
        How many tokens a step yields on average: a draft ends at its first mistake.
        """
        return (1 - self.acceptance ** (self.drafted_tokens + 1)) / (
            1 - self.acceptance
        )

    def applied(self, times: ServiceTimes) -> ServiceTimes:
        """
        Return service times as they are with all of that.

        Args:
            times: The times without.
        """
        if self == Speedups():
            return times
        factor = self.adapter_cost / self.tokens_a_step
        return replace(
            times,
            decode=tuple((count, pace * factor) for count, pace in times.decode),
            prompt_seconds_per_token=times.prompt_seconds_per_token
            * (1 - self.shared_prefix)
            * self.adapter_cost,
        )

    def notes(self) -> Iterator[str]:
        """
        Say what is assumed, one sentence each.
        """
        if self.shared_prefix:
            yield (
                f"assumed: {self.shared_prefix:.0%} of the prompts' tokens are in the "
                "cache already, as requests begin alike; measure it with your prompts"
            )
        if self.drafted_tokens:
            yield (
                f"assumed: {self.drafted_tokens} tokens are drafted a step, of which "
                f"{self.acceptance:.0%} are accepted one by one, so that a step yields "
                f"{self.tokens_a_step:.2f} tokens; what checking them costs is not "
                "counted"
            )
        if self.adapter_cost != 1:
            yield (
                f"assumed: with LoRA adapters each step takes {self.adapter_cost:g} "
                "times as long"
            )

    def _faults(self) -> Iterator[Fault]:
        if not 0 <= self.shared_prefix < 1:
            yield Fault(
                "shared_prefix must be at least 0 and below 1, got "
                f"{self.shared_prefix:g}"
            )
        if not 0 <= self.acceptance < 1:
            yield Fault(
                f"acceptance must be at least 0 and below 1, got {self.acceptance:g}"
            )
        if bool(self.drafted_tokens) != bool(self.acceptance):
            yield Fault(
                "drafted_tokens and acceptance must be given together, got "
                f"{self.drafted_tokens} and {self.acceptance:g}"
            )
        if self.drafted_tokens < 0:
            yield Fault(f"drafted_tokens must be at least 0, got {self.drafted_tokens}")
        if self.adapter_cost < 1:
            yield Fault(f"adapter_cost must be at least 1, got {self.adapter_cost:g}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """
    What a deployment must do, and within which bounds it is looked for.

    Args:
        model: The model's name on the Hugging Face Hub.

        traffic: What is asked of it: requests at a rate, a replay, or users.

        objective: How fast answers must be, and how often.

        revision: The model's commit on the Hub, which the construct call pins.
            If omitted, none is: what scales may run different commits.

        architecture: What the model is, where the catalogue does not have it.
            If omitted, the catalogue is asked.

        context_length: Tokens of a prompt and its answer that must find room, at least.
            If omitted, they are those of the longest request.

        region: Where it is to run. If omitted, it is us-east-1.

        prices: US dollars an hour, by instance type; other types have no price, and 0
            is one, of what is paid already.
            If omitted, they are those of this package's dated list.

        instance_types: The types to look at. If omitted, all with GPUs.

        engines: The engines to look at. If omitted, all that are known here.

        quantized: Whether published quantized copies of the model may serve instead.
            If omitted, they may.

        budget: US dollars a month, at most. If omitted, there is no limit.

        scale_to_zero: Whether nothing need run while nobody asks: the first who comes
            then is refused, and waits for minutes.
            If omitted, something always runs.

        speedups: What is assumed of accelerations. If omitted, there are none.

        measured: Measured service times, which replace the estimate of that model on
            that instance type. If omitted, all are estimated.

        duration: Seconds that are played out. If omitted, they are a week.

        start: When it begins, a whole minute with a time zone.
            If omitted, it is a Monday at midnight UTC.

        timeout: Seconds that a client waits for an answer. If omitted, they are 60.

        seed: What chance follows. If omitted, it is 0.
    """

    model: str
    traffic: Traffic | Users
    objective: Objective
    revision: str | None = None
    architecture: ModelArchitecture | None = None
    context_length: int | None = None
    region: str = "us-east-1"
    prices: Mapping[str, float] | None = None
    instance_types: tuple[str, ...] = ()
    engines: tuple[Engine, ...] = ENGINES
    quantized: bool = True
    budget: float | None = None
    scale_to_zero: bool = False
    speedups: Speedups = Speedups()
    measured: tuple[Measurement, ...] = ()
    duration: float = WEEK
    start: datetime = _START
    timeout: float = _MINUTE
    seed: int = 0

    def __post_init__(self) -> None:
        hold_kinds(self)
        if not isinstance(self.traffic, Traffic | Users):
            raise ValueError(  # noqa: TRY004 - as any argument of another kind
                "traffic must be requests at a rate such as Constant(...), a Replay or "
                f"Users, got a value of type {type(self.traffic).__name__}"
            )
        raise_faults(self._faults())

    def price(self, instance_type: str) -> float | None:
        """
        Return US dollars an hour of an instance type; ``None`` if not known.

        Args:
            instance_type: The type's API name.
        """
        if self.prices is not None:
            return self.prices.get(instance_type)
        known = known_prices(self.region).get(instance_type)
        return None if known is None else known.usd_per_hour

    def _faults(self) -> Iterator[Fault]:
        if self.revision is not None:
            for finding in revision_findings("revision", self.revision):
                yield Fault(finding.message, finding.remedy)
        yield from self._money_faults()
        if self.context_length is not None and self.context_length < 1:
            yield Fault(f"context_length must be at least 1, got {self.context_length}")
        if self.duration < _MINUTE:
            yield Fault(f"duration must be at least a minute, got {self.duration:g} s")
        if self.start.tzinfo is None or self.start.timestamp() % _MINUTE:
            yield Fault(
                "start must be a whole minute with a time zone, got "
                f"{self.start.isoformat()}"
            )
        if not self.engines:
            yield Fault("engines must name at least one, got none")
        for name in self.instance_types:
            try:
                find_instance_type(name)
            except ValueError as fault:
                yield Fault(f"instance_types: {fault}")

    def _money_faults(self) -> Iterator[Fault]:
        for name, price in (self.prices or {}).items():
            if not 0 <= price <= MOST_USD_PER_HOUR:
                yield Fault(
                    f"prices must be from 0 to {MOST_USD_PER_HOUR:,} US dollars an "
                    f"hour, got {price:g} for {name}"
                )
        if self.budget is not None and not self.budget > 0:
            yield Fault(f"budget must be above 0, got {self.budget:g}")
