"""
What an app hosts: endpoints, their configurations and variants, components and models.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cdk_sagemaker_llm.catalog.images import ImageRelease, image_at
from cdk_sagemaker_llm.cli.app.assembly import Assembly, Stack, read_app
from cdk_sagemaker_llm.cli.app.intrinsics import evaluate, exists, references_in
from cdk_sagemaker_llm.cli.app.template_shapes import AssemblyError, text_of
from cdk_sagemaker_llm.serving.lmi.artifact import Artifact, tarball_files
from cdk_sagemaker_llm.simulation.api_values import (
    Shape,
    integer,
    map_of,
    maps_of,
    model_on,
    number,
    pools_of,
    specification_on,
    specifications_of,
)

if TYPE_CHECKING:
    from cdk_sagemaker_llm.fit.placement import ResourceRequirements

# Both names may be ARNs that end in the name proper, or references with a / inside.
_VARIANT_ID = re.compile(r"endpoint/(?P<endpoint>.+)/variant/(?P<variant>[^/]+)\Z")
_COMPONENT_ID = re.compile(r"inference-component/(?P<component>.+)\Z")
_BASE = "BaseInferenceComponentName"
# What a template leaves open is counted as the least that the API takes.
_LEAST_MEMORY_MIB = 128
# Where a literal name may stand, which another place may refer to by reference.
_NAMES: Mapping[str, str] = {
    "Endpoint": "EndpointName",
    "EndpointConfig": "EndpointConfigName",
    "InferenceComponent": "InferenceComponentName",
    "Model": "ModelName",
}
# What scaling and metrics are of; the others may be called alike.
_SCALED = ("Endpoint", "InferenceComponent")


@dataclass(frozen=True, slots=True)
class Resource:
    """
    A resource with its values computed.

    Args:
        properties: Its properties, references written as ``${Stack/LogicalId}``.
    """

    stack: Stack = field(repr=False)
    name: str
    properties: Shape

    @property
    def key(self) -> str:
        """
        Stack and logical id, by which it is known everywhere.
        """
        return f"{self.stack.name}/{self.name}"


class Choice(NamedTuple):
    """
    One instance type of a variant.

    Args:
        shape: The instance pool, or the variant itself if it has one type.

        instance_type: What names the type; ``None`` where it is omitted.

        model: What names the model that fills its instances; ``None`` if components
            share them.
    """

    shape: Shape
    instance_type: object
    model: object


class Variant(NamedTuple):
    """
    A production variant, or a shadow of one, as its configuration has it.
    """

    shape: Shape

    @property
    def name(self) -> str:
        return str(self.shape.get("VariantName", "AllTraffic"))

    @property
    def instances(self) -> object:
        return self.shape.get("InitialInstanceCount", 1)

    @property
    def choices(self) -> list[Choice]:
        """
        Its instance types, the first choice first.
        """
        return [
            Choice(pool, pool.get("InstanceType"), model_on(self.shape, pool))
            for pool in pools_of(self.shape)
        ]


class EndpointConfig(NamedTuple):
    resource: Resource

    @property
    def variants(self) -> list[Variant]:
        """
        Its production variants, as far as they are known.
        """
        return list(
            map(Variant, maps_of(self.resource.properties, "ProductionVariants"))
        )

    @property
    def shadows(self) -> list[Variant]:
        """
        Its shadow variants, as far as they are known.
        """
        shapes = maps_of(self.resource.properties, "ShadowProductionVariants")
        return list(map(Variant, shapes))

    @property
    def every_variant(self) -> list[Variant]:
        """
        Its variants of both kinds.
        """
        return [*self.variants, *self.shadows]

    @property
    def asynchronous(self) -> Shape | None:
        """
        How requests are queued; ``None`` if callers wait.
        """
        is_queued = "AsyncInferenceConfig" in self.resource.properties
        found = map_of(self.resource.properties, "AsyncInferenceConfig")
        return found if is_queued else None


class Component(NamedTuple):
    """
    An inference component, or an adapter of one.
    """

    resource: Resource

    @property
    def key(self) -> str:
        return self.resource.key

    @property
    def specifications(self) -> list[Shape]:
        """
        What its copies are: once, or once for each instance type.
        """
        return specifications_of(self.resource.properties)

    @property
    def is_adapter(self) -> bool:
        """
        Whether it is loaded into the copies of another, and reserves nothing.
        """
        return _BASE in map_of(self.resource.properties, "Specification")

    @property
    def copies(self) -> object:
        """
        How many copies there are at the start.
        """
        return map_of(self.resource.properties, "RuntimeConfig").get("CopyCount")

    def specification_on(self, instance_type: object) -> Shape:
        return specification_on(self.resource.properties, instance_type)

    def needs_on(self, instance_type: object) -> ResourceRequirements:
        """
        Return what a copy reserves on a type of instance, and how many there are.
        """
        # It loads what plans, of which checks need nothing.
        from cdk_sagemaker_llm.fit.placement import ResourceRequirements  # noqa: PLC0415

        needs = map_of(
            self.specification_on(instance_type), "ComputeResourceRequirements"
        )
        memory = integer(needs.get("MinMemoryRequiredInMb"))
        accelerators = number(needs.get("NumberOfAcceleratorDevicesRequired")) or 0
        try:
            return ResourceRequirements(
                copies=integer(self.copies) or 0,
                accelerators=math.ceil(accelerators) or None,
                cpus=number(needs.get("NumberOfCpuCoresRequired")) or None,
                memory_mib=_LEAST_MEMORY_MIB if memory is None else memory,
            )
        except ValueError as fault:
            raise AssemblyError(f"{self.key}: {fault}") from fault


class Target(NamedTuple):
    """
    What is scaled: the instances of a variant, or the copies of a component.

    Args:
        variant: The variant; empty for a component.
    """

    name: str
    variant: str = ""

    @property
    def dimensions(self) -> dict[str, str]:
        if not self.variant:
            return {"InferenceComponentName": self.name}
        return {"EndpointName": self.name, "VariantName": self.variant}

    def __str__(self) -> str:
        return f"{self.name} ({self.variant})" if self.variant else self.name


@dataclass(slots=True)
class App:
    """
    An app, read once.

    Args:
        left_out: What a simulation leaves out, and why, one sentence each.

        assumed: What the app leaves open and AWS does not document.
    """

    assembly: Assembly
    left_out: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    _literals: dict[tuple[str, str], str] = field(default_factory=dict)
    _kinds: dict[str, list[Resource]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.left_out += self.assembly.faults
        self.left_out += [
            f"{name}: its template is not in the assembly"
            for name in self.assembly.unopened
        ]
        for kind, key in _NAMES.items():
            for one in self.of_type(kind):
                literal = one.properties.get(key)
                if literal is not None:
                    self._literals[kind, str(literal)] = one.key

    @classmethod
    def read(cls, path: Path) -> App:
        return cls(read_app(path))

    @property
    def stacks(self) -> Sequence[Stack]:
        """
        Its stacks, each before those that are nested in it.
        """
        return self.assembly.stacks

    @property
    def region(self) -> str:
        """
        The region of all stacks that name one; empty if they name none, or several.
        """
        regions = {stack.region for stack in self.stacks if stack.region}
        return regions.pop() if len(regions) == 1 else ""

    def of_type(self, kind: str, service: str = "SageMaker") -> list[Resource]:
        """
        Return the resources of ``AWS::<service>::<kind>`` that are there, as far as
        conditions say it.
        """
        full_name = f"{service}::{kind}"
        if full_name in self._kinds:
            return self._kinds[full_name]
        resources = self._kinds[full_name] = []
        for stack in self.stacks:
            for name, properties in stack.of_type(kind, service):
                if exists(stack, name) is False:
                    continue
                found = evaluate(stack, properties)
                if isinstance(found, Mapping):
                    resources.append(Resource(stack, name, found))
                else:
                    key = f"{stack.name}/{name}"
                    self.tell(key, "its properties are known at deployment only")
        return resources

    def find(self, value: object, kind: str = "") -> str:
        """
        Return the resource that a value names, or else the value as text.

        Without a kind it is an endpoint or a component.
        """
        named = references_in(value)
        if named:
            return named[-1]
        text = str(value)
        for name in (text, text.rpartition("/")[2]):
            for each in (kind,) if kind else _SCALED:
                if (each, name) in self._literals:
                    return self._literals[each, name]
        return text

    def tell(self, subject: str, why: str) -> None:
        """
        Note something that is not simulated.
        """
        reason = f"{subject}: {why}"
        if reason not in self.left_out:
            self.left_out.append(reason)

    def configs(self) -> list[EndpointConfig]:
        return list(map(EndpointConfig, self.of_type("EndpointConfig")))

    def config_of(self, endpoint: Resource) -> EndpointConfig | None:
        """
        Return the configuration of an endpoint; ``None`` if it is not in the app.
        """
        key = self.find(endpoint.properties.get("EndpointConfigName"), "EndpointConfig")
        found = (one for one in self.configs() if one.resource.key == key)
        return next(found, None)

    def components(self) -> list[Component]:
        return list(map(Component, self.of_type("InferenceComponent")))

    def components_on(self, endpoint: Resource, variant: Variant) -> list[Component]:
        """
        Return the components on a variant of an endpoint, adapters among them.
        """
        return [
            one
            for one in self.components()
            if self.find(one.resource.properties.get("EndpointName")) == endpoint.key
            if one.resource.properties.get("VariantName", variant.name) == variant.name
        ]

    def model(self, name: object) -> Resource | None:
        """
        Return the model that a value names; ``None`` if it is not in the app.
        """
        key = self.find(name, "Model")
        return next((one for one in self.of_type("Model") if one.key == key), None)

    def target_of(self, one: Resource) -> Target | None:
        """
        Return what the ResourceId of a scalable target or a policy names; ``None`` if
        that is not known.
        """
        text = str(one.properties.get("ResourceId"))
        variant = _VARIANT_ID.search(text)
        if variant is not None:
            return Target(self.find(variant["endpoint"]), variant["variant"])
        component = _COMPONENT_ID.search(text)
        return Target(self.find(component["component"])) if component else None


def model_container(model: Resource) -> Shape:
    """
    Return the container of a model, the first of several.
    """
    several = maps_of(model.properties, "Containers")
    only = map_of(model.properties, "PrimaryContainer")
    return only or (several[0] if several else {})


def image_of(container: Shape) -> ImageRelease | None:
    """
    Recognise the image of a container definition; ``None`` for one of the user's.
    """
    return image_at(text_of(container.get("Image", "")))


def artifact_files(stack: Stack, container: Shape) -> Artifact:
    """
    Read the model tarball that travels with the assembly; empty without one.
    """
    path = stack.asset(container.get("ModelDataUrl", ""))
    return Artifact({}, {}) if path is None else tarball_files(path)
