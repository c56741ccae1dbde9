"""
What vLLM and llama.cpp answer to those who want vectors or a ranking.
"""

from __future__ import annotations

import base64
import struct
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cdk_sagemaker_llm.local.engines.bodies import (
    check_room,
    dump,
    nested,
    prompt_of,
    relevance,
    texts_of,
    token_count,
    vector,
)
from cdk_sagemaker_llm.local.engines.containers import JSON, Answer, StartedEngine
from cdk_sagemaker_llm.local.engines.engine_chats import vllm_usage

# Wider than any model of the catalogue.
_LARGEST = 32_768


@dataclass(frozen=True, slots=True)
class Handler:
    """
    One type of request: its name in vLLM, which bodies are of it, what answers them.
    """

    name: str
    takes: Callable[[Mapping[str, Any]], bool]
    answer: Callable[[StartedEngine, dict[str, Any], str], Answer]


def _embeddings(engine: StartedEngine, body: dict[str, Any], model: str) -> Answer:
    texts = _inputs(body)
    _check_lengths(engine, body, texts)
    size, most = body.get("dimensions"), engine.vector_size or _LARGEST
    if size is None:
        size = engine.vector_size
    elif not isinstance(size, int) or not 0 < size <= most:
        raise nested(f"dimensions must be between 1 and {most}, got {size!r}")
    vectors: list[Any] = [vector(text, size) for text in texts]
    if body.get("encoding_format") == "base64":
        packed = (struct.pack(f"<{len(one)}f", *one) for one in vectors)
        vectors = [base64.b64encode(one).decode() for one in packed]
    whole = {
        "id": f"embd-{uuid.uuid4().hex}",
        "object": "list",
        "created": int(time.time()),
        "model": model,
        "data": [
            {"index": index, "object": "embedding", "embedding": one}
            for index, one in enumerate(vectors)
        ],
        "usage": vllm_usage(sum(map(token_count, texts)), 0),
    }
    return Answer(JSON, [dump(whole)])


def _rerank(engine: StartedEngine, body: dict[str, Any], model: str) -> Answer:
    query, documents = body["query"], texts_of(body["documents"])
    _check_lengths(engine, body, [f"{query} {text}" for text in documents])
    scores = [relevance(query, text) for text in documents]
    best = sorted(range(len(documents)), key=lambda index: -scores[index])
    tokens = sum(map(token_count, [query, *documents]))
    whole = {
        "id": f"rerank-{uuid.uuid4().hex}",
        "model": model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        "results": [
            {
                "index": index,
                "document": {"text": documents[index], "multi_modal": None},
                "relevance_score": scores[index],
            }
            for index in best[: body.get("top_n") or len(best)]
        ],
    }
    return Answer(JSON, [dump(whole)])


def _check_lengths(
    engine: StartedEngine, body: dict[str, Any], texts: list[str]
) -> None:
    if body.get("truncate_prompt_tokens") is None:
        check_room(engine, max(map(token_count, texts), default=0))


def _inputs(body: Mapping[str, Any]) -> list[str]:
    if isinstance(body.get("messages"), list):
        try:
            return [prompt_of(body)]
        except ValueError:
            return []
    return texts_of(body.get("input"))


def _has_ranking(body: Mapping[str, Any]) -> bool:
    has_number = isinstance(body.get("top_n", 0), int)
    is_query = isinstance(body.get("query"), str)
    return has_number and is_query and bool(texts_of(body.get("documents")))


EMBED = Handler("EmbeddingRequest", lambda body: bool(_inputs(body)), _embeddings)
RERANK = Handler("RerankRequest", _has_ranking, _rerank)
