"""
Why a model cannot be staged.
"""

from __future__ import annotations


class StagingError(Exception):
    """
    What stands in the way, and the way out, in one line for the stack's event.
    """
