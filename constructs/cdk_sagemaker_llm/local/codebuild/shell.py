"""
The shell that a build's commands are run in, one after the other.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

from cdk_sagemaker_llm.local.groups import Group

_POLL = 0.2  # Seconds between looks whether the shell is still there.
_CHUNK = 65_536
# It reads the names of files, runs each as a part of itself, so that folders and
# variables stay, and tells how it went on a line that nothing else prints.
_LOOP = """\
while IFS= read -r EMBEDDED_STEP; do
  . "$EMBEDDED_STEP" < /dev/null
  printf '%s%d\\n' '{token}' "$?"
done
"""


class Shell:
    """
    A shell in a group of processes.

    Args:
        group: The group.

        folder: Where the build has its source.

        steps: A folder for what the shell is to run.

        environment: Its variables.

        print_lines: Called with lines that came out, as they come.

    Raises:
        OSError: If the group was killed, or there is no bash.
    """

    def __init__(
        self,
        group: Group,
        folder: Path,
        steps: Path,
        environment: Mapping[str, str],
        print_lines: Callable[[list[str]], None],
    ) -> None:
        self._token = f"--{uuid.uuid4().hex}--"
        self._steps = steps
        self._print = print_lines
        self._left = b""
        self._process = group.start(
            ["bash", "--noprofile", "--norc", "-c", _LOOP.format(token=self._token)],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    @property
    def is_there(self) -> bool:
        """
        Whether it can run another command: a command may have ended it.
        """
        return self._process.poll() is None

    def run(self, command: str) -> str:
        """
        Run a command.

        Returns:
            Why it failed, in CodeBuild's words; nothing if it did not.
        """
        step = self._steps / uuid.uuid4().hex
        step.write_text(f"{command}\n", encoding="utf-8")
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.write(f"{step}\n".encode())
                self._process.stdin.flush()
        status = self._status()
        return (
            f"exit status {status}"
            if isinstance(status, int) and status
            else (status if isinstance(status, str) else "")
        )

    def close(self) -> None:
        """
        Let it go.
        """
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._process.wait()

    def _status(self) -> int | str:
        assert self._process.stdout is not None  # noqa: S101 - for mypy
        descriptor = self._process.stdout.fileno()
        while True:
            told = self._take()
            if told is not None:
                return told
            # What it has started in the background may keep the output open.
            if not select.select([descriptor], [], [], _POLL)[0]:
                if self.is_there:
                    continue
                break
            read = os.read(descriptor, _CHUNK)
            if not read:
                break
            self._left += read
        self._flush()
        code = self._process.wait()
        if code < 0:
            return f"signal: {_named(-code)}"
        return code

    def _take(self) -> int | None:
        """
        Print the whole lines that have come; return the status if one of them has it.
        """
        *lines, self._left = self._left.split(b"\n")
        printed: list[str] = []
        status = None
        for index, line in enumerate(lines):
            before, found, after = line.partition(self._token.encode())
            if not found:
                printed.append(_text(line))
                continue
            if before:
                printed.append(_text(before))
            status = int(after)
            # What comes from the background belongs to the next command.
            self._left = b"\n".join([*lines[index + 1 :], self._left])
            break
        if len(self._left) > _CHUNK:
            printed.append(_text(self._left))
            self._left = b""
        if printed:
            self._print(printed)
        return status

    def _flush(self) -> None:
        if self._left:
            self._print([_text(self._left)])
            self._left = b""


def _text(line: bytes) -> str:
    return line.rstrip(b"\r").decode(errors="replace")


def _named(number: int) -> str:
    # As Go has them, in which CodeBuild's agent is written.
    if number == signal.SIGKILL:
        return "killed"
    return str(signal.strsignal(number) or number).lower()
