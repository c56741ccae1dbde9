"""
How ``sagemaker-llm local -- COMMAND`` ends, and its command with it.
"""

from __future__ import annotations

import os
import pty
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cdk_sagemaker_llm.local.builds import guard
from tests.local.test_command import LOCAL, ended, started

_LIMIT = 60

# A process that says who it is, and whose connection ends when it does; a leader of
# two has a child that is such a process too.
TALKER = """
import os, signal, socket, subprocess, sys, time
talk = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
for number in sys.argv[3:]:
    signal.signal(int(number), signal.SIG_IGN)
if sys.argv[2] == "leader":
    arguments = [sys.argv[1], "child", *sys.argv[3:]]
    subprocess.Popen([sys.executable, "-c", os.environ["TALKER"], *arguments])
talk.sendall(b"!")
talk.recv(1)
"""


class Listener:
    """
    What talkers connect to.
    """

    def __init__(self, server: socket.socket) -> None:
        self._server = server
        self.port = str(server.getsockname()[1])

    def meet(self, count: int) -> list[socket.socket]:
        """
        Wait until so many talkers are there.
        """
        met = [self._server.accept()[0] for _ in range(count)]
        for talk in met:
            talk.settimeout(_LIMIT)
            assert talk.recv(1) == b"!"
        return met


@pytest.fixture(name="listener")
def _listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[Listener]:
    monkeypatch.setenv("TALKER", TALKER)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(_LIMIT)
        yield Listener(server)


def leader(listener: Listener, *ignored: int) -> list[str]:
    """
    Return a command of two processes that ignore signals.
    """
    numbers = [str(int(number)) for number in ignored]
    return [sys.executable, "-c", TALKER, listener.port, "leader", *numbers]


def gone(met: list[socket.socket]) -> bool:
    """
    Wait until the talkers have ended.
    """
    for talk in met:
        with talk:
            try:
                rest = talk.recv(1)
            except ConnectionResetError:
                rest = b""
        if rest:
            return False
    return True


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        *(
            pytest.param(number, marks=pytest.mark.whole)
            for number in (signal.SIGINT, signal.SIGHUP)
        ),
    ],
)
def test_a_signal_to_it_alone_ends_all_of_the_command(
    number: signal.Signals, listener: Listener
) -> None:
    """
    What the command has started, too; its status is a shell's for the signal.
    """
    with started(*LOCAL, "--", *leader(listener)) as running:
        met = listener.meet(2)
        running.send_signal(number)
        ended(running)

        assert running.returncode == 128 + number
        assert gone(met)


@pytest.mark.whole
def test_a_killed_one_takes_its_command_with_it(listener: Listener) -> None:
    """
    Although it cannot do anything any more.
    """
    with started(*LOCAL, "--", *leader(listener)) as running:
        met = listener.meet(2)
        running.kill()

        assert gone(met)


@pytest.mark.whole
def test_a_command_that_goes_on_is_killed(listener: Listener) -> None:
    """
    After its time for cleaning up.
    """
    code = (
        "import sys\n"
        "from cdk_sagemaker_llm.cli import main\n"
        "from cdk_sagemaker_llm.local.builds import guard\n"
        "guard.GRACE = 0.5\n"
        "main()"
    )
    command = leader(listener, signal.SIGTERM)

    with started(
        sys.executable, "-c", code, "local", "--port", "0", "--", *command
    ) as running:
        met = listener.meet(2)
        running.terminate()
        ended(running)

        assert running.returncode == 128 + signal.SIGKILL
        assert gone(met)


@pytest.mark.whole
def test_a_child_that_goes_on_is_killed_as_well(listener: Listener) -> None:
    """
    When the command itself has ended.
    """
    code = (
        "from cdk_sagemaker_llm.cli import main\n"
        "from cdk_sagemaker_llm.local.builds import guard\n"
        "guard.GRACE = 0.5\n"
        "main()"
    )
    child = textwrap.dedent("""
        import os, subprocess, sys
        arguments = [sys.argv[1], "child", sys.argv[2]]
        subprocess.run([sys.executable, "-c", os.environ["TALKER"], *arguments])
    """)
    command = [sys.executable, "-c", child, listener.port, str(int(signal.SIGTERM))]

    with started(
        sys.executable, "-c", code, "local", "--port", "0", "--", *command
    ) as running:
        met = listener.meet(1)
        running.terminate()
        ended(running)

        assert running.returncode == 128 + signal.SIGTERM
        assert gone(met)


@pytest.mark.whole
def test_a_server_that_is_killed_ends_all_of_the_command(listener: Listener) -> None:
    """
    There is nothing left to work on.
    """
    with started(*LOCAL, "--", *leader(listener)) as running:
        met = listener.meet(2)
        os.kill(_server_of(running.pid), signal.SIGKILL)
        shown = ended(running)

        assert running.returncode == 1
        assert "the embedded AWS ended while the command ran (exit status -9)" in shown
        assert gone(met)


def _server_of(parent: int) -> int:
    for path in Path("/proc").glob("[0-9]*/stat"):
        words = path.read_text().rpartition(")")[2].split()
        line = path.with_name("cmdline").read_bytes()
        if int(words[1]) == parent and b"cdk_sagemaker_llm.local" in line:
            return int(path.parent.name)
    pytest.fail("there is no server")


@pytest.mark.whole
def test_what_a_command_leaves_running_is_left(listener: Listener) -> None:
    """
    One that ends by itself knows what it does.
    """
    child = textwrap.dedent("""
        import os, subprocess, sys
        arguments = [sys.argv[1], "child"]
        subprocess.Popen([sys.executable, "-c", os.environ["TALKER"], *arguments],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        sys.stdin.readline()
        sys.exit(5)
    """)
    running = subprocess.Popen(
        [*LOCAL, "--", sys.executable, "-c", child, listener.port],
        stdin=subprocess.PIPE,
    )
    (talk,) = listener.meet(1)
    running.communicate(b"go\n", timeout=_LIMIT)
    talk.settimeout(0)

    assert running.returncode == 5
    with talk, pytest.raises(BlockingIOError):  # It ends when its talk does.
        talk.recv(1)


BEFORE = """
import os, signal, subprocess, sys
from cdk_sagemaker_llm.cli import main
from cdk_sagemaker_llm.local import EmbeddedAws
real = subprocess.Popen
def early(command, **given):
    if {when}:
        os.kill(os.getpid(), signal.SIGTERM)
    return real(command, **given)
subprocess.Popen = early
main()
"""


@pytest.mark.whole
@pytest.mark.parametrize(
    "when",
    [
        "'cdk_sagemaker_llm.local' in command",
        "'-I' in command",
        "'touch' in command",
    ],
    ids=["before the server", "before the guard", "before the command"],
)
def test_a_signal_before_the_command_is_there_is_not_lost(
    when: str, tmp_path: Path
) -> None:
    """
    It does not run, or not for long.
    """
    code = BEFORE.format(when=when)
    script = 'touch "$0"; exec sleep 600'
    command = ["sh", "-c", script, str(tmp_path / "ran"), "touch"]
    begun = time.monotonic()

    with started(
        sys.executable, "-c", code, "local", "--port", "0", "--", *command
    ) as running:
        ended(running)

    assert running.returncode == 128 + signal.SIGTERM
    assert time.monotonic() - begun < _LIMIT
    if "touch" not in when:
        assert not (tmp_path / "ran").exists()


@pytest.fixture(name="hang_up", autouse=True)
def _hang_up() -> Iterator[None]:
    """
    Let children be ended by SIGHUP, also where the tests themselves run under nohup.
    """
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@contextmanager
def terminal(*command: str | Path) -> Iterator[tuple[int, int]]:
    """
    Run a command as the first of a terminal of its own.
    """
    process, descriptor = pty.fork()
    if process == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        words = [str(word) for word in command]
        os.execv(words[0], words)  # noqa: S606 - the terminal is its own
    try:
        yield process, descriptor
    finally:
        os.close(descriptor)


def until(descriptor: int, words: str | None = None) -> str:
    """
    Return what a terminal shows up to some words, or to its end.
    """
    shown = ""
    while words is None or words not in shown:
        try:
            shown += os.read(descriptor, 1024).decode()
        except OSError:
            break
    return shown


# No Python: that may miss a signal that comes just before it begins to wait.
ASKING = 'printf "really? "; read -r answer; echo "answered $answer"'


@pytest.mark.parametrize(
    ("typed", "status"), [(b"yes\n", 0), (b"\x1ayes\n", 0), (b"\x03", 130)]
)
def test_a_terminal_is_the_commands(typed: bytes, status: int) -> None:
    """
    It may ask, Ctrl-C is for it, and Ctrl-Z for nobody.
    """
    with terminal(*LOCAL, "--", "sh", "-c", ASKING) as (process, descriptor):
        until(descriptor, "really? ")
        os.write(descriptor, typed)
        # To its end: a terminal waits until what it shows is read.
        shown = until(descriptor)
        _, code = os.waitpid(process, 0)

    assert os.waitstatus_to_exitcode(code) == status
    assert ("answered yes" in shown) is (status == 0)


@pytest.mark.whole
def test_ctrl_c_ends_a_script_around_it_as_well() -> None:
    """
    As if the command had no group of its own.
    """
    script = '"$0" local --port 0 -- sh -c "$1"; echo "went on"'
    with terminal("/bin/sh", "-c", script, LOCAL[0], ASKING) as (process, descriptor):
        until(descriptor, "really? ")
        os.write(descriptor, b"\x03")
        shown = until(descriptor)
        _, code = os.waitpid(process, 0)

    assert os.waitstatus_to_exitcode(code) == -signal.SIGINT
    assert "went on" not in shown


@pytest.mark.parametrize("look", [guard._from_proc, guard._from_ps])  # noqa: SLF001 - both
def test_processes_are_listed_with_their_groups(
    look: Callable[[], list[tuple[int, int, str]]],
) -> None:
    """
    On Linux by its own files, elsewhere by the command for it.
    """
    found = {process: group for process, group, _ in look()}

    assert found[os.getpid()] == os.getpgrp()
