"""
The processes of a run: how many there are, and which of them Ctrl-C reaches.
"""

from __future__ import annotations

import os
import signal
import stat
import sys
from pathlib import Path

import pytest

from cdk_sagemaker_llm.load.running import LoadError, join_load, run_load
from cdk_sagemaker_llm.load.settings import LoadSettings

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
DYING = """
print("no such\\ntroubled", file=sys.stderr)
sys.exit(1)
"""
LOADING = """
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
