"""
How ``sagemaker-llm benchmark`` is asked what a benchmark says.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import typer

from cdk_sagemaker_llm.cli.simulating import parsing
from cdk_sagemaker_llm.load.knee import Objective
from cdk_sagemaker_llm.load.scaling_target import HeadRoom

_MILLISECONDS = re.compile(r"(\d+(?:\.\d+)?)\s*ms")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")


def objective_of(
    latency: str | None, first_token: str | None, percentile: str | None
) -> Objective:
    """
    Read an objective.

    Raises:
        ValueError: If it is none.
    """
    if percentile is not None and latency is None and first_token is None:
        raise ValueError(
            "--percentile is said of --latency-objective or --ttft-objective; "
            "give one of them"
        )
    return Objective(
        latency=_seconds("--latency-objective", latency),
        first_token=_seconds("--ttft-objective", first_token),
        percentile=percentile or "p95",
    )


def head_room_of(growth: str, scale_out_time: str) -> HeadRoom:
    """
    Read what scaling leaves room for.

    Raises:
        ValueError: If it is written otherwise.
    """
    found = _PERCENT.fullmatch(growth.strip())
    if found is None:
        raise ValueError(f"--growth must be such as 5% (a minute), got {growth!r}")
    return HeadRoom(
        growth=float(found[1]) / 100,
        scale_out_time=parsing.seconds("--scale-out-time", scale_out_time),
    )


def refuse_all_but(
    command: typer.Context, heeded: Collection[str], instead: str
) -> None:
    """
    Refuse options that have no effect.

    Args:
        command: What was given.

        heeded: The options that have one.

        instead: Beside what the others have none.

    Raises:
        ValueError: If there are any.
    """
    given = [
        flag
        for parameter in command.command.params
        for flag in parameter.opts[:1]
        if flag not in heeded
        if _is_given(command, parameter.name)
    ]
    if given:
        raise ValueError(f"{', '.join(given)} has no effect beside {instead}")


def _is_given(command: typer.Context, name: str | None) -> bool:
    source = command.get_parameter_source(name or "")
    return source is not None and source.name == "COMMANDLINE"


def _seconds(flag: str, text: str | None) -> float | None:
    if text is None:
        return None
    if found := _MILLISECONDS.fullmatch(text.strip()):
        return float(found[1]) / 1000
    return parsing.seconds(flag, text)
