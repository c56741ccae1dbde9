"""
``sagemaker-llm local``: its options, what it says first, and how a command ends.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

from cdk_sagemaker_llm.cli.commands import local as command
from cdk_sagemaker_llm.cli.commands.local import Around, EndedError
from cdk_sagemaker_llm.local import EmbeddedAwsError, Fault
from cdk_sagemaker_llm.local.builds import guard
from cdk_sagemaker_llm.local.embedded import MissingPackageError
from tests.running import run


def made(*options: str) -> dict[str, Any]:
    """
    Return what the embedded AWS is made with, without starting it.
    """
    with (
        mock.patch.object(command, "EmbeddedAws") as aws,
        mock.patch.object(command, "_serve", return_value=0),
    ):
        done = run("local", *options)
    assert done.returncode == 0, done.stderr
    return dict(aws.call_args.kwargs)


def test_the_embedded_aws_is_made_as_the_options_say() -> None:
    """
    And by its own defaults where they say nothing.
    """
    assert made() == {
        "region": "us-east-1",
        "port": 4566,
        "account": "123456789012",
        "speed": None,
        "faults": [],
        "forward": {},
        "forward_anywhere": False,
        "custom_resources": {},
        "reports_to": 2,
    }
    assert made(
        *("--region", "eu-west-1", "--port", "0", "--account", "111111111111"),
        *("--speed", "60", "--fault", "slow,seconds=2", "--fault", "maintenance"),
        *("--forward", "a=http://127.0.0.1:8000", "--forward-anywhere"),
        *("--custom-resource", "Custom::It=mine.module:handle"),
    ) == {
        "region": "eu-west-1",
        "port": 0,
        "account": "111111111111",
        "speed": 60.0,
        "faults": [Fault.parse("slow,seconds=2"), Fault.parse("maintenance")],
        "forward": {"a": "http://127.0.0.1:8000"},
        "forward_anywhere": True,
        "custom_resources": {"Custom::It": "mine.module:handle"},
        "reports_to": 2,
    }


@pytest.mark.parametrize("text", ["x", "=m:f", "A=", "A=m", "A=m:", "A=:f"])
def test_a_handler_is_a_name_and_a_place(text: str) -> None:
    """
    Of a module and a function in it.
    """
    done = run("local", "--custom-resource", text)

    assert done.returncode == 2
    assert "Invalid value for --custom-resource" in done.stderr
    words = " ".join(done.stderr.replace("│", " ").split())
    assert f"custom_resource must be NAME=MODULE:FUNCTION, got {text!r}" in words


def test_a_fault_that_there_is_not_is_misuse() -> None:
    """
    By its option.
    """
    done = run("local", "--fault", "nothing")

    assert done.returncode == 2
    assert "Invalid value for --fault" in done.stderr


@pytest.mark.parametrize(
    ("error", "status"),
    [(EmbeddedAwsError("the port is in use"), 1), (MissingPackageError("no moto"), 2)],
)
def test_what_does_not_start_is_one_line(error: EmbeddedAwsError, status: int) -> None:
    """
    With 2 for what is not installed.
    """
    with (
        mock.patch.object(command, "EmbeddedAws"),
        mock.patch.object(command, "_serve", side_effect=error),
    ):
        done = run("local")

    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr == f"sagemaker-llm local: {error}\n"


class Aws:
    """
    Stands for an embedded AWS that runs.
    """

    def __init__(self, ends: BaseException | None = None, **given: object) -> None:
        self.url = "http://127.0.0.1:4566"
        self.speed: float | None = None
        self.forward = {"chat": "http://127.0.0.1:8000"}
        self.environment = {"AWS_ENDPOINT_URL": self.url, "ODD": "a b"}
        self.process_environment = {"IT": "runs", "PATH": os.environ["PATH"]}
        self.is_running = True
        self.entered = self.left = 0
        self._ends = ends
        vars(self).update(given)

    def __enter__(self) -> Aws:  # noqa: PYI034 - a stand-in
        self.entered += 1
        return self

    def __exit__(self, *_: object) -> None:
        self.left += 1

    def wait(self) -> None:
        """
        Run until it is stopped.
        """
        if self._ends is not None:
            raise self._ends

    def failure(self, what: str) -> EmbeddedAwsError:
        """
        Say why it ended.
        """
        return EmbeddedAwsError(f"the embedded AWS {what}")


def served(aws: Aws) -> list[str]:
    """
    Run it in the foreground; return what is said.
    """
    with mock.patch.object(command, "EmbeddedAws", return_value=aws):
        done = run("local")
    assert (done.returncode, done.stderr) == (0, "")
    assert (aws.entered, aws.left) == (1, 1)
    return done.stdout.splitlines()


NOTICE = [
    "The embedded AWS answers at http://127.0.0.1:4566",
    "This is an EMULATION of AWS on this machine: no account, no cost, no model.",
    ("It does not check IAM policies, quotas, whether images exist, or GPU memory."),
    "Its state is lost when it stops.",
]


@pytest.mark.parametrize(
    ("speed", "pace"),
    [
        (None, ["Nothing takes any time; --speed lets it pass."]),
        (
            60.0,
            [
                (
                    "Time passes 60 times as fast as on the wall: states, timestamps "
                    "and waits are"
                ),
                "those of a clock that runs ahead of it.",
            ],
        ),
        (
            1.0,
            [
                (
                    "Time passes 1 times as fast as on the wall: states, timestamps "
                    "and waits are"
                ),
                "those of a clock that keeps up with it at most.",
            ],
        ),
    ],
)
def test_it_says_first_where_it_is_and_what(
    speed: float | None, pace: list[str]
) -> None:
    """
    Each line of it, with what points the AWS tools at it.
    """
    assert served(Aws(speed=speed)) == [
        *NOTICE,
        *pace,
        "",
        "Requests to chat are answered by http://127.0.0.1:8000",
        "Point the AWS tools at it:",
        "  export AWS_ENDPOINT_URL=http://127.0.0.1:4566",
        "  export ODD='a b'",
        "",
        "Ctrl-C stops it.",
    ]


def test_ctrl_c_stops_it_and_sigterm_too() -> None:
    """
    Which it leaves as it was.
    """
    before = signal.getsignal(signal.SIGTERM)
    told: list[object] = []

    class Watched(Aws):
        def wait(self) -> None:
            told.append(signal.getsignal(signal.SIGTERM))
            super().wait()

    assert served(Watched(KeyboardInterrupt()))[-2:] == ["", "Stopped."]
    assert told == [signal.default_int_handler]
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_signal_that_comes_too_early_ends_as_a_shell_says_it() -> None:
    """
    There is no command yet that could be told.
    """
    with pytest.raises(EndedError) as raised, Around():
        os.kill(os.getpid(), signal.SIGTERM)
    assert raised.value.status == 143
    hung_up = EndedError(signal.SIGHUP)
    with (
        mock.patch.object(command, "EmbeddedAws", return_value=Aws()),
        mock.patch.object(command, "Around", side_effect=hung_up),
    ):
        assert run("local", "--", "true").returncode == 129


def test_a_command_that_does_not_end_is_killed() -> None:
    """
    When it has been told, and its time is over.
    """
    looks = []

    def look() -> None:
        looks.append("")
        # It has begun by then.
        if len(looks) == 2:
            os.kill(os.getpid(), signal.SIGTERM)

    stubborn = "trap '' TERM; while :; do sleep 0.02; done"
    with mock.patch.object(guard, "GRACE", 0.1), Around() as around:
        environment = {"PATH": os.environ["PATH"]}
        status = around.run(["sh", "-c", stubborn], environment, look)

    assert status == 137
    assert len(looks) > 2


@pytest.fixture(name="heeded")
def _heeded() -> Iterator[None]:
    """
    Heed Ctrl-C, which a shell has its background jobs ignore, and these their children.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeded")
def test_signals_are_passed_on_unless_they_are_ignored() -> None:
    """
    And are what they were when it is over.
    """
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def handlers() -> list[object]:
        return [signal.getsignal(number) for number in numbers]

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        outside = handlers()
        with Around():
            inside = handlers()
        assert handlers() == outside
    finally:
        signal.signal(signal.SIGHUP, before)
    assert inside[0] == inside[1] not in outside
    assert inside[2] == signal.SIG_IGN


@pytest.mark.usefixtures("heeded")
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["sh", "-c", 'test "$IT" = runs'], 0),
        (["sh", "-c", "exit 5"], 5),
        (["sh", "-c", "kill -9 $$"], 137),
        (["sh", "-c", "kill -2 $$"], 130),
    ],
)
def test_a_command_runs_in_its_environment(arguments: list[str], status: int) -> None:
    """
    And its status is the command's.
    """
    aws = Aws()
    with mock.patch.object(command, "EmbeddedAws", return_value=aws):
        done = run("local", "--", *arguments)

    assert (done.returncode, done.stderr) == (status, "")
    assert (aws.entered, aws.left) == (1, 1)


def test_a_command_that_is_not_there_is_one_line() -> None:
    """
    With what a shell answers.
    """
    with mock.patch.object(command, "EmbeddedAws", return_value=Aws()):
        done = run("local", "--", "no-such-command")

    assert (done.returncode, done.stdout) == (127, "")
    assert done.stderr == (
        "sagemaker-llm local: no-such-command: No such file or directory\n"
    )


def test_a_server_that_ends_ends_the_command() -> None:
    """
    With why.
    """
    with mock.patch.object(command, "EmbeddedAws", return_value=Aws(is_running=False)):
        done = run("local", "--", "sleep", "60")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "sagemaker-llm local: the embedded AWS ended while the command ran\n"
    )
