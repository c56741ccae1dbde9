"""
How long it usually takes until something is in service, as others published it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from cdk_sagemaker_llm.catalog._data import load


@dataclass(frozen=True, slots=True, kw_only=True)
class UsualTime:
    """
    From how many seconds to how many, and in how many publications.

    Args:
        of: What it is of: the family of an instance type, or ``any``.
    """

    least: float
    most: float
    publications: int
    of: str


@functools.cache
def usual_time(kind: str, instance_type: str = "") -> UsualTime:
    """
    Return how long a start usually takes.

    Args:
        kind: ``host`` for instances without a model, ``component`` for one on a host
            that runs, ``model`` for an endpoint with its model.

        instance_type: Its type. If omitted, or nothing is published of its family, all
            that is known counts.
    """
    rows: list[dict[str, Any]] = load("startup_times.json")["rows"]
    kind_rows = [row for row in rows if row["of"] == kind]
    family = instance_type.removeprefix("ml.").partition(".")[0]
    own = [row for row in kind_rows if family in row["families"]]
    rows = own or kind_rows
    return UsualTime(
        least=min(row["from_seconds"] for row in rows),
        most=max(row["to_seconds"] for row in rows),
        publications=len(rows),
        of=family if own else "any",
    )
