"""
Running what the commands are asked to run, and telling what keeps them from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import typer

from cdk_sagemaker_llm.cli.loading.shared import flag_of
from cdk_sagemaker_llm.load.faults import SettingsError
from cdk_sagemaker_llm.load.running import LoadError, Progress

_MISUSE = 2
_T = TypeVar("_T")


@contextmanager
def refusing_misuse(command: str) -> Iterator[None]:
    """
    End the command on misuse, each setting by its option.
    """
    try:
        yield
    except SettingsError as error:
        complain(command, "\n".join(fault.text(flag_of) for fault in error.faults))
        raise typer.Exit(_MISUSE) from error
    except (ValueError, OSError) as fault:
        complain(command, str(fault))
        raise typer.Exit(_MISUSE) from fault


def run_live(command: str, run: Callable[[Callable[[Progress], object]], _T]) -> _T:
    """
    Run a load with its progress on the terminal; end the command if there is none.
    """
    from cdk_sagemaker_llm.cli.answers import in_our_words  # noqa: PLC0415 - rich
    from cdk_sagemaker_llm.cli.loading.live import live  # noqa: PLC0415 - as above

    try:
        with live() as show:
            return run(show)
    except LoadError as error:
        complain(command, in_our_words(str(error)))
        raise typer.Exit(1) from error


def complain(command: str, message: str) -> None:
    """
    Say what is wrong, each line with the command's name in front.
    """
    for line in message.splitlines():
        typer.echo(f"sagemaker-llm {command}: {line}", err=True)
