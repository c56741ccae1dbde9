"""
Load tests whose work is done by processes that join, as those of other machines do.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cdk_sagemaker_llm.load import LoadError, LoadResult, LoadSettings, run_load
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.hosting_requests import LMI_28, serve

if TYPE_CHECKING:
    from cdk_sagemaker_llm.load import Progress
    from cdk_sagemaker_llm.local import EmbeddedAws

COMMAND = str(Path(sys.executable).parent / "sagemaker-llm")
# A machine of its own has a clock of its own, and may have another version.
AN_HOUR_AHEAD = "import time; real = time.time; time.time = lambda: real() + 3600\n"
ANOTHER_VERSION = (
    "from importlib import metadata; real = metadata.version\n"
    "metadata.version = lambda name: '9.9' if 'llm' in name else real(name)\n"
)
_WORKER = (
    "import runpy\n"
    "runpy.run_module('cdk_sagemaker_llm.load.generating', run_name='__main__')\n"
)

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(name="endpoint")
def _endpoint(
    embedded_aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """
    An endpoint, with the AWS variables that lead to it.
    """
    name = serve(embedded_aws, LMI_28, None)
    for variable in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(variable)
    for variable, value in embedded_aws.environment.items():
        monkeypatch.setenv(variable, value)
    yield name
    embedded_aws.clear_faults()


@pytest.fixture(name="address")
def _address() -> str:
    """
    Where nobody listens yet.
    """
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        return f"127.0.0.1:{free.getsockname()[1]}"


@pytest.fixture(name="machines")
def _machines() -> Iterator[ExitStack]:
    """
    What ends the processes that a test started.
    """
    with ExitStack() as stack:
        yield stack


def join(machines: ExitStack, address: str, *more: str) -> subprocess.Popen[str]:
    """
    Join as another machine does.
    """
    process = subprocess.Popen(
        [COMMAND, "load-test", "--join", address, *more],
        stderr=subprocess.PIPE,
        text=True,
    )
    machines.enter_context(process)
    machines.callback(process.terminate)
    return process


def worker(machines: ExitStack, address: str, oddity: str) -> subprocess.Popen[str]:
    """
    Join as one process that differs in something.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", oddity + _WORKER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    machines.enter_context(process)
    machines.callback(process.kill)
    host, port = address.split(":")
    order = {"host": host, "port": int(port), "within": 60, "tells": True}
    assert process.stdin is not None
    process.stdin.write(json.dumps(order) + "\n")
    process.stdin.flush()
    return process


def lead(endpoint: str, address: str, **more: Untyped) -> LoadSettings:
    """
    Say what the leader is asked.
    """
    usual: dict[str, Untyped] = {
        "users": 6,
        "spawn_rate": 60,
        "run_time": 2.0,
        "max_new_tokens": 6,
        "drain": 10.0,
        "join_within": 60.0,
    }
    return LoadSettings(endpoint=endpoint, bind=address, **{**usual, **more})


def starts(result: LoadResult) -> list[float]:
    """
    Return when requests began, in seconds since measuring did.
    """
    return [one.start - result.begin for one in result.measured.records]


def test_three_workers_share_the_work_whatever_their_clocks_say(
    endpoint: str, address: str, machines: ExitStack
) -> None:
    """
    Two of a machine, and one of a machine whose clock is an hour ahead.
    """
    two = join(machines, address, "--processes", "2")
    odd = worker(machines, address, AN_HOUR_AHEAD)
    told: list[Progress] = []
    result = run_load(lead(endpoint, address, workers=3), told.append)

    figures = result.figures
    assert (figures.success_rate, figures.tokens) == (1.0, 6.0)
    assert {*result.measured.delays} == {1, 2, 3}
    assert result.measured.lost == {}
    assert -5 < min(starts(result)) <= max(starts(result)) < 5
    assert max(one.users for one in told) == 6
    assert two.wait(30) == odd.wait(30) == 0


@pytest.mark.whole
def test_requests_arrive_at_the_rate_of_all_workers_together(
    endpoint: str, address: str, machines: ExitStack
) -> None:
    """
    Each has its part of them.
    """
    join(machines, address, "--processes", "2")
    settings = lead(endpoint, address, workers=2, users=None, arrival_rate=50.0)
    figures = run_load(settings).figures

    assert figures.success_rate == 1.0
    assert figures.requests_per_second == pytest.approx(50, rel=0.4)


@pytest.mark.whole
def test_a_worker_that_dies_is_told(
    endpoint: str, address: str, machines: ExitStack
) -> None:
    """
    First of all; what it had sent by then is there.
    """
    join(machines, address, "--processes", "1")
    odd = worker(machines, address, "")

    def kill(progress: Progress) -> None:
        if progress.phase == "measuring":
            odd.kill()

    result = run_load(lead(endpoint, address, workers=2, run_time=5.0), kill)

    (number,) = result.measured.lost
    assert result.remarks()[0].startswith(f"worker {number} was lost, last heard of ")
    assert result.figures.requests > 0


@pytest.mark.whole
def test_a_test_that_lost_all_its_workers_ends(
    endpoint: str, address: str, machines: ExitStack
) -> None:
    """
    Long before its time, and is none.
    """
    odd = worker(machines, address, "")

    def kill(progress: Progress) -> None:
        if progress.phase == "measuring":
            odd.kill()

    with pytest.raises(LoadError, match="all workers were lost; see what they say"):
        run_load(lead(endpoint, address, workers=1, run_time=600.0), kill)


@pytest.mark.whole
def test_another_version_does_not_join(
    endpoint: str, address: str, machines: ExitStack
) -> None:
    """
    Both sides are told.
    """
    odd = worker(machines, address, ANOTHER_VERSION)

    with pytest.raises(LoadError, match="has cdk-sagemaker-llm 9.9, locust .* install"):
        run_load(lead(endpoint, address, workers=1))
    # To its own end: when its input is closed, it ends at once.
    assert odd.stdout is not None
    said = odd.stdout.read()
    assert "has cdk-sagemaker-llm 9.9, locust " in said


@pytest.mark.whole
def test_one_worker_too_many_is_sent_home(
    endpoint: str, address: str, machines: ExitStack
) -> None:
    """
    It gets no part of the users.
    """
    both = join(machines, address, "--processes", "2")
    result = run_load(lead(endpoint, address, workers=1))

    _, said = both.communicate(timeout=60)
    assert both.returncode == 1
    assert "this load test has its 1 workers already" in said
    assert {*result.measured.delays} == {1}
    assert result.figures.success_rate == 1.0


@pytest.mark.whole
def test_workers_that_do_not_come_are_not_waited_for_for_ever(
    endpoint: str, address: str
) -> None:
    """
    Nor is a leader.
    """
    with pytest.raises(LoadError, match="0 of 2 workers have joined after 1 s; start"):
        run_load(lead(endpoint, address, workers=2, join_within=1.0))
    with ExitStack() as machines:
        one = join(machines, address, "--processes", "1", "--join-within", "1s")
        _, said = one.communicate(timeout=60)
        assert f"no load test answers at {address}; start the one that leads" in said
        assert one.returncode == 1


@pytest.mark.whole
def test_a_name_that_nobody_knows_is_told(machines: ExitStack) -> None:
    """
    In words: what Locust prints of it is not taken for a message.
    """
    one = join(machines, "leader.invalid", "--processes", "1", "--join-within", "1s")

    _, said = one.communicate(timeout=60)

    assert one.returncode == 1
    assert "looking for the load test at leader.invalid, for up to 1s" in said
    assert "no load test answers at leader.invalid:5557; start the one" in said
    assert "Expecting value" not in said


def test_an_address_that_is_taken_is_told(endpoint: str) -> None:
    """
    With the option that names it.
    """
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(LoadError, match=f"--bind {address} is no address of this"):
            run_load(lead(endpoint, address, workers=1))


@pytest.mark.whole
def test_a_worker_that_cannot_ask_says_so(
    endpoint: str,
    address: str,
    machines: ExitStack,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    Its credentials are its own.
    """
    key = os.environ["AWS_ACCESS_KEY_ID"]
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    worker(machines, address, "")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key)

    with pytest.raises(LoadError, match="worker 1 cannot ask: .*credentials"):
        run_load(lead(endpoint, address, workers=1))


@pytest.mark.whole
@pytest.mark.parametrize(
    ("bind", "said"),
    [
        ("127.0.0.1", "on other machines after: ssh -N -L"),
        ("0.0.0.0", "warning: what goes over this port is not encrypted"),  # noqa: S104 - to be warned of
    ],
)
def test_how_to_join_is_said_and_who_else_could(
    endpoint: str, address: str, bind: str, said: str
) -> None:
    """
    Before anybody is waited for.
    """
    port = address.split(":")[1]
    done = subprocess.run(
        [
            *(COMMAND, "load-test", endpoint, "--expect-workers", "2"),
            *("--bind", f"{bind}:{port}", "--join-within", "1s"),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 1
    assert "waiting for 2 workers; start them with: sagemaker-llm load-test --join" in (
        done.stderr
    )
    assert said in done.stderr
