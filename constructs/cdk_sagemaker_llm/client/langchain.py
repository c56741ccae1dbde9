"""
Content handlers for langchain-aws: how the body of a request is written, and its answer
read.

langchain-aws takes instances of its own classes alone, which are derived here when a
handler is made: the client needs boto3 and no LangChain.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cdk_sagemaker_llm.client.arguments import choice
from cdk_sagemaker_llm.client.errors import ConnectionCutError
from cdk_sagemaker_llm.client.reader import read_body, read_stream
from cdk_sagemaker_llm.client.requests import Message, Schema, chat_body, prompt_body

if TYPE_CHECKING:
    from langchain_aws.chat_models.sagemaker_endpoint import ChatModelContentHandler
    from langchain_aws.llms.sagemaker_endpoint import LLMContentHandler
    from langchain_core.messages import AIMessage, AIMessageChunk

    from cdk_sagemaker_llm.client.answers import Generation, Token

_JSON = "application/json"


def langchain_chat_handler(*, stream: bool = False) -> ChatModelContentHandler:
    """
    Make the ``content_handler`` of langchain-aws' ``ChatSagemakerEndpoint``.

    The endpoint's container takes chats, as vLLM, SGLang, TGI and LMI do. A message
    has the text, the counts of tokens, and in ``response_metadata`` the finish reason;
    reasoning and calls of tools are in ``additional_kwargs``. A part of a stream has
    its text and the counts alone.

    Args:
        stream: Whether the model is asked by ``stream()`` rather than ``invoke()``:
            LangChain does not tell its handler. If omitted, it is asked for whole
            answers.

    Raises:
        ImportError: If langchain-aws is not installed.
    """
    from langchain_aws.chat_models import sagemaker_endpoint  # noqa: PLC0415 - optional
    from langchain_core.messages import AIMessageChunk  # noqa: PLC0415 - likewise

    class Handler(sagemaker_endpoint.ChatModelContentHandler):  # type: ignore[misc] # not installed where types are checked
        content_type = _JSON
        accepts = _JSON

        def transform_input(
            self, prompt: Sequence[Message], model_kwargs: Mapping[str, Any]
        ) -> bytes:
            return chat_body(prompt, {"parameters": model_kwargs}, stream=stream)

        def transform_output(self, output: Any) -> AIMessage | AIMessageChunk:  # noqa: ANN401 - a body or a line
            if hasattr(output, "read"):
                return _message(read_body(output.read()))
            tokens = _tokens(output)
            counts = next((each for token in tokens if (each := _counts(token))), None)
            text = "".join(token.text for token in tokens)
            return AIMessageChunk(content=text, usage_metadata=counts)

    return Handler()


def langchain_prompt_handler(
    schema: Schema | str = Schema.LMI, *, stream: bool = False
) -> LLMContentHandler:
    """
    Make the ``content_handler`` of langchain-aws' ``SagemakerEndpoint``.

    Args:
        schema: How the container wants a prompt, as ``LlmClient`` takes it.
            If omitted, it reads ``inputs``, as LMI and TGI do.

        stream: Whether the model is asked by ``stream()`` rather than ``invoke()``:
            LangChain does not tell its handler. If omitted, it is asked for whole
            answers.

    Raises:
        ImportError: If langchain-aws is not installed.

        ValueError: If there is no such schema.
    """
    form = choice("schema", Schema, schema)
    from langchain_aws.llms import sagemaker_endpoint  # noqa: PLC0415 - optional

    class Handler(sagemaker_endpoint.LLMContentHandler):  # type: ignore[misc] # not installed where types are checked
        content_type = _JSON
        accepts = _JSON

        def transform_input(
            self, prompt: str, model_kwargs: Mapping[str, Any]
        ) -> bytes:
            return prompt_body(
                form, prompt, {"parameters": model_kwargs}, stream=stream
            )

        def transform_output(self, output: Any) -> str:  # noqa: ANN401 - a body or a line
            if hasattr(output, "read"):
                return read_body(output.read()).text
            return "".join(token.text for token in _tokens(output))

    return Handler()


def _tokens(line: bytes) -> list[Token]:
    """
    Read what one line of a stream has, which is seldom its last.
    """
    tokens: list[Token] = []
    with contextlib.suppress(ConnectionCutError):
        tokens.extend(read_stream([line, b"\n\n"]))
    return tokens


def _message(answer: Generation) -> AIMessage:
    from langchain_core.messages import AIMessage  # noqa: PLC0415 - optional

    more: dict[str, Any] = {}
    if answer.reasoning:
        more["reasoning_content"] = answer.reasoning
    if answer.tool_calls:
        # In OpenAI's form, of which LangChain makes its own.
        more["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in answer.tool_calls
        ]
    return AIMessage(
        content=answer.text,
        additional_kwargs=more,
        response_metadata={"finish_reason": answer.finish_reason},
        usage_metadata=_counts(answer),
    )


def _counts(answer: Generation | Token) -> dict[str, int] | None:
    usage = answer.usage
    if usage is None:
        return None
    read, written = usage.prompt_tokens or 0, usage.completion_tokens or 0
    return {
        "input_tokens": read,
        "output_tokens": written,
        "total_tokens": read + written,
    }
