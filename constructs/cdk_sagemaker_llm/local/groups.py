"""
Groups of processes that end with the embedded AWS, by whatever signal it ends.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys

from cdk_sagemaker_llm.local import guard
from cdk_sagemaker_llm.local.untyped import Untyped


class Group:
    """
    A process group whose leader watches over this process.
    """

    def __init__(self) -> None:
        self._leader = subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__],
            stdin=subprocess.PIPE,  # Its end is this process's end.
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        if self._leader.stdout is not None:
            # It takes no more signals from here on, and is there for others to join.
            self._leader.stdout.read(1)

    def start(self, command: list[str], **settings: Untyped) -> subprocess.Popen[bytes]:
        """
        Start a process in the group; the settings are those of ``Popen``.

        Raises:
            OSError: If the group was killed, or there is no such program.
        """
        leader = self._leader.pid
        process: Untyped = subprocess.Popen(command, process_group=leader, **settings)
        started: subprocess.Popen[bytes] = process
        return started

    def kill(self) -> None:
        """
        Kill what is left of the group, and its leader.
        """
        with contextlib.suppress(PermissionError):
            guard.tell(self._leader.pid, signal.SIGKILL)
        self._leader.wait()
        for pipe in (self._leader.stdin, self._leader.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
