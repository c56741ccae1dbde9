"""
Which bodies vLLM takes for a chat or a completion, and what it says of their fields.

Its types are tried one after the other. A body that is of another type is passed over;
from some release on, the checks that vLLM itself makes are not, and answer at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from cdk_sagemaker_llm.local.untyped import Untyped

Body = Mapping[str, Any]
Fault = tuple[str, str]
"""What is wrong, and the field that is."""

NO_PROMPT = (
    "Either prompt or prompt_embeds must be provided and non-empty.",
    "prompt",
)


def _is_whole(value: Untyped) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Untyped) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_truth(value: Untyped) -> bool:
    return isinstance(value, bool)


def _is_stop(value: Untyped) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(one, str) for one in value)
    )


_COMMON: Mapping[str, Callable[[Untyped], bool]] = {
    "max_tokens": _is_whole,
    "n": _is_whole,
    "seed": _is_whole,
    "temperature": _is_number,
    "top_p": _is_number,
    "frequency_penalty": _is_number,
    "presence_penalty": _is_number,
    "stream": _is_truth,
    "stop": _is_stop,
    "stream_options": lambda value: isinstance(value, dict),
}
_CHAT = {
    **_COMMON,
    "max_completion_tokens": _is_whole,
    "logprobs": _is_truth,
    "top_logprobs": _is_whole,
    "tools": lambda value: isinstance(value, list),
}
_COMPLETION = {**_COMMON, "logprobs": _is_whole, "echo": _is_truth}


def is_chat(body: Body) -> bool:
    """
    Whether the types of a body's fields are a chat's.
    """
    messages = body.get("messages")
    return (
        isinstance(messages, list)
        and all(_is_message(message) for message in messages)
        and _fits(body, _CHAT)
    )


def is_completion(body: Body) -> bool:
    """
    Whether the types of a body's fields are a completion's.
    """
    return prompts_of(body) is not None and _fits(body, _COMPLETION)


def prompts_of(body: Body) -> list[str] | None:
    """
    Return the prompts of a completion, tokens as words; ``None`` if there is none.
    """
    given = body.get("prompt")
    if isinstance(given, str):
        return [given] if given else None
    if not isinstance(given, list) or not given:
        return None
    if all(_is_whole(one) for one in given):
        return [_as_words(given)]
    read = [_as_words(one) if isinstance(one, list) else one for one in given]
    return read if all(isinstance(one, str) for one in read) else None


def chat_faults(body: Body) -> Iterator[Fault]:
    """
    Walk through what vLLM itself finds wrong with a chat.
    """
    if body.get("stream_options") and not body.get("stream"):
        yield (
            "Stream options can only be defined when `stream=True`.",
            "stream_options",
        )
    top: Untyped = body.get("top_logprobs")
    asks = _is_whole(top) and (top == -1 or top > 0)
    if asks and not body.get("logprobs"):
        yield (
            "when using `top_logprobs`, `logprobs` must be set to true.",
            "top_logprobs",
        )
    if body.get("tools") == []:
        yield (
            (
                "`tools` must not be an empty array. Either provide at least one tool "
                "or omit the field entirely."
            ),
            "tools",
        )
    yield from _choice_faults(body)


def _choice_faults(body: Body) -> Iterator[Fault]:
    choice = body.get("tool_choice")
    if choice is None or choice == "none":
        return
    if body.get("tools") is None:
        yield "When using `tool_choice`, `tools` must be set.", "tool_choice"
    elif isinstance(choice, dict):
        function = choice.get("function")
        named = function.get("name") if isinstance(function, dict) else None
        if named not in _tool_names(body):
            yield (
                (
                    "The tool specified in `tool_choice` does not match any of the "
                    "specified `tools`"
                ),
                "tool_choice",
            )
    elif choice not in ("auto", "required"):
        yield (
            (
                f"Invalid value for `tool_choice`: {choice}! Only named tools, "
                '"none", "auto" or "required" are supported.'
            ),
            "tool_choice",
        )


def _tool_names(body: Body) -> list[Untyped]:
    functions = (
        tool.get("function") for tool in body["tools"] if isinstance(tool, dict)
    )
    # A list: what is no text may be no key of a set.
    return [one["name"] for one in functions if isinstance(one, dict) and "name" in one]


def _fits(body: Body, fields: Mapping[str, Callable[[Untyped], bool]]) -> bool:
    given = {name: body[name] for name in fields if body.get(name) is not None}
    return all(fields[name](value) for name, value in given.items())


def _is_message(message: Untyped) -> bool:
    return isinstance(message, dict) and isinstance(message.get("role"), str)


def _as_words(tokens: list[Untyped]) -> Untyped:
    return " ".join(map(str, tokens)) if all(map(_is_whole, tokens)) else None
