"""
Run by ``python .../guard.py``, it ends a command when whoever started that is gone.

It leads the process group that a command runs in, and ends that group when its
standard input ends, which is when its parent has ended, by whatever signal. A word on
its standard input releases it: the command is over.

It is run as a file, and loads nothing but the standard library, so that it is there
before the command is.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

GRACE = 10.0
"""Seconds that a command has to clean up in before it is killed."""

_POLL = 0.05
_ZOMBIE = "Z"
_PROCESSES = Path("/proc")


def end_group(group: int) -> None:
    """
    Ask the processes of a guard's group to end; kill what is left after the grace.
    """
    tell(group, signal.SIGTERM)
    deadline = time.monotonic() + GRACE
    while members(group):
        if time.monotonic() > deadline:
            tell(group, signal.SIGKILL)
            return
        time.sleep(_POLL)


def tell(group: int, number: int) -> None:
    """
    Send a signal to a group, if it is there; what was stopped goes on to receive it.
    """
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)
        os.killpg(group, signal.SIGCONT)


def members(group: int) -> set[int]:
    """
    Return the processes of a guard's group that still run, without the guard.
    """
    found = _from_proc() if (_PROCESSES / "self" / "stat").exists() else _from_ps()
    return {
        process
        for process, its_group, state in found
        if its_group == group and process != group and state != _ZOMBIE
    }


def _from_proc() -> list[tuple[int, int, str]]:
    found = []
    for path in _PROCESSES.glob("[0-9]*/stat"):
        # A process may end meanwhile.
        with contextlib.suppress(OSError):
            # Its name, in brackets, may hold anything.
            state, _, group, *_ = path.read_text().rpartition(")")[2].split()
            found.append((int(path.parent.name), int(group), state))
    return found


def _from_ps() -> list[tuple[int, int, str]]:
    command = ["ps", "-A", "-o", "pid=,pgid=,state="]
    listing = subprocess.run(
        command, capture_output=True, text=True, check=False
    ).stdout
    lines = (line.split() for line in listing.splitlines())
    return [(int(process), int(group), state[0]) for process, group, state, *_ in lines]


class Group:
    """
    A process group whose leader watches over the process that makes it.
    """

    def __init__(self) -> None:
        self._leader = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,  # Its end is this process's end.
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        if self._leader.stdout is not None:
            # It takes no more signals from here on, and is there for others to join.
            self._leader.stdout.read(1)

    def start(
        self, command: list[str], folder: Path, environment: dict[str, str]
    ) -> subprocess.Popen[bytes]:
        """
        Start a process in the group, unless the group was killed.
        """
        return subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            process_group=self._leader.pid,
        )

    def kill(self) -> None:
        with contextlib.suppress(PermissionError):
            tell(self._leader.pid, signal.SIGKILL)
        self._leader.wait()
        for pipe in (self._leader.stdin, self._leader.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def main() -> None:
    """
    Wait for the end of standard input, or for a word on it.
    """
    for number in signal.valid_signals():
        # They are for the command, whose group this process leads; some end anybody.
        with contextlib.suppress(OSError):
            signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # For ps, which is waited for.
    os.write(1, b".")
    os.close(1)
    if not os.read(0, 1):
        end_group(os.getpgrp())


if __name__ == "__main__":
    main()
    sys.exit(0)
