"""
What an account measures of endpoints and components, and does about it: scaling,
alarms and metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from cdk_sagemaker_llm.account.evidence import Answer
from cdk_sagemaker_llm.account.reader import AccountReader, together

Signal = Callable[
    [AccountReader, Sequence[Answer], Sequence[Answer]], dict[str, list[Any]]
]

_RUNS = "InService"
# So many are asked one by one; of more, all of the account's are listed.
_FEW = 10
# ResourceIds of DescribeScalableTargets, and queries of GetMetricData.
_MOST_RESOURCES = 50
_MOST_QUERIES = 500
_MOST_ALARMS = 2000
_MOST_ACTIVITIES = 30
_METRICS_HOURS = 3
_PERIOD = 300
_COMPONENT_METRICS = (
    ("NoCapacityInvocationFailures", "Sum"),
    ("Invocation5XXErrors", "Sum"),
)
_VARIANT_METRICS = (
    ("AWS/SageMaker", "Invocations", "Sum"),
    ("AWS/SageMaker", "Invocation4XXErrors", "Sum"),
    ("AWS/SageMaker", "Invocation5XXErrors", "Sum"),
    ("AWS/SageMaker", "ModelLatency", "Maximum"),
    ("/aws/sagemaker/Endpoints", "MemoryUtilization", "Maximum"),
    ("/aws/sagemaker/Endpoints", "GPUMemoryUtilization", "Maximum"),
    ("/aws/sagemaker/Endpoints", "DiskUtilization", "Maximum"),
)


def troubled_first(components: Sequence[Answer]) -> list[Answer]:
    """
    Return the components, those that do not run first.
    """
    return sorted(components, key=lambda one: one["InferenceComponentStatus"] == _RUNS)


def _scaling(
    reader: AccountReader, endpoints: Sequence[Answer], components: Sequence[Answer]
) -> dict[str, list[Any]]:
    ids = _resource_ids(endpoints, components)
    if not ids:
        return {}
    questions = [
        partial(
            reader.rows,
            "application-autoscaling",
            "describe_scalable_targets",
            "ScalableTargets",
            ServiceNamespace="sagemaker",
            ResourceIds=ids[first : first + _MOST_RESOURCES],
        )
        for first in range(0, len(ids), _MOST_RESOURCES)
    ]
    targets = [row for rows in together(questions) for row in rows]
    signals: dict[str, list[Any]] = {"targets": targets}
    scaled = {str(one["ResourceId"]) for one in targets}
    for key, operation, rows, most in (
        ("policies", "describe_scaling_policies", "ScalingPolicies", 1000),
        (
            "activities",
            "describe_scaling_activities",
            "ScalingActivities",
            _MOST_ACTIVITIES,
        ),
    ):
        more = {"IncludeNotScaledActivities": True} if key == "activities" else {}
        one_by_one = [{"ResourceId": one} for one in sorted(scaled)]
        filters = one_by_one if len(scaled) <= _FEW else [{}]
        found = together(
            partial(
                reader.rows,
                "application-autoscaling",
                operation,
                rows,
                most=most * (1 if each else _FEW),
                ServiceNamespace="sagemaker",
                **each,
                **more,
            )
            for each in filters
        )
        signals[key] = [
            row for rows in found for row in rows if row["ResourceId"] in scaled
        ]
    return signals


def _alarms(
    reader: AccountReader, endpoints: Sequence[Answer], components: Sequence[Answer]
) -> dict[str, list[Any]]:
    names = {str(one["EndpointName"]) for one in endpoints}
    names |= {str(one["InferenceComponentName"]) for one in components}
    turning = {
        str(alarm["AlarmName"])
        for endpoint in endpoints
        for alarm in turning_alarms(endpoint)
    }
    rows = reader.rows(
        "cloudwatch", "describe_alarms", "MetricAlarms", most=_MOST_ALARMS
    )
    found = [
        row
        for row in rows
        if row["AlarmName"] in turning or names & set(_dimensions(row))
    ]
    return {"alarms": found}


def _metrics(
    reader: AccountReader, endpoints: Sequence[Answer], components: Sequence[Answer]
) -> dict[str, list[Any]]:
    metrics = [
        (space, name, statistic, dimensions)
        for endpoint in endpoints
        for variant in variants_of(endpoint)
        for space, name, statistic in _VARIANT_METRICS
        for dimensions in [
            {
                "EndpointName": str(endpoint["EndpointName"]),
                "VariantName": str(variant["VariantName"]),
            }
        ]
    ]
    metrics += [
        ("AWS/SageMaker", name, statistic, {"InferenceComponentName": component})
        for one in troubled_first(components)
        for component in [str(one["InferenceComponentName"])]
        for name, statistic in _COMPONENT_METRICS
    ]
    if not metrics:
        return {}
    end = reader.now()
    queries = [_query(i, *each) for i, each in enumerate(metrics[:_MOST_QUERIES])]
    answers = reader.rows(
        "cloudwatch",
        "get_metric_data",
        "MetricDataResults",
        MetricDataQueries=queries,
        StartTime=end - timedelta(hours=_METRICS_HOURS),
        EndTime=end,
        ScanBy="TimestampAscending",
    )
    values: dict[int, list[float]] = {}
    for row in answers:
        values.setdefault(int(row["Id"][1:]), []).extend(row["Values"])
    rows = [
        {
            "name": metrics[number][1],
            "of": "/".join(metrics[number][3].values()),
            "statistic": metrics[number][2],
            "values": found,
        }
        for number, found in sorted(values.items())
        if found
    ]
    return {"metrics": rows}


SIGNALS: tuple[Signal, ...] = (_scaling, _alarms, _metrics)
"""
What is asked of endpoints and components, each at the same time as the others.
"""


def _resource_ids(
    endpoints: Sequence[Answer], components: Sequence[Answer]
) -> list[str]:
    return [
        f"endpoint/{endpoint['EndpointName']}/variant/{variant['VariantName']}"
        for endpoint in endpoints
        for variant in variants_of(endpoint)
    ] + [
        f"inference-component/{component['InferenceComponentName']}"
        for component in components
    ]


def variants_of(endpoint: Answer) -> list[Answer]:
    """
    Return an endpoint's variants as they run, or as they are to.
    """
    pending = endpoint.get("PendingDeploymentSummary") or {}
    found = endpoint.get("ProductionVariants") or pending.get("ProductionVariants")
    return list(found or ())


def turning_alarms(endpoint: Answer) -> list[Answer]:
    """
    Return the alarms that turn an endpoint's updates back.
    """
    config = endpoint.get("LastDeploymentConfig") or {}
    return list((config.get("AutoRollbackConfiguration") or {}).get("Alarms", ()))


def _dimensions(alarm: Answer) -> Iterator[str]:
    parts = [alarm] + [
        (each.get("MetricStat") or {}).get("Metric") or {}
        for each in alarm.get("Metrics", ())
    ]
    for part in parts:
        for dimension in part.get("Dimensions", ()):
            yield str(dimension["Value"])


def _query(
    number: int, space: str, name: str, statistic: str, dimensions: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "Id": f"m{number}",
        "MetricStat": {
            "Metric": {
                "Namespace": space,
                "MetricName": name,
                "Dimensions": [
                    {"Name": key, "Value": value} for key, value in dimensions.items()
                ],
            },
            "Period": _PERIOD,
            "Stat": statistic,
        },
    }
