"""
What was asked of an endpoint, in a line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_COUNTED = {"prompt_tokens": "a prompt", "tokens": "an answer"}


def asked_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """
    Say what was asked, and for how long.

    Args:
        rows: The facts of each row of a benchmark.
    """
    if not rows:
        return "Nothing was measured."
    settings = rows[0]["settings"]
    most = settings["max_new_tokens"]
    unit = "words" if settings.get("tokenizer") is None else "tokens"
    count = settings["prompts"]
    what = (
        f"{count} {'prompt' if count == 1 else 'prompts'} of a file"
        if count
        else f"{settings['prompt_words']} prompt {unit}"
    )
    answers = "answers of any length" if most is None else f"at most {most} generated"
    return f"{what}, {answers}, {settings['run_time']:g} s per row.{_counted(rows)}"


def _counted(rows: Sequence[Mapping[str, Any]]) -> str:
    """
    Say how many tokens there were in truth, on average.
    """
    told = []
    for name, what in _COUNTED.items():
        known = [
            (row["figures"]["requests"], row["figures"][name])
            for row in rows
            if row["figures"][name] is not None
        ]
        if count := sum(number for number, _ in known):
            mean = sum(number * tokens for number, tokens in known) / count
            told.append(f"{mean:.0f} {what}")
    return f" Tokens counted: {', '.join(told)}." if told else ""
