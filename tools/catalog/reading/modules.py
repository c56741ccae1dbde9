"""
The modules of a package as texts, and what binds a name in them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

# What gives a name its value in a module.
Binding = ast.stmt


@dataclass(frozen=True, eq=False)
class Bound:
    """
    A statement that binds a name.

    Args:
        statement: The statement.

        is_checked_only: Whether only type checkers see it.

        is_conditional: Whether it depends on something else.
    """

    statement: Binding
    is_checked_only: bool
    is_conditional: bool


class Modules:
    """
    The modules of a package.

    Args:
        package: Its name.

        read: Returns the text of a file by its path, or ``None``.
    """

    def __init__(self, package: str, read: Callable[[str], str | None]) -> None:
        self.package = package
        self._read = read
        self._trees: dict[str, ast.Module | None] = {}
        self._bound: dict[str, dict[str, list[Bound]]] = {}
        self._packages: set[str] = set()

    def has(self, name: str) -> bool:
        """
        Whether the package has a module.
        """
        return self.tree(name) is not None

    def tree(self, name: str) -> ast.Module | None:
        """
        Return a module's syntax tree; ``None`` if there is no such module.
        """
        if name not in self._trees:
            self._trees[name] = self._parsed(name)
        return self._trees[name]

    def bound(self, module: str, name: str) -> list[Bound]:
        """
        Return what binds a name in a module, in the order of the text.
        """
        if module not in self._bound:
            tree = self.tree(module)
            found: dict[str, list[Bound]] = {}
            for one, statement in _bindings(tree.body if tree else ()):
                found.setdefault(one, []).append(statement)
            self._bound[module] = found
        return self._bound[module].get(name, [])

    def absolute(self, statement: ast.ImportFrom, module: str) -> str:
        """
        Return the module that names are imported from.
        """
        if not statement.level:
            return statement.module or ""
        self.tree(module)
        parts = module.split(".")
        kept = len(parts) - statement.level + (module in self._packages)
        return ".".join([*parts[:kept], *filter(None, [statement.module])])

    def _parsed(self, name: str) -> ast.Module | None:
        if name.partition(".")[0] != self.package:
            return None
        path = name.replace(".", "/")
        text = self._read(f"{path}.py")
        if text is None:
            text = self._read(f"{path}/__init__.py")
            self._packages.add(name)
        return None if text is None else ast.parse(text)


def _bindings(
    statements: Sequence[ast.stmt],
    *,
    checked_only: bool = False,
    conditional: bool = False,
) -> Iterator[tuple[str, Bound]]:
    for one in statements:
        if isinstance(one, ast.If):
            checking = ast.unparse(one.test).endswith("TYPE_CHECKING")
            depends = conditional or not checking
            only = checked_only or checking
            yield from _bindings(one.body, checked_only=only, conditional=depends)
            yield from _bindings(
                one.orelse, checked_only=checked_only, conditional=depends
            )
        elif isinstance(one, ast.Try):
            yield from _bindings(
                one.body, checked_only=checked_only, conditional=conditional
            )
        else:
            for name in names_bound(one):
                yield name, Bound(one, checked_only, conditional)


def names_bound(statement: ast.stmt) -> Iterator[str]:
    """
    Return the names that a statement binds.
    """
    if isinstance(statement, ast.ClassDef | ast.FunctionDef):
        yield statement.name
    elif isinstance(statement, ast.Import):
        yield from (a.asname or a.name.partition(".")[0] for a in statement.names)
    elif isinstance(statement, ast.ImportFrom):
        yield from (a.asname or a.name for a in statement.names)
    elif isinstance(statement, ast.Assign):
        targets = (t for t in statement.targets if isinstance(t, ast.Name))
        yield from (t.id for t in targets)
    elif isinstance(statement, ast.AnnAssign | ast.AugAssign) and isinstance(
        statement.target, ast.Name
    ):
        yield statement.target.id
