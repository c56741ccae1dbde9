"""
The lines of an app that lead from what it hosts to what was found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cdk_sagemaker_llm.catalog.engine_releases import (
    find_engine_release,
    pinned_version,
)
from cdk_sagemaker_llm.catalog.images import image_at
from cdk_sagemaker_llm.choosing.candidates import Candidate
from cdk_sagemaker_llm.choosing.question import Engine
from cdk_sagemaker_llm.choosing.sharing import Sharing
from cdk_sagemaker_llm.cli.app.hosting import App, Resource, Target, Variant
from cdk_sagemaker_llm.cli.app.places import Place, place_of
from cdk_sagemaker_llm.cli.app.scaling import Scaling
from cdk_sagemaker_llm.cli.app.simulated import HostedModel, HostedVariant
from cdk_sagemaker_llm.serving.lmi.launch import CONTAINERS as LMI
from cdk_sagemaker_llm.simulation.scaling import TargetTracking

_AUTO_SCALING = "ApplicationAutoScaling"
_Line = tuple[str, str, str, Place | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """
    One line to change.

    Args:
        what: What the line says, in the words of the constructs.

        before: What it says today.

        after: What it is to say.

        place: The resource that it makes; ``None`` if the app has none yet.
    """

    what: str
    before: str
    after: str
    place: Place | None


class Lines:
    """
    The lines of an app that lead from what it hosts to a candidate.
    """

    def __init__(
        self,
        app: App,
        hosted: HostedVariant,
        candidate: Candidate,
        model: HostedModel | None = None,
    ) -> None:
        self._app = app
        self._hosted = hosted
        self._model = model or hosted.models[0]
        self._candidate = candidate

    def changes(self) -> Iterator[Change]:
        """
        Give those whose value differs.
        """
        yield from _differing(self._lines())

    def _lines(self) -> Iterator[_Line]:
        hosted, model, candidate = self._hosted, self._model, self._candidate
        setup = candidate.setup
        config = _config_place(self._app, hosted)
        kinds = " or ".join(pool.instance_type for pool in hosted.pools)
        yield "instance_type", kinds, setup.instance_type, config
        shares = model.needs is not None
        forms = {True: "an inference component", False: "an endpoint of its own"}
        yield "hosting", forms[shares], forms[setup.shares], config
        yield from self.of_model()
        start, _, most = candidate.instances
        yield "instance_count", str(hosted.instances), str(start), config
        if shares and setup.shares:
            before, after = str(hosted.maximum), str(most)
            yield "max_instance_count", before, after, config
        yield from self.of_copies()

    def of_model(self) -> Iterator[_Line]:
        """
        Walk through the changes to what the model and its engine are told.
        """
        model, setup = self._model, self._candidate.setup
        served = self._served()
        yield "model", model.served.model or "", setup.model, served
        own = engine_of(model.served.image) or model.served.engine
        yield "serving", own, setup.engine, served
        degree = model.served.degree or model.accelerators
        split = "as many as there are" if degree is None else str(degree)
        yield "accelerators of a copy", split, str(setup.degree), served

    def of_copies(self) -> Iterator[_Line]:
        """
        Give how many copies there are, and what changes that.
        """
        model, candidate = self._model, self._candidate
        if model.needs is not None and candidate.setup.shares:
            component = _place(self._app.of_type("InferenceComponent"), model.name)
            yield "copies", str(model.copies), str(candidate.copies), component
        if model.scaling is not None or not candidate.scaling.is_fixed:
            yield "scaling", _words(model), candidate.scaling.words, self._target()

    def _served(self) -> Place | None:
        """
        Return where the model is, or the component that has a container of its own.
        """
        component = _named(self._app.of_type("InferenceComponent"), self._model.name)
        name = None
        if component is not None:
            name = component.properties.get("Specification", {}).get("ModelName")
        else:
            name = self._variant().get("ModelName")
        model = self._app.model(name) or component
        return None if model is None else place_of(model.stack, model.name)

    def _variant(self) -> Mapping[str, object]:
        endpoint = _named(self._app.of_type("Endpoint"), self._hosted.endpoint)
        config = None if endpoint is None else self._app.config_of(endpoint)
        variants: Sequence[Variant] = config.variants if config else ()
        shapes = (one.shape for one in variants if one.name == self._hosted.variant)
        return next(shapes, {})

    def _target(self) -> Place | None:
        model, hosted = self._model, self._hosted
        target = Target(hosted.endpoint, model.name)
        if model.needs is not None:
            target = Target(model.name)
        targets = self._app.of_type("ScalableTarget", _AUTO_SCALING)
        found = (one for one in targets if self._app.target_of(one) == target)
        resource = next(found, None)
        return None if resource is None else place_of(resource.stack, resource.name)


class HostLines:
    """
    The lines that lead from a host of several models to what was found.
    """

    def __init__(self, app: App, hosted: HostedVariant, found: Sharing) -> None:
        self._app = app
        self._hosted = hosted
        self._found = found

    def changes(self) -> Iterator[Change]:
        """
        Give those whose value differs.
        """
        yield from _differing(self._lines())

    def _lines(self) -> Iterator[_Line]:
        hosted, best = self._hosted, self._found.host
        config = _config_place(self._app, hosted)
        if best is None or not self._found.is_shared:
            yield "hosting", "shared instances", "an endpoint for each model", config
            return
        kinds = " or ".join(pool.instance_type for pool in hosted.pools)
        start, _, most = best.counts
        yield "instance_type", kinds, best.instance_type, config
        yield "instance_count", str(hosted.instances), str(start), config
        yield "max_instance_count", str(hosted.maximum), str(most), config
        for model, one in zip(hosted.models, best.tenants, strict=True):
            lines = Lines(self._app, hosted, one.candidate, model)
            yield from lines.of_model()
            yield from lines.of_copies()


def _differing(lines: Iterator[_Line]) -> Iterator[Change]:
    for what, before, after, place in lines:
        if before != after:
            yield Change(what=what, before=before, after=after, place=place)


def _config_place(app: App, hosted: HostedVariant) -> Place | None:
    endpoint = _named(app.of_type("Endpoint"), hosted.endpoint)
    config = None if endpoint is None else app.config_of(endpoint)
    if config is None:
        return None
    return place_of(config.resource.stack, config.resource.name)


def endpoint_place(app: App, hosted: HostedVariant) -> Place:
    """
    Return where the endpoint of a variant is.
    """
    stack, _, name = hosted.endpoint.rpartition("/")
    found = _place(app.of_type("Endpoint"), hosted.endpoint)
    return found or Place(stack, Path(), name)


def engine_of(image: str) -> Engine | None:
    """
    Return the engine of an image, by the name that a question has for it; ``None`` for
    one that is not looked at.
    """
    entry = image_at(image)
    if entry is None:
        return None
    if entry.family in LMI:
        return "lmi-vllm" if entry.family == "djl-lmi" else None
    version = pinned_version(entry.family, entry.version)
    release = find_engine_release(entry.family, version)
    if release is None:
        return None
    if release.engine == "vllm":
        return "vllm"
    return "sglang" if release.engine == "sglang" else None


def _words(model: HostedModel) -> str:
    """
    Say how a model is scaled today, in the words that candidates have.
    """
    scaling: Scaling | None = model.scaling
    if scaling is None:
        return f"{model.copies} fixed"
    text = f"{scaling.bounds.minimum} to {scaling.bounds.maximum}"
    for policy in scaling.policies:
        if isinstance(policy, TargetTracking):
            text += f" near {policy.target:g} {_unit(policy)}"
        else:
            text += f" by {policy.name}"
    for action in scaling.schedules:
        text += f", {action.schedule}"
    return text


def _unit(policy: TargetTracking) -> str:
    query = policy.query
    name = getattr(getattr(query, "metric", None), "name", "of its metric")
    return "under way" if name.startswith("ConcurrentRequests") else name


def _named(resources: Sequence[Resource], key: str) -> Resource | None:
    return next((one for one in resources if one.key == key), None)


def _place(resources: Sequence[Resource], key: str) -> Place | None:
    found = _named(resources, key)
    return None if found is None else place_of(found.stack, found.name)
