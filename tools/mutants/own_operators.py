"""
Operators for what matters here and mutmut lacks: arguments, conditions, statements.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise

from tools.mutants.changes import Change
from tools.mutants.source import Located, Source, Span, called

Edit = tuple[Span, str]
Operator = Callable[[Source, ast.AST], Iterator[Edit]]
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_COUNTERPARTS = {
    "all": "any",
    "any": "all",
    "ceil": "floor",
    "floor": "ceil",
    "max": "min",
    "min": "max",
}
_EMPTY = {
    "Mapping": "{}",
    "Sequence": "[]",
    "bool": "False",
    "dict": "{}",
    "float": "0.0",
    "frozenset": "frozenset()",
    "int": "0",
    "list": "[]",
    "set": "set()",
    "str": '""',
    "tuple": "()",
}


def own_changes(source: Source) -> Iterator[Change]:
    """
    Return every change that the operators below make of a module.
    """
    for node in _nodes(source.tree):
        for name, operator in OPERATORS.items():
            for span, text in operator(source, node):
                yield Change(source, span, name, partial(_replaced, source, span, text))


def _replaced(source: Source, span: Span, text: str) -> str:
    start, end = span
    return source.text[:start] + text + source.text[end:]


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    # Positions inside an f-string are wrong before Python 3.12.
    if not isinstance(node, ast.JoinedStr):
        for child in ast.iter_child_nodes(node):
            yield from _nodes(child)


def drop_keyword(source: Source, node: ast.AST) -> Iterator[Edit]:
    """
    Leave a keyword argument of a call out.
    """
    if isinstance(node, ast.Call):
        parts: list[Located] = [*node.args, *node.keywords]
        spans = sorted(source.span(part) for part in parts)
        words = {source.span(word) for word in node.keywords if word.arg}
        yield from _without_each(source, spans, words)


def drop_element(source: Source, node: ast.AST) -> Iterator[Edit]:
    """
    Leave an element of a literal out.
    """
    spans: list[Span] = []
    if isinstance(node, ast.Tuple):
        yield from _shorter_tuples(source, node)
        return
    if isinstance(node, ast.List | ast.Set):
        spans = [source.span(element) for element in node.elts]
    elif isinstance(node, ast.Dict) and None not in node.keys:
        spans = [
            (source.span(key)[0], source.span(value)[1])
            for key, value in zip(node.keys, node.values, strict=True)
            if key is not None
        ]
    yield from _without_each(source, spans, set(spans))


def _shorter_tuples(source: Source, node: ast.Tuple) -> Iterator[Edit]:
    if isinstance(node.ctx, ast.Load):
        codes = list(map(source.code, node.elts))
        for index in range(len(codes)):
            kept = codes[:index] + codes[index + 1 :]
            comma = "," if len(kept) == 1 else ""
            yield source.span(node), f"({', '.join(kept)}{comma})"


def _without_each(
    source: Source, spans: Sequence[Span], chosen: set[Span]
) -> Iterator[Edit]:
    for index, (start, end) in enumerate(spans):
        if (start, end) not in chosen:
            continue
        if index + 1 < len(spans):
            yield (start, spans[index + 1][0]), ""
        elif index:
            yield (spans[index - 1][1], end), ""
        else:
            comma = re.compile(r"\s*,?").match(source.text, end)
            yield (start, comma.end() if comma else end), ""


def swap_arguments(source: Source, node: ast.AST) -> Iterator[Edit]:
    """
    Swap the values of neighbouring arguments: positional ones, or keywords.
    """
    if not isinstance(node, ast.Call):
        return
    positional = [a for a in node.args if not isinstance(a, ast.Starred)]
    named = [word.value for word in node.keywords if word.arg]
    for values in (positional, named):
        for left, right in pairwise(map(source.span, values)):
            yield _swapped(source, left, right)


def _swapped(source: Source, left: Span, right: Span) -> Edit:
    text = source.text
    between = text[left[1] : right[0]]
    return (left[0], right[1]), text[slice(*right)] + between + text[slice(*left)]


def force_condition(source: Source, node: ast.AST) -> Iterator[Edit]:
    """
    Make a condition always true, always false, or the opposite.
    """
    tests: list[ast.expr] = []
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        tests = [node.test]
    elif isinstance(node, ast.comprehension):
        tests = node.ifs
    for test in tests:
        span = source.span(test)
        if not isinstance(node, ast.While):  # It would run into its time limit.
            yield span, "True"
        yield span, "False"
        yield span, f"(not ({source.code(test)}))"


def lower_number(source: Source, node: ast.AST) -> Iterator[Edit]:
    """
    Take one from a number; mutmut adds one.
    """
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield source.span(node), repr(node.value - 1)  # type: ignore[operator]  # a number


def change_default(source: Source, node: ast.AST) -> Iterator[Edit]:
    """
    Replace the default of a parameter.
    """
    if isinstance(node, ast.arguments):
        for default in [*node.defaults, *node.kw_defaults]:
            if default is not None:
                is_none = source.code(default) == "None"
                yield source.span(default), "..." if is_none else "None"


def drop_statement(source: Source, node: ast.AST) -> Iterator[Edit]:
    """
    Do nothing instead of a call, a raise or a yield.
    """
    match node:
        case ast.Expr(value=ast.Call()) | ast.Raise():
            yield source.span(node), "pass"
        case ast.Expr(value=ast.Yield() | ast.YieldFrom()):
            yield source.span(node), "yield from ()"
        case _:
            pass


def empty_result(source: Source, node: ast.AST) -> Iterator[Edit]:
    """
    Return nothing, as empty as the annotation allows.
    """
    if not isinstance(node, _Function) or node.returns is None:
        return
    empty = _EMPTY.get(called(node.returns), "None")
    for inner in _own_nodes(node):
        if isinstance(inner, ast.Return) and inner.value is not None:
            yield source.span(inner.value), empty


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, _Function | ast.Lambda):
            yield child
            yield from _own_nodes(child)


def call_counterpart(source: Source, node: ast.AST) -> Iterator[Edit]:
    """
    Call the opposite function: the greatest for the least, any for all.
    """
    if isinstance(node, ast.Call) and called(node) in _COUNTERPARTS:
        _, end = source.span(node.func)
        name = called(node)
        yield (end - len(name), end), _COUNTERPARTS[name]


def empty_words(source: Source, node: ast.AST) -> Iterator[Edit]:
    """
    Say nothing instead of a formatted text.
    """
    if isinstance(node, ast.JoinedStr):
        yield source.span(node), '""'


OPERATORS: dict[str, Operator] = {
    operator.__name__: operator
    for operator in (
        call_counterpart,
        change_default,
        drop_element,
        drop_keyword,
        drop_statement,
        empty_result,
        empty_words,
        force_condition,
        lower_number,
        swap_arguments,
    )
}
