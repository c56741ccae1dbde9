"""
A Python callable that stands for a custom resource's function.
"""

from __future__ import annotations

from typing import Any

import boto3


def double(event: dict[str, Any]) -> dict[str, Any]:
    """
    Return twice the number that is asked for.
    """
    number = int(event["ResourceProperties"]["Number"])
    return {"PhysicalResourceId": "doubled", "Data": {"Twice": str(2 * number)}}


def stubborn(event: dict[str, Any]) -> None:
    """
    Refuse to go back from 2, for as long as a parameter says so.
    """
    before = event.get("OldResourceProperties", {})
    if before.get("Number") == "2":
        names = boto3.client("ssm").describe_parameters()["Parameters"]
        if any(parameter["Name"] == "stubborn" for parameter in names):
            raise ValueError("there is no way back")
