"""
``sagemaker-llm check``: what would fail, before anything is deployed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.cli.reports import MisuseError, Report, Target
from cdk_sagemaker_llm.cli.shapes import AssemblyError
from cdk_sagemaker_llm.cli.subjects import reports_of
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
            help="A serving.properties, a folder of artifacts, a model.tar.gz, "
            "cdk.out, or one template in JSON.",
        ),
    ],
    container: Annotated[
        str | None,
        typer.Option(
            help=f"The image family: {', '.join(CONTAINERS)}; left out, any that would "
            "take the file."
        ),
    ] = None,
    version: Annotated[
        str | None, typer.Option(help="The LMI version, such as 0.26.0; left out, any.")
    ] = None,
    instance_type: Annotated[
        str | None,
        typer.Option(
            help="The instance type, for its accelerators; left out, unknown."
        ),
    ] = None,
    accelerators: Annotated[
        int | None,
        typer.Option(
            min=1, help="Devices that each copy has; left out, the instance's."
        ),
    ] = None,
    architecture: Annotated[
        str | None,
        typer.Option(help="The model's class: MistralForCausalLM; left out, unknown."),
    ] = None,
    backend: Annotated[
        str | None,
        typer.Option(
            help=f"What must run: {', '.join(BACKENDS)}; left out, any of it."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the findings as JSON.")
    ] = False,
) -> None:
    """
    Check serving configurations against the images that will run them.

    Without --container and --version a file is held against every LMI image, and is
    clean if one of them takes it. What cannot be judged is listed as not checked.
    Exits with 0 (clean, warnings aside), 1 (errors) or 2 (misuse, or a file that
    cannot be read; whatever else there is is checked).
    """
    try:
        target = Target(
            container=_one_of("--container", container, CONTAINERS),
            version=version,
            accelerators=accelerators or _accelerators(instance_type),
            architecture=architecture,
            backend=_one_of("--backend", backend, BACKENDS),
        )
    except MisuseError as fault:
        typer.echo(f"sagemaker-llm check: {fault}", err=True)
        raise typer.Exit(MISUSE) from fault
    reports = [report for path in paths for report in _reports(path, target)]
    for reason in _faults(reports):
        typer.echo(f"sagemaker-llm check: {reason}", err=True)
    if as_json:
        typer.echo(_as_json(reports))
    elif len(_faults(reports)) < len(reports):
        typer.echo("\n".join(_lines(reports)))
    if _faults(reports):
        raise typer.Exit(MISUSE)
    raise typer.Exit(ERRORS if _count(reports, Severity.ERROR) else CLEAN)


def _reports(path: Path, target: Target) -> list[Report]:
    try:
        return reports_of(path, target)
    except (MisuseError, AssemblyError, ArtifactError) as fault:
        return [Report(str(path), [], is_checked=False, fault=str(fault))]
    except OSError as fault:
        reason = f"{fault.filename or path} cannot be read: {fault.strerror}"
        return [Report(str(path), [], is_checked=False, fault=reason)]


def _faults(reports: Sequence[Report]) -> list[str]:
    return [report.fault for report in reports if report.fault]


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
        for reason in report.left_out:
            yield f"not checked: {report.subject}: {reason}"
    yield _summary(reports)


def _summary(reports: Sequence[Report]) -> str:
    checked = sum(report.is_checked for report in reports)
    left_out = sum(len(report.left_out) for report in reports)
    unread = len(_faults(reports))
    return (
        f"{_plural(checked, 'subject')} checked: "
        f"{_plural(_count(reports, Severity.ERROR), 'error')}, "
        f"{_plural(_count(reports, Severity.WARNING), 'warning')}"
        + (f"; {left_out} not checked" if left_out else "")
        + (f"; {unread} could not be read" if unread else "")
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
    answer: dict[str, Any] = {
        "errors": _count(reports, Severity.ERROR),
        "warnings": _count(reports, Severity.WARNING),
        "subjects": [
            {
                "subject": report.subject,
                "images": list(report.images),
                "findings": [_as_dict(finding) for finding in report.findings],
            }
            for report in reports
            if report.is_checked or report.findings
        ],
    }
    left_out = [
        {"subject": report.subject, "reason": reason}
        for report in reports
        for reason in report.left_out
    ]
    # Only where there is any: what is read by CI stays as it was otherwise.
    if left_out:
        answer["not_checked"] = left_out
    if _faults(reports):
        answer["unreadable"] = [
            {"subject": report.subject, "reason": report.fault}
            for report in reports
            if report.fault
        ]
    return json.dumps(answer, indent=2)


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
