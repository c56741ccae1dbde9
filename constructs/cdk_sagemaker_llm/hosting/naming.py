"""
The service's rules for the names that users may choose.
"""

from __future__ import annotations

import re

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding, error

# botocore 1.44.5: EndpointName, VariantName and InferenceComponentName.
_LONGEST = 63
_NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9])*\Z")


def name_findings(parameter: str, name: str | None) -> list[Finding]:
    """
    Check a name: at most 63 letters, digits and inner hyphens.
    """
    if name is None or is_unresolved(name):
        return []
    if len(name) <= _LONGEST and _NAME.match(name):
        return []
    return [
        error(
            "LLM106",
            f"{parameter} must be at most {_LONGEST} letters, digits and inner "
            f"hyphens, got {name!r}",
        )
    ]


def range_findings(
    parameter: str, value: float | None, least: float, most: float, unit: str = ""
) -> list[Finding]:
    """
    Check that a number is within what the API accepts.
    """
    if value is None or is_unresolved(value) or least <= value <= most:
        return []
    return [
        error(
            "LLM111",
            f"{parameter} must be {least:g} to {most:g}{unit}, got {value:g}",
        )
    ]
