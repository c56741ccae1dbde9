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
)

_ADDRESS = re.compile(r"([\w.-]+(?:/[\w.-]+)*):([\w.-]+)\Z")


def image_at(address: str) -> ImageRelease | None:
    """
    Return the release at an address, whoever's registry it is in.

    ``None`` for an image that the catalogue does not have.
    """
    match = _ADDRESS.search(address)
    if match is None:
        return None
    return _known_images().get((match[1].rsplit("/", 1)[-1], match[2]))


@functools.cache
def _known_images() -> Mapping[tuple[str, str], ImageRelease]:
    found: dict[tuple[str, str], ImageRelease] = {}
    for family in image_families():
        for version in image_versions(family):
            release = find_image(family, version)
            found.setdefault((release.repository, release.tag), release)
    return found
