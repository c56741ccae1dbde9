"""
Metrics of the CDK, made from what the service publishes, and how they are read: by the
CDK's own options and by those of SageMaker's dimensions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypedDict

from constructs import Construct

from cdk_sagemaker_llm.arguments import kind_of
from cdk_sagemaker_llm.catalog.instances import InstanceType, find_instance_type
from cdk_sagemaker_llm.catalog.metrics import PublishedMetric, published_metric
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.limits import UNCOUNTABLE, seconds, time_findings
from cdk_sagemaker_llm.hosting.common.reporting import report
from cdk_sagemaker_llm.serving.parameters import (
    IMPOSSIBLE_NAME,
    OUTSIDE_RANGE,
    WRONG_KIND,
)
from cdk_sagemaker_llm.text import any_of
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import Duration
    from aws_cdk import aws_cloudwatch as cloudwatch

_GUIDE = "SageMaker developer guide, monitoring-cloudwatch"
NO_SUCH_STATISTIC = Rule(
    "LLM360", "a metric is read by a statistic that it does not have", _GUIDE
)
NOT_PUBLISHED = Rule(
    "LLM361",
    "a metric is one that the service does not publish of the resource",
    _GUIDE,
)
Devices = Literal["accelerators", "vcpus"]

_KINDS: Mapping[str, str] = {
    "statistic": "str",
    "period": "Duration",
    "label": "str",
    "color": "str",
    "dimensions_map": "Mapping[str, str]",
    "instance_type": "str",
}
_MINUTE = 60
# What the CDK takes of a metric (aws-cdk-lib, aws-cloudwatch/lib/metric.ts).
_SHORT_PERIODS = (1, 5, 10, 30)
# CloudWatch API reference, Dimension; the CDK takes no more than 255 characters.
_DIMENSION = re.compile(r"(?=.*[!-~])[ -~]{1,255}\Z")
# CloudWatch user guide, dashboard body structure.
_COLOR = re.compile(r"#[0-9a-fA-F]{6}\Z")


def normalised(
    subject: Subject,
    name: str,
    options: MetricOptions,
    *,
    of_one_type: str = "choose one with instance_type",
) -> cloudwatch.Metric | cloudwatch.MathExpression:
    """
    Make a metric of utilisation from 0 to 100, whatever the number of devices.

    The service publishes one for hosts of components; where a model fills the
    instances, it is computed from the raw one, which goes to 100 times the devices.
    """
    if not subject.has_model:
        return metric_of(subject, name, options)
    raw = name.removesuffix("Normalized")
    metric = metric_of(subject, raw, options)
    by: Devices = "vcpus" if raw == "CPUUtilization" else "accelerators"
    of_type = options.get("instance_type")
    hardware = subject.hardware
    if of_type is not None and not is_unresolved(of_type):
        hardware = (find_instance_type(of_type),)
    devices = devices_of(hardware, by)
    if not devices:
        which, remedy = "not known", f"read {raw}, which goes to 100 times that number"
        if devices == 0:
            which = f"0 for {hardware[0]}"
        elif len(hardware) > 1:
            which, remedy = "not the same for all types", of_one_type
        fault = (
            f"{name} is computed from the number of {by} of an instance, which is "
            f"{which}"
        )
        report(subject.construct, "", [NOT_PUBLISHED.finding(fault, remedy)])
    from aws_cdk import aws_cloudwatch as cloudwatch  # noqa: PLC0415 - a fifth of a second

    return cloudwatch.MathExpression(
        expression=f"raw / {devices}",
        using_metrics={"raw": metric},
        label=options.get("label", name),
        color=options.get("color"),
        period=metric.period,
    )


def metric_of(subject: Subject, name: str, options: MetricOptions) -> cloudwatch.Metric:
    """
    Make a metric by the service's name of it, or refuse how it is to be read.
    """
    from aws_cdk import Duration  # noqa: PLC0415 - beside the module that needs it
    from aws_cdk import aws_cloudwatch as cloudwatch  # noqa: PLC0415 - a fifth of a second

    row = published_metric(name, tuple(subject.dimensions))
    found = list(_kind_findings(options)) or [
        *_statistic_findings(row, options),
        *period_findings(options.get("period"), _SHORT_PERIODS),
        *_text_findings(options),
        *_published_findings(subject, row),
    ]
    report(subject.construct, "", found)
    of_type = options.get("instance_type")
    return cloudwatch.Metric(
        namespace=row.namespace,
        metric_name=row.name,
        dimensions_map={
            **subject.dimensions,
            **({} if of_type is None else {"InstanceType": of_type}),
            **options.get("dimensions_map", {}),
        },
        statistic=options.get("statistic", row.default_statistic),
        period=options.get("period") or Duration.minutes(1),
        label=options.get("label"),
        color=options.get("color"),
        account=subject.account,
        region=subject.region,
        # No unit: CloudWatch would leave out what it holds under another.
    ).attach_to(subject.construct)


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """
    The subject of a metric: the construct that defines it, and dimensions.

    Of the instances' types there are the names and what is known of them, ``None``
    where nothing is; the others are where nothing is known of an endpoint. Account and
    region are those of what is imported from others than the stack's.
    """

    construct: Construct
    dimensions: Mapping[str, str]
    hardware: tuple[InstanceType | None, ...] = ()
    has_model: bool | None = None
    is_async: bool | None = None
    account: str | None = None
    region: str | None = None
    types: tuple[str, ...] = ()

    @property
    def endpoint(self) -> Subject:
        """
        Its endpoint, whatever the variant.
        """
        dimensions = {"EndpointName": self.dimensions["EndpointName"]}
        return replace(self, dimensions=dimensions)


def devices_of(hardware: Iterable[InstanceType | None], by: Devices) -> int | None:
    """
    Return the number of devices that each instance has; ``None`` if they differ, or
    it is not known.
    """
    counts = {None if each is None else getattr(each, by) for each in hardware}
    return counts.pop() if len(counts) == 1 else None


class MetricOptions(TypedDict, total=False):
    """
    How a metric is to be read; each may be omitted.

    Args:
        statistic:
            One of the metric's valid statistics, such as ``Average`` or ``p99``.
            If omitted, it is the sum of what is counted, the average of what is
            measured, and the maximum of requests under way.

        period:
            The time that one value stands for.
            If omitted, it is a minute.

        label:
            Its name in a graph.
            If omitted, it is the metric's own.

        color:
            Its colour in a graph, such as ``#1f77b4``.
            If omitted, CloudWatch chooses.

        dimensions_map:
            Further dimensions, such as the ``InstanceId`` of enhanced metrics.
            If omitted, the metric is that of all instances.

        instance_type:
            The instance type of a pool, where the variant has several.
            If omitted, the metric is that of all types.
    """

    statistic: str
    period: Duration
    label: str
    color: str
    dimensions_map: Mapping[str, str]
    instance_type: str


class VariantMetricOptions(MetricOptions, total=False):
    """
    How a metric of a variant is to be read; each may be omitted.

    Args:
        variant_name:
            Which variant.
            If omitted, it is the only one.
    """

    variant_name: str


def _kind_findings(options: MetricOptions) -> Iterator[Finding]:
    for name, value in options.items():
        if name not in _KINDS:
            raise TypeError(f"a metric has no option {name!r}")
        for fault in kind_of(_KINDS[name]).faults(name, value):
            yield WRONG_KIND.finding(fault.message, fault.remedy)


def period_findings(period: Duration | None, short: tuple[int, ...]) -> list[Finding]:
    """
    Check the time that one value stands for: a short one, or whole minutes.
    """
    length = seconds(period)
    if period is not None and (length is None or is_unresolved(length)):
        return [
            UNCOUNTABLE.finding(
                "period must be known at synth, got one that is known only at "
                "deployment",
                "write such as Duration.minutes(5)",
            )
        ]
    faults = time_findings("period", period)
    if faults or length is None or length in short:
        return faults
    if length >= _MINUTE and length % _MINUTE == 0:
        return []
    must = f"{', '.join(map(str, short))} or a multiple of {_MINUTE} seconds"
    return [OUTSIDE_RANGE.finding(f"period must be {must}, got {length:g}")]


def _text_findings(options: MetricOptions) -> Iterator[Finding]:
    named = dict(options.get("dimensions_map", {}))
    values = {f"dimensions_map[{name!r}]": value for name, value in named.items()}
    values |= {f"the name {name!r} in dimensions_map": name for name in named}
    if "instance_type" in options:
        values["instance_type"] = options["instance_type"]
    for what, value in values.items():
        if not (is_unresolved(value) or _DIMENSION.match(value)):
            yield IMPOSSIBLE_NAME.finding(
                f"{what} must be 1 to 255 characters of ASCII that are not all blank"
            )
    color = options.get("color")
    if not (color is None or is_unresolved(color) or _COLOR.match(color)):
        yield OUTSIDE_RANGE.finding(
            f"color must be # and six hexadecimal digits, got {color!r}",
            "write such as '#1f77b4'",
        )


def _statistic_findings(
    metric: PublishedMetric, options: MetricOptions
) -> list[Finding]:
    statistic = options.get("statistic")
    if statistic is None or is_unresolved(statistic) or metric.takes(statistic):
        return []
    valid = [
        "a percentile such as p99" if each == "pNN" else each
        for each in metric.valid_statistics
    ]
    return [
        NO_SUCH_STATISTIC.finding(
            f"statistic of {metric.name} must be {any_of(valid)}, got {statistic!r}"
        )
    ]


def _published_findings(subject: Subject, metric: PublishedMetric) -> list[Finding]:
    if metric.applies_to == {"async"} and subject.is_async is False:
        return [
            NOT_PUBLISHED.finding(
                f"{metric.name} is published of asynchronous endpoints",
                "define it with async_inference",
            )
        ]
    if not subject.has_model or metric.applies_to != {"ic-endpoint"}:
        return []
    return [
        NOT_PUBLISHED.finding(
            f"{metric.name} is published of instances that host inference components, "
            "and a model fills these"
        )
    ]
