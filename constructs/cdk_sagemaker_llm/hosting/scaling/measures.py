"""
A user's own CloudWatch metrics, as alarms and policies write them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.limits import UNCOUNTABLE, seconds
from cdk_sagemaker_llm.hosting.common.scope import account_of, region_of
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import aws_cloudwatch as cloudwatch
    from constructs import Construct

IMPOSSIBLE_METRIC = Rule(
    "LLM302",
    "a metric is none that an alarm or a scaling policy can follow",
    "CloudWatch API reference, PutMetricAlarm",
)

# What the API names; any other is an extended statistic, such as p90.
_STATISTICS = {
    "average": "Average",
    "avg": "Average",
    "maximum": "Maximum",
    "max": "Maximum",
    "minimum": "Minimum",
    "min": "Minimum",
    "n": "SampleCount",
    "samplecount": "SampleCount",
    "sum": "Sum",
}
_SEARCH = re.compile(r"\bSEARCH\s*\(")
# What begins with a small letter and calls nothing is an id, but for what may be an
# operator or a keyword in small letters: these are let through.
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_ID = re.compile(r"(?<![\w.])[a-z]\w*\b(?!\s*[(.])")
_NO_IDS = {"and", "false", "linear", "not", "or", "repeat", "true"}
# CloudWatch user guide, on alarms that are based on metric math.
_MOST_METRICS = 10
_SHORT_PERIODS = (10, 20, 30)
_MINUTE = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Stat:
    """
    One metric of CloudWatch.

    Args:
        period: Seconds; ``None`` if that is known at deployment only.

        unit: Which unit's values alone; ``None`` for all.

        account: Another account that has it; ``None`` for the stack's.

        region: Another region that it is in; ``None`` for the stack's.
    """

    namespace: str
    name: str
    dimensions: Mapping[str, str]
    statistic: str
    period: float | None
    unit: str | None
    account: str | None
    region: str | None

    @property
    def is_extended(self) -> bool:
        """
        Whether the statistic is one, such as p90, that has a property of its own.
        """
        return self.statistic not in _STATISTICS.values()


@dataclass(frozen=True, slots=True)
class Measure:
    """
    The metric that a policy follows, or a formula of several.

    Args:
        parts: The metrics, and the expressions, by their ids; what counts is the last.
    """

    parts: Mapping[str, Stat | str]
    findings: tuple[Finding, ...]

    @property
    def single(self) -> Stat | None:
        """
        The metric; ``None`` for a formula.
        """
        (*others, last) = self.parts.values()
        return last if isinstance(last, Stat) and not others else None

    @property
    def stats(self) -> list[Stat]:
        """
        All metrics.
        """
        return [part for part in self.parts.values() if isinstance(part, Stat)]

    def tracked_findings(self, scope: Construct) -> list[Finding]:
        """
        Check what a policy of target tracking takes.
        """
        found = list(self.findings)
        for stat in self.stats:
            found += _place_findings(scope, stat, "target tracking follows")
            if stat.account is not None and stat.account != account_of(scope):
                found.append(
                    IMPOSSIBLE_METRIC.finding(
                        "target tracking follows metrics of its own account, got "
                        f"{stat.name} of {stat.account}",
                        "use scale_by_steps, whose alarm can look there",
                    )
                )
        return found

    def alarm_findings(self, scope: Construct) -> list[Finding]:
        """
        Check what an alarm takes.
        """
        found = list(self.findings)
        if len(self.stats) > _MOST_METRICS:
            found.append(
                IMPOSSIBLE_METRIC.finding(
                    f"the formula of an alarm must have at most {_MOST_METRICS} "
                    f"metrics, got {len(self.stats)}"
                )
            )
        for stat in self.stats:
            found += _place_findings(scope, stat, "an alarm watches")
            found += _period_findings(stat)
        return found


def measure_of(metric: cloudwatch.IMetric) -> Measure:
    """
    Read a metric, or metric math, of the user's.
    """
    parts, returned = _read(metric)
    # The CDK has seen to it that no two of a formula's metrics share an id.
    free = (f"expr_{number}" for number in itertools.count(1))
    own = next(name for name in free if name not in parts)
    formulas = [part for part in (*parts.values(), returned) if isinstance(part, str)]
    searches = [
        IMPOSSIBLE_METRIC.finding(
            "metric math of an alarm or policy must return one time series, and "
            "cannot SEARCH",
            "name the metrics in using_metrics",
        )
        for formula in formulas
        if _SEARCH.search(formula)
    ]
    unknown = [
        IMPOSSIBLE_METRIC.finding(
            f"the formula {formula!r} has {name!r}, which names no metric",
            f"add using_metrics={{{name!r}: ...}}",
        )
        for formula in formulas
        if not is_unresolved(formula)
        for name in dict.fromkeys(_ID.findall(_QUOTED.sub("", formula)))
        if name not in parts and name not in _NO_IDS
    ]
    return Measure({**parts, own: returned}, (*searches, *unknown))


def _read(metric: cloudwatch.IMetric) -> tuple[dict[str, Stat | str], Stat | str]:
    config = metric.to_metric_config()
    if config.metric_stat is not None:
        return {}, _stat_of(config.metric_stat)
    formula = config.math_expression or config.search_expression
    if formula is None:
        raise TypeError(f"{type(metric).__name__} is neither a metric nor a formula")
    parts: dict[str, Stat | str] = {}
    for name, used in (formula.using_metrics or {}).items():
        inner, itself = _read(used)
        parts |= {**inner, name: itself}
    return parts, formula.expression


def _stat_of(config: cloudwatch.MetricStatConfig) -> Stat:
    statistic = config.statistic
    return Stat(
        namespace=config.namespace,
        name=config.metric_name,
        dimensions={one.name: one.value for one in config.dimensions or ()},
        statistic=_STATISTICS.get(statistic.lower(), statistic),
        period=seconds(config.period),
        unit=None if config.unit_filter is None else _unit(config.unit_filter.name),
        account=config.account,
        region=config.region,
    )


def _unit(member: str) -> str:
    amount, per_second, _ = member.partition("_PER_SECOND")
    return amount.capitalize() + ("/Second" if per_second else "")


def _place_findings(scope: Construct, stat: Stat, subject: str) -> list[Finding]:
    if stat.region is None or is_unresolved(stat.region):
        return []
    own = region_of(scope)
    if own is None or own == stat.region:
        return []
    return [
        IMPOSSIBLE_METRIC.finding(
            f"{subject} metrics of its own region {own}, got {stat.name} of "
            f"{stat.region}"
        )
    ]


def _period_findings(stat: Stat) -> list[Finding]:
    period = stat.period
    if period is None:
        return [
            UNCOUNTABLE.finding(
                f"the period of {stat.name} is known only at deployment, and must be "
                "in seconds then",
                "write Duration.seconds(...)",
            )
        ]
    if is_unresolved(period):
        return []
    if period in _SHORT_PERIODS or (period >= _MINUTE and period % _MINUTE == 0):
        return []
    return [
        IMPOSSIBLE_METRIC.finding(
            "the period of an alarm's metric must be 10, 20 or 30 seconds, or whole "
            f"minutes, got {period:g} seconds of {stat.name}"
        )
    ]
