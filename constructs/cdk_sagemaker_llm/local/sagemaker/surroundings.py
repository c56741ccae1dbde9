"""
What hosting needs to know about the services around it.
"""

from __future__ import annotations

from typing import Protocol


class Surroundings(Protocol):
    """
    The other services of the same account and region.
    """

    def read_object(self, url: str) -> bytes | None:
        """
        Return the contents behind an ``s3://`` URL, or ``None`` if nothing is there.
        """

    def scalable_targets(self) -> set[str]:
        """
        Return the resource ids that Application Auto Scaling has registered.
        """

    def deregister(self, resource_id: str) -> None:
        """
        Remove a scalable target and its policies.
        """
