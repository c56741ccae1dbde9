"""
Which of an engine's handlers answers a request to ``/invocations``.
"""

from __future__ import annotations

import json
import re
from typing import Any

from cdk_sagemaker_llm.catalog.engine_arguments import is_release_between
from cdk_sagemaker_llm.local.runtime.engines.openai import (
    JSON,
    OpenAiRequest,
    Pieces,
)
from cdk_sagemaker_llm.local.runtime.engines.refusals import refused
from cdk_sagemaker_llm.local.runtime.engines.shapes import (
    dump,
    relevance,
    token_count,
    vector,
)
from cdk_sagemaker_llm.local.runtime.engines.started import StartedEngine
from cdk_sagemaker_llm.local.untyped import Untyped

# A slash, and what is neither blank nor comma.
_ROUTE = re.compile(r"route=(/[^\s,]+)")
_ROUTES = {
    "/v1/chat/completions": "chat",
    "/v1/completions": "completion",
    "/v1/embeddings": "embeddings",
    "/v1/rerank": "rerank",
}
# From here on the error of the last handler comes through in place of this one's.
_NO_HANDLER_UNTIL = "0.29.0"


def answer(
    engine: StartedEngine,
    body: bytes,
    *,
    adapter: str | None = None,
    attributes: str = "",
) -> Pieces:
    """
    Answer a request as an engine does.

    Args:
        engine: The engine.

        body: The request.

        adapter: The adapter that the service asks for; ``None`` for the model itself.

        attributes: The request's CustomAttributes.

    Raises:
        RefusedError: If the engine refuses it.
    """
    request = _request(engine, body)
    name = engine.release.engine
    if name == "tei":
        return _embedded(engine, request)
    if name in {"sglang", "llama.cpp"}:
        return OpenAiRequest(engine, request, None).chat()
    route = _ROUTE.search(attributes) if engine.release.routes else None
    if route is not None:
        return _routed(engine, request, route[1])
    # What the body calls the model does not count here: the adapter does.
    return _by_shape(engine, OpenAiRequest(engine, request, adapter), request)


def _routed(engine: StartedEngine, request: dict[str, Any], path: str) -> Pieces:
    if path not in _ROUTES:
        raise refused(engine, "Not Found", status=404)
    model = request.get("model")
    if model is not None and model not in engine.served_names:
        raise refused(engine, f"The model `{model}` does not exist.", "model", 404)
    pieces: Pieces = getattr(OpenAiRequest(engine, request, model), _ROUTES[path])()
    return pieces


def _by_shape(
    engine: StartedEngine, asked: OpenAiRequest, request: dict[str, Any]
) -> Pieces:
    if "messages" in request:
        return asked.chat()
    if "prompt" in request:
        return asked.completion()
    if "input" in request:
        return asked.embeddings()
    if "query" in request and "documents" in request:
        return asked.rerank()
    release = engine.release.engine_version or _NO_HANDLER_UNTIL
    if is_release_between(release, "0", _NO_HANDLER_UNTIL):
        raise refused(
            engine,
            "Cannot find suitable handler for request. Expected one of: "
            "['chat', 'completion', 'embedding', 'rerank']",
        )
    raise refused(
        engine,
        "Either prompt or prompt_embeds must be provided and non-empty. "
        "(parameter=prompt)",
        "prompt",
    )


def _embedded(engine: StartedEngine, request: dict[str, Any]) -> Pieces:
    if "query" in request:
        return _ranked(engine, request)
    given = request.get("inputs")
    texts = [given] if isinstance(given, str) else given
    if not texts:
        raise refused(engine, "`inputs` cannot be empty")
    if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
        raise refused(engine, "`inputs` must be a text or a list of texts", status=422)
    return JSON, [dump([vector(text) for text in texts])], 0


def _ranked(engine: StartedEngine, request: dict[str, Any]) -> Pieces:
    query, texts = request["query"], request.get("texts")
    if not texts:
        raise refused(engine, "`texts` cannot be empty")
    if not token_count(str(query)):
        raise refused(engine, "`query` cannot be empty")
    ranked: list[dict[str, Any]] = [
        {"index": index, "score": relevance(str(query), str(text))}
        for index, text in enumerate(texts)
    ]
    if request.get("return_text"):
        ranked = [{**one, "text": texts[one["index"]]} for one in ranked]
    ranked.sort(key=_score)
    return JSON, [dump(ranked)], 0


def _score(one: dict[str, Any]) -> float:
    return -float(one["score"])


def _request(engine: StartedEngine, body: bytes) -> dict[str, Any]:
    try:
        request: Untyped = json.loads(body)
    except (ValueError, RecursionError) as fault:
        raise refused(engine, f"JSON decode error: {fault}") from fault
    if not isinstance(request, dict):
        raise refused(engine, "Input should be a valid dictionary")
    return request
