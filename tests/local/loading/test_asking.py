"""
What one process of a load test asks, and from when on an answer's time counts.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cdk_sagemaker_llm.load.generating.asking import Asking, HopelessError, prepared
from cdk_sagemaker_llm.load.measured import Record
from cdk_sagemaker_llm.load.settings import LoadSettings
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.client.misbehaving import Misbehaving
from tests.local.client.test_misbehaving import answer

LATE = 5.0
Ask = Callable[[float | None], Record]


@pytest.fixture(name="ask")
def _ask(monkeypatch: pytest.MonkeyPatch) -> Ask:
    """
    Ask a server once, and return what was kept of it.
    """
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def ask(due: float | None, **more: Untyped) -> Record:
        with Misbehaving(answer) as server:
            url = server.url
            asking = Asking(LoadSettings(endpoint="chat", endpoint_url=url, **more), 1)
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
