"""
The passages of evidence that may tell a cause: what a service says of a failure, the
log of a container, and what descriptions, scaling and metrics come to in a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cdk_sagemaker_llm.account.evidence import Answer, Evidence
from cdk_sagemaker_llm.account.signals import turning_alarms

_RUNS = "InService"
_READY = re.compile(
    r"Application startup complete|The server is fired up and ready|server is listening"
    r"|Inference API bind|\bConnected$|^Ready$| Ready$|Initialize BOTH server|"
    r"Model \S{1,80} loaded"
)
_MINUTE = 60.0
# So long a creation takes at most without a time-out of its own: an instance, an image
# and the default of the container's health check.
_LONGEST = 45 * _MINUTE
_INSTANCE = 20 * _MINUTE
# SageMaker gives a container 60 s to answer; metrics are in microseconds.
_NEAR_LIMIT = 58e6
_FULL = 97.0
_STARTUP = (
    "ContainerStartupHealthCheckTimeoutInSeconds",
    "ModelDataDownloadTimeoutInSeconds",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """
    Lines of one place.

    Args:
        kind: ``failure_reason``, ``log``, ``event``, ``scaling`` or ``reading``, which
            is a sentence of ours about descriptions and metrics.

        where: The place, for people.

        lines: What stands there, the oldest first.

        runs: Whether what it is of runs, so that a warning is no cause.
    """

    kind: str
    where: str
    lines: tuple[str, ...]
    runs: bool = False


def passages(evidence: Evidence) -> list[Passage]:
    """
    List the passages of evidence.
    """
    return [
        *_failure_reasons(evidence),
        *_logs(evidence),
        *_events(evidence),
        *_activities(evidence),
        *_alarms(evidence),
        *_readings(evidence),
    ]


def _failure_reasons(evidence: Evidence) -> Iterator[Passage]:
    for answer, what, name, status in subjects(evidence):
        reason = str(answer.get("FailureReason") or "")
        if not reason:
            continue
        place = f"FailureReason of {what} {name}"
        lines = [reason]
        if status == _RUNS:
            # CloudFormation may show success; the description alone tells of it.
            lines.append(
                f"the update was turned back: {what} {name} runs with its old "
                f"configuration {answer.get('EndpointConfigName', '')}".rstrip()
            )
        yield Passage(kind="failure_reason", where=place, lines=tuple(lines))


def subjects(evidence: Evidence) -> Iterator[tuple[Answer, str, str, str]]:
    """
    List endpoints and components: the answer, what it is, its name and its status.
    """
    for answer in evidence.endpoints:
        name, status = answer["EndpointName"], answer["EndpointStatus"]
        yield answer, "endpoint", str(name), str(status)
    for answer in evidence.components:
        name = answer["InferenceComponentName"]
        status = answer["InferenceComponentStatus"]
        yield answer, "inference component", str(name), str(status)


def _logs(evidence: Evidence) -> Iterator[Passage]:
    running = {name for _, _, name, status in subjects(evidence) if status == _RUNS}
    for log in evidence.logs:
        group, stream = str(log.get("group")), str(log.get("stream"))
        lines = [str(one.get("text", "")) for one in log.get("lines", ())]
        runs = group.rpartition("/")[2] in running
        if runs:
            ready = [i for i, line in enumerate(lines) if _READY.search(line)]
            lines = lines[ready[-1] + 1 :] if ready else lines
        yield Passage(
            kind="log", where=f"log {group} {stream}", lines=tuple(lines), runs=runs
        )


def _events(evidence: Evidence) -> Iterator[Passage]:
    """
    Read the failures of the last deployment of each stack that did not succeed.
    """
    for stack in evidence.stacks:
        status = str(stack.get("StackStatus", ""))
        if not re.search("ROLLBACK|FAILED|IN_PROGRESS", status):
            continue
        name = str(stack.get("StackName"))
        rows = [one for one in evidence.events if one.get("StackName") == name]
        failed: list[str] = []
        for row in sorted(rows, key=lambda one: str(one.get("Timestamp", ""))):
            reason = str(row.get("ResourceStatusReason") or "")
            if reason == "User Initiated":
                failed.clear()
            if str(row.get("ResourceStatus", "")).endswith("_FAILED") and reason:
                what = f"{row.get('LogicalResourceId')} ({row.get('ResourceType')})"
                failed.append(f"{what}: {reason}")
        lines = (*failed, *([status] if status == "UPDATE_ROLLBACK_FAILED" else ()))
        yield Passage(kind="event", where=f"events of stack {name}", lines=lines)


def _activities(evidence: Evidence) -> Iterator[Passage]:
    newest: dict[str, Answer] = {}
    for row in evidence.activities:
        target = str(row.get("ResourceId"))
        before = newest.get(target)
        if before is None or str(row["StartTime"]) > str(before["StartTime"]):
            newest[target] = row
    for target, row in newest.items():
        codes = [str(one.get("Code", "")) for one in row.get("NotScaledReasons") or ()]
        failed = str(row.get("StatusCode")) in {"Failed", "Unfulfilled"}
        lines = [*codes, *([str(row.get("StatusMessage"))] if failed else ())]
        if lines:
            where = f"last scaling activity of {target}"
            yield Passage(kind="scaling", where=where, lines=tuple(lines))


def _alarms(evidence: Evidence) -> Iterator[Passage]:
    has_traffic = any(
        one.get("name") == "Invocations" and sum(one.get("values", ())) > 0
        for one in evidence.metrics
    )
    turning = {
        str(alarm.get("AlarmName"))
        for endpoint in evidence.endpoints
        for alarm in turning_alarms(endpoint)
    }
    for alarm in evidence.alarms:
        name, state = str(alarm["AlarmName"]), str(alarm.get("StateValue"))
        reason = str(alarm.get("StateReason", ""))
        where = f"alarm {name}"
        # Without traffic few metrics have data, and that is as it should be.
        if state == "INSUFFICIENT_DATA" and has_traffic:
            yield Passage(kind="scaling", where=where, lines=(f"{state}: {reason}",))
        if state == "ALARM" and name in turning:
            line = f"{name}, whose alarm turns updates back, is in ALARM: {reason}"
            yield Passage(kind="scaling", where=where, lines=(line,))


def _readings(evidence: Evidence) -> Iterator[Passage]:
    for line in (
        *_stuck(evidence),
        *_scaling(evidence),
        *_quotas(evidence),
        *_measured(evidence),
    ):
        where, _, said = line.partition(": ")
        yield Passage(kind="reading", where=where, lines=(said,), runs=True)


def _stuck(evidence: Evidence) -> Iterator[str]:
    for answer, what, name, status in subjects(evidence):
        if status not in {"Creating", "Updating"}:
            continue
        began = answer["CreationTime" if status == "Creating" else "LastModifiedTime"]
        seconds = seconds_since(began, evidence.time)
        longest = max(_LONGEST, _INSTANCE + _allowed(evidence, answer))
        if seconds > longest:
            field = f"{what.title().replace(' ', '')}Status"
            yield (
                f"{what} {name}: {field}: {status} for {seconds / _MINUTE:.0f} min, "
                f"where {longest / _MINUTE:.0f} are allowed"
            )


def _allowed(evidence: Evidence, answer: Answer) -> float:
    """
    Return the seconds that a container has to download its model and to start.
    """
    start = _part(answer, "Specification", "StartupParameters")
    configs = {answer.get("EndpointConfigName")}
    settings = [start] + [
        variant
        for config in evidence.configs
        if config.get("EndpointConfigName") in configs
        for variant in config.get("ProductionVariants", ())
    ]
    return max(
        sum(float(each.get(name) or 0) for name in _STARTUP) for each in settings
    )


def _scaling(evidence: Evidence) -> Iterator[str]:
    asleep = {
        f"inference-component/{one['InferenceComponentName']}"
        for one in evidence.components
        if _part(one, "RuntimeConfig").get("CurrentCopyCount") == 0
        and one["InferenceComponentStatus"] == _RUNS
    }
    for target in evidence.targets:
        name = str(target["ResourceId"])
        where = f"scalable target {name}"
        policies = [one for one in evidence.policies if one["ResourceId"] == name]
        if not policies:
            yield f"{where}: it has no scaling policy, so that nothing scales it"
        elif name in asleep and not any(_wakes(evidence, one) for one in policies):
            yield (
                f"{where}: it has 0 copies, and no policy has an alarm on "
                "NoCapacityInvocationFailures that wakes it"
            )
        suspended = [key for key, on in _part(target, "SuspendedState").items() if on]
        if suspended:
            yield f"{where}: scaling is suspended: {', '.join(sorted(suspended))}"
        for policy in policies:
            yield from _cooldown(evidence, policy)


def _wakes(evidence: Evidence, policy: Answer) -> bool:
    names = {str(one.get("AlarmName")) for one in policy.get("Alarms", ())}
    return policy.get("PolicyType") == "StepScaling" and any(
        "NoCapacityInvocationFailures" in str(alarm)
        for alarm in evidence.alarms
        if alarm["AlarmName"] in names
    )


def _cooldown(evidence: Evidence, policy: Answer) -> Iterator[str]:
    """
    Tell of an alarm that cannot scale yet, since something has just scaled.
    """
    name = str(policy["ResourceId"])
    firing = {a["AlarmName"] for a in evidence.alarms if a.get("StateValue") == "ALARM"}
    if not firing & {one.get("AlarmName") for one in policy.get("Alarms", ())}:
        return
    ended = [
        str(one["EndTime"])
        for one in evidence.activities
        if one["ResourceId"] == name
        and one.get("StatusCode") == "Successful"
        and one.get("EndTime")
    ]
    tracking = _part(policy, "TargetTrackingScalingPolicyConfiguration")
    steps = _part(policy, "StepScalingPolicyConfiguration")
    for key, held in {
        "ScaleOutCooldown": tracking.get("ScaleOutCooldown"),
        "Cooldown": steps.get("Cooldown"),
    }.items():
        if not held or not ended:
            continue
        passed = seconds_since(max(ended), evidence.time)
        if 0 <= passed < float(held):
            yield (
                f"scaling policy {policy['PolicyName']} of {name}: the cooldown holds "
                f"it: {key}: {held} s, and it scaled {passed:.0f} s ago"
            )


def _quotas(evidence: Evidence) -> Iterator[str]:
    for quota in evidence.quotas:
        if float(quota.get("Value", 1)) == 0:
            yield f"service quotas: the quota {quota['QuotaName']} is 0"


def _measured(evidence: Evidence) -> Iterator[str]:
    for row in evidence.metrics:
        name, of, values = str(row["name"]), str(row["of"]), row.get("values") or (0,)
        highest, total, where = (
            max(values),
            sum(values),
            f"metric {name} of {row['of']}",
        )
        if name == "ModelLatency" and highest >= _NEAR_LIMIT:
            yield f"{where}: {name} reached {highest / 1e6:.1f} s"
        elif name == "NoCapacityInvocationFailures" and total:
            yield f"{where}: {total:g} {name} of {of}"
        elif name == "DiskUtilization" and highest >= _FULL:
            yield f"{where}: the disk is full: {name} reached {highest:.0f} %"
        elif name == "MemoryUtilization" and highest >= _FULL:
            yield f"{where}: the memory of the host is full: it reached {highest:.0f} %"


def seconds_since(moment: object, now: str) -> float:
    """
    Return the seconds from one moment of evidence to another.
    """
    then, end = (datetime.fromisoformat(str(one)) for one in (moment, now))
    then, end = (one if one.tzinfo else one.replace(tzinfo=UTC) for one in (then, end))
    return (end - then).total_seconds()


def _part(answer: Answer, *names: str) -> Mapping[str, Any]:
    """
    Return an object inside an answer; an empty one where it has none.
    """
    found: Any = answer
    for name in names:
        found = found.get(name) or {}
    return found  # type: ignore[no-any-return] # JSON
