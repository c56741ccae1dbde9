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


def parameters_of(operation: str, shown: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return the parameters of a request, as it can be written.

    Args:
        operation: The request's, such as ``CreateModel``.

        shown: What the service shows of what it made.
    """
    parameters: dict[str, Any] = _plain(_REQUESTS[operation](shown))
    return parameters


def is_adapter(component: Mapping[str, Any]) -> bool:
    """
    Whether a component is an adapter on another one.
    """
    return bool(
        (component.get("Specification") or {}).get("BaseInferenceComponentName")
    )


def _model(shown: Mapping[str, Any]) -> dict[str, Any]:
    model = _without(shown, _SHOWN_OF_MODEL)
    if not model.get("EnableNetworkIsolation"):
        model.pop("EnableNetworkIsolation", None)
    if "PrimaryContainer" in model:
        model["PrimaryContainer"] = _container(model["PrimaryContainer"])
    if "Containers" in model:
        model["Containers"] = [_container(one) for one in model["Containers"]]
        if not model["Containers"]:
            del model["Containers"]
    return model


def _container(shown: Mapping[str, Any]) -> dict[str, Any]:
    container = dict(shown)
    source = (container.get("ModelDataSource") or {}).get("S3DataSource") or {}
    # A tarball is shown twice, and a request may name it once.
    if container.get("ModelDataUrl") and source.get("CompressionType") == "Gzip":
        del container["ModelDataSource"]
    if container.get("Mode") == "SingleModel":
        del container["Mode"]
    return {name: value for name, value in container.items() if value not in ({}, [])}


def _config(shown: Mapping[str, Any]) -> dict[str, Any]:
    config = _without(shown, _SHOWN_OF_CONFIG)
    if not config.get("EnableNetworkIsolation"):
        config.pop("EnableNetworkIsolation", None)
    return {name: value for name, value in config.items() if value not in ({}, [])}


def _endpoint(shown: Mapping[str, Any]) -> dict[str, Any]:
    endpoint = _members(shown, ("EndpointName", "EndpointConfigName"))
    if shown.get("LastDeploymentConfig"):
        endpoint["DeploymentConfig"] = shown["LastDeploymentConfig"]
    return endpoint


def _component(shown: Mapping[str, Any]) -> dict[str, Any]:
    component = _members(
        shown, ("InferenceComponentName", "EndpointName", "VariantName")
    )
    if shown.get("Specification"):
        component["Specification"] = _specification(shown["Specification"])
    if shown.get("Specifications"):
        component["Specifications"] = [
            _specification(one) for one in shown["Specifications"]
        ]
    copies = (shown.get("RuntimeConfig") or {}).get("DesiredCopyCount")
    if copies is not None and not is_adapter(shown):
        component["RuntimeConfig"] = {"CopyCount": copies}
    if shown.get("LastDeploymentConfig"):
        component["DeploymentConfig"] = shown["LastDeploymentConfig"]
    return component


def _specification(shown: Mapping[str, Any]) -> dict[str, Any]:
    specification = _without(shown, _SHOWN_OF_SPECIFICATION)
    container = dict(specification.get("Container") or {})
    image = container.pop("DeployedImage", None) or {}
    if image.get("SpecifiedImage"):
        container["Image"] = image["SpecifiedImage"]
    if container:
        specification["Container"] = container
    else:
        specification.pop("Container", None)
    return {name: one for name, one in specification.items() if one not in ({}, [])}


def _target(shown: Mapping[str, Any]) -> dict[str, Any]:
    target = _members(
        shown,
        (
            *("ServiceNamespace", "ResourceId", "ScalableDimension"),
            *("MinCapacity", "MaxCapacity", "SuspendedState"),
        ),
    )
    # Where nothing was said, the service answers that nothing is suspended.
    if not any((target.get("SuspendedState") or {}).values()):
        target.pop("SuspendedState", None)
    return target


def _alarm(shown: Mapping[str, Any]) -> dict[str, Any]:
    alarm = _members(shown, _ALARM)
    if alarm.get("ActionsEnabled") is True:
        del alarm["ActionsEnabled"]
    return alarm


def _policy(shown: Mapping[str, Any]) -> dict[str, Any]:
    return _members(shown, _POLICY)


def _action(shown: Mapping[str, Any]) -> dict[str, Any]:
    return _members(shown, _ACTION)


def _members(shown: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {
        name: shown[name]
        for name in names
        if shown.get(name) is not None and shown[name] not in ({}, [], "")
    }


def _without(shown: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {
        name: value
        for name, value in shown.items()
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
