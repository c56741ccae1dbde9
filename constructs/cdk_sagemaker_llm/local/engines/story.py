"""
What the stand-in model says: the same continuation for the same prompt, always.
"""

from __future__ import annotations

import json
import re
import uuid
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from cdk_sagemaker_llm.local.aws.untyped import Untyped

_STORIES = (
    (
        "The endpoint answered before the coffee was ready. It had been asked a "
        "small question, and it took its time to be brief: a model is a file, a "
        "replica is a promise, and a queue is the distance between them. "
        "Somewhere a scaling policy woke up, counted the requests twice, and "
        "added an instance. By the time it was in service, the question had been "
        "answered and everybody had gone home."
    ),
    (
        "Once there was a tensor that did not fit. It tried one accelerator, and "
        "then four of them side by side, and found that a quarter of a thing is "
        "lighter than the whole. The weights came over the wire in the early "
        "hours. The health check knocked, waited, and knocked again. At last the "
        "log said that the server was ready, and nobody was awake to read it."
    ),
    (
        "On the first day the copies were placed, one to an accelerator, until "
        "there was no room left. On the second day the traffic came. It came in "
        "waves, as it does, and the copies took turns. On the third day somebody "
        "changed a single line, and new copies stood beside the old ones until "
        "the old ones were not needed any more. That is all there is to tell."
    ),
)
_PIECES = re.compile(r"\s*\w+|\s*[^\w\s]")
_STORY_PIECES = tuple(tuple(_PIECES.findall(f" {story}")) for story in _STORIES)
# Each story as far as it may have been told: of every length, the shortest first.
_BEGINNINGS = tuple(tuple(accumulate(pieces, initial="")) for pieces in _STORY_PIECES)
_END_ID = 2  # </s> of the Llama and Mistral vocabularies.
_SENTENCE_ENDS = (".", "?", "!", ":")
_SAMPLES: Mapping[str, Any] = {
    "string": "text",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "null": None,
}
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class Token:
    """
    One generated token.
    """

    id: int
    text: str
    log_prob: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Generation:
    """
    What a model made of a prompt.

    Args:
        end: The end-of-sequence token, if it came to its end.

        full_text: Whether the text starts with the prompt.
    """

    prompt: str
    tokens: tuple[Token, ...]
    end: Token | None = None
    full_text: bool = False

    @property
    def text(self) -> str:
        """
        The generated text.
        """
        text = "".join(token.text for token in self.tokens)
        return self.prompt + text if self.full_text else text

    @property
    def all_tokens(self) -> tuple[Token, ...]:
        """
        What it wrote, and the end if it came to it.
        """
        return (*self.tokens, self.end) if self.end else self.tokens


def continue_prompt(
    prompt: str, max_new_tokens: int, *, full_text: bool = False
) -> Generation:
    """
    Go on with a prompt, from where the story stands in it.

    A prompt that ends in the beginning of its story is continued there, so that asking
    again with the text so far comes to the end.
    """
    pieces, prompt_tokens = _story(prompt)
    rest = [
        _token(piece, prompt_tokens + i)
        for i, piece in enumerate(pieces[prompt_tokens:])
    ]
    tokens = tuple(rest[:max_new_tokens])
    finished = len(rest) < max_new_tokens
    return Generation(
        prompt=prompt,
        tokens=tokens,
        end=Token(_END_ID, "", _log_prob("", len(pieces))) if finished else None,
        full_text=full_text,
    )


def _story(prompt: str) -> tuple[tuple[str, ...], int]:
    # The story that the prompt is in the middle of, or one that its text chooses.
    endings = [_length_of_beginning(prompt, beginnings) for beginnings in _BEGINNINGS]
    if any(endings):
        index = endings.index(max(endings))
        return _STORY_PIECES[index], endings[index]
    return _STORY_PIECES[zlib.crc32(prompt.encode()) % len(_STORY_PIECES)], 0


def _length_of_beginning(prompt: str, beginnings: tuple[str, ...]) -> int:
    for count in range(len(beginnings) - 1, 0, -1):
        if prompt.endswith(beginnings[count]):
            return count
    return 0


def _token(text: str, index: int) -> Token:
    token_id = 3 + zlib.crc32(text.encode()) % 31_997
    return Token(token_id, text, _log_prob(text, index))


def _log_prob(text: str, index: int) -> float:
    return -(1 + zlib.crc32(f"{index}{text}".encode()) % 1500) / 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class Speech:
    """
    What a model wrote.

    Args:
        call: The tool that it calls; its answer is empty then.

        end: The end-of-sequence token, if it came to its end.

        stop: The stop string that ended it; ``None`` without.
    """

    tokens: tuple[Token, ...]
    thoughts: tuple[Token, ...] = ()
    call: Call | None = None
    end: Token | None = None
    stop: str | None = None

    @property
    def text(self) -> str:
        """
        The answer as one text.
        """
        return "".join(token.text for token in self.tokens)

    @property
    def content(self) -> str | None:
        """
        The answer; ``None`` beside a call, and where thoughts took all the room.
        """
        if self.call is not None or (self.thoughts and not self.tokens):
            return None
        return self.text

    @property
    def thought(self) -> str:
        """
        The thoughts as one text.
        """
        return "".join(token.text for token in self.thoughts)

    @property
    def visible_tokens(self) -> tuple[Token, ...]:
        """
        The tokens of the answer, with the end if it came to it.
        """
        return (*self.tokens, self.end) if self.end else self.tokens

    @property
    def count(self) -> int:
        """
        How many tokens it wrote.
        """
        call_tokens = len(self.call.arguments.split()) + 1 if self.call else 0
        return len(self.thoughts) + len(self.visible_tokens) + call_tokens

    @property
    def reason(self) -> str:
        """
        Why it ends, in OpenAI's words.
        """
        if self.call is not None:
            return "tool_calls"
        return "stop" if self.end or self.stop is not None else "length"


def say(
    prompt: str,
    count: int,
    *,
    stops: tuple[str, ...] = (),
    thinks: bool = False,
    call: Call | None = None,
) -> Speech:
    """
    Let the model go on with a prompt.

    Args:
        stops: Strings that end the answer, and are not part of it.

        thinks: Whether its first sentence is a thought.

        call: The tool that it calls in place of an answer.
    """
    generation = continue_prompt(prompt, count)
    first = _sentence(generation.tokens) if thinks else 0
    speech = Speech(
        tokens=generation.tokens[first:],
        thoughts=generation.tokens[:first],
        end=generation.end,
    )
    if call is not None:
        return replace(speech, tokens=(), end=None, call=call)
    return _stopped(speech, stops)


def _sentence(tokens: tuple[Token, ...]) -> int:
    for index, token in enumerate(tokens):
        if token.text.strip() in _SENTENCE_ENDS:
            return index + 1
    return len(tokens)


def _stopped(speech: Speech, stops: tuple[str, ...]) -> Speech:
    found = [(speech.text.find(stop), stop) for stop in stops if stop in speech.text]
    if not found:
        return speech
    at, stop = min(found)
    tokens: list[Token] = []
    for token in speech.tokens:
        rest = at - sum(len(one.text) for one in tokens)
        if rest <= 0:
            break
        tokens.append(replace(token, text=token.text[:rest]))
    return replace(speech, tokens=tuple(tokens), end=None, stop=stop)


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """
    A call of a tool.

    Args:
        arguments: Its arguments, as JSON.

        id: What the engine calls the call.
    """

    name: str
    arguments: str
    id: str

    def as_message(self) -> dict[str, Any]:
        """
        Return it as a message has it.
        """
        function = {"name": self.name, "arguments": self.arguments}
        return {"id": self.id, "type": "function", "function": function}


def chosen_call(body: Mapping[str, Any], prefix: str) -> Call | None:
    """
    Return the call that answers a chat, whose id begins as the engine's do; ``None``
    where it is answered in words.

    The stand-in calls the first tool that it is offered, or the one that is named, and
    answers in words once the tool has.
    """
    choice = body.get("tool_choice")
    functions = list(_functions(body))
    if not functions or choice == "none":
        return None
    function_name = (
        choice.get("function", {}).get("name") if isinstance(choice, dict) else None
    )
    if function_name is not None:
        functions = [one for one in functions if one["name"] == function_name]
    elif choice != "required" and _is_answered(body):
        return None
    if not functions:
        return None
    arguments = json.dumps(sample(functions[0].get("parameters") or {}))
    name = str(functions[0]["name"])
    return Call(name=name, arguments=arguments, id=f"{prefix}{uuid.uuid4().hex}")


def sample(schema: Untyped, depth: int = 0) -> Untyped:
    """
    Return a value that fits a JSON schema, as far as its plain parts go.
    """
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return {}
    values = (schema.get("const"), schema.get("default"), *(schema.get("enum") or ()))
    value = next((one for one in values if one is not None), None)
    if value is not None:
        return value
    kind = schema.get("type", "object")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    if kind == "array":
        return [sample(schema.get("items"), depth + 1)] if schema.get("items") else []
    if kind in _SAMPLES:
        return _SAMPLES[kind]
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return {}
    return {name: sample(one, depth + 1) for name, one in properties.items()}


def _functions(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for tool in body.get("tools") or ():
        function = tool.get("function") if isinstance(tool, dict) else None
        if isinstance(function, dict) and function.get("name"):
            yield function


def _is_answered(body: Mapping[str, Any]) -> bool:
    last = (body.get("messages") or [{}])[-1]
    return isinstance(last, dict) and last.get("role") == "tool"
