"""
Prompts: those of a file, or as long as they are asked to be; and conversations.
"""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.client import Message, ToolCall
from cdk_sagemaker_llm.load.settings import LoadSettings, lengths_of
from cdk_sagemaker_llm.simulation.traffic.trace import BLOCK, TracedRequest

# Short words of everyday English, which vocabularies mostly have as one token each.
_WORDS = """
the of and to in is was for on are as with his they at be this from have or one had by
word but not what all were when your can said there use an each which she do how their
if will up other about out many then them these so some her would make like him into
time has look two more write go see number no way could people
"""
EVERYDAY = tuple(_WORDS.split())
# Blocks of a trace, some two kilobytes each.
_KEPT = 4096


def read_prompts(path: Path) -> tuple[str, ...]:
    """
    Read prompts: a line each, or of a ``.jsonl`` file the texts of its lines.

    Such a line is a JSON string, or an object with ``prompt`` or ``inputs``.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text") from error
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    is_json = path.suffix == ".jsonl"
    found = tuple(
        _text(line, f"{path}:{number}") if is_json else line
        for number, line in enumerate(lines, 1)
        if line.strip()
    )
    if not found:
        raise ValueError(f"{path} has no prompts; write one on each line")
    return found


def read_tools(path: Path) -> tuple[Mapping[str, Any], ...]:
    """
    Read tools: a JSON list of them, in OpenAI's form.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{path} is no JSON in UTF-8: {error}") from error
    if not isinstance(found, list) or not found or not all(map(_is_tool, found)):
        raise ValueError(
            f"{path} must be a list of tools, each such as "
            '{"type": "function", "function": {"name": "weather"}}'
        )
    return tuple(found)


def _is_tool(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("type"), str)


class Prompts:
    """
    Prompts without end.

    Args:
        settings: What is asked.

        number: Which process asks: each draws its own, and the same again with the
            same seed.

        write: What puts so many words together. If omitted, everyday ones are chosen.
    """

    def __init__(
        self,
        settings: LoadSettings,
        number: int = 0,
        write: Callable[[random.Random, int], str] | None = None,
    ) -> None:
        self._settings = settings
        self._write = write or _write
        self._length = lengths_of(settings.prompt_words)
        self._turns = lengths_of(settings.turns, "turns")
        self._chance = random.Random(settings.seed + number)  # noqa: S311 - no secret
        # All processes share the beginnings, as all users of an app do.
        self._beginnings = [
            self._write(_chance_of(settings.seed, "prefix", one), settings.prefix_words)
            for one in range(settings.prefixes)
            if settings.prefix_words is not None
        ]
        self._block = functools.lru_cache(_KEPT)(self._written)

    def draw(self) -> str:
        """
        Return a prompt, without the beginning that it may share with others.
        """
        if self._settings.prompts:
            return self._chance.choice(self._settings.prompts)
        return self._write(self._chance, self._length(self._chance))

    def traced(self, request: TracedRequest) -> str:
        """
        Return a prompt as long as a trace says; those that began alike there begin
        alike here.

        Args:
            request: The request of the trace.
        """
        left, parts = request.prompt_tokens, []
        for block in request.blocks:
            length = min(BLOCK, left)
            if length:
                parts.append(self._block(block, length))
            left -= length
        if left:
            parts.append(self._write(self._chance, left))
        return " ".join(parts)

    def converse(self) -> Conversation:
        """
        Begin a conversation.
        """
        beginning = self._chance.choice(self._beginnings) if self._beginnings else ""
        return Conversation(self.draw, beginning, self._turns(self._chance))

    def _written(self, block: int | str, length: int) -> str:
        return self._write(_chance_of(self._settings.seed, "block", block), length)


class Conversation:
    """
    What one user and a model say to each other, turn by turn.

    Args:
        draw: What the user says next.

        beginning: What conversations have in common, if anything.

        turns: How many turns it has.
    """

    def __init__(self, draw: Callable[[], str], beginning: str, turns: int) -> None:
        self._draw = draw
        self._beginning = beginning
        self._turns = turns
        self._messages: list[Message] = []
        self.turn = 0
        if beginning:
            self._messages.append({"role": "system", "content": beginning})

    @property
    def is_over(self) -> bool:
        """
        Whether all its turns were taken.
        """
        return self.turn >= self._turns

    def prompt(self) -> str:
        """
        Return the prompt for a container that knows no chats.
        """
        self.turn += 1
        return f"{self._beginning} {self._draw()}".lstrip()

    def messages(self) -> list[Message]:
        """
        Return what is sent next: all messages so far, and the user's next one.
        """
        self.turn += 1
        if not self._messages or self._messages[-1]["role"] != "tool":
            self._messages.append({"role": "user", "content": self._draw()})
        return self._messages

    def answered(self, text: str, calls: Sequence[ToolCall]) -> None:
        """
        Take in the answer; the tools that it calls answer in the next turn.

        Args:
            text: What the model wrote.

            calls: The tools that it called.
        """
        if not calls:
            self._messages.append({"role": "assistant", "content": text})
            return
        said = [
            {
                "id": one.id or one.name,
                "type": "function",
                "function": {"name": one.name, "arguments": one.arguments},
            }
            for one in calls
        ]
        self._messages.append(
            {"role": "assistant", "content": text or None, "tool_calls": said}
        )
        self._messages += [
            {"role": "tool", "tool_call_id": one["id"], "content": self._draw()}
            for one in said
        ]

    def end(self) -> None:
        """
        Take no further turn: one was not answered.
        """
        self._turns = self.turn


def _chance_of(*what: object) -> random.Random:
    return random.Random(" ".join(map(str, what)))  # noqa: S311 - no secret


def _write(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(EVERYDAY, k=count))


def _text(line: str, place: str) -> str:
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if isinstance(found, dict):
        found = found.get("prompt", found.get("inputs"))
    if not isinstance(found, str):
        raise ValueError(  # noqa: TRY004 - what a file says
            f'{place} must be a JSON string, or an object such as {{"prompt": "Hello"}}'
        )
    return found
