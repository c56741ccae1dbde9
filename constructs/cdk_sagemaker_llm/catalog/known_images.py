"""
Recognising an image of the catalogue by what its address ends in.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from cdk_sagemaker_llm.catalog.images import (
    ImageRelease,
    find_image,
    image_families,
    image_versions,
    named_version,
    nearest_version,
)

_ADDRESS = re.compile(r"([\w.-]+(?:/[\w.-]+)*):([\w.-]+)\Z")

# By what a tag has in it, the telling marks first.
_FAMILIES = {
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


def image_near(address: str) -> ImageRelease | None:
    """
    Return the catalogued release nearest to an address, by repository and version.

    ``None`` where its repository is none of the catalogue's, or its tag names no
    version.
    """
    match = _ADDRESS.search(address)
    version = named_version(address)
    if match is None or version is None:
        return None
    marks = _FAMILIES.get(match[1].rsplit("/", 1)[-1], {})
    family = next((marks[mark] for mark in marks if mark in match[2]), None)
    if family is None:
        return None
    return find_image(family, nearest_version(family, version))


@functools.cache
def _known_images() -> Mapping[tuple[str, str], ImageRelease]:
    found: dict[tuple[str, str], ImageRelease] = {}
    for family in image_families():
        for version in image_versions(family):
            release = find_image(family, version)
            found.setdefault((release.repository, release.tag), release)
    return found
