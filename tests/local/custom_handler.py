"""
A Python callable that stands for a custom resource's function.
"""

from __future__ import annotations

from typing import Any


def double(event: dict[str, Any]) -> dict[str, Any]:
    """
    Return twice the number that is asked for.
    """
    number = int(event["ResourceProperties"]["Number"])
    return {"PhysicalResourceId": "doubled", "Data": {"Twice": str(2 * number)}}
