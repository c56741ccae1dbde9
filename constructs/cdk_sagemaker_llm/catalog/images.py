"""
Container images that serve language models, the registries that hold them, and how one
of the catalogue is recognised by what its address ends in.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.arguments import held
from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.catalog.engine_releases import (
    cuda_inside,
    is_rolling,
)
from cdk_sagemaker_llm.catalog.image_rows import (
    accounts_of,
    all_accounts,
    base_tag,
    cuda_in,
    family_row,
    full_version,
    is_digest,
    is_of_cpu,
    moves,
    region_set,
    version_in,
)
from cdk_sagemaker_llm.catalog.instances import Processor
from cdk_sagemaker_llm.text import any_of, nearest
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from constructs import Construct

_CPU_FAMILIES = ("-cpu", "-arm64")
_DIGEST_MARK = "sha256:"
# What other registries call the newest image.
_NEWEST_WORDS = ("latest", "newest", "stable", "main")
_ADDRESS = re.compile(r"([\w.-]+(?:/[\w.-]+)*):([\w.-]+)\Z")
_NUMBERED = re.compile(r"\d+(?:\.\d+)*")
_TAG = re.compile(r"\w[\w.-]{0,127}\Z", re.ASCII)
_ECR_URI = re.compile(
    r"(?P<account>\d{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.[a-z0-9.-]+/"
    r"(?P<repository>[^:@]+)(?::(?P<tag>[\w.-]+)|@(?P<digest>sha256:[0-9a-f]{64}))?\Z"
)

# A part that deployment decides: the CDK's placeholder, or CloudFormation's own.
_OPEN = r"\$\{(?:Token\[[^\]]+\]|AWS::[A-Za-z]+)\}"
_OPEN_URI = re.compile(
    rf"(?P<account>\d{{12}}|{_OPEN})\.dkr\.ecr\.(?P<region>[a-z0-9-]+|{_OPEN})"
    rf"\.(?:[a-z0-9.-]|{_OPEN})+/(?P<repository>(?:{_OPEN}|[^:@$])+)"
    rf"(?::(?P<tag>(?:{_OPEN}|[\w.-])+)|@(?P<digest>(?:{_OPEN}|[\w:])+))?\Z"
)


@dataclass(frozen=True, slots=True)
class Registry:
    """
    A registry in Amazon ECR that is not one of AWS's own serving images.

    Args:
        account: Whose it is; empty where the address does not tell.

        region: Where it is; empty where the address does not tell.

        uri:
            The image's address, where deployment decides some of it.
            If omitted, it is put together from its parts.

        repository_arn:
            The ARN of the repository, which a role is let pull from.
            If omitted, it is put together from the address.

        mirrors:
            Whether the image is a copy of the catalogue's, byte by byte, so that all
            that is known of that one holds.

        depends_on:
            The construct that puts the image there: models that run it are made after
            it. If omitted, it is there already.
    """

    account: str
    region: str
    uri: str | None = None
    repository_arn: str | None = None
    mirrors: bool = False
    depends_on: Construct | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ImageRelease:
    """
    One released image of a container family.

    Args:
        family: The SageMaker SDK's name of the family, such as ``djl-tensorrtllm``.

        version: The version, such as ``0.26.0``, or ``0.36.0-lmi27`` where
            the SDK lists several tags as one version.

        repository: The ECR repository's name.

        tag: The image's tag, or its digest as ``sha256:...``.

        regions: The regions that list this version.

        registry: Where an image of your own is; ``None`` for AWS's registries.
    """

    family: str
    version: str
    repository: str
    tag: str
    regions: frozenset[str]
    registry: Registry | None = None

    @classmethod
    def from_uri(cls, uri: str, *, repository_arn: str | None = None) -> ImageRelease:
        """
        Describe an image by its full URI in Amazon ECR.

        Args:
            uri: The address, some or all of which may be decided at deployment.

            repository_arn:
                The ARN of the repository.
                If omitted, it is put together from the address.

        Raises:
            ValueError: If it is no such URI; SageMaker takes no other registry.
        """
        is_open = re.search(_OPEN, uri) is not None
        match = (_OPEN_URI if is_open else _ECR_URI).match(uri)
        if match is None and is_unresolved(uri):
            # No part of the address is known.
            registry = Registry("", "", uri, repository_arn)
            return cls("custom", "", "", "", frozenset(), registry)
        if match is None:
            raise ValueError(
                "uri must be an image in Amazon ECR, such as "
                "'111111111111.dkr.ecr.eu-west-1.amazonaws.com/vllm:1.0', "
                f"got {uri!r}; copy other images there"
            )
        tag = match["digest"] or match["tag"] or "latest"
        registry = Registry(
            match["account"],
            match["region"],
            uri if is_open else None,
            repository_arn,
        )
        return cls("custom", tag, match["repository"], tag, frozenset(), registry)

    @classmethod
    def of(cls, family: str, image: str, *, near: str) -> ImageRelease:
        """
        Describe an image of a family that the catalogue does not have.

        ``ImageRelease.of("djl-lmi", "0.39.0-lmi30.0.0-cu130", near="0.38.0")``

        Args:
            family: The container family.

            image:
                A tag in the family's own repository, or a digest as ``sha256:...``,
                which is sought in AWS's registries; or the full URI of an image in
                Amazon ECR.

            near: The catalogued version that it is like, in whose regions a tag is
                taken to be.

        Raises:
            ValueError: If it is neither, or there is no such family or version.
        """
        neighbour = find_image(family, near)
        if "/" in image:
            return replace(
                cls.from_uri(image), family=family, version=neighbour.version
            )
        if image.startswith(_DIGEST_MARK):
            if not is_digest(image):
                raise ValueError(
                    "the digest of an image is 'sha256:' and 64 hexadecimal digits in "
                    f"small letters, got {image!r}"
                )
        elif not _TAG.match(image):
            raise ValueError(
                "image must be a tag such as '0.36.0-lmi27.0.0-cu130', or a full URI "
                f"in Amazon ECR, got {image!r}"
            )
        return replace(neighbour, tag=image)

    @property
    def cuda_version(self) -> str | None:
        """
        The image's CUDA version, such as ``12.2``; ``None`` without one.

        A tag that names none is that of the version, and so is a digest.
        """
        if self.is_for_cpu:
            return None
        named = cuda_in(self.tag) or cuda_inside(self.family, self.version)
        if named or not is_digest(self.tag) or self.family not in image_families():
            return named
        return cuda_in(family_row(self.family)["versions"][self.version]["tag"])

    @property
    def is_for_neuron(self) -> bool:
        """
        Whether the image is made for AWS Inferentia and Trainium.
        """
        return "neuron" in self.tag or "neuron" in self.family

    @property
    def is_for_cpu(self) -> bool:
        """
        Whether the image needs no accelerator.
        """
        return is_of_cpu(self.tag) or self.family.endswith(_CPU_FAMILIES)

    @property
    def processor(self) -> Processor | None:
        """
        The processors that the image is built for; ``None`` where nothing tells it, as
        for images with accelerators.
        """
        if "arm64" in self.tag or self.family.endswith("-arm64"):
            return "arm64"
        return "x86_64" if self.is_for_cpu else None

    @property
    def is_rolling(self) -> bool:
        """
        Whether AWS moves the tag to newer releases: what it is today it need not be
        tomorrow.
        """
        if self.registry is not None and self.registry.account not in all_accounts():
            return False
        if moves(self.tag) or not is_rolling(self.family, self.version):
            return moves(self.tag)
        rolling_tag: str = family_row(self.family)["versions"][self.version]["tag"]
        return rolling_tag == base_tag(self.tag)

    @property
    def reference(self) -> str:
        """
        The repository with the tag or the digest, as an address ends.
        """
        mark = "@" if self.tag.startswith(_DIGEST_MARK) else ":"
        return f"{self.repository}{mark}{self.tag}"

    def account(self, region: str) -> str:
        """
        Return the account whose registry has the image in a region.

        Args:
            region: The region to pull it in.

        Raises:
            ValueError: If the region does not list this version.
        """
        if self.registry is not None:
            return self.registry.account
        if region not in self.regions:
            raise ValueError(self._missing_in(region))
        return accounts_of(self.family)[region]

    def uri(self, region: str) -> str:
        """
        Return the full image URI in a region.

        Args:
            region: The region to pull it in.

        Raises:
            ValueError: If the region does not list this version.
        """
        if self.registry is not None and self.registry.uri is not None:
            return self.registry.uri
        place = region if self.registry is None else self.registry.region
        host = f"{self.account(place)}.dkr.ecr.{place}.{dns_suffix(place)}"
        return f"{host}/{self.reference}"

    def _missing_in(self, region: str) -> str:
        image = f"image {self.family} {self.version}"
        if region not in registry_accounts():
            near = nearest(region, self.regions)
            hint = f"use {any_of(near)}" if near else "check the region's name"
            return f"region {region!r} has no registry with {image}; {hint}"
        versions = [
            version
            for version, row in family_row(self.family)["versions"].items()
            if region in region_set(row["regions"])
            and not is_rolling(self.family, version)
        ]
        way_out = (
            f"in that region are {any_of(versions)}"
            if versions
            else f"no version of {self.family} is listed there: use another container"
        )
        return f"{image} is not listed in {region}; {way_out}"


def image_families() -> list[str]:
    """
    Return the names of the container families in the catalogue.
    """
    return list(load("images.json")["families"])


@held
def image_versions(family: str) -> list[str]:
    """
    Return the versions of a family, oldest first.
    """
    return list(family_row(family)["versions"])


@held
def find_image(family: str, version: str) -> ImageRelease:
    """
    Look an image up by family and version.

    Args:
        family: The container family, such as ``vllm-server``.

        version: The version, such as ``2.6``; where the SageMaker SDK has other names
            for versions, such as ``0.30`` and ``latest``, one of them.

    Raises:
        ValueError: If there is no such family or version; names the nearest ones.
    """
    row = family_row(family)
    name = full_version(family, version)
    release = row["versions"].get(name)
    if release is None:
        versions = [v for v in row["versions"] if not is_rolling(family, v)]
        if is_unresolved(version):
            raise ValueError(
                f"the version of image {family} is known only at deployment, and is "
                f"looked up at synth; use one such as {versions[-1]}"
            )
        near = any_of(_near_versions(version, versions))
        raise ValueError(f"image {family} has no version {version!r}; use {near}")
    return ImageRelease(
        family=family,
        version=name,
        repository=row["repository"],
        tag=release["tag"],
        regions=region_set(release["regions"]),
    )


def nearest_version(family: str, version: str) -> str:
    """
    Return the catalogued version nearest to one: itself, or else the newest patch of
    it, or else the newest before it, or else the oldest.
    """
    versions = image_versions(family)
    full = full_version(family, version)
    numbers = _numbers(full)
    within = [
        one for one in versions if numbers and _numbers(one)[: len(numbers)] == numbers
    ]
    before = [one for one in versions if _numbers(one) <= numbers]
    return full if full in versions else (within or before or versions[:1])[-1]


def named_version(image: str) -> str | None:
    """
    Return the version that a tag or a URI names; ``None`` where it names none.
    """
    return version_in(image.rsplit("/", 1)[-1].rpartition(":")[2])


def image_at(address: str) -> ImageRelease | None:
    """
    Return the catalogued release at an address, whoever's registry it is in; else
    ``None``.
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
    Return the catalogued release nearest to an address, by repository and version;
    ``None`` where one of these is none of the catalogue's.
    """
    family = family_at(address)
    version = named_version(address)
    if family is None or version is None:
        return None
    return find_image(family, nearest_version(family, version))


def family_at(address: str) -> str | None:
    """
    Return the family of an address by its repository and the form of its tag; ``None``
    where they are those of no family.
    """
    match = _ADDRESS.search(address)
    if match is None:
        return None
    repositories: Mapping[str, Mapping[str, str]] = load("image_tags.json")[
        "repositories"
    ]
    marks = repositories.get(match[1].rsplit("/", 1)[-1], {})
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


def registry_account(region: str) -> str:
    """
    Return the account whose registry serves a region with nearly all families.

    Where an image of TEI is, its release tells.

    Args:
        region: The region, such as ``eu-central-1``.
    """
    accounts = registry_accounts()
    if region not in accounts:
        raise ValueError(f"no registry of serving images is known in {region!r}")
    return accounts[region]


def registry_accounts() -> Mapping[str, str]:
    """
    Return the registry account of every region that has one, 45 of them.
    """
    accounts: Mapping[str, str] = load("images.json")["accounts"]
    return accounts


def family_end(family: str) -> str | None:
    """
    Return why a family gets no more releases; ``None`` for one that does.
    """
    reason: str | None = load("ended_families.json")["families"].get(family)
    return reason


def dns_suffix(region: str) -> str:
    """
    Return the domain that the region's partition ends its host names in.
    """
    domains: Mapping[str, str] = load("images.json")["domains"]
    matching = [prefix for prefix in domains if region.startswith(prefix)]
    return domains[max(matching, key=len)] if matching else domains["default"]


def _numbers(version: str) -> tuple[int, ...]:
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, match[0].split("."))) if match else ()


def _near_versions(version: str, versions: list[str]) -> list[str]:
    if version.lower() in _NEWEST_WORDS:
        return versions[-1:]
    bare = version.lstrip("vV")
    if bare in versions:
        return [bare]
    if _NUMBERED.fullmatch(bare) is None:
        return nearest(version, versions) or versions[-3:]
    # By its letters 9.9.9 is nearest to whatever ends in 9, and 0.10.2 to 0.18.2.
    plain = [one for one in versions if "-" not in one] or versions
    before = [one for one in plain if _numbers(one) < _numbers(bare)]
    after = [one for one in plain if _numbers(one) >= _numbers(bare)]
    around = [*before[-1:], *after[:1], *reversed(before[:-1])]
    return around[:3] if before else after[:3]
