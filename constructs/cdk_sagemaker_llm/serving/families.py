"""
The registry of the image families: who checks a container's variables, who reads what
it does with adapters, and how it wants requests.

A new engine is a row here, and its own class.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.arguments import held
from cdk_sagemaker_llm.catalog.engine_releases import (
    engine_families,
    engine_of,
    is_rolling,
    pinned_version,
)
from cdk_sagemaker_llm.catalog.images import (
    ImageRelease,
    find_image,
    image_at,
    image_near,
    of_catalogue,
)
from cdk_sagemaker_llm.catalog.instances import (
    find_instance_type,
    instance_type_names,
)
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.base import Container
from cdk_sagemaker_llm.serving.checks import (
    Architecture,
    Config,
    Dialect,
    Environment,
    Family,
)
from cdk_sagemaker_llm.serving.images import BESIDE_CATALOGUE, instance_findings
from cdk_sagemaker_llm.serving.lmi.launch import CONTAINERS
from cdk_sagemaker_llm.serving.parameters import (
    IMPOSSIBLE_NAME,
    UNKNOWN_IMAGE,
    credential_findings,
    device_findings,
)
from cdk_sagemaker_llm.text import any_of, nearest
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from cdk_sagemaker_llm.serving.adapters import AdapterHost

# CreateModel, ContainerDefinition$Environment.
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*\Z")

ROLLING_TAG = Rule(
    "LLM627",
    "AWS moves the image's tag to newer releases of the engine",
    "the release data of aws/deep-learning-containers",
)
UNKNOWN_TYPE = Rule(
    "LLM633", "nothing is known of the instance type, which skips what depends on it"
)
SHOWN_CREDENTIAL = Rule(
    "LLM656",
    "a credential stands in plain text among a container's variables",
    "the issuers' published forms",
)
# The API's own model has a model's 100 here; CloudFormation refuses the 17th.
MOST_VARIABLES = 16

MANY_VARIABLES = Rule(
    "LLM519",
    "an inference component's own container has more variables than the service takes",
    "CloudFormation's schema of AWS::SageMaker::InferenceComponent",
)


def _lmi() -> Family:
    # Each wing loads its own checks, where a container is of its families.
    from cdk_sagemaker_llm.serving.lmi.lmi_family import LMI  # noqa: PLC0415 - as said

    return LMI


def _tgi() -> Family:
    from cdk_sagemaker_llm.serving.tgi.tgi_family import TGI  # noqa: PLC0415 - as above

    return TGI


def _tgi_neuron() -> Family:
    from cdk_sagemaker_llm.serving.tgi.tgi_family import TGI_NEURON  # noqa: PLC0415 - as above

    return TGI_NEURON


def _engine(
    schema: Literal["openai", "chat"] | None, *, takes_adapters: bool | None = None
) -> Callable[[], Family]:
    @functools.cache
    def family() -> Family:
        from cdk_sagemaker_llm.serving.engines.engine_environment import (  # noqa: PLC0415 - as above
            engine_family,
        )

        return engine_family(schema, takes_adapters=takes_adapters)

    return family


_ENGINES = {
    "vllm": _engine("openai", takes_adapters=True),
    "sglang": _engine("chat", takes_adapters=False),
    "llama.cpp": _engine("chat", takes_adapters=False),
    # Its embeddings go by ``inputs``, as where nothing is known.
    "tei": _engine(None, takes_adapters=False),
    # Whether these take adapters is not known.
    "vllm-omni": _engine("openai"),
    "vllm-neuron": _engine("openai"),
}
# Hugging Face's image of llama.cpp goes by what a body has, as vLLM does.
_LLAMA_CPP = _engine("openai", takes_adapters=False)

FAMILIES: Mapping[str, Callable[[], Family]] = {
    **dict.fromkeys(CONTAINERS, _lmi),
    "huggingface-llm": _tgi,
    "huggingface-llm-neuronx": _tgi_neuron,
    **{family: _ENGINES[engine_of(family) or ""] for family in engine_families()},
    "huggingface-llamacpp": _LLAMA_CPP,
    "huggingface-llamacpp-cpu": _LLAMA_CPP,
}
CHECKED_FAMILIES = tuple(FAMILIES)


@held
def check_environment(
    environment: Mapping[str, str],
    *,
    container: str,
    version: str,
    accelerators: int | None,
    architecture: str | Architecture | Mapping[str, Any] | None = None,
    instance_type: str | None = None,
) -> list[Finding]:
    """
    Check the environment of a serving container, without a file beside it.

    ``check_environment({"HF_MODEL_ID": "gpt2", "OPTION_MAX_MODEL_LEN": "512"},
    container="djl-lmi", version="0.36.0", accelerators=1)``
    ``check_environment({"HF_MODEL_ID": "gpt2", "SM_VLLM_MAX_MODEL_LEN": "512"},
    container="vllm-server", version="2.6", accelerators=1)``

    Args:
        environment: The variables, as the container gets them.

        container: The image family: ``djl-lmi`` and its kin, ``huggingface-llm`` and
            ``huggingface-llm-neuronx``, or that of an engine's own server, such as
            ``vllm-server``, ``vllm``, ``sglang-server``, ``llama-cpp`` or ``tei``.

        version: The image's version.
            A TGI version without a table of its own is read by the newest before it.

        accelerators: Devices that each copy of the model has.
            ``None`` skips what depends on them.

        architecture:
            The model's class such as ``MistralForCausalLM``, its config.json as a
            mapping, or a ``ModelArchitecture``.
            If omitted, it is what the catalogue knows of the model that is named.

        instance_type:
            What it runs on, such as ``ml.g6.12xlarge``.
            If omitted, what the image is built for is not compared with its
            processors and GPUs.

    Returns:
        What was found, errors and warnings, in the order of the checks.

    Raises:
        ValueError: If there is no such container, or an argument is not of its kind.
    """
    if container not in FAMILIES:
        near = nearest(container, CHECKED_FAMILIES, count=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(
            f"container must be {any_of(CHECKED_FAMILIES)}, got {container!r}{hint}"
        )
    unknown = []
    if instance_type is not None and not is_unresolved(instance_type):
        try:
            find_instance_type(instance_type)
        except ValueError as fault:
            unknown.append(UNKNOWN_TYPE.finding(str(fault)))
    found = _environment_findings(
        Environment(
            variables=environment,
            family=container,
            version=version,
            accelerators=accelerators,
            architecture=architecture,
            instance_type=instance_type,
        )
    )
    # With a credential a container starts all the same: who wrote it into a template is
    # told of an error.
    credentials = [
        SHOWN_CREDENTIAL.finding(
            f"{one.message}, which DescribeModel shows to whoever may call it",
            one.remedy,
        )
        for one in credential_findings("environment", environment)
    ]
    return [*unknown, *_name_findings(environment), *found, *credentials]


def _name_findings(environment: Mapping[str, str]) -> list[Finding]:
    """
    Find names that CreateModel refuses, such as those of nested settings.
    """
    return [
        IMPOSSIBLE_NAME.finding(
            "a name in environment must be letters, digits and underscores, with no "
            f"digit first, got {name!r}",
            f"write {name.partition('.')[0]} as JSON" if "." in name else "",
        )
        for name in environment
        if not is_unresolved(name) and not _NAME.match(name)
    ]


def _environment_findings(environment: Environment) -> list[Finding]:
    family = FAMILIES[environment.family]()
    image = None
    if family.needs_catalogue:
        try:
            image = find_image(environment.family, environment.version)
        except ValueError as fault:
            return [UNKNOWN_IMAGE.finding(str(fault))]
        environment = environment._replace(version=image.version)
    impossible = device_findings(environment.accelerators)
    if impossible:
        return impossible
    found = family.findings(environment)
    if image is None or not family.has_own_server:
        return found
    around = _rolling_findings(image, image)
    # It is compared with what it runs on, as far as the catalogue has that.
    name = environment.instance_type
    if name is not None and name in instance_type_names():
        around = [*instance_findings(find_instance_type(name), image), *around]
    return [*(one for one in around if one not in found), *found]


def container_findings(
    container: Container,
    *,
    accelerators: int | None,
    architecture: Config = None,
    has_model_data: bool | None = None,
    instance_type: str | None = None,
    network_isolation: bool = False,
) -> list[Finding]:
    """
    Check a container's variables with the files beside them; what is omitted is not
    known.

    Nothing is found of an image that the catalogue does not have, and nothing that the
    files break by themselves.
    """
    image = _recognised(container.image)
    near = None if image.family in FAMILIES else _near(image)
    catalogued = image if near is None else near
    if catalogued.family not in FAMILIES:
        return []
    environment = Environment(
        variables=container.environment,
        family=catalogued.family,
        version=catalogued.version,
        accelerators=accelerators,
        architecture=architecture,
        instance_type=instance_type,
        container=container,
        has_model_data=has_model_data,
        network_isolation=network_isolation,
    )
    family = FAMILIES[catalogued.family]()
    found = family.findings(environment)
    if family.has_own_server:
        found = [*_rolling_findings(image, catalogued), *found]
    if near is None:
        return found
    beside = BESIDE_CATALOGUE.finding(
        f"image {image.repository}:{image.tag} is not in the catalogue: it is "
        f"checked as {near.family} {near.version}"
    )
    return [beside, *found]


def host_support_findings(
    container: Container,
    variables: Mapping[str, str],
    *,
    architecture: Config,
    instance_type: str,
) -> list[Finding]:
    """
    Find what the GPU of an instance type has against the model of a container that has
    been checked without it; nothing of an image that the catalogue does not have.
    """
    image = checked_as(container.image)
    family = FAMILIES.get(image.family)
    on_host = None if family is None else family().on_host
    if on_host is None:
        return []
    without = Environment(
        variables=variables,
        family=image.family,
        version=image.version,
        accelerators=None,
        architecture=architecture,
        container=container,
    )
    before = on_host(without)
    after = on_host(without._replace(instance_type=instance_type))
    return [finding for finding in after if finding not in before]


def added_findings(
    further: Mapping[str, str],
    container: Container,
    *,
    accelerators: int | None,
    architecture: Config = None,
    network_isolation: bool = False,
) -> list[Finding]:
    """
    Find what further variables, or isolation, break in a container that has been
    checked without.

    TGI's launcher reads no file: what its class is not told of, it may be told here
    without a check.
    """

    def of(variables: Mapping[str, str], *, is_isolated: bool) -> list[Finding]:
        return container_findings(
            replace(container, environment=variables),
            accelerators=accelerators,
            architecture=architecture,
            has_model_data=bool(container.files or container.weights_uri),
            network_isolation=is_isolated,
        )

    family = FAMILIES.get(_recognised(container.image).family)
    if family is None or not family().takes_variables:
        return []
    before = of(container.environment, is_isolated=False)
    every = {**container.environment, **further}
    together = of(every, is_isolated=network_isolation)
    return [finding for finding in together if finding not in before]


def adapter_host(
    container: Container,
    variables: Mapping[str, str],
    *,
    architecture: str | None = None,
) -> AdapterHost | None:
    """
    Read what a container does with adapters; ``None`` for an image that is not known.
    """
    image = checked_as(container.image)
    if image.family not in FAMILIES:
        return None
    read_as = replace(container, image=image)
    return FAMILIES[image.family]().adapters(read_as, variables, architecture)


def dialect_of(
    container: Container,
    variables: Mapping[str, str],
    *,
    architecture: ModelArchitecture | str | None = None,
) -> Dialect:
    """
    Return how a container wants requests; nothing is known of an image that the
    catalogue does not have.
    """
    image = checked_as(container.image)
    if image.family not in FAMILIES:
        return Dialect()
    read_as = replace(container, image=image)
    return FAMILIES[image.family]().dialect(read_as, variables, architecture)


def checked_as(image: ImageRelease) -> ImageRelease:
    """
    Return the catalogue's release as which an image is checked; the image itself if
    there is none.
    """
    catalogued = _recognised(image)
    return (
        catalogued if catalogued.family in FAMILIES else _near(catalogued) or catalogued
    )


def variable_findings(environment: Mapping[str, object]) -> list[Finding]:
    """
    A container that a component names itself has fewer variables than a model's.
    """
    if len(environment) <= MOST_VARIABLES:
        return []
    return [
        MANY_VARIABLES.finding(
            "the environment of a component's own container must have at most "
            f"{MOST_VARIABLES} variables, got {len(environment)}",
            "define a model with them, which takes 100, and name it in the component",
        )
    ]


def _recognised(image: ImageRelease) -> ImageRelease:
    if image.registry is None or image.registry.mirrors:
        return of_catalogue(image)
    return image_at(f"{image.repository}:{image.tag}") or image


def _near(image: ImageRelease) -> ImageRelease | None:
    if image.registry is None:
        return None
    return image_near(f"{image.repository}:{image.tag}")


def _rolling_findings(image: ImageRelease, catalogued: ImageRelease) -> list[Finding]:
    """
    Find a tag that AWS moves, of an image that is checked as a catalogued release.
    """
    if is_rolling(catalogued.family, catalogued.version):
        image = catalogued
    elif image is catalogued or not image.is_rolling:
        return []
    pinned = pinned_version(catalogued.family, catalogued.version)
    is_another = catalogued is not image or pinned != image.version
    return [
        ROLLING_TAG.finding(
            f"image {image.repository}:{image.tag} is moved to newer releases: the "
            "same template deploys another engine later",
            f"take the tag of version {pinned}" if is_another else "",
        )
    ]
