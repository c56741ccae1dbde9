"""
What vLLM answers to those who want vectors, classes, scores or a ranking.
"""

from __future__ import annotations

import base64
import struct
import time
import uuid
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.engines.bodies import (
    dump,
    nested,
    relevance,
    token_count,
    vector,
)
from cdk_sagemaker_llm.local.engines.chat import prompt_of
from cdk_sagemaker_llm.local.engines.containers import JSON, Answer
from cdk_sagemaker_llm.local.engines.engine import StartedEngine
from cdk_sagemaker_llm.local.engines.engine_chats import vllm_usage
from cdk_sagemaker_llm.local.engines.vllm_refusals import hold_input

# Wider than any model of the catalogue.
_LARGEST = 32_768
_PAIRS = (
    ("queries", "documents"),
    ("queries", "items"),
    ("data_1", "data_2"),
    ("text_1", "text_2"),
)


def has_input(body: Mapping[str, Any]) -> bool:
    """
    Whether a body has texts, or a chat, to make a vector or a class of.
    """
    return _texts(body) is not None


def has_ranking(body: Mapping[str, Any]) -> bool:
    """
    Whether a body has a query and documents to rank.
    """
    has_number = isinstance(body.get("top_n", 0), int)
    is_query = isinstance(body.get("query"), str)
    return has_number and is_query and _many(body.get("documents")) != []


def has_pairs(body: Mapping[str, Any]) -> bool:
    """
    Whether a body has pairs to score.
    """
    return _pairs(body) is not None


def embeddings(engine: StartedEngine, body: dict[str, Any], model: str) -> Answer:
    """
    Answer ``input`` with vectors.

    Raises:
        RefusedError: If a text is too long.
    """
    texts = _texts(body) or []
    _hold(engine, body, texts, "embedding generation")
    size = _size(engine, body)
    form = _base64 if body.get("encoding_format") == "base64" else _as_it_is
    data = [
        {"index": i, "object": "embedding", "embedding": form(vector(text, size))}
        for i, text in enumerate(texts)
    ]
    return _listed("embd", model, data, texts)


def pooling(engine: StartedEngine, body: dict[str, Any], model: str) -> Answer:
    """
    Answer ``input`` with what the model's pooler has.

    Raises:
        RefusedError: If a text is too long.
    """
    texts = _texts(body) or []
    _hold(engine, body, texts, "embedding generation")
    data = [
        {"index": i, "object": "pooling", "data": vector(text, engine.vector_size)}
        for i, text in enumerate(texts)
    ]
    return _listed("pool", model, data, texts)


def classify(engine: StartedEngine, body: dict[str, Any], model: str) -> Answer:
    """
    Answer ``input`` with how likely each class is.

    Raises:
        RefusedError: If a text is too long.
    """
    texts = _texts(body) or []
    _hold(engine, body, texts, "classification")
    data = []
    for index, text in enumerate(texts):
        shares = class_shares(text, engine.label_count)
        best = max(range(len(shares)), key=shares.__getitem__)
        row = {"probs": shares, "num_classes": len(shares)}
        data.append({"index": index, "label": f"LABEL_{best}", **row})
    return _listed("classify", model, data, texts)


def score(engine: StartedEngine, body: dict[str, Any], model: str) -> Answer:
    """
    Answer pairs with how much the two of each have to do with each other.

    Raises:
        RefusedError: If they are no pairs, or one is too long.
    """
    ones, others = _pairs(body) or ([], [])
    if len(ones) not in {1, len(others)}:
        raise nested("Input lengths must be either 1:1, 1:N or N:N")
    firsts = ones * len(others) if len(ones) == 1 else ones
    texts = [f"{one} {other}" for one, other in zip(firsts, others, strict=True)]
    _hold(engine, body, texts, "score")
    data = [
        {"index": index, "object": "score", "score": relevance(one, other)}
        for index, (one, other) in enumerate(zip(firsts, others, strict=True))
    ]
    # Scores are called as embeddings are (ScoreResponse).
    return _listed("embd", model, data, texts)


def rerank(engine: StartedEngine, body: dict[str, Any], model: str) -> Answer:
    """
    Answer ``query`` and ``documents``, the most relevant first.

    Raises:
        RefusedError: If one is too long.
    """
    query, documents = body["query"], _many(body["documents"]) or []
    _hold(engine, body, [f"{query} {text}" for text in documents], "score")
    results: list[dict[str, Any]] = [
        {
            "index": index,
            "document": {"text": text, "multi_modal": None},
            "relevance_score": relevance(query, text),
        }
        for index, text in enumerate(documents)
    ]
    results.sort(key=_relevance)
    tokens = sum(map(token_count, [query, *documents]))
    whole = {
        "id": f"rerank-{uuid.uuid4().hex}",
        "model": model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        "results": results[: body.get("top_n") or len(results)],
    }
    return Answer(JSON, [dump(whole)])


def class_shares(text: str, classes: int) -> list[float]:
    """
    Return how likely each of several classes is: the same each time.
    """
    raw = [1 + zlib.crc32(f"{index}{text}".encode()) % 97 for index in range(classes)]
    if classes == 1:
        return [round(raw[0] / 98, 6)]
    return [round(one / sum(raw), 6) for one in raw]


@dataclass(frozen=True, slots=True)
class Handler:
    """
    One type of request that vLLM knows.

    Args:
        names: What its message calls the types.

        takes: Whether a body is of it.

        answer: What answers it.
    """

    names: tuple[str, ...]
    takes: Callable[[Mapping[str, Any]], bool]
    answer: Callable[[StartedEngine, dict[str, Any], str], Answer]


EMBED = Handler(("EmbeddingRequest",), has_input, embeddings)
CLASSIFY = Handler(("ClassificationRequest",), has_input, classify)
RERANK = Handler(("RerankRequest",), has_ranking, rerank)
SCORE = Handler(("ScoreRequest",), has_pairs, score)
POOLING = Handler(("PoolingRequest",), has_input, pooling)


def _size(engine: StartedEngine, body: dict[str, Any]) -> int | None:
    size, most = body.get("dimensions"), engine.vector_size or _LARGEST
    if size is None:
        return engine.vector_size
    if not isinstance(size, int) or not 0 < size <= most:
        raise nested(f"dimensions must be between 1 and {most}, got {size!r}")
    return size


def _relevance(one: dict[str, Any]) -> float:
    return -float(one["relevance_score"])


def _listed(
    prefix: str, model: str, data: list[dict[str, Any]], texts: list[str]
) -> Answer:
    whole = {
        "id": f"{prefix}-{uuid.uuid4().hex}",
        "object": "list",
        "created": int(time.time()),
        "model": model,
        "data": data,
        "usage": vllm_usage(sum(map(token_count, texts)), 0),
    }
    return Answer(JSON, [dump(whole)])


def _hold(
    engine: StartedEngine, body: dict[str, Any], texts: list[str], task: str
) -> None:
    if body.get("truncate_prompt_tokens") is None:
        hold_input(engine, texts, task)


def _texts(body: Mapping[str, Any]) -> list[str] | None:
    if isinstance(body.get("messages"), list):
        try:
            return [prompt_of(dict(body))]
        except ValueError:
            return None
    return _many(body.get("input")) or None


def _pairs(body: Mapping[str, Any]) -> tuple[list[str], list[str]] | None:
    for first, second in _PAIRS:
        ones, others = _many(body.get(first)), _many(body.get(second))
        if ones and others:
            return ones, others
    return None


def _many(value: Untyped) -> list[str]:
    """
    Return one text or many, tokens as words; none for what is neither.
    """
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or not value:
        return []
    if all(isinstance(one, int) for one in value):
        return [" ".join(map(str, value))]
    read = [" ".join(map(str, one)) if isinstance(one, list) else one for one in value]
    return read if all(isinstance(one, str) for one in read) else []


def _base64(values: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()


def _as_it_is(values: list[float]) -> list[float]:
    return values
