"""
Chats by LangChain's ChatOpenAI, at an address and with a key of ours.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from langchain_openai import ChatOpenAI

TOOL = {"type": "function", "function": {"name": "weather", "parameters": {}}}


def main(base_url: str, token: str) -> None:
    """
    Ask at once, as a stream, and with a tool, and print the answers.
    """
    settings: dict[str, Any] = {"base_url": base_url, "api_key": token}
    model = ChatOpenAI(model="Qwen/Qwen3-4B", max_tokens=12, **settings)
    question = "Who is Roger Federer?"
    plain = model.invoke(question)
    pieces = [part.content for part in model.stream(question)]
    called = model.bind_tools([TOOL], tool_choice="required").invoke(question)
    answers = {
        "plain": plain.content,
        "counted": plain.usage_metadata["output_tokens"],
        "pieces": [piece for piece in pieces if piece],
        "tool": called.tool_calls[0]["name"],
    }
    print(json.dumps(answers))


if __name__ == "__main__":
    main(*sys.argv[1:])
