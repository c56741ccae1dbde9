"""
What the endpoints of a synthesised app take: instances, accelerators, quotas.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.catalog.instances import InstanceType, find_instance_type
from cdk_sagemaker_llm.cli.assembly import Stack, read_stacks, target_of, text_of
from cdk_sagemaker_llm.cli.hosted import shadows_in, variants_in
from cdk_sagemaker_llm.cli.pools import model_in, pools_in, specification_on
from cdk_sagemaker_llm.cli.references import full_text_of, means, resolve
from cdk_sagemaker_llm.cli.shapes import AssemblyError
from cdk_sagemaker_llm.fit.packing import Fleet
from cdk_sagemaker_llm.fit.placement import ResourceRequirements

_TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"
# What a template leaves open is counted as the least that the API takes.
_LEAST_MEMORY_MIB = 128

Models = Mapping[str, ResourceRequirements]


@dataclass(frozen=True, kw_only=True, slots=True)
class HostedVariant:
    """
    The instances of one variant of an endpoint, and what runs on them.

    Args:
        endpoint: Stack and logical id of the endpoint.

        variant: The variant's name.

        instance_type: The instance type's API name.

        instances: Instances at the start.

        most_instances: Instances that scaling may add up to.

        filled_by:
            The model of which each instance runs one copy.
            If left out, components share the instances.

        components:
            What a copy of each component reserves, and how many copies there are.
            If left out, there are none.

        fallbacks:
            The same on instances of the further types of pools, which start where the
            first has no capacity.
            If left out, there is one type.
    """

    endpoint: str
    variant: str
    instance_type: str
    instances: int
    most_instances: int
    filled_by: str | None = None
    components: Models = field(default_factory=dict)
    fallbacks: tuple[HostedVariant, ...] = ()

    @property
    def fleet(self) -> Fleet | None:
        """
        The instances with their models; ``None`` if the catalogue lacks the type.
        """
        try:
            hardware = find_instance_type(self.instance_type)
        except ValueError:
            return None
        models = self.components
        if self.filled_by is not None:
            models = {self.filled_by: _whole_instance(hardware, self.instances)}
        return Fleet(instance_type=hardware, instances=self.instances, models=models)

    @property
    def copies(self) -> dict[str, int]:
        """
        Copies at the start, by model.
        """
        if self.filled_by is not None:
            return {self.filled_by: self.instances}
        return {name: needs.copies for name, needs in self.components.items()}

    @property
    def accelerators_used(self) -> int | None:
        """
        Accelerators that all copies at the start reserve; ``None`` if not known.
        """
        if self.fleet is not None:
            return self.fleet.accelerators_used
        if self.filled_by is not None:
            return None
        return sum(n.copies * (n.accelerators or 0) for n in self.components.values())

    @property
    def quota(self) -> str:
        """
        The name of the service quota that counts the instances.
        """
        return f"{self.instance_type} for endpoint usage"


def read_variants(path: Path) -> list[HostedVariant]:
    """
    Read the variants of every endpoint in a cloud assembly.

    Raises:
        AssemblyError: If the assembly cannot be read, or asks for what SageMaker's
            API does not accept.
    """
    stacks = read_stacks(path)
    return [
        _variant(stacks, stack, endpoint, variant)
        for stack in stacks
        for endpoint, properties in stack.of_type("Endpoint")
        for variant in _variants_of(stack, properties)
    ]


def quotas(variants: Sequence[HostedVariant]) -> dict[str, int]:
    """
    Return the service quotas that all variants need together, by name.
    """
    needed: dict[str, int] = {}
    # The service asks for a quota of each type that may start.
    for variant in [each for one in variants for each in (one, *one.fallbacks)]:
        needed[variant.quota] = needed.get(variant.quota, 0) + variant.most_instances
    return dict(sorted(needed.items()))


def _variants_of(
    stack: Stack, endpoint: Mapping[str, Any]
) -> Sequence[Mapping[str, Any]]:
    found = resolve(stack, endpoint.get("EndpointConfigName"))
    if found is None:
        return []
    home, name = found
    config = home.resources[name].get("Properties", {})
    return [*variants_in(config), *shadows_in(config)]


def _variant(
    stacks: Sequence[Stack], stack: Stack, endpoint: str, variant: Mapping[str, Any]
) -> HostedVariant:
    name = str(variant.get("VariantName", "AllTraffic"))
    instances = _whole(variant.get("InitialInstanceCount"), 1)
    managed = variant.get("ManagedInstanceScaling", {})
    scaled = _scaled_to(stacks, f"endpoint/${{{stack.name}/{endpoint}}}/variant/{name}")
    most = max(instances, _whole(managed.get("MaxInstanceCount"), 0), scaled)
    first, *others = (
        _on_type(stacks, stack, endpoint, variant, pool) for pool in pools_in(variant)
    )
    counted = [
        replace(each, instances=instances, most_instances=most)
        for each in (first, *others)
    ]
    return replace(counted[0], fallbacks=tuple(counted[1:]))


def _on_type(
    stacks: Sequence[Stack],
    stack: Stack,
    endpoint: str,
    variant: Mapping[str, Any],
    pool: Mapping[str, Any],
) -> HostedVariant:
    name = str(variant.get("VariantName", "AllTraffic"))
    kind = pool.get("InstanceType", "unknown")
    model = target_of(model_in(variant, pool))
    found = {} if model else _components(stacks, stack, endpoint, name, kind)
    return HostedVariant(
        endpoint=f"{stack.name}/{endpoint}",
        variant=name,
        instance_type=text_of(kind),
        instances=1,
        most_instances=1,
        filled_by=model,
        components=found,
    )


def _whole_instance(hardware: InstanceType, copies: int) -> ResourceRequirements:
    return ResourceRequirements(
        copies=copies,
        accelerators=hardware.accelerators or None,
        cpus=hardware.vcpus,
        memory_mib=int(hardware.memory_gib * 1024),
    )


def _components(
    stacks: Sequence[Stack], stack: Stack, endpoint: str, variant: str, kind: object
) -> Models:
    return {
        f"{home.name}/{name}" if home is not stack else name: needs_of(
            f"{home.name}/{name}", properties, kind
        )
        for home in stacks
        for name, properties in home.of_type("InferenceComponent")
        if means(home, properties.get("EndpointName"), stack, endpoint)
        if properties.get("VariantName", variant) == variant
        # An adapter is loaded into the copies of its base and reserves nothing.
        if "BaseInferenceComponentName" not in properties.get("Specification", {})
    }


def needs_of(
    component: str, properties: Mapping[str, Any], instance_type: object = None
) -> ResourceRequirements:
    """
    Read what a copy of a component reserves, and how many there are.

    Args:
        component: What to call it.

        properties: Its properties.

        instance_type: The type it is to be on.
            If left out, it is the same on all.

    Raises:
        AssemblyError: If the API does not accept it.
    """
    specification = specification_on(properties, instance_type)
    needs = specification.get("ComputeResourceRequirements", {})
    try:
        return ResourceRequirements(
            copies=_whole(properties.get("RuntimeConfig", {}).get("CopyCount"), 0),
            accelerators=math.ceil(
                _number(needs.get("NumberOfAcceleratorDevicesRequired"))
            )
            or None,
            cpus=_number(needs.get("NumberOfCpuCoresRequired")) or None,
            memory_mib=_whole(needs.get("MinMemoryRequiredInMb"), _LEAST_MEMORY_MIB),
        )
    except ValueError as fault:
        raise AssemblyError(f"{component}: {fault}") from fault


def _scaled_to(stacks: Sequence[Stack], resource_id: str) -> int:
    found = [
        _whole(resource.get("Properties", {}).get("MaxCapacity"), 0)
        for stack in stacks
        for resource in stack.resources.values()
        if resource.get("Type") == _TARGET
        if full_text_of(stack, resource.get("Properties", {}).get("ResourceId"))
        == resource_id
    ]
    return max(found, default=0)


def _whole(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) else otherwise


def _number(value: object) -> float:
    # A number too large for a float is read as infinity.
    return value if isinstance(value, int | float) and math.isfinite(value) else 0
