"""
Who does the work of a run: its processes, which are greenlets of one thread here.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from types import SimpleNamespace

import pytest

from cdk_sagemaker_llm.load.measured import Measured
from cdk_sagemaker_llm.load.settings import LoadSettings
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.client.misbehaving import Behaviour, Misbehaving
from tests.local.client.test_misbehaving import answer

ROOM = "cdk_sagemaker_llm.load.generating"
# Seconds after which a test that hangs has failed.
LIMIT = 60.0


def part(module: str, name: str = "") -> Untyped:
    """
    Return a module of the room, or what is in it.
    """
    found = importlib.import_module(f"{ROOM}.{module}")
    return getattr(found, name) if name else found


@pytest.fixture(name="gevent", autouse=True)
def _gevent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Untyped]:
    """
    Locust, which leaves the sockets of this process as they are.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCUST_SKIP_MONKEY_PATCH", "1")
        main = part("__main__")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    # Progress is told, and workers report and are missed, ten times as often.
    monkeypatch.setattr(main, "_EVERY", 0.1)
    runners = importlib.import_module("locust.runners")
    monkeypatch.setattr(runners, "HEARTBEAT_INTERVAL", 0.1)
    for kind in ("CONNECT_RETRY_COUNT", "WORKER_REPORT_INTERVAL"):
        monkeypatch.setattr(runners, kind, getattr(runners, kind))
    gevent = importlib.import_module("gevent")
    left: list[Untyped] = []
    gevent.Greenlet.add_spawn_callback(left.append)
    yield gevent
    gevent.Greenlet.remove_spawn_callback(left.append)
    gevent.killall([one for one in left if one])


class Run:
    """
    A run, which tells what it would write for whoever started it.
    """

    def __init__(self, gevent: Untyped, monkeypatch: pytest.MonkeyPatch) -> None:
        self._gevent = gevent
        event = importlib.import_module("gevent.event").Event
        self.ended, self.hurried = event(), event()
        self._out = io.StringIO()
        monkeypatch.setattr(sys, "__stdout__", self._out)
        with closing(socket.create_server(("127.0.0.1", 0))) as unused:
            self.port = unused.getsockname()[1]

    def settings(
        self, server: Misbehaving | None = None, **more: Untyped
    ) -> LoadSettings:
        """
        Say what a run of two workers is asked.
        """
        usual: dict[str, Untyped] = {
            "endpoint_url": server.url if server else "http://127.0.0.1:1",
            "users": 4,
            "spawn_rate": 100,
            "think_time": 0.05,
            "run_time": 0.5,
            "drain": 5.0,
            "bind": f"127.0.0.1:{self.port}",
            "join_within": 20.0,
        }
        if not {"workers", "processes"} & {*more}:
            more["workers"] = 2
        return LoadSettings(endpoint="chat", **{**usual, **more})

    def begin(self, settings: LoadSettings) -> Untyped:
        """
        Begin it.
        """
        run = part("__main__", "_run")
        return self._gevent.spawn(run, settings, self.ended, self.hurried)

    def join(self, tell: Callable[[str], object] | None = None) -> Untyped:
        """
        Have a worker join.
        """
        work = part("working", "work")
        return self._gevent.spawn(work, "127.0.0.1", self.port, 20.0, tell)

    def until(self, found: Callable[[], object]) -> None:
        """
        Let the others go on until something is so.
        """
        with self._gevent.Timeout(LIMIT):
            while not found():
                self._gevent.sleep(0.01)

    @property
    def told(self) -> list[Untyped]:
        """
        The messages so far.
        """
        return [json.loads(line) for line in self._out.getvalue().splitlines()]

    @property
    def measured(self) -> Measured:
        """
        What was measured, which is told last.
        """
        last = self.told[-1]
        assert [*last] == ["kind", "begin", "end", "measured"]
        return Measured.unpacked(last["measured"])

    def refusal(self, running: Untyped) -> str:
        """
        Wait for its end, and return why there was no load.
        """
        with pytest.raises(part("asking", "HopelessError")) as raised:
            running.get(timeout=LIMIT)
        return str(raised.value)


@pytest.fixture(name="run")
def _run(gevent: Untyped, monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(gevent, monkeypatch)


class Peer:
    """
    A worker that says what a test has it say.
    """

    def __init__(self, run: Run, name: str) -> None:
        client = importlib.import_module("locust.rpc.zmqrpc").Client
        self._client = client("127.0.0.1", run.port, name)
        self._message = importlib.import_module("locust.rpc.protocol").Message
        self._name = name
        self.say("client_ready", "2.0.0")
        self.hear("ack")

    def say(self, kind: str, data: Untyped) -> None:
        """
        Say something to the leader.
        """
        self._client.send(self._message(kind, data, self._name))

    def hear(self, kind: str) -> Untyped:
        """
        Wait until the leader says something.
        """
        while True:
            heard = self._client.recv()
            if heard.type == kind:
                return heard.data


def hello() -> dict[str, str]:
    """
    Return what a worker says at first.
    """
    return {"versions": part("working", "versions")(), "machine": "there"}


def test_workers_share_a_run(run: Run) -> None:
    """
    It tells each step, and what all of them measured together.
    """
    joined: list[str] = []
    with Misbehaving(answer) as server:
        before = time.time()
        running = run.begin(run.settings(server))
        run.until(lambda: run.told)
        workers = [run.join(joined.append) for _ in range(2)]
        running.get(timeout=LIMIT)
        after = time.time()
        reasons = [worker.get(timeout=LIMIT) for worker in workers]

    assert reasons == ["", ""]
    assert joined == [f"joined the load test at 127.0.0.1:{run.port}"] * 2
    *steps, last = run.told
    assert {one["kind"] for one in steps} == {"progress"}
    phases = [*dict.fromkeys(one["phase"] for one in steps)]
    assert phases[0] == "0 of 2 workers have joined"
    assert phases[-2:] == ["measuring", "waiting for the last answers"]
    assert max(one["users"] for one in steps) == 4
    times = {one["phase"]: one["seconds"] for one in steps}
    assert times[phases[0]] == 0.0
    assert times["waiting for the last answers"] == last["end"] - last["begin"]
    assert 0 < times["measuring"] < last["end"] - last["begin"]
    assert before < last["begin"] < last["end"] < after
    assert 0.5 <= last["end"] - last["begin"] < 5
    found = run.measured
    assert {*found.delays} == {*found.cpus} == {1, 2}
    assert (found.lost, found.messages) == ({}, {})
    assert {one.failure for one in found.records} == {""}
    assert all(before < one.start < after for one in found.records)
    assert [one["requests"] for one in steps] == sorted(
        one["requests"] for one in steps
    )
    # Each is told once; those of the last part are in what was measured alone.
    told = [tuple(one) for step in steps for one in step["recent"]]
    every = [tuple(one.packed()) for one in found.records]
    assert 0 < len(told) == len({*told}) <= len(every) == len({*every})
    assert {*told} <= {*every}


@pytest.mark.parametrize(
    ("more", "users"),
    [({"users": 2}, 2), ({"users": None, "arrival_rate": 20.0}, 0)],
)
def test_a_process_does_all_alone(
    run: Run, more: dict[str, Untyped], users: int
) -> None:
    """
    Of users, or of requests that arrive by themselves.
    """
    with Misbehaving(answer) as server:
        run.begin(run.settings(server, workers=None, **more)).get(timeout=LIMIT)

    *steps, _ = run.told
    assert max(one["users"] for one in steps) == users
    assert steps[-1]["phase"] == "waiting for the last answers"
    found = run.measured
    assert {*found.delays} == {1}
    assert {one.failure for one in found.records} == {""}
    assert len(found.records) > 2
    told = [one for step in steps for one in step["recent"]]
    assert 0 < len(told) <= len(found.records)


def test_processes_of_this_machine_are_started(
    run: Run, gevent: Untyped, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    As many as are asked for, at a port of their own; they end with the run.
    """
    orders: list[Untyped] = []
    closed: list[str] = []

    class Process:
        """
        A greenlet in place of a process.
        """

        class stdin:  # noqa: N801 - as a process has it
            close = staticmethod(lambda: closed.append("closed"))

        def __init__(self, order: Untyped, **given: Untyped) -> None:
            orders.append(({k: v for k, v in order.items() if k != "port"}, given))
            work = part("working", "work")
            where = order["host"], order["port"], order["within"]
            self._working = gevent.spawn(work, *where)

        def wait(self) -> None:
            """
            Wait for its end.
            """
            closed.append(self._working.get(timeout=LIMIT))

    monkeypatch.setattr(part("crews"), "start_process", Process)
    with Misbehaving(answer) as server:
        run.begin(run.settings(server, processes=2)).get(timeout=LIMIT)

    order = {"host": "127.0.0.1", "within": 60.0, "tells": False}
    given = {"stdout": sys.stderr, "start_new_session": True}
    assert orders == [(order, given)] * 2
    assert closed == ["closed", ""] * 2
    assert {*run.measured.delays} == {1, 2}


def test_a_process_of_this_machine_that_is_lost_ends_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Without its last requests every figure would be too good.
    """

    started: list[Peer] = []

    def start(order: Untyped, **_: Untyped) -> Peer:
        run.port = order["port"]
        peer = Peer(run, f"process-{len(started)}")
        peer.say("load-hello", hello())
        peer.say("load-ready", {"clock": 0.0})
        if not started:
            peer.say("load-last", Measured().packed())
        started.append(peer)
        return peer

    monkeypatch.setattr(part("crews"), "start_process", start)
    running = run.begin(run.settings(processes=2))
    run.until(lambda: any(one["phase"] == "starting" for one in run.told))
    run.ended.set()

    with pytest.raises(RuntimeError) as raised:
        running.get(timeout=LIMIT)
    assert str(raised.value) == (
        "1 of 2 processes did not report; use fewer users, or more memory"
    )


def test_who_joins_too_late_is_sent_home(run: Run) -> None:
    """
    And hears why; the others go on.
    """
    with Misbehaving(answer) as server:
        running = run.begin(run.settings(server, workers=1))
        first = run.join()
        run.until(lambda: any(one["phase"] == "measuring" for one in run.told))
        second = run.join()
        assert second.get(timeout=LIMIT) == ("this load test has its 1 workers already")
        running.get(timeout=LIMIT)

    assert first.get(timeout=LIMIT) == ""
    assert {*run.measured.delays} == {1}


def test_a_worker_of_another_version_ends_it(run: Run) -> None:
    """
    Both sides hear which.
    """
    running = run.begin(run.settings())
    peer = Peer(run, "one")
    peer.say("load-hello", {"versions": "another 1.0", "machine": "there"})

    words = run.refusal(running)

    ours = part("working", "versions")()
    assert re.fullmatch(r"cdk-sagemaker-llm \S+, locust \d\S+", ours)
    assert words == (
        f"there has another 1.0, and this machine {ours}; install the same on both"
    )
    assert peer.hear("load-over") == {"reason": words}


def test_a_worker_that_cannot_ask_ends_it(run: Run) -> None:
    """
    It says why, by its number.
    """
    with Misbehaving(
        lambda peer: peer.refuse("AccessDeniedException", "not allowed", 403)
    ) as server:
        running = run.begin(run.settings(server, workers=1))
        worker = run.join()
        words = run.refusal(running)

    assert words.startswith("worker 1 cannot ask: ")
    assert "not allowed" in words
    assert worker.get(timeout=LIMIT) == words


@pytest.mark.parametrize(
    ("settings", "order"),
    [
        ({"region": "eu-west-1"}, {"region": "eu-west-1", "profile": None}),
        ({}, {"region": "us-east-1", "profile": None}),
    ],
)
def test_a_worker_is_told_what_to_ask(
    run: Run, settings: dict[str, Untyped], order: dict[str, str | None]
) -> None:
    """
    In the leader's region, whatever its own is, and with its own credentials.
    """
    given = run.settings(workers=1, **settings)
    run.begin(given)
    peer = Peer(run, "one")
    peer.say("load-hello", hello())

    told = peer.hear("load-order")

    assert told["number"] == 1
    assert json.loads(told["settings"]) == json.loads(
        json.dumps({**given.packed(), **order})
    )


def test_workers_that_do_not_come_are_not_waited_for(run: Run) -> None:
    """
    For longer than is said.
    """
    running = run.begin(run.settings(join_within=0.25))

    assert run.refusal(running) == (
        "0 of 2 workers have joined after 0.25 s; start the others with sagemaker-llm "
        "load-test --join, or wait longer"
    )
    assert [one["users"] for one in run.told] == [0] * len(run.told)
    assert len(run.told) >= 2


def test_it_may_be_ended_before_it_began(run: Run) -> None:
    """
    Then nothing was measured.
    """
    running = run.begin(run.settings())
    run.ended.set()

    assert run.refusal(running) == "it was ended before it began"


def test_another_takes_the_place_of_a_worker_that_was_lost(run: Run) -> None:
    """
    As long as the load has not begun.
    """
    running = run.begin(run.settings())
    first = Peer(run, "one")
    first.say("load-hello", hello())
    first.hear("load-order")
    first.say("load-ready", {"clock": time.time()})

    def is_at(count: int) -> bool:
        phases = [one["phase"] for one in run.told]
        return phases[-1:] == [f"{count} of 2 workers have joined"]

    run.until(partial(is_at, 1))
    run.until(partial(is_at, 0))
    running.kill()


@pytest.mark.parametrize("others", [0, 1])
def test_what_was_lost_is_told(run: Run, others: int) -> None:
    """
    And when it was last heard of; where all were, there is no result.
    """
    with Misbehaving(answer) as server:
        settings = run.settings(server, workers=1 + others, drain=1.0)
        running = run.begin(settings)
        peer = Peer(run, "one")
        peer.say("load-hello", hello())
        peer.hear("load-order")
        ready = time.time()
        peer.say("load-ready", {"clock": ready - 3600})
        # Its requests are told by the leader's clock.
        part_of_it = Measured.unpacked(
            {
                "records": [[ready - 3600, 0.5, None, 1, None, ""]],
                "gaps": Measured().gaps.packed(),
                "delays": [],
                "cpus": [],
                "messages": {},
                "lost": [],
            }
        )
        peer.say("stats", {"load": part_of_it.packed(), **NO_STATISTICS})
        workers = [run.join() for _ in range(others)]
        peer.hear("spawn")
        run.ended.set()
        if not others:
            assert run.refusal(running) == (
                "all workers were lost; see what they say on their own machines"
            )
            return
        running.get(timeout=LIMIT)

    assert workers[0].get(timeout=LIMIT) == ""
    found = run.measured
    assert {*found.lost} == {1}
    assert found.lost[1] == pytest.approx(ready, abs=5)
    (own,) = (one for one in found.records if one.latency == 0.5)
    assert own.start == pytest.approx(ready, abs=5)


NO_STATISTICS: dict[str, Untyped] = {
    "stats": [],
    "stats_total": {},
    "errors": {},
    "user_classes_count": {},
    "user_count": 0,
}


def test_the_last_answers_may_be_left(run: Run) -> None:
    """
    By whoever ends it a second time.
    """

    def silent(peer: Untyped) -> None:
        peer.left(LIMIT)

    behaviours: list[Behaviour] = [answer, answer, silent]
    with Misbehaving(*behaviours) as server:
        settings = run.settings(
            server, workers=None, users=1, run_time=60.0, drain=60.0, timeout=1.0
        )
        running = run.begin(settings)
        run.until(lambda: any(one["phase"] == "measuring" for one in run.told))
        run.ended.set()
        run.hurried.set()
        running.get(timeout=LIMIT)

    assert run.told[-1]["kind"] == "measured"
    assert run.told[-1]["end"] - run.told[-1]["begin"] < 30


def test_a_leader_that_is_not_there_is_not_waited_for(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    For longer than is said: it is tried as often as there is time.
    """
    runners = importlib.import_module("locust.runners")
    monkeypatch.setattr(runners, "CONNECT_TIMEOUT", 0.1)

    told = part("working", "work")("127.0.0.1", run.port, 0.25)

    assert told == (
        f"no load test answers at 127.0.0.1:{run.port}; start the one that leads with "
        "--expect-workers, and have its --bind name an address that this machine "
        "reaches"
    )
    assert runners.CONNECT_RETRY_COUNT == 2
    assert runners.WORKER_REPORT_INTERVAL == 1.0


def test_a_leader_that_falls_silent_is_left(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    After half a minute.
    """
    working = part("working")
    assert working._SILENCE == 30.0  # noqa: SLF001 - nobody waits for it here
    monkeypatch.setattr(working, "_SILENCE", -1.0)
    run.begin(run.settings())

    assert run.join().get(timeout=LIMIT) == "the leader was not heard of for -1 s"


def test_an_address_that_is_taken_is_told(run: Run) -> None:
    """
    Before anybody joins.
    """
    with closing(socket.create_server(("127.0.0.1", run.port))):
        words = run.refusal(run.begin(run.settings()))

    assert words.startswith(
        f"--bind 127.0.0.1:{run.port} is no address of this machine that is free: "
        "Address already in use"
    )
    assert words.endswith("; name another")


class Process:
    """
    This process in place of one that was started for a run.
    """

    def __init__(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        self._run = run
        self._gevent = importlib.import_module("gevent")
        self.exits: list[int] = []
        self.signals: dict[int, Callable[[], None]] = {}
        self.input, self._write = os.pipe()
        # What reads it would close it.
        given = SimpleNamespace(buffer=os.fdopen(self.input, "rb", closefd=False))
        monkeypatch.setattr(sys, "stdin", given)
        monkeypatch.setattr(sys, "stdout", sys.stdout)
        monkeypatch.setattr(os, "_exit", self.exits.append)
        monkeypatch.setattr(self._gevent, "signal_handler", self.signals.__setitem__)
        runners = importlib.import_module("locust.runners")
        monkeypatch.setattr(runners, "CONNECT_TIMEOUT", 0.05)

    def begin(self, **order: object) -> Untyped:
        """
        Give it its order.
        """
        os.write(self._write, f"{json.dumps(order)}\n".encode())
        return self._gevent.spawn(part("__main__", "main"))

    def end(self, running: Untyped) -> list[int]:
        """
        Wait until it has ended, end its input, and return how it has exited each time.
        """
        running.get(timeout=LIMIT)
        before = len(self.exits)
        os.close(self._write)
        self._run.until(lambda: len(self.exits) > before)
        return self.exits


@pytest.fixture(name="process")
def _process(run: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Process]:
    process = Process(run, monkeypatch)
    yield process
    os.close(process.input)


@pytest.mark.parametrize("tells", [True, False])
def test_a_process_that_joins_tells_why_it_ended(
    run: Run, process: Process, *, tells: bool
) -> None:
    """
    If anybody wants to know; it ends with its input, too.
    """
    order = {"host": "127.0.0.1", "port": run.port, "within": 0.05, "tells": tells}

    assert process.end(process.begin(**order)) == [0, 1]

    assert [one["kind"] for one in run.told] == ["over"] * tells
    for one in run.told:
        assert one["message"].startswith("no load test answers at 127.0.0.1:")


def test_a_process_that_joins_tells_that_it_has(run: Run, process: Process) -> None:
    """
    Before it works.
    """
    with Misbehaving(answer) as server:
        leading = run.begin(run.settings(server, workers=1))
        where = {"host": "127.0.0.1", "port": run.port}
        process.end(process.begin(**where, within=20.0, tells=True))
        leading.get(timeout=LIMIT)

    told = [one for one in run.told if one["kind"] in {"joined", "over"}]
    assert told == [
        {
            "kind": "joined",
            "message": f"joined the load test at 127.0.0.1:{run.port}",
        },
        {"kind": "over", "message": ""},
    ]


def test_a_process_that_cannot_read_its_order_fails(
    run: Run, process: Process, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Its last words are among the errors.
    """
    assert process.end(process.begin(host="x")) == [1, 1]
    assert run.told == []
    assert capsys.readouterr().err.splitlines()[-1] == "KeyError: 'tells'"


def test_who_leads_tells_that_the_endpoint_refuses(run: Run, process: Process) -> None:
    """
    Before anything is loaded.
    """
    with Misbehaving(
        lambda peer: peer.refuse("AccessDeniedException", "not allowed", 403)
    ) as server:
        settings = run.settings(server, workers=None, users=1)
        running = process.begin(settings=settings.packed())
        assert process.end(running) == [0, 1]

    (told,) = run.told
    assert told["kind"] == "refused"
    assert "not allowed" in told["message"]
    assert process.signals == {}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_leads_ends_early_with_what_was_measured(
    run: Run, process: Process, number: int
) -> None:
    """
    At the first signal; at the second one it waits for no more answers.
    """
    with Misbehaving(answer) as server:
        settings = run.settings(server, workers=None, users=1, run_time=600.0)
        running = process.begin(settings=settings.packed())
        run.until(lambda: any(one["phase"] == "measuring" for one in run.told))
        assert {*process.signals} == {signal.SIGINT, signal.SIGTERM}
        for _ in range(2):
            process.signals[number]()
        assert process.end(running) == [0, 1]

    assert run.measured.records


@pytest.mark.parametrize(
    ("settings", "ramp"),
    [
        ({"users": 10}, (10, 2.0)),
        ({"users": 10, "spawn_rate": 0.001}, (10, 0.01)),
        ({"users": 10, "spawn_rate": 3.0}, (10, 3.0)),
        ({"arrival_rate": 5.0, "processes": 3}, (3, 3)),
        ({"arrival_rate": 5.0, "workers": 2, "spawn_rate": 9.0}, (2, 2)),
    ],
)
def test_users_begin_one_after_the_other(
    settings: dict[str, Untyped], ramp: tuple[int, float]
) -> None:
    """
    Where requests arrive by themselves, one of each process sees to it at once.
    """
    asked = LoadSettings(endpoint="chat", **settings)

    assert part("crews", "_ramp_of")(asked) == ramp
