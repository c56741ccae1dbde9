"""
What Application Auto Scaling did, and what it did not do, in its own words.
"""

from __future__ import annotations

from dataclasses import dataclass

# The service's codes for what it did not do (API reference: NotScaledReason).
AT_MAXIMUM = "AlreadyAtMaxCapacity"
AT_MINIMUM = "AlreadyAtMinCapacity"
AT_DESIRED = "AlreadyAtDesiredCapacity"
UNSCALABLE = "TargetServicePutResourceAsUnscalable"


@dataclass(slots=True, kw_only=True)
class Activity:
    """
    One change of capacity, or one that did not happen.

    Args:
        time: When it was decided.

        before: The capacity then.

        after: The capacity that was asked for.

        policy: Whose doing: a policy's or a scheduled action's name; empty for bounds.

        cause: In the service's words.

        value: The metric's value that led to it.

        breached_from: The start of the first period that led to it.

        read_late: Seconds that it took until the last of those periods could be read.

        completed: When the capacity was there; ``None`` while it is not.

        not_scaled: The service's code of why nothing was done; empty if it was.
    """

    time: float
    before: int
    after: int
    policy: str
    cause: str
    value: float | None = None
    breached_from: float | None = None
    read_late: float = 0.0
    completed: float | None = None
    not_scaled: str = ""

    @property
    def is_out(self) -> bool:
        """
        Whether it added capacity.
        """
        return self.after > self.before
