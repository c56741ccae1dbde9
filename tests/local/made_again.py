"""
What an app makes, held against what it was written for: its template is deployed beside
that, under other names, and both are described.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.aws.untyped import Untyped

_NAMING = ("EndpointName", "InferenceComponentName", "AlarmName")
_ENDING = "-again"
# What names, numbers or dates one of two.
_OWN = re.compile(
    r"(?:(?:Endpoint|EndpointConfig|Model|InferenceComponent|ScalableTarget|Alarm|"
    r"Policy|ScheduledAction)(?:Arn|ARN)|\w*(?:Time|Timestamp)|ResponseMetadata|"
    r"State(?:Reason\w*|Value)|Alarms|ModelName(?:Override)?|EndpointConfigName)\Z"
)
# These are what there is where nothing is said.
_SAID_OR_NOT = (("Mode", "SingleModel"), ("EnableNetworkIsolation", False))
_NUMBER = re.compile(r"(?<=scalingPolicy:)[0-9a-f-]{36}")


def made_again(
    aws: EmbeddedAws, template: Path, endpoints: Sequence[str]
) -> dict[str, Untyped]:
    """
    Deploy a template under other names, and return what then is described of its
    endpoints, by the names that they have there; delete it again.

    Args:
        aws: Where they are.

        template: What the app synthesises to.

        endpoints: Their names.
    """
    body = json.loads(template.read_text("utf-8"))
    for one in body["Resources"].values():
        one.pop("DeletionPolicy", None)
    text = json.dumps(body)
    names = {
        one["Properties"][name]
        for one in body["Resources"].values()
        for name in _NAMING
        if isinstance(one["Properties"].get(name), str)
    }
    words = "|".join(map(re.escape, names))
    # Whole, or as what is scaled: in the address of a bucket they stay.
    own = rf'(?<=")((?:endpoint/|inference-component/)?(?:{words}))(?=["/])'
    other = re.sub(own, rf"\1{_ENDING}", text)
    stack = f"{template.name.partition('.')[0]}Again"
    stacks = aws.client("cloudformation")
    made = stacks.create_stack(StackName=stack, TemplateBody=other)
    status = _settled(stacks, made["StackId"])
    if status != "CREATE_COMPLETE":
        events = stacks.describe_stack_events(StackName=stack)["StackEvents"]
        raise AssertionError([one.get("ResourceStatusReason") for one in events])
    found = described(aws, [f"{name}{_ENDING}" for name in endpoints])
    stacks.delete_stack(StackName=stack)
    _settled(stacks, made["StackId"])
    again: dict[str, Untyped] = json.loads(json.dumps(found).replace(_ENDING, ""))
    return again


def _settled(stacks: Untyped, stack_id: str) -> str:
    status = ""
    while not status or status.endswith("IN_PROGRESS"):
        time.sleep(0.05)
        (row,) = stacks.describe_stacks(StackName=stack_id)["Stacks"]
        status = row["StackStatus"]
    return status


def described(aws: EmbeddedAws, endpoints: Sequence[str]) -> dict[str, Untyped]:
    """
    Return what is described of endpoints, each with all that belongs to it, without
    numbers and dates.
    """
    found = {name: _described(aws, name) for name in endpoints}
    plain: dict[str, Untyped] = json.loads(json.dumps(found, default=str))
    return plain


def _described(aws: EmbeddedAws, endpoint: str) -> Untyped:
    sagemaker = aws.client("sagemaker")
    shown = sagemaker.describe_endpoint(EndpointName=endpoint)
    config = sagemaker.describe_endpoint_config(
        EndpointConfigName=shown["EndpointConfigName"]
    )
    rows = sagemaker.list_inference_components(EndpointNameEquals=endpoint)
    components = [
        sagemaker.describe_inference_component(
            InferenceComponentName=one["InferenceComponentName"]
        )
        for one in rows["InferenceComponents"]
    ]
    components.sort(key=lambda one: str(one["InferenceComponentName"]))
    models = [
        sagemaker.describe_model(ModelName=name)
        for name in _values([config, components], "ModelName")
    ]
    every = [shown, config, *components, *models]
    arns = [
        value
        for one in every
        for key, value in one.items()
        if key.endswith("Arn") and key not in ("ExecutionRoleArn", "RoleArn")
    ]
    found = {
        "rollout": shown.get("LastDeploymentConfig"),
        "config": config,
        "components": components,
        "models": models,
        "tags": [_tags(sagemaker, arn) for arn in arns],
        "scaling": _scaling(aws, endpoint, components),
        "alarms": _alarms(
            aws, {endpoint, *_values(components, "InferenceComponentName")}
        ),
    }
    return _without_own(found)


def _values(value: Untyped, name: str) -> Iterator[str]:
    if isinstance(value, dict):
        if name in value:
            yield value[name]
        for one in value.values():
            yield from _values(one, name)
    elif isinstance(value, list):
        for one in value:
            yield from _values(one, name)


def _tags(sagemaker: Untyped, arn: str) -> list[tuple[str, str]]:
    rows = sagemaker.list_tags(ResourceArn=arn)["Tags"]
    return sorted(
        (row["Key"], row["Value"]) for row in rows if not row["Key"].startswith("aws:")
    )


def _scaling(
    aws: EmbeddedAws, endpoint: str, components: Sequence[dict[str, Any]]
) -> list[Any]:
    client = aws.client("application-autoscaling")
    names = {one["InferenceComponentName"] for one in components}
    scaled = (f"endpoint/{endpoint}/", *(f"inference-component/{n}/" for n in names))
    kinds = {
        "describe_scalable_targets": "ScalableTargets",
        "describe_scaling_policies": "ScalingPolicies",
        "describe_scheduled_actions": "ScheduledActions",
    }
    return [
        sorted(
            (
                row
                for page in client.get_paginator(operation).paginate(
                    ServiceNamespace="sagemaker"
                )
                for row in page[key]
                if f"{row['ResourceId']}/".startswith(scaled)
            ),
            key=lambda row: json.dumps(_without_own(row), default=str, sort_keys=True),
        )
        for operation, key in kinds.items()
    ]


def _alarms(aws: EmbeddedAws, watched: set[str]) -> list[Any]:
    rows = aws.client("cloudwatch").describe_alarms()["MetricAlarms"]
    return sorted(
        (
            row
            for row in rows
            if watched & {one["Value"] for one in row.get("Dimensions", ())}
            # Those of target tracking are named after their policy.
            and not row["AlarmName"].startswith("TargetTracking-")
        ),
        key=lambda row: str(row["AlarmName"]),
    )


def _without_own(value: Untyped) -> Untyped:
    if isinstance(value, dict):
        plain = {k: _without_own(v) for k, v in value.items() if not _OWN.match(k)}
        return {
            k: v for k, v in plain.items() if v != {} and (k, v) not in _SAID_OR_NOT
        }
    if isinstance(value, list):
        return [_without_own(one) for one in value]
    return _NUMBER.sub("", value) if isinstance(value, str) else value
