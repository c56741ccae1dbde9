"""
Rankings: vLLM's results, and the bare list of TEI.
"""

from __future__ import annotations

from cdk_sagemaker_llm.client.tokens import Ranked, Usage
from cdk_sagemaker_llm.client.wire.step import Record, Step, as_count, counted


def read(record: Record) -> Step | None:
    """
    Read the scores of texts; ``None`` if it is something else.
    """
    if isinstance(record, dict):
        found, usage = _ranked(record.get("results"), "relevance_score"), _usage(record)
    else:
        found, usage = _ranked(record, "score"), None
    if found is None:
        return None
    return Step([], ends=True, usage=usage, ranking=found)


def _ranked(rows: Record, score: str) -> tuple[Ranked, ...] | None:
    if not isinstance(rows, list) or not rows:
        return None
    found = tuple(filter(None, (_one(row, score) for row in rows)))
    if len(found) != len(rows):
        return None
    return tuple(sorted(found, key=lambda one: -one.score))


def _one(row: Record, score: str) -> Ranked | None:
    if not isinstance(row, dict):
        return None
    index, value = as_count(row.get("index")), row.get(score)
    if index is None or index < 0 or isinstance(value, bool):
        return None
    if not isinstance(value, (int, float)):
        return None
    try:
        return Ranked(index, float(value))
    except OverflowError:
        return None


def _usage(record: dict[str, Record]) -> Usage | None:
    usage = record.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return counted(usage.get("prompt_tokens"), usage.get("completion_tokens"))
