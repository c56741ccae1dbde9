"""
What is under way: what happens now, and how long it usually takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cdk_sagemaker_llm.account.evidence import Answer, Evidence
from cdk_sagemaker_llm.account.passages import seconds_since, subjects
from cdk_sagemaker_llm.account.signals import variants_of
from cdk_sagemaker_llm.catalog.startup_times import UsualTime, usual_time

_MINUTE = 60.0
# What DescribeEndpoint calls the stages of a variant.
_STAGES = {
    "ActivatingTraffic": "traffic is moved to the new instances",
    "Baking": "the new instances are watched before the old ones go",
    "Creating": "instances are made, and the container is started",
    "Deleting": "instances are taken away",
    "Updating": "instances are changed",
}
_GOING = frozenset({"Creating", "Updating", "SystemUpdating", "Deleting"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """
    What something that is under way does now.

    Args:
        seconds: How long it has been under way.

        usual: How long it usually takes; ``None`` where nothing is published.
    """

    what: str
    status: str
    now: str
    seconds: float
    usual: UsualTime | None


def steps(evidence: Evidence) -> Iterator[Step]:
    """
    List what is under way.
    """
    for answer, what, name, status in subjects(evidence):
        if status not in _GOING:
            continue
        began = answer["CreationTime" if status == "Creating" else "LastModifiedTime"]
        yield Step(
            what=f"{what} {name}",
            status=status,
            now=_now(evidence, answer, what, name),
            seconds=max(0.0, seconds_since(began, evidence.time)),
            usual=None if status == "Deleting" else _usual(evidence, answer, what),
        )


def minutes(seconds: float) -> str:
    """
    Write a time as people say it.
    """
    return f"{seconds / _MINUTE:.0f} min"


def usual_words(usual: UsualTime) -> str:
    """
    Write how long something usually takes.
    """
    least, most = (f"{max(1, seconds / _MINUTE):.0f}" for seconds in _span(usual))
    span = least if least == most else f"{least} to {most}"
    whose = f"ml.{usual.of}" if usual.of != "any" else "any instance type"
    return f"usually {span} min ({usual.publications} published, {whose})"


def _span(usual: UsualTime) -> tuple[float, float]:
    return usual.least, usual.most


def _now(evidence: Evidence, answer: Answer, what: str, name: str) -> str:
    place = "Endpoints" if what == "endpoint" else "InferenceComponents"
    said = [
        str(line.get("text", "")).strip()
        for log in evidence.logs
        if log.get("group") == f"/aws/sagemaker/{place}/{name}"
        for line in log.get("lines", ())
    ]
    if said:
        return f"the container is starting; it last said: {said[-1][:120]}"
    stages = [
        str(stage.get("StatusMessage") or _STAGES.get(str(stage.get("Status")), ""))
        for variant in variants_of(answer)
        for stage in variant.get("VariantStatus") or ()
    ]
    if found := next(filter(None, stages), ""):
        return found
    if what == "endpoint":
        return "instances are looked for, then the image is pulled; no log yet"
    return "a place is looked for, then image and weights are fetched; no log yet"


def _usual(evidence: Evidence, answer: Answer, what: str) -> UsualTime:
    name = answer["EndpointName"]
    configs = {
        one["EndpointConfigName"]
        for one in evidence.endpoints
        if one["EndpointName"] == name
    }
    variants = [
        variant
        for config in evidence.configs
        if config["EndpointConfigName"] in configs
        for variant in config.get("ProductionVariants", ())
    ]
    kind = "component"
    if what == "endpoint":
        has_model = any(one.get("ModelName") for one in variants)
        kind = "model" if has_model else "host"
    types = [str(one["InstanceType"]) for one in variants if one.get("InstanceType")]
    return usual_time(kind, types[0] if types else "")
