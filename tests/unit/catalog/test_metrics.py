"""
What SageMaker publishes, as the catalogue lists it.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.catalog.metrics import (
    COMPONENT,
    VARIANT,
    published_metric,
    published_metrics,
)

UTILISATION = ("Average", "Maximum", "Minimum")
LATENCY = ("Average", "Sum", "Minimum", "Maximum", "SampleCount")


def test_each_kind_has_its_metrics() -> None:
    """
    A kind of row that is added does not change the others.
    """
    counts = {
        kind: len(published_metrics(kind))
        for kind in ("variant", "ic-endpoint", "ic", "serverless", "async")
    }

    assert counts == {
        "variant": 17,
        "ic-endpoint": 11,
        "ic": 17,
        "serverless": 1,
        "async": 17,
    }
    assert len(published_metrics()) >= 48


def test_a_name_is_told_apart_by_its_dimensions() -> None:
    """
    The same name stands in the namespaces of endpoints and of components.
    """
    of_hosts = published_metric("GPUUtilizationNormalized", VARIANT)
    of_copies = published_metric("GPUUtilizationNormalized", COMPONENT)

    assert of_hosts.namespace == "/aws/sagemaker/Endpoints"
    assert of_copies.namespace == "/aws/sagemaker/InferenceComponents"
    assert of_hosts.applies_to == {"ic-endpoint"}
    assert of_copies.applies_to == {"ic"}


def test_an_unknown_metric_is_none_of_them() -> None:
    """
    Nor is one with dimensions that it is not published with.
    """
    with pytest.raises(KeyError, match="InvocationsPerCopy by EndpointName"):
        published_metric("InvocationsPerCopy", VARIANT)


@pytest.mark.parametrize(
    ("name", "unit", "statistics", "default"),
    [
        ("Invocations", "None", ("Sum",), "Sum"),
        ("ConcurrentRequestsPerModel", "None", ("Minimum", "Maximum"), "Maximum"),
        ("Invocation5XXErrors", "None", ("Average", "Sum"), "Sum"),
        ("GPUMemoryUtilization", "Percent", UTILISATION, "Average"),
        ("ModelLatency", "Microseconds", (*LATENCY, "pNN"), "Average"),
        ("OverheadLatency", "Microseconds", LATENCY, "Average"),
        ("InvocationsProcessed", "Count", ("Sum",), "Sum"),
        ("TotalProcessingTime", "Milliseconds", LATENCY, "Average"),
    ],
)
def test_a_metric_has_its_unit_and_statistics(
    name: str, unit: str, statistics: tuple[str, ...], default: str
) -> None:
    """
    What is read where nothing is chosen is one of the valid ones.
    """
    metric = published_metric(name, VARIANT)

    assert metric.unit == unit
    assert metric.valid_statistics == statistics
    assert metric.default_statistic == default


def test_every_default_is_valid() -> None:
    """
    Of whatever rows there are.
    """
    assert all(row.takes(row.default_statistic) for row in published_metrics())


@pytest.mark.parametrize("statistic", ["p0", "p50", "p99", "p99.9", "p100", "Maximum"])
def test_latency_has_percentiles(statistic: str) -> None:
    """
    Any of them.
    """
    assert published_metric("ModelLatency", VARIANT).takes(statistic)


@pytest.mark.parametrize(
    "statistic", ["p101", "p", "p-1", "99", "P99", "tm99", "pNN", "p99.", "average"]
)
def test_what_is_no_percentile_is_no_statistic(statistic: str) -> None:
    """
    Nor is another spelling.
    """
    assert not published_metric("ModelLatency", VARIANT).takes(statistic)


def test_overhead_has_none() -> None:
    """
    The documentation lists percentiles for some latencies alone.
    """
    assert not published_metric("OverheadLatency", VARIANT).takes("p99")
