"""
``sagemaker-llm check``: what would fail, before anything is deployed.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from cdk_sagemaker_llm.catalog.images import image_versions
from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.cli.app.acknowledgements import (
    FILE,
    Acknowledgement,
    acknowledge,
    acknowledged_in,
    read_acknowledgements,
)
from cdk_sagemaker_llm.cli.app.findings import Report, hosted_reports
from cdk_sagemaker_llm.cli.app.template_shapes import (
    AssemblyError,
    is_assembly,
    is_template,
    read_json,
)
from cdk_sagemaker_llm.cli.commands import MisuseError
from cdk_sagemaker_llm.cli.commands._options import complete, complete_instance_types
from cdk_sagemaker_llm.cli.output.findings import (
    Format,
    as_junit,
    count,
    lines,
)
from cdk_sagemaker_llm.cli.output.findings import as_json as as_json_text
from cdk_sagemaker_llm.findings import Finding, Severity
from cdk_sagemaker_llm.serving.images import image_findings
from cdk_sagemaker_llm.serving.lmi.artifact import (
    LARGEST_ARTIFACT,
    LARGEST_PROPERTIES,
    PROPERTIES,
    Artifact,
    ArtifactError,
    folder_files,
    is_tarball,
    no_file,
    single_file,
    tarball_files,
)
from cdk_sagemaker_llm.serving.lmi.launch import BACKENDS, CONTAINERS

CLEAN, ERRORS, MISUSE = 0, 1, 2
# A line that only a serving.properties has.
_A_PROPERTY = re.compile(rb"^[ \t]*(engine|option\.\w+)[ \t]*[=: \t]", re.MULTILINE)
# One that only a template in YAML has.
_A_TEMPLATE = re.compile(rb"^(AWSTemplateFormatVersion|Resources)[ \t]*:", re.MULTILINE)
# As an archive begins, and with it what `terraform plan -out` writes.
_ZIP = b"PK\x03\x04"
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def check(
    *,
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="A serving.properties, a folder of artifacts, a model.tar.gz, "
            "cdk.out, one template in JSON, or a Terraform plan in JSON.",
        ),
    ],
    container: Annotated[
        str | None,
        typer.Option(
            autocompletion=complete(*CONTAINERS),
            help=f"The image family: {', '.join(CONTAINERS)}; if omitted, any that "
            "would take the file.",
        ),
    ] = None,
    version: Annotated[
        str | None,
        typer.Option(help="The LMI version, such as 0.26.0; if omitted, any."),
    ] = None,
    instance_type: Annotated[
        str | None,
        typer.Option(
            autocompletion=complete_instance_types,
            help="The instance type, for its accelerators; if omitted, unknown.",
        ),
    ] = None,
    accelerators: Annotated[
        int | None,
        typer.Option(
            min=1, help="Devices that each copy has; if omitted, the instance's."
        ),
    ] = None,
    architecture: Annotated[
        str | None,
        typer.Option(
            help="The model's class: MistralForCausalLM; if omitted, unknown."
        ),
    ] = None,
    backend: Annotated[
        str | None,
        typer.Option(
            "--serving",
            autocompletion=complete(*BACKENDS),
            help=f"What must run: {', '.join(BACKENDS)}; if omitted, any of it.",
        ),
    ] = None,
    output_format: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="How findings are printed, SARIF for code scanning and JUnit for CI "
            "systems; if omitted, as text.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the findings as JSON.")
    ] = False,
    acknowledgements: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=f"Findings that are acknowledged, in TOML; if omitted, {FILE} of this "
            "folder, if there is one.",
        ),
    ] = None,
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
            backend=_one_of("--serving", backend, BACKENDS),
        )
        chosen = _format(output_format, as_json=as_json)
        entries = _acknowledgements(acknowledgements)
    except MisuseError as fault:
        typer.echo(f"sagemaker-llm check: {fault}", err=True)
        raise typer.Exit(MISUSE) from fault
    reports = [report for path in paths for report in _reports(path, target)]
    for path in paths:
        entries += acknowledged_in(path)
    reports, unneeded = acknowledge(reports, entries)
    for reason in _faults(reports):
        typer.echo(f"sagemaker-llm check: {reason}", err=True)
    if chosen is not Format.TEXT or len(_faults(reports)) < len(reports):
        typer.echo(_written(chosen, reports, unneeded))
    if _faults(reports):
        raise typer.Exit(MISUSE)
    raise typer.Exit(ERRORS if count(reports, Severity.ERROR) else CLEAN)


def _format(chosen: Format | None, *, as_json: bool) -> Format:
    if as_json and chosen not in (None, Format.JSON):
        raise MisuseError(f"--json is --format json, got --format {chosen} beside it")
    return Format.JSON if as_json else chosen or Format.TEXT


def _acknowledgements(file: Path | None) -> list[Acknowledgement]:
    if file is None and not Path(FILE).is_file():
        return []
    try:
        return read_acknowledgements(file or Path(FILE))
    except ValueError as fault:
        raise MisuseError(str(fault)) from fault


def _written(
    chosen: Format, reports: Sequence[Report], unneeded: Sequence[Acknowledgement]
) -> str:
    if chosen is Format.SARIF:
        from cdk_sagemaker_llm.cli.output.sarif import as_sarif  # noqa: PLC0415 - who asks for it has it

        return as_sarif(reports, unneeded)
    if chosen is Format.JUNIT:
        return as_junit(reports)
    if chosen is Format.JSON:
        return as_json_text(reports, unneeded)
    return "\n".join(lines(reports, unneeded))


def _reports(path: Path, target: Target) -> list[Report]:
    try:
        return reports_of(path, target)
    except (MisuseError, AssemblyError, ArtifactError) as fault:
        return [Report(str(path), [], is_checked=False, fault=str(fault))]
    except OSError as fault:
        return [_unreadable(path, fault)]


def _unreadable(path: Path, fault: OSError) -> Report:
    reason = f"{fault.filename or path} cannot be read: {fault.strerror}"
    return Report(str(path), [], is_checked=False, fault=reason)


def _faults(reports: Sequence[Report]) -> list[str]:
    return [report.fault for report in reports if report.fault]


def _one_of(name: str, value: str | None, choices: Sequence[str]) -> str | None:
    if value is not None and value not in choices:
        raise MisuseError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
    return value


def _accelerators(instance_type: str | None) -> int | None:
    if instance_type is None:
        return None
    try:
        return find_instance_type(instance_type).accelerators
    except ValueError as fault:
        raise MisuseError(str(fault)) from fault


def reports_of(path: Path, target: Target) -> list[Report]:
    """
    Check a serving.properties, a folder of artifacts, a template, or a cloud assembly.
    """
    if path.is_file():
        if is_template(path):
            return hosted_reports(path)
        if is_tarball(path):
            return [_report(str(path), tarball_files(path), target)]
        _check_kind(path)
        return [_report(str(path), single_file(path), target)]
    if not path.is_dir():
        raise MisuseError(f"{path} {no_file(path) or 'does not exist'}")
    if is_assembly(path):
        return hosted_reports(path)
    return _folder_reports(path, target)


def _folder_reports(path: Path, target: Target) -> list[Report]:
    is_one = (path / PROPERTIES).is_file()
    children = [] if is_one else [one for one in sorted(path.iterdir()) if one.is_dir()]
    folders = [one for one in (path, *children) if (one / PROPERTIES).is_file()]
    # Where serving.properties is no file: what it is.
    broken = {
        one: f"{PROPERTIES} {why}"
        for one in (path, *children)
        if (why := no_file(one / PROPERTIES))
    }
    reports = []
    for folder in folders:
        try:
            artifact = folder_files(folder)
        except OSError as fault:
            reports.append(_unreadable(folder, fault))
        else:
            reports.append(_report(str(folder), artifact, target))
    if reports:
        return reports + [
            Report(str(folder), [], is_checked=False, left_out=(why,))
            for folder, why in broken.items()
        ]
    for folder, why in broken.items():
        raise MisuseError(f"{folder}: {why}")
    raise MisuseError(
        f"{path} holds neither {PROPERTIES} nor manifest.json; name a file, an "
        "artifact's folder, a folder of these, or cdk.out"
    )


def _check_kind(path: Path) -> None:
    try:
        if path.stat().st_size > LARGEST_ARTIFACT:
            # What is too large for an artifact is told of as such.
            return
        with path.open("rb") as file:
            content = file.read(LARGEST_PROPERTIES)
    except OSError as fault:
        raise MisuseError(f"{path} cannot be read: {fault.strerror}") from fault
    if path.suffix == ".json":
        # What is wrong with it as JSON comes first.
        read_json(path)
    is_named = path.suffix == ".properties"
    is_binary = b"\0" in content and not content.startswith(_UTF_16)
    if is_binary or not (is_named or _A_PROPERTY.search(content)):
        is_yaml = path.suffix in {".yaml", ".yml"} or _A_TEMPLATE.search(content)
        way_out = ""
        if path.suffix == ".json":
            raise MisuseError(
                f"{path} is neither a template, which has Resources, nor a Terraform "
                "plan, which has planned_values"
            )
        if is_yaml:
            way_out = (
                "; a template must be in JSON, as cdk synth writes it: name cdk.out"
            )
        elif content.startswith(_ZIP):
            way_out = (
                "; a Terraform plan is read in JSON: terraform show -json PLAN > "
                "plan.json"
            )
        raise MisuseError(
            f"{path} is no {PROPERTIES}: expected lines such as engine=Python or "
            f"option.model_id=...{way_out}"
        )


def _report(subject: str, artifact: Artifact, target: Target) -> Report:
    from cdk_sagemaker_llm.serving.lmi.checks.artifacts import read_findings  # noqa: PLC0415 - apps may have none

    read = read_findings(subject, artifact)
    if target.container is not None and target.version is not None:
        of_image = image_findings(target.container, target.version)
        checked = _check(artifact, target, target.container, target.version)
        warnings = [one for one in of_image if one.severity is Severity.WARNING]
        return Report(subject, [*read, *checked, *warnings])
    best = _best_report(subject, artifact, target)
    # What cannot be read no image takes.
    images = () if _errors(read) else best.images
    return Report(subject, [*read, *best.findings], images)


def _best_report(subject: str, artifact: Artifact, target: Target) -> Report:
    from cdk_sagemaker_llm.catalog.lmi import LmiVersion  # noqa: PLC0415 - as above

    # Without an image the question is whether any would take the file.
    answers = {
        f"{container} {version}": _check(artifact, target, container, version)
        for container in CONTAINERS
        if target.container in (None, container)
        for version in image_versions(container)
        if LmiVersion.parse(version).rows
        if target.version in (None, version)
    }
    if not answers:
        raise MisuseError(
            f"no LMI image of {target.container or 'any family'} has version "
            f"{target.version!r}"
        )
    accepted = [image for image, found in answers.items() if not _errors(found)]
    # The newest among the best answers: the last one of the fewest errors.
    best = min(reversed(answers), key=lambda image: len(_errors(answers[image])))
    return Report(subject, answers[best], tuple(accepted))


def _check(
    artifact: Artifact, target: Target, container: str, version: str
) -> list[Finding]:
    from cdk_sagemaker_llm.serving.lmi.checks import artifacts  # noqa: PLC0415 - as above

    if artifact.findings and artifacts.properties_path(artifact.files) is None:
        # Why it was not read is said already.
        return []
    return artifacts.artifact_findings(
        artifact.files,
        container=container,
        version=version,
        accelerators=target.accelerators,
        architecture=target.architecture,
        backend=target.backend,
    )


def _errors(found: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in found if finding.severity is Severity.ERROR]


class Target(NamedTuple):
    """
    Where files are to run; what is ``None`` is not known.
    """

    container: str | None = None
    version: str | None = None
    accelerators: int | None = None
    architecture: str | None = None
    backend: str | None = None
