"""
Requests, as each family of containers reads them: their bodies, and what a refusal
tells of the form that is wanted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeAlias, TypedDict, TypeVar

from cdk_sagemaker_llm.client.arguments import (
    as_list,
    check_mapping,
    check_number,
    check_text,
    check_whole,
    refuse,
)

Message: TypeAlias = Mapping[str, Any]
"""One message of a chat, as ``{"role": "user", "content": "Hello"}``."""

# vLLM to a body that has ``inputs``, from 0.29 on and before; and the embedded AWS of
# a server that a model is forwarded to.
_WANTS_PROMPTS = re.compile(
    r"Either prompt or prompt_embeds must be provided"
    r"|Cannot find suitable handler for request"
    r"|ask with schema=\"openai\""
)
# SGLang, by pydantic and by its own words, and llama.cpp's chat.cpp.
_WANTS_MESSAGES = re.compile(
    r"missing field `messages`"
    r"|'messages' is required"
    r"|\bmessages\b.{0,40}Field required"
    r"|Field required.{0,40}\bmessages\b",
    re.DOTALL,
)

_STOP = "write stop=['END']"
_MESSAGE = """write [{"role": "user", "content": "Hello"}], or the text alone"""
_SAMPLED = ("temperature", "top_p", "top_k")
_COMMON = (*_SAMPLED, "seed")
# What has SGLang write on where the assistant's message ends; llama.cpp does so
# unasked, and overlooks both.
_GO_ON = {"continue_final_message": True, "add_generation_prompt": False}


def prompt_body(
    schema: Schema, prompt: str, options: Options, *, stream: bool, begun: str = ""
) -> bytes:
    """
    Write the request that continues a prompt.

    Args:
        begun: What the model has written already. If omitted, nothing.
    """
    check_text("prompt", prompt)
    if schema is Schema.CHAT:
        messages: list[Message] = [{"role": "user", "content": prompt}]
        kept: Any = dict(held(options, Options))
        if begun:
            messages.append({"role": "assistant", "content": begun})
            kept["parameters"] = {**_GO_ON, **kept.get("parameters", {})}
        return chat_body(messages, kept, stream=stream)
    prompt += begun
    options = held(options, Options)
    if schema is Schema.OPENAI:
        body: dict[str, Any] = {"prompt": prompt, **_openai(options, stream=stream)}
        if options.get("details"):
            body["logprobs"] = 1
    else:
        body = {"inputs": prompt, "parameters": _parameters(schema, options)}
        if stream:
            body["stream"] = True
        return _dump(body)
    return _dump({**body, **options.get("parameters", {})})


def chat_body(
    messages: str | Sequence[Message], options: ChatOptions, *, stream: bool
) -> bytes:
    """
    Write the request that answers a chat; a text alone is the user's only message.
    """
    options = held(options, ChatOptions)
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    body: dict[str, Any] = {
        "messages": as_list("messages", messages, check_mapping, _MESSAGE)
    }
    body |= _openai(options, stream=stream)
    if options.get("details"):
        # Without a number llama-cpp-python gives none, and llama.cpp twenty of each.
        body |= {"logprobs": True, "top_logprobs": 1}
    for name in ("tools", "tool_choice", "model"):
        if name in options:
            body[name] = options[name]
    return _dump({**body, **options.get("parameters", {})})


class Options(TypedDict, total=False):
    """
    The options of an answer; the container's default holds for each that is omitted or
    ``None``.

    Args:
        max_new_tokens: How many tokens to write at most.

        temperature: How freely to choose tokens.

        top_p: Which part of the probability to choose tokens from.

        top_k: From how many tokens to choose.

        stop: Texts to stop at.

        seed: Where chance starts from.

        details: Whether to send ids and log probabilities. If omitted, they come
            where the finish reason comes with them: not from OpenAI's schema.

        parameters: Anything else, in the container's own words.
    """

    max_new_tokens: int
    temperature: float
    top_p: float
    top_k: int
    stop: Sequence[str]
    seed: int
    details: bool
    parameters: Mapping[str, Any]


_AnyOptions = TypeVar("_AnyOptions", bound=Options)


class ChatOptions(Options, total=False):
    """
    The options of an answer in a chat.

    Args:
        tools: The tools that the model may call, in OpenAI's form.

        tool_choice: Which of them: ``auto``, ``none``, ``required``, or one by name.

        model: The model's or adapter's name, where the container asks for it.
    """

    tools: Sequence[Mapping[str, Any]]
    tool_choice: str | Mapping[str, Any]
    model: str


def embedding_body(
    schema: Schema, inputs: Sequence[object], parameters: Mapping[str, Any]
) -> bytes:
    """
    Write the request that turns texts into vectors.
    """
    check_mapping("parameters", parameters)
    name = "input" if schema in (Schema.OPENAI, Schema.CHAT) else "inputs"
    return _dump({name: list(inputs), **parameters})


def rerank_body(
    schema: Schema,
    query: str,
    texts: Sequence[object],
    top_n: int | None,
    parameters: Mapping[str, Any],
) -> bytes:
    """
    Write the request that ranks texts for a query.

    TEI does not take how many of them to tell of.
    """
    check_text("query", query)
    check_mapping("parameters", parameters)
    if schema is not Schema.OPENAI:
        return _dump({"query": query, "texts": list(texts), **parameters})
    body: dict[str, Any] = {"query": query, "documents": list(texts)}
    if top_n is not None:
        body["top_n"] = top_n
    return _dump({**body, **parameters})


def held(options: _AnyOptions, kind: type[_AnyOptions]) -> _AnyOptions:
    """
    Check options, and return those that have a value.
    """
    names = kind.__annotations__.keys() | Options.__annotations__.keys()
    unknown = sorted(options.keys() - names)
    if unknown:
        raise TypeError(
            f"unknown option {unknown[0]!r}; what only the container knows goes into "
            "parameters={...}"
        )
    kept: Any = {name: value for name, value in options.items() if value is not None}
    for name, value in kept.items():
        _check(name, value)
    if "stop" in kept:
        kept["stop"] = as_list("stop", kept["stop"], check_text, _STOP)
    found: _AnyOptions = kept
    return found


def schema_wanted(refusal: str) -> Schema | None:
    """
    Return the form that a container asks for; ``None`` if it does not say so.
    """
    if _WANTS_PROMPTS.search(refusal):
        return Schema.OPENAI
    return Schema.CHAT if _WANTS_MESSAGES.search(refusal) else None


class Schema(StrEnum):
    """
    How a container wants a prompt.
    """

    LMI = "lmi"
    """``inputs`` and ``parameters``, with LMI's names."""

    TGI = "tgi"
    """``inputs`` and ``parameters``, with TGI's names."""

    OPENAI = "openai"
    """``prompt``, as vLLM's own image and LMI from 0.35 on read it."""

    CHAT = "chat"
    """``messages`` alone, as SGLang's image and AWS's of llama.cpp read them: a prompt
    is the user's only message, and the answer to it is the text."""


FIRST = Schema.LMI
"""The form to begin with: what refuses it says so, and has done nothing yet."""


def _openai(options: Options, *, stream: bool) -> dict[str, Any]:
    named: dict[str, Any] = {
        name: options[name]  # type: ignore[literal-required]  # of the four
        for name in _COMMON
        if name in options
    }
    if "max_new_tokens" in options:
        named["max_tokens"] = options["max_new_tokens"]
    if "stop" in options:
        named["stop"] = options["stop"]
    if stream:
        named |= {"stream": True, "stream_options": {"include_usage": True}}
    return named


def _parameters(schema: Schema, options: Options) -> dict[str, Any]:
    named = {name: options[name] for name in _COMMON if name in options}  # type: ignore[literal-required]  # of the four
    if "max_new_tokens" in options:
        named["max_new_tokens"] = options["max_new_tokens"]
    if "stop" in options:
        name = "stop" if schema is Schema.TGI else "stop_sequences"
        named[name] = options["stop"]
    if any(name in options for name in _SAMPLED):
        # Without it LMI up to 0.31 takes the likeliest token whatever is asked for.
        named["do_sample"] = True
    named["details"] = options.get("details", True)
    return {**named, **options.get("parameters", {})}


def _dump(body: Mapping[str, Any]) -> bytes:
    try:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False)
        return text.encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise ValueError(
            f"the request must be text that UTF-8 can carry, got {half!r}, half a "
            "character; write text.encode('utf-8', 'replace').decode()"
        ) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"the request must be what JSON can say: {error}; change what is in "
            "parameters, messages or tools"
        ) from error


def _check(name: str, value: object) -> None:
    if name in {"max_new_tokens", "top_k", "seed"}:
        check_whole(name, value)
    elif name in {"temperature", "top_p"}:
        check_number(name, value)
    elif name == "details" and not isinstance(value, bool):
        refuse(name, "True or False", value)
    elif name == "parameters":
        check_mapping(name, value)
    elif name == "model":
        check_text(name, value)
