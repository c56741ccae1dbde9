"""
The models of a synthesised app: what is wrong with each, and what cannot be judged.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.catalog.instances import (
    InstanceType,
    find_instance_type,
    instance_type_names,
)
from cdk_sagemaker_llm.cli.assembly import (
    Assembly,
    Stack,
    artifact_files,
    image_of,
    read_assembly,
    read_template,
    text_of,
    unknown_version,
)
from cdk_sagemaker_llm.cli.pools import model_in, pools_in, specifications_in
from cdk_sagemaker_llm.cli.references import means
from cdk_sagemaker_llm.cli.reports import Report
from cdk_sagemaker_llm.cli.shapes import is_intrinsic
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.adapters import (
    SCHEME,
    address_findings,
    specification_findings,
)
from cdk_sagemaker_llm.serving.base import Container
from cdk_sagemaker_llm.serving.families import (
    CHECKED_FAMILIES,
    container_findings,
    variable_findings,
)
from cdk_sagemaker_llm.serving.images import host_findings, image_findings
from cdk_sagemaker_llm.serving.lmi.artifact import Artifact, ArtifactError
from cdk_sagemaker_llm.serving.lmi.folder import (
    artifact_findings,
    properties_path,
    read_findings,
)
from cdk_sagemaker_llm.serving.lmi.launch import CONTAINERS as LMI
from cdk_sagemaker_llm.serving.parameters import credential_findings

# Stands for a value that deployment alone knows, in the form of the CDK's own.
_AT_DEPLOYMENT = "${Token[Template.0]}"
_REFERENCE = re.compile(r"\$\{[^}]*\}")
_HAVE_CONTAINERS = {"Container", "BaseInferenceComponentName"}

Host = tuple[InstanceType, str | None]
"""
What an instance is, and the host image that it was asked to run, if any.
"""


@dataclass(frozen=True, slots=True)
class _Subject:
    image: ImageRelease
    container: Mapping[str, Any]
    files: Mapping[str, bytes]
    accelerators: int | None
    is_isolated: bool = False
    hosts: Collection[Host] = ()

    @property
    def model_data(self) -> str:
        """
        Where SageMaker takes model data from; empty if it takes none.
        """
        source = self.container.get("ModelDataSource", {}).get("S3DataSource", {})
        address = self.container.get("ModelDataUrl") or source.get("S3Uri") or ""
        return text_of(address)


def hosted_reports(path: Path) -> list[Report]:
    """
    Check every model of a cloud assembly, every component with a container, and every
    adapter.

    Raises:
        AssemblyError: If its manifest cannot be read.
    """
    found = read_assembly(path)
    nothing = [_unchecked(str(path), "it holds no model to check")]
    version = unknown_version(path)
    newer = [_unchecked(str(path), version)] if version else []
    return [*(_reports(path, found) or nothing), *newer]


def template_reports(path: Path) -> list[Report]:
    """
    Check every model of a single template likewise.

    Raises:
        AssemblyError: If it cannot be read.
    """
    nothing = [_unchecked(str(path), "it holds no model to check")]
    return _reports(path, read_template(path)) or nothing


def _reports(path: Path, found: Assembly) -> list[Report]:
    return [
        *(
            _report(found.stacks, stack, name, properties)
            for stack in found.stacks
            for name, properties in stack.of_type("Model")
        ),
        *(
            _component_report(stack, name, specification)
            for stack in found.stacks
            for name, properties in stack.of_type("InferenceComponent")
            for specification in specifications_in(properties)
            if not _HAVE_CONTAINERS.isdisjoint(specification)
        ),
        *(
            _unchecked(name, "its template is not in the assembly")
            for name in found.unopened
        ),
        *(
            Report(str(path), [], is_checked=False, fault=fault)
            for fault in found.faults
        ),
    ]


def _report(
    stacks: Sequence[Stack], stack: Stack, name: str, properties: Mapping[str, Any]
) -> Report:
    subject = f"{stack.name}/{name}"
    container = _container_of(properties)
    if isinstance(container, str):
        return _unchecked(subject, container)
    return _container_report(
        subject,
        stack,
        container,
        _accelerators(stacks, stack, name),
        is_isolated=properties.get("EnableNetworkIsolation") is True,
        hosts=_hosts(stacks, stack, name),
    )


def _component_report(
    stack: Stack, name: str, specification: Mapping[str, Any]
) -> Report:
    """
    Check a component that names a container instead of a model, or an adapter.
    """
    subject, own = f"{stack.name}/{name}", specification.get("Container", {})
    if is_intrinsic(own):
        return _unchecked(subject, "its container is known at deployment only")
    if "BaseInferenceComponentName" in specification:
        return _adapter_report(subject, specification)
    container = {**own, "ModelDataUrl": own.get("ArtifactUrl")}
    report = _container_report(subject, stack, container, _reserved(specification))
    given = own.get("Environment", {})
    many = [] if is_intrinsic(given) else variable_findings(given)
    return replace(report, findings=[*many, *report.findings])


def _adapter_report(subject: str, specification: Mapping[str, Any]) -> Report:
    url = specification.get("Container", {}).get("ArtifactUrl")
    found = list(specification_findings(specification))
    address = _REFERENCE.sub(_AT_DEPLOYMENT, text_of(url or ""))
    # The API takes other addresses of S3, of which nothing is checked.
    if address.startswith(SCHEME):
        found += address_findings(address)
    return Report(subject, found)


def _container_report(
    subject: str,
    stack: Stack,
    container: Mapping[str, Any],
    accelerators: int | None,
    *,
    is_isolated: bool = False,
    hosts: Collection[Host] = (),
) -> Report:
    image = image_of(container)
    if image is None:
        return _unchecked(subject, _unknown_image(container))
    ended = image_findings(image.family, image.version)
    if image.family not in CHECKED_FAMILIES:
        reason = f"there are no checks of the image {image.family} {image.version}"
        return Report(subject, ended, is_checked=False, left_out=(reason,))
    try:
        artifact = artifact_files(stack, container)
    except (ArtifactError, OSError) as fault:
        return Report(subject, ended, is_checked=False, fault=str(fault))
    known = _Subject(image, container, artifact.files, accelerators, is_isolated, hosts)
    left_out = tuple(_left_out(known))
    found = [*_read_findings(subject, artifact), *_findings(known)]
    is_checked = bool(artifact.sizes or _environment(container) or not left_out)
    return Report(subject, ended + found, is_checked=is_checked, left_out=left_out)


def _unchecked(subject: str, reason: str) -> Report:
    return Report(subject, [], is_checked=False, left_out=(reason,))


def _container_of(properties: Mapping[str, Any]) -> Mapping[str, Any] | str:
    """
    Return a model's only container, or why there is none to check.
    """
    several = properties.get("Containers")
    container = properties.get("PrimaryContainer")
    if container is None and isinstance(several, list) and len(several) == 1:
        container = several[0]
    if isinstance(container, Mapping) and not is_intrinsic(container):
        return container
    if several:
        return "it has several containers"
    return (
        "its container is known at deployment only"
        if container
        else ("it has no container")
    )


def _unknown_image(container: Mapping[str, Any]) -> str:
    if "Image" not in container:
        return "it has no image" + (
            ", but a model package" if "ModelPackageName" in container else ""
        )
    text = text_of(container["Image"])
    if text.startswith("${") and text.endswith("}"):
        return f"its image is known at deployment only: {text}"
    return f"the catalogue does not have its image {text}"


def _read_findings(name: str, artifact: Artifact) -> list[Finding]:
    # Variables alone may say how the model is served.
    if properties_path(artifact.sizes) is None:
        return list(artifact.findings)
    return read_findings(name, artifact)


def _findings(subject: _Subject) -> list[Finding]:
    image, files = subject.image, subject.files
    found = []
    if image.family in LMI and files:
        found += artifact_findings(
            files,
            container=image.family,
            version=image.version,
            accelerators=subject.accelerators,
        )
    for hardware, host_image in sorted(subject.hosts, key=str):
        found += host_findings(hardware, image, host_image, hosts_components=False)
    if is_intrinsic(subject.container.get("Environment", {})):
        return found
    types = {str(hardware) for hardware, _ in subject.hosts}
    told = container_findings(
        Container(
            image=image, files=files, environment=_environment(subject.container)
        ),
        accelerators=subject.accelerators,
        has_model_data=bool(subject.model_data),
        network_isolation=subject.is_isolated,
        instance_type=types.pop() if len(types) == 1 else None,
    )
    shown = credential_findings("environment", _environment(subject.container))
    return found + [one for one in [*told, *shown] if one not in found]


def _left_out(subject: _Subject) -> Iterator[str]:
    if subject.model_data and not subject.files:
        where = subject.model_data
        if subject.image.family in LMI:
            yield f"what is at {where}: it is not in the assembly"
    given = subject.container.get("Environment", {})
    if is_intrinsic(given):
        yield "its environment: it is known at deployment only"
        return
    open_ = [name for name, value in given.items() if isinstance(value, Mapping)]
    secret = [name for name in open_ if "{{resolve:" in text_of(given[name])]
    named = sorted(set(open_) - set(secret))
    if named:
        yield f"{', '.join(named)}: known at deployment only"


def _environment(container: Mapping[str, Any]) -> dict[str, str]:
    given = container.get("Environment", {})
    if is_intrinsic(given):
        return {}
    return {name: _value(value) for name, value in given.items()}


def _value(value: object) -> str:
    if isinstance(value, Mapping | list):
        return _AT_DEPLOYMENT
    # CloudFormation turns switches and numbers into text.
    return str(value).lower() if isinstance(value, bool) else str(value)


def _accelerators(stacks: Sequence[Stack], stack: Stack, model: str) -> int | None:
    return _of_components(stacks, stack, model) or _of_variants(stacks, stack, model)


def _of_components(stacks: Sequence[Stack], stack: Stack, model: str) -> int | None:
    for other in stacks:
        for _, properties in other.of_type("InferenceComponent"):
            found = [
                _reserved(specification)
                for specification in specifications_in(properties)
                if means(other, specification.get("ModelName"), stack, model)
            ]
            if found:
                return _fewest(found)
    return None


def _fewest(found: Sequence[int | None]) -> int | None:
    """
    Return the fewest accelerators that a model has on any type of instance.
    """
    known = [number for number in found if number is not None]
    return min(known) if len(known) == len(found) else None


def _reserved(specification: Mapping[str, Any]) -> int | None:
    needs = specification.get("ComputeResourceRequirements", {})
    number = needs.get("NumberOfAcceleratorDevicesRequired")
    return number if isinstance(number, int) else None


def _hosts(stacks: Sequence[Stack], stack: Stack, model: str) -> frozenset[Host]:
    """
    Return the types, and their host images, that variants run a model on; without
    those that the catalogue does not have.
    """
    return frozenset(
        (hardware, host_image)
        for other in stacks
        for _, properties in other.of_type("EndpointConfig")
        for variant in variants_in(properties)
        for pool in pools_in(variant)
        if means(other, model_in(variant, pool), stack, model)
        for hardware in _hardware(pool.get("InstanceType"))
        for host_image in [variant.get("InferenceAmiVersion")]
        if host_image is None or isinstance(host_image, str)
    )


def _hardware(name: object) -> Iterator[InstanceType]:
    if isinstance(name, str) and name in instance_type_names():
        yield find_instance_type(name)


def _of_variants(stacks: Sequence[Stack], stack: Stack, model: str) -> int | None:
    for other in stacks:
        for _, properties in other.of_type("EndpointConfig"):
            for variant in variants_in(properties):
                found = [
                    _accelerators_of(str(pool.get("InstanceType")))
                    for pool in pools_in(variant)
                    if means(other, model_in(variant, pool), stack, model)
                ]
                if found:
                    return _fewest(found)
    return None


def variants_in(config: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """
    Return the variants of an endpoint configuration, as far as they are known.
    """
    variants = config.get("ProductionVariants", [])
    return variants if isinstance(variants, list) else []


def shadows_in(config: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """
    Return the shadow variants of an endpoint configuration, as far as they are known.
    """
    shadows = config.get("ShadowProductionVariants", [])
    return shadows if isinstance(shadows, list) else []


def _accelerators_of(instance_type: str) -> int | None:
    try:
        return find_instance_type(instance_type).accelerators
    except ValueError:
        return None
