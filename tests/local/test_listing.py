"""
The List* operations: filters, order and pages.
"""

from __future__ import annotations

import datetime as dt
import time
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError

from tests.local.hosting_requests import (
    ROLE,
    make_config,
    make_endpoint,
    make_model,
    unchecked,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from cdk_sagemaker_llm.local import EmbeddedAws
    from cdk_sagemaker_llm.local.aws.untyped import Untyped

NAMES = ("Bravo", "alpha", "charlie")


def make_models(sagemaker: Untyped, config: str, name: str) -> None:  # noqa: ARG001 - one of four
    """
    Create one of several.
    """
    sagemaker.create_model(
        ModelName=name, PrimaryContainer={"Image": "x"}, ExecutionRoleArn=ROLE
    )


def make_configs(sagemaker: Untyped, config: str, name: str) -> None:  # noqa: ARG001 - one of four
    """
    Create one of several.
    """
    sagemaker.create_endpoint_config(
        EndpointConfigName=name,
        ExecutionRoleArn=ROLE,
        ProductionVariants=[
            {
                "VariantName": "V",
                "InstanceType": "ml.g5.xlarge",
                "InitialInstanceCount": 1,
            }
        ],
    )


def make_endpoints(sagemaker: Untyped, config: str, name: str) -> None:
    """
    Create one of several.
    """
    sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=config)


def make_components(sagemaker: Untyped, config: str, name: str) -> None:  # noqa: ARG001 - one of four
    """
    Create one of several, on the endpoint of the module.
    """
    needs = {"NumberOfCpuCoresRequired": 1, "MinMemoryRequiredInMb": 1024}
    sagemaker.create_inference_component(
        InferenceComponentName=name,
        EndpointName="host",
        VariantName="AllTraffic",
        Specification={
            "Container": {"Image": "x"},
            "ComputeResourceRequirements": needs,
        },
        RuntimeConfig={"CopyCount": 1},
    )


KINDS: dict[str, tuple[Callable[[Untyped, str, str], None], str, str]] = {
    "list_models": (make_models, "Models", "ModelName"),
    "list_endpoint_configs": (
        make_configs,
        "EndpointConfigs",
        "EndpointConfigName",
    ),
    "list_endpoints": (make_endpoints, "Endpoints", "EndpointName"),
    "list_inference_components": (
        make_components,
        "InferenceComponents",
        "InferenceComponentName",
    ),
}


@pytest.fixture(name="middle", scope="module")
def _middle(fresh_aws: EmbeddedAws) -> dt.datetime:
    """
    Make three of each kind; the first two before the moment that is returned.
    """
    sagemaker = fresh_aws.client("sagemaker")
    config = make_config(fresh_aws)
    sagemaker.create_endpoint(EndpointName="host", EndpointConfigName=config)
    for make, _, _ in KINDS.values():
        for name in NAMES[:2]:
            make(sagemaker, config, name)
    # Clients send whole seconds.
    now = time.time()
    time.sleep(1 - now % 1 + 0.01)
    middle = dt.datetime.fromtimestamp(int(time.time()), dt.UTC)
    for make, _, _ in KINDS.values():
        make(sagemaker, config, NAMES[2])
    return middle


@pytest.mark.usefixtures("middle")
@pytest.mark.parametrize("operation", KINDS)
class TestEveryList:
    """
    What all four have.
    """

    @pytest.mark.parametrize(
        ("asked", "expected"),
        [
            ({}, ["charlie", "alpha", "Bravo"]),
            ({"SortOrder": "Ascending"}, ["Bravo", "alpha", "charlie"]),
            ({"SortBy": "Name"}, ["charlie", "alpha", "Bravo"]),
            (
                {"SortBy": "Name", "SortOrder": "Ascending"},
                ["Bravo", "alpha", "charlie"],
            ),
            ({"NameContains": "LPH"}, ["alpha"]),
            ({"NameContains": "nobody"}, []),
            ({"MaxResults": 1}, ["charlie"]),
        ],
        ids=["default", "ascending", "name", "by-name", "part", "none", "one"],
    )
    def test_order_and_name(
        self,
        fresh_aws: EmbeddedAws,
        operation: str,
        asked: dict[str, Untyped],
        expected: list[str],
    ) -> None:
        """
        By creation if nothing else is said, the newest first.
        """
        assert listed(fresh_aws, operation, **asked) == expected

    def test_time(
        self, fresh_aws: EmbeddedAws, operation: str, middle: dt.datetime
    ) -> None:
        """
        Before is before, after is from then on.
        """
        before = listed(fresh_aws, operation, CreationTimeBefore=middle)
        after = listed(fresh_aws, operation, CreationTimeAfter=middle)

        assert before == ["alpha", "Bravo"]
        assert after == ["charlie"]

    def test_pages(self, fresh_aws: EmbeddedAws, operation: str) -> None:
        """
        A token leads to the next one, the last has none; a made-up one is refused.
        """
        found: list[str] = []
        token: dict[str, str] = {}
        for _ in range(2):
            page = call(fresh_aws, operation, MaxResults=2, **token)
            found += names(page, operation)
            token = {"NextToken": page.get("NextToken", "")}
        # The endpoint and its configuration that the components need come last.
        assert found[:3] == ["charlie", "alpha", "Bravo"]

        with pytest.raises(ClientError, match="Invalid pagination token"):
            call(fresh_aws, operation, NextToken="made-up")

    @pytest.mark.parametrize("count", [0, 101])
    def test_the_size_of_a_page_has_bounds(
        self, fresh_aws: EmbeddedAws, operation: str, count: int
    ) -> None:
        """
        One to a hundred.
        """
        with pytest.raises(ClientError, match=f"Value '{count}' at 'maxResults' fail"):
            call(fresh_aws, operation, MaxResults=count)


class TestStatus:
    """
    What endpoints and components have beside.
    """

    @pytest.mark.usefixtures("middle")
    @pytest.mark.parametrize(
        "operation", ["list_endpoints", "list_inference_components"]
    )
    def test_status(self, fresh_aws: EmbeddedAws, operation: str) -> None:
        """
        It filters, and it sorts: what is equal by age.
        """
        assert listed(fresh_aws, operation, StatusEquals="Failed") == []
        assert listed(fresh_aws, operation, StatusEquals="InService", SortBy="Status")[
            :3
        ] == ["charlie", "alpha", "Bravo"]

    @pytest.mark.usefixtures("middle")
    @pytest.mark.parametrize(
        ("asked", "count"),
        [
            ({"EndpointNameEquals": "host"}, 3),
            ({"EndpointNameEquals": "alpha"}, 0),
            ({"VariantNameEquals": "AllTraffic"}, 3),
            ({"VariantNameEquals": "Other"}, 0),
        ],
    )
    def test_components_of_an_endpoint_or_a_variant(
        self, fresh_aws: EmbeddedAws, asked: dict[str, str], count: int
    ) -> None:
        """
        By the exact name.
        """
        assert len(listed(fresh_aws, "list_inference_components", **asked)) == count

    def test_last_modified(self, fresh_aws: EmbeddedAws) -> None:
        """
        An update makes an old endpoint a new one.
        """
        variant = {"ModelName": make_model(fresh_aws)}
        endpoint = make_endpoint(fresh_aws, make_config(fresh_aws, variant=variant))
        modified = fresh_aws.client("sagemaker").describe_endpoint(
            EndpointName=endpoint
        )["LastModifiedTime"]
        later = modified + dt.timedelta(seconds=2)
        earlier = modified - dt.timedelta(seconds=2)

        def found(**asked: dt.datetime) -> bool:
            return endpoint in listed(fresh_aws, "list_endpoints", **asked)

        assert found(LastModifiedTimeAfter=earlier, LastModifiedTimeBefore=later)
        assert not found(LastModifiedTimeAfter=later)
        assert not found(LastModifiedTimeBefore=earlier)


def call(aws: EmbeddedAws, operation: str, **asked: Untyped) -> Untyped:
    """
    Call one of the operations.
    """
    if not asked.get("NextToken", "x"):
        del asked["NextToken"]
    return getattr(unchecked(aws, "sagemaker"), operation)(**asked)


def names(page: Untyped, operation: str) -> list[str]:
    """
    Return the names on a page.
    """
    _, result, name = KINDS[operation]
    return [item[name] for item in page[result]]


def listed(aws: EmbeddedAws, operation: str, **asked: Untyped) -> list[str]:
    """
    Return the names that a call lists, of those this module is about.
    """
    found = names(call(aws, operation, **asked), operation)
    helpers = ("config-", "host", "model-")
    return [name for name in found if not name.startswith(helpers)]
