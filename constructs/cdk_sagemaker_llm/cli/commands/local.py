"""
``sagemaker-llm local``: the embedded AWS in the foreground, or around a command.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated, Self

import typer

from cdk_sagemaker_llm.local import EmbeddedAws, EmbeddedAwsError, Fault
from cdk_sagemaker_llm.local.aws.faults import KINDS
from cdk_sagemaker_llm.local.aws.forwards import parse_forwards
from cdk_sagemaker_llm.local.builds import guard
from cdk_sagemaker_llm.local.embedded import DEFAULT_ACCOUNT, MissingPackageError

_DEFAULT_PORT = 4566
_STANDARD_ERROR = 2
_MISUSE = 2
_NOT_FOUND = 127  # What a shell answers for a command that is not there.

_NOTICE = """\
This is an EMULATION of AWS on this machine: no account, no cost, no model.
It does not check IAM policies, quotas, whether images exist, or GPU memory.
Its state is lost when it stops.
"""
_AT_ONCE = "Nothing takes any time; --speed lets it pass.\n"
_IN_TIME = """\
Time passes {speed:g} times as fast as on the wall: states, timestamps and waits are
those of a clock that {ahead}.
"""
_POLL = 0.2  # Seconds between looks at the server while a command runs.
_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# What is installed to have it.
EXTRA = "local"
CONTEXT_SETTINGS = {"allow_extra_args": True}


def local(
    context: typer.Context,
    *,
    port: Annotated[
        int,
        typer.Option(
            min=0,
            max=65535,
            help="Port on the loopback interface; 0 for any free one.",
        ),
    ] = _DEFAULT_PORT,
    region: Annotated[
        str, typer.Option(help="Region of requests that name none.")
    ] = "us-east-1",
    account: Annotated[
        str, typer.Option(help="Account that everything is in, 12 digits.")
    ] = DEFAULT_ACCOUNT,
    speed: Annotated[
        float | None,
        typer.Option(
            help="How fast time passes: 1 for real time, 60 for a minute a second. "
            "At most 86400. If omitted, nothing takes any.",
        ),
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND[,NAME=VALUE...]",
            help=f"What goes wrong from the beginning: {', '.join(KINDS)}; such as "
            "slow,seconds=2. If omitted, nothing does.",
        ),
    ] = None,
    forward: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=URL",
            help="Have a real model server on this machine answer for an endpoint or "
            "an inference component, as a=http://127.0.0.1:8000. If omitted, a "
            "stand-in answers.",
        ),
    ] = None,
    forward_anywhere: Annotated[
        bool,
        typer.Option(
            "--forward-anywhere", help="Let --forward lead to other machines."
        ),
    ] = False,
    custom_resource: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=MODULE:FUNCTION",
            help="A Python callable that stands for a type of custom resource.",
        ),
    ] = None,
) -> None:
    """
    Run an embedded AWS: until Ctrl-C, or around a command given after --.
    """
    try:
        aws = EmbeddedAws(
            region=region,
            port=port,
            account=account,
            speed=speed,
            faults=_faults(fault or []),
            forward=parse_forwards(forward or []),
            forward_anywhere=forward_anywhere,
            custom_resources=_handlers(custom_resource or []),
            reports_to=_STANDARD_ERROR,
        )
    except ValueError as error:
        # The message begins with what is wrong.
        hint = f"--{str(error).partition(' ')[0].replace('_', '-')}"
        raise typer.BadParameter(str(error), param_hint=hint) from error
    try:
        status = _around(aws, context.args) if context.args else _serve(aws)
    except EmbeddedAwsError as error:
        typer.echo(f"sagemaker-llm local: {error}", err=True)
        status = _MISUSE if isinstance(error, MissingPackageError) else 1
    raise typer.Exit(status)


def _handlers(texts: list[str]) -> dict[str, str]:
    found = {}
    for one in texts:
        name, _, place = one.partition("=")
        if not name or not all(place.partition(":")):
            raise ValueError(
                f"custom_resource must be NAME=MODULE:FUNCTION, got {one!r}"
            )
        found[name] = place
    return found


def _serve(aws: EmbeddedAws) -> int:
    # SIGINT is left as it was inherited: a shell lets its background jobs ignore it,
    # so that Ctrl-C is for the foreground alone. SIGTERM is how those are stopped.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with aws:
            _introduce(aws)
            aws.wait()
    except KeyboardInterrupt:
        typer.echo("\nStopped.")
    finally:
        signal.signal(signal.SIGTERM, before)
    return 0


def _introduce(aws: EmbeddedAws) -> None:
    typer.echo(f"The embedded AWS answers at {aws.url}")
    pace = _AT_ONCE
    if aws.speed is not None:
        ahead = "runs ahead of it" if aws.speed > 1 else "keeps up with it at most"
        pace = _IN_TIME.format(speed=aws.speed, ahead=ahead)
    typer.echo(_NOTICE + pace)
    for name, url in aws.forward.items():
        typer.echo(f"Requests to {name} are answered by {url}")
    typer.echo("Point the AWS tools at it:")
    for name, value in aws.environment.items():
        typer.echo(f"  export {name}={shlex.quote(value)}")
    typer.echo("\nCtrl-C stops it.")


def _faults(written: list[str]) -> list[Fault]:
    try:
        return [Fault.parse(one) for one in written]
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--fault") from error


def _around(aws: EmbeddedAws, command: list[str]) -> int:
    def check() -> None:
        if not aws.is_running:
            raise aws.failure("ended while the command ran")

    try:
        with Around() as around, aws:
            return around.run(command, aws.process_environment, check)
    except EndedError as ended:
        return ended.status
    except NotStartedError as error:
        typer.echo(f"sagemaker-llm local: {error}", err=True)
        return _NOT_FOUND


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
        self._signal_time: float | None = None
        self._group: int | None = None
        self._before: dict[int, Callable[[int, FrameType | None], object] | int] = {}

    def __enter__(self) -> Self:
        for number in _ENDINGS:
            handler = signal.getsignal(number)
            # A shell lets its background jobs ignore Ctrl-C, and nohup the end of the
            # terminal: so does the command, which inherits it.
            if handler is not signal.SIG_IGN:
                self._before[number] = signal.SIG_DFL if handler is None else handler
                signal.signal(number, self._pass_on)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def run(
        self, command: list[str], environment: dict[str, str], check: Callable[[], None]
    ) -> int:
        """
        Run a command to its end; return its exit status as a shell reports it.
        """
        with _guard() as group:
            with _foreground(group) as lent:
                self._group = group
                running = _start(command, environment, group)
                try:
                    status = self._outcome(running, group, check)
                finally:
                    if self._signal_time is not None or running.poll() is None:
                        guard.end_group(group)
                        running.wait()
            if lent and running.returncode == -signal.SIGINT:
                # Ctrl-C reached the command alone: it is for a script around it, too.
                os.killpg(os.getpgrp(), signal.SIGINT)
            return status

    def _outcome(
        self, running: subprocess.Popen[bytes], group: int, check: Callable[[], None]
    ) -> int:
        if self._signal_time is not None:
            # It may have come while the command was not yet itself.
            guard.tell(group, signal.SIGTERM)
        while running.poll() is None:
            check()
            if (
                self._signal_time is not None
                and time.monotonic() > self._signal_time + guard.GRACE
            ):
                guard.tell(group, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.wait(_POLL)
        code = running.returncode
        # As a shell reports a command that a signal ended.
        return 128 - code if code < 0 else code

    def _pass_on(self, number: int, _: FrameType | None) -> None:
        if self._group is None:
            raise EndedError(number)
        self._signal_time = self._signal_time or time.monotonic()
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
