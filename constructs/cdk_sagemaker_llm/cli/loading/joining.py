"""
A load test on several machines, on the command line of each.
"""

from __future__ import annotations

import ipaddress

import typer

from cdk_sagemaker_llm.cli.simulating import parsing
from cdk_sagemaker_llm.load.joining import join_load
from cdk_sagemaker_llm.load.running import LoadError
from cdk_sagemaker_llm.load.settings import LoadSettings, address_of

_OF_JOINING = {"join", "join_within", "processes"}


def announce(settings: LoadSettings) -> None:
    """
    Say how the others join, and who else could.
    """
    if settings.workers is None:
        return
    host, port = address_of(settings.bind)
    is_near = _is_loopback(host)
    address = f"{host if not _is_any(host) else 'THIS-MACHINE'}:{port}"
    _say(
        f"waiting for {_workers(settings.workers)} with: sagemaker-llm load-test "
        f"--join {address}"
    )
    if is_near:
        _say(f"on other machines after: ssh -N -L {port}:{host}:{port} THIS-MACHINE")
    else:
        _say(
            "warning: what goes over this port is not encrypted, and whoever reaches "
            "it can join, read the settings and send figures, or be this test to its "
            "workers; leave --bind out and join through ssh, or keep the network closed"
        )


def refuse_unheeded(context: typer.Context, endpoint: str | None) -> None:
    """
    Refuse what has no effect on a machine that leads, joins, or does all by itself.

    Raises:
        ValueError: If there is any of it, or no endpoint.
    """
    given = {name for name in context.params if _is_given(context, name)}
    if "join" in given:
        if unheeded := sorted(given - _OF_JOINING):
            names = ", ".join(_flag(context, name) for name in unheeded)
            raise ValueError(f"--join takes the leader's settings; leave out {names}")
    elif endpoint is None:
        raise ValueError(
            "name an endpoint to load, or with --join HOST[:PORT] the load test to "
            "work for"
        )
    elif "expect_workers" not in given and (
        unheeded := sorted(given & {"bind", "join_within"})
    ):
        names = ", ".join(_flag(context, name) for name in unheeded)
        raise ValueError(
            f"without --expect-workers nobody joins; add it, or leave out {names}"
        )


def join(address: str, *, processes: int | None, within: str) -> None:
    """
    Work for the load test of another machine.

    Raises:
        ValueError: If the address or another argument is none.
    """
    if processes is not None and processes < 1:
        raise ValueError(f"--processes must be at least 1, got {processes}")
    try:
        address_of(address)
    except ValueError as error:
        raise ValueError(f"--join {error}") from error
    seconds = parsing.seconds("--join-within", within)
    _say(f"looking for the load test at {address}, for up to {within}")
    try:
        join_load(address, processes=processes, within=seconds, on_told=_say)
    except LoadError as error:
        for line in str(error).splitlines():
            _say(line)
        raise typer.Exit(1) from error


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _flag(context: typer.Context, name: str) -> str:
    written = {one.name: one.opts[0] for one in context.command.params}
    return "the endpoint" if name == "endpoint" else written[name]


def _say(text: str) -> None:
    typer.echo(f"sagemaker-llm load-test: {text}", err=True)


def _workers(count: int) -> str:
    return "1 worker; start it" if count == 1 else f"{count} workers; start them"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_any(host: str) -> bool:
    return host == "0.0.0.0"  # noqa: S104 - what somebody else wrote
