"""
Results put together by hand, for the tests beside this file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

from cdk_sagemaker_llm.catalog.prices import Price
from cdk_sagemaker_llm.cli.app.playing import VariantResult
from cdk_sagemaker_llm.cli.app.simulated import HostedModel, HostedVariant
from cdk_sagemaker_llm.cli.output.prices import Prices
from cdk_sagemaker_llm.simulation.fleet import Pool, Step
from cdk_sagemaker_llm.simulation.histogram import Histogram
from cdk_sagemaker_llm.simulation.outcome import Outcome, Series
from cdk_sagemaker_llm.simulation.scaling import Activity
from cdk_sagemaker_llm.simulation.scenario import Scenario, Workload
from cdk_sagemaker_llm.simulation.service.times import ServiceTimes
from cdk_sagemaker_llm.simulation.traffic.lengths import Lengths
from cdk_sagemaker_llm.simulation.traffic.rates import Constant

START = datetime(2026, 1, 5, 8, 30, tzinfo=UTC)
BEGIN = START.timestamp()
LENGTHS = Lengths(prompt=100, answer=10)


def price_list(
    dollars: Mapping[str, float], *, elsewhere: Collection[str] = ()
) -> Prices:
    """
    Make prices in us-east-1 of 2026, and of some types those of us-west-2, a day later.
    """
    known = {
        name: Price(
            usd_per_hour=price,
            region="us-west-2" if name in elsewhere else "us-east-1",
            date="2027-01-01" if name in elsewhere else "2026",
            source="hosting",
        )
        for name, price in dollars.items()
    }
    return Prices(known, origin="a list", region="us-east-1")


NO_PRICES = price_list({})
PRICES = price_list({"ml.g5.xlarge": 2.0, "ml.g6.xlarge": 4.0})


def series(
    *,
    arrived: Sequence[float] = (60, 120, 30),
    refused: Mapping[str, Sequence[float]] | None = None,
    latencies: Sequence[float] | None = (1.0, 2.0, 3.0, 4.0),
) -> Series:
    """
    Make three minutes of a model, or as many as there are requests of.
    """
    count = len(arrived)
    losses = {"no capacity": [2.0, 0.0, 0.0]} if refused is None else refused

    def as_long(*numbers: float | None) -> list[float | None]:
        return [*numbers, *numbers[-1:] * count][:count]

    def known(*numbers: float) -> list[float]:
        return [each for each in as_long(*numbers) if each is not None]

    histogram = None
    if latencies is not None:
        histogram = Histogram()
        histogram.add(latencies)
    return Series(
        arrived=list(map(float, arrived)),
        served=known(55, 110, 30),
        timed_out=known(1, 3, 0),
        refused={why: list(each) for why, each in losses.items()},
        waiting=known(4, 9, 0),
        concurrency=known(6, 11, 5),
        copies=known(1, 3, 2),
        desired=known(2, 4, 2),
        latency_mean=as_long(1.5, 2.5, None),
        latency_p50=as_long(1.25, 2.25, None),
        latency_p95=as_long(3.5, 4.5, None),
        latency_p99=as_long(5.5, 6.5, None),
        latencies=histogram,
    )


def result(
    workloads: Mapping[str, Series] | None = None,
    *,
    steps: Sequence[Step] = (),
    activities: Mapping[str, tuple[Activity, ...]] | None = None,
    instances: Mapping[str, list[float]] | None = None,
    hours: Mapping[str, float] | None = None,
    endpoint: str = "Prod/Chat",
    is_estimate: bool = False,
) -> VariantResult:
    """
    Make what came of a variant with such models.
    """
    models = {"Blue": series()} if workloads is None else workloads
    times = ServiceTimes(
        decode=((1, 0.1),), max_sequences=8, is_estimate=is_estimate, source="made up"
    )
    minutes = max(len(each.arrived) for each in models.values())
    return VariantResult(
        hosted=HostedVariant(
            endpoint=endpoint,
            variant="AllTraffic",
            pools=(Pool("ml.g5.xlarge", 1), Pool("ml.g6.xlarge", 2)),
            instances=2,
            minimum=1,
            maximum=4,
            models=tuple(
                HostedModel(name=name, needs=None, copies=1) for name in models
            ),
        ),
        scenario=Scenario(
            workloads=tuple(
                Workload(
                    name=name,
                    traffic=Constant(rate=1.0, lengths=LENGTHS),
                    service=times,
                )
                for name in models
            ),
            duration=60.0 * minutes,
            start=START,
            seed=7,
        ),
        outcome=Outcome(
            method="requests",
            start=START,
            duration=60.0 * minutes,
            workloads=models,
            instances=(
                {"ml.g5.xlarge": [1.0, 2.0, 1.0], "ml.g6.xlarge": [0.0, 1.0, 1.0]}
                if instances is None
                else instances
            ),
            instance_hours=(
                {"ml.g5.xlarge": 1.5, "ml.g6.xlarge": 0.25} if hours is None else hours
            ),
            steps=tuple(steps),
            activities=activities or {},
        ),
        traffic=dict.fromkeys(models, "1/s & more"),
        notes=("this was <assumed>",),
    )
