"""
CloudWatch's metric math, for one period at a time.

Arithmetic, comparisons, and the functions that scaling policies are written with. The
language is a subset of what Python parses, and nothing but numbers is ever evaluated.
"""

from __future__ import annotations

import ast
import functools
import math
import operator
import sys
from collections.abc import Callable, Mapping, Sequence

Value = float | None

_OPERATORS: dict[type[ast.AST], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_OF_ONE: dict[str, Callable[[float], float]] = {
    "ABS": abs,
    "CEIL": math.ceil,
    "FLOOR": math.floor,
}
_OF_SEVERAL: dict[str, Callable[[Sequence[float]], float]] = {
    "AVG": lambda values: sum(values) / len(values),
    "MAX": max,
    "MIN": min,
    "SUM": sum,
}
# How few and how many arguments each takes.
_FUNCTIONS: dict[str, tuple[int, float]] = {
    **dict.fromkeys(_OF_ONE, (1, 1)),
    **dict.fromkeys(_OF_SEVERAL, (1, math.inf)),
    "FILL": (2, 2),
    "IF": (2, 3),
    "METRICS": (0, 0),
}


def names_in(expression: str) -> frozenset[str]:
    """
    Return the ids that an expression names; raise ``ValueError`` where it uses what is
    not understood here.
    """
    nodes = list(ast.walk(_parsed(expression)))
    called = {node.func for node in nodes if isinstance(node, ast.Call)}
    return frozenset(
        node.id for node in nodes if isinstance(node, ast.Name) and node not in called
    )


def evaluate(expression: str, values: Mapping[str, Value]) -> Value:
    """
    Compute an expression; ``None`` where data is missing or nothing finite comes out.
    """
    return _value(_parsed(expression).body, values)


@functools.lru_cache(maxsize=256)
def _parsed(expression: str) -> ast.Expression:
    # A ^ is a power there, and the two words are upper-case.
    text = (
        expression.replace("^", "**").replace(" AND ", " and ").replace(" OR ", " or ")
    )
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise _not_understood(expression) from error
    for node in ast.walk(tree):
        if not isinstance(node, _UNDERSTOOD) or not _is_known(node):
            raise _not_understood(expression)
    return tree


_UNDERSTOOD = (
    ast.Expression,
    ast.BinOp,
    ast.BoolOp,
    ast.And,
    ast.Or,
    ast.UnaryOp,
    ast.USub,
    ast.Compare,
    ast.Call,
    ast.Name,
    ast.Load,
    ast.Constant,
    ast.List,
    *_OPERATORS,
)


def _is_known(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        if not isinstance(node.func, ast.Name):
            return False
        least, most = _FUNCTIONS.get(node.func.id, (1, 0))
        return least <= len(node.args) <= most
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1
    if isinstance(node, ast.Constant):
        match node.value:
            case int() | float() as number:
                return not isinstance(number, bool) and number <= sys.float_info.max
        return False
    return True


def _not_understood(expression: str) -> ValueError:
    functions = ", ".join(sorted(_FUNCTIONS))
    return ValueError(
        f"metric math {expression!r} is not understood; arithmetic, comparisons, AND, "
        f"OR and {functions} are"
    )


def _value(node: ast.expr, values: Mapping[str, Value]) -> Value:
    result: Value = None
    match node:
        case ast.Constant(value=int() | float() as number):
            result = float(number)
        case ast.Name(id=name):
            result = values[name]
        case ast.UnaryOp(operand=operand):
            result = _combined(ast.Sub(), 0.0, _value(operand, values))
        case ast.BinOp(left=left, op=op, right=right):
            result = _combined(op, _value(left, values), _value(right, values))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            result = _combined(op, _value(left, values), _value(right, values))
        case ast.BoolOp(op=op, values=parts):
            operands = [_value(part, values) for part in parts]
            together = all if isinstance(op, ast.And) else any
            result = None if None in operands else float(together(operands))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            result = _called(name, arguments, values)
    return result if result is not None and math.isfinite(result) else None


def _combined(op: ast.AST, left: Value, right: Value) -> Value:
    if left is None or right is None:
        return None
    try:
        return float(_OPERATORS[type(op)](left, right))
    except (ArithmeticError, TypeError):
        # By zero, too large, or the root of a negative number.
        return None


def _called(name: str, arguments: list[ast.expr], values: Mapping[str, Value]) -> Value:
    if name == "IF":
        condition, chosen, *other = arguments
        if _value(condition, values):
            return _value(chosen, values)
        return _value(other[0], values) if other else None
    if name == "FILL":
        found = _value(arguments[0], values)
        return _value(arguments[1], values) if found is None else found
    numbers = [n for a in arguments for n in _several(a, values) if n is not None]
    if not numbers:
        return None
    if name in _OF_ONE:
        return float(_OF_ONE[name](numbers[0]))
    return float(_OF_SEVERAL[name](numbers))


def _several(node: ast.expr, values: Mapping[str, Value]) -> list[Value]:
    if isinstance(node, ast.List):
        return [_value(item, values) for item in node.elts]
    match node:
        case ast.Call(func=ast.Name(id="METRICS")):
            return list(values.values())
    return [_value(node, values)]
