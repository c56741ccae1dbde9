"""
What a model server answers with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Answer:
    """
    A successful answer, in the pieces that the container writes.

    Args:
        content_type: The type of its body.

        pieces: The body.

        tokens: How many tokens were generated.

        headers: What else the container says, by the names of its headers.
    """

    content_type: str
    pieces: list[bytes]
    tokens: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
