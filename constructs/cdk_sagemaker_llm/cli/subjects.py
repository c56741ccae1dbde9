"""
What ``sagemaker-llm check`` finds under a path, and what is wrong with each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.catalog.images import image_versions
from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.catalog.lmi_versions import LmiVersion
from cdk_sagemaker_llm.cli.assembly import (
    Stack,
    artifact_files,
    image_of,
    is_assembly,
    read_stacks,
    target_of,
    text_of,
)
from cdk_sagemaker_llm.findings import Finding, Severity
from cdk_sagemaker_llm.serving.images import image_findings
from cdk_sagemaker_llm.serving.lmi.artifact import PROPERTIES, Artifact
from cdk_sagemaker_llm.serving.lmi.folder import (
    artifact_findings,
    properties_path,
    read_findings,
)
from cdk_sagemaker_llm.serving.lmi.launch import CONTAINERS
from cdk_sagemaker_llm.serving.lmi.read_folder import folder_files, single_file
from cdk_sagemaker_llm.serving.lmi.read_tarball import is_tarball, tarball_files
from cdk_sagemaker_llm.serving.tgi.checks import check_environment

_LMI_REPOSITORY = "djl-inference"
_TGI_FAMILY = "huggingface-llm"


class MisuseError(ValueError):
    """
    A path or an argument cannot be used.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """
    Where files are to run; what is ``None`` is not known.
    """

    container: str | None = None
    version: str | None = None
    accelerators: int | None = None
    architecture: str | None = None
    backend: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """
    What was found of one subject, and the images that would take it.
    """

    subject: str
    findings: list[Finding]
    images: tuple[str, ...] = ()


def reports_of(path: Path, target: Target) -> list[Report]:
    """
    Check a serving.properties, a folder of artifacts, a tarball, or a cloud assembly.

    Raises:
        MisuseError: If the path is none of these.
        ArtifactError: If a tarball cannot be read to its end.
    """
    if path.is_file():
        read = tarball_files if is_tarball(path) else single_file
        return [_report(str(path), read(path), target)]
    if not path.is_dir():
        raise MisuseError(f"{path} does not exist")
    if is_assembly(path):
        return _assembly_reports(path)
    folders = _artifact_folders(path)
    if not folders:
        raise MisuseError(
            f"{path} holds neither {PROPERTIES} nor manifest.json; name a file, an "
            "artifact's folder, a folder of these, or cdk.out"
        )
    return [_report(str(folder), folder_files(folder), target) for folder in folders]


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


def _assembly_reports(path: Path) -> list[Report]:
    return [
        Report(f"{stack.name}/{name}", _model_findings(stack, name, properties))
        for stack in read_stacks(path)
        for name, properties in stack.of_type("Model")
    ]


def _model_findings(
    stack: Stack, name: str, properties: Mapping[str, Any]
) -> list[Finding]:
    container = properties.get("PrimaryContainer", {})
    image = image_of(container)
    if image is None:
        return []
    accelerators = _accelerators(stack, name)
    ended = image_findings(image.family, image.version)
    if image.repository == _LMI_REPOSITORY and image.family in CONTAINERS:
        artifact = artifact_files(stack, container)
        found = [*ended, *_read_findings(name, artifact)]
        if not artifact.files:
            return found
        return found + artifact_findings(
            artifact.files,
            container=image.family,
            version=image.version,
            accelerators=accelerators,
        )
    if image.family == _TGI_FAMILY:
        given = container.get("Environment", {})
        environment = {key: text_of(value) for key, value in given.items()}
        return ended + check_environment(
            environment, version=image.version, accelerators=accelerators
        )
    return ended


def _read_findings(name: str, artifact: Artifact) -> list[Finding]:
    # Variables alone may say how the model is served.
    if properties_path(artifact.sizes) is None:
        return list(artifact.findings)
    return read_findings(name, artifact)


def _accelerators(stack: Stack, model: str) -> int | None:
    return _of_components(stack, model) or _of_variants(stack, model)


def _of_components(stack: Stack, model: str) -> int | None:
    for _, properties in stack.of_type("InferenceComponent"):
        specification = properties.get("Specification", {})
        if target_of(specification.get("ModelName")) == model:
            needs = specification.get("ComputeResourceRequirements", {})
            number = needs.get("NumberOfAcceleratorDevicesRequired")
            return number if isinstance(number, int) else None
    return None


def _of_variants(stack: Stack, model: str) -> int | None:
    for _, properties in stack.of_type("EndpointConfig"):
        for variant in properties.get("ProductionVariants", []):
            if target_of(variant.get("ModelName")) == model:
                return _accelerators_of(str(variant.get("InstanceType")))
    return None


def _accelerators_of(instance_type: str) -> int | None:
    try:
        return find_instance_type(instance_type).accelerators
    except ValueError:
        return None
