"""
What one process of a load test asks, and from when on an answer's time counts.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import boto3
import pytest

from cdk_sagemaker_llm.client import LlmClient
from cdk_sagemaker_llm.load.generating.asking import Asking, HopelessError, prepared
from cdk_sagemaker_llm.load.measured import UNFINISHED, Record
from cdk_sagemaker_llm.load.settings import LoadSettings
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.client.misbehaving import Misbehaving, Peer
from tests.local.client.test_misbehaving import THE, answer, refuse_as_model, stream

LATE = 5.0
Ask = Callable[[float | None], Record]


CHAT = (
    b'{"choices": [{"index": 0, "message": {"content": "It is I"}, "finish_reason": '
    b'"stop"}], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}'
)


REMEDY = "name a region with --region or AWS_DEFAULT_REGION, or choose an AWS_PROFILE"


@pytest.fixture(name="machine")
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A machine with credentials, which asks itself without a proxy.
    """
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def asking_of(server: Misbehaving, **more: Untyped) -> Asking:
    """
    Make what asks a server.
    """
    return Asking(LoadSettings(endpoint="chat", endpoint_url=server.url, **more), 1)


@pytest.fixture(name="ask")
def _ask(machine: None) -> Ask:
    """
    Ask a server once, and return what was kept of it.
    """
    assert machine is None

    def ask(due: float | None, **more: Untyped) -> Record:
        with Misbehaving(answer) as server:
            asking = asking_of(server, **more)
            asking.ask(due)
        (record,) = asking.take().records
        return record

    return ask


def test_a_time_counts_from_when_a_request_was_due(ask: Ask) -> None:
    """
    Sent late is answered late: else a slow endpoint would look fast in an open loop.
    """
    due = time.time() - LATE
    record = ask(due)

    assert record.failure == ""
    assert record.start == due
    assert record.first_token is not None
    assert LATE <= record.first_token <= record.latency < LATE + 3


def test_without_a_due_time_it_counts_from_its_beginning(ask: Ask) -> None:
    """
    In a closed loop whoever asks is never late.
    """
    before = time.time()
    record = ask(None)

    assert record.start >= before
    assert record.latency < LATE


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    ("code", "message", "failure"),
    [
        ("ThrottlingException", "Rate exceeded", "ThrottledError"),
        ("ValidationError", "has no capacity to process", "NoCapacityError"),
    ],
)
def test_nothing_is_tried_again(code: str, message: str, failure: str) -> None:
    """
    Neither is a copy waited for: both would look like a slow answer.
    """
    with Misbehaving(lambda peer: peer.refuse(code, message, 400)) as server:
        asking = asking_of(server, timeout=2.0)
        asking.ask()
    kept = asking.take()

    assert [record.failure for record in kept.records] == [failure]
    assert [*kept.messages] == [failure]
    assert len(server.requests) == 1


def trickle(peer: Peer) -> None:
    """
    Send token after token, each in time, for as long as anybody reads, or two seconds.
    """
    peer.begin()
    for _ in range(40):
        peer.part(THE)
        if peer.left(0.05):
            return
    peer.end()


@pytest.mark.usefixtures("machine")
def test_a_request_has_failed_after_its_time_though_tokens_come() -> None:
    """
    A copy that hardly moves would look like a long answer.
    """
    with Misbehaving(trickle) as server:
        asking = asking_of(server, timeout=0.2)
        asking.ask()
    (record,) = asking.take().records

    assert record.failure == "AnswerTimeoutError"
    assert record.latency < 1.5


@pytest.mark.usefixtures("machine")
def test_requests_that_arrive_do_not_wait_for_one_another() -> None:
    """
    However many are under way: else the endpoint would look slow, and the load be less.
    """
    count = 60
    all_there = threading.Barrier(count)

    def answer_all(peer: Peer) -> None:
        all_there.wait(20)
        answer(peer)

    with Misbehaving(answer_all) as server, ThreadPoolExecutor(count) as pool:
        asking = asking_of(server, arrival_rate=100.0, timeout=10.0)
        for _ in range(count):
            pool.submit(asking.ask, time.time())
        pool.shutdown()

    assert [record.failure for record in asking.take().records] == [""] * count


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("is_streamed", [True, False])
@pytest.mark.parametrize("is_chat", [True, False])
def test_it_is_asked_as_the_settings_say(*, is_streamed: bool, is_chat: bool) -> None:
    """
    Streamed or whole, a prompt or a chat, in the container's words.
    """
    whole = CHAT if is_chat else b'{"generated_text": "It is"}'
    behaviour = answer if is_streamed else lambda peer: peer.whole(whole)
    with Misbehaving(behaviour) as server:
        asking = asking_of(
            server,
            is_streamed=is_streamed,
            is_chat=is_chat,
            max_new_tokens=7,
            parameters={"top_k": 5},
        )
        asking.ask()
    (record,) = asking.take().records
    (body,) = map(json.loads, server.requests)

    assert record.failure == ""
    assert ("messages" in body) is is_chat
    assert body.get("stream", False) is is_streamed
    assert '"top_k": 5' in json.dumps(body)
    assert ('"max_tokens": 7' if is_chat else '"max_new_tokens": 7') in json.dumps(body)
    assert (record.first_token is None) is not is_streamed
    if is_chat and not is_streamed:
        assert (record.tokens, record.prompt_tokens) == (2, 3)


@pytest.mark.usefixtures("machine")
def test_a_models_error_is_counted_by_its_status() -> None:
    """
    A full queue is another failure than a crash.
    """
    with Misbehaving(lambda peer: refuse_as_model(peer, 503, "no room")) as server:
        asking = asking_of(server)
        asking.ask()

    assert [one.failure for one in asking.take().records] == ["ModelError 503"]


@pytest.mark.usefixtures("machine")
def test_the_engine_counts_the_tokens_of_a_stream() -> None:
    """
    Where it tells: a piece may be several.
    """
    text = b'{"choices": [{"index": 0, "delta": {"content": "It is I"}, '
    pieces = (
        b"data: " + text + b'"finish_reason": "stop"}]}\n\n',
        (
            b'data: {"choices": [], "usage": {"prompt_tokens": 3, '
            b'"completion_tokens": 9}}\n\n'
        ),
        b"data: [DONE]\n\n",
    )
    with Misbehaving(stream(*pieces)) as server:
        asking = asking_of(server, is_chat=True)
        asking.ask()
    (record,) = asking.take().records

    assert (record.failure, record.tokens, record.prompt_tokens) == ("", 9, 3)


@pytest.mark.usefixtures("machine")
def test_the_pieces_of_a_stream_are_counted_where_the_engine_is_silent() -> None:
    """
    Each that has text, and no other.
    """
    pieces = (
        *(
            b'data: {"choices": [{"index": 0, "delta": {"content": "I"}}]}\n\n'
            for _ in range(4)
        ),
        b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n',
        b"data: [DONE]\n\n",
    )
    with Misbehaving(stream(*pieces)) as server:
        asking = asking_of(server, is_chat=True)
        asking.ask()
    taken = asking.take()
    (record,) = taken.records

    assert (record.failure, record.tokens, record.prompt_tokens) == ("", 4, None)


@pytest.mark.usefixtures("machine")
def test_each_process_asks_something_else() -> None:
    """
    And the same again with the same seed: else a cache of beginnings would help.
    """
    with Misbehaving(answer) as server:
        settings = LoadSettings(endpoint="chat", endpoint_url=server.url, seed=7)
        for number in (1, 2, 1):
            Asking(settings, number).ask()
    first, second, again = server.requests

    assert first != second
    assert first == again


@pytest.mark.usefixtures("machine")
def test_who_is_stopped_while_asking_was_never_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    As when the time for the last answers is over.
    """

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LlmClient, "stream", stop)
    asking = Asking(LoadSettings(endpoint="chat"), 1)
    with pytest.raises(KeyboardInterrupt):
        asking.ask()

    assert [record.failure for record in asking.take().records] == [UNFINISHED]


@pytest.mark.usefixtures("machine")
def test_nothing_counts_before_all_users_are_there() -> None:
    """
    Requests are told by when they began; what comes between tokens is not.
    """
    with Misbehaving(answer, answer) as server:
        asking = asking_of(server)
        asking.late(0.5)
        asking.ask()
        before = asking.take()
        asking.begin()
        asking.ask()
        asking.late(0.5)
        # Said once more, where a worker that was silent is back.
        asking.begin()
        asking.late(-0.5)
        asking.end()
        asking.late(0.5)
        kept = asking.take()

    assert (before.gaps.count, before.cpus, len(before.records)) == (0, {}, 1)
    assert kept.gaps.count > 0
    assert kept.delays[1].count == 2
    assert kept.delays[1].at(1.0) == pytest.approx(0.5)
    assert kept.cpus[1] > 0
    assert asking.take().records == []


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    ("code", "message", "told"),
    [
        ("AccessDeniedException", "not allowed", "not allowed"),
        ("ValidationError", "Endpoint chat not found.", "Endpoint chat not found."),
        (
            "ValidationError",
            "Inference Component Name header is required.",
            "and none is named; name the component",
        ),
        ("ModelError", "no room", None),
        ("ThrottlingException", "Rate exceeded", None),
    ],
)
def test_what_will_never_be_answered_is_not_loaded(
    code: str, message: str, told: str | None
) -> None:
    """
    What may pass is measured.
    """
    with Misbehaving(lambda peer: peer.refuse(code, message, 400)) as server:
        settings = LoadSettings(endpoint="chat", endpoint_url=server.url)
        if told is None:
            assert prepared(settings, 1).take().records == []
            return
        with pytest.raises(HopelessError, match=told):
            prepared(settings, 1)


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    ("variables", "settings", "told"),
    [
        ({}, {"tokenizer": "/no/such.json"}, "no/such.json.*; correct the setting$"),
        (
            {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""},
            {"endpoint_url": "http://127.0.0.1:1"},
            "^NoCredentialsError: Unable to locate credentials; choose a profile with",
        ),
        (
            {"AWS_DEFAULT_REGION": ""},
            {},
            f"region.* The settings of AWS are at fault: {REMEDY}",
        ),
    ],
)
def test_settings_that_are_missing_are_told(
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    settings: dict[str, Untyped],
    told: str,
) -> None:
    """
    With what to do.
    """
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "none")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
        if not value:
            monkeypatch.delenv(name)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)

    with pytest.raises(HopelessError, match=told):
        prepared(LoadSettings(endpoint="chat", **settings), 1)


def arrivals(number: int, **more: Untyped) -> list[float]:
    """
    Draw when ten requests of a process arrive.
    """
    settings = LoadSettings(endpoint="chat", region="us-east-1", users=None, **more)
    asking = Asking(settings, number)
    return list(itertools.accumulate(asking.next_arrival() for _ in range(10)))


def test_arrivals_are_those_of_their_seed() -> None:
    """
    The same again, and others in each process and with another seed.
    """
    first = arrivals(1, arrival_rate=10.0, seed=7)

    assert arrivals(1, arrival_rate=10.0, seed=7) == first
    assert arrivals(2, arrival_rate=10.0, seed=7) != first
    assert arrivals(1, arrival_rate=10.0, seed=8) != first


def test_processes_share_the_arrivals() -> None:
    """
    Each has its part of the rate.
    """
    alone = arrivals(1, arrival_rate=10.0, processes=1)
    shared = arrivals(1, arrival_rate=10.0, processes=2)

    assert shared == pytest.approx([2 * seconds for seconds in alone])


@pytest.fixture(name="profiles")
def _profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A machine whose AWS settings have a profile, beside keys of another account.
    """
    file = tmp_path / "config"
    lines = (
        "aws_access_key_id = TEAM",
        "aws_secret_access_key = x",
        "region = eu-west-3",
    )
    file.write_text("\n".join(["[profile team]", *lines]), encoding="utf-8")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(file))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "OTHER")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)


@pytest.mark.usefixtures("profiles")
def test_a_profile_says_who_asks_and_where() -> None:
    """
    Before what the environment says.
    """
    session = LoadSettings(endpoint="chat", profile="team").session()
    credentials = session.get_credentials()

    assert session.region_name == "eu-west-3"
    assert credentials is not None
    assert credentials.access_key == "TEAM"


@pytest.mark.usefixtures("profiles")
def test_a_profile_that_is_not_there_is_hopeless() -> None:
    """
    It is named, before anything is asked.
    """
    with pytest.raises(HopelessError, match=r"profile \(nobody\) could not be found"):
        prepared(LoadSettings(endpoint="chat", profile="nobody"), 1)
