"""
The host image of an endpoint's instances: chosen once, when the hosts are defined.

It knows no component: a host image that followed the models that come and go would
swap the driver under all the others.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from cdk_sagemaker_llm.catalog.host_images import (
    has_host_of,
    host_image_for,
    is_listed,
    shared_host_image,
)
from cdk_sagemaker_llm.catalog.images import ImageRelease, find_image, of_catalogue
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.models.definitions import (
    ModelDefinition,
    default_serving,
)
from cdk_sagemaker_llm.hosting.variants.variant import ProductionVariant
from cdk_sagemaker_llm.models import HuggingFaceModel
from cdk_sagemaker_llm.serving.base import ServingConfiguration, prepared_by
from cdk_sagemaker_llm.text import any_of
from cdk_sagemaker_llm.tokens import is_unresolved

_VERSION = re.compile(r"\d+(\.\d+)?\Z")
# A configuration names its image for a model only, and any will do.
_ANY_MODEL = HuggingFaceModel("any/model")

HOST_PURPOSE = Rule(
    "LLM196", "what hosts are for is said more than once, or cannot be read"
)
MIXED_HOSTS = Rule(
    "LLM313",
    "instance pools are of types that no one host image runs on",
    "SageMaker developer guide, inference-gpu-drivers",
)
UNLISTED_HOST = Rule(
    "LLM417",
    "a host image is asked for that AWS does not list for the instance type",
    "SageMaker developer guide, inference-gpu-drivers",
)


def choose_host_image(
    variant: ProductionVariant,
    types: Sequence[InstanceType | None],
    model: ModelDefinition | None,
) -> str | None:
    """
    Return the host image to ask for; ``None`` for the types' defaults. A type that is
    not known is ``None``, as is the model of instances that host components.
    """
    hardware = [one for one in types if one is not None]
    if variant.inference_ami_version is not None or not hardware:
        return variant.inference_ami_version
    if model is None and variant.model is not None:
        # Nothing is known of a model that was made elsewhere.
        return None
    cuda_version = _cuda_version(variant, model)
    if is_unresolved(cuda_version) or not _is_version(cuda_version):
        return None
    if len(hardware) == 1:
        return host_image_for(hardware[0], cuda_version)
    try:
        return shared_host_image(hardware, cuda_version)
    except ValueError:
        # ``mixed_findings`` reports it.
        return None


def follows_type(variant: ProductionVariant, model: ModelDefinition | None) -> bool:
    """
    Whether the host image is chosen by the instance type.
    """
    if variant.inference_ami_version is not None:
        return False
    if model is None and variant.model is not None:
        return False
    return _cuda_version(variant, model) is not None


def listed_findings(
    variant: ProductionVariant, types: Sequence[InstanceType | None]
) -> list[Finding]:
    """
    Check that AWS lists the chosen host image for each type.
    """
    name = variant.inference_ami_version
    if name is None or is_unresolved(name):
        return []
    return [
        UNLISTED_HOST.finding(
            f"{name} is not among the host images that AWS lists for {hardware}",
            "leave inference_ami_version out, or use "
            f"{any_of(hardware.compatible_inference_amis)}"
            if hardware.compatible_inference_amis
            else "leave inference_ami_version out",
        )
        for hardware in types
        if hardware is not None and not is_listed(hardware, name)
    ]


def mixed_findings(
    variant: ProductionVariant,
    types: Sequence[InstanceType | None],
    model: ModelDefinition | None,
) -> list[Finding]:
    """
    Check that one host image, with one driver, can run on every type of the pools.
    """
    hardware = [one for one in types if one is not None]
    if len(types) == 1 or not hardware:
        return []
    if len({one.has_neuron_cores for one in hardware}) > 1:
        names = ", ".join(map(str, hardware))
        return [
            MIXED_HOSTS.finding(
                f"capacity.pools mix GPUs with Inferentia or Trainium: {names}",
                "serve these from endpoints of their own",
            )
        ]
    if variant.inference_ami_version is not None:
        return []
    cuda_version = _cuda_version(variant, model)
    if is_unresolved(cuda_version) or not _is_version(cuda_version):
        return []
    try:
        shared_host_image(hardware, cuda_version)
    except ValueError as fault:
        remedy = "choose types of one driver generation, or inference_ami_version"
        return [MIXED_HOSTS.finding(f"capacity.pools: {fault}", remedy)]
    return []


def purpose_findings(
    variant: ProductionVariant, hardware: InstanceType | None, *, has_model: bool
) -> list[Finding]:
    """
    Check that at most one argument decides the hosts' driver, and that there are such
    hosts.
    """
    purposes = [
        name
        for name in ("inference_ami_version", "cuda_version", "engine")
        if getattr(variant, name) is not None
    ]
    found = []
    if has_model and {"cuda_version", "engine"} & set(purposes):
        found.append(
            HOST_PURPOSE.finding(
                f"{purposes[-1]} is for hosts of inference components; the host image "
                "of a variant with a model follows the model's image",
                "leave it out",
            )
        )
    elif len(purposes) > 1:
        found.append(
            HOST_PURPOSE.finding(
                f"{' and '.join(purposes)} each say which driver the hosts have",
                "give one of them",
            )
        )
    version = variant.cuda_version
    if version is None or is_unresolved(version):
        return found
    if not _is_version(version):
        found.append(
            HOST_PURPOSE.finding(
                f"cuda_version must be a version such as '12.8', got {version!r}"
            )
        )
    elif hardware is not None and not has_host_of(hardware, version):
        found.append(
            HOST_PURPOSE.finding(
                f"no host image of {hardware} is known for CUDA {version}",
                "give its name as inference_ami_version",
            )
        )
    return found


def engine_image(serving: ServingConfiguration) -> ImageRelease | None:
    """
    Return the image that a serving configuration runs; ``None`` where it has errors.
    """
    # A folder of the user's own names its model itself.
    for model in (_ANY_MODEL, None):
        container = prepared_by(serving, model, None).container
        if container is not None:
            return container.image
    return None


def _cuda_version(
    variant: ProductionVariant, model: ModelDefinition | None
) -> str | None:
    if model is not None:
        container = model.prepared.container
        # The tags of AWS's newest images do not name it.
        return None if container is None else of_catalogue(container.image).cuda_version
    if variant.cuda_version is not None:
        return variant.cuda_version
    if variant.engine is None:
        return _default_cuda_version()
    image = engine_image(variant.engine)
    return None if image is None else of_catalogue(image).cuda_version


@functools.cache
def _default_cuda_version() -> str | None:
    engine = default_serving()
    return find_image(engine.container_family, engine.version).cuda_version


def _is_version(cuda_version: str | None) -> bool:
    return cuda_version is None or _VERSION.match(cuda_version) is not None
