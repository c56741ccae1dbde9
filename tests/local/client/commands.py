"""
The command as a shell runs it: in a process of its own where it has a terminal, is sent
a signal, makes load, or runs a command of its own.
"""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests import running

COMMAND = Path(sys.executable).parent / "sagemaker-llm"
LIMIT = 60.0
# A line deploys, and asks.
_LINE_LIMIT = 240.0
ROOT = Path(__file__).parents[3]
# Locust changes the process that it runs in, and a child writes to its files.
_ALONE = {"load-test", "benchmark", "local"}
_TERMINAL = {"TERM": "xterm-256color", "COLUMNS": "200"}
_WISHES = ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")


def clean(environment: Mapping[str, str]) -> dict[str, str]:
    """
    Return variables as on a plain terminal.
    """
    kept = {name: value for name, value in environment.items() if name not in _WISHES}
    return {**kept, **_TERMINAL}


def run(
    environment: Mapping[str, str], *arguments: str | bytes, said: str | bytes = b""
) -> subprocess.CompletedProcess[str]:
    """
    Run the command to its end, with something on its standard input.
    """
    given = said.encode() if isinstance(said, str) else said
    if arguments[0] not in _ALONE:
        return running.run(*arguments, environment=clean(environment), said=given)
    done = subprocess.run(
        [COMMAND, *arguments],
        env=clean(environment),
        input=given,
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    texts = done.stdout.decode(), done.stderr.decode()
    return subprocess.CompletedProcess(done.args, done.returncode, *texts)


@contextmanager
def foreground() -> Iterator[None]:
    """
    Have children be told of Ctrl-C, also where the tests run in the background.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Terminal:
    """
    A command on a terminal of its own.

    Args:
        environment: Its variables.

        arguments: What it is called with.
    """

    def __init__(self, environment: Mapping[str, str], *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        with foreground():
            self._process = subprocess.Popen(
                [COMMAND, *arguments],
                env=clean(environment),
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                start_new_session=True,
            )
        os.close(theirs)
        self.shown = ""
        self._unread = ""

    def type(self, text: str) -> None:
        """
        Press keys.
        """
        os.write(self._ours, text.encode())

    def interrupt(self, text: str) -> None:
        """
        Press Ctrl-C until something shows.

        Python's line editor may miss it in the moment in which it begins to wait.
        """
        seen = ""
        for _ in range(round(LIMIT)):
            self._process.send_signal(signal.SIGINT)
            seen += self._within(1.0, text)
            if text in seen:
                return
        raise AssertionError(f"it never showed {text!r} but {seen!r}")

    def await_text(self, text: str) -> str:
        """
        Wait until something shows that was not there before; return all since then.
        """
        seen = self._within(LIMIT, text)
        assert text in seen, f"it never showed {text!r} but {seen!r}"
        return seen

    def end(self) -> int:
        """
        Wait for its end; return its status, and have the rest in ``shown``.
        """
        self.shown += self._unread
        while more := self._read():
            self.shown += more
        os.close(self._ours)
        return self._process.wait(LIMIT)

    def kill(self) -> None:
        """
        End it, if it has not ended.
        """
        self._process.kill()
        self._process.wait()

    def _within(self, seconds: float, text: str) -> str:
        deadline, seen = time.monotonic() + seconds, self._unread
        while text not in seen:
            left = max(0.0, deadline - time.monotonic())
            ready, _, _ = select.select([self._ours], [], [], left)
            more = self._read() if ready else ""
            if not more:
                break
            seen += more
        # What stands behind it is there for the next look.
        before, found, self._unread = seen.partition(text)
        return before + found

    def _read(self) -> str:
        try:
            return os.read(self._ours, 65_536).decode(errors="replace")
        except OSError:  # Linux: the other end is closed.
            return ""


def run_line(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """
    Run a line of a shell in the checkout, with what ``make setup`` brings.

    Args:
        line: The line, as a document has it.

        folder: Where it may write.
    """
    places = (Path(sys.executable).parent, ROOT / "node_modules" / ".bin")
    return subprocess.run(
        ["sh", "-c", line],
        cwd=ROOT,
        env=clean(
            {
                **os.environ,
                "CDK_OUTPUT": str(folder / "cdk.out"),
                "HOME": str(folder),
                "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
                "PATH": os.pathsep.join([*map(str, places), os.environ["PATH"]]),
            }
        ),
        capture_output=True,
        text=True,
        timeout=_LINE_LIMIT,
        check=False,
    )
