"""
What AWS shows of something that exists, as the request that would make it: what was
left to the service, and what it has added since, is not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

# What a description adds to what was asked for.
_SHOWN_OF_CONFIG = ("EndpointConfigArn", "CreationTime")
_SHOWN_OF_MODEL = ("ModelArn", "CreationTime", "DeploymentRecommendation")
_SHOWN_OF_SPECIFICATION = ("CurrentDataCacheConfig",)
_ALARM = (
    *("AlarmName", "AlarmDescription", "ActionsEnabled", "OKActions", "AlarmActions"),
    *("InsufficientDataActions", "MetricName", "Namespace", "Statistic"),
    *("ExtendedStatistic", "Dimensions", "Period", "Unit", "EvaluationPeriods"),
    *("DatapointsToAlarm", "Threshold", "ComparisonOperator", "TreatMissingData"),
    *("EvaluateLowSampleCountPercentile", "Metrics", "ThresholdMetricId"),
)
_POLICY = (
    *("PolicyName", "ServiceNamespace", "ResourceId", "ScalableDimension"),
    *("PolicyType", "StepScalingPolicyConfiguration"),
    *(
        "TargetTrackingScalingPolicyConfiguration",
        "PredictiveScalingPolicyConfiguration",
    ),
)
_ACTION = (
    *("ServiceNamespace", "Schedule", "Timezone", "ScheduledActionName", "ResourceId"),
    *("ScalableDimension", "StartTime", "EndTime", "ScalableTargetAction"),
)


def parameters_of(operation: str, description: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return the parameters of a request, as it can be written.

    Args:
        operation: The request's, such as ``CreateModel``.

        description: What the service shows of what it made.
    """
    parameters: dict[str, Any] = _plain(_REQUESTS[operation](description))
    return parameters


def is_adapter(component: Mapping[str, Any]) -> bool:
    """
    Whether a component is an adapter on another one.
    """
    return bool(
        (component.get("Specification") or {}).get("BaseInferenceComponentName")
    )


def _model(description: Mapping[str, Any]) -> dict[str, Any]:
    model = _without(description, _SHOWN_OF_MODEL)
    if not model.get("EnableNetworkIsolation"):
        model.pop("EnableNetworkIsolation", None)
    if "PrimaryContainer" in model:
        model["PrimaryContainer"] = _container(model["PrimaryContainer"])
    if "Containers" in model:
        model["Containers"] = [_container(one) for one in model["Containers"]]
        if not model["Containers"]:
            del model["Containers"]
    return model


def _container(description: Mapping[str, Any]) -> dict[str, Any]:
    container = dict(description)
    source = (container.get("ModelDataSource") or {}).get("S3DataSource") or {}
    # A tarball is shown twice, and a request may name it once.
    if container.get("ModelDataUrl") and source.get("CompressionType") == "Gzip":
        del container["ModelDataSource"]
    if container.get("Mode") == "SingleModel":
        del container["Mode"]
    return {name: value for name, value in container.items() if value not in ({}, [])}


def _config(description: Mapping[str, Any]) -> dict[str, Any]:
    config = _without(description, _SHOWN_OF_CONFIG)
    if not config.get("EnableNetworkIsolation"):
        config.pop("EnableNetworkIsolation", None)
    return {name: value for name, value in config.items() if value not in ({}, [])}


def _endpoint(description: Mapping[str, Any]) -> dict[str, Any]:
    endpoint = _members(description, ("EndpointName", "EndpointConfigName"))
    if description.get("LastDeploymentConfig"):
        endpoint["DeploymentConfig"] = description["LastDeploymentConfig"]
    return endpoint


def _component(description: Mapping[str, Any]) -> dict[str, Any]:
    component = _members(
        description, ("InferenceComponentName", "EndpointName", "VariantName")
    )
    if description.get("Specification"):
        component["Specification"] = _specification(description["Specification"])
    if description.get("Specifications"):
        component["Specifications"] = [
            _specification(one) for one in description["Specifications"]
        ]
    copies = (description.get("RuntimeConfig") or {}).get("DesiredCopyCount")
    if copies is not None and not is_adapter(description):
        component["RuntimeConfig"] = {"CopyCount": copies}
    if description.get("LastDeploymentConfig"):
        component["DeploymentConfig"] = description["LastDeploymentConfig"]
    return component


def _specification(description: Mapping[str, Any]) -> dict[str, Any]:
    specification = _without(description, _SHOWN_OF_SPECIFICATION)
    container = dict(specification.get("Container") or {})
    image = container.pop("DeployedImage", None) or {}
    if image.get("SpecifiedImage"):
        container["Image"] = image["SpecifiedImage"]
    if container:
        specification["Container"] = container
    else:
        specification.pop("Container", None)
    return {name: one for name, one in specification.items() if one not in ({}, [])}


def _target(description: Mapping[str, Any]) -> dict[str, Any]:
    target = _members(
        description,
        (
            *("ServiceNamespace", "ResourceId", "ScalableDimension"),
            *("MinCapacity", "MaxCapacity", "SuspendedState"),
        ),
    )
    # Where nothing was said, the service answers that nothing is suspended.
    if not any((target.get("SuspendedState") or {}).values()):
        target.pop("SuspendedState", None)
    return target


def _alarm(description: Mapping[str, Any]) -> dict[str, Any]:
    alarm = _members(description, _ALARM)
    if alarm.get("ActionsEnabled") is True:
        del alarm["ActionsEnabled"]
    return alarm


def _policy(description: Mapping[str, Any]) -> dict[str, Any]:
    return _members(description, _POLICY)


def _action(description: Mapping[str, Any]) -> dict[str, Any]:
    return _members(description, _ACTION)


def _members(description: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {
        name: description[name]
        for name in names
        if description.get(name) is not None and description[name] not in ({}, [], "")
    }


def _without(description: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {
        name: value
        for name, value in description.items()
        if name not in names and value is not None
    }


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever boto3 answers
    """
    Return a request as it can be written: times as texts, whole numbers as such.
    """
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


_REQUESTS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "CreateModel": _model,
    "CreateEndpointConfig": _config,
    "CreateEndpoint": _endpoint,
    "CreateInferenceComponent": _component,
    "RegisterScalableTarget": _target,
    "PutScheduledAction": _action,
    "PutScalingPolicy": _policy,
    "PutMetricAlarm": _alarm,
}
