"""
What the checks of every image family look at, and how they are gathered.

What belongs here has no rule of its own; ``families`` lists the families.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from inspect import signature
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.arguments.kinds import value_text
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.models import class_of, sized

if TYPE_CHECKING:
    from cdk_sagemaker_llm.serving.adapters import AdapterHost
    from cdk_sagemaker_llm.serving.base import Container

_SUFFIX = "_findings"

Check = Callable[[Any], Iterator[Finding]]


@runtime_checkable
class Architecture(Protocol):
    """
    What the checks ask of a model: its class and how its heads divide.
    """

    @property
    def architecture(self) -> str:
        """
        The class in config.json, such as ``MistralForCausalLM``.
        """

    @property
    def num_attention_heads(self) -> int | None:
        """
        The attention heads, which tensor parallelism divides.
        """


Config = str | Architecture | Mapping[str, Any] | None
"""
What is known of a model: its class, its config.json, or its sizes.
"""


class Environment(NamedTuple):
    """
    The variables of a container, and what is known around them.

    Args:
        variables: The variables, as the container gets them.

        family: The image family, such as ``djl-lmi``.

        version: The catalogued version of the image.

        accelerators: Devices that each copy of the model has; ``None`` skips what
            depends on them.

        architecture: What is known of the model.
            If omitted, it is what the catalogue knows of the model that is named.

        instance_type: What it runs on. If omitted, that is not known.

        container: The container, with its files.
            If omitted, nothing but the variables is known.

        has_model_data: Whether SageMaker puts something into ``/opt/ml/model``.
            If omitted, that is not known.

        network_isolation: Whether the container is cut off from the network.
    """

    variables: Mapping[str, str]
    family: str
    version: str
    accelerators: int | None
    architecture: Config = None
    instance_type: str | None = None
    container: Container | None = None
    has_model_data: bool | None = None
    network_isolation: bool = False


class Dialect(NamedTuple):
    """
    How a container wants a prompt, ``None`` if that is not known or it takes none, and
    whether it is known to answer chats in OpenAI's form.
    """

    schema: Literal["lmi", "tgi", "openai", "chat"] | None = None
    takes_chats: bool = False


class Family(NamedTuple):
    """
    What the library knows of the images of one family.

    Args:
        findings: Checks the variables of a container.

        adapters: Reads what a container does with adapters; ``None`` where that is not
            known. It takes the container, all its variables and the model's class.

        dialect: Says how a container wants requests. It takes the container, all its
            variables and what is known of the model.

        needs_catalogue: Whether variables are checked for catalogued versions alone.

        has_own_server: Whether the engine's own server runs, in images that are built
            for certain instances, and whose tags AWS may move.

        takes_variables: Whether variables that are added to a prepared container are
            checked with it.

        on_host: Says what is found of the model with the instance type that it runs on;
            ``None`` where nothing depends on it.
    """

    findings: Callable[[Environment], list[Finding]]
    adapters: Callable[[Container, Mapping[str, str], str | None], AdapterHost | None]
    dialect: Callable[
        [Container, Mapping[str, str], ModelArchitecture | str | None], Dialect
    ]
    needs_catalogue: bool = True
    has_own_server: bool = False
    takes_variables: bool = True
    on_host: Callable[[Environment], list[Finding]] | None = None


def checks_of(*modules: ModuleType) -> tuple[Check, ...]:
    """
    Return the checks that modules define, in the order in which they stand there.

    ``checks_of(model, variables, combinations)``

    A check is a public function ``..._findings`` whose only parameter is ``subject``.
    """
    return tuple(
        value
        for module in modules
        for name, value in vars(module).items()
        if name.endswith(_SUFFIX)
        and not name.startswith("_")
        and getattr(value, "__module__", None) == module.__name__
        and [*signature(value).parameters] == ["subject"]
    )


def uneven_heads(rule: Rule, word: str, heads: int, number: object) -> Finding:
    """
    Find attention heads that a number of devices does not divide.
    """
    fitting = [str(one) for one in (1, 2, 4, 8, 16) if heads % one == 0]
    return rule.finding(
        f"{word} must divide the {heads} attention heads, got {number}",
        f"use {', '.join(fitting)}",
    )


def config_of(architecture: ModelArchitecture | str | None) -> Mapping[str, object]:
    """
    Return what is known of the model's config.json, as the checks of a file take it.
    """
    model = sized(architecture)
    return {
        "architectures": [class_of(architecture)],
        "num_attention_heads": model.num_attention_heads if model else None,
    }


def class_in(config: Config) -> str | None:
    """
    Return a model's class; ``None`` if it is not known.
    """
    if config is None or isinstance(config, str):
        return config
    if isinstance(config, Mapping):
        names = config.get("architectures") or [None]
        name: str | None = names[0]
        return name
    if not hasattr(config, "architecture"):
        raise ValueError(
            "architecture must be a class such as 'MistralForCausalLM', a config.json "
            f"as a mapping, or a ModelArchitecture, got {value_text(config)}"
        )
    return config.architecture


def heads_of(config: Config) -> int | None:
    """
    Return a model's attention heads; ``None`` if they are not known.
    """
    class_in(config)
    if config is None or isinstance(config, str):
        return None
    if isinstance(config, Mapping):
        heads = config.get("num_attention_heads")
        return heads if isinstance(heads, int) else None
    return config.num_attention_heads
