"""
Servers of the embedded AWS that are forked from one process which has them imported.

A server of its own takes two seconds of CPU to import moto, and tests start some forty.
Each is a process still, with its own state, its own environment and its own end;
`tests/local/test_embedded.py` starts them as users do.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import subprocess
import sys
from contextlib import AbstractContextManager
from multiprocessing import reduction
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from botocore import loaders

from cdk_sagemaker_llm.local import embedded

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.context import ForkServerProcess

_FORKING = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload(["cdk_sagemaker_llm.local.server"])


def forked_servers() -> AbstractContextManager[object]:
    """
    Have servers forked until the context ends.
    """
    return mock.patch.object(embedded, "subprocess", _Subprocess())


class _Subprocess:
    """
    The module `subprocess` as `EmbeddedAws` knows it.
    """

    def __getattr__(self, name: str) -> object:
        return getattr(subprocess, name)

    @staticmethod
    def Popen(  # noqa: N802 - its name there
        command: Sequence[str],
        **settings: Any,  # noqa: ANN401 - whatever it takes
    ) -> subprocess.Popen[bytes]:
        """
        Fork a server, as its command says.
        """
        if len(settings["pass_fds"]) > 1:  # The second is for what it reports.
            return subprocess.Popen(command, **settings)
        return _fork(command[command.index("--region") :], **settings)


class _Forked(subprocess.Popen[bytes]):
    """
    What `subprocess.Popen` tells of a process, of one that was forked.
    """

    def __init__(self, process: ForkServerProcess, stdin: int) -> None:
        self._process = process
        self.pid = process.pid or 0
        self._input = self.stdin = os.fdopen(stdin, "wb")
        self.returncode = None

    def __del__(self) -> None:
        self._input.close()

    def poll(self) -> int | None:
        code = self._process.exitcode
        if code is not None:
            self.returncode = code
        return code

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired("the server", timeout or 0.0)
        return code

    def kill(self) -> None:
        self._process.kill()


def _fork(
    arguments: Sequence[str],
    *,
    pass_fds: Sequence[int],
    env: dict[str, str],
    stdout: Any,  # noqa: ANN401 - a file
    **_: object,
) -> _Forked:
    theirs, ours = os.pipe()
    given = map(reduction.DupFd, (*pass_fds, theirs, stdout.fileno()))
    place = str(Path.cwd())
    process = _FORKING.Process(target=_serve, args=(arguments, env, place, *given))
    process.start()
    os.close(theirs)
    return _Forked(process, ours)


def _serve(
    arguments: Sequence[str],
    environment: dict[str, str],
    place: str,
    *given: Any,  # noqa: ANN401 - of a private class
) -> None:
    listener, stdin, output = (each.detach() for each in given)
    os.setpgid(0, 0)
    os.dup2(stdin, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - to the end
    # What `python -m` looks for modules in.
    os.chdir(place)
    sys.path.insert(0, place)
    os.environ.clear()
    os.environ.update(environment)
    loaders.create_loader = functools.cache(loaders.create_loader)
    from cdk_sagemaker_llm.local import server  # noqa: PLC0415 - there already

    server.main(["--fd", str(listener), *arguments])
