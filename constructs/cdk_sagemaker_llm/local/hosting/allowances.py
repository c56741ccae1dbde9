"""
What an account may use, as the services tell it that are asked before a deployment:
quotas, types in a region, reserved capacity, AWS's own images.
"""

from __future__ import annotations

import functools
from datetime import UTC, datetime, timedelta
from typing import Any

from cdk_sagemaker_llm.catalog.image_rows import all_accounts
from cdk_sagemaker_llm.catalog.images import image_at
from cdk_sagemaker_llm.catalog.instances import instance_type_names
from cdk_sagemaker_llm.local.aws.clock import CLOCK
from cdk_sagemaker_llm.local.aws.errors import AwsError
from cdk_sagemaker_llm.local.aws.faults import (
    NOT_OFFERED,
    PLAN_EXPIRED,
    QUOTA,
    Faults,
)
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.hosting.world import Operation, World

QUOTAS = "ServiceQuotasV20190624"
REGISTRY = "AmazonEC2ContainerRegistry_V20150921"
_QUOTA_LISTS = ("ListServiceQuotas", "ListAWSDefaultServiceQuotas")
# As much as nobody deploys here; a fault lowers it.
_PLENTY = 1000
_YEAR = timedelta(days=365)
_LIMIT = (
    "The account-level service limit '{name}' is {limit} Instances, with current "
    "utilization of {used} Instances and a request delta of {more} Instances. Please "
    "use AWS Service Quotas to request an increase for this quota. If AWS Service "
    "Quotas is not available, contact AWS support to request an increase for this "
    "quota."
)


def answer(
    world: World, prefix: str, operation: str, request: dict[str, Any]
) -> dict[str, Any] | None:
    """
    Answer for Service Quotas and ECR what moto does not know; ``None`` for all else.
    """
    if prefix == QUOTAS and operation in _QUOTA_LISTS:
        if request.get("ServiceCode") == "sagemaker":
            return {"Quotas": _quotas(world)}
    elif prefix == REGISTRY and operation == "BatchGetImage":
        account = str(request.get("registryId", world.account))
        if account in all_accounts() and account != world.account:
            return _images(account, request)
    return None


def operations(world: World) -> dict[str, Operation]:
    """
    Return SageMaker's operations on training plans, of which any name is one.
    """

    def describe(request: dict[str, Any]) -> dict[str, Any]:
        name = request["TrainingPlanName"]
        now = datetime.fromtimestamp(CLOCK.now, UTC)
        is_over = world.faults.find(PLAN_EXPIRED, {name}) is not None
        start = now - (2 * _YEAR if is_over else timedelta(days=1))
        return {
            "TrainingPlanArn": f"arn:{world.partition}:sagemaker:{world.region}:"
            f"{world.account}:training-plan/{name}",
            "TrainingPlanName": name,
            "Status": "Expired" if is_over else "Active",
            "StartTime": start,
            "EndTime": start + _YEAR,
            "TargetResources": ["endpoint"],
            "AvailableInstanceCount": 0 if is_over else _PLENTY,
        }

    return {"DescribeTrainingPlan": describe}


def refuse_too_many(
    world: World, config: dict[str, Any], counts: dict[str, int]
) -> None:
    """
    Refuse instances that a quota leaves no room for.
    """
    for variant in config["ProductionVariants"]:
        kind = variant.get("InstanceType", "")
        limit = _limit(world.faults, kind)
        if limit >= _PLENTY:
            continue
        used = sum(
            len(fleet.instances)
            for endpoint in world.endpoints
            for fleet in endpoint.fleets.values()
            if fleet.instance_type == kind
        )
        name = variant["VariantName"]
        more = counts.get(name, variant.get("InitialInstanceCount", 0))
        if used + more > limit:
            words = _LIMIT.format(name=_name(kind), limit=limit, used=used, more=more)
            raise AwsError("ResourceLimitExceeded", words)


@functools.cache
def offer_types(faults: Faults) -> None:
    """
    Let moto's EC2 offer every type of the catalogue in every zone, but for faults.
    """
    from moto.ec2.models import EC2Backend  # noqa: PLC0415 - slow to load

    backend: Untyped = EC2Backend

    def offered(
        self: Untyped,
        location_type: str | None = None,
        filters: dict[str, list[str]] | None = None,
    ) -> list[dict[str, str]]:
        kind = location_type or "region"
        places = {
            "region": [self.region_name],
            "availability-zone": [z.name for z in self.describe_availability_zones()],
            "availability-zone-id": [
                z.zone_id for z in self.describe_availability_zones()
            ],
        }[kind]
        values = filters or {}
        return [
            {"InstanceType": bare, "LocationType": kind, "Location": place}
            for name in instance_type_names()
            for place in places
            if (bare := name.removeprefix("ml.")) in values.get("instance-type", [bare])
            if place in values.get("location", [place])
            if faults.find(NOT_OFFERED, {name}) is None
        ]

    backend.describe_instance_type_offerings = offered


def _quotas(world: World) -> list[dict[str, Any]]:
    return [
        {
            "ServiceCode": "sagemaker",
            "ServiceName": "Amazon SageMaker",
            "QuotaName": _name(kind),
            "QuotaCode": f"L-{number:08X}",
            "Value": float(_limit(world.faults, kind)),
            "Unit": "None",
            "Adjustable": True,
        }
        for number, kind in enumerate(instance_type_names())
        if world.faults.find(NOT_OFFERED, {kind}) is None
    ]


def _name(kind: str) -> str:
    return f"{kind} for endpoint usage"


def _limit(faults: Faults, kind: str) -> int:
    fault = faults.find(QUOTA, {kind})
    return _PLENTY if fault is None else fault.available


def _images(account: str, request: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"images": [], "failures": []}
    for one in request.get("imageIds", ()):
        name = request["repositoryName"]
        release = image_at(f"{name}:{one.get('imageTag', '')}")
        # Of which contents its tags are is not known here: any digest is one of them.
        if release is None and "imageDigest" not in one:
            reason = "Requested image not found"
            found["failures"].append(
                {
                    "imageId": one,
                    "failureCode": "ImageNotFound",
                    "failureReason": reason,
                }
            )
            continue
        found["images"].append(
            {"registryId": account, "repositoryName": name, "imageId": one}
        )
    return found
