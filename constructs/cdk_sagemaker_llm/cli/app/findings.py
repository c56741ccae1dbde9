"""
What is wrong with the models of an app, and what of them cannot be judged.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.catalog.instances import (
    InstanceType,
    find_instance_type,
    instance_type_names,
)
from cdk_sagemaker_llm.cli.app.assembly import Stack, unknown_version
from cdk_sagemaker_llm.cli.app.hosting import (
    App,
    Resource,
    artifact_files,
    image_of,
)
from cdk_sagemaker_llm.cli.app.memory import Places, memory_findings, places_in
from cdk_sagemaker_llm.cli.app.places import Place, place_of
from cdk_sagemaker_llm.cli.app.request_values import literal
from cdk_sagemaker_llm.cli.app.requests import refusals
from cdk_sagemaker_llm.cli.app.rollout_requests import rollout_refusals
from cdk_sagemaker_llm.cli.app.scaling_requests import scaling_refusals
from cdk_sagemaker_llm.cli.app.template_shapes import (
    is_assembly,
    is_intrinsic,
    text_of,
)
from cdk_sagemaker_llm.findings import Finding, errors_of
from cdk_sagemaker_llm.hosting.common.limits import environment_size_findings
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
from cdk_sagemaker_llm.serving.images import (
    host_findings,
    image_findings,
    undecided_findings,
)
from cdk_sagemaker_llm.serving.lmi.artifact import Artifact, ArtifactError
from cdk_sagemaker_llm.serving.lmi.launch import CONTAINERS as LMI
from cdk_sagemaker_llm.serving.parameters import credential_findings
from cdk_sagemaker_llm.simulation.api_values import (
    Shape,
    is_open,
    map_of,
    maps_of,
    specifications_of,
    whole,
)

# Stands for a value that deployment alone knows, in the form of the CDK's own.
_AT_DEPLOYMENT = "${Token[Template.0]}"
_REFERENCE = re.compile(r"\$\{[^}]*\}")
_SPLIT = re.compile("tensor_parallel|tp_size|num_gpus|num_shard", re.IGNORECASE)
_HAVE_CONTAINERS = {"Container", "BaseInferenceComponentName"}

_Homes = Mapping[str, Resource]
Host = tuple[InstanceType, str | None]
"""
What an instance is, and the host image that it was asked to run, if any.
"""


class Acknowledged(NamedTuple):
    """
    A finding that somebody has acknowledged, why, and the file that says it; the app
    itself where there is none.
    """

    finding: Finding
    reason: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """
    What was found of one subject, and the images that would take it.

    Args:
        images: The images that take it, where none was asked for.

        left_out: What of it was not checked, and why.

        fault: Why it could not be read; empty if it could.

        place: Where it is, if it is a resource of a template.

        acknowledged: What was found, and is to be reported no more.
    """

    subject: str
    findings: list[Finding]
    images: tuple[str, ...] = ()
    is_checked: bool = True
    left_out: tuple[str, ...] = ()
    fault: str = ""
    place: Place | None = field(default=None, compare=False)
    acknowledged: tuple[Acknowledged, ...] = ()


class _Subject(NamedTuple):
    image: ImageRelease
    container: Shape
    files: Mapping[str, bytes]
    accelerators: int | None
    is_isolated: bool = False
    hosts: Collection[Host] = ()
    left_open: Collection[Shape] = ()

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
    Check every model of a cloud assembly or a template, every component with a
    container, and every adapter.
    """
    found = list(_reports(path, App.read(path)))
    if not found:
        found = [_unchecked(str(path), "it holds no model to check")]
    version = unknown_version(path) if is_assembly(path) else ""
    return [*found, *([_unchecked(str(path), version)] if version else [])]


def _reports(path: Path, app: App) -> Iterator[Report]:
    kinds = ("Model", "InferenceComponent")
    homes = {one.key: one for kind in kinds for one in app.of_type(kind)}
    places = places_in(app)
    for stack in app.stacks:
        for name, properties in stack.of_type("Model"):
            report = _sized(app, _report(app, stack, name, properties), homes, places)
            found = [*report.findings, *_environment_findings(properties)]
            yield replace(report, findings=found, place=place_of(stack, name))
    for stack in app.stacks:
        for name, properties in stack.of_type("InferenceComponent"):
            for specification in specifications_of(properties):
                if not _HAVE_CONTAINERS.isdisjoint(specification):
                    report = _component_report(stack, name, specification)
                    report = _sized(app, report, homes, places)
                    yield replace(report, place=place_of(stack, name))
    # What the service would refuse of the others; those that are right say nothing.
    for refusal in [
        *refusals(app),
        *rollout_refusals(app),
        *scaling_refusals(app),
    ]:
        one = refusal.resource
        place = place_of(one.stack, one.name)
        yield Report(one.key, refusal.findings, place=place)
    for name in app.assembly.unopened:
        yield _unchecked(name, "its template is not in the assembly")
    for fault in app.assembly.faults:
        yield Report(str(path), [], is_checked=False, fault=fault)


def _environment_findings(model: Shape) -> Iterator[Finding]:
    """
    Check how large the environments of a model's containers are.
    """
    for one in [map_of(model, "PrimaryContainer"), *maps_of(model, "Containers")]:
        variables = {
            name: literal(value) for name, value in map_of(one, "Environment").items()
        }
        yield from environment_size_findings("Environment", variables)


def _sized(app: App, report: Report, homes: _Homes, places: Places) -> Report:
    """
    Return a report with whether the model loads where it runs, if nothing else is wrong
    with how it is served.
    """
    home = homes.get(report.subject)
    if home is None or not report.is_checked or errors_of(report.findings):
        return report
    found = memory_findings(app, home, places)
    return replace(report, findings=[*report.findings, *found])


def _report(app: App, stack: Stack, name: str, properties: Shape) -> Report:
    subject = f"{stack.name}/{name}"
    container = _container_of(properties)
    if isinstance(container, str):
        return _unchecked(subject, container)
    return _container_report(
        subject,
        stack,
        container,
        _accelerators(app, subject),
        is_isolated=properties.get("EnableNetworkIsolation") is True,
        hosts=_hosts(app, subject),
        left_open=_left_open(app, subject),
    )


def _component_report(stack: Stack, name: str, specification: Shape) -> Report:
    subject, own = f"{stack.name}/{name}", specification.get("Container", {})
    if is_intrinsic(own):
        return _unchecked(subject, "its container is known at deployment only")
    if "BaseInferenceComponentName" in specification:
        found = list(specification_findings(specification))
        address = _REFERENCE.sub(_AT_DEPLOYMENT, text_of(own.get("ArtifactUrl") or ""))
        # The API takes other addresses of S3, of which nothing is checked.
        if address.startswith(SCHEME):
            found += address_findings(address)
        return Report(subject, found)
    container = {**own, "ModelDataUrl": own.get("ArtifactUrl")}
    report = _container_report(subject, stack, container, _reserved(specification))
    environment = own.get("Environment", {})
    many = [] if is_intrinsic(environment) else variable_findings(environment)
    return replace(report, findings=[*many, *report.findings])


def _container_report(
    subject: str,
    stack: Stack,
    container: Shape,
    accelerators: int | None,
    *,
    is_isolated: bool = False,
    hosts: Collection[Host] = (),
    left_open: Collection[Shape] = (),
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
    container_subject = _Subject(
        image,
        container,
        artifact.files,
        accelerators,
        is_isolated,
        hosts,
        left_open,
    )
    left_out = tuple(_left_out(container_subject))
    found = [*_read_findings(subject, artifact), *_findings(container_subject)]
    is_checked = bool(artifact.sizes or _environment(container) or not left_out)
    return Report(subject, ended + found, is_checked=is_checked, left_out=left_out)


def _unchecked(subject: str, reason: str) -> Report:
    return Report(subject, [], is_checked=False, left_out=(reason,))


def _container_of(properties: Shape) -> Shape | str:
    several = properties.get("Containers")
    container = properties.get("PrimaryContainer")
    if container is None and isinstance(several, list) and len(several) == 1:
        container = several[0]
    if isinstance(container, Mapping) and not is_intrinsic(container):
        return container
    if several:
        return "it has several containers"
    if container:
        return "its container is known at deployment only"
    return "it has no container"


def _unknown_image(container: Shape) -> str:
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
    if not artifact.sizes:
        return list(artifact.findings)
    from cdk_sagemaker_llm.serving.lmi.checks import artifacts  # noqa: PLC0415 - many apps have none

    if artifacts.properties_path(artifact.sizes) is None:
        return list(artifact.findings)
    return artifacts.read_findings(name, artifact)


def _findings(subject: _Subject) -> list[Finding]:
    image, files = subject.image, subject.files
    found = _undecided(subject)
    if image.family in LMI and files:
        from cdk_sagemaker_llm.serving.lmi.checks import artifacts  # noqa: PLC0415 - as above

        found += artifacts.artifact_findings(
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
    serving_findings = container_findings(
        Container(
            image=image, files=files, environment=_environment(subject.container)
        ),
        accelerators=subject.accelerators,
        has_model_data=bool(subject.model_data),
        network_isolation=subject.is_isolated,
        instance_type=types.pop() if len(types) == 1 else None,
    )
    credentials = credential_findings("environment", _environment(subject.container))
    return found + [
        one for one in [*serving_findings, *credentials] if one not in found
    ]


def _left_out(subject: _Subject) -> Iterator[str]:
    if subject.model_data and not subject.files:
        where = subject.model_data
        if subject.image.family in LMI:
            yield f"what is at {where}: it is not in the assembly"
    environment = subject.container.get("Environment", {})
    if is_intrinsic(environment):
        yield "its environment: it is known at deployment only"
        return
    open_ = [name for name, value in environment.items() if isinstance(value, Mapping)]
    secret = [name for name in open_ if "{{resolve:" in text_of(environment[name])]
    named = sorted(set(open_) - set(secret))
    if named:
        yield f"{', '.join(named)}: known at deployment only"


def _environment(container: Shape) -> dict[str, str]:
    environment = container.get("Environment", {})
    if is_intrinsic(environment):
        return {}
    return {name: _value(value) for name, value in environment.items()}


def _value(value: object) -> str:
    if isinstance(value, Mapping | list):
        return _AT_DEPLOYMENT
    # CloudFormation turns switches and numbers into text.
    return str(value).lower() if isinstance(value, bool) else str(value)


def _accelerators(app: App, model: str) -> int | None:
    for component in app.components():
        found = [
            _reserved(specification)
            for specification in component.specifications
            if app.find(specification.get("ModelName"), "Model") == model
        ]
        if not found:
            continue
        if fewest := _fewest(found):
            return fewest
        break
    for config in app.configs():
        for variant in config.every_variant:
            found = [
                next(
                    (one.accelerators for one in _hardware(choice.instance_type)), None
                )
                for choice in variant.choices
                if app.find(choice.model, "Model") == model
            ]
            if found:
                return _fewest(found)
    return None


def _fewest(found: Sequence[int | None]) -> int | None:
    # A type that is not known may have more or fewer: the known ones stay as they are.
    return min((number for number in found if number is not None), default=None)


def _reserved(specification: Shape) -> int | None:
    needs = map_of(specification, "ComputeResourceRequirements")
    return whole(needs.get("NumberOfAcceleratorDevicesRequired"))


def _hosts(app: App, model: str) -> frozenset[Host]:
    """
    Return the types, and their host images, that variants run a model on; without
    those that the catalogue does not have.
    """
    return frozenset(
        (hardware, host_image)
        for config in app.configs()
        for variant in config.every_variant
        for choice in variant.choices
        if app.find(choice.model, "Model") == model
        for hardware in _hardware(choice.instance_type)
        for host_image in [variant.shape.get("InferenceAmiVersion")]
        if host_image is None or isinstance(host_image, str)
        if not is_open(host_image)
    )


def _left_open(app: App, model: str) -> list[Shape]:
    """
    Return the variants that run a model on a type which deployment decides.
    """
    return [
        variant.shape
        for config in app.configs()
        for variant in config.every_variant
        for choice in variant.choices
        if app.find(choice.model, "Model") == model and is_open(choice.instance_type)
    ]


def _undecided(subject: _Subject) -> list[Finding]:
    if not subject.left_open:
        return []
    left_out = []
    if any("InferenceAmiVersion" not in one for one in subject.left_open):
        left_out.append("InferenceAmiVersion")
    texts = [*_environment(subject.container), *map(str, subject.files.values())]
    if not subject.image.is_for_cpu and not any(map(_SPLIT.search, texts)):
        left_out.append("the number of devices that the model is split over")
    return undecided_findings("InstanceType", left_out, None)


def _hardware(name: object) -> Iterator[InstanceType]:
    if isinstance(name, str) and name in instance_type_names():
        yield find_instance_type(name)
