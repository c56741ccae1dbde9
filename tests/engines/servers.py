"""
Real model servers on loopback, each from the environment that ``make engines`` made.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
ENVIRONMENTS = HERE.parents[1] / ".venv-engines"
_READY, _END, _WRITE = 120.0, 20.0, 120.0
# PyTorch takes all cores for a model that would be faster on one.
_THREADS = {"OMP_NUM_THREADS": "1"}


def write_model(environment: str, program: str, to: Path, *more: str) -> Path:
    """
    Make the tiny model in an engine's own form.
    """
    subprocess.run(
        [executable(environment, "python"), PROGRAMS / f"{program}.py", to, *more],
        env=_variables(to.parent),
        check=True,
        timeout=_WRITE,
    )
    return to


def executable(environment: str, name: str) -> Path:
    """
    Return a command of an engine's environment: installed, or compiled.
    """
    folder = ENVIRONMENTS / environment
    compiled = folder / "llama.cpp" / "bin" / name
    return compiled if compiled.exists() else folder / "bin" / name


def free_port() -> int:
    """
    Return a port that nobody listens on.
    """
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@contextmanager
def serving(
    command: Sequence[str | Path], port: int, *, ready: str, log: Path
) -> Iterator[str]:
    """
    Run a server until the end of the block; its address is there when it answers.

    Args:
        command: What starts it.

        port: Where it listens.

        ready: The path that is answered with 200 when it is ready.

        log: The file for what it prints.
    """
    url = f"http://127.0.0.1:{port}"
    with log.open("wb") as printed:
        process = subprocess.Popen(
            command, env=_variables(log.parent), stdout=printed, stderr=printed
        )
    try:
        _await(process, url + ready, log)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(_END)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def post(url: str, body: object) -> bytes:
    """
    Ask a server without anything between.
    """
    request = urllib.request.Request(  # noqa: S310 - an address of ours
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with _direct().open(request, timeout=_END) as answer:
        found: bytes = answer.read()
        return found


def _await(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + _READY
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with _direct().open(url, timeout=_END):
                return
        except (OSError, urllib.error.URLError):
            time.sleep(0.1)
    raise AssertionError(f"{url} never answered:\n{log.read_text()[-4000:]}")


def _direct() -> urllib.request.OpenerDirector:
    # Whatever proxy the machine has, it leads away from here.
    return urllib.request.build_opener(urllib.request.ProxyHandler({}))


def _variables(home: Path) -> dict[str, str]:
    # Neither the project's packages nor anybody's settings or models; nothing is
    # fetched.
    own = {"HOME": str(home), "HF_HOME": str(home), "HF_HUB_OFFLINE": "1"}
    return {"PATH": os.environ["PATH"], **own, **_THREADS}
