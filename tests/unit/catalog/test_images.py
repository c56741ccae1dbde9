"""
The image catalogue.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cdk_sagemaker_llm.catalog.images import (
    ImageRelease,
    Registry,
    dns_suffix,
    find_image,
    image_families,
    image_versions,
    named_version,
    nearest_version,
    registry_account,
    registry_accounts,
)


@pytest.mark.parametrize(
    ("region", "registry"),
    [
        ("us-east-1", "763104351884.dkr.ecr.us-east-1.amazonaws.com"),
        ("cn-north-1", "727897471807.dkr.ecr.cn-north-1.amazonaws.com.cn"),
        ("af-south-1", "626614931356.dkr.ecr.af-south-1.amazonaws.com"),
        ("us-gov-west-1", "442386744353.dkr.ecr.us-gov-west-1.amazonaws.com"),
    ],
)
def test_a_uri_names_the_regions_own_registry(region: str, registry: str) -> None:
    """
    Account and domain differ by region and partition.
    """
    uri = find_image("djl-tensorrtllm", "0.26.0").uri(region)

    assert uri == f"{registry}/djl-inference:0.26.0-tensorrtllm0.7.1-cu122"


@pytest.mark.parametrize(
    ("region", "domain"),
    [
        ("us-iso-east-1", "c2s.ic.gov"),
        ("us-isob-east-1", "sc2s.sgov.gov"),
        ("us-isof-south-1", "csp.hci.ic.gov"),
        ("eusc-de-east-1", "amazonaws.eu"),
    ],
)
def test_isolated_partitions_have_their_own_domain(region: str, domain: str) -> None:
    """
    ``us-iso`` and ``us-isob`` begin alike and must not be mixed up.
    """
    assert f".{region}.{domain}/" in find_image("djl-lmi", "0.36.0").uri(region)


def test_every_version_has_a_uri_in_each_region_that_lists_it() -> None:
    """
    All 212 releases of 25 families, in all their regions, fit the API's limit.
    """
    releases = [find_image(f, v) for f in image_families() for v in image_versions(f)]
    uris = [release.uri(region) for release in releases for region in release.regions]

    assert len(image_families()) == 25
    assert len(releases) == 212
    assert all(len(uri) <= 255 and " " not in uri for uri in uris)


def test_there_are_45_regions_with_a_registry() -> None:
    """
    13 more than the CDK's own table has.
    """
    assert len(registry_accounts()) == 45
    assert all(len(registry_account(r)) == 12 for r in registry_accounts())


def test_cuda_is_read_from_the_tag() -> None:
    """
    The host driver has to match it.
    """
    assert find_image("djl-tensorrtllm", "0.26.0").cuda_version == "12.2"
    assert find_image("djl-lmi", "0.36.0").cuda_version == "13.0"
    assert find_image("djl-neuronx", "0.26.0").cuda_version is None


def test_fails_if_the_version_does_not_exist() -> None:
    """
    The nearest ones are named.
    """
    with pytest.raises(ValueError, match=r"no version '0\.26\.1'; use .*0\.26\.0"):
        find_image("djl-tensorrtllm", "0.26.1")


def test_fails_if_the_family_does_not_exist() -> None:
    """
    All families are named: there are few.
    """
    with pytest.raises(ValueError, match="unknown container family 'djl-trtllm'; use"):
        find_image("djl-trtllm", "0.26.0")


def test_fails_if_the_region_does_not_list_the_version() -> None:
    """
    The versions that are there are named.
    """
    with pytest.raises(ValueError, match="not listed in us-iso-east-1; in that"):
        find_image("djl-lmi", "0.29.0").uri("us-iso-east-1")


def test_fails_if_the_region_is_unknown() -> None:
    """
    A mistyped region is answered with the one that was meant.
    """
    with pytest.raises(ValueError, match=r"'us-esat-1' has no registry.*us-east-1"):
        find_image("djl-lmi", "0.36.0").uri("us-esat-1")


DIGEST = "sha256:" + "0a" * 32
OWN = "111111111111.dkr.ecr.eu-west-1.amazonaws.com/team/vllm"


def test_a_release_is_described_whole() -> None:
    """
    By the SDK's list.
    """
    found = find_image("djl-tensorrtllm", "0.26.0")

    assert (found.family, found.version) == ("djl-tensorrtllm", "0.26.0")
    assert found.repository == "djl-inference"
    assert found.tag == "0.26.0-tensorrtllm0.7.1-cu122"
    assert {"us-east-1", "cn-north-1"} <= found.regions
    assert found.registry is None


@pytest.mark.parametrize(
    ("suffix", "tag"),
    [
        (":1.0", "1.0"),
        (":a_b-c.d", "a_b-c.d"),
        ("", "latest"),
        (f"@{DIGEST}", DIGEST),
    ],
)
def test_an_image_of_ones_own_is_described_by_its_uri(suffix: str, tag: str) -> None:
    """
    And is found where it is, whatever region asks.
    """
    found = ImageRelease.from_uri(OWN + suffix)

    assert found == ImageRelease(
        "custom",
        tag,
        "team/vllm",
        tag,
        frozenset(),
        Registry("111111111111", "eu-west-1"),
    )
    assert found.uri("us-east-1") == f"{OWN}{suffix or ':latest'}"


@pytest.mark.parametrize(
    ("suffix", "tag"),
    [(":1.0", "1.0"), ("", "latest"), (f"@{DIGEST}", DIGEST)],
)
def test_an_address_with_placeholders_is_kept_as_it_is(suffix: str, tag: str) -> None:
    """
    And taken apart, so that its repository can be named.
    """
    account, region = "${AWS::AccountId}", "${Token[AWS.Region.11]}"
    uri = f"{account}.dkr.ecr.{region}.${{Token[AWS.URLSuffix.3]}}/team/vllm{suffix}"
    found = ImageRelease.from_uri(uri)

    assert found == ImageRelease(
        "custom", tag, "team/vllm", tag, frozenset(), Registry(account, region, uri)
    )
    assert found.uri("us-east-1") == uri


def test_of_an_address_that_is_a_placeholder_nothing_is_known() -> None:
    """
    But its repository, if that is said.
    """
    uri = "${Token[TOKEN.12]}"
    found = ImageRelease.from_uri(uri, repository_arn="arn")

    assert (found.repository, found.tag) == ("", "")
    assert found.registry == Registry("", "", uri, "arn")
    assert found.uri("us-east-1") == uri


@pytest.mark.parametrize(
    "uri",
    [
        "${AWS::AccountId}.dkr.ecr.eu-west-1.amazonaws.com/",
        "${AWS::AccountId}.ecr.eu-west-1.amazonaws.com/x:1",
        "${Account}.dkr.ecr.eu-west-1.amazonaws.com/x:1",
        "vllm/vllm-openai:latest",
        "1111.dkr.ecr.eu-west-1.amazonaws.com/x:1",
        "x111111111111.dkr.ecr.eu-west-1.amazonaws.com/x:1",
        "111111111111.dkr.ecr.eu-west-1.amazonaws.com/",
        "111111111111.dkr.ecr.eu-west-1.amazonaws.com/x:",
        "111111111111.dkr.ecr.eu-west-1.amazonaws.com/x:1\n",
        "111111111111.dkr.ecr.eu-west-1.amazonaws.com/x@sha256:0a",
        "111111111111.dkr.ecr.eu-west-1.amazonaws.com/x:1@sha256:" + "0a" * 32,
    ],
)
def test_fails_if_it_is_no_uri_in_ecr(uri: str) -> None:
    """
    Word for word.
    """
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - compared below
        ImageRelease.from_uri(uri)

    assert str(caught.value) == (
        "uri must be an image in Amazon ECR, such as "
        f"'111111111111.dkr.ecr.eu-west-1.amazonaws.com/vllm:1.0', got {uri!r}; copy "
        "other images there"
    )


@pytest.mark.parametrize(
    ("tag", "cuda"),
    [
        ("0.26.0-tensorrtllm0.7.1-cu122", "12.2"),
        ("0.36.0-lmi27.0.0-cu130", "13.0"),
        ("2.0-cu118-ubuntu20.04", "11.8"),
        ("2.0-cu118x", None),
        ("2.0-cu1", None),
        ("cu118", None),
        ("0.26.0-neuronx-sdk2.16.0", None),
    ],
)
def test_the_cuda_version_is_the_tags(tag: str, cuda: str | None) -> None:
    """
    Its last digit is the minor one.
    """
    image = ImageRelease("x", "1", "x", tag, frozenset())

    assert image.cuda_version == cuda
    assert image.is_for_neuron == ("neuron" in tag)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: find_image("djl-tensorrtllm", "0.26.1"),
            (
                "image djl-tensorrtllm has no version '0.26.1'; use 0.26.0, 0.27.0 or "
                "0.25.0"
            ),
        ),
        (
            lambda: find_image("djl-lmi", "9.9.9"),
            "image djl-lmi has no version '9.9.9'; use 0.38.0, 0.36.0 or 0.35.0",
        ),
        (
            lambda: find_image("djl-deepspeed", "latest"),
            "image djl-deepspeed has no version 'latest'; use 0.27.0",
        ),
        (
            lambda: find_image("djl-lmi", "0.36.0").uri("us-esat-1"),
            (
                "region 'us-esat-1' has no registry with image djl-lmi 0.36.0; use "
                "us-west-1, us-east-1 or us-west-2"
            ),
        ),
        (
            lambda: find_image("djl-lmi", "0.36.0").uri("zzz"),
            (
                "region 'zzz' has no registry with image djl-lmi 0.36.0; check the "
                "region's name"
            ),
        ),
        (
            lambda: registry_account("zzz"),
            "no registry of serving images is known in 'zzz'",
        ),
        (
            lambda: find_image("djl-neuronx", "0.29.0").uri("af-south-1"),
            (
                "image djl-neuronx 0.29.0 is not listed in af-south-1; no version of "
                "djl-neuronx is listed there: use another container"
            ),
        ),
    ],
)
def test_what_is_wrong_is_told_word_for_word(
    call: Callable[[], object], message: str
) -> None:
    """
    With the nearest ones, or those that are there.
    """
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - compared below
        call()

    assert str(caught.value) == message


def test_the_versions_that_a_region_lists_are_named() -> None:
    """
    And no others.
    """
    with pytest.raises(ValueError, match="is not listed in us-iso-east-1") as caught:
        find_image("djl-lmi", "0.29.0").uri("us-iso-east-1")

    told = str(caught.value).removeprefix(
        "image djl-lmi 0.29.0 is not listed in us-iso-east-1; in that region are "
    )
    named = told.replace(" or ", ", ").split(", ")
    assert named == [
        version
        for version in image_versions("djl-lmi")
        if "us-iso-east-1" in find_image("djl-lmi", version).regions
    ]


def test_families_and_versions_are_in_the_order_of_the_list() -> None:
    """
    Versions oldest first.
    """
    assert image_versions("djl-deepspeed")[-3:] == ["0.25.0", "0.26.0", "0.27.0"]
    assert image_families()[:2] == ["djl-tensorrtllm", "djl-lmi"]


@pytest.mark.parametrize(
    ("region", "domain"),
    [
        ("us-east-1", "amazonaws.com"),
        ("us-gov-west-1", "amazonaws.com"),
        ("cn-north-1", "amazonaws.com.cn"),
        ("us-iso-east-1", "c2s.ic.gov"),
        ("us-isob-east-1", "sc2s.sgov.gov"),
        ("elsewhere", "amazonaws.com"),
    ],
)
def test_a_regions_domain_is_its_partitions(region: str, domain: str) -> None:
    """
    By the longest beginning that is known.
    """
    assert dns_suffix(region) == domain


@pytest.mark.parametrize(
    ("family", "version", "nearest"),
    [
        ("djl-lmi", "0.36.0", "0.36.0"),
        ("djl-lmi", "0.36.0-lmi18", "0.36.0-lmi18"),
        ("djl-lmi", "0.36.0-lmi40", "0.36.0-lmi28"),
        ("djl-lmi", "0.37.0", "0.36.0-lmi28"),
        ("djl-lmi", "0.99.0", "0.38.0"),
        ("djl-lmi", "0.20.0", "0.28.0"),
        ("djl-lmi", "nightly", "0.28.0"),
        ("huggingface-llm", "3.3.5", "3.3.4"),
        ("huggingface-llm", "3.3.7", "3.3.6"),
        # A tag such as 2.4-tgi2.3 is of the newest patch.
        ("huggingface-llm", "2.3", "2.3.1"),
        ("huggingface-llm", "2", "2.4.0"),
        ("huggingface-llm-neuronx", "0.2.1", "0.2.0"),
    ],
)
def test_the_nearest_version_is_the_newest_before(
    family: str, version: str, nearest: str
) -> None:
    """
    Or the oldest, where all are newer.
    """
    assert nearest_version(family, version) == nearest


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("0.36.0-lmi30.0.0-cu130", "0.36.0-lmi30"),
        ("0.39.0-lmi31.0.0-cu130", "0.39.0"),
        ("0.26.0-tensorrtllm0.7.1-cu122", "0.26.0"),
        ("2.7.0-tgi3.3.7-gpu-py311-cu124-ubuntu22.04", "3.3.7"),
        ("2.1.2-optimum0.0.26-neuronx-py310-ubuntu22.04", "0.0.26"),
        ("latest", None),
        ("1.0.0-mine", None),
        ("111111111111.dkr.ecr.eu-west-1.amazonaws.com/mine:0.30.0-lmi12", "0.30.0"),
        ("111111111111.dkr.ecr.eu-west-1.amazonaws.com/mine", None),
    ],
)
def test_a_tag_names_its_version(image: str, version: str | None) -> None:
    """
    As the families write it.
    """
    assert named_version(image) == version


def test_a_tag_of_a_family_is_pulled_where_the_family_is() -> None:
    """
    From AWS's own registries, in the regions of the version that it is like.
    """
    tag = "0.39.0-lmi31.0.0-cu130"
    release = ImageRelease.of("djl-lmi", tag, near="0.38.0")

    assert release.uri("cn-north-1") == (
        f"727897471807.dkr.ecr.cn-north-1.amazonaws.com.cn/djl-inference:{tag}"
    )
    assert release.regions == find_image("djl-lmi", "0.38.0").regions
    assert (release.family, release.version) == ("djl-lmi", "0.38.0")
    assert release.cuda_version == "13.0"


def test_a_uri_of_a_family_is_pulled_from_where_it_says() -> None:
    """
    Whatever the region that the endpoint is in.
    """
    uri = "111111111111.dkr.ecr.eu-west-1.amazonaws.com/mine:1"
    release = ImageRelease.of("djl-lmi", uri, near="0.36.0")

    assert release.uri("us-east-1") == uri
    assert release.registry == Registry("111111111111", "eu-west-1")
    assert (release.family, release.version) == ("djl-lmi", "0.36.0")


@pytest.mark.parametrize("image", ["", "a b", "-x", "x" * 129, "docker.io/vllm:1"])
def test_fails_if_an_image_is_neither_a_tag_nor_a_uri(image: str) -> None:
    """
    SageMaker pulls from Amazon ECR alone.
    """
    with pytest.raises(ValueError, match=r"must be a(n image| tag)"):
        ImageRelease.of("djl-lmi", image, near="0.36.0")
