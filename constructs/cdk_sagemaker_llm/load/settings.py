"""
What a load test is asked to do, and where the processes of other machines join it.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self

from cdk_sagemaker_llm.arguments import hold_kinds, kind_of, raise_faults
from cdk_sagemaker_llm.client.requests import Schema
from cdk_sagemaker_llm.simulation.traffic.trace import TracedRequest

if TYPE_CHECKING:
    import boto3
    from _typeshed import DataclassInstance

_USERS = 10
_RAMP = 5.0
_USERS_A_PROCESS = 100
_RUN_TIME = 60.0
_LENGTHS = {
    "prompt_words": "1000, 100-500 or normal:1000,200",
    "turns": "3, 2-6 or normal:4,1",
}
_POSITIVE = (
    *("arrival_rate", "trace_speed", "spawn_rate", "run_time", "join_within"),
    "timeout",
)
_COUNTS = (
    *("users", "processes", "workers", "prefix_words", "prefixes", "max_new_tokens"),
)

_TRACED = attrgetter("at", "prompt_tokens", "output_tokens", "blocks")

TRACE_LEAD = 0.5
"""Seconds before the first request of a trace, and after its last one."""

JOIN_PORT = 5557
"""The port where none is named: Locust's own."""

_MOST = 65_535


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadSettings:
    """
    Who asks what, and for how long.

    ``LoadSettings(endpoint="chat", users=20, run_time=60)``

    Args:
        endpoint: The endpoint's name.

        component: The inference component's. If omitted, the endpoint has none.

        variant: The variant to ask. If omitted, SageMaker chooses one.

        users: How many ask, each again when its answer has come.
            If omitted, ten do, unless there is an arrival rate.

        arrival_rate: How many requests arrive a second, at random, whether or not
            those before have been answered. If omitted, users ask.

        spawn_rate: How many users begin a second.
            If omitted, all have begun after five seconds.

        trace: Requests as they were seen, at their moments and with their lengths
            (``read_trace``). If omitted, users ask or requests arrive at a rate.

        trace_speed: How many times as fast as it was the trace is played.

        run_time: For how many seconds it is measured, once all users have begun.
            If omitted, for a minute, or until the trace ends.

        think_time: For how many seconds a user waits between an answer and the next
            request.

        turns: How many turns a conversation has, before the next one begins: ``3`` or
            ``2-6``. With an arrival rate conversations arrive. More than one need
            chats.

        drain: For how many seconds answers are waited for that are under way then.

        processes: How many processes share the work. If omitted, one for each
            hundred users, but no more than there are cores.

        workers: How many processes of other machines join and do all of the work.
            If omitted, processes of this machine do.

        bind: Where they join: ``HOST`` or ``HOST:PORT``.

        join_within: For how many seconds they are waited for.

        prompts: What is asked, one at random each time.
            If omitted, words are put together.

        prompt_words: How many words those have: ``1000``, ``100-500``, or
            ``normal:1000,200``.

        tokenizer: A ``tokenizer.json``, or a folder with one: ``prompt_words`` are
            then its tokens, exactly. If omitted, a word is about a token.

        prefix_words: How many words prompts have in common, before their own: in a
            chat the system's message. If omitted, none.

        prefixes: How many such beginnings there are, one at random for each
            conversation.

        tools: Tools that the model may call, in OpenAI's form; they need chats. What it
            calls is answered in the conversation's next turn.

        max_new_tokens: How many tokens an answer has at most; each of a trace has as
            many as it had. If omitted, the container decides.

        parameters: Anything else, in the container's own words.

        is_chat: Whether the prompts are sent as chats.

        is_streamed: Whether answers come token by token.

        schema: How the container wants a prompt: ``lmi``, ``tgi``, ``openai`` or
            ``chat``. If omitted, what it says to a first request counts.

        timeout: After how many seconds a request has failed.

        seed: Where chance starts from.

        region: The region. If omitted, boto3 knows it.

        endpoint_url: The runtime's address. If omitted, boto3 knows it.

        profile: The profile of this machine's AWS settings; others that join have
            their own. If omitted, boto3 knows it.
    """

    endpoint: str
    component: str | None = None
    variant: str | None = None
    users: int | None = None
    arrival_rate: float | None = None
    spawn_rate: float | None = None
    trace: tuple[TracedRequest, ...] = ()
    trace_speed: float = 1.0
    run_time: float | None = None
    think_time: float = 0.0
    turns: str = "1"
    drain: float = 60.0
    processes: int | None = None
    workers: int | None = None
    bind: str = "127.0.0.1"
    join_within: float = 300.0
    prompts: tuple[str, ...] = ()
    prompt_words: str = "100"
    tokenizer: str | None = None
    prefix_words: int | None = None
    prefixes: int = 1
    tools: tuple[Mapping[str, Any], ...] = ()
    max_new_tokens: int | None = 50
    parameters: Mapping[str, Any] = field(default_factory=dict)
    is_chat: bool = False
    is_streamed: bool = True
    schema: str | None = None
    timeout: float = 120.0
    seed: int = 0
    region: str | None = None
    endpoint_url: str | None = None
    profile: str | None = None

    def __post_init__(self) -> None:
        # Once, where it can be: a trace may have a hundred thousand requests.
        if is_held := _is_finite(self):
            hold_kinds(self)
        else:
            raise_faults(kind_of("Sequence[TracedRequest]").faults("trace", self.trace))
        in_order = tuple(sorted(self.trace, key=lambda one: one.at))
        object.__setattr__(self, "trace", in_order)
        faults = list(self._faults())
        for name in ("prompt_words", "turns"):
            try:
                lengths_of(getattr(self, name), name)
            except SettingsError as error:
                faults += error.faults
        if faults:
            raise SettingsError(faults)
        if not is_held:
            hold_kinds(self)

    def session(self) -> boto3.Session:
        """
        Make the session of boto3 that asks.
        """
        import boto3  # noqa: PLC0415 - an extra, and what only reads starts without it

        return boto3.Session(profile_name=self.profile, region_name=self.region)

    @property
    def user_count(self) -> int:
        """
        How many users ask; none if requests arrive by themselves.
        """
        if self.arrival_rate is not None or self.trace:
            return 0
        return _USERS if self.users is None else self.users

    @property
    def process_count(self) -> int:
        """
        How many processes share the work.
        """
        if self.workers is not None:
            return self.workers
        if self.processes is not None:
            return self.processes
        rate = self.arrival_rate or len(self.trace) / self.seconds
        needed = math.ceil(max(self.user_count, rate, 1) / _USERS_A_PROCESS)
        return max(1, min(needed, os.cpu_count() or 1))

    @property
    def seconds(self) -> float:
        """
        For how many seconds it is measured.
        """
        if self.run_time is not None:
            return self.run_time
        if not self.trace:
            return _RUN_TIME
        lasting = self.trace[-1].at - self.trace[0].at
        return lasting / self.trace_speed + 2 * TRACE_LEAD

    @property
    def users_a_second(self) -> float:
        """
        How many users begin a second.
        """
        return self.spawn_rate or max(self.user_count, 1) / _RAMP

    def packed(self) -> dict[str, Any]:
        """
        Pack it for another process, or a file; each request of a trace is a row.
        """
        packed = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**packed, "trace": [*map(_TRACED, self.trace)]}

    @classmethod
    def unpacked(cls, packed: Mapping[str, Any]) -> Self:
        """
        Unpack it.

        Args:
            packed: What ``packed()`` returned.
        """
        lists = {name: tuple(packed[name]) for name in ("prompts", "tools")}
        traced = (
            TracedRequest(at, prompt_tokens, output_tokens, tuple(blocks))
            for at, prompt_tokens, output_tokens, blocks in packed["trace"]
        )
        return cls(**{**packed, **lists, "trace": tuple(traced)})

    def _faults(self) -> Iterator[Fault]:
        if not self.endpoint:
            yield Fault("{} must be a name, got ''", ("endpoint",))
        pairs = (
            ("users", "arrival_rate"),
            ("trace", "users"),
            ("trace", "arrival_rate"),
            ("trace", "prompts"),
            ("trace", "prefix_words"),
            ("trace", "think_time"),
            ("prompts", "tokenizer"),
            ("processes", "workers"),
        )
        for one, other in pairs:
            if getattr(self, one) and getattr(self, other) not in {None, (), 0.0}:
                yield Fault("give either {} or {}, not both", (one, other))
        if self.prefixes > 1 and self.prefix_words is None:
            words = "{} says how many beginnings there are; give {} too"
            yield Fault(words, ("prefixes", "prefix_words"))
        if self.trace and self.turns != "1":
            yield Fault("give either {} or {}, not both", ("trace", "turns"))
        if not self.is_chat:
            for name in ("turns", "tools"):
                if getattr(self, name) not in ("1", ()):
                    yield Fault("{} is for chats alone; set {}", (name, "is_chat"))
        if self.schema is not None and self.schema not in {*Schema}:
            names = " or ".join(Schema)
            yield Fault("{} must be {}, got {!r}", ("schema",), (names, self.schema))
        yield from self._number_faults()
        yield from self._crew_faults()

    def _number_faults(self) -> Iterator[Fault]:
        for name in _COUNTS:
            number = getattr(self, name)
            if number is not None and not number >= 1:
                yield Fault("{} must be at least 1, got {}", (name,), (number,))
        for name in _POSITIVE:
            number = getattr(self, name)
            if number is not None and not 0 < number < math.inf:
                yield Fault("{} must be more than 0, got {}", (name,), (number,))
        for name in ("think_time", "drain"):
            number = getattr(self, name)
            if not 0 <= number < math.inf:
                yield Fault("{} must be at least 0, got {}", (name,), (number,))

    def _crew_faults(self) -> Iterator[Fault]:
        for name in ("processes", "workers"):
            number = getattr(self, name)
            if self.users and number and self.users < number:
                yield Fault(
                    "{} must be at most {}, got {} and {}",
                    (name, "users"),
                    (number, self.users),
                )
        try:
            address_of(self.bind)
        except ValueError as error:
            yield Fault("{} {}", ("bind",), (error,))


def hold_settings(settings: DataclassInstance) -> None:
    """
    Refuse settings that are not of their kinds. Of a number that is not finite, the
    rule of its own setting tells more.
    """
    if _is_finite(settings):
        hold_kinds(settings)


def _is_finite(settings: DataclassInstance) -> bool:
    values = (getattr(settings, one.name) for one in fields(settings))
    return all(not isinstance(one, float) or math.isfinite(one) for one in values)


def address_of(text: str) -> tuple[str, int]:
    """
    Read an address: ``HOST`` or ``HOST:PORT``.
    """
    host, sign, number = text.partition(":")
    is_number = number.isascii() and number.isdigit()
    port = int(number) if is_number else -1 if sign else JOIN_PORT
    if not host or host.split() != [host] or "/" in host or not 0 < port <= _MOST:
        raise ValueError(f"must be HOST or HOST:PORT, such as 10.0.0.5, got {text!r}")
    return host, port


def lengths_of(
    text: str, setting: str = "prompt_words"
) -> Callable[[random.Random], int]:
    """
    Read how many words prompts have, or turns a conversation.

    ``1000``, ``100-500`` for any number between them, or ``normal:1000,200`` for a
    mean and a standard deviation.
    """
    try:
        if text.startswith("normal:"):
            mean, deviation = map(float, text.removeprefix("normal:").split(","))
            if mean >= 1 and deviation >= 0:
                return lambda chance: max(1, round(chance.gauss(mean, deviation)))
        else:
            first, dash, last = text.partition("-")
            least, most = int(first), int(last if dash else first)
            if 1 <= least <= most:
                return lambda chance: chance.randint(least, most)
    except ValueError:
        pass
    words = "{} must be such as {}, got {!r}"
    raise SettingsError([Fault(words, (setting,), (_LENGTHS[setting], text))])


@dataclass(frozen=True, slots=True)
class Fault:
    """
    One thing that is wrong.

    ``Fault("{} must be at least 1, got {}", ("users",), (0,))``

    Args:
        words: What is wrong, with a place for each setting and then for each value.

        settings: The settings that it is about, by their names in Python.

        values: What they are. If omitted, the words need none.
    """

    words: str
    settings: tuple[str, ...]
    values: tuple[object, ...] = ()

    def text(self, named: Callable[[str], str]) -> str:
        """
        Return the message, with each setting by the name that the caller knows.
        """
        return self.words.format(*map(named, self.settings), *self.values)


class SettingsError(ValueError):
    """
    The settings of a load test are wrong.

    Args:
        faults: What is wrong with it.
    """

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(fault.text(str) for fault in self.faults))
