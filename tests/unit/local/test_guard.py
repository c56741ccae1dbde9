"""
The process group of a command: who is in it, and how it ends.
"""

from __future__ import annotations

import os
import pty
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cdk_sagemaker_llm.local.builds import guard

Look = Callable[[], list[tuple[int, int, str]]]
LOOKS = [guard._from_proc, guard._from_ps]  # noqa: SLF001 - both
# It says that it is there, and works until something ends it.
BUSY = "echo up; exec sleep 600"
DEAF = f"trap '' TERM; {BUSY}"
TIDY = "trap 'sleep 0.1; exit 3' TERM; echo up; while :; do sleep 0.02; done"


@pytest.fixture(name="group")
def _group() -> Iterator[guard.Group]:
    group = guard.Group()
    yield group
    group.kill()


def begun(group: guard.Group, script: str) -> subprocess.Popen[bytes]:
    """
    Start a script in a group, and wait until it is there.
    """
    process = group.start(["sh", "-c", script], Path("/"), {"PATH": os.environ["PATH"]})
    assert process.stdout is not None
    assert process.stdout.read(3) == b"up\n"
    return process


def leader_of(process: subprocess.Popen[bytes]) -> int:
    """
    Return the group that a process is in.
    """
    return os.getpgid(process.pid)


def end(process: subprocess.Popen[bytes]) -> int:
    """
    Wait for a process, and return how it ended.
    """
    if process.stdout is not None:
        process.stdout.close()
    return process.wait()


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", ["a) R 0 (b", "(a b)", "a)"])
def test_a_process_may_have_any_name(tmp_path: Path, look: Look, name: str) -> None:
    """
    Also brackets, in which the system itself puts it.
    """
    program = tmp_path / name
    program.write_text("#!/bin/sh\necho up\nread -r word\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [program], stdin=pipe, stdout=pipe, process_group=0
    ) as process:
        assert process.stdout is not None
        process.stdout.read(3)
        # It neither runs nor sleeps from here on.
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)

        (found,) = (one for one in look() if one[0] == process.pid)

        assert found == (process.pid, process.pid, "T")
        process.send_signal(signal.SIGCONT)
        process.communicate(b"end\n")


@pytest.mark.parametrize("look", LOOKS)
def test_processes_of_other_terminals_are_listed(look: Look) -> None:
    """
    A command may have been started anywhere.
    """
    process, descriptor = pty.fork()
    if process == 0:
        os.execv("/bin/sh", ["sh", "-c", "echo up; read -r word"])  # noqa: S606 - the terminal is its own
    os.read(descriptor, 2)

    groups = {one: group for one, group, _ in look()}

    assert groups[process] == process
    os.write(descriptor, b"end\n")
    os.waitpid(process, 0)
    os.close(descriptor)


@pytest.mark.parametrize("look", LOOKS)
def test_who_still_runs_is_a_member(
    group: guard.Group, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Not the guard, whoever has ended, or anybody of another group.
    """
    monkeypatch.setattr(guard, "_from_proc", look)
    monkeypatch.setattr(guard, "_from_ps", look)
    first, second = begun(group, BUSY), begun(group, BUSY)
    leader = leader_of(first)

    assert guard.members(leader) == {first.pid, second.pid}
    first.kill()
    # It is there until it is waited for.
    os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOWAIT)
    assert guard.members(leader) == {second.pid}
    assert end(first) == -signal.SIGKILL
    second.kill()
    assert end(second) == -signal.SIGKILL
    assert guard.members(leader) == set()
    os.kill(leader, 0)


def test_where_the_system_has_no_files_of_processes_ps_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    As on macOS.
    """
    asked: list[str] = []

    def said(name: str) -> list[tuple[int, int, str]]:
        asked.append(name)
        return [(3, 7, "S"), (7, 7, "S"), (4, 7, "Z"), (5, 8, "S")]

    monkeypatch.setattr(guard, "_from_proc", lambda: said("files"))
    monkeypatch.setattr(guard, "_from_ps", lambda: said("ps"))
    monkeypatch.setattr(guard, "_PROCESSES", tmp_path)

    assert guard.members(7) == {3}
    (tmp_path / "self").mkdir()
    assert guard.members(8) == {5}
    (tmp_path / "self" / "stat").touch()
    assert guard.members(9) == set()
    assert asked == ["ps", "ps", "files"]


def test_a_process_that_ends_meanwhile_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The others are told all the same.
    """
    monkeypatch.setattr(guard, "_PROCESSES", tmp_path)
    (tmp_path / "1" / "stat").mkdir(parents=True)
    for name in ("23", "self", "x4"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "stat").write_text("23 (sh) S 5 42 42 0 -1\n")

    assert guard._from_proc() == [(23, 42, "S")]  # noqa: SLF001 - as above


def test_what_was_stopped_is_told_as_well(group: guard.Group) -> None:
    """
    It goes on to receive what it was sent.
    """
    process = begun(group, BUSY)
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)

    guard.tell(leader_of(process), signal.SIGTERM)

    assert end(process) == -signal.SIGTERM


def test_a_group_that_is_gone_is_told_nothing() -> None:
    """
    Which is no error.
    """
    with subprocess.Popen(["true"], process_group=0) as process:
        pass

    guard.tell(process.pid, signal.SIGTERM)
    guard.end_group(process.pid)


def test_a_group_may_clean_up(group: guard.Group) -> None:
    """
    Its end is waited for, and it is not killed; the guard stays.
    """
    process = begun(group, TIDY)
    leader = leader_of(process)

    before = time.monotonic()
    guard.end_group(leader)

    assert process.poll() == 3
    assert time.monotonic() - before < guard.GRACE
    os.kill(leader, 0)
    end(process)


def test_a_group_that_goes_on_is_killed(
    group: guard.Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    When its time is over, and not before.
    """
    monkeypatch.setattr(guard, "GRACE", 0.3)
    process = begun(group, DEAF)
    before = time.monotonic()

    guard.end_group(leader_of(process))

    assert end(process) == -signal.SIGKILL
    assert 0.3 <= time.monotonic() - before < 9


def test_a_group_that_was_killed_starts_nothing(group: guard.Group) -> None:
    """
    What it has started has ended, and it may be killed once more.
    """
    process = begun(group, BUSY)

    group.kill()

    assert end(process) == -signal.SIGKILL
    with pytest.raises(OSError, match="Operation not permitted|No such process"):
        group.start(["true"], Path("/"), {})
    group.kill()


def test_a_command_has_what_it_is_given(group: guard.Group, tmp_path: Path) -> None:
    """
    Its folder and variables, nothing to read, and its errors among its output.
    """
    script = 'pwd; echo "$A" >&2; cat; env | grep -c PYTEST'
    process = group.start(["/bin/sh", "-c", script], tmp_path, {"A": "b"})

    written, _ = process.communicate()

    assert written.decode().splitlines() == [str(tmp_path), "b", "0"]


@pytest.mark.parametrize(("word", "ends"), [(b".", False), (b"", True)])
def test_a_guard_ends_its_group_with_its_parent(
    word: bytes, monkeypatch: pytest.MonkeyPatch, *, ends: bool
) -> None:
    """
    A word releases it; until then no signal ends the guard itself, and it waits for
    its own children.
    """
    ended: list[int] = []
    numbers = {signal.SIGUSR1, signal.SIGCHLD, signal.SIGKILL, signal.SIGSTOP}
    monkeypatch.setattr(guard, "end_group", ended.append)
    monkeypatch.setattr(signal, "valid_signals", lambda: numbers)
    before = {it: signal.getsignal(it) for it in (signal.SIGUSR1, signal.SIGCHLD)}
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    own = os.dup(0), os.dup(1)
    (read, write), (out, told) = os.pipe(), os.pipe()
    os.write(write, word)
    os.close(write)
    try:
        os.dup2(read, 0)
        os.dup2(told, 1)
        os.close(told)
        guard.main()
        after = {it: signal.getsignal(it) for it in before}
        # To its end: nobody else has it open.
        said = os.read(out, 9) + os.read(out, 9)
    finally:
        for target, kept in enumerate(own):
            os.dup2(kept, target)
        for descriptor in (*own, read, out):
            os.close(descriptor)
        for number, handler in before.items():
            signal.signal(number, handler)

    assert said == b"."
    assert after == {signal.SIGUSR1: signal.SIG_IGN, signal.SIGCHLD: signal.SIG_DFL}
    assert ended == ([os.getpgrp()] if ends else [])


@pytest.mark.parametrize(
    ("word", "code"), [(b".", None), (b"", -signal.SIGTERM)], ids=["over", "gone"]
)
def test_a_guard_that_runs_ends_its_group_with_its_parent(
    group: guard.Group, word: bytes, code: int | None
) -> None:
    """
    Unless the command is over.
    """
    process = begun(group, BUSY)
    leader = group._leader  # noqa: SLF001 - its parent is this process
    assert leader.stdin is not None
    os.killpg(leader.pid, signal.SIGCONT)
    leader.send_signal(signal.SIGTERM)
    assert guard.members(leader.pid) == {process.pid}

    leader.stdin.write(word)
    leader.stdin.close()

    assert leader.wait() == 0
    assert process.poll() == code
    if code is None:
        os.kill(process.pid, signal.SIGKILL)
    end(process)
