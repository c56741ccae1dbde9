"""
What each chart of a dashboard draws.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.catalog.metrics import (
    COMPONENT,
    ENDPOINT,
    VARIANT,
    published_metric,
)
from cdk_sagemaker_llm.hosting.monitoring.charts import (
    OF_COMPONENTS,
    OF_HOSTS,
    OF_QUEUES,
    SUMMED_COMPONENTS,
    SUMMED_VARIANTS,
    Chart,
    of_asynchronous,
    of_variants,
)

Row = tuple[str, str, str, str | int | None]

REQUESTS = "Requests a minute"
TIME = "Time to an answer (ms)"
OTHER_TIME = "Time beside the container, and to a stream's first part (ms)"
ERRORS = "Requests that fail, a minute"
TIMES: list[Row] = [
    ("half of answers", "ModelLatency", "p50", 1000),
    ("95 % of answers", "ModelLatency", "p95", 1000),
    ("99 % of answers", "ModelLatency", "p99", 1000),
]
OTHER_TIMES: list[Row] = [
    ("beside the container", "OverheadLatency", "Average", 1000),
    ("first part, 99 %", "FirstChunkLatency", "p99", 1000),
]
FAILED: list[Row] = [
    ("5xx", "Invocation5XXErrors", "Sum", None),
    ("4xx", "Invocation4XXErrors", "Sum", None),
    ("the container's", "InvocationModelErrors", "Sum", None),
    ("broken streams", "MidStreamErrors", "Sum", None),
]


def drawn(*charts: Chart) -> dict[str, list[Row]]:
    """
    Return label, metric, statistic and divisor of each curve by its chart.
    """
    return {
        chart.title: [
            (curve.label, curve.metric, curve.statistic, curve.divided_by)
            for curve in chart.curves
        ]
        for chart in charts
    }


def test_a_component_has_these() -> None:
    """
    Its copies alone: what is reserved is its host's.
    """
    assert drawn(*OF_COMPONENTS) == {
        REQUESTS: [
            ("all copies", "Invocations", "Sum", None),
            ("each copy", "InvocationsPerCopy", "Sum", None),
        ],
        "Requests under way on a copy": [
            ("at most", "ConcurrentRequestsPerCopy", "Maximum", None)
        ],
        "Copies that serve": [("copies", "Invocations", "Sum", "InvocationsPerCopy")],
        TIME: TIMES,
        ERRORS: [
            *FAILED,
            ("no copy there", "NoCapacityInvocationFailures", "Sum", None),
        ],
        OTHER_TIME: OTHER_TIMES,
        "GPUs (%)": [
            ("use", "GPUUtilizationNormalized", "Average", None),
            ("memory", "GPUMemoryUtilizationNormalized", "Maximum", None),
        ],
        "CPU and memory (%)": [
            ("CPU", "CPUUtilizationNormalized", "Average", None),
            ("memory", "MemoryUtilizationNormalized", "Maximum", None),
        ],
    }


def test_a_host_has_these() -> None:
    """
    What is reserved on average, and what fills up at most.
    """
    assert drawn(*OF_HOSTS) == {
        "Reserved by components (%)": [
            ("GPUs", "GPUReservation", "Average", None),
            ("CPU", "CPUReservation", "Average", None),
            ("memory", "MemoryReservation", "Average", None),
        ],
        "Instances: GPUs (%)": [
            ("use", "GPUUtilizationNormalized", "Average", None),
            ("memory", "GPUMemoryUtilizationNormalized", "Maximum", None),
        ],
        "Instances: CPU, memory and disk (%)": [
            ("CPU", "CPUUtilizationNormalized", "Average", None),
            ("memory", "MemoryUtilization", "Maximum", None),
            ("disk", "DiskUtilization", "Maximum", None),
        ],
    }


def test_a_variant_has_these() -> None:
    """
    Raw utilisation counts each device, and memory and disk do not.
    """
    assert drawn(*of_variants(4, 48)) == {
        REQUESTS: [
            ("all instances", "Invocations", "Sum", None),
            ("each instance", "InvocationsPerInstance", "Sum", None),
        ],
        "Requests under way on an instance": [
            ("at most", "ConcurrentRequestsPerModel", "Maximum", None)
        ],
        "Instances that serve": [
            ("instances", "Invocations", "Sum", "InvocationsPerInstance")
        ],
        TIME: TIMES,
        ERRORS: FAILED,
        OTHER_TIME: OTHER_TIMES,
        "GPUs (%)": [
            ("use", "GPUUtilization", "Average", 4),
            ("memory", "GPUMemoryUtilization", "Maximum", 4),
        ],
        "CPU and memory (%)": [
            ("CPU", "CPUUtilization", "Average", 48),
            ("memory", "MemoryUtilization", "Maximum", None),
            ("disk", "DiskUtilization", "Maximum", None),
        ],
    }


def test_an_asynchronous_variant_has_these() -> None:
    """
    Its queue has charts of its own.
    """
    requests, times, failed, *_ = of_asynchronous(4, 48)

    assert drawn(requests, times, failed, *OF_QUEUES) == {
        REQUESTS: [
            ("processed", "InvocationsProcessed", "Sum", None),
            ("failed", "InvocationFailures", "Sum", None),
            ("too old", "ExpiredRequests", "Sum", None),
        ],
        "Time of requests (s)": [
            ("in the queue", "TimeInBacklog", "Average", 1_000_000),
            ("in the container", "ModelLatency", "Average", 1_000_000),
            ("in all", "TotalProcessingTime", "Average", 1000),
        ],
        "What fails, a minute": [
            ("5xx", "Invocation5XXErrors", "Sum", None),
            ("4xx", "Invocation4XXErrors", "Sum", None),
            ("reading", "RequestDownloadFailures", "Sum", None),
            ("writing", "ResponseUploadFailures", "Sum", None),
            ("notifying", "NotificationFailures", "Sum", None),
        ],
        "Requests in the queue": [
            ("all", "ApproximateBacklogSize", "Maximum", None),
            ("each instance", "ApproximateBacklogSizePerInstance", "Maximum", None),
        ],
        "Age of the oldest request (s)": [
            ("at most", "ApproximateAgeOfOldestRequest", "Maximum", None)
        ],
        "Requests wait, and no instance is there": [
            ("1 if so", "HasBacklogWithoutCapacity", "Average", None)
        ],
    }


@pytest.mark.parametrize(
    ("charts", "concurrency", "each", "one", "several"),
    [
        (
            SUMMED_COMPONENTS,
            "ConcurrentRequestsPerCopy",
            "InvocationsPerCopy",
            "a copy",
            "Copies",
        ),
        (
            SUMMED_VARIANTS,
            "ConcurrentRequestsPerModel",
            "InvocationsPerInstance",
            "an instance",
            "Instances",
        ),
    ],
    ids=["components", "variants"],
)
def test_many_models_have_these(
    charts: tuple[Chart, ...], concurrency: str, each: str, one: str, several: str
) -> None:
    """
    One curve a chart, whose name is the model's.
    """
    assert drawn(*charts) == {
        REQUESTS: [("", "Invocations", "Sum", None)],
        f"Requests under way on {one}": [("", concurrency, "Maximum", None)],
        f"{several} that serve": [("", "Invocations", "Sum", each)],
        "Time to an answer, 99 % (ms)": [("", "ModelLatency", "p99", 1000)],
        "Requests that fail with 5xx, a minute": [
            ("", "Invocation5XXErrors", "Sum", None)
        ],
    }


@pytest.mark.parametrize(
    ("charts", "dimensions"),
    [
        (OF_COMPONENTS, COMPONENT),
        (SUMMED_COMPONENTS, COMPONENT),
        (OF_HOSTS, VARIANT),
        (SUMMED_VARIANTS, VARIANT),
        (of_variants(4, 48), VARIANT),
        (of_asynchronous(4, 48), VARIANT),
        (OF_QUEUES, ENDPOINT),
    ],
)
def test_each_metric_has_its_statistic(
    charts: tuple[Chart, ...], dimensions: tuple[str, ...]
) -> None:
    """
    As the service's documentation lists both.
    """
    for chart in charts:
        for curve in chart.curves:
            published = published_metric(curve.metric, dimensions)
            assert published.takes(curve.statistic), curve


@pytest.mark.parametrize(
    ("accelerators", "cores", "titles", "ends"),
    [
        (4, 48, ["GPUs (%)", "CPU and memory (%)"], [100, 100]),
        (
            None,
            None,
            ["GPUs (%, 100 for each)", "CPU and memory (%, 100 for each)"],
            [None, None],
        ),
        (0, 4, ["CPU and memory (%)"], [100]),
    ],
)
def test_an_axis_ends_where_all_devices_are_known(
    accelerators: int | None,
    cores: int | None,
    titles: list[str],
    ends: list[int | None],
) -> None:
    """
    Otherwise nobody knows what the most is; what has no GPU has no chart of them.
    """
    for hardware in (
        of_variants(accelerators, cores)[6:],
        of_asynchronous(accelerators, cores)[3:],
    ):
        assert [chart.title for chart in hardware] == titles
        assert [chart.most for chart in hardware] == ends


def test_shares_end_at_a_hundred() -> None:
    """
    And what is or is not at one.
    """
    ends = {chart.title: chart.most for chart in (*OF_COMPONENTS, *OF_HOSTS)}

    assert {title: most for title, most in ends.items() if most} == {
        "GPUs (%)": 100,
        "CPU and memory (%)": 100,
        "Reserved by components (%)": 100,
        "Instances: GPUs (%)": 100,
        "Instances: CPU, memory and disk (%)": 100,
    }
    assert [chart.most for chart in OF_QUEUES] == [None, None, 1]


def test_the_bounds_of_scaling_are_drawn_beside_what_serves() -> None:
    """
    In no other chart.
    """
    every = (*OF_COMPONENTS, *OF_HOSTS, *of_variants(4, 48), *OF_QUEUES)

    assert [chart.title for chart in every if chart.has_bounds] == [
        "Copies that serve",
        "Instances that serve",
    ]
