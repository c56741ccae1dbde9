"""
What SageMaker publishes to CloudWatch of endpoints and inference components.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from cdk_sagemaker_llm.catalog._data import load

# The sets of dimensions that tell one resource from another.
VARIANT = ("EndpointName", "VariantName")
COMPONENT = ("InferenceComponentName",)
ENDPOINT = ("EndpointName",)
# The service says no unit of what it counts, but for asynchronous endpoints.
_COUNTED = ("None", "Count")
_PERCENTILES = "pNN"
_PERCENTILE = re.compile(r"p(100|[0-9]{1,2}(\.[0-9]{1,10})?)\Z")


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedMetric:
    """
    One metric, as the service's documentation lists it.

    Args:
        dimensions: The sets of dimensions that it is published with.

        valid_statistics: The statistics that mean something; ``pNN`` stands for any
            percentile.

        applies_to: To what: ``variant`` (a model fills the instances),
            ``ic-endpoint`` (the instances host components), ``ic`` (a component),
            and further kinds.
    """

    namespace: str
    name: str
    dimensions: tuple[tuple[str, ...], ...]
    unit: str
    valid_statistics: tuple[str, ...]
    applies_to: frozenset[str]
    note: str

    @property
    def default_statistic(self) -> str:
        """
        The statistic to read where none was chosen: how many, how much, or the most.
        """
        counts = self.unit in _COUNTED and "Sum" in self.valid_statistics
        preferred = ("Sum",) if counts else ("Average", "Maximum")
        return next(each for each in preferred if each in self.valid_statistics)

    def takes(self, statistic: str) -> bool:
        """
        Whether a statistic is one of the valid ones.
        """
        form = _PERCENTILES if _PERCENTILE.match(statistic) else statistic
        return statistic != _PERCENTILES and form in self.valid_statistics


@functools.cache
def published_metrics(applies_to: str | None = None) -> tuple[PublishedMetric, ...]:
    """
    List the metrics.
    """
    rows = (
        PublishedMetric(
            namespace=row["namespace"],
            name=row["metric"],
            dimensions=tuple(map(tuple, row["dimensions"])),
            unit=row["unit"],
            valid_statistics=tuple(row["valid_statistics"]),
            applies_to=frozenset(row["applies_to"].split(",")),
            note=row["note"],
        )
        for row in load("metrics.json")["metrics"]
    )
    return tuple(
        row for row in rows if applies_to is None or applies_to in row.applies_to
    )


@functools.cache
def published_metric(name: str, dimensions: tuple[str, ...]) -> PublishedMetric:
    """
    Look a metric up by its name and the dimensions of what it is of.
    """
    for row in published_metrics():
        if row.name == name and dimensions in row.dimensions:
            return row
    raise KeyError(f"{name} by {', '.join(dimensions)}")
