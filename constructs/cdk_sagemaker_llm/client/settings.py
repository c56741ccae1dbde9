"""
How a client reaches its endpoint, and how patiently.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.client.arguments import check_seconds, check_whole, refuse
from cdk_sagemaker_llm.client.reader import MAX_BYTES
from cdk_sagemaker_llm.client.requests import Timeouts

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

        region: The region. If omitted, boto3 knows it.

        endpoint_url: The runtime's address. If omitted, boto3 knows it.

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
        Check each setting against its kind and its bounds.
        """
        if not isinstance(self.timeouts, Timeouts):
            way_out = "write Timeouts(read=30)"
            refuse("timeouts", "Timeouts", self.timeouts, way_out)
        check_whole("retries", self.retries, 0)
        check_seconds("wait_for_capacity", self.wait_for_capacity)
        check_whole("max_bytes", self.max_bytes, 1)
        check_whole("max_connections", self.max_connections, 1)
        if self.on_wait is not None and not callable(self.on_wait):
            refuse("on_wait", "a function of a text", self.on_wait)
