"""
``sagemaker-llm local``: the embedded AWS in the foreground, or around a command.
"""

from __future__ import annotations

import shlex
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, NoReturn

import typer

from cdk_sagemaker_llm.cli.around import Around, EndedError, NotStartedError
from cdk_sagemaker_llm.local import EmbeddedAws, EmbeddedAwsError, Fault
from cdk_sagemaker_llm.local.aws.embedded import DEFAULT_ACCOUNT
from cdk_sagemaker_llm.local.aws.faults import KINDS
from cdk_sagemaker_llm.local.aws.forwards import parse_forwards

_DEFAULT_PORT = 4566
_STANDARD_ERROR = 2
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


def register(app: typer.Typer) -> None:
    """
    Add the subcommand.
    """
    app.command("local", context_settings={"allow_extra_args": True})(local)


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
            "At most 86400. If left out, nothing takes any.",
        ),
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND[,NAME=VALUE...]",
            help=f"What goes wrong from the beginning: {', '.join(KINDS)}; such as "
            "slow,seconds=2. If left out, nothing does.",
        ),
    ] = None,
    forward: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=URL",
            help="Have a real model server on this machine answer for an endpoint or "
            "an inference component, as a=http://127.0.0.1:8000. If left out, a "
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
    named = (one.partition("=") for one in custom_resource or ())
    handlers = {name: place for name, _, place in named}
    try:
        aws = EmbeddedAws(
            region=region,
            port=port,
            account=account,
            speed=speed,
            faults=_faults(fault or []),
            forward=parse_forwards(forward or []),
            forward_anywhere=forward_anywhere,
            custom_resources=handlers,
            reports_to=_STANDARD_ERROR,
        )
    except ValueError as error:
        # The message begins with what is wrong.
        hint = f"--{str(error).partition(' ')[0]}"
        raise typer.BadParameter(str(error), param_hint=hint) from error
    try:
        status = _around(aws, context.args) if context.args else _serve(aws)
    except EmbeddedAwsError as error:
        typer.echo(f"sagemaker-llm local: {error}", err=True)
        status = 1
    raise typer.Exit(status)


def _serve(aws: EmbeddedAws) -> int:
    try:
        with _on_sigterm(_interrupt), aws:
            _introduce(aws)
            aws.wait()
    except KeyboardInterrupt:
        typer.echo("\nStopped.")
    return 0


@contextmanager
def _on_sigterm(act: Callable[[], object]) -> Iterator[None]:
    # SIGINT is left as it was inherited: a shell lets its background jobs ignore it,
    # so that Ctrl-C is for the foreground alone. SIGTERM is how those are stopped.
    before = signal.signal(signal.SIGTERM, lambda *_: act())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt() -> NoReturn:
    raise KeyboardInterrupt


def _introduce(aws: EmbeddedAws) -> None:
    typer.echo(f"The embedded AWS answers at {aws.url}")
    typer.echo(_NOTICE + _pace(aws.speed))
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


def _pace(speed: float | None) -> str:
    if speed is None:
        return _AT_ONCE
    ahead = "runs ahead of it" if speed > 1 else "keeps up with it at most"
    return _IN_TIME.format(speed=speed, ahead=ahead)


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
