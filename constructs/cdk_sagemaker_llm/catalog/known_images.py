"""
Recognising an image of the catalogue by what its address ends in.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from cdk_sagemaker_llm.catalog.image_rows import all_accounts, base_tag
from cdk_sagemaker_llm.catalog.images import (
    ImageRelease,
    find_image,
    image_families,
    image_versions,
    named_version,
    nearest_version,
)

_ADDRESS = re.compile(r"([\w.-]+(?:/[\w.-]+)*):([\w.-]+)\Z")

# By what a tag has in it, the telling marks first. AWS's repositories hold images for
# other services too, whose tags have none of these.
_FAMILIES: Mapping[str, Mapping[str, str]] = {
    "djl-inference": {
        "neuronx": "djl-neuronx",
        "tensorrtllm": "djl-tensorrtllm",
        "deepspeed": "djl-deepspeed",
        "lmi": "djl-lmi",
    },
    "huggingface-pytorch-tgi-inference": {
        "neuronx": "huggingface-llm-neuronx",
        "tgi": "huggingface-llm",
    },
    "vllm": {
        r"\Aomni-sagemaker-cuda": "vllm-omni",
        r"\Aserver-sagemaker-cuda": "vllm-server",
        r"-gpu-.*-sagemaker|-gpu-py\d+\Z": "vllm",
    },
    "sglang": {
        r"\Aserver-sagemaker-cuda": "sglang-server",
        r"-gpu-.*-sagemaker|-gpu-py\d+\Z": "sglang",
    },
    "huggingface-vllm": {"-gpu-": "huggingface-vllm"},
    "huggingface-vllm-omni": {"-gpu-": "huggingface-vllm-omni"},
    "huggingface-sglang": {"-gpu-": "huggingface-sglang"},
    "huggingface-llamacpp": {
        "-gpu-": "huggingface-llamacpp",
        "-cpu-": "huggingface-llamacpp-cpu",
    },
    "llama-cpp": {
        r"\Aserver-sagemaker-cuda": "llama-cpp",
        r"\Aserver-sagemaker-cpu": "llama-cpp-cpu",
    },
    "llama-cpp-arm64": {r"\Aserver-sagemaker-cpu": "llama-cpp-arm64"},
    "huggingface-vllm-inference-neuronx": {"optimum": "huggingface-vllm-neuronx"},
    "tei": {"-gpu-": "tei"},
    "tei-cpu": {"-cpu-": "tei-cpu"},
    "ray": {
        r"\Aserve-ml-sagemaker-cuda": "ray-serve",
        r"\Aserve-ml-sagemaker-cpu": "ray-serve-cpu",
    },
}


def image_at(address: str) -> ImageRelease | None:
    """
    Return the release at an address, whoever's registry it is in.

    ``None`` for an image that the catalogue does not have.
    """
    match = _ADDRESS.search(address)
    if match is None:
        return None
    return _known_images().get((match[1].rsplit("/", 1)[-1], match[2]))


def of_catalogue(image: ImageRelease) -> ImageRelease:
    """
    Return the release that an address in AWS's registries is of; else the image itself.

    What has the same name in another registry may have been built otherwise, but for a
    mirror of AWS's own.
    """
    if image.registry is not None and image.registry.mirrors:
        return find_image(image.family, image.version)
    if image.registry is None or image.registry.account not in all_accounts():
        return image
    return image_at(f"{image.repository}:{image.tag}") or image


def image_near(address: str) -> ImageRelease | None:
    """
    Return the catalogued release nearest to an address, by repository and version.

    ``None`` where its repository is none of the catalogue's, or its tag names no
    version.
    """
    family = family_at(address)
    version = named_version(address)
    if family is None or version is None:
        return None
    return find_image(family, nearest_version(family, version))


def family_at(address: str) -> str | None:
    """
    Return the family of an address by its repository and the form of its tag.

    ``None`` where they are those of no family.
    """
    match = _ADDRESS.search(address)
    if match is None:
        return None
    marks = _FAMILIES.get(match[1].rsplit("/", 1)[-1], {})
    tag = base_tag(match[2])
    return next((marks[mark] for mark in marks if re.search(mark, tag)), None)


@functools.cache
def _known_images() -> Mapping[tuple[str, str], ImageRelease]:
    found: dict[tuple[str, str], ImageRelease] = {}
    for family in image_families():
        for version in image_versions(family):
            release = find_image(family, version)
            found.setdefault((release.repository, release.tag), release)
    return found
