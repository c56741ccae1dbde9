"""
``sagemaker-llm local``: the embedded AWS in the foreground, or around a command.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, NoReturn

import typer

from cdk_sagemaker_llm.cli.around import Around, EndedError, NotStartedError
from cdk_sagemaker_llm.local import EmbeddedAws, EmbeddedAwsError
from cdk_sagemaker_llm.local.embedded import DEFAULT_ACCOUNT

_DEFAULT_PORT = 4566
_NOT_FOUND = 127  # What a shell answers for a command that is not there.

_NOTICE = """\
This is an EMULATION of AWS on this machine: no account, no cost, no model.
It does not check IAM policies, quotas, whether images exist, GPU memory or time.
Its state is lost when it stops.
"""


def register(app: typer.Typer) -> None:
    """
    Add the subcommand.
    """
    app.command("local", context_settings={"allow_extra_args": True})(local)


def local(
    context: typer.Context,
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
            region=region, port=port, account=account, custom_resources=handlers
        )
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--account") from error
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
    typer.echo(_NOTICE)
    typer.echo("Point the AWS tools at it:")
    for name, value in aws.environment.items():
        typer.echo(f"  export {name}={value}")
    typer.echo("\nCtrl-C stops it.")


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
