"""
The operators of mutmut, which change nodes of LibCST; its runner is not used.

That runner keeps all mutants in one module and switches between functions, so that it
changes neither constants nor classes, defaults nor decorators: much of what is here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

# Installed in an environment of their own.
import libcst  # type: ignore[import-not-found]
from libcst.metadata import (  # type: ignore[import-not-found]
    MetadataWrapper,
    PositionProvider,
)
from mutmut.mutation.mutators import (  # type: ignore[import-not-found]
    mutation_operators,
)

from tools.mutants.changes import Change
from tools.mutants.source import Source, Span


def mutmut_changes(source: Source) -> Iterator[Change]:
    """
    Return every change that mutmut's operators make of a module.
    """
    wrapper = MetadataWrapper(libcst.parse_module(source.text))
    for node, where in wrapper.resolve(PositionProvider).items():
        span: Span = (
            source.offset(where.start.line, where.start.column),
            source.offset(where.end.line, where.end.column),
        )
        for kind, operator in mutation_operators:
            if isinstance(node, kind):
                name = operator.__name__.removeprefix("operator_")
                for changed in operator(node):
                    make = partial(_replaced, wrapper.module, node, changed)
                    yield Change(source, span, f"mutmut.{name}", make)


def _replaced(
    module: libcst.Module, node: libcst.CSTNode, changed: libcst.CSTNode
) -> str:
    code: str = module.deep_replace(node, changed).code
    return code
