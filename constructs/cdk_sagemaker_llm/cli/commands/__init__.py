"""
The subcommands: a module each, found by its name; names in ``_`` are what they share.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer


class MisuseError(ValueError):
    """
    A path or an argument cannot be used.
    """


def add_command(app: typer.Typer, name: str) -> None:
    """
    Add a subcommand: the function of its module's own name.
    """
    module = importlib.import_module(f"{__name__}.{name}")
    settings = getattr(module, "CONTEXT_SETTINGS", None)
    app.command(name.replace("_", "-"), context_settings=settings)(
        getattr(module, name)
    )
