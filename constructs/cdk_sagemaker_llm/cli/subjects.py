"""
What ``sagemaker-llm check`` finds under a path, and what is wrong with each.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from pathlib import Path

from cdk_sagemaker_llm.catalog.images import image_versions
from cdk_sagemaker_llm.catalog.lmi import LmiVersion
from cdk_sagemaker_llm.cli.hosted import hosted_reports, template_reports
from cdk_sagemaker_llm.cli.reports import MisuseError, Report, Target
from cdk_sagemaker_llm.cli.shapes import is_assembly, is_template
from cdk_sagemaker_llm.findings import Finding, Severity
from cdk_sagemaker_llm.serving.images import image_findings
from cdk_sagemaker_llm.serving.lmi.artifact import (
    LARGEST_ARTIFACT,
    LARGEST_PROPERTIES,
    PROPERTIES,
    Artifact,
)
from cdk_sagemaker_llm.serving.lmi.folder import (
    artifact_findings,
    properties_path,
    read_findings,
)
from cdk_sagemaker_llm.serving.lmi.launch import CONTAINERS
from cdk_sagemaker_llm.serving.lmi.read_folder import (
    folder_files,
    no_file,
    single_file,
)
from cdk_sagemaker_llm.serving.lmi.read_tarball import is_tarball, tarball_files

# A line that only a serving.properties has.
_A_PROPERTY = re.compile(rb"^[ \t]*(engine|option\.\w+)[ \t]*[=: \t]", re.MULTILINE)
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def reports_of(path: Path, target: Target) -> list[Report]:
    """
    Check a serving.properties, a folder of artifacts, a template, or a cloud assembly.

    Raises:
        MisuseError: If the path is none of these.

        AssemblyError: If it is an assembly whose manifest cannot be read.
    """
    if path.is_file():
        if is_template(path):
            return template_reports(path)
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
    folders = _artifact_folders(path)
    broken = _broken_folders(path)
    if folders:
        checked = [_folder_report(folder, target) for folder in folders]
        return [*checked, *(_unchecked(folder, why) for folder, why in broken.items())]
    for folder, why in broken.items():
        raise MisuseError(f"{folder}: {why}")
    raise MisuseError(
        f"{path} holds neither {PROPERTIES} nor manifest.json; name a file, an "
        "artifact's folder, a folder of these, or cdk.out"
    )


def _unchecked(folder: Path, why: str) -> Report:
    return Report(str(folder), [], is_checked=False, left_out=(why,))


def _broken_folders(path: Path) -> dict[Path, str]:
    """
    Return the folders whose serving.properties is no file, with what it is.
    """
    children = [] if (path / PROPERTIES).is_file() else sorted(path.iterdir())
    folders = [path, *(child for child in children if child.is_dir())]
    found = ((folder, no_file(folder / PROPERTIES)) for folder in folders)
    return {folder: f"{PROPERTIES} {why}" for folder, why in found if why}


def _check_kind(path: Path) -> None:
    """
    Refuse a file that neither is nor looks like a serving.properties.
    """
    try:
        if path.stat().st_size > LARGEST_ARTIFACT:
            # What is too large for an artifact is told of as such.
            return
        with path.open("rb") as file:
            content = file.read(LARGEST_PROPERTIES)
    except OSError as fault:
        raise MisuseError(f"{path} cannot be read: {fault.strerror}") from fault
    is_named = path.suffix == ".properties"
    is_binary = b"\0" in content and not content.startswith(_UTF_16)
    if is_binary or not (is_named or _A_PROPERTY.search(content)):
        raise MisuseError(
            f"{path} is no {PROPERTIES}: expected lines such as engine=Python or "
            "option.model_id=..."
        )


def _folder_report(folder: Path, target: Target) -> Report:
    try:
        artifact = folder_files(folder)
    except OSError as fault:
        reason = f"{fault.filename or folder} cannot be read: {fault.strerror}"
        return Report(str(folder), [], is_checked=False, fault=reason)
    return _report(str(folder), artifact, target)


def _artifact_folders(path: Path) -> list[Path]:
    if (path / PROPERTIES).is_file():
        return [path]
    children = sorted(child for child in path.iterdir() if child.is_dir())
    return [child for child in children if (child / PROPERTIES).is_file()]


def _report(subject: str, artifact: Artifact, target: Target) -> Report:
    read = read_findings(subject, artifact)
    if target.container is not None and target.version is not None:
        known = image_findings(target.container, target.version)
        checked = _check(artifact, target, target.container, target.version)
        return Report(subject, [*read, *checked, *_warnings(known)])
    best = _best_report(subject, artifact, target)
    # What cannot be read no image takes.
    images = () if _errors(read) else best.images
    return Report(subject, [*read, *best.findings], images)


def _best_report(subject: str, artifact: Artifact, target: Target) -> Report:
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
    if artifact.findings and properties_path(artifact.files) is None:
        # Why it was not read is said already.
        return []
    return artifact_findings(
        artifact.files,
        container=container,
        version=version,
        accelerators=target.accelerators,
        architecture=target.architecture,
        backend=target.backend,
    )


def _warnings(found: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in found if finding.severity is Severity.WARNING]


def _errors(found: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in found if finding.severity is Severity.ERROR]
