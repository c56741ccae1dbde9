"""
A module's text and tree, where its statements stand, and what is not worth changing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

Span = tuple[int, int]
Located = ast.expr | ast.stmt | ast.keyword | ast.arg
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_BARREN_NAMES = {"__all__", "__slots__"}
# What these decorate either has no body, or they change nothing that a test could see.
_BARREN_DECORATORS = {"cache", "dataclass", "lru_cache", "overload", "override"}
# Arguments that are caution: the result is the same wherever the tests run.
_BARREN_KEYWORDS = {"encoding", "stacklevel", "strict"}
_TYPES = {"bool", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple"}
_BETWEEN = " \n,"
_BARREN_CALLS = {"NewType", "ParamSpec", "TypeVar"}


@dataclass(frozen=True)
class Statement:
    """
    The innermost statement at a line.

    Args:
        lines: Those of its own, without the statements inside it.

        runs_at_import: Whether it runs when the module is imported.

        names: What it defines.

        body: The lines inside it, if it is a function.
    """

    lines: tuple[int, ...]
    runs_at_import: bool
    names: frozenset[str]
    body: tuple[int, ...]


@dataclass(frozen=True)
class Source:
    """
    One module.

    Args:
        path: From the root of the checkout, with slashes.
    """

    path: str
    text: str
    tree: ast.Module = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tree", ast.parse(self.text))

    def offset(self, line: int, column: int) -> int:
        """
        Return where a line (from 1) and a column in characters are in the text.
        """
        return self._starts[line - 1] + column

    def span(self, node: Located) -> Span:
        """
        Return where a node begins and ends in the text.
        """
        start = self._byte_offset(node.lineno, node.col_offset)
        return start, self._byte_offset(last_line(node), node.end_col_offset or 0)

    def code(self, node: Located) -> str:
        """
        Return a node's text.
        """
        return self.text[slice(*self.span(node))]

    def statement(self, line: int) -> Statement | None:
        """
        Return the innermost statement at a line, if there is one.
        """
        return self._statements.get(line)

    @cached_property
    def function_lines(self) -> frozenset[int]:
        """
        The lines that run when a function is called, not on import.
        """
        return frozenset(
            line for line, it in self._statements.items() if not it.runs_at_import
        )

    def is_barren(self, span: Span) -> bool:
        """
        Say whether no test could or should see a change there.
        """
        start, end = span
        return any(a <= start and end <= b for a, b in self._barren)

    @cached_property
    def formatted(self) -> tuple[Span, ...]:
        """
        Where the f-strings are.
        """
        found = (n for n in ast.walk(self.tree) if isinstance(n, ast.JoinedStr))
        return tuple(map(self.span, found))

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for line in self.text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        return starts

    def _byte_offset(self, line: int, column: int) -> int:
        # ast counts the bytes of UTF-8.
        text = self.text[self._starts[line - 1] : self._starts[line]]
        return self.offset(line, len(text.encode()[:column].decode()))

    @cached_property
    def _statements(self) -> dict[int, Statement]:
        owners: dict[int, tuple[ast.stmt, bool]] = {}
        _own(self.tree, owners, at_import=True)
        lines: dict[ast.stmt, list[int]] = {}
        for line, (owner, _) in sorted(owners.items()):
            lines.setdefault(owner, []).append(line)
        made = {
            owner: _statement(owner, tuple(lines[owner]), at_import=at_import)
            for owner, at_import in owners.values()
        }
        return {line: made[owner] for line, (owner, _) in owners.items()}

    @cached_property
    def _barren(self) -> list[Span]:
        nodes = [n for node in ast.walk(self.tree) for n in _barren_parts(node)]
        return [self._with_commas(self.span(node)) for node in nodes]

    def _with_commas(self, span: Span) -> Span:
        # What leaves an argument out takes the comma on one of its sides along.
        start, end = span
        before, after = self.text[:start], self.text[end:]
        return (
            len(before.rstrip(_BETWEEN)),
            len(self.text) - len(after.lstrip(_BETWEEN)),
        )


def called(node: ast.expr) -> str:
    """
    Return the last name of what is called, or used as a decorator.
    """
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Subscript):
        node = node.value
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def last_line(node: Located) -> int:
    """
    Return the line on which a node ends.
    """
    return node.end_lineno or node.lineno


def _own(
    node: ast.AST, owners: dict[int, tuple[ast.stmt, bool]], *, at_import: bool
) -> None:
    for child in ast.iter_child_nodes(node):
        inside = at_import and not isinstance(node, _Function)
        if isinstance(child, ast.stmt):
            for line in range(_first_line(child), last_line(child) + 1):
                owners[line] = (child, inside)
        _own(child, owners, at_import=inside)


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(d.lineno for d in decorators)])


def _statement(node: ast.stmt, lines: tuple[int, ...], *, at_import: bool) -> Statement:
    body: tuple[int, ...] = ()
    if isinstance(node, _Function):
        body = tuple(range(node.body[0].lineno, last_line(node) + 1))
    return Statement(lines, at_import, frozenset(_defined(node)), body)


def _defined(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            for target in targets:
                yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case _:
            pass


def _barren_parts(node: ast.AST) -> Iterator[Located]:
    if isinstance(node, ast.expr | ast.stmt) and _is_barren(node):
        yield node
    match node:
        case ast.arg(annotation=annotation) if annotation is not None:
            yield annotation
        case ast.AnnAssign(annotation=annotation):
            yield annotation
        case ast.Call():
            yield from _barren_arguments(node)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield from _barren_definition(node)
        case _:
            pass


def _is_barren(node: ast.expr | ast.stmt) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Assert():
            return True
        case ast.Expr(value=ast.Constant()):
            return True  # A docstring, or the dots of a body that is not there.
        case ast.Subscript(slice=ast.Tuple()):
            return True  # A type.
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            is_alias = isinstance(value, ast.Subscript | ast.BinOp) and _is_type(value)
            return is_alias or name in _BARREN_NAMES
        case ast.If(test=test):
            return "TYPE_CHECKING" in ast.unparse(test)
        case _:
            return False


def _is_type(node: ast.expr) -> bool:
    match node:
        case ast.Name(id=name):
            # Not a constant, which is in capitals.
            plain = name.strip("_")
            return name in _TYPES or (plain[:1].isupper() and not plain.isupper())
        case ast.Subscript(value=value):
            return _is_type(value)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _is_type(left) and _is_type(right)
        case _:
            return isinstance(node, ast.Constant) and node.value is None


def _barren_arguments(node: ast.Call) -> Iterator[ast.expr | ast.keyword]:
    if called(node) in _BARREN_CALLS:
        yield node
    if called(node) == "cast":
        yield from node.args[:1]
    yield from (word for word in node.keywords if word.arg in _BARREN_KEYWORDS)


def _barren_definition(
    node: _Function | ast.ClassDef,
) -> Iterator[ast.expr | ast.stmt]:
    yield from (d for d in node.decorator_list if called(d) in _BARREN_DECORATORS)
    if isinstance(node, ast.ClassDef):
        if "Protocol" in map(called, node.bases):
            yield node
        return
    if node.returns is not None:
        yield node.returns
    if "overload" in map(called, node.decorator_list):
        yield node
