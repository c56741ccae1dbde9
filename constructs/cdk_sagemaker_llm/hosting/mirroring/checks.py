"""
What a mirrored image may be, checked before anything is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from aws_cdk import Duration
from constructs import Construct

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.catalog.image_tags import is_digest
from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.mirroring.sources import (
    GALLERY_REPOSITORIES,
    ImageSource,
    partition_of,
    source_region,
)
from cdk_sagemaker_llm.hosting.network import Network
from cdk_sagemaker_llm.hosting.scope import account_of, region_of
from cdk_sagemaker_llm.hosting.staging.checks import (
    build_time_findings,
    machine_findings,
)
from cdk_sagemaker_llm.wording import any_of

if TYPE_CHECKING:
    from aws_cdk import aws_codebuild as codebuild
    from aws_cdk import aws_ecr as ecr

_REGION = re.compile(r"[a-z0-9-]+")
_FORM = "'sha256:' and 64 hexadecimal digits in small letters"

NO_DIGEST = Rule(
    "LLM741",
    "an image is to be mirrored that is named by no digest",
    "aws/deep-learning-containers, whose releases move tags",
)
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
FAR_REPOSITORY = Rule(
    "LLM747",
    "an image is to be mirrored into another account or region than its endpoint's",
    "SageMaker API reference, ContainerDefinition",
)
TWO_REPOSITORIES = Rule(
    "LLM749", "a repository is given, and with it what one would be made with"
)
CLOSED_MIRROR = Rule(
    "LLM751", "a build is to reach registries from an isolated network"
)
DOUBTFUL_VERSION = Rule(
    "LLM841",
    "a digest is given for a tag that AWS moves from version to version",
    "aws/deep-learning-containers, whose releases move these tags",
)
DOUBTFUL_GALLERY = Rule(
    "LLM843",
    "the public gallery is not known to have an image",
    "aws/deep-learning-containers, docs",
)


def mirroring_findings(
    scope: Construct,
    *,
    image: ImageRelease,
    digest: str | None,
    source: ImageSource | None,
    repository: ecr.IRepository | None,
    beside_repository: list[str],
    timeout: Duration | None,
    compute_type: codebuild.ComputeType,
    network: Network | None,
) -> list[Finding]:
    """
    Check what a mirrored image was asked to be.
    """
    return [
        *_digest_findings(image, digest),
        *_source_findings(region_of(scope), image, source),
        *_repository_findings(scope, repository, beside_repository),
        *build_time_findings(timeout),
        *machine_findings(compute_type),
        *_network_findings(network),
    ]


def _digest_findings(image: ImageRelease, digest: str | None) -> Iterator[Finding]:
    own = image.tag if is_digest(image.tag) else None
    where = f"{image.repository}:{image.tag}"
    if digest is None and own is None:
        yield NO_DIGEST.finding(
            f"digest must name the image, and was left out: {where} may be another one "
            "tomorrow",
            "name the digest that the tag stands for now: aws ecr batch-get-image, or "
            "docker buildx imagetools inspect, tells it",
        )
    elif digest is not None and is_unresolved(digest):
        yield NO_DIGEST.finding(
            "digest is known only at deployment, and names the image",
            "pass it as text",
        )
    elif digest is not None and not is_digest(digest):
        yield NO_DIGEST.finding(f"digest must be {_FORM}, got {digest!r}")
    elif digest is not None and own not in {None, digest}:
        yield NO_DIGEST.finding(
            f"digest is {digest}, and the image was described by {own}",
            "name it once",
        )
    elif image.is_rolling:
        yield DOUBTFUL_VERSION.finding(
            f"{where} is moved by AWS: the digest is taken to be of "
            f"{image.family} {image.version}, and may be of a newer release",
            "describe the image by the version that does not move",
        )


def _source_findings(
    region: str | None, image: ImageRelease, source: ImageSource | None
) -> Iterator[Finding]:
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
        if image.repository not in GALLERY_REPOSITORIES:
            yield DOUBTFUL_GALLERY.finding(
                f"the public gallery is not known to have {image.repository}: of "
                f"serving images it documents {any_of(sorted(GALLERY_REPOSITORIES))}",
                "name a region's registry with ImageSource.region(...)",
            )
    else:
        yield from _region_findings(region, image, source.region_name)


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


def _repository_findings(
    scope: Construct, repository: ecr.IRepository | None, beside: list[str]
) -> Iterator[Finding]:
    if repository is None:
        return
    if beside:
        yield TWO_REPOSITORIES.finding(
            f"repository is given, and {any_of(beside)} would be of one that is made "
            "here",
            "define the repository with it",
        )
    ours = (account_of(scope), region_of(scope))
    theirs = (repository.env.account, repository.env.region)
    for what, one, other in zip(("account", "region"), ours, theirs, strict=True):
        known = one is not None and not is_unresolved(one) and not is_unresolved(other)
        if known and one != other and not other.startswith("unknown-"):
            yield FAR_REPOSITORY.finding(
                f"repository is in the {what} {other}, and the endpoint that runs the "
                f"image in {one}",
                f"name a repository of {one}",
            )


def _network_findings(network: Network | None) -> Iterator[Finding]:
    if network is not None and network.isolated:
        yield CLOSED_MIRROR.finding(
            "network is isolated, and the build reads from one registry and writes to "
            "another",
            "isolate the endpoint, and give the build a network with a way to both",
        )
