"""
A request as it comes to an engine's container.
"""

from __future__ import annotations

from dataclasses import dataclass

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
