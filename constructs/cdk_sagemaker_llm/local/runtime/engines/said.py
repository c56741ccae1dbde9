"""
What a model says in answer to a prompt: thoughts, words or calls, and why it ends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cdk_sagemaker_llm.local.runtime.engines.tools import Call
from cdk_sagemaker_llm.local.runtime.story import Token, continue_prompt

_SENTENCE_ENDS = (".", "?", "!", ":")


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """
    What a model wrote.

    Args:
        tokens: Its answer.

        thoughts: What it thought before.

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
    def thought(self) -> str:
        """
        The thoughts as one text.
        """
        return "".join(token.text for token in self.thoughts)

    @property
    def shown(self) -> tuple[Token, ...]:
        """
        The tokens of the answer, with the end if it came to it.
        """
        return (*self.tokens, self.end) if self.end else self.tokens

    @property
    def count(self) -> int:
        """
        How many tokens it wrote.
        """
        called = len(self.call.arguments.split()) + 1 if self.call else 0
        return len(self.thoughts) + len(self.shown) + called

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
) -> Said:
    """
    Have the model go on with a prompt.

    Args:
        prompt: What it is given.

        count: How many tokens it may write.

        stops: Strings that end the answer, and are not part of it.

        thinks: Whether its first sentence is a thought.

        call: The tool that it calls in place of an answer.
    """
    written = continue_prompt(prompt, count)
    first = _sentence(written.tokens) if thinks else 0
    said = Said(
        tokens=written.tokens[first:],
        thoughts=written.tokens[:first],
        end=written.end,
    )
    if call is not None:
        return replace(said, tokens=(), end=None, call=call)
    return _stopped(said, stops)


def _sentence(tokens: tuple[Token, ...]) -> int:
    for index, token in enumerate(tokens):
        if token.text.strip() in _SENTENCE_ENDS:
            return index + 1
    return len(tokens)


def _stopped(said: Said, stops: tuple[str, ...]) -> Said:
    found = [(said.text.find(stop), stop) for stop in stops if stop in said.text]
    if not found:
        return said
    at, stop = min(found)
    kept: list[Token] = []
    for token in said.tokens:
        left = at - sum(len(one.text) for one in kept)
        if left <= 0:
            break
        kept.append(replace(token, text=token.text[:left]))
    return replace(said, tokens=tuple(kept), end=None, stop=stop)
