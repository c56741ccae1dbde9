"""
``sagemaker-llm doctor``: why an endpoint, a component or a stack does not run.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from cdk_sagemaker_llm.account.diagnosis import Diagnosis, diagnose
from cdk_sagemaker_llm.account.evidence import Evidence
from cdk_sagemaker_llm.account.gathering import CALLS, UnknownNameError, gather
from cdk_sagemaker_llm.account.progress import steps
from cdk_sagemaker_llm.cli.commands import MisuseError
from cdk_sagemaker_llm.cli.commands._account import (
    AccountOptions,
    AsPolicy,
    print_policy,
)
from cdk_sagemaker_llm.cli.commands._options import AsJson, grouped
from cdk_sagemaker_llm.cli.output.answers import harmless, note
from cdk_sagemaker_llm.cli.output.diagnoses import (
    diagnosis_facts,
    diagnosis_lines,
    step_line,
)

# What is installed to have it.
EXTRA = "cli,client"
HEALTHY, ILL, MISUSE, STOPPED = 0, 1, 2, 130
_EVERY = 20.0


@grouped
def doctor(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="An endpoint, an inference component, a stack, or a file that --save "
            "wrote; omitted with --policy.",
        ),
    ] = None,
    *,
    account: AccountOptions,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="BUNDLE",
            help="Write what was gathered here, as JSON and without secrets.",
        ),
    ] = None,
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Follow it until it runs or has failed."),
    ] = False,
    policy: AsPolicy = False,
    as_json: AsJson = False,
) -> None:
    """
    Tell why an endpoint, an inference component or a stack does not run.

    Reads what AWS shows of it (descriptions, events, scaling, alarms, metrics, the last
    lines of each container) and changes nothing. The likeliest cause comes first, with
    the line that shows it, the way out, and the rule that would have caught it before
    deploying.

    Exits with 0 if nothing is wrong; 1 if a cause was found, or it has failed for one
    that is not known; 2 on misuse, 130 after Ctrl-C.
    """
    try:
        if policy:
            print_policy(CALLS)
            return
        evidence, diagnosis = _examine(name or "", account, watch=watch)
        if save is not None:
            _save(evidence, save)
    except KeyboardInterrupt:
        note("\nstopped")
        raise typer.Exit(STOPPED) from None
    except ValueError as fault:
        typer.echo(f"sagemaker-llm doctor: {harmless(str(fault))}", err=True)
        raise typer.Exit(MISUSE) from fault
    if as_json:
        typer.echo(json.dumps(diagnosis_facts(evidence, diagnosis), indent=2))
    else:
        typer.echo("\n".join(diagnosis_lines(evidence, diagnosis)))
    if not diagnosis.is_healthy:
        raise typer.Exit(ILL)


def pause(seconds: float) -> None:
    """
    Wait until it is asked again.
    """
    time.sleep(seconds)


def _examine(
    name: str, account: AccountOptions, *, watch: bool
) -> tuple[Evidence, Diagnosis]:
    if not name:
        raise MisuseError("name an endpoint, a component, a stack or a bundle")
    path = Path(name)
    if path.is_file():
        if watch:
            raise MisuseError("--watch follows what an account has, not a bundle")
        evidence = _read(path)
        return evidence, diagnose(evidence)
    tell: Callable[[str], None] = note
    seen: set[str] = set()
    while True:
        evidence = _gathered(name, account, tell)
        diagnosis = diagnose(evidence)
        if not watch or diagnosis.is_settled:
            return evidence, diagnosis
        for line in _news(evidence, diagnosis):
            # The minutes pass; what is new is told at once.
            key = line.partition(": ")[2]
            if key not in seen:
                seen.add(key)
                note(line)
        tell = _say_nothing
        pause(_EVERY)


def _gathered(
    name: str, account: AccountOptions, tell: Callable[[str], None]
) -> Evidence:
    reader = account.reader(CALLS)
    try:
        return gather(reader, name, tell)
    except UnknownNameError as fault:
        raise MisuseError(str(fault)) from fault


def _news(evidence: Evidence, diagnosis: Diagnosis) -> list[str]:
    lines = [step_line(step) for step in steps(evidence)]
    causes = [one for one in diagnosis.causes if not one.symptom.is_general]
    return lines + [
        f"it will not run as it is: {one.symptom.name} ({one.line})"
        for one in causes[:1]
    ]


def _say_nothing(_: str) -> None:
    return


def _read(path: Path) -> Evidence:
    try:
        return Evidence.of_bundle(path.read_text(encoding="utf-8"))
    except OSError as fault:
        raise MisuseError(f"{path} cannot be read: {fault.strerror}") from fault
    except ValueError as fault:
        raise MisuseError(f"{path} is no bundle that --save wrote: {fault}") from fault


def _save(evidence: Evidence, path: Path) -> None:
    try:
        path.write_text(evidence.bundle(), encoding="utf-8")
    except OSError as fault:
        raise MisuseError(f"--save {path}: {fault.strerror}") from fault
    note(f"saved to {path}; look through it before you send it to anybody")
