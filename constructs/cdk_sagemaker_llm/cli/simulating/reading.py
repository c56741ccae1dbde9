"""
Reading what an app hosts out of its templates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cdk_sagemaker_llm.cli.assembly import read_assembly, read_template
from cdk_sagemaker_llm.cli.fleets import needs_of
from cdk_sagemaker_llm.cli.pools import specification_on
from cdk_sagemaker_llm.cli.shapes import AssemblyError, is_assembly
from cdk_sagemaker_llm.cli.simulating.apps import (
    Hosted,
    HostedApp,
    HostedModel,
    Needs,
)
from cdk_sagemaker_llm.cli.simulating.containers import (
    Served,
    model_container,
    served_by,
)
from cdk_sagemaker_llm.cli.simulating.resources import (
    Properties,
    Resource,
    Resources,
    map_of,
    maps_of,
    number,
    shown,
    whole,
)
from cdk_sagemaker_llm.cli.simulating.scaling import read_scaling
from cdk_sagemaker_llm.cli.simulating.targets import Scaling, Target
from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.simulation.fleet import Pool, ScaleIn
from cdk_sagemaker_llm.simulation.scenario import Routing

_MINUTE = 60.0
_STRATEGIES = ("IDLE_RELEASE", "CONSOLIDATION")


def read_app(path: Path) -> HostedApp:
    """
    Read a cloud assembly or a single template.

    Raises:
        AssemblyError: If it is neither, or cannot be read at all.
    """
    if path.is_file():
        resources = Resources.of(read_template(path))
    elif is_assembly(path):
        resources = Resources.of(read_assembly(path))
    else:
        raise AssemblyError(
            f"{path} is neither a cloud assembly, such as cdk.out, nor a template in "
            "JSON; write one with: cdk synth"
        )
    scaling = read_scaling(resources)
    variants = tuple(_Reader(resources, scaling).variants())
    _tell_unused(resources, scaling, variants)
    return HostedApp(variants, tuple(resources.left_out), tuple(resources.assumed))


class _Reader:
    """
    Puts together what belongs to each variant.
    """

    def __init__(self, resources: Resources, scaling: Mapping[Target, Scaling]) -> None:
        self._resources = resources
        self._scaling = scaling
        self._configs = {one.key: one for one in resources.of_type("EndpointConfig")}
        self._models = {one.key: one for one in resources.of_type("Model")}
        self._components = list(resources.of_type("InferenceComponent"))

    def variants(self) -> Iterator[Hosted]:
        """
        Return the variants that can be played out; tell of the others.
        """
        for endpoint in self._resources.of_type("Endpoint"):
            name = endpoint.properties.get("EndpointConfigName")
            config = self._configs.get(self._resources.find(name))
            if config is None:
                self._tell(endpoint, f"its configuration is not in the app: {name}")
                continue
            if maps_of(config.properties, "ShadowProductionVariants"):
                self._tell(endpoint, "its shadow variants are not simulated")
            variants = maps_of(config.properties, "ProductionVariants")
            at_once = None
            if "AsyncInferenceConfig" in config.properties:
                if len(variants) > 1:
                    self._tell(
                        endpoint, "one queue of several variants is not simulated"
                    )
                    continue
                at_once = self._at_once(endpoint, config)
            shares = self._shares(endpoint, variants)
            for share, variant in zip(shares, variants, strict=True):
                yield from self._variant(endpoint, variant, share, at_once)

    def _at_once(self, endpoint: Resource, config: Resource) -> int:
        """
        Return how many requests each instance is sent, while others wait in a queue.
        """
        given = map_of(config.properties, "AsyncInferenceConfig")
        client = map_of(given, "ClientConfig")
        found = whole(client.get("MaxConcurrentInvocationsPerInstance"))
        if found is None:
            self._assume(
                endpoint,
                "MaxConcurrentInvocationsPerInstance is SageMaker's choice, which is "
                "not published: it is taken for 1",
            )
        return found or 1

    def _shares(
        self, endpoint: Resource, variants: Sequence[Properties]
    ) -> list[float]:
        """
        Return which part of the requests each variant gets: all parts are the whole.
        """
        found = [number(each.get("InitialVariantWeight", 1)) for each in variants]
        weights = [1.0 if weight is None else max(weight, 0.0) for weight in found]
        if None in found:
            self._assume(endpoint, "a weight that is not known is taken for 1")
        if not any(weights):
            weights = [1.0] * len(variants)
            if len(variants) > 1:
                self._assume(endpoint, "no variant has a weight: all get the same")
        return [weight / sum(weights) for weight in weights]

    def _variant(
        self,
        endpoint: Resource,
        given: Properties,
        share: float,
        at_once: int | None,
    ) -> Iterator[Hosted]:
        name = str(given.get("VariantName", "AllTraffic"))
        pools = self._pools(endpoint, name, given)
        instances = whole(given.get("InitialInstanceCount", 1))
        if "ServerlessConfig" in given:
            self._tell(endpoint, f"serverless variant {name} is not simulated")
            return
        if not pools or instances is None:
            key = "InitialInstanceCount" if pools else "InstanceType"
            self._tell(endpoint, f"the {key} of {name} is {shown(given.get(key))}")
            return
        first = pools[0].instance_type
        models = tuple(
            replace(model, at_once=at_once)
            for model in self._hosted(endpoint, given, instances, first)
        )
        if not models:
            self._tell(endpoint, f"nothing runs on its variant {name}")
            return
        least, most, managed = self._bounds(given, instances, models)
        waited = number(given.get("VariantInstanceProvisionTimeoutInSeconds"))
        yield Hosted(
            endpoint=endpoint.key,
            variant=name,
            pools=pools,
            instances=instances,
            minimum=least,
            maximum=most,
            managed=managed,
            scale_in=self._scale_in(endpoint, given),
            provision_timeout=waited,
            routing=self._routing(endpoint, given),
            share=share,
            models=models,
        )

    def _pools(
        self, endpoint: Resource, name: str, given: Properties
    ) -> tuple[Pool, ...]:
        found = []
        for order, pool in enumerate(maps_of(given, "InstancePools"), start=1):
            priority = whole(pool.get("Priority")) or order
            found.append(Pool(str(pool.get("InstanceType")), priority))
            if "ModelNameOverride" in pool:
                what = f"the model of its own of {pool.get('InstanceType')} in {name}"
                self._tell(endpoint, f"{what} is not simulated")
        own = given.get("InstanceType")
        if not found and isinstance(own, str) and not own.startswith("${"):
            found = [Pool(own)]
        # Figures are of the first choice.
        return tuple(sorted(found, key=lambda pool: pool.priority))

    def _bounds(
        self, given: Properties, instances: int, models: tuple[HostedModel, ...]
    ) -> tuple[int, int, bool]:
        managed = map_of(given, "ManagedInstanceScaling")
        if managed.get("Status") == "ENABLED":
            least = whole(managed.get("MinInstanceCount"))
            most = whole(managed.get("MaxInstanceCount"))
            # What the template leaves open stays as it is at the start.
            floor = instances if least is None else least
            return floor, max(floor, instances if most is None else most), True
        scaling = models[0].scaling if models[0].needs is None else None
        if scaling is not None:
            return scaling.bounds.minimum, scaling.bounds.maximum, False
        return instances, instances, False

    def _scale_in(self, endpoint: Resource, given: Properties) -> ScaleIn | None:
        policy = map_of(map_of(given, "ManagedInstanceScaling"), "ScaleInPolicy")
        if not policy:
            return None
        step = whole(policy.get("MaximumStepSize", 1))
        minutes = number(policy.get("CooldownInMinutes", 20))
        strategy = policy.get("Strategy")
        if step is None or minutes is None or strategy not in _STRATEGIES:
            self._tell(endpoint, "its ScaleInPolicy is known at deployment only")
            return None
        try:
            return ScaleIn(
                strategy=strategy, maximum_step=step, cooldown=minutes * _MINUTE
            )
        except ValueError as fault:
            self._tell(endpoint, f"its ScaleInPolicy is not simulated: {fault}")
            return None

    def _routing(self, endpoint: Resource, given: Properties) -> Routing:
        strategy = map_of(given, "RoutingConfig").get("RoutingStrategy", "RANDOM")
        if strategy == "RANDOM":
            return "RANDOM"
        if strategy != "LEAST_OUTSTANDING_REQUESTS":
            self._tell(
                endpoint,
                f"routing by {shown(strategy)} is simulated as "
                "LEAST_OUTSTANDING_REQUESTS",
            )
        return "LEAST_OUTSTANDING_REQUESTS"

    def _hosted(
        self, endpoint: Resource, given: Properties, instances: int, first: str
    ) -> Iterator[HostedModel]:
        variant = str(given.get("VariantName", "AllTraffic"))
        if "ModelName" in given:
            yield HostedModel(
                name=variant,
                needs=None,
                copies=instances,
                served=self._model(given["ModelName"]),
                scaling=self._scaling.get(Target(endpoint.key, variant)),
            )
            return
        for one in self._components:
            if self._resources.find(one.properties.get("EndpointName")) != endpoint.key:
                continue
            if one.properties.get("VariantName", variant) == variant:
                yield from self._component(one, first)

    def _component(self, one: Resource, first: str) -> Iterator[HostedModel]:
        by_type = maps_of(one.properties, "Specifications")
        specification = map_of(one.properties, "Specification")
        if "BaseInferenceComponentName" in specification:
            self._tell(one, "adapters share their base's copies; it has no own")
            return
        try:
            needs: Needs = _needs(one, specification)
            if by_type:
                needs = {
                    str(each.get("InstanceType")): _needs(one, each) for each in by_type
                }
        except AssemblyError as fault:
            self._resources.tell(one.key, str(fault).removeprefix(f"{one.key}: "))
            return
        served = specification_on(one.properties, first)
        scaling = self._scaling.get(Target(one.key))
        copies = whole(map_of(one.properties, "RuntimeConfig").get("CopyCount"))
        if copies is None and scaling is None:
            self._tell(one, "its CopyCount is not in the template; taken as 1")
        least = scaling.bounds.minimum if scaling else 1
        own = map_of(served, "Container")
        yield HostedModel(
            name=one.key,
            needs=needs,
            copies=least if copies is None else copies,
            served=served_by(self._resources, own, one)
            if own
            else self._model(served.get("ModelName")),
            scaling=scaling,
        )

    def _model(self, name: object) -> Served:
        one = self._models.get(self._resources.find(name))
        if one is None:
            return Served(unknown="its model is not in the app")
        return served_by(self._resources, model_container(one), one)

    def _assume(self, one: Resource, what: str) -> None:
        self._resources.assumed.append(f"of {one.key}, {what}")

    def _tell(self, one: Resource, why: str) -> None:
        self._resources.tell(one.key, why)


def _needs(one: Resource, specification: Properties) -> ResourceRequirements:
    wanted = map_of(specification, "ComputeResourceRequirements")
    running = map_of(one.properties, "RuntimeConfig")
    given = {
        "Specification": {"ComputeResourceRequirements": wanted},
        "RuntimeConfig": running,
    }
    return needs_of(one.key, given)


def _tell_unused(
    resources: Resources,
    scaling: Mapping[Target, Scaling],
    variants: tuple[Hosted, ...],
) -> None:
    """
    Tell of what is scaled and does not run in what is played out.
    """
    played = {
        Target(hosted.endpoint, model.name)
        if model.needs is None
        else (Target(model.name))
        for hosted in variants
        for model in hosted.models
    }
    for target in scaling:
        if target not in played:
            resources.tell(str(target), "it is scaled, but is not in what is simulated")
