"""
What Text Embeddings Inference does with a request: its model decides.

Read in its router (src/http/server.rs, types.rs) at v1.2.3 to v1.9.3.
"""

from __future__ import annotations

from typing import Any

from cdk_sagemaker_llm.catalog.engine_arguments import is_release_between
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.engines.bodies import (
    RefusedError,
    dump,
    read_json,
    relevance,
    token_count,
    vector,
)
from cdk_sagemaker_llm.local.engines.containers import (
    JSON,
    Answer,
    ContainerRequest,
    StartedEngine,
)

_STATUS = {"empty": 400, "validation": 413, "overloaded": 429}
# Pull request 818: validation was 413 before.
_VALIDATION_422_SINCE = "1.9.0"
_BATCH, _REQUESTS = 32, 512
_LARGEST = 32_768  # Wider than any model of the catalogue.


def answer(engine: StartedEngine, request: ContainerRequest) -> Answer:
    """
    Answer a request as TEI does.
    """
    if request.path is not None:
        # Axum's own, for a path that is not there.
        raise RefusedError(404, "")
    if not request.is_json:
        message = "Expected request with `Content-Type: application/json`"
        raise RefusedError(415, message)
    try:
        body = read_json(request.body)
    except ValueError as fault:
        message = f"Failed to parse the request body as JSON: {fault}"
        raise RefusedError(400, message) from fault
    if not isinstance(body, dict):
        raise _unreadable("invalid type, expected a map")
    is_sparse = engine.environment.get("POOLING", "").lower() == "splade"
    is_pair = engine.environment.get("TASK") == "sentence-similarity"
    if engine.kind == "classify" or is_sparse or is_pair:
        raise RefusedError(
            501, "The embedded AWS emulates embeddings and rankings of TEI alone."
        )
    # A model that is not known answers whatever it is asked.
    if engine.kind == "rank" or (engine.kind is None and "query" in body):
        return _ranked(engine, body)
    return _embedded(engine, body)


def _embedded(engine: StartedEngine, body: dict[str, Any]) -> Answer:
    inputs = body.get("inputs")
    texts = _texts(engine, "inputs", [inputs] if isinstance(inputs, str) else inputs)
    read = [_read(engine, body, text) for text in texts]
    size = body.get("dimensions") or engine.vector_size
    if size is not None and not (isinstance(size, int) and 0 < size <= _LARGEST):
        raise _unreadable("invalid value for `dimensions`")
    # Not normalised, a vector is longer.
    times = 1 if body.get("normalize", True) else 2
    vectors = [[times * value for value in vector(text, size)] for text in read]
    return Answer(JSON, [dump(vectors)])


def _ranked(engine: StartedEngine, body: dict[str, Any]) -> Answer:
    query = body.get("query")
    if not isinstance(query, str):
        raise _unreadable("missing field `query`")
    ranked: list[dict[str, Any]] = []
    for index, text in enumerate(_texts(engine, "texts", body.get("texts"))):
        _read(engine, body, f"{query} {text}")
        row = {"text": text} if body.get("return_text") else {}
        ranked.append({"index": index, **row, "score": relevance(query, text)})
    ranked.sort(key=lambda one: -float(one["score"]))
    return Answer(JSON, [dump(ranked)])


def _read(engine: StartedEngine, body: dict[str, Any], text: str) -> str:
    if not text:
        raise _refusal(
            engine, "empty", "Input validation error: `inputs` cannot be empty"
        )
    longest, tokens = engine.context_length, token_count(text)
    if longest is None or tokens <= longest:
        return text
    cuts = body.get("truncate")
    if cuts is None:
        cuts = engine.environment.get("AUTO_TRUNCATE", "").lower() == "true"
    if not cuts:
        raise _refusal(
            engine,
            "validation",
            f"Input validation error: `inputs` must have less than {longest} tokens. "
            f"Given: {tokens}",
        )
    return " ".join(text.split()[:longest])


def _texts(engine: StartedEngine, field: str, texts: Untyped) -> list[str]:
    if texts is None:
        raise _unreadable(f"missing field `{field}`")
    if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
        raise _unreadable("data did not match any variant of untagged enum Input")
    if not texts:
        raise _refusal(engine, "empty", f"`{field}` cannot be empty")
    most, count = engine.number("MAX_CLIENT_BATCH_SIZE", _BATCH), len(texts)
    if count > most:
        raise _refusal(
            engine,
            "validation",
            f"batch size {count} > maximum allowed batch size {most}",
        )
    # Each text takes a place of its own.
    if count > engine.number("MAX_CONCURRENT_REQUESTS", _REQUESTS):
        raise _refusal(engine, "overloaded", "Model is overloaded")
    return texts


def _refusal(engine: StartedEngine, kind: str, message: str) -> RefusedError:
    release = engine.release.engine_version or _VALIDATION_422_SINCE
    status = _STATUS[kind]
    if kind == "validation" and is_release_between(release, _VALIDATION_422_SINCE):
        status = 422
    return RefusedError.of(status, {"error": message, "error_type": kind})


def _unreadable(why: str) -> RefusedError:
    # Axum's own, which is no JSON.
    return RefusedError(
        422, f"Failed to deserialize the JSON body into the target type: {why}"
    )
