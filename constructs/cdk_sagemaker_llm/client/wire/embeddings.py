"""
Vectors, as OpenAI's list (vLLM) or bare arrays (TEI, LMI), and rankings: vLLM's
results, and the bare list of TEI.
"""

from __future__ import annotations

import array
import base64
import binascii
import sys
from collections.abc import Iterable
from typing import TypeGuard

from cdk_sagemaker_llm.client.answers import Embeddings, Ranked, Usage
from cdk_sagemaker_llm.client.errors import UnreadableAnswerError
from cdk_sagemaker_llm.client.wire.step import Record, Step, as_count, usage_of

_Vector = tuple[float, ...]


def read(record: Record) -> Step | None:
    """
    Read vectors, or else a ranking; ``None`` if it is something else.
    """
    found = _listed(record) if isinstance(record, dict) else _bare(record)
    if found is None:
        return _ranking(record)
    return Step([], ends=True, embeddings=found)


def _listed(record: dict[str, Record]) -> Embeddings | None:
    data = record.get("data")
    if not isinstance(data, list) or not data:
        return None
    if not all(isinstance(one, dict) and "embedding" in one for one in data):
        return None
    _check_pooled(one["embedding"] for one in data)
    ordered = sorted(data, key=lambda one: as_count(one.get("index")) or 0)
    vectors = [_vector(one["embedding"]) for one in ordered]
    return _made(vectors, usage_of(record))


def _bare(record: Record) -> Embeddings | None:
    if not isinstance(record, list) or not record:
        return None
    # One vector alone, for a text that was sent alone.
    vectors = [record] if _are_numbers(record) else record
    _check_pooled(vectors)
    return _made([_vector(vector) for vector in vectors], None)


def _check_pooled(vectors: Iterable[Record]) -> None:
    # As llama.cpp gives them of a model that was not made for vectors.
    if any(
        isinstance(vector, list) and vector and all(map(_are_numbers, vector))
        for vector in vectors
    ):
        raise UnreadableAnswerError(
            "the engine gives a vector for each token, and none for the text",
            remedy="have it pool them (llama.cpp: --pooling mean), or deploy a model "
            "for embeddings",
        )


def _made(vectors: list[_Vector | None], usage: Usage | None) -> Embeddings | None:
    found = tuple(vector for vector in vectors if vector is not None)
    return Embeddings(found, usage) if len(found) == len(vectors) else None


def _vector(value: Record) -> _Vector | None:
    if isinstance(value, str):
        return _from_base64(value)
    if not _are_numbers(value):
        return None
    try:
        return tuple(map(float, value))
    except OverflowError:
        return None


def _from_base64(text: str) -> _Vector | None:
    # Single precision, little-endian, whichever machine wrote it.
    numbers = array.array("f")
    try:
        numbers.frombytes(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return None
    if sys.byteorder == "big":
        numbers.byteswap()
    return tuple(numbers)


def _are_numbers(value: Record) -> TypeGuard[list[float]]:
    return isinstance(value, list) and all(
        isinstance(one, (int, float)) and not isinstance(one, bool) for one in value
    )


def _ranking(record: Record) -> Step | None:
    if isinstance(record, dict):
        usage = usage_of(record)
        found = _ranked(record.get("results"), "relevance_score")
    else:
        found, usage = _ranked(record, "score"), None
    if found is None:
        return None
    return Step([], ends=True, usage=usage, ranking=found)


def _ranked(rows: Record, score: str) -> tuple[Ranked, ...] | None:
    if not isinstance(rows, list) or not rows:
        return None
    found = tuple(filter(None, (_scored(row, score) for row in rows)))
    if len(found) != len(rows):
        return None
    return tuple(sorted(found, key=lambda one: -one.score))


def _scored(row: Record, score: str) -> Ranked | None:
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
