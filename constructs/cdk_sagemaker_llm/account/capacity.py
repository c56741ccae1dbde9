"""
Whether an account has room for an app's instances: quotas, the types of a region,
addresses in subnets, capacity that was reserved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from cdk_sagemaker_llm.account.reader import AccountReader, NotAsked, RefusedError
from cdk_sagemaker_llm.catalog.instances import priced_regions
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.text import any_of, counted

if TYPE_CHECKING:
    from cdk_sagemaker_llm.account.needs import Fleet, Named, Place

Found = tuple[str, Finding]
_QUOTAS_PAGE = 100
# SageMaker developer guide, host-vpc: two addresses for each instance.
_ADDRESSES_EACH = 2
_QUOTAS = "https://docs.aws.amazon.com/general/latest/gr/sagemaker.html"
_PLANS = "API reference, DescribeTrainingPlan"
_ASK_FOR_MORE = "ask for more of it in Service Quotas"

LOW_QUOTA = Rule(
    "LLM561", "a service quota is less than the instances that start", _QUOTAS
)
NARROW_QUOTA = Rule(
    "LLM661",
    "a service quota is less than what scaling, an update or the account's other "
    "endpoints come to",
    _QUOTAS,
)
NOT_OFFERED = Rule(
    "LLM662",
    "an instance type seems not to be offered where the endpoint is",
    "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceTypeOfferings.html",
)
NO_NETWORK = Rule("LLM569", "a subnet or a security group is not there")
NO_FREE_ADDRESS = Rule(
    "LLM570",
    "subnets have fewer free addresses than instances that start",
    "SageMaker developer guide, host-vpc",
)
FEW_FREE_ADDRESSES = Rule(
    "LLM665",
    "subnets have too few free addresses for scaling, or for an update",
    "SageMaker developer guide, host-vpc",
)
UNUSABLE_RESERVATION = Rule(
    "LLM571", "reserved capacity is not there, is over, or not for endpoints", _PLANS
)
LATE_RESERVATION = Rule(
    "LLM666", "reserved capacity has not begun, or is less than the instances", _PLANS
)


def quota_findings(
    reader: AccountReader, fleets: Sequence[Fleet], own: Iterable[str]
) -> Iterator[Found]:
    """
    Hold the instances of each region and type against the quota.

    Args:
        own: The names of the endpoints that the app's own stacks have made.
    """
    groups: dict[tuple[str, str], list[Fleet]] = defaultdict(list)
    for fleet in fleets:
        # What is reserved is counted by the plan's own quota.
        if not fleet.reservation:
            groups[fleet.place.region, fleet.quota].append(fleet)
    for region in dict.fromkeys(region for region, _ in groups):
        names = {quota for place, quota in groups if place == region}
        quotas = _quotas(reader, region, names)
        if quotas is None:
            continue
        busy = _busy(reader, region, set(own))
        for quota in sorted(names):
            yield from _quota(groups[region, quota], quotas.get(quota), busy)


def _quota(
    fleets: Sequence[Fleet], limit: float | None, busy: Mapping[str, int]
) -> Iterator[Found]:
    first = fleets[0]
    label, quota, region = str(first.place), first.quota, first.place.region
    if limit is None:
        yield (
            label,
            NOT_OFFERED.finding(
                f"{region} has no service quota {quota!r}, as it has one for each type "
                "that endpoints there may use",
                "choose another type or region, or ask AWS",
            ),
        )
        return
    needed = sum(one.first for one in fleets)
    most, updating = (sum(getattr(f, n) for f in fleets) for n in ("most", "updating"))
    others = busy.get(first.instance_type, 0)
    has = f"the quota {quota!r} of {region} is {limit:g}"
    if needed > limit:
        # Of several types the service may choose another.
        rule = NARROW_QUOTA if all(one.is_choice for one in fleets) else LOW_QUOTA
        yield (
            label,
            rule.finding(
                f"{has}, and {counted(needed, 'instance')} must start", _ASK_FOR_MORE
            ),
        )
    elif needed + others > limit:
        yield (
            label,
            NARROW_QUOTA.finding(
                f"{has}, other endpoints of the account run {others}, and "
                f"{counted(needed, 'instance')} must start",
                f"{_ASK_FOR_MORE}, or delete what is not needed",
            ),
        )
    elif updating + others > limit:
        beside = f", beside {others} of other endpoints" if others else ""
        yield (
            label,
            NARROW_QUOTA.finding(
                f"{has}, scaling may come to {most}, and an update then runs "
                f"{updating}{beside}",
                f"{_ASK_FOR_MORE}, or update with Rolling, which needs no second fleet",
            ),
        )


def _quotas(
    reader: AccountReader, region: str, names: set[str]
) -> dict[str, float] | None:
    """
    Return the account's quotas, and AWS's defaults where it has none of its own.
    """
    found: dict[str, float] = {}
    for operation in ("list_service_quotas", "list_aws_default_service_quotas"):
        before = len(reader.not_asked)
        for quota in reader.pages(
            "service-quotas",
            operation,
            "Quotas",
            region=region,
            ServiceCode="sagemaker",
            MaxResults=_QUOTAS_PAGE,
        ):
            if quota.get("QuotaName") in names:
                found.setdefault(quota["QuotaName"], float(quota["Value"]))
            if names <= found.keys():
                return found
        if len(reader.not_asked) > before:
            return found or None
    return found


def _busy(reader: AccountReader, region: str, own: set[str]) -> dict[str, int]:
    """
    Count the instances that other endpoints of the account run, by type.
    """
    found: dict[str, int] = defaultdict(int)
    for one in reader.pages(
        "sagemaker", "list_endpoints", "Endpoints", region=region, most=_QUOTAS_PAGE
    ):
        name = one["EndpointName"]
        if name in own:
            continue
        # It may go between the two questions.
        endpoint = reader.found(
            "sagemaker", "describe_endpoint", region=region, EndpointName=name
        )
        config = endpoint and reader.found(
            "sagemaker",
            "describe_endpoint_config",
            region=region,
            EndpointConfigName=endpoint["EndpointConfigName"],
        )
        if not endpoint or not config:
            continue
        kinds = {
            each["VariantName"]: each.get("InstanceType", "")
            for each in config["ProductionVariants"]
        }
        for variant in endpoint.get("ProductionVariants", ()):
            kind = kinds.get(variant["VariantName"], "")
            found[kind] += int(variant.get("CurrentInstanceCount", 0))
    return found


def type_findings(reader: AccountReader, fleets: Sequence[Fleet]) -> Iterator[Found]:
    """
    Warn of types that EC2 and the price list know nothing of in the region, or EC2 in
    the zones of the subnets.

    SageMaker itself does not tell which types it offers where.
    """
    for fleet in {
        (f.place.region, f.instance_type, f.subnets): f for f in fleets
    }.values():
        region, kind = fleet.place.region, fleet.instance_type
        zones = {
            each["AvailabilityZoneId"]
            for each in _subnets(reader, region, fleet.subnets)
        }
        offered = set(_offered(reader, region, kind, in_zones=bool(zones)))
        if offered & zones or (offered and not zones) or _is_unasked(reader):
            continue
        where = f"the zones {any_of(sorted(zones))} of {region}" if zones else region
        priced = priced_regions(kind)
        addition = "" if not priced or region in priced else ", nor has its price list"
        if not zones and priced and region in priced:
            continue
        yield (
            str(fleet.place),
            NOT_OFFERED.finding(
                f"EC2 does not offer {kind.removeprefix('ml.')} in {where}{addition}, "
                f"which is all that AWS tells of {kind} there",
                "choose another type, or subnets in other zones, or ask AWS",
            ),
        )


def _is_unasked(reader: AccountReader) -> bool:
    call = next(c for c in reader.calls if c.operation == _OFFERINGS)
    return any(one.what == call.why for one in reader.not_asked)


_OFFERINGS = "describe_instance_type_offerings"


def _offered(
    reader: AccountReader, region: str, kind: str, *, in_zones: bool
) -> Iterator[str]:
    for one in reader.pages(
        "ec2",
        _OFFERINGS,
        "InstanceTypeOfferings",
        region=region,
        LocationType="availability-zone-id" if in_zones else "region",
        Filters=[{"Name": "instance-type", "Values": [kind.removeprefix("ml.")]}],
    ):
        yield one["Location"]


def network_findings(
    reader: AccountReader, subnets: Sequence[Named], groups: Sequence[Named]
) -> Iterator[Found]:
    """
    Look whether subnets and security groups are there.
    """
    for operation, argument, what, named in (
        ("describe_subnets", "SubnetIds", "subnet", subnets),
        ("describe_security_groups", "GroupIds", "security group", groups),
    ):
        for one in {(n.place.region, n.name): n for n in named}.values():
            region = one.place.region
            try:
                reader.ask("ec2", operation, region=region, **{argument: [one.name]})
            except RefusedError as refusal:
                if ".NotFound" not in refusal.code:
                    raise
                yield (
                    str(one.place),
                    NO_NETWORK.finding(
                        f"there is no {what} {one.name} in {region}",
                        "name one of this account and region",
                    ),
                )


def address_findings(reader: AccountReader, fleets: Sequence[Fleet]) -> Iterator[Found]:
    """
    Hold the free addresses of subnets against the instances of all fleets in them.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[Fleet]] = defaultdict(list)
    for fleet in fleets:
        if fleet.subnets:
            groups[fleet.place.region, fleet.subnets].append(fleet)
    for (region, subnets), inside in groups.items():
        found = _subnets(reader, region, subnets)
        if not found:
            continue
        free = sum(each["AvailableIpAddressCount"] for each in found)
        # Of several types in one variant only some run.
        several = {(f.place, f.first, f.most, f.updating) for f in inside}
        first = sum(one[1] for one in several)
        running = sum(one[3] for one in several)
        needed = _ADDRESSES_EACH * running
        count = counted(free, "free address", "free addresses")
        has = f"the subnets {', '.join(subnets)} have {count}"
        if free < first:
            yield (
                str(inside[0].place),
                NO_FREE_ADDRESS.finding(
                    f"{has}, and {counted(first, 'instance')} must start: each needs "
                    "at least one",
                    "choose larger subnets, or more of them, or delete what is in them",
                ),
            )
        elif free < needed:
            yield (
                str(inside[0].place),
                FEW_FREE_ADDRESSES.finding(
                    f"{has}, and at its most, with an update, the app runs "
                    f"{counted(running, 'instance')}, for each of which SageMaker asks "
                    f"for two, which is {needed}",
                    "choose larger subnets, or more of them",
                ),
            )


def _subnets(
    reader: AccountReader, region: str, names: Sequence[str]
) -> list[Mapping[str, Any]]:
    if not names:
        return []
    try:
        answer = reader.ask(
            "ec2", "describe_subnets", region=region, SubnetIds=list(names)
        )
    except RefusedError:
        # That one is not there is a finding of its own.
        return []
    return list(answer["Subnets"]) if answer else []


def reservation_findings(
    reader: AccountReader, fleets: Sequence[Fleet]
) -> Iterator[Found]:
    """
    Look at the training plans that endpoints take their instances from.
    """
    now = datetime.now(UTC)
    for fleet in fleets:
        arn = fleet.reservation
        if not arn:
            continue
        kind, _, name = arn.rpartition(":")[2].partition("/")
        region = arn.split(":")[3] or fleet.place.region
        if kind != "training-plan":
            why = f"only training plans can be described, and this is {arn}"
            reader.not_asked.append(NotAsked("state and dates of reservations", why))
            continue
        try:
            plan = reader.ask(
                "sagemaker",
                "describe_training_plan",
                region=region,
                TrainingPlanName=name,
            )
        except RefusedError as refusal:
            message = f"the training plan {name} is not there: {refusal.message}"
            yield _unusable(fleet.place, message)
            continue
        if plan is not None:
            yield from _plan(fleet, name, plan, now)


def _plan(
    fleet: Fleet, name: str, plan: Mapping[str, Any], now: datetime
) -> Iterator[Found]:
    status, end = plan["Status"], plan.get("EndTime")
    targets = plan.get("TargetResources", ["endpoint"])
    if status in {"Expired", "Failed"} or (end is not None and end < now):
        until = f" on {end:%Y-%m-%d %H:%M} UTC" if end else ""
        ended = f"it ended{until}" if status != "Failed" else plan.get("StatusMessage")
        yield _unusable(
            fleet.place, f"the training plan {name} is {status}: {ended or 'it failed'}"
        )
    elif "endpoint" not in targets:
        yield _unusable(
            fleet.place,
            f"the training plan {name} is for {any_of(targets)}, not for an endpoint",
        )
    elif status != "Active":
        begin = plan.get("StartTime")
        date = f" and begins on {begin:%Y-%m-%d %H:%M} UTC" if begin else ""
        yield _late(fleet.place, f"the training plan {name} is {status}{date}")
    elif plan.get("AvailableInstanceCount", fleet.first) < fleet.first:
        free = plan["AvailableInstanceCount"]
        yield _late(
            fleet.place,
            f"the training plan {name} has {counted(free, 'free instance')}, and "
            f"{counted(fleet.first, 'instance')} must start",
        )


def _unusable(place: Place, message: str) -> Found:
    remedy = "reserve capacity anew for endpoints, or start instances on demand"
    return str(place), UNUSABLE_RESERVATION.finding(message, remedy)


def _late(place: Place, message: str) -> Found:
    return str(place), LATE_RESERVATION.finding(message, "deploy when it is free")
