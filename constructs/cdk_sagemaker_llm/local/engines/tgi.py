"""
The wire format of the Hugging Face LLM container (TGI).
"""

from __future__ import annotations

import json
from typing import Any

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.engines.containers import ServingContainer
from cdk_sagemaker_llm.local.engines.story import Generation, Token

_INDEX_SINCE = (1, 4, 0)
_INPUT_LENGTH_SINCE = (2, 3, 1)


def answer(
    container: ServingContainer, generation: Generation, *, details: bool, stream: bool
) -> tuple[str, list[bytes]]:
    """
    Return the content type and the pieces of the body, as they are written.

    What is not streamed is an array, on ``/invocations`` alone.
    """
    if stream:
        return "text/event-stream", _events(container, generation)
    body: dict[str, Any] = {"generated_text": generation.text}
    if details:
        body["details"] = {
            **_finish(generation),
            "prefill": [],
            "tokens": [_token(token, generation) for token in generation.all_tokens],
        }
    return "application/json", [_dump([body]).encode()]


def _events(container: ServingContainer, generation: Generation) -> list[bytes]:
    events: list[dict[str, Any]] = [
        {
            **({"index": index} if container.version >= _INDEX_SINCE else {}),
            "token": _token(token, generation),
            "generated_text": None,
            "details": None,
        }
        for index, token in enumerate(generation.all_tokens, start=1)
    ]
    length = {"input_length": max(1, len(generation.prompt.split()))}
    events[-1]["generated_text"] = generation.text
    events[-1]["details"] = {
        **_finish(generation),
        **(length if container.version >= _INPUT_LENGTH_SINCE else {}),
    }
    return [f"data:{_dump(event)}\n\n".encode() for event in events]


def _finish(generation: Generation) -> dict[str, Any]:
    return {
        "finish_reason": "eos_token" if generation.end else "length",
        "generated_tokens": len(generation.all_tokens),
        "seed": None,
    }


def _token(token: Token, generation: Generation) -> dict[str, Any]:
    special = token is generation.end
    return {
        "id": token.id,
        "text": "</s>" if special else token.text,
        "logprob": token.log_prob,
        "special": special,
    }


def _dump(value: Untyped) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
