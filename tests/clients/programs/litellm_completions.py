"""
Completions by litellm, at once and streamed, of both its providers for SageMaker.

It makes the runtime's address by itself, unless ``sagemaker_base_url`` says another.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

# Before the import: it fetches a price list otherwise.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm

MESSAGES = [{"role": "user", "content": "Who is Roger Federer?"}]


def main(provider: str, endpoint: str, component: str | None = None) -> None:
    """
    Ask in the four ways that litellm has, and print the answers.
    """
    asked: dict[str, Any] = {
        "model": f"{provider}/{endpoint}",
        "messages": MESSAGES,
        "max_tokens": 12,
        **({"model_id": component} if component else {}),
    }
    base = f"{os.environ['AWS_ENDPOINT_URL']}/endpoints/{endpoint}/invocations"
    plain = {**asked, "sagemaker_base_url": base}
    streamed = {**asked, "sagemaker_base_url": f"{base}-response-stream"}
    answers = {
        "plain": whole(litellm.completion(**plain)),
        "streamed": pieces(list(litellm.completion(**streamed, stream=True))),
        **asyncio.run(later(plain, streamed)),
    }
    print(json.dumps(answers))


async def later(plain: dict[str, Any], streamed: dict[str, Any]) -> dict[str, Any]:
    """
    Ask in the two asynchronous ways.
    """
    answer = whole(await litellm.acompletion(**plain))
    stream = await litellm.acompletion(**streamed, stream=True)
    return {
        "later": answer,
        "streamed_later": pieces([chunk async for chunk in stream]),
    }


def whole(answer: Any) -> dict[str, Any]:
    """
    Return what a caller reads from an answer.
    """
    choice = answer.choices[0]
    return {"text": choice.message.content, "reason": choice.finish_reason}


def pieces(chunks: list[Any]) -> dict[str, Any]:
    """
    Return what a caller reads from a stream.
    """
    texts = [chunk.choices[0].delta.content or "" for chunk in chunks]
    return {
        "text": "".join(texts),
        "chunks": len([text for text in texts if text]),
        "reason": chunks[-1].choices[0].finish_reason,
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
