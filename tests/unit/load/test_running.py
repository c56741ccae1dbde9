"""
The processes of a run: how many there are, and which of them Ctrl-C reaches.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cdk_sagemaker_llm.load import running
from cdk_sagemaker_llm.load.measured import Measured, Record
from cdk_sagemaker_llm.load.result import LoadResult
from cdk_sagemaker_llm.load.running import (
    LoadError,
    MissingPackageError,
    Progress,
    check_packages,
    join_load,
    run_load,
)
from cdk_sagemaker_llm.load.settings import LoadSettings

MADE = Measured(records=[Record(11.0, 0.5)], cpus={1: 0.5}).packed()
# What takes the place of the load generator: it reads its order, and tells its session.
STAND_IN = f"""#!{sys.executable}
import json, os, sys, time
order = json.loads(sys.stdin.readline())
def tell(kind, **what):
    print(json.dumps({{"kind": kind, **what}}), flush=True)
"""
JOINING = """
tell("joined", message=str(os.getsid(0)))
tell("over", message="")
"""
LEAVING = """
tell("joined", message="joined the load test")
"""
LEADING = """
tell("refused", message=str(os.getsid(0)))
"""
MEASURING = f"""
tell("progress", phase="measuring", seconds=2.5, users=3, requests=7,
     recent=[[1.0, 0.5, None, 4, None, ""]])
tell("progress", phase="ending", seconds=3.0, users=0, requests=8, recent=[])
tell("measured", begin=10.0, end=13.0, measured=json.loads({json.dumps(MADE)!r}))
"""
DEAF = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
tell("progress", phase="starting", seconds=0, users=0, requests=0, recent=[])
sys.stdin.read()
"""
DYING = """
print("no such\\ntroubled", file=sys.stderr)
sys.exit(1)
"""
# Even where a shell that started the tests in the background has it ignored.
LOADING = """
import signal
signal.signal(signal.SIGINT, signal.SIG_DFL)
tell("progress", phase="starting", seconds=0, users=0, requests=0, recent=[])
time.sleep(20)
"""


@pytest.fixture(name="generator")
def _generator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """
    A script that is started in place of Python.
    """
    script = tmp_path / "generator"
    script.touch()
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sys, "executable", str(script))
    return script


@pytest.mark.parametrize(("processes", "count"), [(None, 3), (2, 2)])
def test_a_machine_that_joins_uses_its_cores(
    generator: Path,
    monkeypatch: pytest.MonkeyPatch,
    processes: int | None,
    count: int,
) -> None:
    """
    All of them, unless it is told otherwise.
    """
    generator.write_text(STAND_IN + JOINING, encoding="utf-8")
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    sessions: list[str] = []

    join_load("127.0.0.1", processes=processes, on_told=sessions.append)

    # Ctrl-C is for this process alone, which ends the others.
    assert len({*sessions} - {str(os.getsid(0))}) == len(sessions) == count


def test_a_process_that_ends_before_the_load_test_is_a_failure(generator: Path) -> None:
    """
    Of its users nothing was measured, though whoever leads goes on.
    """
    generator.write_text(STAND_IN + LEAVING, encoding="utf-8")

    with pytest.raises(LoadError, match="ended before the load test was over"):
        join_load("127.0.0.1", processes=2)


def test_what_was_measured_is_handed_over(generator: Path) -> None:
    """
    And how it goes is told meanwhile, if anybody wants to know.
    """
    generator.write_text(STAND_IN + MEASURING, encoding="utf-8")
    settings = LoadSettings(endpoint="chat", users=3)
    told: list[Progress] = []

    found = run_load(settings, told.append)

    expected = LoadResult(
        settings=settings, begin=10.0, end=13.0, measured=Measured.unpacked(MADE)
    )
    assert found == run_load(settings) == expected
    assert told == [
        Progress(
            phase="measuring",
            seconds=2.5,
            users=3,
            recent=(Record(1.0, 0.5, tokens=4),),
            requests=7,
        ),
        Progress(phase="ending", seconds=3.0, users=0, recent=(), requests=8),
    ]


def test_the_third_ctrl_c_ends_it_at_once(generator: Path) -> None:
    """
    Whatever the load generator does.
    """
    generator.write_text(STAND_IN + DEAF, encoding="utf-8")
    came: list[int] = []

    def interrupt(_: Progress) -> None:
        for number in range(3):
            came.append(number)
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run_load(LoadSettings(endpoint="chat"), interrupt)
    assert came == [0, 1, 2]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_thread_may_run_a_load_test(generator: Path) -> None:
    """
    Nobody interrupts it there.
    """
    generator.write_text(STAND_IN + MEASURING, encoding="utf-8")
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(run_load, LoadSettings(endpoint="chat")).result()

    assert (found.begin, found.end) == (10.0, 13.0)


@pytest.mark.parametrize("package", ["boto3", "locust"])
def test_what_is_missing_is_told(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """
    With how to install it.
    """
    monkeypatch.setattr(
        running, "find_spec", lambda name: None if name == package else name
    )

    with pytest.raises(MissingPackageError) as raised:
        check_packages()
    assert str(raised.value) == (
        f"a load test needs {package}; install it with: "
        "pip install 'cdk-sagemaker-llm[load]'"
    )


def test_ctrl_c_does_not_reach_who_leads_by_itself(generator: Path) -> None:
    """
    It is passed on: twice would be one time too many.
    """
    generator.write_text(STAND_IN + LEADING, encoding="utf-8")

    with pytest.raises(LoadError) as caught:
        run_load(LoadSettings(endpoint="chat"))
    assert str(caught.value) != str(os.getsid(0))


@pytest.mark.parametrize(
    ("script", "words"), [(DYING, "troubled"), ("", "it ended without a word")]
)
def test_why_a_load_generator_died_is_told(
    generator: Path, script: str, words: str
) -> None:
    """
    By the last line of its complaints, if it had any.
    """
    generator.write_text(STAND_IN + script, encoding="utf-8")

    with pytest.raises(LoadError) as caught:
        run_load(LoadSettings(endpoint="chat"))
    assert str(caught.value) == f"the load generator failed: {words}"


def test_ctrl_c_before_anything_was_measured(generator: Path) -> None:
    """
    No traceback: there is no result.
    """
    generator.write_text(STAND_IN + LOADING, encoding="utf-8")

    with pytest.raises(LoadError, match="it was ended before anything was measured"):
        run_load(
            LoadSettings(endpoint="chat"),
            lambda _: os.kill(os.getpid(), signal.SIGINT),
        )
