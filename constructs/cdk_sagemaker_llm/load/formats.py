"""
How a saved benchmark is told from other files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

FORMAT = "cdk-sagemaker-llm/benchmark"
VERSION = 1
_WANTED = "name a file that sagemaker-llm benchmark --save wrote"


def facts_of(text: str) -> Mapping[str, Any]:
    """
    Read the JSON of a saved benchmark.

    Raises:
        ValueError: If it is something else, or of another version, with what it is.
    """
    try:
        facts = json.loads(text)
    except ValueError as fault:
        raise ValueError(f"this is no JSON; {_WANTED}") from fault
    written = facts.get("format") if isinstance(facts, dict) else None
    if written != FORMAT:
        what = "" if written is None else f", but {written}"
        raise ValueError(f"this is no saved benchmark{what}; {_WANTED}")
    if facts.get("version") != VERSION:
        raise ValueError(
            f"this is a benchmark in version {facts.get('version')} of the format, and "
            f"this release reads version {VERSION}; measure again with --save, or use "
            "the release of cdk-sagemaker-llm that wrote it"
        )
    return dict(facts)
