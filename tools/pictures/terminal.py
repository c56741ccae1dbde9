"""
A command on a terminal of its own, and what is typed there.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence

_LIMIT = 60.0
_PROMPT = "> "


def shown_by(
    command: Sequence[str],
    variables: Mapping[str, str],
    typed: Sequence[str],
    columns: int,
) -> str:
    """
    Run a command to its end, and return all that showed.

    Args:
        command: What is run.

        variables: Its environment.

        typed: Lines that are typed, each when the prompt of a chat is there.

        columns: How wide the terminal is.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with subprocess.Popen(
        command,
        env={**variables, "TERM": "xterm-256color"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        shown = ""
        try:
            for line in typed:
                shown += _until_prompt(ours)
                os.write(ours, f"{line}\n".encode())
            shown += _rest(ours)
        finally:
            process.kill()
            os.close(ours)
    return shown


def _until_prompt(descriptor: int) -> str:
    deadline, seen = time.monotonic() + _LIMIT, ""
    while not seen.endswith(_PROMPT):
        ready, _, _ = select.select([descriptor], [], [], deadline - time.monotonic())
        more = _read(descriptor) if ready else ""
        if not more:
            raise RuntimeError(f"the chat never asked for a message, but said {seen!r}")
        seen += more
    return seen


def _rest(descriptor: int) -> str:
    seen = ""
    while more := _read(descriptor):
        seen += more
    return seen


def _read(descriptor: int) -> str:
    try:
        return os.read(descriptor, 65_536).decode(errors="replace")
    except OSError:  # Linux: the other end is closed.
        return ""
