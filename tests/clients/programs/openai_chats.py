"""
Chats by OpenAI's SDK at SageMaker's own route, with a token of the official generator.

What is refused is printed as the name of the SDK's error, its status and its code.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from openai import APIStatusError, AsyncOpenAI, OpenAI
from sagemaker.core.token_generator import generate_token

MESSAGES: list[Any] = [{"role": "user", "content": "Who is Roger Federer?"}]
TOOL: Any = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


def main(what: str, base_url: str) -> None:
    """
    Ask in one way or try what is refused, and print what comes of it.
    """
    settings: Any = {"base_url": base_url, "api_key": token, "max_retries": 0}
    client = OpenAI(**settings)
    if what == "chats":
        print(json.dumps({**chats(client), **asyncio.run(later(settings))}))
    else:
        print(json.dumps(refusals(client)))


def token() -> str:
    """
    Make a token, which the SDK asks for anew at each request.
    """
    return str(generate_token(region="us-east-1", expiry=timedelta(minutes=5)))


def chats(client: OpenAI) -> dict[str, Any]:
    """
    Ask at once, as a stream, and with a tool.
    """
    asked: Any = {"model": "", "messages": MESSAGES, "max_tokens": 12}
    plain = client.chat.completions.create(**asked)
    stream = client.chat.completions.create(
        **asked, stream=True, stream_options={"include_usage": True}
    )
    *parts, last = stream
    called = client.chat.completions.create(
        **asked, tools=[TOOL], tool_choice="required"
    )
    (call,) = called.choices[0].message.tool_calls or []
    return {
        "plain": plain.choices[0].message.content,
        "reason": plain.choices[0].finish_reason,
        "pieces": [part.choices[0].delta.content or "" for part in parts],
        "counted": last.usage.completion_tokens if last.usage else None,
        "tool": call.function.name,
        "arguments": json.loads(call.function.arguments),
    }


async def later(settings: Any) -> dict[str, Any]:
    """
    Ask fifty times at once, each as a stream.
    """
    async with AsyncOpenAI(**{**settings, "api_key": token()}) as client:

        async def text() -> str:
            stream = await client.chat.completions.create(
                model="", messages=MESSAGES, max_tokens=12, stream=True
            )
            parts = [part.choices[0].delta.content async for part in stream]
            return "".join(filter(None, parts))

        return {"later": await asyncio.gather(*(text() for _ in range(50)))}


def refusals(client: OpenAI) -> dict[str, Any]:
    """
    Try what the route may refuse.
    """
    another = client.with_options(api_key="none")
    old = client.with_options(api_key=expired())
    return {
        "chat": refusal(lambda: chat(client)),
        "wrong token": refusal(lambda: chat(another)),
        "old token": refusal(lambda: chat(old)),
        "too long": refusal(lambda: chat(client, max_tokens=10_000_000)),
        "wrong model": refusal(lambda: chat(client, model="gpt-5")),
        "models": refusal(client.models.list),
        "embeddings": refusal(lambda: client.embeddings.create(model="", input="Hi")),
        "completions": refusal(lambda: client.completions.create(model="", prompt="")),
        "responses": refusal(lambda: client.responses.create(model="", input="Hi")),
    }


def chat(client: OpenAI, **settings: Any) -> object:
    """
    Ask for a few words.
    """
    asked = {"model": "", "messages": MESSAGES, "max_tokens": 5, **settings}
    return client.chat.completions.create(**asked)


def expired() -> str:
    """
    Make a token, and wait until it is old.
    """
    brief = generate_token(region="us-east-1", expiry=timedelta(seconds=1))
    time.sleep(2.1)
    return str(brief)


def refusal(call: Callable[[], object]) -> list[Any]:
    """
    Return how a call is refused; nothing where it is not.
    """
    try:
        call()
    except APIStatusError as error:
        return [type(error).__name__, error.status_code, error.code, error.message]
    return []


if __name__ == "__main__":
    main(*sys.argv[1:])
