"""
``sagemaker-llm check``: what would fail, before anything is deployed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.cli.assembly import AssemblyError
from cdk_sagemaker_llm.cli.subjects import MisuseError, Report, Target, reports_of
from cdk_sagemaker_llm.findings import Finding, Severity
from cdk_sagemaker_llm.serving.lmi.artifact import ArtifactError
from cdk_sagemaker_llm.serving.lmi.launch import BACKENDS, CONTAINERS

CLEAN, ERRORS, MISUSE = 0, 1, 2


def register(app: typer.Typer) -> None:
    """
    Add the subcommand.
    """
    app.command("check")(check)


def check(
    *,
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="A serving.properties, a folder of artifacts, a model.tar.gz, or "
            "cdk.out.",
        ),
    ],
    container: Annotated[
        str | None, typer.Option(help=f"The image family: {', '.join(CONTAINERS)}.")
    ] = None,
    version: Annotated[
        str | None, typer.Option(help="The LMI version, such as 0.26.0.")
    ] = None,
    instance_type: Annotated[
        str | None, typer.Option(help="The instance type, for its accelerators.")
    ] = None,
    accelerators: Annotated[
        int | None, typer.Option(min=1, help="Devices that each copy has.")
    ] = None,
    architecture: Annotated[
        str | None, typer.Option(help="The model's class: MistralForCausalLM.")
    ] = None,
    backend: Annotated[
        str | None, typer.Option(help=f"What must run: {', '.join(BACKENDS)}.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the findings as JSON.")
    ] = False,
) -> None:
    """
    Check serving configurations against the images that will run them.

    Without --container and --version a file is held against every LMI image, and is
    clean if one of them takes it. Exits with 0 (clean, warnings aside), 1 (errors)
    or 2 (misuse).
    """
    try:
        target = Target(
            container=_one_of("--container", container, CONTAINERS),
            version=version,
            accelerators=accelerators or _accelerators(instance_type),
            architecture=architecture,
            backend=_one_of("--backend", backend, BACKENDS),
        )
        reports = [report for path in paths for report in reports_of(path, target)]
    except (MisuseError, AssemblyError, ArtifactError, OSError) as fault:
        typer.echo(f"sagemaker-llm check: {fault}", err=True)
        raise typer.Exit(MISUSE) from fault
    typer.echo(_as_json(reports) if as_json else "\n".join(_lines(reports)))
    raise typer.Exit(ERRORS if _count(reports, Severity.ERROR) else CLEAN)


def _one_of(name: str, value: str | None, known: Sequence[str]) -> str | None:
    if value is not None and value not in known:
        raise MisuseError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    return value


def _accelerators(instance_type: str | None) -> int | None:
    if instance_type is None:
        return None
    try:
        return find_instance_type(instance_type).accelerators
    except ValueError as fault:
        raise MisuseError(str(fault)) from fault


def _lines(reports: Sequence[Report]) -> Iterator[str]:
    for report in reports:
        for finding in report.findings:
            yield f"{report.subject}: {finding.severity} {finding}"
        if report.images:
            yield f"{report.subject}: taken by {_ranges(report.images)}"
    errors = _count(reports, Severity.ERROR)
    warnings = _count(reports, Severity.WARNING)
    yield (
        f"{_plural(len(reports), 'subject')} checked: {_plural(errors, 'error')}, "
        f"{_plural(warnings, 'warning')}"
    )


def _ranges(images: Sequence[str]) -> str:
    families: dict[str, list[str]] = {}
    for image in images:
        family, version = image.split()
        families.setdefault(family, []).append(version)
    return "; ".join(
        f"{family} {versions[0]}" + (f" to {versions[-1]}" if versions[1:] else "")
        for family, versions in families.items()
    )


def _as_json(reports: Sequence[Report]) -> str:
    return json.dumps(
        {
            "errors": _count(reports, Severity.ERROR),
            "warnings": _count(reports, Severity.WARNING),
            "subjects": [
                {
                    "subject": report.subject,
                    "images": list(report.images),
                    "findings": [_as_dict(finding) for finding in report.findings],
                }
                for report in reports
            ],
        },
        indent=2,
    )


def _as_dict(finding: Finding) -> dict[str, str]:
    return {
        "severity": str(finding.severity),
        "code": finding.code,
        "message": finding.message,
        "remedy": finding.remedy,
    }


def _count(reports: Sequence[Report], severity: Severity) -> int:
    return sum(f.severity is severity for report in reports for f in report.findings)


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
