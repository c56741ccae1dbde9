"""
From a benchmark to a file of service times, which simulations read.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cdk_sagemaker_llm.load.benchmark import Benchmark, Row
from cdk_sagemaker_llm.load.deployed import Deployed
from cdk_sagemaker_llm.load.fitting import Fitted, fit_service_times
from cdk_sagemaker_llm.simulation.service.measurement import (
    Measurement,
    write_service_times,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """
    What service times need besides the sweep.

    Args:
        copies: How many copies shared the requests.

        alone: What a single user met with, with short prompts and with whole ones.
            If left out, nobody asked alone.

        max_sequences: How many sequences a copy writes at once, at most.
            If left out, it is told from the sweep.
    """

    copies: int
    alone: tuple[Row, ...] = ()
    max_sequences: int | None = None


def save_service_times(
    path: Path, benchmark: Benchmark, probe: Probe, served: Deployed
) -> Fitted:
    """
    Fit the service times of one copy and write them down; return how they were found.

    Args:
        path: Where to.

        benchmark: The sweep.

        probe: What else was measured or is known.

        served: What served.

    Raises:
        ValueError: If the sweep has too little in it.
    """
    copies = f"{probe.copies} {'copy' if probe.copies == 1 else 'copies'}"
    users = ", ".join(str(row.users) for row in benchmark.rows)
    fitted = fit_service_times(
        benchmark.rows,
        probe.copies,
        alone=probe.alone,
        max_sequences=probe.max_sequences,
        source=f"benchmark of {benchmark.endpoint}, {copies}, with {users} users",
    )
    write_service_times(
        path,
        Measurement(
            times=fitted.times,
            instance_type=served.instance_type,
            model=served.model,
            engine=served.engine,
            engine_version=served.engine_version,
            date=datetime.fromisoformat(benchmark.began).date(),
            accelerators=served.accelerators,
            prompt_tokens=fitted.prompt_tokens,
            output_tokens=fitted.output_tokens,
            requests=fitted.requests,
            notes="; ".join((*fitted.found, *fitted.warnings)),
        ),
    )
    return fitted
