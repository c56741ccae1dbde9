"""
Scenarios that several tests play out.
"""

from __future__ import annotations

from typing import Any

from cdk_sagemaker_llm.fit import ResourceRequirements
from cdk_sagemaker_llm.simulation import (
    Bounds,
    Constant,
    FleetTimes,
    Lengths,
    LogNormal,
    Metric,
    MetricQuery,
    Pool,
    Scenario,
    ServiceTimes,
    TargetTracking,
    Workload,
)

# Answers of 150 tokens take 3 s alone and 6.8 s among 32.
TIMES = ServiceTimes(
    decode=((1, 0.02), (32, 0.045)),
    max_sequences=32,
    prompt_seconds_per_token=0.0001,
    kv_tokens=40_000,
    overhead_seconds=0.05,
)
CHAT = Lengths(
    prompt=LogNormal(median=400, spread=0.7, most=4000),
    answer=LogNormal(median=150, spread=0.6, most=2000),
)


def of_rate(rate: float, **given: Any) -> Workload:  # noqa: ANN401 - fields of any kind
    """
    One model at a rate, on copies that are always there unless said otherwise.
    """
    traffic = given.pop("traffic", None) or Constant(rate=rate, lengths=CHAT)
    return Workload(**{"name": "chat", "traffic": traffic, "service": TIMES, **given})


def scaled(
    traffic: Any,  # noqa: ANN401 - of any kind
    *,
    target: float = 90.0,
    maximum: int = 4,
    duration: float = 7200.0,
    seed: int = 0,
    needs: ResourceRequirements | None = None,
) -> Scenario:
    """
    One model, tracked by invocations a minute: by instance, or by copy with needs.
    """
    metric = (
        Metric.of_variant("InvocationsPerInstance", "endpoint", "chat")
        if needs is None
        else Metric.of_component("InvocationsPerCopy", "chat")
    )
    query = MetricQuery(metric, "Sum", 60)
    policy = TargetTracking(name="track", query=query, target=target)
    workload = of_rate(
        0,
        traffic=traffic,
        needs=needs,
        bounds=Bounds(minimum=1, maximum=maximum),
        policies=(policy,),
    )
    return Scenario(
        workloads=(workload,),
        duration=duration,
        seed=seed,
        pools=(Pool("ml.g5.xlarge"),),
        minimum=1,
        maximum=maximum,
        managed=needs is not None,
        times=FleetTimes(provision=100, image_pull=50, model_start=30),
    )
