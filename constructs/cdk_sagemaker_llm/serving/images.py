"""
Choosing the image that runs, and the checks that every backend shares of it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from cdk_sagemaker_llm.catalog.image_rows import all_accounts
from cdk_sagemaker_llm.catalog.images import (
    ImageRelease,
    find_image,
    image_versions,
    named_version,
    nearest_version,
)
from cdk_sagemaker_llm.catalog.known_images import family_at, of_catalogue
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.rules import UNKNOWN_IMAGE, UNREADABLE
from cdk_sagemaker_llm.tokens import is_unresolved

# What is known of the end of a family, from the AWS Deep Learning Containers
# release data (2026-08) and the projects' own announcements.
_ENDED = {
    "djl-tensorrtllm": "no TensorRT-LLM image was released after LMI 0.33.0",
    "djl-deepspeed": "no DeepSpeed image was released after LMI 0.27.0",
    "djl-neuronx": "no NeuronX image was released after LMI 0.30.0",
    "djl-fastertransformer": "no FasterTransformer image was released after 0.24.0",
    "huggingface-llm": "Text Generation Inference was archived in 2026-03",
    "huggingface-llm-neuronx": "Text Generation Inference was archived in 2026-03",
}

# Repositories that hold several families, which are told apart by their tags alone.
_SHARED = frozenset({"vllm", "sglang", "llama-cpp", "huggingface-llamacpp"})

ENDED_FAMILY = Rule(
    "LLM201", "the image family gets no more releases", "AWS Deep Learning Containers"
)


BESIDE_CATALOGUE = Rule(
    "LLM224", "an image beside the catalogue is checked as the version nearest to it"
)


@dataclass(frozen=True, slots=True)
class ChosenImage:
    """
    The image that runs, and the catalogued version that it is checked as.

    Args:
        release: The image; ``None`` where an error stands in the way.

        version: The version whose rules hold for it.

        findings: What was found of it, errors and warnings.
    """

    release: ImageRelease | None
    version: str
    findings: tuple[Finding, ...]


def choose_image(
    family: str, version: str, image: str | ImageRelease | None = None
) -> ChosenImage:
    """
    Find the image of a version, or the one that was named instead.

    Args:
        family: The container family.

        version: The version, as the catalogue has it.

        image:
            A tag or a digest of the family's repository, a full URI in Amazon ECR, or
            an image that is described, such as a mirrored one.
            If left out, it is the catalogue's image of the version.
    """
    # Not kept: of two that are alike, each is put in place by its own construct.
    if isinstance(image, ImageRelease):
        return _described(family, version, image)
    return _named(family, version, image)


@functools.lru_cache
def _named(family: str, version: str, image: str | None) -> ChosenImage:
    if image is None:
        return _catalogued(family, version)
    if is_unresolved(image):
        unknown = "image is known only at deployment, and is checked at synth"
        return _refused(version, UNREADABLE.finding(unknown, "use CustomContainer"))
    try:
        near = nearest_version(family, asked_version(version, image))
        release = ImageRelease.of(family, image, near=near)
    except ValueError as fault:
        return _refused(version, UNKNOWN_IMAGE.finding(str(fault)))
    other = _other_family(family, image, release)
    if other is not None:
        return _refused(version, other)
    found = tuple(image_findings(family, near))
    if release == find_image(family, near):
        return ChosenImage(release, near, found)
    beside = BESIDE_CATALOGUE.finding(
        f"image {image} is not in the catalogue: it is checked as {family} {near}"
    )
    return ChosenImage(release, near, (*found, beside))


def _catalogued(family: str, version: str) -> ChosenImage:
    found = tuple(image_findings(family, version))
    if UNKNOWN_IMAGE.code in {each.code for each in found}:
        return ChosenImage(None, version, found)
    known = find_image(family, version)
    return ChosenImage(known, known.version, found)


def _described(family: str, version: str, image: ImageRelease) -> ChosenImage:
    if image.family != family:
        other = UNKNOWN_IMAGE.finding(
            f"image is of {image.family} {image.version}, and what is written here is "
            f"for images of {family}",
            f"write version={image.version!r} where that is one of the same class, or "
            "use CustomContainer",
        )
        return _refused(version, other)
    found = image_findings(family, image.version)
    if of_catalogue(image) != find_image(family, image.version):
        found.append(
            BESIDE_CATALOGUE.finding(
                f"image {image.reference} is not in the catalogue: it is checked as "
                f"{family} {image.version}"
            )
        )
    return ChosenImage(image, image.version, tuple(found))


def _other_family(family: str, image: str, release: ImageRelease) -> Finding | None:
    """
    Find an image of AWS's own that is of another family: it reads other settings.
    """
    wanted = find_image(family, image_versions(family)[-1]).repository
    registry = release.registry
    if registry is not None and registry.account not in all_accounts():
        return None
    if release.repository != wanted:
        return UNKNOWN_IMAGE.finding(
            f"image {image} is of {release.repository}, and what is written here is "
            f"for images of {wanted}",
            "use CustomContainer for it",
        )
    actual = family_at(release.reference)
    if wanted not in _SHARED or actual in {None, family}:
        return None
    return UNKNOWN_IMAGE.finding(
        f"image {image} is of {actual}, and what is written here is for images of "
        f"{family}",
        "use the serving class of that one, or CustomContainer",
    )


def asked_version(version: str, image: str | ImageRelease | None) -> str:
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


def _refused(version: str, fault: Finding) -> ChosenImage:
    return ChosenImage(None, version, (fault,))


def image_findings(family: str, version: str) -> list[Finding]:
    """
    Find an image that does not exist, or a family that gets no more releases.
    """
    try:
        find_image(family, version)
    except ValueError as fault:
        return [UNKNOWN_IMAGE.finding(str(fault))]
    if family in _ENDED:
        return [
            ENDED_FAMILY.finding(
                f"{family} {version} gets no fixes any more: {_ENDED[family]}",
                "use vLLM on a current LMI image for new work",
            )
        ]
    return []
