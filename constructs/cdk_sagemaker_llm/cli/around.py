"""
Running a command that ends when this process does.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Self

from cdk_sagemaker_llm.local.aws import guard

_POLL = 0.2  # Seconds between looks at the server while a command runs.
_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class EndedError(BaseException):
    """
    A signal came before there was a command that could be told.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number


class NotStartedError(Exception):
    """
    There is no such program, or it cannot be run.
    """


class Around:
    """
    A command's life inside this process's, from before it exists.

    ``with Around() as around: status = around.run(command, environment, check)``

    Signals that end a process are passed on to the command and all that it started,
    which are killed if they have not ended after ten seconds.
    """

    def __init__(self) -> None:
        self._told: float | None = None
        self._group: int | None = None
        self._before: dict[int, Callable[[int, FrameType | None], object] | int] = {}

    def __enter__(self) -> Self:
        """
        Take the signals that end this process.
        """
        for number in _ENDINGS:
            handler = signal.getsignal(number)
            # A shell lets its background jobs ignore Ctrl-C, and nohup the end of the
            # terminal: so does the command, which inherits it.
            if handler is not signal.SIG_IGN:
                self._before[number] = signal.SIG_DFL if handler is None else handler
                signal.signal(number, self._pass_on)
        return self

    def __exit__(self, *_: object) -> None:
        """
        Give the signals back.
        """
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def run(
        self, command: list[str], environment: dict[str, str], check: Callable[[], None]
    ) -> int:
        """
        Run a command to its end; return its exit status as a shell reports it.

        Args:
            command: The program and its arguments.

            environment: Its environment variables.

            check: Called while it runs; what it raises ends the command.

        Raises:
            NotStartedError: If there is no such program.
            EndedError: If a signal came before it was.
        """
        with _guard() as group:
            with _foreground(group) as lent:
                self._group = group
                running = _start(command, environment, group)
                try:
                    status = self._outcome(running, group, check)
                finally:
                    if self._told is not None or running.poll() is None:
                        guard.end_group(group)
                        running.wait()
            if lent and running.returncode == -signal.SIGINT:
                # Ctrl-C reached the command alone: it is for a script around it, too.
                os.killpg(os.getpgrp(), signal.SIGINT)
            return status

    def _outcome(
        self, running: subprocess.Popen[bytes], group: int, check: Callable[[], None]
    ) -> int:
        if self._told is not None:
            # It may have come while the command was not yet itself.
            guard.tell(group, signal.SIGTERM)
        while running.poll() is None:
            check()
            if self._told is not None and time.monotonic() > self._told + guard.GRACE:
                guard.tell(group, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.wait(_POLL)
        code = running.returncode
        # As a shell reports a command that a signal ended.
        return 128 - code if code < 0 else code

    def _pass_on(self, number: int, _: FrameType | None) -> None:
        if self._group is None:
            raise EndedError(number)
        self._told = self._told or time.monotonic()
        guard.tell(self._group, number)


def _start(
    command: list[str], environment: dict[str, str], group: int
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(command, env=environment, process_group=group)
    except OSError as error:
        raise NotStartedError(f"{command[0]}: {error.strerror}") from error


@contextmanager
def _guard() -> Iterator[int]:
    """
    Start the leader of a process group, which ends it if this process is killed.
    """
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", guard.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # Nobody waits for its end to read the last line.
        process_group=0,
    )
    with process:
        if process.stdout is not None:
            process.stdout.read(1)
        try:
            yield process.pid
        finally:
            with contextlib.suppress(BrokenPipeError):
                process.communicate(b".")


@contextmanager
def _foreground(group: int) -> Iterator[bool]:
    """
    Lend the terminal to a group, if there is one and it is this process's to lend;
    return whether it is.

    Otherwise a command that asks a question would be stopped for reading the answer.
    """
    try:
        terminal = os.open(os.ctermid(), os.O_RDWR)
    except OSError:
        yield False
        return
    try:
        if os.tcgetpgrp(terminal) != os.getpgrp():
            yield False
            return
        # Ctrl-Z would stop the command alone, and nobody could continue it.
        ignored = {
            number: signal.signal(number, signal.SIG_IGN)
            for number in (signal.SIGTSTP, signal.SIGTTOU)
        }
        os.tcsetpgrp(terminal, group)
        try:
            yield True
        finally:
            # It may be closed by now.
            with contextlib.suppress(OSError):
                os.tcsetpgrp(terminal, os.getpgrp())
            for number, handler in ignored.items():
                signal.signal(number, handler)
    finally:
        os.close(terminal)
