"""
The resources that CloudFormation takes for a deployment's requests, and by what it
finds those that exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from cdk_sagemaker_llm.adoption.deployment import Deployment, Hidden, Open, Request

MODEL = "AWS::SageMaker::Model"
ENDPOINT_CONFIG = "AWS::SageMaker::EndpointConfig"
ENDPOINT = "AWS::SageMaker::Endpoint"
COMPONENT = "AWS::SageMaker::InferenceComponent"
TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"
POLICY = "AWS::ApplicationAutoScaling::ScalingPolicy"
ALARM = "AWS::CloudWatch::Alarm"

_KINDS = {
    "CreateModel": (MODEL, "ModelName"),
    "CreateEndpointConfig": (ENDPOINT_CONFIG, "EndpointConfigName"),
    "CreateEndpoint": (ENDPOINT, "EndpointName"),
    "CreateInferenceComponent": (COMPONENT, "InferenceComponentName"),
    "RegisterScalableTarget": (TARGET, "ResourceId"),
    "PutScalingPolicy": (POLICY, "PolicyName"),
    "PutMetricAlarm": (ALARM, "AlarmName"),
}
TARGET_KEY = ("ResourceId", "ScalableDimension", "ServiceNamespace")
# Neither is ever named: both are replaced at every change, and a name would collide.
_NAMELESS = {MODEL, ENDPOINT_CONFIG}


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptedResource:
    """
    One resource of the app, and what it is known by.

    Args:
        type: Its CloudFormation type.

        name: Its physical name: of a scalable target what is scaled, of a policy its
            own, unique within its target alone.

        properties: Its properties as CloudFormation takes them, with the names of
            others in the place of references.

        request: What makes it.
    """

    type: str
    name: str
    properties: Mapping[str, Any]
    request: Request = field(repr=False)

    @property
    def arn(self) -> str:
        """
        Its ARN; empty where it does not exist yet.
        """
        return self.request.arn

    @property
    def identifier(self) -> Mapping[str, str]:
        """
        The properties that CloudFormation finds it by: the registry's
        ``primaryIdentifier``.
        """
        if self.type == TARGET:
            return {key: str(self.properties[key]) for key in TARGET_KEY}
        if self.type == POLICY:
            dimension = str(self.request.parameters["ScalableDimension"])
            return {"Arn": self.arn, "ScalableDimension": dimension}
        if self.type == ALARM:
            return {"AlarmName": self.name}
        return {f"{self.type.rpartition(':')[2]}Arn": self.arn}

    @property
    def physical_id(self) -> str:
        """
        What a reference to it comes to.
        """
        if self.type == TARGET:
            return "|".join(self.identifier.values())
        if self.type == ALARM:
            return self.name
        if self.type == POLICY and not self.arn:
            return f"policy/{self.scaled}/{self.name}"
        return self.arn or f"arn:{self.type.rpartition(':')[2]}/{self.name}"

    @property
    def scaled(self) -> str:
        """
        What a policy or a target scales, such as ``endpoint/chat/variant/AllTraffic``.
        """
        return str(self.request.parameters.get("ResourceId", ""))


def resources_of(deployment: Deployment) -> list[AdoptedResource]:
    """
    Return the resources of a deployment, in the order of its requests.
    """
    actions: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for request in deployment.of("PutScheduledAction"):
        actions.setdefault(_scaled_number(request), []).append(
            {
                name: value
                for name, value in request.parameters.items()
                if name not in TARGET_KEY
            }
        )
    return [
        _resource(request, actions)
        for request in deployment.requests
        if request.operation in _KINDS
    ]


def _resource(
    request: Request, actions: Mapping[tuple[str, ...], Sequence[Mapping[str, Any]]]
) -> AdoptedResource:
    kind, naming = _KINDS[request.operation]
    properties = dict(request.parameters)
    name = str(properties.get(naming, ""))
    if kind in _NAMELESS:
        properties.pop(naming, None)
    if kind == TARGET:
        properties.pop("RoleARN", None)
        if _scaled_number(request) in actions:
            properties["ScheduledActions"] = actions[_scaled_number(request)]
        if properties.get("Tags"):
            properties["Tags"] = [
                {"Key": key, "Value": value}
                for key, value in properties["Tags"].items()
            ]
    return AdoptedResource(type=kind, name=name, properties=properties, request=request)


def _scaled_number(request: Request) -> tuple[str, ...]:
    return tuple(str(request.parameters.get(key)) for key in TARGET_KEY)


def differences(
    target: object, found: object, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], object]]:
    """
    Return what has to be set in a value, by its path, for it to be the target; ``None``
    for what has to go.

    Args:
        target: How it is to be.

        found: How it is.
    """
    if isinstance(target, Mapping) and isinstance(found, Mapping):
        for key in {**target, **found}:
            yield from differences(target.get(key), found.get(key), (*path, str(key)))
    elif (
        _are_items(target) and _are_items(found) and len(target) == len(found)  # type: ignore[arg-type] # lists
    ):
        pairs = zip(target, found, strict=True)  # type: ignore[call-overload] # lists
        for number, (one, other) in enumerate(pairs):
            yield from differences(one, other, (*path, str(number)))
    elif not _is_same(target, found):
        yield path, target


def _are_items(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, Mapping) for one in value)


def _is_same(target: object, found: object) -> bool:
    if isinstance(target, Open):
        return found is not None
    if isinstance(target, Hidden):
        return str(found).startswith("{{resolve:secretsmanager:")
    if isinstance(target, list) and isinstance(found, list):
        return len(target) == len(found) and all(map(_is_same, target, found))
    if isinstance(target, bool) or isinstance(found, bool):
        return target is found
    if isinstance(target, str) and isinstance(found, str) and target != found:
        return _moment(target) is not None and _moment(target) == _moment(found)
    return target == found


def _moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
