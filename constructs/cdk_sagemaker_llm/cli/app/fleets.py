"""
What each variant of a synthesised app takes, as ``plan`` shows it: instances,
accelerators, quotas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.cli.app.hosting import App, Resource, Target, Variant
from cdk_sagemaker_llm.cli.app.template_shapes import AssemblyError
from cdk_sagemaker_llm.fit.packing import Fleet, Packing, fewest_instances
from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.simulation.api_values import map_of, whole

_TARGET = ("ScalableTarget", "ApplicationAutoScaling")

Models = Mapping[str, ResourceRequirements]


@dataclass(frozen=True, kw_only=True, slots=True)
class VariantPlan:
    """
    The instances of one variant of an endpoint, and what runs on them.

    Args:
        endpoint: Stack and logical id of the endpoint.

        most_instances: Instances that scaling may add up to.

        filled_by:
            The model of which each instance runs one copy.
            If omitted, components share the instances.

        components:
            What a copy of each component reserves, and how many copies there are.
            If omitted, there are none.

        fallbacks:
            The same on instances of the further types of pools, which start where the
            first has no capacity.
            If omitted, there is one type.
    """

    endpoint: str
    variant: str
    instance_type: str
    instances: int
    most_instances: int
    filled_by: str | None = None
    components: Models = field(default_factory=dict)
    fallbacks: tuple[VariantPlan, ...] = ()

    @property
    def fleet(self) -> Fleet | None:
        """
        The instances that the copies at the start come to, as far as scaling may add
        any, with their models; ``None`` if the catalogue lacks the type.
        """
        try:
            hardware = find_instance_type(self.instance_type)
        except ValueError:
            return None
        models = self.components
        if self.filled_by is not None:
            whole_instance = ResourceRequirements(
                copies=self.instances,
                accelerators=hardware.accelerators or None,
                cpus=hardware.vcpus,
                memory_mib=int(hardware.memory_gib * 1024),
            )
            models = {self.filled_by: whole_instance}
        fleet = Fleet(instance_type=hardware, instances=self.instances, models=models)
        fewest = self._fewest(fleet.pack())
        if fewest is None:
            return fleet
        count = max(self.instances, len(fewest.instances))
        return replace(fleet, instances=min(count, self.most_instances))

    @property
    def fewest(self) -> Packing | None:
        """
        All copies on as few instances as possible; ``None`` where no more may come, or
        no number of them helps.
        """
        return None if self.fleet is None else self._fewest(self.fleet.pack())

    @property
    def running(self) -> int:
        """
        How many instances run once all copies have started that find a place.
        """
        return self.instances if self.fleet is None else self.fleet.instances

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

    def _fewest(self, packing: Packing) -> Packing | None:
        may_grow = self.most_instances > self.instances
        if self.filled_by is not None or not may_grow:
            return None
        try:
            return fewest_instances(packing.needs, packing.capacity)
        except ValueError:
            # A copy that is larger than an instance is among the packing's reasons.
            return None


def variant_plans(app: App) -> list[VariantPlan]:
    """
    Return what each variant of each endpoint takes.
    """
    if app.assembly.faults:
        raise AssemblyError("\n".join(app.assembly.faults))
    return [
        _variant(app, endpoint, variant)
        for endpoint in app.of_type("Endpoint")
        if (config := app.config_of(endpoint)) is not None
        for variant in config.every_variant
    ]


def quotas(variants: Sequence[VariantPlan]) -> dict[str, int]:
    """
    Return the service quotas that all variants need together, by name.
    """
    needed: dict[str, int] = {}
    # The service asks for a quota of each type that may start.
    for variant in [each for one in variants for each in (one, *one.fallbacks)]:
        needed[variant.quota] = needed.get(variant.quota, 0) + variant.most_instances
    return dict(sorted(needed.items()))


def _variant(app: App, endpoint: Resource, variant: Variant) -> VariantPlan:
    count = whole(variant.instances)
    instances = 1 if count is None else count
    managed = map_of(variant.shape, "ManagedInstanceScaling").get("MaxInstanceCount")
    target = Target(endpoint.key, variant.name)
    scaled = [
        whole(one.properties.get("MaxCapacity")) or 0
        for one in app.of_type(*_TARGET)
        if app.target_of(one) == target
    ]
    most = max(instances, whole(managed) or 0, *scaled)
    plans = []
    for choice in variant.choices:
        kind = choice.instance_type
        model = None if choice.model is None else _name_of(app, choice.model)
        components = {}
        for one in [] if model else app.components_on(endpoint, variant):
            # An adapter is loaded into the copies of its base and reserves nothing.
            if not one.is_adapter:
                is_beside = one.resource.stack is endpoint.stack
                name = one.resource.name if is_beside else one.key
                components[name] = one.needs_on(kind)
        plans.append(
            VariantPlan(
                endpoint=endpoint.key,
                variant=variant.name,
                instance_type="unknown" if kind is None else str(kind),
                instances=instances,
                most_instances=most,
                filled_by=model,
                components=components,
            )
        )
    first, *others = plans
    return replace(first, fallbacks=tuple(others))


def _name_of(app: App, model: object) -> str:
    found = app.model(model)
    return found.name if found else str(model).removeprefix("${").removesuffix("}")
