"""
How a metric is to be read: the CDK's own options, and those of SageMaker's dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypedDict

from cdk_sagemaker_llm.arguments import kind_of
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.rules import WRONG_KIND

if TYPE_CHECKING:
    from aws_cdk import Duration


class MetricOptions(TypedDict, total=False):
    """
    How a metric is to be read; each may be left out.

    Args:
        statistic:
            One of the metric's valid statistics, such as ``Average`` or ``p99``.
            If left out, it is the sum of what is counted, the average of what is
            measured, and the maximum of requests under way.

        period:
            The time that one value stands for.
            If left out, it is a minute.

        label:
            Its name in a graph.
            If left out, it is the metric's own.

        color:
            Its colour in a graph, such as ``#1f77b4``.
            If left out, CloudWatch chooses.

        dimensions_map:
            Further dimensions, such as the ``InstanceId`` of enhanced metrics.
            If left out, the metric is that of all instances.

        instance_type:
            The instance type of a pool, where the variant has several.
            If left out, the metric is that of all types.
    """

    statistic: str
    period: Duration
    label: str
    color: str
    dimensions_map: Mapping[str, str]
    instance_type: str


class VariantMetricOptions(MetricOptions, total=False):
    """
    How a metric of a variant is to be read; each may be left out.

    Args:
        variant_name:
            Which variant.
            If left out, it is the only one.
    """

    variant_name: str


_KINDS: Mapping[str, str] = {
    "statistic": "str",
    "period": "Duration",
    "label": "str",
    "color": "str",
    "dimensions_map": "Mapping[str, str]",
    "instance_type": "str",
    "variant_name": "str | None",
}


def kind_findings(options: Mapping[str, object]) -> list[Finding]:
    """
    Check that options are of their kinds; a type checker says the same.

    Raises:
        TypeError: If there is an option that no metric has.
    """
    return list(_faults(options))


def _faults(options: Mapping[str, object]) -> Iterator[Finding]:
    for name, value in options.items():
        if name not in _KINDS:
            raise TypeError(f"a metric has no option {name!r}")
        for fault in kind_of(_KINDS[name]).faults(name, value):
            yield WRONG_KIND.finding(fault.message, fault.remedy)
