"""
How long is waited for a build, and how long a build waits for others.
"""

from __future__ import annotations

# CloudFormation user guide, AWS::CloudFormation::WaitCondition: 43200 at most. What is
# left of it is for a build to be provisioned and to tell.
LONGEST_SECONDS = 43_200
MARGIN_SECONDS = 1_800
# CodeBuild API reference, StartBuild: a build waits in its queue for 8 hours at most. A
# new account runs one build of a kind at a time (CodeBuild user guide, limits).
_LONGEST_QUEUE_MINUTES = 480
_TELLING_MINUTES = 15


def queued_minutes_of(build_seconds: int) -> int:
    """
    Return the minutes that a build may wait for others: what CloudFormation's wait
    leaves beside the build itself and its telling.
    """
    left = (LONGEST_SECONDS - build_seconds) // 60 - _TELLING_MINUTES
    return min(left, _LONGEST_QUEUE_MINUTES)


def waited_seconds_of(build_seconds: int) -> int:
    """
    Return the seconds that CloudFormation waits for a build.
    """
    waiting = queued_minutes_of(build_seconds) + _TELLING_MINUTES
    return build_seconds + waiting * 60
