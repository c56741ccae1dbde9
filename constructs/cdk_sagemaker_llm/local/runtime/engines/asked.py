"""
A request as it comes to an engine's container.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from cdk_sagemaker_llm.local.runtime.engines.sessions import Sessions

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

        sessions: Those that the container has begun.

        moment: When it comes, in seconds since 1970.
    """

    body: bytes
    content_type: str = JSON
    attributes: str = ""
    session: str | None = None
    adapter: str | None = None
    sessions: Sessions = field(default_factory=Sessions)
    moment: float = field(default_factory=time.time)

    @property
    def is_json(self) -> bool:
        """
        Whether it says that it is JSON.
        """
        return self.content_type.lower().split(";", 1)[0] == JSON
