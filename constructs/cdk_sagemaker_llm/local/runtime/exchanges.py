"""
A request as it comes to a container, and what a model server answers with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

JSON = "application/json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """
    A request, with what SageMaker passes on of it.

    Args:
        body: The request.

        content_type: Its type.

        attributes: Its CustomAttributes.

        session: Its SessionId; ``None`` without one.

        adapter: The adapter that the service asks for; ``None`` for the model itself.
    """

    body: bytes
    content_type: str = JSON
    attributes: str = ""
    session: str | None = None
    adapter: str | None = None

    @property
    def is_json(self) -> bool:
        """
        Whether it says that it is JSON.
        """
        return self.content_type.lower().split(";", 1)[0] == JSON


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
