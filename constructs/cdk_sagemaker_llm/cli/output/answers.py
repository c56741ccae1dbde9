"""
Answers on a terminal, in a pipe and as JSON.
"""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Mapping
from typing import Any

from rich.cells import cell_len
from rich.console import Console

from cdk_sagemaker_llm.client.answers import (
    FinishReason,
    Generation,
    Token,
    gather,
)
from cdk_sagemaker_llm.client.errors import LlmError

# Down to which probability, and how it looks; what is likely looks as any text.
_SHADES = ((0.9, ""), (0.6, "yellow"), (0.3, "magenta"), (0.0, "red"))
# A model's words must not move the cursor, or worse.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# A line's end, or a word with the space before it.
_WORDS = re.compile(r"\n|[^\S\n]*[^\s]+|[^\S\n]+")
# The client speaks of its arguments, which have other names here.
_OURS = {
    'LlmClient(endpoint, "component")': "--component NAME",
    "LlmClient(endpoint)": "without --component",
    "LlmClient(..., schema='openai'), or chat()": "--schema openai, or --chat",
    "LlmClient(..., schema='chat'), or chat()": "--schema chat, or --chat",
    "with wait_for_capacity=": "with --wait",
    "(Timeouts)": "(--timeout)",
    ", or allow more with max_bytes=": "",
    "with region=": "with --region",
}


class Answering:
    """
    An answer on its way: its tokens, and when they came.
    """

    def __init__(self) -> None:
        self.tokens: list[Token] = []
        self.first: float | None = None
        self.seconds = 0.0
        self._began = time.monotonic()

    def add(self, token: Token) -> None:
        self.tokens.append(token)
        self.seconds = time.monotonic() - self._began
        if self.first is None:
            self.first = self.seconds

    @property
    def answer(self) -> Generation:
        return gather(self.tokens)


class Paper:
    """
    Where an answer is written: on a terminal with colours, elsewhere as it is.
    """

    def __init__(self, *, shaded: bool) -> None:
        self._shaded = shaded
        self._console = Console(highlight=False)
        self._thinks = False
        self._last = "\n"
        self._column = 0

    def token(self, token: Token) -> None:
        """
        Write a token at once; of several answers the first alone.
        """
        if token.index:
            return
        self.reasoning(token.reasoning)
        self.text(token.text, self._shade(token))

    def reasoning(self, text: str) -> None:
        """
        Write what comes before an answer: on a terminal alone, and dimmed.
        """
        if text and self._console.is_terminal:
            self._thinks = True
            self._write(text, "dim")

    def text(self, text: str, style: str = "") -> None:
        if text and self._thinks:
            self._thinks = False
            self.end()
        if text:
            self._write(text, style)

    def whole(self, answer: Generation) -> None:
        """
        Write a whole answer, by its tokens where they make it up.
        """
        self.reasoning(answer.reasoning)
        if "".join(token.text for token in answer.tokens) != answer.text:
            self.text(answer.text)
            return
        for token in answer.tokens:
            self.text(token.text, self._shade(token))

    def end(self) -> None:
        """
        End the line, if there is one.
        """
        if self._last != "\n":
            self._write("\n", "")
        self._thinks = False

    def remark(
        self, answer: Generation, seconds: float, first: float | None = None
    ) -> None:
        """
        Say beside an answer what it calls; where it is shaded, how it went too.
        """
        for line in calls(answer):
            note(line)
        if self._shaded:
            note(summary(answer, seconds, first))
            if self._console.is_terminal:
                note(legend())

    def _shade(self, token: Token) -> str:
        return shade_of(token.log_prob) if self._shaded else ""

    def _write(self, text: str, style: str) -> None:
        self._last = text[-1]
        if self._console.is_terminal:
            wrapped = self._wrapped(harmless(text))
            self._console.out(wrapped, style=style or None, end="")
        else:
            put(text)

    def _wrapped(self, text: str) -> str:
        """
        Begin a line before a word that has no room, and one for a full stop behind it;
        the parts of a word that come later may run over the line.
        """
        parts = []
        for part in _WORDS.findall(text):
            end = self._column + cell_len(part)
            if part == "\n":
                self._column = 0
            elif part.startswith(" ") and end >= self._console.width:
                part = "\n" + part.lstrip(" ")  # noqa: PLW2901 - the same word
                self._column = cell_len(part)
            else:
                self._column = end
            parts.append(part)
        return "".join(parts)


def put(text: str) -> None:
    """
    Write to standard output at once, whatever it can hold.
    """
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    sys.stdout.flush()


def put_line(text: str) -> None:
    put(f"{text}\n")


def note(text: str) -> None:
    """
    Say something beside the answer.
    """
    console = Console(stderr=True, highlight=False)
    # On a terminal between words, elsewhere nowhere.
    soft_wrap = not console.is_terminal
    console.print(harmless(text), style="dim", markup=False, soft_wrap=soft_wrap)


def harmless(text: str) -> str:
    """
    Leave out what a terminal would obey, and what it cannot show.
    """
    return _CONTROL.sub("", text).encode("utf-8", "replace").decode()


def shade_of(log_prob: float | None) -> str:
    """
    Return how a token of a probability looks.
    """
    if log_prob is None:
        return ""
    probability = math.exp(min(0.0, log_prob))
    return next(style for least, style in _SHADES if probability >= least)


def summary(answer: Generation, seconds: float, first: float | None = None) -> str:
    """
    Say in a line why an answer ended, how long it took, and how sure the model was.
    """
    parts = [_ended(answer.finish_reason), pace(answer, seconds)]
    if first is not None:
        parts.append(f"the first after {first:.2f} s")
    if answer.confidence is not None:
        parts.append(f"confidence {answer.confidence:.3f}")
    return ", ".join(parts)


def pace(answer: Generation, seconds: float) -> str:
    """
    Say how many tokens came, and how fast from the request to the last of them.
    """
    count = answer.completion_tokens
    if not count:
        return f"{seconds:.2f} s"
    words = "token" if count == 1 else "tokens"
    return f"{count} {words}, {_rate(count, seconds):.1f} tokens/s"


def calls(answer: Generation) -> list[str]:
    """
    Write the tool calls, one a line.
    """
    return [f"calls {call.name}({call.arguments})" for call in answer.tool_calls]


def legend() -> str:
    """
    Say what the shades mean.
    """
    words = [f"{style or 'plain'} from {least:g} on" for least, style in _SHADES[:-1]]
    return f"probability: {', '.join(words)}, {_SHADES[-1][1]} below"


def answer_facts(
    answer: Generation, seconds: float, first: float | None = None
) -> dict[str, Any]:
    """
    Return an answer for machines, without its tokens.
    """
    usage, count = answer.usage, answer.completion_tokens
    facts: dict[str, Any] = {
        "text": answer.text,
        "finish_reason": answer.finish_reason,
        "confidence": answer.confidence,
        "reasoning": answer.reasoning,
        "tool_calls": [
            {"id": call.id, "name": call.name, "arguments": call.arguments}
            for call in answer.tool_calls
        ],
        "prompt_tokens": usage.prompt_tokens if usage else None,
        "completion_tokens": count or None,
        "seconds": round(seconds, 6),
        "tokens_per_second": round(_rate(count, seconds), 3) if count else None,
    }
    if first is not None:
        facts["first_token_seconds"] = round(first, 6)
    return facts


def token_facts(token: Token) -> dict[str, Any]:
    log_prob = token.log_prob
    return {
        "text": token.text,
        "id": token.token_id,
        # JSON has no infinity.
        "log_prob": log_prob if log_prob is None or math.isfinite(log_prob) else None,
        "reasoning": token.reasoning,
        "special": token.special,
        "finish_reason": token.finish_reason,
        "index": token.index,
    }


def error_facts(error: LlmError) -> Mapping[str, Any]:
    """
    Return an error for machines, with what had come by then.
    """
    return {
        "kind": type(error).__name__,
        "message": error.message,
        "remedy": in_our_words(error.remedy),
        "status": getattr(error, "status", None),
        "text": error.text,
        "reasoning": error.reasoning,
    }


def explain(error: LlmError) -> str:
    """
    Say in a line what went wrong and what to do.
    """
    words = " ".join(error.message.split())
    remedy = in_our_words(error.remedy)
    return harmless(f"{words.rstrip('.')}; {remedy}" if remedy else words)


def in_our_words(text: str) -> str:
    """
    Name the command's options instead of the client's arguments.
    """
    for theirs, ours in _OURS.items():
        text = text.replace(theirs, ours)
    return text


def _ended(reason: FinishReason | None) -> str:
    if reason is None:
        return "no finish reason"
    cut = " (cut off at its length)" if reason is FinishReason.LENGTH else ""
    return f"finish reason {reason}{cut}"


def _rate(count: int, seconds: float) -> float:
    return count / max(seconds, 1e-6)
