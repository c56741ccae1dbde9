"""
Recognising images by their addresses.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.catalog.images import (
    find_image,
    image_at,
    image_families,
    image_versions,
)


@pytest.mark.parametrize("family", image_families())
def test_every_image_is_recognised_by_its_address(family: str) -> None:
    """
    Two versions may be one image: the first then stands for both.
    """
    for version in image_versions(family):
        release = find_image(family, version)
        found = image_at(f"registry.test/mirror/{release.repository}:{release.tag}")

        assert found is not None
        assert (found.repository, found.tag) == (release.repository, release.tag)


@pytest.mark.parametrize(
    "address", ["", "busybox", "djl-inference", "djl-inference:mine", "x:0.36.0"]
)
def test_another_image_is_none(address: str) -> None:
    """
    By its repository, by its tag, or for want of one.
    """
    assert image_at(address) is None
