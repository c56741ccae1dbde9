"""
Reading what an app hosts into the objects of the simulation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cdk_sagemaker_llm.cli.app.containers import ServedModel, served_by
from cdk_sagemaker_llm.cli.app.hosting import (
    App,
    Component,
    EndpointConfig,
    Resource,
    Target,
    Variant,
    model_container,
)
from cdk_sagemaker_llm.cli.app.scaling import Scaling, read_scaling
from cdk_sagemaker_llm.cli.app.template_shapes import AssemblyError, is_assembly
from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.simulation.api_values import (
    Shape,
    is_open,
    map_of,
    number,
    value_text,
    whole,
)
from cdk_sagemaker_llm.simulation.fleet import Pool, ScaleIn
from cdk_sagemaker_llm.simulation.from_api import (
    UnplayableError,
    fleet_pools,
    managed_scaling,
    provision_timeout,
    scale_in_policy,
)
from cdk_sagemaker_llm.simulation.scenario import Routing

Needs = ResourceRequirements | Mapping[str, ResourceRequirements]


@dataclass(frozen=True, kw_only=True, slots=True)
class HostedModel:
    """
    A model on a variant: a component, or what the variant itself serves.

    Args:
        name: The component's stack and logical id, or the variant's name.

        needs: What a copy reserves; ``None`` for a whole instance.

        at_once: How many requests each instance is sent at once, where the others wait
            in a queue; ``None`` where they do not.
    """

    name: str
    needs: Needs | None
    copies: int
    served: ServedModel = field(default_factory=ServedModel)
    scaling: Scaling | None = None
    at_once: int | None = None

    @property
    def accelerators(self) -> int | None:
        """
        How many accelerators a copy reserves; ``None`` for all of an instance.
        """
        needs = self.needs
        if isinstance(needs, Mapping):
            needs = next(iter(needs.values()))
        return None if needs is None else needs.accelerators


@dataclass(frozen=True, kw_only=True, slots=True)
class HostedVariant:
    """
    One variant of an endpoint: its instances, and the models on them.

    Args:
        managed: Whether SageMaker adds and removes them as copies need it.

        scale_in: How it removes them; ``None`` where the app does not say.

        provision_timeout: Seconds to wait for capacity; ``None`` where it does not say.

        share: Which part of the endpoint's requests it gets, by weight.
    """

    endpoint: str
    variant: str
    pools: tuple[Pool, ...]
    instances: int
    minimum: int
    maximum: int
    managed: bool = False
    scale_in: ScaleIn | None = None
    provision_timeout: float | None = None
    routing: Routing = "LEAST_OUTSTANDING_REQUESTS"
    share: float = 1.0
    models: tuple[HostedModel, ...] = ()


@dataclass(frozen=True, slots=True)
class HostedApp:
    """
    All that can be played out of an app.

    Args:
        assumed: What the app leaves open and AWS does not document.

        region: Where it is deployed; empty if it names no region, or several.
    """

    variants: tuple[HostedVariant, ...]
    left_out: tuple[str, ...]
    assumed: tuple[str, ...] = ()
    region: str = ""


def read_hosted(path: Path) -> HostedApp:
    """
    Read what a cloud assembly or a single template hosts.
    """
    if not (path.is_file() or is_assembly(path)):
        raise AssemblyError(
            f"{path} is neither a cloud assembly, such as cdk.out, nor a template in "
            "JSON; write one with: cdk synth"
        )
    app = App.read(path)
    scaling = read_scaling(app)
    variants = tuple(_Reader(app, scaling).variants())
    _tell_unused(app, scaling, variants)
    return HostedApp(
        variants, tuple(app.left_out), tuple(app.assumed), region=app.region
    )


class _Reader:
    """
    Puts together what belongs to each variant.
    """

    def __init__(self, app: App, scaling: Mapping[Target, Scaling]) -> None:
        self._app = app
        self._scaling = scaling

    def variants(self) -> Iterator[HostedVariant]:
        for endpoint in self._app.of_type("Endpoint"):
            name = endpoint.properties.get("EndpointConfigName")
            config = self._app.config_of(endpoint)
            if config is None:
                self._tell(endpoint, f"its configuration is not in the app: {name}")
                continue
            if config.shadows:
                self._tell(endpoint, "its shadow variants are not simulated")
            if config.asynchronous is not None and len(config.variants) > 1:
                self._tell(endpoint, "one queue of several variants is not simulated")
                continue
            at_once = self._at_once(endpoint, config)
            shares = self._shares(endpoint, config.variants)
            for share, variant in zip(shares, config.variants, strict=True):
                yield from self._variant(endpoint, variant, share, at_once)

    def _at_once(self, endpoint: Resource, config: EndpointConfig) -> int | None:
        """
        Return how many requests each instance is sent, while others wait in a queue.
        """
        if config.asynchronous is None:
            return None
        client = map_of(config.asynchronous, "ClientConfig")
        found = whole(client.get("MaxConcurrentInvocationsPerInstance"))
        if found is None:
            self._assume(
                endpoint,
                "MaxConcurrentInvocationsPerInstance is SageMaker's choice, which is "
                "not published: it is taken for 1",
            )
        return found or 1

    def _shares(self, endpoint: Resource, variants: Sequence[Variant]) -> list[float]:
        """
        Return which part of the requests each variant gets: all parts are the whole.
        """
        found = [number(each.shape.get("InitialVariantWeight", 1)) for each in variants]
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
        variant: Variant,
        share: float,
        at_once: int | None,
    ) -> Iterator[HostedVariant]:
        name, shape = variant.name, variant.shape
        pools = self._pools(endpoint, variant)
        instances = whole(variant.instances)
        if "ServerlessConfig" in shape:
            self._tell(endpoint, f"serverless variant {name} is not simulated")
            return
        if not pools or instances is None:
            key = "InitialInstanceCount" if pools else "InstanceType"
            self._tell(endpoint, f"the {key} of {name} is {value_text(shape.get(key))}")
            return
        models = tuple(
            replace(model, at_once=at_once)
            for model in self._hosted(
                endpoint, variant, instances, pools[0].instance_type
            )
        )
        if not models:
            self._tell(endpoint, f"nothing runs on its variant {name}")
            return
        least, most, managed = self._bounds(shape, instances, models)
        yield HostedVariant(
            endpoint=endpoint.key,
            variant=name,
            pools=pools,
            instances=instances,
            minimum=least,
            maximum=most,
            managed=managed,
            scale_in=self._scale_in(endpoint, shape),
            provision_timeout=provision_timeout(shape),
            routing=self._routing(endpoint, shape),
            share=share,
            models=models,
        )

    def _pools(self, endpoint: Resource, variant: Variant) -> tuple[Pool, ...]:
        for choice in variant.choices:
            if "ModelNameOverride" in choice.shape:
                what = f"the model of its own of {choice.instance_type}"
                self._tell(endpoint, f"{what} in {variant.name} is not simulated")
        # Figures are of the first choice.
        found = fleet_pools(variant.shape)
        is_unknown = len(found) == 1 and is_open(variant.shape.get("InstanceType"))
        return () if is_unknown else found

    def _bounds(
        self, shape: Shape, instances: int, models: tuple[HostedModel, ...]
    ) -> tuple[int, int, bool]:
        managed = managed_scaling(shape)
        if managed.is_enabled:
            # What the template leaves open stays as it is at the start.
            floor = instances if managed.minimum is None else managed.minimum
            most = instances if managed.maximum is None else managed.maximum
            return floor, max(floor, most), True
        scaling = models[0].scaling if models[0].needs is None else None
        if scaling is not None:
            return scaling.bounds.minimum, scaling.bounds.maximum, False
        return instances, instances, False

    def _scale_in(self, endpoint: Resource, shape: Shape) -> ScaleIn | None:
        try:
            return scale_in_policy(shape)
        except UnplayableError as fault:
            self._tell(endpoint, str(fault))
            return None

    def _routing(self, endpoint: Resource, shape: Shape) -> Routing:
        strategy = map_of(shape, "RoutingConfig").get("RoutingStrategy", "RANDOM")
        if strategy == "RANDOM":
            return "RANDOM"
        if strategy != "LEAST_OUTSTANDING_REQUESTS":
            self._tell(
                endpoint,
                f"routing by {value_text(strategy)} is simulated as "
                "LEAST_OUTSTANDING_REQUESTS",
            )
        return "LEAST_OUTSTANDING_REQUESTS"

    def _hosted(
        self, endpoint: Resource, variant: Variant, instances: int, first: str
    ) -> Iterator[HostedModel]:
        if "ModelName" in variant.shape:
            yield HostedModel(
                name=variant.name,
                needs=None,
                copies=instances,
                served=self._model(variant.shape["ModelName"]),
                scaling=self._scaling.get(Target(endpoint.key, variant.name)),
            )
            return
        for one in self._app.components_on(endpoint, variant):
            yield from self._component(one, first)

    def _component(self, one: Component, first: str) -> Iterator[HostedModel]:
        if one.is_adapter:
            self._tell(
                one.resource, "adapters share their base's copies; it has no own"
            )
            return
        try:
            needs: Needs = {
                str(each["InstanceType"]): one.needs_on(each["InstanceType"])
                for each in one.specifications
                if "InstanceType" in each
            } or one.needs_on(None)
        except AssemblyError as fault:
            self._tell(one.resource, str(fault).removeprefix(f"{one.key}: "))
            return
        served = one.specification_on(first)
        scaling = self._scaling.get(Target(one.key))
        copies = whole(one.copies)
        if copies is None and scaling is None:
            self._tell(one.resource, "its CopyCount is not in the template; taken as 1")
        least = scaling.bounds.minimum if scaling else 1
        own = map_of(served, "Container")
        yield HostedModel(
            name=one.key,
            needs=needs,
            copies=least if copies is None else copies,
            served=served_by(self._app, own, one.resource)
            if own
            else self._model(served.get("ModelName")),
            scaling=scaling,
        )

    def _model(self, name: object) -> ServedModel:
        one = self._app.model(name)
        if one is None:
            return ServedModel(unknown="its model is not in the app")
        return served_by(self._app, model_container(one), one)

    def _assume(self, one: Resource, what: str) -> None:
        self._app.assumed.append(f"of {one.key}, {what}")

    def _tell(self, one: Resource, why: str) -> None:
        self._app.tell(one.key, why)


def _tell_unused(
    app: App,
    scaling: Mapping[Target, Scaling],
    variants: tuple[HostedVariant, ...],
) -> None:
    targets = {
        Target(hosted.endpoint, model.name)
        if model.needs is None
        else (Target(model.name))
        for hosted in variants
        for model in hosted.models
    }
    for target in scaling:
        if target not in targets:
            app.tell(str(target), "it is scaled, but is not in what is simulated")
