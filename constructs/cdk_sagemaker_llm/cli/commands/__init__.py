"""
The subcommands: a module each, found by its name; names in ``_`` are what they share.
"""

from __future__ import annotations


class MisuseError(ValueError):
    """
    A path or an argument cannot be used.
    """
