"""
Options that several commands share: declared once, as the fields of a data class.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import TYPE_CHECKING, Any, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Command = Callable[..., None]


def takes(shared: type[DataclassInstance]) -> Callable[[Command], Command]:
    """
    Give a command the options of a data class in the place of its argument ``asked``.

    Args:
        shared: The class, whose fields are annotated as options are.
    """
    hints = get_type_hints(shared, include_extras=True)
    options = [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=each.default,
            annotation=hints[each.name],
        )
        for each in fields(shared)
    ]

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(**given: Any) -> None:  # noqa: ANN401 - whatever the options are
            asked = shared(**{each.name: given.pop(each.name) for each in options})
            command(**given, asked=asked)

        own = inspect.signature(command, eval_str=True)
        both = [
            each
            for one in own.parameters.values()
            for each in (options if one.name == "asked" else [one])
        ]
        # Typer reads the options from here.
        run.__signature__ = own.replace(parameters=both)  # type: ignore[attr-defined] # inspect's own
        return run

    return decorate
