"""
Saying how far it is, in the build's log.
"""

from __future__ import annotations


def say(line: str) -> None:
    """
    Write a line at once: whoever looks at the log of a build waits for it.
    """
    print(line, flush=True)  # noqa: T201 - the log of a build is its output
