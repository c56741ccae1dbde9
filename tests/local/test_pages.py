"""
Lists of SageMaker, in order and by the page; as ``test_listing.py`` has them of a real
server, but to the second.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from cdk_sagemaker_llm.local.aws.errors import AwsError
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.simulation.fleet import FleetTimes
from tests.local.by_hand import HandRunAws, hand_run_aws
from tests.local.hosting_requests import ROLE, TGI, refusal, unique
from tests.local.test_descriptions import configured, endpoint_on, model, variant

_TIMES = FleetTimes(provision=200.0, image_pull=100.0, model_start=100.0)
_COMES = 400


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws(_TIMES) as aws:
        yield aws


def test_ten_come_on_a_page(aws: HandRunAws, sagemaker: Untyped) -> None:
    """
    Of twelve the newest first; what was made at one time keeps its order.
    """
    stem = unique("page")
    for number in range(12):
        container = {"Image": TGI}
        name = f"{stem}-{number:02d}"
        sagemaker.create_model(
            ModelName=name, PrimaryContainer=container, ExecutionRoleArn=ROLE
        )
        aws.run(1)

    first = sagemaker.list_models(NameContains=stem)
    rest = sagemaker.list_models(NameContains=stem, NextToken=first["NextToken"])

    pages = [[one["ModelName"][-2:] for one in p["Models"]] for p in (first, rest)]
    assert pages == [[f"{n:02d}" for n in range(11, 1, -1)], ["01", "00"]]
    assert "NextToken" not in rest
    whole = sagemaker.list_models(NameContains=stem, MaxResults=12)
    assert "NextToken" not in whole


def test_times_of_lists_are_to_the_second(aws: HandRunAws, sagemaker: Untyped) -> None:
    """
    Made at a moment is after it and not before; changed at one is neither.
    """
    endpoint = endpoint_on(
        sagemaker, configured(sagemaker, variant(ModelName=model(sagemaker)))
    )
    made = aws.wall()
    aws.run(_COMES)

    def found(**asked: float) -> bool:
        answer = sagemaker.list_endpoints(NameContains=endpoint, **asked)
        return bool(answer["Endpoints"])

    assert found(CreationTimeAfter=made)
    assert not found(CreationTimeAfter=made + 1)
    assert not found(CreationTimeBefore=made)
    assert found(CreationTimeBefore=made + 1)
    changed = made + _COMES
    assert not found(LastModifiedTimeAfter=changed)
    assert found(LastModifiedTimeAfter=changed - 1)
    assert not found(LastModifiedTimeBefore=changed)
    assert found(LastModifiedTimeBefore=changed + 1)


def test_a_list_is_in_the_order_that_is_asked_for(
    aws: HandRunAws, sagemaker: Untyped
) -> None:
    """
    By creation, name or status; what is equal by age.
    """
    stem, config = unique("order"), configured(sagemaker, variant())
    for name in ("b", "c", "a"):
        sagemaker.create_endpoint(
            EndpointName=f"{stem}-{name}", EndpointConfigName=config
        )
        aws.run(100 if name != "c" else _COMES)

    def listed(**asked: Untyped) -> str:
        found = sagemaker.list_endpoints(NameContains=stem.upper(), **asked)
        return "".join(one["EndpointName"][-1] for one in found["Endpoints"])

    assert listed() == "acb"
    assert listed(SortOrder="Ascending") == "bca"
    assert listed(SortBy="CreationTime") == "acb"
    assert listed(SortBy="Name") == "cba"
    assert listed(SortBy="Name", SortOrder="Ascending") == "abc"
    # b and c are in service, a is coming.
    assert listed(SortBy="Status") == "cba"
    assert listed(SortBy="Status", SortOrder="Ascending") == "abc"
    assert listed(StatusEquals="Creating") == "a"
    assert listed(StatusEquals="InService", MaxResults=1) == "c"
    aws.run(_COMES)


def test_a_token_is_one_that_was_given(sagemaker: Untyped) -> None:
    """
    Digits of another script are none either.
    """
    for token in ("x", "-1", "\u0663"):
        refused = refusal(sagemaker.list_models, NextToken=token)
        assert refused == "Invalid pagination token given."
    past = sagemaker.list_models(NextToken="99999")
    assert past["Models"] == []


def test_a_time_may_be_written_out(aws: HandRunAws, sagemaker: Untyped) -> None:
    """
    With its zone, or in UTC without one; what is no time cannot be read.
    """
    name, made = model(sagemaker), aws.wall()

    def found(moment: str) -> list[str]:
        request: dict[str, Any] = {"NameContains": name, "CreationTimeBefore": moment}
        answer = aws.hosting.call("ListModels", request)
        return [one["ModelName"] for one in answer["Models"]]

    east = timezone(timedelta(hours=2))
    for zone in (UTC, east):
        assert found(datetime.fromtimestamp(made + 1, zone).isoformat()) == [name]
        assert found(datetime.fromtimestamp(made, zone).isoformat()) == []
    naive = datetime.fromtimestamp(made + 1, UTC).replace(tzinfo=None)
    assert found(naive.isoformat()) == [name]
    assert found((naive - timedelta(seconds=1)).isoformat()) == []
    with pytest.raises(AwsError, match="^tomorrow is not a time$") as caught:
        found("tomorrow")
    assert caught.value.code == "SerializationException"
