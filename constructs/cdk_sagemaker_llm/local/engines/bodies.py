"""
The bodies that OpenAI's interface has, as engines write, refuse and read them.

vLLM tries its types one after the other, and passes over a body that is of another
type; the checks that it makes itself answer at once.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.engines.containers import StartedEngine
from cdk_sagemaker_llm.local.engines.story import Token

SSE = "text/event-stream"
DONE = b"data: [DONE]\n\n"
# Where an engine's own default is to fill the context.
PLENTY = 100_000
_DIMENSIONS = 16
_KINDS = {
    400: "BadRequestError",
    404: "NotFoundError",
    500: "InternalServerError",
    501: "NotImplementedError",
}
Body = Mapping[str, Any]
Fault = tuple[str, str]
"""What is wrong, and the field that is."""


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


def read_json(body: bytes) -> Untyped:
    """
    Read a body.

    Raises:
        ValueError: If it is no JSON, or goes too deep, or has half of a pair of
            surrogates, which is no text though Python reads it.
    """
    try:
        found = json.loads(body)
        dump(found)
    except RecursionError as fault:
        raise ValueError(str(fault)) from fault
    return found


def token_count(text: str) -> int:
    """
    Return how many tokens a text counts here: its words, and at least one.
    """
    return max(1, len(text.split()))


def log_probs(tokens: tuple[Token, ...], top: int = 0) -> dict[str, Any]:
    """
    Write the log probabilities of a chat's tokens, each with itself as the one
    alternative that the stand-in knows of, if any is asked for.
    """
    rows = [
        {
            "token": token.text,
            "logprob": token.log_prob,
            "bytes": list(token.text.encode()),
        }
        for token in tokens
    ]
    return {"content": [{**row, "top_logprobs": [row] if top else []} for row in rows]}


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
    A request that an engine refuses, with the HTTP status and the body of its answer.
    """

    def __init__(self, status: int, body: str) -> None:
        super().__init__(body)
        self.status = status
        self.body = body

    @classmethod
    def of(cls, status: int, body: dict[str, Any]) -> RefusedError:
        """
        Make one whose body is JSON.
        """
        return cls(status, dump(body).decode())


def nested(
    message: str,
    parameter: str | None = None,
    *,
    status: int = 400,
    kind: str | None = None,
) -> RefusedError:
    """
    Make vLLM's refusal of a request for the field that is wrong; without a kind, its
    type is the one that vLLM has for the status.
    """
    error = {
        "message": message,
        "type": kind or _KINDS[status],
        "param": parameter,
        "code": status,
    }
    return RefusedError.of(status, {"error": error})


def faulty(message: str, parameter: str, value: Untyped = None) -> RefusedError:
    """
    Make vLLM's refusal of a field, which the message names once more.
    """
    suffix = "" if value is None else f", value={value}"
    return nested(f"{message} (parameter={parameter}{suffix})", parameter)


def check_room(
    engine: StartedEngine, prompt_tokens: int, limit: int = 0, name: str = "max_tokens"
) -> None:
    """
    Check that a prompt fits vLLM's context, and beside it the answer whose limit a
    field names.

    Read in vLLM 0.30.0 (renderers/params.py).
    """
    room = engine.context_length
    if room is None or prompt_tokens + limit <= room:
        return
    if limit > room:
        message = (
            f"{name}={limit} cannot be greater than max_model_len=max_total_tokens="
            f"{room}. Please request fewer output tokens."
        )
        raise faulty(message, name, limit)
    # The tokenizer stops at one token more than there is room for.
    read = room - limit + 1
    message = (
        f"This model's maximum context length is {room} tokens. However, you "
        f"requested {limit} output tokens and your prompt contains at least {read} "
        f"input tokens, for a total of at least {room + 1} tokens. Please reduce the "
        "length of the input prompt or the number of requested output tokens."
    )
    raise faulty(message, "input_tokens", read)


def not_found() -> RefusedError:
    """
    Make the refusal of a path that is not there: Starlette's own.
    """
    return RefusedError.of(404, {"detail": HTTPStatus.NOT_FOUND.phrase})


def is_whole(value: Untyped) -> bool:
    """
    Whether a value is a whole number, which a truth is not.
    """
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Untyped) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_truth(value: Untyped) -> bool:
    return isinstance(value, bool)


_COMMON: Mapping[str, Callable[[Untyped], bool]] = {
    "max_tokens": is_whole,
    "n": is_whole,
    "seed": is_whole,
    "temperature": _is_number,
    "top_p": _is_number,
    "frequency_penalty": _is_number,
    "presence_penalty": _is_number,
    "stream": _is_truth,
    "stop": lambda value: (
        isinstance(value, str)
        or (isinstance(value, list) and all(isinstance(one, str) for one in value))
    ),
    "stream_options": lambda value: isinstance(value, dict),
}
_CHAT = {
    **_COMMON,
    "max_completion_tokens": is_whole,
    "logprobs": _is_truth,
    "top_logprobs": is_whole,
    "tools": lambda value: isinstance(value, list),
}
_COMPLETION = {**_COMMON, "logprobs": is_whole, "echo": _is_truth}


def is_chat(body: Body) -> bool:
    """
    Whether the types of a body's fields are a chat's.
    """
    messages = body.get("messages")
    return (
        isinstance(messages, list)
        and all(
            isinstance(message, dict) and isinstance(message.get("role"), str)
            for message in messages
        )
        and _fits(body, _CHAT)
    )


def is_completion(body: Body) -> bool:
    """
    Whether the types of a body's fields are a completion's.
    """
    return prompts_of(body) is not None and _fits(body, _COMPLETION)


def _fits(body: Body, fields: Mapping[str, Callable[[Untyped], bool]]) -> bool:
    values = {name: body[name] for name in fields if body.get(name) is not None}
    return all(fields[name](value) for name, value in values.items())


def prompts_of(body: Body) -> list[str] | None:
    """
    Return the prompts of a completion; ``None`` if there is none.
    """
    prompt = body.get("prompt")
    return None if prompt == "" else texts_of(prompt) or None


def texts_of(value: Untyped) -> list[str]:
    """
    Return one text or many, tokens as words; none for what is neither.
    """
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or not value:
        return []
    if all(map(is_whole, value)):
        return [_as_words(value)]
    read = [
        _as_words(one) if isinstance(one, list) and all(map(is_whole, one)) else one
        for one in value
    ]
    return read if all(isinstance(one, str) for one in read) else []


def _as_words(tokens: list[int]) -> str:
    return " ".join(map(str, tokens))


def prompt_of(body: Body) -> str:
    """
    Write the messages of a chat as one prompt.
    """
    messages = body.get("messages")
    if messages is None:
        raise ValueError("missing field `messages`")
    if not isinstance(messages, list) or not messages:
        raise ValueError("`messages` must be a list that is not empty")
    return "\n".join(map(_text, messages))


def _text(message: Untyped) -> str:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise ValueError("missing field `role`")  # noqa: TRY004 - the container's word
    content = message.get("content")
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        return "".join(str(part.get("text", "")) for part in content)
    raise ValueError("`content` must be a text or a list of parts")


def chat_faults(body: Body) -> Iterator[Fault]:
    """
    Walk through what vLLM itself finds wrong with a chat.
    """
    if body.get("stream_options") and not body.get("stream"):
        yield (
            "Stream options can only be defined when `stream=True`.",
            "stream_options",
        )
    choice, tools = body.get("tool_choice"), body.get("tools")
    if choice in (None, "none"):
        return
    if tools is None:
        yield "When using `tool_choice`, `tools` must be set.", "tool_choice"
    elif choice not in ("auto", "required"):
        function = choice.get("function") if isinstance(choice, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        every = tools if isinstance(tools, list) else ()
        functions = (one.get("function") for one in every if isinstance(one, dict))
        names = [one.get("name") for one in functions if isinstance(one, dict)]
        if name is None or name not in names:
            yield (
                (
                    "The tool specified in `tool_choice` does not match any of the "
                    "specified `tools`"
                ),
                "tool_choice",
            )
