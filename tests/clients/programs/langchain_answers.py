"""
A prompt and a conversation by langchain-aws, at once and streamed.

What a handler has to do is from the package's documentation: write the body, read the
answer, and read a line of a stream.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from langchain_aws.chat_models.sagemaker_endpoint import (
    ChatModelContentHandler,
    ChatSagemakerEndpoint,
)
from langchain_aws.llms import SagemakerEndpoint
from langchain_aws.llms.sagemaker_endpoint import LLMContentHandler
from langchain_core.messages import AIMessage, AIMessageChunk

QUESTION = "Who is Roger Federer?"


class Prompts(LLMContentHandler):  # type: ignore[misc] # not installed where types are checked
    """
    The body of a prompt; an answer at once, or a line of jsonlines or events.

    Args:
        stream: Whether to ask for a stream.
    """

    content_type = "application/json"
    accepts = "application/json"

    def __init__(self, *, stream: bool) -> None:
        self._stream = stream

    def transform_input(self, prompt: str, model_kwargs: dict[str, Any]) -> bytes:
        """
        Write the body of a request.
        """
        body = {"inputs": prompt, "parameters": model_kwargs}
        return json.dumps(body | ({"stream": True} if self._stream else {})).encode()

    def transform_output(self, output: Any) -> str:
        """
        Read the text of an answer or of a line.
        """
        read = _read(output)
        found = read[0] if isinstance(read, list) else read
        token = found.get("token")
        return str(token["text"] if token else found.get("generated_text", ""))


class Conversations(ChatModelContentHandler):  # type: ignore[misc] # as above
    """
    The body of a conversation; an answer at once, or a line of events.

    Args:
        stream: Whether to ask for a stream.
    """

    content_type = "application/json"
    accepts = "application/json"

    def __init__(self, *, stream: bool) -> None:
        self._stream = stream

    def transform_input(
        self, prompt: list[dict[str, Any]], model_kwargs: dict[str, Any]
    ) -> bytes:
        """
        Write the body of a request.
        """
        body = {"messages": prompt, "stream": self._stream, **model_kwargs}
        return json.dumps(body).encode()

    def transform_output(self, output: Any) -> Any:
        """
        Read the message of an answer or the piece of a line.
        """
        choices = _read(output).get("choices")
        if not choices:
            return AIMessageChunk(content="")
        if self._stream:
            return AIMessageChunk(content=choices[0]["delta"].get("content") or "")
        return AIMessage(content=choices[0]["message"]["content"])


def main(kind: str, endpoint: str, component: str | None = None) -> None:
    """
    Ask at once and streamed, and print the answers.
    """
    model, handler, settings = {
        "prompt": (SagemakerEndpoint, Prompts, {"max_new_tokens": 12}),
        "chat": (ChatSagemakerEndpoint, Conversations, {"max_tokens": 12}),
    }[kind]

    def of(*, stream: bool) -> Any:
        return model(
            endpoint_name=endpoint,
            inference_component_name=component,
            region_name=os.environ["AWS_REGION"],
            content_handler=handler(stream=stream),
            model_kwargs=settings,
        )

    plain = of(stream=False).invoke(QUESTION)
    pieces = list(of(stream=True).stream(QUESTION))
    print(json.dumps({"plain": _text(plain), "pieces": list(map(_text, pieces))}))


def _read(output: Any) -> Any:
    text = (output.read() if hasattr(output, "read") else output).decode()
    text = text.removeprefix("data:").strip()
    return {} if text in {"", "[DONE]"} else json.loads(text)


def _text(answer: Any) -> str:
    return str(answer if isinstance(answer, str) else answer.content)


if __name__ == "__main__":
    main(*sys.argv[1:])
