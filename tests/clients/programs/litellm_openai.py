"""
Chats by litellm's provider for OpenAI, at an address and with a key of ours.
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
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {}}}


def main(base_url: str, token: str) -> None:
    """
    Ask in four ways, and with a tool, and print the answers.
    """
    asked: dict[str, Any] = {
        "model": "openai/Qwen/Qwen3-4B",
        "api_base": base_url,
        "api_key": token,
        "messages": MESSAGES,
        "max_tokens": 12,
    }
    tools = {"tools": [TOOL], "tool_choice": "required"}
    called = litellm.completion(**asked, **tools).choices[0].message.tool_calls
    try:
        litellm.completion(**{**asked, "api_key": "none"})
    except litellm.exceptions.APIError as error:
        refused = error.status_code
    answers = {
        "plain": litellm.completion(**asked).choices[0].message.content,
        "streamed": pieces(list(litellm.completion(**asked, stream=True))),
        **asyncio.run(later(asked)),
        "tool": called[0].function.name,
        "refused": refused,
    }
    print(json.dumps(answers))


async def later(asked: dict[str, Any]) -> dict[str, Any]:
    """
    Ask in the two asynchronous ways.
    """
    answer = await litellm.acompletion(**asked)
    stream = await litellm.acompletion(**asked, stream=True)
    return {
        "later": answer.choices[0].message.content,
        "streamed_later": pieces([chunk async for chunk in stream]),
    }


def pieces(chunks: list[Any]) -> list[str]:
    """
    Return the texts in a stream.
    """
    texts = [chunk.choices[0].delta.content or "" for chunk in chunks]
    return [text for text in texts if text]


if __name__ == "__main__":
    main(*sys.argv[1:])
