"""
Where an image is mirrored from.
"""

from __future__ import annotations

from dataclasses import dataclass

from cdk_sagemaker_llm.arguments import held, hold_kinds
from cdk_sagemaker_llm.catalog.images import ImageRelease

# Amazon ECR Public's address, and the alias of AWS Deep Learning Containers there.
GALLERY = "https://public.ecr.aws"
_ALIAS = "deep-learning-containers"
# What is documented to be there (aws/deep-learning-containers, docs, 2026-08). Of vLLM
# 0.20.2 the manifest is the one that the private registries have, byte by byte.
GALLERY_REPOSITORIES = frozenset({"ray", "sglang", "vllm"})
# us-gov-west-1 and the others whose names tell a partition; all others are of "aws".
_PARTITIONS = {
    "cn-": "aws-cn",
    "us-gov-": "aws-us-gov",
    "us-iso-": "aws-iso",
    "us-isob-": "aws-iso-b",
    "us-isof-": "aws-iso-f",
    "eu-isoe-": "aws-iso-e",
    "eusc-": "aws-eusc",
}
_USUAL = "us-east-1"


@dataclass(frozen=True, slots=True)
class ImageSource:
    """
    A registry that has serving images.

    ``ImageSource.region("us-east-1")``
    ``ImageSource.public_gallery()``

    Args:
        region_name:
            The region whose registry of AWS's it is.
            If omitted, it is the public gallery.
    """

    region_name: str | None = None

    def __post_init__(self) -> None:
        hold_kinds(self)

    @classmethod
    @held
    def region(cls, name: str) -> ImageSource:
        """
        Name the private registry of AWS's in a region of the stack's partition.
        """
        return cls(name)

    @classmethod
    def public_gallery(cls) -> ImageSource:
        """
        Name the Amazon ECR Public Gallery, which asks for no account: the way into
        other partitions, as far as their network leads there.
        """
        return cls()


def partition_of(region: str) -> str:
    """
    Return the partition of a region.
    """
    found = [one for one in _PARTITIONS if region.startswith(one)]
    return _PARTITIONS[found[0]] if found else "aws"


def source_region(image: ImageRelease, region: str | None) -> str | None:
    """
    Return the region to mirror an image from, where none is named: the stack's own if
    its registry lists the image, else one of its partition; ``None`` where none does.
    """
    if region in image.regions:
        return region
    partition = partition_of(region or _USUAL)
    near = sorted(one for one in image.regions if partition_of(one) == partition)
    return _USUAL if _USUAL in near else next(iter(near), None)


def repository_of(image: ImageRelease, source: ImageSource | None) -> str:
    """
    Return the name of the repository that has an image.
    """
    is_public = source is not None and source.region_name is None
    return f"{_ALIAS}/{image.repository}" if is_public else image.repository
