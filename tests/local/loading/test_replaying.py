"""
Traces on a real server: when their requests get there, and what they ask.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

import pytest

from cdk_sagemaker_llm.load import LoadSettings, TracedRequest, run_load
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.client.misbehaving import Misbehaving, Peer
from tests.local.client.test_misbehaving import answer

# p99 of how far an arrival may be from where the trace has it, on a quiet machine.
NEAR = 0.02


class Noting:
    """
    Answers each request, and notes when it came.
    """

    def __init__(self) -> None:
        self.came: list[tuple[float, dict[str, Untyped]]] = []

    def __call__(self, peer: Peer) -> None:
        self.came.append((time.time(), json.loads(peer.body)))
        answer(peer)


class Waking(threading.Thread):
    """
    Wakes up a hundred times a second, and notes how late that was.
    """

    def __init__(self) -> None:
        super().__init__()
        self._found: list[float] = []
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()

    def run(self) -> None:
        """
        Do it until it is to end.
        """
        begun = time.perf_counter()
        while not self._ended.wait(0.01):
            now = time.perf_counter()
            self._found.append(now - begun - 0.01)
            begun = now

    def late(self) -> float:
        """
        Return the seconds by which 99 in 100 were late at most.
        """
        return sorted(self._found)[int(len(self._found) * 0.99)]


@contextmanager
def noting(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Noting, str]]:
    """
    Serve, for whoever has credentials of nobody.
    """
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    noted = Noting()
    with Misbehaving(noted) as server:
        yield noted, server.url


def trace_of(rate: float, seconds: float) -> tuple[TracedRequest, ...]:
    """
    Make a trace of requests at random, each of another length, so that it is known.
    """
    chance = random.Random(7)  # noqa: S311 - no secret
    found: list[TracedRequest] = []
    at = 0.0
    while at < seconds:
        found.append(TracedRequest(at, 20, len(found) + 1))
        at += chance.expovariate(rate)
    return tuple(found)


@pytest.mark.whole
@pytest.mark.parametrize(("processes", "speed"), [(1, 1.0), (1, 2.0), (2, 1.0)])
def test_requests_come_as_they_came(
    monkeypatch: pytest.MonkeyPatch, processes: int, speed: float
) -> None:
    """
    All of them once, 99 in 100 within 20 ms of where the trace has them, counted from
    the median: when the whole of it begins is nobody's.
    """
    trace = trace_of(rate=40.0 / speed, seconds=8.0 * speed)
    with noting(monkeypatch) as (noted, url), Waking() as woken:
        result = run_load(
            LoadSettings(
                endpoint="chat",
                endpoint_url=url,
                schema="lmi",
                trace=trace,
                trace_speed=speed,
                processes=processes,
            )
        )
    # Before it begins it is asked once.
    came = {
        body["parameters"]["max_new_tokens"]: at
        for at, body in noted.came
        if body["parameters"]["max_new_tokens"] != 50
    }
    assert sorted(came) == [
        one.output_tokens for one in trace if one.output_tokens != 50
    ]

    offsets = sorted(
        came[one.output_tokens] - one.at / speed
        for one in trace
        if one.output_tokens in came
    )
    middle = offsets[len(offsets) // 2]
    misses = sorted(abs(one - middle) for one in offsets)
    # A request wakes who sends it, who takes it and who answers it: where other
    # programs have each of them wait, no arrival can be as exact.
    busy = 4 * max(result.measured.delay.p99, woken.late())
    assert misses[int(len(misses) * 0.99)] <= max(NEAR, busy)
    assert result.figures.requests == len(trace)
    assert result.figures.success_rate == 1.0
    lasting = trace[-1].at / speed
    assert result.end - result.begin == pytest.approx(lasting + 1.0, abs=0.5)


def test_a_trace_is_asked_with_its_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Its words of prompt and tokens of answer; what shares blocks begins alike.
    """
    trace = (
        TracedRequest(100.0, 600, 5, (1, 2)),
        TracedRequest(100.05, 700, 7, (1, 3)),
        TracedRequest(100.1, 30, 9),
    )
    with noting(monkeypatch) as (noted, url):
        result = run_load(
            LoadSettings(endpoint="chat", endpoint_url=url, schema="lmi", trace=trace)
        )
    bodies = [body for _, body in noted.came][1:]
    words = [body["inputs"].split() for body in bodies]

    assert [len(each) for each in words] == [600, 700, 30]
    assert [body["parameters"]["max_new_tokens"] for body in bodies] == [5, 7, 9]
    assert words[0][:512] == words[1][:512]
    assert words[0][512:] != words[1][512:600]
    starts = [one.start for one in result.measured.records]
    assert [one - starts[0] for one in starts] == pytest.approx([0.0, 0.05, 0.1])
    assert result.figures.requests == 3


def test_conversations_go_on_in_both_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Each turn with all before it, and its number is kept.
    """
    tool = {"type": "function", "function": {"name": "weather"}}
    for load in ({"users": 1}, {"arrival_rate": 20.0}):
        with noting(monkeypatch) as (noted, url):
            result = run_load(
                LoadSettings(
                    endpoint="chat",
                    endpoint_url=url,
                    is_chat=True,
                    turns="3",
                    tools=(tool,),
                    prefix_words=9,
                    run_time=1.0,
                    **load,
                )
            )
        lengths = {len(body["messages"]) for _, body in noted.came}

        assert lengths == {2, 4, 6}
        assert {one.turn for one in result.measured.records} == {1, 2, 3}
        assert all(body["tools"] == [tool] for _, body in noted.came)
        assert result.figures.success_rate == 1.0
