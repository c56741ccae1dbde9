"""
The bodies that OpenAI's interface has, as engines write, refuse and read them.

vLLM tries its types one after the other. A body that is of another type is passed over;
from some release on, the checks that vLLM itself makes are not, and answer at once.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.engines.story import Token

SSE = "text/event-stream"
DONE = b"data: [DONE]\n\n"
_DIMENSIONS = 16
_KINDS = {
    400: "BadRequestError",
    404: "NotFoundError",
    422: "UnprocessableEntityError",
    500: "InternalServerError",
    501: "NotImplementedError",
}
Body = Mapping[str, Any]
Fault = tuple[str, str]
"""What is wrong, and the field that is."""
NO_PROMPT = (
    "Either prompt or prompt_embeds must be provided and non-empty.",
    "prompt",
)


def dump(body: Untyped) -> bytes:
    """
    Write compact JSON.
    """
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def event(body: Untyped) -> bytes:
    """
    Write one event of a stream.
    """
    return b"data: " + dump(body) + b"\n\n"


def token_count(text: str) -> int:
    """
    Return how many tokens a text counts here: its words, and at least one.
    """
    return max(1, len(text.split()))


def log_probs(tokens: tuple[Token, ...], top: int = 0) -> dict[str, Any]:
    """
    Write the log probabilities of a chat's tokens.

    Args:
        tokens: The tokens.

        top: How many alternatives of each are asked for; the stand-in knows of one,
            which is the token itself.
    """
    return {
        "content": [
            {**_log_prob(token), "top_logprobs": [_log_prob(token)] if top else []}
            for token in tokens
        ]
    }


def _log_prob(token: Token) -> dict[str, Any]:
    return {
        "token": token.text,
        "logprob": token.log_prob,
        "bytes": list(token.text.encode()),
    }


def vector(text: str, dimensions: int | None = None) -> list[float]:
    """
    Return a text's embedding: of length one, and the same each time.
    """
    size = dimensions or _DIMENSIONS
    raw = [zlib.crc32(f"{index}{text}".encode()) / 2**31 - 1 for index in range(size)]
    length = math.sqrt(sum(value * value for value in raw)) or 1.0
    return [round(value / length, 6) for value in raw]


def relevance(query: str, document: str) -> float:
    """
    Return how much a document has to do with a query: the words that both have.
    """
    words, there = set(query.lower().split()), set(document.lower().split())
    if not words:
        return 0.0
    share = len(words & there) / len(words)
    return round(0.01 + 0.98 * share, 6)


class RefusedError(Exception):
    """
    A request that an engine refuses.

    Args:
        status: The HTTP status.

        body: What the container answers.
    """

    def __init__(self, status: int, body: str) -> None:
        super().__init__(body)
        self.status = status
        self.body = body


def nested(
    message: str,
    parameter: str | None = None,
    *,
    status: int = 400,
    kind: str | None = None,
) -> RefusedError:
    """
    Make vLLM's refusal of a request.

    Args:
        message: What is wrong.

        parameter: The field that is.

        status: The HTTP status.

        kind: The type. If omitted, it is the one that vLLM has for the status.
    """
    error = {
        "message": message,
        "type": kind or _KINDS[status],
        "param": parameter,
        "code": status,
    }
    return _refusal(status, {"error": error})


def raised(message: str, *, status: int = 400) -> RefusedError:
    """
    Make vLLM's refusal where an HTTPException was raised: its type is the status.
    """
    return nested(message, status=status, kind=HTTPStatus(status).phrase)


def plain(status: int) -> RefusedError:
    """
    Make the refusal of a path that is not there, or not for POST: Starlette's own.
    """
    return _refusal(status, {"detail": HTTPStatus(status).phrase})


def flat(message: str, *, kind: str = "BadRequest") -> RefusedError:
    """
    Make SGLang's refusal of a request, which is a 400 always.
    """
    error = {"object": "error", "message": message, "type": kind}
    return _refusal(400, {**error, "param": None, "code": 400})


def llama_refusal(
    message: str, *, status: int = 400, kind: str = "invalid_request_error", **more: int
) -> RefusedError:
    """
    Make llama.cpp's refusal of a request.
    """
    error = {"code": status, "message": message, "type": kind, **more}
    return _refusal(status, {"error": error})


def _refusal(status: int, body: dict[str, Any]) -> RefusedError:
    return RefusedError(status, dump(body).decode())


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
    prompt = body.get("prompt")
    if isinstance(prompt, str):
        return [prompt] if prompt else None
    if not isinstance(prompt, list) or not prompt:
        return None
    if all(_is_whole(one) for one in prompt):
        return [_as_words(prompt)]
    read = [_as_words(one) if isinstance(one, list) else one for one in prompt]
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
        name = function.get("name") if isinstance(function, dict) else None
        if name not in _tool_names(body):
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
    values = {name: body[name] for name in fields if body.get(name) is not None}
    return all(fields[name](value) for name, value in values.items())


def _is_message(message: Untyped) -> bool:
    return isinstance(message, dict) and isinstance(message.get("role"), str)


def _as_words(tokens: list[Untyped]) -> Untyped:
    return " ".join(map(str, tokens)) if all(map(_is_whole, tokens)) else None
