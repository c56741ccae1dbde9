"""
What Text Embeddings Inference does with a request: its model decides.

Read in its router (src/http/server.rs, types.rs) at v1.2.3 to v1.9.3.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

from cdk_sagemaker_llm.catalog.engine_arguments import is_release_between
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.engines.bodies import (
    RefusedError,
    dump,
    relevance,
    token_count,
    vector,
)
from cdk_sagemaker_llm.local.engines.containers import JSON, Answer, ContainerRequest
from cdk_sagemaker_llm.local.engines.engine import StartedEngine
from cdk_sagemaker_llm.local.engines.pooling import class_shares

_STATUS = {"empty": 400, "validation": 413, "tokenizer": 422, "overloaded": 429}
# Pull request 818: validation was 413 before.
_VALIDATION_422_SINCE = "1.9.0"
# v1.4.0 has no type of its own for what is empty, v1.6.0 has.
_EMPTY_SINCE = "1.5.0"
_BATCH, _REQUESTS = 32, 512
_LARGEST = 32_768  # Wider than any model of the catalogue.
_TERMS = 30_522  # BERT's vocabulary, where that of the model is not known.


def answer(engine: StartedEngine, request: ContainerRequest) -> Answer:
    """
    Answer a request as TEI does.

    Raises:
        RefusedError: If it refuses it.
    """
    body = _request(request)
    variables = engine.environment
    if engine.kind == "rank":
        return _ranked(engine, body)
    if engine.kind == "classify":
        return _predicted(engine, body)
    # A model that is not known answers whatever it is asked.
    if engine.kind is None and "query" in body:
        return _ranked(engine, body)
    if variables.get("TASK") == "sentence-similarity":
        return _compared(engine, body)
    return _embedded(engine, body)


def _embedded(engine: StartedEngine, body: dict[str, Any]) -> Answer:
    inputs = body.get("inputs")
    texts = _texts(engine, "inputs", [inputs] if isinstance(inputs, str) else inputs)
    read = [_read(engine, body, text) for text in texts]
    if engine.environment.get("POOLING", "").lower() == "splade":
        return Answer(JSON, [dump([_sparse(engine, text) for text in read])])
    size = body.get("dimensions") or engine.vector_size
    if size is not None and not (isinstance(size, int) and 0 < size <= _LARGEST):
        raise _unreadable("invalid value for `dimensions`")
    # Not normalised, a vector is longer.
    times = 1 if body.get("normalize", True) else 2
    vectors = [[times * value for value in vector(text, size)] for text in read]
    return Answer(JSON, [dump(vectors)])


def _ranked(engine: StartedEngine, body: dict[str, Any]) -> Answer:
    query, texts = body.get("query"), body.get("texts")
    if not isinstance(query, str):
        raise _unreadable("missing field `query`")
    ranked: list[dict[str, Any]] = []
    for index, text in enumerate(_texts(engine, "texts", texts)):
        _read(engine, body, f"{query} {text}")
        row = {"text": text} if body.get("return_text") else {}
        score = _score(relevance(query, text), body)
        ranked.append({"index": index, **row, "score": score})
    ranked.sort(key=_by_score)
    return Answer(JSON, [dump(ranked)])


def _predicted(engine: StartedEngine, body: dict[str, Any]) -> Answer:
    inputs: Untyped = body.get("inputs")
    # A text; a pair of texts; or many, each in a list of its own.
    is_batch = isinstance(inputs, list) and any(isinstance(one, list) for one in inputs)
    texts = inputs if is_batch else [inputs]
    if inputs is None:
        raise _unreadable("missing field `inputs`")
    joined = [_joined(one) if isinstance(one, list) else one for one in texts]
    found = []
    for text in _texts(engine, "inputs", joined):
        shares = class_shares(_read(engine, body, text), engine.label_count)
        rows: list[dict[str, Any]] = [
            {"score": _score(share, body), "label": f"LABEL_{index}"}
            for index, share in enumerate(shares)
        ]
        found.append(sorted(rows, key=_by_score))
    return Answer(JSON, [dump(found if is_batch else found[0])])


def _compared(engine: StartedEngine, body: dict[str, Any]) -> Answer:
    inputs = body.get("inputs")
    if not isinstance(inputs, dict) or not isinstance(
        inputs.get("source_sentence"), str
    ):
        raise _unreadable("missing field `source_sentence`")
    source = inputs["source_sentence"]
    sentences = _texts(engine, "inputs.sentences", inputs.get("sentences"), beside=1)
    scores = [relevance(source, _read(engine, body, one)) for one in sentences]
    return Answer(JSON, [dump(scores)])


def _sparse(engine: StartedEngine, text: str) -> list[dict[str, Any]]:
    terms = engine.vocabulary_size or _TERMS
    found = {zlib.crc32(word.encode()) % terms: word for word in text.lower().split()}
    return [
        {"index": index, "value": round(0.5 + len(word) / 100, 6)}
        for index, word in sorted(found.items())
    ]


def _read(engine: StartedEngine, body: Mapping[str, Any], text: str) -> str:
    """
    Return a text as far as the model reads it.
    """
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
    words = text.split()
    is_left = str(body.get("truncation_direction", "")).lower() == "left"
    return " ".join(words[-longest:] if is_left else words[:longest])


def _joined(pair: list[Untyped]) -> str | None:
    return " ".join(pair) if all(isinstance(one, str) for one in pair) else None


def _texts(
    engine: StartedEngine, field: str, texts: Untyped, beside: int = 0
) -> list[str]:
    """
    Return texts that are not too many.
    """
    if texts is None:
        raise _unreadable(f"missing field `{field}`")
    if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
        raise _unreadable("data did not match any variant of untagged enum Input")
    if not texts:
        raise _refusal(engine, "empty", f"`{field}` cannot be empty")
    most, count = engine.number("MAX_CLIENT_BATCH_SIZE", _BATCH), len(texts) + beside
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
    if kind == "empty" and not is_release_between(release, _EMPTY_SINCE):
        kind = "validation"
    status = _STATUS[kind]
    if kind == "validation" and is_release_between(release, _VALIDATION_422_SINCE):
        status = 422
    body = {"error": message, "error_type": kind}
    return RefusedError(status, dump(body).decode())


def _unreadable(why: str) -> RefusedError:
    # Axum's own, which is no JSON.
    return RefusedError(
        422, f"Failed to deserialize the JSON body into the target type: {why}"
    )


def _request(request: ContainerRequest) -> dict[str, Any]:
    if not request.is_json:
        message = "Expected request with `Content-Type: application/json`"
        raise RefusedError(415, message)
    try:
        body: Untyped = json.loads(request.body)
        dump(body)
    except (ValueError, RecursionError) as fault:
        message = f"Failed to parse the request body as JSON: {fault}"
        raise RefusedError(400, message) from fault
    if not isinstance(body, dict):
        raise _unreadable("invalid type, expected a map")
    return body


def _score(share: float, body: Mapping[str, Any]) -> float:
    # Raw scores are what a sigmoid, or a softmax, makes shares of.
    return round(8 * share - 4, 6) if body.get("raw_scores") else share


def _by_score(one: dict[str, Any]) -> float:
    return -float(one["score"])
