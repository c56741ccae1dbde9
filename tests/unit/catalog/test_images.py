"""
The image catalogue.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.catalog.images import (
    find_image,
    image_families,
    image_versions,
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
    All 91 releases of 9 families, in all their regions, are within the API's limit.
    """
    releases = [find_image(f, v) for f in image_families() for v in image_versions(f)]
    uris = [release.uri(region) for release in releases for region in release.regions]

    assert len(image_families()) == 9
    assert len(releases) == 91
    assert all(len(uri) <= 255 and " " not in uri for uri in uris)


def test_there_are_44_regions_with_a_registry() -> None:
    """
    12 more than the CDK's own table has.
    """
    assert len(registry_accounts()) == 44
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
