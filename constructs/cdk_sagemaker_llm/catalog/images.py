"""
Container images that serve language models, and the registries that hold them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cdk_sagemaker_llm._records import dataclass
from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.arguments import held
from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.wording import any_of, nearest

# What the tags of each kind of image say of its version: LMI's own number where the
# version alone has several images, TGI's after PyTorch's, and optimum's on Neuron.
_NAMED = (
    re.compile(r"-tgi(\d+(?:\.\d+)+)"),
    re.compile(r"-optimum(\d+(?:\.\d+)+)"),
    re.compile(r"\A(0\.36\.\d+-lmi\d+)"),
    re.compile(r"\A(0\.\d+\.\d+)-"),
)
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
            If left out, it is put together from its parts.

        repository_arn:
            The ARN of the repository, which a role is let pull from.
            If left out, it is put together from the address.
    """

    account: str
    region: str
    uri: str | None = None
    repository_arn: str | None = None


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
                If left out, it is put together from the address.

        Raises:
            ValueError: If it is no such URI; SageMaker takes no other registry.
        """
        is_open = re.search(_OPEN, uri) is not None
        match = (_OPEN_URI if is_open else _ECR_URI).match(uri)
        if match is None and is_unresolved(uri):
            return cls._hidden(uri, repository_arn)
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
    def _hidden(cls, uri: str, repository_arn: str | None) -> ImageRelease:
        """
        Describe an image of whose address no part is known.
        """
        registry = Registry("", "", uri, repository_arn)
        return cls("custom", "", "", "", frozenset(), registry)

    @classmethod
    def of(cls, family: str, image: str, *, near: str) -> ImageRelease:
        """
        Describe an image of a family that the catalogue does not have.

        ``ImageRelease.of("djl-lmi", "0.39.0-lmi30.0.0-cu130", near="0.38.0")``

        Args:
            family: The container family.

            image:
                A tag in the family's own repository, which is sought in AWS's
                registries; or the full URI of an image in Amazon ECR.

            near: The catalogued version that it is like, in whose regions a tag is
                taken to be.

        Raises:
            ValueError: If it is neither, or there is no such family or version.
        """
        known = find_image(family, near)
        if "/" in image:
            return replace(cls.from_uri(image), family=family, version=near)
        if not _TAG.match(image):
            raise ValueError(
                "image must be a tag such as '0.36.0-lmi27.0.0-cu130', or a full URI "
                f"in Amazon ECR, got {image!r}"
            )
        return replace(known, tag=image)

    @property
    def cuda_version(self) -> str | None:
        """
        The CUDA version the tag names, such as ``12.2``; ``None`` without one.
        """
        match = re.search(r"-cu(\d+)(\d)(?:-|$)", self.tag)
        return f"{match[1]}.{match[2]}" if match else None

    @property
    def is_for_neuron(self) -> bool:
        """
        Whether the image is made for AWS Inferentia and Trainium.
        """
        return "neuron" in self.tag

    def uri(self, region: str) -> str:
        """
        Return the full image URI in a region.

        Raises:
            ValueError: If the region does not list this version.
        """
        if self.registry is not None and self.registry.uri is not None:
            return self.registry.uri
        if self.registry is not None:
            return self._uri_in(self.registry.account, self.registry.region)
        if region not in self.regions:
            raise ValueError(self._missing_in(region))
        return self._uri_in(registry_account(region), region)

    def _uri_in(self, account: str, region: str) -> str:
        registry = f"{account}.dkr.ecr.{region}.{dns_suffix(region)}"
        mark = "@" if self.tag.startswith("sha256:") else ":"
        return f"{registry}/{self.repository}{mark}{self.tag}"

    def _missing_in(self, region: str) -> str:
        image = f"image {self.family} {self.version}"
        if region not in registry_accounts():
            near = nearest(region, self.regions)
            hint = f"use {any_of(near)}" if near else "check the region's name"
            return f"region {region!r} has no registry with {image}; {hint}"
        versions = [
            version
            for version, row in _family(self.family)["versions"].items()
            if region in _regions(row["regions"])
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
    return list(_family(family)["versions"])


@held
def find_image(family: str, version: str) -> ImageRelease:
    """
    Look an image up by family and version.

    Raises:
        ValueError: If there is no such family or version; names the nearest ones.
    """
    row = _family(family)
    release = row["versions"].get(version)
    if release is None:
        raise ValueError(_unknown_version(family, version))
    return ImageRelease(
        family=family,
        version=version,
        repository=row["repository"],
        tag=release["tag"],
        regions=_regions(release["regions"]),
    )


def nearest_version(family: str, version: str) -> str:
    """
    Return the catalogued version nearest to one: itself, or else the newest before it,
    or else the oldest.

    Raises:
        ValueError: If there is no such family.
    """
    known = image_versions(family)
    wanted = _numbers(version)
    before = [one for one in known if _numbers(one) <= wanted]
    return version if version in known else (before or known[:1])[-1]


def named_version(image: str) -> str | None:
    """
    Return the version that a tag or a URI names; ``None`` where it names none.
    """
    tag = image.rsplit("/", 1)[-1].rpartition(":")[2]
    found = (form.search(tag) for form in _NAMED)
    return next((match[1] for match in found if match), None)


def registry_account(region: str) -> str:
    """
    Return the account whose registry serves a region.

    Raises:
        ValueError: If the region has no such registry.
    """
    accounts = registry_accounts()
    if region not in accounts:
        raise ValueError(f"no registry of serving images is known in {region!r}")
    return accounts[region]


def registry_accounts() -> Mapping[str, str]:
    """
    Return the registry account of every region that has one, 44 of them.
    """
    accounts: Mapping[str, str] = load("images.json")["accounts"]
    return accounts


def dns_suffix(region: str) -> str:
    """
    Return the domain that the region's partition ends its host names in.
    """
    domains: Mapping[str, str] = load("images.json")["domains"]
    matching = [prefix for prefix in domains if region.startswith(prefix)]
    return domains[max(matching, key=len)] if matching else domains["default"]


def _family(name: str) -> Mapping[str, Any]:
    families = load("images.json")["families"]
    if name not in families:
        raise ValueError(
            f"unknown container family {name!r}; use {any_of(sorted(families))}"
        )
    family: Mapping[str, Any] = families[name]
    return family


def _numbers(version: str) -> tuple[int, ...]:
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, match[0].split("."))) if match else ()


def _regions(name: str) -> frozenset[str]:
    return frozenset(load("images.json")["region_sets"][name])


def _unknown_version(family: str, version: str) -> str:
    known = image_versions(family)
    if _numbers(version) > max(map(_numbers, known)):
        # By its letters 9.9.9 is nearest to whatever ends in 9: the newest is meant.
        near = [one for one in reversed(known) if "-" not in one][:3]
    else:
        near = nearest(version, known) or known[-3:]
    return f"image {family} has no version {version!r}; use {any_of(near)}"
