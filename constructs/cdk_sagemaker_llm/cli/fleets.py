"""
What the endpoints of a synthesised app take: instances, accelerators, quotas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.catalog.instances import InstanceType, find_instance_type
from cdk_sagemaker_llm.cli.assembly import Stack, read_stacks, target_of, text_of

_TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"


@dataclass(frozen=True, kw_only=True, slots=True)
class Hosted:
    """
    A model on a fleet: how many copies, and what each reserves.
    """

    name: str
    copies: int
    accelerators: float
    cpus: float
    memory_mib: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Fleet:
    """
    The instances of one variant of an endpoint.

    Args:
        endpoint: Stack and logical id of the endpoint.

        variant: The variant's name.

        instance_type: The instance type's API name.

        instances: Instances at the start.

        most_instances: Instances that scaling may add up to.

        models: What runs on them.
    """

    endpoint: str
    variant: str
    instance_type: str
    instances: int
    most_instances: int
    models: tuple[Hosted, ...]

    @property
    def hardware(self) -> InstanceType | None:
        """
        The instance type's hardware; ``None`` if the catalogue does not have it.
        """
        try:
            return find_instance_type(self.instance_type)
        except ValueError:
            return None

    @property
    def accelerators(self) -> int | None:
        """
        Accelerators of the instances at the start; ``None`` if not known.
        """
        hardware = self.hardware
        return None if hardware is None else hardware.accelerators * self.instances

    @property
    def used(self) -> float:
        """
        Accelerators that the copies at the start reserve.
        """
        return sum(model.copies * model.accelerators for model in self.models)

    @property
    def quota(self) -> str:
        """
        The name of the service quota that counts the instances.
        """
        return f"{self.instance_type} for endpoint usage"


def read_fleets(path: Path) -> list[Fleet]:
    """
    Read the fleets of every endpoint in a cloud assembly.

    Raises:
        AssemblyError: If the assembly cannot be read.
    """
    return [
        fleet
        for stack in read_stacks(path)
        for endpoint, properties in stack.of_type("Endpoint")
        for fleet in _of_endpoint(stack, endpoint, properties)
    ]


def quotas(fleets: list[Fleet]) -> dict[str, int]:
    """
    Return the service quotas that all fleets need together, by name.
    """
    needed: dict[str, int] = {}
    for fleet in fleets:
        needed[fleet.quota] = needed.get(fleet.quota, 0) + fleet.most_instances
    return dict(sorted(needed.items()))


def _of_endpoint(
    stack: Stack, endpoint: str, properties: Mapping[str, Any]
) -> list[Fleet]:
    config_id = target_of(properties.get("EndpointConfigName"))
    config = stack.resources.get(config_id or "", {}).get("Properties", {})
    return [
        _fleet(stack, endpoint, variant)
        for variant in config.get("ProductionVariants", [])
    ]


def _fleet(stack: Stack, endpoint: str, variant: Mapping[str, Any]) -> Fleet:
    name = str(variant.get("VariantName", "AllTraffic"))
    instances = _whole(variant.get("InitialInstanceCount"), 1)
    managed = variant.get("ManagedInstanceScaling", {})
    scaled = _scaled_to(stack, f"endpoint/${{{endpoint}}}/variant/{name}")
    most = max(instances, _whole(managed.get("MaxInstanceCount"), 0), scaled)
    instance_type = text_of(variant.get("InstanceType", "unknown"))
    fleet = Fleet(
        endpoint=f"{stack.name}/{endpoint}",
        variant=name,
        instance_type=instance_type,
        instances=instances,
        most_instances=most,
        models=_components(stack, endpoint, name),
    )
    model = target_of(variant.get("ModelName"))
    return fleet if model is None else _filled(fleet, model)


def _filled(fleet: Fleet, model: str) -> Fleet:
    hardware = fleet.hardware
    whole = Hosted(
        name=model,
        copies=fleet.instances,
        accelerators=hardware.accelerators if hardware else 0,
        cpus=hardware.vcpus if hardware else 0,
        memory_mib=hardware.memory_gib * 1024 if hardware else 0,
    )
    return Fleet(
        endpoint=fleet.endpoint,
        variant=fleet.variant,
        instance_type=fleet.instance_type,
        instances=fleet.instances,
        most_instances=fleet.most_instances,
        models=(whole,),
    )


def _components(stack: Stack, endpoint: str, variant: str) -> tuple[Hosted, ...]:
    return tuple(
        _hosted(name, properties)
        for name, properties in stack.of_type("InferenceComponent")
        if target_of(properties.get("EndpointName")) == endpoint
        if properties.get("VariantName", variant) == variant
    )


def _hosted(name: str, properties: Mapping[str, Any]) -> Hosted:
    specification = properties.get("Specification", {})
    needs = specification.get("ComputeResourceRequirements", {})
    return Hosted(
        name=name,
        copies=_whole(properties.get("RuntimeConfig", {}).get("CopyCount"), 0),
        accelerators=_number(needs.get("NumberOfAcceleratorDevicesRequired")),
        cpus=_number(needs.get("NumberOfCpuCoresRequired")),
        memory_mib=_number(needs.get("MinMemoryRequiredInMb")),
    )


def _scaled_to(stack: Stack, resource_id: str) -> int:
    found = [
        _whole(resource.get("Properties", {}).get("MaxCapacity"), 0)
        for resource in stack.resources.values()
        if resource.get("Type") == _TARGET
        if text_of(resource.get("Properties", {}).get("ResourceId")) == resource_id
    ]
    return max(found, default=0)


def _whole(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) else otherwise


def _number(value: object) -> float:
    return value if isinstance(value, int | float) else 0
