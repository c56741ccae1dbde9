"""
Checks of a container's environment, whichever image of the catalogue reads it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cdk_sagemaker_llm.arguments import held
from cdk_sagemaker_llm.catalog.engine_releases import (
    engine_families,
    is_rolling,
    pinned_version,
)
from cdk_sagemaker_llm.catalog.images import ImageRelease, find_image
from cdk_sagemaker_llm.catalog.instances import (
    find_instance_type,
    instance_type_names,
)
from cdk_sagemaker_llm.catalog.known_images import (
    image_at,
    image_near,
    of_catalogue,
)
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.checks import device_findings
from cdk_sagemaker_llm.serving.configuration import Container
from cdk_sagemaker_llm.serving.credentials import credential_findings
from cdk_sagemaker_llm.serving.host import instance_findings
from cdk_sagemaker_llm.serving.images import BESIDE_CATALOGUE
from cdk_sagemaker_llm.serving.lmi.checks import heads_of
from cdk_sagemaker_llm.serving.lmi.checks.subject import Architecture
from cdk_sagemaker_llm.serving.lmi.environment.findings import lmi_findings
from cdk_sagemaker_llm.serving.lmi.folder import properties_path
from cdk_sagemaker_llm.serving.lmi.launch import CONTAINERS as LMI
from cdk_sagemaker_llm.serving.lmi.properties import PropertiesError, parse
from cdk_sagemaker_llm.serving.rules import NO_WEIGHTS, UNKNOWN_IMAGE
from cdk_sagemaker_llm.serving.spelling import MISSPELT, usual_mistake
from cdk_sagemaker_llm.serving.tgi.checks import check_environment as check_tgi
from cdk_sagemaker_llm.serving.tgi.neuron import FAMILY as TGI_NEURON
from cdk_sagemaker_llm.serving.tgi.neuron import neuron_findings
from cdk_sagemaker_llm.text import any_of, nearest
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from cdk_sagemaker_llm.serving.lmi.environment.findings import Config

TGI = "huggingface-llm"
ENGINES = engine_families()
CHECKED_FAMILIES = (*LMI, TGI, TGI_NEURON, *ENGINES)

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
            If left out, it is what the catalogue knows of the model that is named.

        instance_type:
            What it runs on, such as ``ml.g6.12xlarge``.
            If left out, what the image is built for is not compared with its
            processors and GPUs.

    Returns:
        What was found, errors and warnings, in the order of the checks.

    Raises:
        ValueError: If there is no such container, or an argument is not of its kind.
    """
    _hold_family(container)
    found = _checked(
        environment,
        container=container,
        version=version,
        accelerators=accelerators,
        architecture=architecture,
        instance_type=instance_type,
    )
    unknown = _unknown_type_findings(instance_type)
    return [*unknown, *found, *_shown_credentials(environment)]


def _hold_family(container: str) -> None:
    """
    Refuse a family that there are no checks of.

    Raises:
        ValueError: If it is one.
    """
    if container not in CHECKED_FAMILIES:
        near = nearest(container, CHECKED_FAMILIES, count=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(
            f"container must be {any_of(CHECKED_FAMILIES)}, got {container!r}{hint}"
        )


def _checked(
    environment: Mapping[str, str],
    *,
    container: str,
    version: str,
    accelerators: int | None,
    architecture: Config,
    instance_type: str | None,
) -> list[Finding]:
    if container in LMI or container in ENGINES:
        try:
            version = find_image(container, version).version
        except ValueError as fault:
            return [UNKNOWN_IMAGE.finding(str(fault))]
    impossible = device_findings(accelerators)
    if impossible:
        return impossible
    if container in LMI:
        return lmi_findings(
            environment,
            container=container,
            version=version,
            accelerators=accelerators,
            architecture=architecture,
        )
    if container in ENGINES:
        found = _engine_findings(
            environment,
            container,
            version,
            accelerators,
            architecture,
            instance_type=instance_type,
        )
        image = find_image(container, version)
        around = [
            *_placed_findings(image, instance_type),
            *_rolling_findings(image),
        ]
        return [*(one for one in around if one not in found), *found]
    return _tgi_findings(environment, container, version, accelerators, architecture)


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
    Check a container's variables with the files beside them.

    Nothing is found of an image that the catalogue does not have, and nothing that the
    files break by themselves.

    Args:
        container: The container.

        accelerators: Devices that each copy of the model has.

        architecture: What is known of the model. If left out, nothing is.

        has_model_data:
            Whether SageMaker puts something into ``/opt/ml/model``.
            If left out, that is not known.

        instance_type: What it runs on. If left out, that is not known.

        network_isolation: Whether the container is cut off from the network.
    """
    image = _recognised(container.image)
    near = None if image.family in CHECKED_FAMILIES else _near(image)
    if near is not None:
        beside = BESIDE_CATALOGUE.finding(
            f"image {image.repository}:{image.tag} is not in the catalogue: it is "
            f"checked as {near.family} {near.version}"
        )
        found = container_findings(
            replace(container, image=near),
            accelerators=accelerators,
            architecture=architecture,
            has_model_data=has_model_data,
            instance_type=instance_type,
            network_isolation=network_isolation,
        )
        moves = image.is_rolling and not is_rolling(near.family, near.version)
        rolling = [_rolling(image, near)] if moves and near.family in ENGINES else []
        return [beside, *rolling, *found]
    if image.family in LMI:
        return lmi_findings(
            container.environment,
            container=image.family,
            version=image.version,
            accelerators=accelerators,
            architecture=architecture,
            file=file_of(container.files),
            has_model_data=has_model_data,
        )
    if image.family not in CHECKED_FAMILIES:
        return []
    if image.family in ENGINES:
        return _rolling_findings(image) + _engine_findings(
            container.environment,
            image.family,
            image.version,
            accelerators,
            architecture,
            instance_type=instance_type,
            model_data=_model_data(container, has_model_data=has_model_data),
            network_isolation=network_isolation,
        )
    if "HF_MODEL_ID" not in container.environment:
        return [
            NO_WEIGHTS.finding(
                "HF_MODEL_ID is missing, which TGI's entry point asks for",
                "name the model, or /opt/ml/model for weights that SageMaker puts "
                "there",
            )
        ]
    return _tgi_findings(
        container.environment, image.family, image.version, accelerators, architecture
    )


def added_findings(
    further: Mapping[str, str],
    container: Container,
    *,
    accelerators: int | None,
    architecture: Config = None,
) -> list[Finding]:
    """
    Find what further variables break in a container that has been checked without.

    TGI's launcher reads no file: what its class is not told of, it may be told here
    without a check.

    Args:
        further: The further variables.

        container: The container, with its own files and variables.

        accelerators: Devices that each copy of the model has.

        architecture: What is known of the model. If left out, nothing is.
    """

    def of(variables: Mapping[str, str]) -> list[Finding]:
        return container_findings(
            replace(container, environment=variables),
            accelerators=accelerators,
            architecture=architecture,
        )

    if not further or _recognised(container.image).family not in (*LMI, *ENGINES):
        return []
    before = of(container.environment)
    together = of({**container.environment, **further})
    return [finding for finding in together if finding not in before]


def checked_as(image: ImageRelease) -> ImageRelease:
    """
    Return the catalogue's release that an image is checked as; itself for none.
    """
    known = _recognised(image)
    return known if known.family in CHECKED_FAMILIES else _near(known) or known


def file_of(files: Mapping[str, bytes]) -> dict[str, str] | None:
    """
    Return what the serving.properties among a container's files says; ``None`` where
    there are no files.
    """
    if not files:
        return None
    content = files.get(properties_path(files) or "", b"")
    try:
        # Java reads the file as ISO-8859-1, in which every byte is a character.
        return parse(content.decode("iso-8859-1"))
    except PropertiesError:
        # The check of the file says what is wrong with it.
        return {}


def _shown_credentials(environment: Mapping[str, str]) -> list[Finding]:
    """
    Find credentials, with which a container starts all the same: who wrote them into a
    template is told of an error.
    """
    return [
        SHOWN_CREDENTIAL.finding(
            f"{one.message}, which DescribeModel shows to whoever may call it",
            one.remedy,
        )
        for one in credential_findings("environment", environment)
    ]


def _unknown_type_findings(instance_type: str | None) -> list[Finding]:
    """
    Find an instance type that nothing is known of: what depends on it is not checked.
    """
    if instance_type is None or is_unresolved(instance_type):
        return []
    try:
        find_instance_type(instance_type)
    except ValueError as fault:
        return [UNKNOWN_TYPE.finding(str(fault))]
    return []


def _placed_findings(image: ImageRelease, instance_type: str | None) -> list[Finding]:
    """
    Check an image against what it runs on, as far as the catalogue has that.
    """
    if instance_type is None or instance_type not in instance_type_names():
        return []
    hardware = find_instance_type(instance_type)
    return instance_findings(hardware, image)


def _recognised(image: ImageRelease) -> ImageRelease:
    if image.registry is None or image.registry.mirrors:
        return of_catalogue(image)
    return image_at(f"{image.repository}:{image.tag}") or image


def _near(image: ImageRelease) -> ImageRelease | None:
    if image.registry is None:
        return None
    return image_near(f"{image.repository}:{image.tag}")


def _engine_findings(
    environment: Mapping[str, str],
    family: str,
    version: str,
    accelerators: int | None,
    architecture: Config,
    *,
    instance_type: str | None = None,
    model_data: Collection[str] | None = None,
    network_isolation: bool = False,
) -> list[Finding]:
    # The checks of these engines load the parsers that those use.
    from cdk_sagemaker_llm.serving.engines.environment import (  # noqa: PLC0415
        engine_findings,
    )

    return engine_findings(
        environment,
        family=family,
        version=version,
        accelerators=accelerators,
        architecture=architecture,
        instance_type=instance_type,
        model_data=model_data,
        network_isolation=network_isolation,
    )


def _model_data(
    container: Container, *, has_model_data: bool | None
) -> Collection[str] | None:
    """
    Return the files in ``/opt/ml/model``; ``None`` where they are not all known.
    """
    if has_model_data is False:
        return ()
    is_whole = container.files and container.weights_uri is None
    return tuple(container.files) if is_whole else None


def _rolling_findings(image: ImageRelease) -> list[Finding]:
    if not is_rolling(image.family, image.version):
        return []
    return [_rolling(image, image)]


def _rolling(image: ImageRelease, known: ImageRelease) -> Finding:
    pinned = pinned_version(known.family, known.version)
    is_another = known is not image or pinned != image.version
    return ROLLING_TAG.finding(
        f"image {image.repository}:{image.tag} is moved to newer releases: the "
        "same template deploys another engine later",
        f"take the tag of version {pinned}" if is_another else "",
    )


def _tgi_findings(
    environment: Mapping[str, str],
    container: str,
    version: str,
    accelerators: int | None,
    architecture: Config,
) -> list[Finding]:
    if container == TGI_NEURON:
        found = neuron_findings(environment, version)
    else:
        found = check_tgi(
            environment,
            version=version,
            accelerators=accelerators,
            attention_heads=heads_of(architecture),
        )
    return found + [
        MISSPELT.finding(
            f"{name} is no variable of {container}: it is ignored",
            f"did you mean {usual_mistake(name)}?",
        )
        for name in environment
        if usual_mistake(name)
    ]
