"""
The container image of a family and version: its choice, and whether it can start on an
instance. Which family it is, each serving class says (``container_family``).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

from cdk_sagemaker_llm.catalog.engine_releases import EngineRelease, find_engine_release
from cdk_sagemaker_llm.catalog.host_images import Match, host_image_for, match
from cdk_sagemaker_llm.catalog.image_rows import all_accounts
from cdk_sagemaker_llm.catalog.images import (
    ImageRelease,
    family_at,
    family_end,
    find_image,
    image_families,
    image_versions,
    named_version,
    nearest_version,
    of_catalogue,
)
from cdk_sagemaker_llm.catalog.instances import InstanceType, find_accelerator
from cdk_sagemaker_llm.findings import Finding, Rule, errors_of
from cdk_sagemaker_llm.serving.parameters import UNKNOWN_IMAGE, UNREADABLE
from cdk_sagemaker_llm.tokens import is_unresolved

# Repositories that hold several families, which are told apart by their tags alone.
_SHARED = frozenset({"vllm", "sglang", "llama-cpp", "huggingface-llamacpp"})
# torch-neuronx, which it is built on, is not for the first Inferentia.
_NEURONX_ONLY = frozenset({"huggingface-vllm-neuronx"})

ENDED_FAMILY = Rule(
    "LLM201", "the image family gets no more releases", "AWS Deep Learning Containers"
)
BESIDE_CATALOGUE = Rule(
    "LLM224", "an image beside the catalogue is checked as the version nearest to it"
)
OTHER_DEVICES = Rule("LLM127", "a GPU image on Neuron chips, or the other way round")
NO_ACCELERATORS = Rule(
    "LLM521",
    "an image for accelerators on an instance type that has none",
    "the images' own build files; EC2 instance types",
)
OTHER_PROCESSOR = Rule(
    "LLM523",
    "an image that is built for other processors than the instance type's",
    "EC2 instance types; aws/deep-learning-containers, llama-cpp-arm64",
)
OTHER_DRIVER = Rule(
    "LLM198",
    "a container's CUDA version does not start with the host's driver",
    "SageMaker developer guide; djl-serving issue 2987; "
    "deep-learning-containers PR 6187",
)
DOUBTFUL_DRIVER = Rule(
    "LLM221",
    "a container's CUDA version may not start with the host's driver",
    "SageMaker developer guide",
)
NO_KERNELS = Rule(
    "LLM518", "TEI's image has no program for the GPU", "the entry point of TEI 1.9.3"
)
OTHER_ARCHITECTURE = Rule(
    "LLM620",
    "the image is not built for the GPU's architecture",
    "the build files of aws/deep-learning-containers",
)
DECIDED_LATER = Rule(
    "LLM806",
    "an instance type is decided at deployment, and other settings follow from it",
)


class ChosenImage(NamedTuple):
    """
    The image that runs, ``None`` where an error stands in the way; the family that was
    asked for; and the catalogued version whose rules hold for it.
    """

    release: ImageRelease | None
    family: str
    version: str
    findings: tuple[Finding, ...]


def choose_image(
    family: str, version: str, image: str | ImageRelease | None = None
) -> ChosenImage:
    """
    Find the catalogue's image of a version, or the one that is named instead: a tag or
    a digest of the family's repository, a full URI in Amazon ECR, or an image that is
    described, such as a mirrored one.
    """
    # Not kept: of two that are alike, each is put in place by its own construct.
    if isinstance(image, ImageRelease):
        if image.family != family:
            other = UNKNOWN_IMAGE.finding(
                f"image is of {image.family} {image.version}, and what is written here "
                f"is for images of {family}",
                f"write version={image.version!r} where that is one of the same class, "
                "or use CustomContainer",
            )
            return _refused(family, version, other)
        found = image_findings(family, image.version)
        if of_catalogue(image) != find_image(family, image.version):
            found.append(
                BESIDE_CATALOGUE.finding(
                    f"image {image.reference} is not in the catalogue: it is checked "
                    f"as {family} {image.version}"
                )
            )
        return ChosenImage(image, family, image.version, tuple(found))
    return _named(family, version, image)


@functools.lru_cache
def _named(family: str, version: str, image: str | None) -> ChosenImage:
    if image is None:
        found = tuple(image_findings(family, version))
        if UNKNOWN_IMAGE.code in {each.code for each in found}:
            return ChosenImage(None, family, version, found)
        release = find_image(family, version)
        return ChosenImage(release, family, release.version, found)
    if is_unresolved(image):
        unknown = "image is known only at deployment, and is checked at synth"
        return _refused(
            family, version, UNREADABLE.finding(unknown, "use CustomContainer")
        )
    try:
        near = nearest_version(family, image_version(version, image))
        release = ImageRelease.of(family, image, near=near)
    except ValueError as fault:
        return _refused(family, version, UNKNOWN_IMAGE.finding(str(fault)))
    other = _other_family(family, image, release)
    if other is not None:
        return _refused(family, version, other)
    findings = image_findings(family, near)
    if release != find_image(family, near):
        findings.append(
            BESIDE_CATALOGUE.finding(
                f"image {image} is not in the catalogue: it is checked as {family} "
                f"{near}"
            )
        )
    return ChosenImage(release, family, near, tuple(findings))


def _other_family(family: str, image: str, release: ImageRelease) -> Finding | None:
    """
    Find an image of AWS's own that is of another family: it reads other settings.
    """
    repository = find_image(family, image_versions(family)[-1]).repository
    registry = release.registry
    if registry is not None and registry.account not in all_accounts():
        return None
    if release.repository != repository:
        return UNKNOWN_IMAGE.finding(
            f"image {image} is of {release.repository}, and what is written here is "
            f"for images of {repository}",
            "use CustomContainer for it",
        )
    actual = family_at(release.reference)
    if repository not in _SHARED or actual in {None, family}:
        return None
    return UNKNOWN_IMAGE.finding(
        f"image {image} is of {actual}, and what is written here is for images of "
        f"{family}",
        "use the serving class of that one, or CustomContainer",
    )


def image_version(version: str, image: str | ImageRelease | None) -> str:
    """
    Return the version that an image's tag names, or else the one that was given.
    """
    if isinstance(image, ImageRelease):
        return image.version
    if image is None or is_unresolved(image):
        return version
    named = named_version(image)
    return version if named in {None, "latest"} else named


def is_catalogued(image: str | ImageRelease | None) -> bool:
    """
    Return whether an image is the catalogue's, or a copy of it.
    """
    if isinstance(image, ImageRelease):
        return image.registry is None or image.registry.mirrors
    return image is None


def named_image(version: str, image: str | ImageRelease | None) -> str:
    """
    Return what an image is called: its tag, digest or address, or else its version.
    """
    return image.tag if isinstance(image, ImageRelease) else image or version


def _refused(family: str, version: str, fault: Finding) -> ChosenImage:
    return ChosenImage(None, family, version, (fault,))


def image_findings(family: str, version: str) -> list[Finding]:
    """
    Find an image that does not exist, or a family that gets no more releases.
    """
    try:
        find_image(family, version)
    except ValueError as fault:
        return [UNKNOWN_IMAGE.finding(str(fault))]
    reason = family_end(family)
    if reason is not None:
        return [
            ENDED_FAMILY.finding(
                f"{family} {version} gets no fixes any more: {reason}",
                "use vLLM in AWS's own image for new work",
            )
        ]
    return []


def host_findings(
    hardware: InstanceType | None,
    image: ImageRelease,
    host_image: str | None,
    *,
    hosts_components: bool,
) -> list[Finding]:
    """
    Check that an instance has the devices and the driver that an image needs.
    """
    found = instance_findings(hardware, image)
    image = of_catalogue(image)
    if hardware is None or image.registry is not None or is_unresolved(host_image):
        return found
    outcome = match(hardware, host_image, image)
    if outcome is Match.RUNS or errors_of(found):
        return found
    right = host_image_for(hardware, image.cuda_version)
    remedy = "leave inference_ami_version out" + (
        f": it is {right} then" if right else ""
    )
    driver = f"the driver of {host_image}"
    if host_image is None:
        default = hardware.default_inference_ami
        driver = f"the default driver{f' ({default})' if default else ''}"
        # Nothing was asked for: by a template, or of types that share no host image.
        remedy = (
            f"ask for the host image {right}, which all types of the variant must "
            "have, or choose another image"
        )
    if hosts_components:
        remedy = (
            f"define the host with cuda_version={image.cuda_version!r}, or serve the "
            "model from a host of its own"
        )
    if match(hardware, right, image) is not Match.RUNS:
        remedy = "choose another image or another instance type"
    rule = OTHER_DRIVER if outcome is Match.FAILS else DOUBTFUL_DRIVER
    message = (
        f"image {image.family} {image.version} of CUDA {image.cuda_version} "
        f"{outcome.value} with {driver} of {hardware}"
    )
    return [*found, rule.finding(message, remedy)]


def undecided_findings(
    parameter: str, left_out: Sequence[str], default: InstanceType | None
) -> list[Finding]:
    """
    Warn of an instance type that deployment decides: of what follows from none, or
    from a parameter's default.
    """
    if not left_out:
        return []
    what = ", ".join(left_out)
    outcome = "left out" if default is None else f"as its default {default} needs it"
    return [
        DECIDED_LATER.finding(
            f"{parameter} is decided at deployment, and what follows from it is "
            f"{outcome}: {what}",
            "set that yourself, or name the type as text, or as a CfnParameter whose "
            "allowed_values all have the same accelerators",
        )
    ]


def instance_findings(
    hardware: InstanceType | None, image: ImageRelease
) -> list[Finding]:
    """
    Check that an instance has the processors and devices that an image is built for.
    """
    image = of_catalogue(image)
    if hardware is None or image.registry is not None:
        return []
    if image.is_for_cpu:
        if image.processor in {None, hardware.processor}:
            return []
        other = (
            f", or the image for {hardware.processor}, such as with "
            f'LlamaCpp(processor="{hardware.processor}")'
            if image.family.startswith("llama-cpp")
            else ""
        )
        return [
            OTHER_PROCESSOR.finding(
                f"image {image.family} {image.version} is built for {image.processor}, "
                f"and the processors of {hardware} are {hardware.processor}",
                f"choose an instance type of {image.processor}{other}",
            )
        ]
    if hardware.accelerators == 0:
        remedy = (
            "choose an instance type with accelerators, or serve a GGUF file with "
            "LlamaCpp, or embeddings with TextEmbeddings, which run on processors"
        )
        if f"{image.family}-cpu" in image_families():
            remedy = (
                f"take {image.family}-cpu, which a model that is defined with "
                "accelerators=0 gets, or another instance type"
            )
        return [
            NO_ACCELERATORS.finding(
                f"image {image.family} {image.version} runs on accelerators, and "
                f"{hardware} has none",
                remedy,
            )
        ]
    devices = "Inferentia or Trainium" if image.is_for_neuron else "NVIDIA GPUs"
    is_other = image.is_for_neuron != hardware.has_neuron_cores
    if image.family in _NEURONX_ONLY and hardware.accelerator_model == "Inferentia":
        is_other, devices = True, "Inferentia2 or Trainium"
    if is_other:
        return [
            OTHER_DEVICES.finding(
                f"image {image.family} {image.version} runs on {devices}, and "
                f"{hardware} has {hardware.accelerator_model}",
                "choose another image or another instance type",
            )
        ]
    release = find_engine_release(image.family, image.version)
    return gpu_findings(release, hardware.accelerator_model) if release else []


def gpu_findings(image: EngineRelease, model: str | None) -> list[Finding]:
    """
    Find that an image has no kernels for a GPU: TEI's ends without, others may have
    some that run.
    """
    device, built = find_accelerator(model or ""), image.gpu_architectures
    capability = device.compute_capability if device else None
    if built is None or capability is None or capability in built:
        return []
    rule = NO_KERNELS if image.engine == "tei" else OTHER_ARCHITECTURE
    return [
        rule.finding(
            f"{image.family} {image.version} is built for compute capability "
            f"{', '.join(built)}, and {model} has {capability}",
            "take another instance type, or another image",
        )
    ]
