"""
Variants of endpoint configurations that contradict themselves or each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from tests.local.hosting_requests import make_model, unique

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

INSTANCES: dict[str, Any] = {
    "InstanceType": "ml.g5.xlarge",
    "InitialInstanceCount": 1,
}
PREFIX = {"PrefixLength": 1024, "ConcurrencyThreshold": 1}
SERVERLESS = {"ServerlessConfig": {"MemorySizeInMB": 2048, "MaxConcurrency": 5}}


def routed(strategy: str, prefix: dict[str, int]) -> dict[str, Any]:
    """
    Write a variant with a routing strategy and the numbers of prefixes.
    """
    routing = {"RoutingStrategy": strategy, "PrefixAwareRoutingConfig": prefix}
    return {**INSTANCES, "RoutingConfig": routing}


def create(
    aws: EmbeddedAws, *variants: dict[str, Any], shadows: list[dict[str, Any]]
) -> None:
    """
    Create a configuration of variants of one model, named ``A`` unless they have names.
    """
    model = make_model(aws)

    def named(variant: dict[str, Any]) -> dict[str, Any]:
        return {"VariantName": "A", "ModelName": model, **variant}

    beside = {"ShadowProductionVariants": [named(v) for v in shadows]}
    aws.client("sagemaker").create_endpoint_config(
        EndpointConfigName=unique("config"),
        ProductionVariants=[named(v) for v in variants],
        **(beside if shadows else {}),
    )


@pytest.mark.parametrize(
    ("variants", "shadows", "message"),
    [
        ([INSTANCES, INSTANCES], [], "Variant A is there twice"),
        ([INSTANCES], [INSTANCES], "Variant A is there twice"),
        (
            [INSTANCES, {**INSTANCES, "VariantName": "B"}],
            [{**INSTANCES, "VariantName": "C"}],
            "one production variant and one shadow variant, got 2 and 1",
        ),
        ([{"InitialInstanceCount": 1}], [], "specify InstanceType, InstancePools or"),
        ([{"InstanceType": "ml.g5.xlarge"}], [], "InitialInstanceCount is required"),
        (
            [{**INSTANCES, **SERVERLESS}],
            [],
            "specify ServerlessConfig or InstanceType, not both",
        ),
        (
            [{"ServerlessConfig": {"MemorySizeInMB": 2049, "MaxConcurrency": 5}}],
            [],
            "MemorySizeInMB must be one of 1024, 2048, 3072, 4096, 5120, 6144, got 204",
        ),
        (
            [routed("PREFIX_AWARE", {"PrefixLength": 1024})],
            [],
            "PREFIX_AWARE needs ConcurrencyThreshold",
        ),
        (
            [{**INSTANCES, "RoutingConfig": {"RoutingStrategy": "PREFIX_AWARE"}}],
            [],
            "PREFIX_AWARE needs PrefixLength and ConcurrencyThreshold",
        ),
        (
            [routed("RANDOM", PREFIX)],
            [],
            "PrefixAwareRoutingConfig is for PREFIX_AWARE only",
        ),
    ],
)
def test_variants_that_contradict_are_refused(
    embedded_aws: EmbeddedAws,
    variants: list[dict[str, Any]],
    shadows: list[dict[str, Any]],
    message: str,
) -> None:
    """
    When the configuration is created, and not when traffic comes.
    """
    with pytest.raises(ClientError, match=message):
        create(embedded_aws, *variants, shadows=shadows)


@pytest.mark.parametrize(
    ("variants", "shadows"),
    [
        ([INSTANCES, {**INSTANCES, "VariantName": "B"}], []),
        ([INSTANCES], [{**INSTANCES, "VariantName": "B"}]),
        ([SERVERLESS], []),
        ([routed("PREFIX_AWARE", PREFIX)], []),
    ],
)
def test_variants_that_do_not_are_taken(
    embedded_aws: EmbeddedAws,
    variants: list[dict[str, Any]],
    shadows: list[dict[str, Any]],
) -> None:
    """
    Two names, one shadow, or no instances at all.
    """
    create(embedded_aws, *variants, shadows=shadows)


def test_a_region_that_there_is_not_is_told_so(embedded_aws: EmbeddedAws) -> None:
    """
    By JSON and by XML; it was an internal failure.
    """
    for service, call in (
        ("sagemaker", "list_models"),
        ("cloudformation", "list_stacks"),
    ):
        client = embedded_aws.client(service, region_name="us-east-9")
        with pytest.raises(ClientError, match="AWS has no region us-east-9"):
            getattr(client, call)()
