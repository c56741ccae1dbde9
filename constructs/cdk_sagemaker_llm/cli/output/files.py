"""
Runs for programs: JSON, and CSV with a line for each minute.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any

from cdk_sagemaker_llm.cli.app.playing import Played
from cdk_sagemaker_llm.cli.output.runs import (
    Prices,
    Run,
    all_costs,
    cost_of,
    events_of,
    figures_of,
    instances_of,
    is_estimated,
    sections_of,
)
from cdk_sagemaker_llm.simulation.outcome import Series

_COLUMNS = (
    "arrived",
    "served",
    "timed_out",
    "waiting",
    "concurrency",
    "copies",
    "desired",
    "latency_mean",
    "latency_p50",
    "latency_p95",
    "latency_p99",
)


def facts_of(runs: Sequence[Run], prices: Prices) -> dict[str, Any]:
    """
    Return all there is of the runs, for JSON.
    """
    return {
        "runs": [
            {
                "name": run.name,
                "variants": [_variant(played, prices) for played in run.played],
                "usd": all_costs(run, prices) if prices else None,
                "not_simulated": list(run.left_out),
            }
            for run in runs
        ]
    }


def csv_of(runs: Sequence[Run]) -> str:
    """
    Return a line for each minute of each model.
    """
    rows = [row for run in runs for played in run.played for row in _rows(run, played)]
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _variant(played: Played, prices: Prices) -> dict[str, Any]:
    outcome, hosted = played.outcome, played.hosted
    begin = outcome.start.timestamp()
    return {
        "endpoint": hosted.endpoint,
        "variant": hosted.variant,
        "instance_types": [pool.instance_type for pool in hosted.pools],
        "method": outcome.method,
        "start": outcome.start.isoformat(),
        "duration_seconds": outcome.duration,
        "seed": played.scenario.seed,
        "models": {
            name: {
                "traffic": played.traffic[name],
                "is_estimate": is_estimated(played, name),
                "figures": figures_of(played, name),
                "minutes": _minutes(series),
                "activities": [
                    {**asdict(one), "time": one.time - begin}
                    for one in outcome.activities.get(name, ())
                ],
            }
            for name, series in outcome.workloads.items()
        },
        "instances": {kind: list(each) for kind, each in outcome.instances.items()},
        "instance_hours": dict(outcome.instance_hours),
        "usd": cost_of(played, prices) if prices else None,
        "steps": [asdict(event) for event in events_of(played)],
        "report": [
            {"title": section.title, "sentences": list(section.sentences)}
            for section in sections_of(played)
        ],
    }


def _minutes(series: Series) -> dict[str, Any]:
    # What is not by the minute is among the figures.
    return asdict(replace(series, latencies=None), dict_factory=_known)


def _known(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in pairs if value is not None}


def _rows(run: Run, played: Played) -> Iterator[dict[str, object]]:
    instances = instances_of(played)
    for name, series in played.outcome.workloads.items():
        for minute in range(len(series.arrived)):
            moment = played.outcome.start + timedelta(minutes=minute)
            yield {
                "run": run.name,
                "endpoint": played.hosted.endpoint,
                "variant": played.hosted.variant,
                "model": name,
                "time": moment.isoformat(),
                **{
                    column: _cell(getattr(series, column)[minute])
                    for column in _COLUMNS
                },
                **{
                    f"refused_{why.replace(' ', '_')}": _cell(numbers[minute])
                    for why, numbers in series.refused.items()
                },
                "instances": _cell(instances[minute] if instances else None),
            }


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
