"""
The command ``sagemaker-llm local``.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from cdk_sagemaker_llm.cli.commands import add_command
from cdk_sagemaker_llm.local import EmbeddedAws, EmbeddedAwsError, embedded

COMMAND = Path(sys.executable).parent / "sagemaker-llm"
LOCAL = (COMMAND, "local", "--port", "0")
_LIMIT = 60


def local(*arguments: str) -> subprocess.CompletedProcess[str]:
    """
    Run the command to its end.
    """
    return subprocess.run(
        [*LOCAL, *arguments],
        capture_output=True,
        text=True,
        timeout=_LIMIT,
        check=False,
    )


def test_help_names_the_subcommand() -> None:
    """
    Without loading what only a subcommand needs.
    """
    shown = subprocess.run(
        [COMMAND, "--help"], capture_output=True, text=True, check=True
    )

    assert "local" in shown.stdout


def test_a_command_runs_against_the_server() -> None:
    """
    Its output is its own, and so is its exit status.
    """
    code = (
        "import boto3, sys\n"
        "print(boto3.client('sts').get_caller_identity()['Account'])\n"
        "sys.exit(7)"
    )

    done = local("--", sys.executable, "-c", code)
    assert done.stdout == "123456789012\n"
    assert done.stderr == ""
    assert done.returncode == 7


def test_a_command_that_is_not_there() -> None:
    """
    One line, and a shell's status for it.
    """
    done = local("--", "no-such-command")

    assert done.returncode == 127
    assert done.stderr == (
        "sagemaker-llm local: no-such-command: No such file or directory\n"
    )


def test_ctrl_c_stops_it_cleanly() -> None:
    """
    After it said what it is and what to export.
    """
    with started() as running:
        shown = read_to(running, "Ctrl-C stops it")
        running.send_signal(signal.SIGINT)
        shown += ended(running)

    assert running.returncode == 0
    assert "This is an EMULATION of AWS" in shown
    assert "does not check IAM policies, quotas" in shown
    assert "export AWS_ENDPOINT_URL=http://localhost:" in shown
    assert shown.endswith("Stopped.\n")
    assert "Traceback" not in shown


@pytest.mark.whole
@pytest.mark.parametrize("foreground", [True, False])
def test_sigterm_stops_it_as_ctrl_c_does(foreground: bool) -> None:  # noqa: FBT001 - by name
    """
    A background job too, which a shell starts with SIGINT ignored.
    """
    with started(foreground=foreground) as running:
        read_to(running, "Ctrl-C stops it")
        running.send_signal(signal.SIGTERM)
        shown = ended(running)

    assert running.returncode == 0
    assert shown.endswith("\nStopped.\n")
    assert "Traceback" not in shown


@pytest.mark.whole
def test_a_background_job_goes_on_ignoring_ctrl_c() -> None:
    """
    That key is for what runs in the foreground.
    """
    with started(foreground=False) as running:
        shown = read_to(running, "Ctrl-C stops it")
        running.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(1)
        url = shown.partition("answers at ")[2].split()[0]
        with urllib.request.urlopen(f"{url}/_embedded/health") as answer:  # noqa: S310 - ours
            status = answer.status
        running.terminate()
        ended(running)

    assert status == 200


@pytest.mark.whole
def test_sigterm_while_it_starts_stops_it_as_well() -> None:
    """
    It is no error, and the server has ended by then.
    """
    code = (
        "import atexit, os, signal, sys\n"
        "from cdk_sagemaker_llm.cli import main\n"
        "from cdk_sagemaker_llm.local import EmbeddedAws\n"
        "def interrupted(aws):\n"
        "    atexit.register(lambda it: print(it.poll() is not None), aws._process)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "EmbeddedAws._await_answer = interrupted\n"
        "sys.argv = ['sagemaker-llm', 'local', '--port', '0']\n"
        "main()"
    )

    with started(sys.executable, "-c", code) as running:
        shown = ended(running)

    assert running.returncode == 0
    assert shown == "\nStopped.\nTrue\n"


def test_sigterm_is_passed_on_to_the_command() -> None:
    """
    It may clean up, and its exit status is its own.
    """
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit('cleaned up'))\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)"
    )

    with started(*LOCAL, "--", sys.executable, "-c", code) as running:
        read_to(running, "ready")
        running.terminate()
        shown = ended(running)

    assert running.returncode == 1
    assert shown == "cleaned up\n"


@contextmanager
def started(
    *command: str | Path, foreground: bool = True
) -> Iterator[subprocess.Popen[str]]:
    """
    Start a command as a shell does in the foreground, or in the background.

    A child ignores what its parent ignores when it is started. The tests may
    themselves run in the background.
    """
    handler = signal.default_int_handler if foreground else signal.SIG_IGN
    before = signal.signal(signal.SIGINT, handler)
    try:
        running = subprocess.Popen(
            command or LOCAL,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    with running:
        try:
            yield running
        finally:
            running.kill()  # Nothing waits for one that did not stop.


def read_to(running: subprocess.Popen[str], words: str) -> str:
    """
    Return what a command prints up to the line with these words.
    """
    assert running.stdout is not None
    shown = ""
    for line in running.stdout:
        shown += line
        if words in line:
            return shown
    pytest.fail(f"it ended without {words!r} and printed: {shown}")


def ended(running: subprocess.Popen[str]) -> str:
    """
    Return the rest of what a command prints, once it has ended.
    """
    assert running.stdout is not None
    running.wait(_LIMIT)
    return running.stdout.read()


def test_a_port_in_use_is_one_line() -> None:
    """
    Not a traceback.
    """
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = local("--port", port)

    assert done.returncode == 1
    assert done.stderr == (
        f"sagemaker-llm local: port {port} is in use; choose another one, or 0 for "
        "any free one\n"
    )


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_cannot_be_is_refused(port: int) -> None:
    """
    By the command as a usage error, by the handle in one sentence.
    """
    done = subprocess.run(
        [COMMAND, "local", "--port", str(port)],
        capture_output=True,
        text=True,
        timeout=_LIMIT,
        check=False,
    )

    assert done.returncode == 2
    assert f"{port} is not in the range 0<=x<=65535" in done.stderr
    with pytest.raises(EmbeddedAwsError, match=f"port {port} cannot be used"):
        EmbeddedAws(port=port).start()


def test_a_server_that_dies_ends_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    One message with what it printed last, and a status that is not zero.
    """
    monkeypatch.setattr(embedded, "_SERVER", "tests.local.dying_server")
    app = typer.Typer()
    add_command(app, "local")
    forever = "import time; time.sleep(60)"

    done = CliRunner().invoke(app, ["--port", "0", "--", sys.executable, "-c", forever])
    assert done.exit_code == 1
    assert done.output == (
        "sagemaker-llm local: the embedded AWS ended while the command ran (exit "
        "status 3); it printed last:\n  out of memory\n"
    )


def test_an_option_it_does_not_have_is_no_command() -> None:
    """
    A command comes after --.
    """
    done = local("--prot", "5000")

    assert done.returncode == 2
    assert "No such option: --prot" in done.stderr


@pytest.mark.parametrize("package", ["typer", "moto"])
def test_a_missing_extra_is_one_line(package: str) -> None:
    """
    With the command that installs it.
    """
    code = textwrap.dedent(f"""
        import importlib.util, sys
        found = importlib.util.find_spec
        sys.modules[{package!r}] = None
        importlib.util.find_spec = (
            lambda name: None if name == {package!r} else found(name)
        )
        sys.argv = ["sagemaker-llm", "local"]
        from cdk_sagemaker_llm.cli import main
        main()
    """)

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=_LIMIT,
        check=False,
    )
    assert done.returncode == 2
    assert f"needs {package}; install it with: pip install" in done.stderr
    assert "Traceback" not in done.stderr


def test_state_lives_as_long_as_the_server() -> None:
    """
    A second one knows nothing of the first.
    """
    with EmbeddedAws() as first:
        first.client("s3").create_bucket(Bucket="kept")
        assert len(first.client("s3").list_buckets()["Buckets"]) == 1
    with EmbeddedAws() as second:
        assert second.client("s3").list_buckets()["Buckets"] == []


def test_the_account_and_the_region_are_the_commands() -> None:
    """
    As asked for, the region in the variable that the tools read; an account that is
    none is refused with the option's name.
    """
    code = (
        "import boto3, os\n"
        "print(boto3.client('sts').get_caller_identity()['Account'])\n"
        "print(os.environ['AWS_REGION'])"
    )
    there = ("--account", "111122223333", "--region", "eu-west-1")

    done = local(*there, "--", sys.executable, "-c", code)
    wrong = local("--account", "1234", "--", "true")
    assert done.stdout == "111122223333\neu-west-1\n"
    assert wrong.returncode == 2
    assert "--account" in wrong.stderr
    assert "must be 12 digits" in wrong.stderr
