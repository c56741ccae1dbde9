"""
How a client reaches its endpoint, and how patiently.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.client.reader import MAX_BYTES
from cdk_sagemaker_llm.client.timeouts import Timeouts

if TYPE_CHECKING:
    from botocore.config import Config


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """
    What the clients share, whichever way they are used.

    Args:
        timeouts: How long to wait.

        retries: How often to try again what had no effect.

        wait_for_capacity: How many seconds to wait for a copy that wakes up.

        on_wait: What is told of it.

        max_bytes: How much of an answer to keep.

        max_connections: How many connections to keep open.

        region: The region. If left out, boto3 knows it.

        endpoint_url: The runtime's address. If left out, boto3 knows it.

        config: Further settings of botocore's.
    """

    timeouts: Timeouts = field(default_factory=Timeouts)
    retries: int = 3
    wait_for_capacity: float = 600.0
    on_wait: Callable[[str], None] | None = None
    max_bytes: int = MAX_BYTES
    max_connections: int = 50
    region: str | None = None
    endpoint_url: str | None = None
    config: Config | None = None

    def __post_init__(self) -> None:
        """
        Refuse what is out of bounds.
        """
        for name, least in (
            ("retries", 0),
            ("wait_for_capacity", 0),
            ("max_bytes", 1),
            ("max_connections", 1),
        ):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or not value >= least:
                raise ValueError(f"{name} must be at least {least}, got {value!r}")
