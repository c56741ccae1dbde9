"""
OpenAI's chat and completions, as vLLM, SGLang, llama.cpp, TGI and LMI write them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from cdk_sagemaker_llm.client.answers import FinishReason, Token, ToolCall
from cdk_sagemaker_llm.client.wire.step import (
    Record,
    Step,
    as_count,
    as_number,
    as_text,
    finish_reason,
    shared,
    usage_of,
)

_Entry = tuple[str, int | None, float | None]
# What a piece of text may have beside it.
_MORE = ("tool_calls", "reasoning", "reasoning_content", "function_call")
# LMI's rolling batch ends a chat so whose generation fails, with HTTP 200.
_FAILED = "error"
# What a part of a tool call takes beside its text.
_PART_SIZE = 64


def read(record: Record) -> Step | None:
    """
    Read a chunk or a whole completion; ``None`` if it is of another format.
    """
    if not isinstance(record, dict):
        return None
    choices = record.get("choices")
    if not isinstance(choices, list):
        return None
    step = Step([], usage=usage_of(record))
    for choice in choices:
        if isinstance(choice, dict):
            _add(step, choice)
    return step


def quick(record: dict[str, Record]) -> Token | None:
    """
    Read a chunk that is nothing but a piece of text; ``None`` if it is more.
    """
    choices = record.get("choices")
    if choices.__class__ is not list or len(choices) != 1:
        return None
    choice = choices[0]
    if choice.__class__ is not dict or "error" in record or record.get("usage"):
        return None
    get, delta = choice.get, choice.get("delta")
    if (
        delta.__class__ is not dict
        or get("finish_reason") is not None
        or get("logprobs") is not None
        or get("index", 0) != 0
        or (len(delta) > 1 and any(map(delta.get, _MORE)))
    ):
        return None
    text = delta.get("content")
    return Token(text) if text.__class__ is str and text else None


class ToolCalls:
    """
    The calls of one answer, or of several side by side.
    """

    def __init__(self) -> None:
        self._calls: dict[tuple[int, int], _Call] = {}

    def add(self, answer: int, part: Record) -> int:
        """
        Add a part as it came; return about how much memory it takes.
        """
        if not isinstance(part, dict):
            return 0
        function = part.get("function")
        function = function if isinstance(function, dict) else {}
        number = as_count(part.get("index"))
        if number is None:
            number = self._number_of(answer, part, function)
        call = self._calls.setdefault((answer, number), _Call())
        arguments = function.get("arguments", "")
        # TGI before 3 writes an object, not its JSON.
        if not isinstance(arguments, str) and arguments is not None:
            arguments = json.dumps(arguments, ensure_ascii=False)
        call.id = call.id or as_text(part.get("id"))
        call.name = call.name or as_text(function.get("name"))
        call.arguments.append(arguments or "")
        return _PART_SIZE + len(arguments or "")

    def _number_of(
        self, answer: int, part: dict[str, Record], function: dict[str, Record]
    ) -> int:
        numbers = [number for of, number in self._calls if of == answer]
        if not numbers:
            return 0
        last = self._calls[answer, numbers[-1]]
        name = as_text(part.get("id"))
        begins = name != last.id if name else bool(as_text(function.get("name")))
        return max(numbers) + 1 if begins else numbers[-1]

    def whole(self, answer: int) -> tuple[ToolCall, ...]:
        """
        Return the calls of an answer as far as they came.
        """
        return tuple(
            ToolCall(call.name, "".join(call.arguments), call.id)
            for (of, _), call in sorted(self._calls.items(), key=lambda item: item[0])
            if of == answer
        )


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


def _add(step: Step, choice: dict[str, Record]) -> None:
    index = as_count(choice.get("index")) or 0
    delta, message = choice.get("delta"), choice.get("message")
    is_whole = isinstance(message, dict)
    part = message if is_whole else delta
    if not isinstance(part, dict):
        part = {"content": choice.get("text")}
    text, reasoning = _content(part), _reasoning(part)
    calls = _calls(part)
    if is_whole:
        # Each is a whole one, also where it has no number, or all have the same id.
        calls = [
            {"index": number, **call}
            for number, call in enumerate(calls)
            if isinstance(call, dict)
        ]
    step.calls.extend((index, call) for call in calls)
    word = choice.get("finish_reason")
    if word == _FAILED:
        step.is_failure, word = True, None
    reason = _reason(choice, word)
    entries = _entries(choice)
    if not entries:
        if text or reasoning or reason or is_whole:
            step.tokens.append(
                Token(text, None, None, False, reasoning, reason, (), None, index)  # noqa: FBT003 - by position: this is the hot path
            )
    else:
        step.tokens.extend(_tokens(entries, text, reasoning, reason, index))
    if is_whole:
        step.texts[index] = text
        step.pieces = step.pieces or not entries
        step.ends = True
    elif reason:
        step.ends = True


def _tokens(
    entries: list[_Entry],
    text: str,
    reasoning: str,
    reason: FinishReason | None,
    index: int,
) -> Iterator[Token]:
    texts = _shares([entry[0] for entry in entries], text, reasoning)
    last = len(entries) - 1
    for number, (_, token_id, log_prob) in enumerate(entries):
        share = texts[number]
        yield Token(
            share[0],
            token_id,
            log_prob,
            reasoning=share[1],
            finish_reason=reason if number == last else None,
            index=index,
        )


def _shares(written: list[str], text: str, reasoning: str) -> list[tuple[str, str]]:
    if len(written) == 1:
        return [(text, reasoning)]
    if not reasoning:
        return [(one, "") for one in shared(written, text)]
    if not text:
        return [("", one) for one in shared(written, reasoning)]
    return [(text, reasoning), *[("", "")] * (len(written) - 1)]


def _entries(choice: dict[str, Record]) -> list[_Entry]:
    logprobs = choice.get("logprobs")
    ids = choice.get("token_ids")
    ids = ids if isinstance(ids, list) else []
    if isinstance(logprobs, dict) and isinstance(logprobs.get("tokens"), list):
        return _legacy(logprobs, ids)
    # LMI's rolling batch puts the object into a list of one while it streams.
    found: list[dict[str, Record]] = []
    for part in logprobs if isinstance(logprobs, list) else [logprobs]:
        if isinstance(part, dict):
            content = part.get("content", [part] if "token" in part else None)
            listed = content if isinstance(content, list) else []
            found.extend(one for one in listed if isinstance(one, dict))
    numbers = ids if len(ids) == len(found) else [one.get("id") for one in found]
    return [
        (as_text(one.get("token")), as_count(number), as_number(one.get("logprob")))
        for one, number in zip(found, numbers, strict=True)
    ]


def _legacy(logprobs: dict[str, Record], ids: list[Record]) -> list[_Entry]:
    # The form of completions: one list of tokens, one of their log probabilities.
    tokens, values = logprobs["tokens"], logprobs.get("token_logprobs")
    if not isinstance(values, list) or len(values) != len(tokens):
        values = [None] * len(tokens)
    numbers = ids if len(ids) == len(tokens) else [None] * len(tokens)
    return [
        (as_text(token), as_count(number), as_number(value))
        for token, number, value in zip(tokens, numbers, values, strict=True)
    ]


def _content(part: dict[str, Record]) -> str:
    content = part.get("content")
    if content is None:
        return as_text(part.get("refusal"))
    if isinstance(content, list):
        return "".join(
            as_text(part.get("text")) for part in content if isinstance(part, dict)
        )
    return as_text(content)


def _reasoning(part: dict[str, Record]) -> str:
    # `reasoning` in new versions of vLLM, `reasoning_content` in old ones and SGLang.
    return as_text(part.get("reasoning")) or as_text(part.get("reasoning_content"))


def _calls(part: dict[str, Record]) -> list[Record]:
    calls = part.get("tool_calls")
    # TGI before 3 writes a single one, which is no list.
    if isinstance(calls, dict):
        return [calls]
    # What OpenAI had before: a single function.
    function = part.get("function_call")
    if not calls and isinstance(function, dict):
        return [{"index": 0, "function": function}]
    return calls if isinstance(calls, list) else []


def _reason(choice: dict[str, Record], word: Record) -> FinishReason | None:
    reason = finish_reason(word)
    # vLLM's name for what was hit, and SGLang's.
    hit = choice.get("stop_reason", choice.get("matched_stop"))
    if reason is FinishReason.STOP and isinstance(hit, str):
        return FinishReason.STOP_SEQUENCE
    return reason
