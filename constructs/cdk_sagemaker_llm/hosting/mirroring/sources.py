"""
Where an image is mirrored from, and whether it can be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cdk_sagemaker_llm.arguments import held, hold_kinds
from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.text import any_of
from cdk_sagemaker_llm.tokens import is_unresolved

# Amazon ECR Public's address, and the alias of AWS Deep Learning Containers there.
GALLERY = "https://public.ecr.aws"
_ALIAS = "deep-learning-containers"
# What is documented to be there (aws/deep-learning-containers, docs, 2026-08). Of vLLM
# 0.20.2 the manifest is the one that the private registries have, byte by byte.
_IN_GALLERY = frozenset({"ray", "sglang", "vllm"})
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
_REGION = re.compile(r"[a-z0-9-]+")

NOT_THERE = Rule(
    "LLM743",
    "an image is to be mirrored from a registry that does not have it",
    "SageMaker Python SDK",
)
OTHER_PARTITION = Rule(
    "LLM745",
    "an image is to be mirrored from another partition's registry",
    "AWS General Reference, partitions: credentials are of one of them",
)
DOUBTFUL_GALLERY = Rule(
    "LLM843",
    "the public gallery is not known to have an image",
    "aws/deep-learning-containers, docs",
)


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

        Args:
            name: The region, such as ``eu-central-1``.
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


def source_findings(
    region: str | None, image: ImageRelease, source: ImageSource | None
) -> Iterator[Finding]:
    """
    Check that there is a registry that has an image, and lets this region's stack in.
    """
    if image.registry is not None:
        yield from _other_registry_findings(region, image, source)
    elif source is None:
        if source_region(image, region) is None:
            yield OTHER_PARTITION.finding(
                f"no registry of {partition_of(region or '')} has {image.family} "
                f"{image.version}, and no credentials of it are good elsewhere",
                "copy it with source=ImageSource.public_gallery() where the network "
                "leads there, or choose a version that is listed in "
                f"{region}",
            )
    elif source.region_name is None:
        if image.repository not in _IN_GALLERY:
            yield DOUBTFUL_GALLERY.finding(
                f"the public gallery is not known to have {image.repository}: of "
                f"serving images it documents {any_of(sorted(_IN_GALLERY))}",
                "name a region's registry with ImageSource.region(...)",
            )
    else:
        yield from _region_findings(region, image, source.region_name)


def _other_registry_findings(
    region: str | None, image: ImageRelease, source: ImageSource | None
) -> Iterator[Finding]:
    registry = image.registry
    if registry is None:
        return
    if source is not None:
        yield NOT_THERE.finding(
            f"source is given, and the image {image.reference} names its own registry",
            "leave source out",
        )
    elif not registry.account.isdigit() or not _REGION.fullmatch(registry.region):
        yield NOT_THERE.finding(
            "the image's account or region is known only at deployment",
            "describe it by an address that is known at synth",
        )
    else:
        yield from _partition_findings(region, registry.region)


def _region_findings(
    region: str | None, image: ImageRelease, source: str
) -> Iterator[Finding]:
    if is_unresolved(source):
        yield NOT_THERE.finding(
            "source is a region that is known only at deployment, and its registry is "
            "looked up at synth",
            "pass its name as text",
        )
        return
    try:
        image.uri(source)
    except ValueError as fault:
        yield NOT_THERE.finding(f"source: {fault}")
        return
    yield from _partition_findings(region, source)


def _partition_findings(region: str | None, source: str) -> Iterator[Finding]:
    if region is None or partition_of(region) == partition_of(source):
        return
    yield OTHER_PARTITION.finding(
        f"source is {source} of the partition {partition_of(source)}, where no "
        f"credentials of {region} are good, which is of {partition_of(region)}",
        f"name a region of {partition_of(region)}, or ImageSource.public_gallery() "
        "where the network leads there",
    )
