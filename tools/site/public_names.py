"""
The public names of the library: where each is imported from, its page, its members.
"""

from __future__ import annotations

import enum
import functools
import importlib
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, is_typeddict

from tools.site.docstrings import Docstring, docstring, said_below

PACKAGE = "cdk_sagemaker_llm"
# What users import from; a name is of the first that lists it.
PACKAGES = (
    "",
    "serving",
    "fit",
    "client",
    "simulation",
    "load",
    "local",
    "testing",
    "catalog",
)
# The page of each name, by the longest beginning of the module that defines it.
PAGES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "hosting.patterns.llm_endpoint": ("llm-endpoint", "LlmEndpoint"),
        "hosting.patterns.inference_component_endpoint": (
            "inference-component-endpoint",
            "InferenceComponentEndpoint",
        ),
        "hosting.patterns.dashboard": ("dashboard", "Dashboard"),
        "hosting.endpoints": ("endpoints", "Endpoints"),
        "hosting.endpoints.endpoint_config": (
            "endpoint-configs",
            "Endpoint configurations",
        ),
        "hosting.endpoints.shadow": ("endpoint-configs", "Endpoint configurations"),
        "hosting.endpoints.asynchronous": (
            "async-inference",
            "Async inference and data capture",
        ),
        "hosting.endpoints.data_capture": (
            "async-inference",
            "Async inference and data capture",
        ),
        "hosting.endpoints.connection": ("connections", "Connections"),
        "hosting.variants": ("variants", "Variants"),
        "hosting.variants.capacity": ("capacity", "Capacity and routing"),
        "hosting.components": ("inference-components", "Inference components"),
        "hosting.components.adapters": ("adapters", "LoRA adapters"),
        "hosting.models": ("models", "Models"),
        "hosting.mirroring": ("mirrored-images", "Mirrored images"),
        "hosting.weights": ("staged-models", "Staged models"),
        "hosting.monitoring": ("monitoring", "Metrics and alarms"),
        "hosting.updates": ("updates", "Rollouts and rollbacks"),
        "hosting.scaling": ("scaling", "Scaling"),
        "hosting.roles": ("networks-and-roles", "Networks and roles"),
        "hosting.vpc": ("networks-and-roles", "Networks and roles"),
        "models": ("model-sources", "Where weights come from"),
        "architectures": ("architectures", "Model architectures"),
        "catalog": ("catalogue", "Images and instance types"),
        "findings": ("checks", "Findings and checks"),
        "serving.checks": ("checks", "Findings and checks"),
        "serving.families": ("checks", "Findings and checks"),
        "serving.support": ("checks", "Findings and checks"),
        "serving.lmi.checks": ("checks", "Findings and checks"),
        "serving": ("serving", "Serving configurations"),
        "serving.engines": ("serving", "Serving configurations"),
        "serving.engines.vllm": ("vllm", "vLLM"),
        "serving.engines.sglang": ("sglang", "SGLang"),
        "serving.engines.llama_cpp": ("llama-cpp", "llama.cpp"),
        "serving.engines.text_embeddings": (
            "text-embeddings",
            "Text Embeddings Inference",
        ),
        "serving.lmi": ("lmi", "LMI: vLLM, LMI-Dist, DeepSpeed"),
        "serving.lmi.tensorrt_llm": ("tensorrt-llm", "TensorRT-LLM"),
        "serving.lmi.neuronx": ("neuronx", "NeuronX"),
        "serving.lmi.folder": ("serving", "Serving configurations"),
        "serving.lmi.properties": ("serving", "Serving configurations"),
        "serving.tgi": ("tgi", "TGI"),
        "demand": ("assumptions", "What a plan takes for granted"),
        "fit.releases": ("releases", "What releases reserve"),
        "fit": ("plans", "Plans"),
        "fit.placement": ("placement", "Resources and packing"),
        "fit.packing": ("placement", "Resources and packing"),
        "client": ("client", "The client"),
        "client.requests": ("client-requests", "Requests of the client"),
        "client.stored": ("client-requests", "Requests of the client"),
        "client.runtime": ("client-requests", "Requests of the client"),
        "client.answers": ("client-answers", "Answers of the client"),
        "client.reader": ("client-answers", "Answers of the client"),
        "client.wire": ("client-answers", "Answers of the client"),
        "client.errors": ("client-errors", "Errors of the client"),
        "client.langchain": ("client-langchain", "LangChain's content handlers"),
        "simulation": ("simulation", "Simulation: scenario and outcome"),
        "simulation.fleet": ("simulation-fleet", "Simulation: fleet"),
        "simulation.scaling": ("simulation-scaling", "Simulation: scaling"),
        "simulation.alarms": ("simulation-scaling", "Simulation: scaling"),
        "simulation.metrics": ("simulation-scaling", "Simulation: scaling"),
        "simulation.service": ("simulation-service", "Simulation: service times"),
        "simulation.traffic": ("simulation-traffic", "Simulation: traffic"),
        "load": ("load", "Load tests"),
        "load.figures": ("load-results", "Load tests: results"),
        "load.measured": ("load-results", "Load tests: results"),
        "load.reading": ("load-results", "Load tests: results"),
        "load.result": ("load-results", "Load tests: results"),
        "load.scaling_target": ("load-results", "Load tests: results"),
        "choosing": ("choosing", "Choosing a deployment"),
        "local": ("local", "The embedded AWS"),
        "validation": ("validation", "Checks in any app"),
        "testing": ("testing", "Fixtures for tests"),
    }
)
_STARS = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}
# What means the same wherever it is taken.
_COMMON = {
    "scope": "The construct that this one belongs to, such as the stack.",
    "id": "Its id within the scope.",
    # What fixtures ask pytest for.
    "embedded_aws": "The fixture of that name.",
    "snapshot": "Syrupy's fixture of that name.",
    "grantee": "Who gets the permission, such as a role or a function.",
}
# Whose parameters mean the same, where a name does not say it again.
_LIKE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "AsyncLlmClient": ("LlmClient",),
        "ClientOptions": ("LlmClient",),
        "ScalableCopyCount": ("TargetTrackingScaling",),
        "ScalableInstanceCount": ("TargetTrackingScaling",),
        "ScalableTarget": ("TargetTrackingScaling", "StepScaling"),
    }
)


@dataclass(frozen=True)
class PublicName:
    """
    A name that users import.

    Args:
        name: The name.

        package: The package that lists it first.

        home: The module that defines it, below the library's package.

        value: What it stands for.
    """

    name: str
    package: str
    home: str
    value: Any

    @property
    def page(self) -> tuple[str, str]:
        """
        The page's file, without its suffix, and its title.
        """
        parts = self.home.split(".")
        for length in range(len(parts), 0, -1):
            if found := PAGES.get(".".join(parts[:length])):
                return found
        raise LookupError(f"{self.name} of {self.home} has no page in PAGES")

    @property
    def anchor(self) -> str:
        """
        Where it is on its page; of two that differ in case alone each has its own.
        """
        kind = "" if inspect.isclass(self.value) else "-"
        return f"{self.name.lower()}{kind if self.name.islower() else ''}"

    @property
    def said(self) -> Docstring:
        """
        What its docstring says; of an alias, what stands below it.
        """
        if inspect.isclass(self.value) or inspect.isfunction(self.value):
            return docstring(self.value)
        below = said_below(f"{PACKAGE}.{self.home}")
        return Docstring(below.get(self.name, ""))


@dataclass(frozen=True)
class Parameter:
    """
    A parameter, or a field, with what is said of it.
    """

    name: str
    type: str
    default: str | None
    text: str


@functools.cache
def public_names() -> tuple[PublicName, ...]:
    """
    Return each public name once, in the order of the packages.
    """
    found: dict[tuple[str, int], PublicName] = {}
    for package in PACKAGES:
        module = importlib.import_module(f"{PACKAGE}.{package}".rstrip("."))
        homes = getattr(module, "_HOMES", {})
        for name in module.__all__:
            # A fixture of pytest wraps the function that makes it.
            value = inspect.unwrap(getattr(module, name))
            home = homes.get(name) or value.__module__.removeprefix(f"{PACKAGE}.")
            one = PublicName(name, module.__name__, home, value)
            found.setdefault((name, id(value)), one)
    return tuple(found.values())


def parameters(name: PublicName) -> list[Parameter]:
    """
    Return what a class, a function or a dictionary of options takes.
    """
    value = name.value
    if is_typeddict(value):
        return [
            Parameter(key, _plain(value, key), None, _of_options(name).get(key, ""))
            for key in value.__annotations__
        ]
    if inspect.isfunction(value):
        return of_function(value, {})
    if not inspect.isclass(value) or issubclass(value, enum.Enum):
        return []
    if getattr(value, "_is_protocol", False) or "__init__" not in _made_by(value):
        return []
    return of_function(value.__init__, _of_class(value))


def members(name: PublicName) -> Iterator[tuple[str, Any, type]]:
    """
    Yield a class's public methods and properties, and whose they are, by their names.

    What a class has of another public one is listed there alone.
    """
    value = name.value
    if not inspect.isclass(value) or is_typeddict(value):
        return
    public = {each.value for each in public_names() if inspect.isclass(each.value)}
    seen: set[str] = set()
    for owner in value.__mro__:
        if not owner.__module__.startswith(PACKAGE):
            continue
        if owner is not value and owner in public:
            seen.update(vars(owner))
            continue
        for key, member in vars(owner).items():
            if key.startswith("_") or key in seen or key in _fields(value):
                continue
            seen.add(key)
            if _function(member) or isinstance(member, property):
                yield key, member, owner


def bases(name: PublicName) -> list[PublicName]:
    """
    Return the public classes that a class adds to.
    """
    if not inspect.isclass(name.value):
        return []
    return [
        each
        for each in public_names()
        if inspect.isclass(each.value)
        and each.value in name.value.__mro__[1:]
        and not any(
            each.value in other.__mro__[1:]
            for other in name.value.__mro__[1:]
            if other
            in {one.value for one in public_names() if inspect.isclass(one.value)}
        )
    ]


def of_function(function: Any, said: Mapping[str, str]) -> list[Parameter]:  # noqa: ANN401 - whatever is called
    """
    Return a function's parameters, but for the object that it is of.
    """
    texts = {**_COMMON, **said, **docstring(function).arguments}
    found = []
    for one in inspect.signature(function).parameters.values():
        if one.name in {"self", "cls"}:
            continue
        stars = _STARS.get(one.kind.name, "")
        text = texts.get(one.name, "")
        default = None if one.default is one.empty else _default(one.default)
        kind = "" if one.annotation is one.empty else _text_of(one.annotation)
        found.append(Parameter(f"{stars}{one.name}", kind, default, text))
    return found


def said_of(name: PublicName, key: str, member: object) -> Docstring:
    """
    Return what is said of a member: by itself, or by the one that it overrides.
    """
    own = docstring(_function(member))
    if own.text or not inspect.isclass(name.value):
        return own
    for owner in name.value.__mro__:
        inherited = docstring(_function(vars(owner).get(key)))
        if inherited.text:
            return inherited
    return own


def parameters_of(name: PublicName, key: str, member: object) -> list[Parameter]:
    """
    Return what a method takes; what the class takes by that name means the same.
    """
    said = {**_like(name, key), **_of_class(name.value)}
    for owner in reversed(name.value.__mro__):
        said |= docstring(_function(vars(owner).get(key))).arguments
    return of_function(_function(member), said)


def _like(name: PublicName, key: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for each in public_names():
        if each.name in _LIKE.get(name.name, ()):
            found |= _of_class(each.value)
            found |= docstring(_function(getattr(each.value, key, None))).arguments
    return found


def _made_by(value: type) -> set[str]:
    return {
        key
        for owner in value.__mro__
        if owner.__module__.startswith(PACKAGE)
        for key in vars(owner)
    }


def _fields(value: type) -> set[str]:
    return set(getattr(value, "__dataclass_fields__", ()))


def _function(member: object) -> Any:  # noqa: ANN401 - a function of any signature
    inner = getattr(member, "__func__", member)
    inner = getattr(inner, "fget", inner)
    return inner if inspect.isfunction(inner) else None


def _of_class(value: type) -> dict[str, str]:
    found: dict[str, str] = {}
    for owner in reversed(value.__mro__):
        if owner.__module__.startswith(PACKAGE):
            found |= docstring(owner).arguments
            for member in ("__init__", "__new__"):
                if member in vars(owner):
                    found |= docstring(vars(owner)[member]).arguments
    return found


def _of_options(name: PublicName) -> dict[str, str]:
    value = name.value
    # Which dictionaries it adds to is not kept.
    found = _like(name)
    for each in public_names():
        if is_typeddict(each.value) and {*each.value.__annotations__} <= {
            *value.__annotations__
        }:
            found |= docstring(each.value).arguments
    return found | dict(docstring(value).arguments)


def _plain(value: Any, key: str) -> str:  # noqa: ANN401 - a TypedDict
    written = value.__annotations__[key]
    return _text_of(getattr(written, "__forward_arg__", written))


def _text_of(annotation: object) -> str:
    if isinstance(annotation, str):
        return annotation
    if isinstance(annotation, type):
        return annotation.__name__
    return str(annotation)


def _default(value: object) -> str:
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    text = repr(value)
    return "…" if text.startswith("<") or len(text) > 60 else text  # noqa: PLR2004
