"""
Expressions: what each comes to, as far as a text tells.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from cdk_sagemaker_llm.adoption.scripts.files import Files
from cdk_sagemaker_llm.adoption.scripts.functions import kind_of_name
from cdk_sagemaker_llm.adoption.scripts.values import (
    Text,
    Thing,
    Unknown,
    is_known,
    joined,
    merged,
    short,
)

_LONGEST = 100_000
# By these a container is told which model it serves.
OF_MODELS = ("HF_MODEL_ID", "OPTION_MODEL_ID", "SM_VLLM_MODEL", "SM_SGLANG_MODEL_PATH")
_ENVIRONMENT = ("os.environ", "environ")
_OPERATIONS: Mapping[type[ast.AST], Callable[[Any, Any], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitOr: operator.or_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda one, other: one in other,
    ast.NotIn: lambda one, other: one not in other,
}


class Expressions:
    """
    Values of expressions, with the names, the process's environment, the files and the
    containers' variables that statements have left so far.
    """

    def __init__(self) -> None:
        self.frames: list[dict[str, Any]] = [{}]
        self.environment: dict[str, object] = {}
        self.files = Files()
        self.variables: list[tuple[int, dict[object, object]]] = []

    def call(self, node: ast.Call) -> object:
        """
        Return what a call comes to.
        """
        raise NotImplementedError

    def variable(self, name: str) -> object:
        """
        Return what a name stands for, of the function or else of the module.
        """
        for frame in (self.frames[-1], self.frames[0]):
            if name in frame:
                found: object = frame[name]
                return found
        return Unknown(name, name=name)

    def value(self, node: ast.expr) -> Any:  # noqa: ANN401, C901, PLR0912 - a language
        """
        Return what an expression comes to, ``Unknown`` where only a run tells.
        """
        found: Any
        match node:
            case ast.Constant():
                found = node.value
            case ast.Name():
                found = self.variable(node.id)
            case ast.Dict():
                found = self._mapping(node)
            case ast.List() | ast.Tuple() | ast.Set():
                found = self.items(node.elts)
            case ast.JoinedStr():
                found = joined(map(self.value, node.values), ast.unparse(node))
            case ast.FormattedValue():
                found = self._formatted(node)
            case ast.BinOp():
                found = self._operation(node)
            case ast.Attribute():
                found = self._attribute(node)
            case ast.Subscript():
                found = self._item(node)
            case ast.Call():
                found = self.call(node)
            case ast.Compare():
                found = self._comparison(node)
            case ast.BoolOp():
                found = self._choice(node)
            case ast.UnaryOp():
                found = self._signed(node)
            case ast.IfExp():
                found = self._conditional(node)
            case ast.ListComp() | ast.GeneratorExp() | ast.DictComp():
                found = self._comprehension(node)
            case ast.NamedExpr():
                found = self.value(node.value)
                self.frames[-1][node.target.id] = found
            case ast.Await() | ast.Starred():
                found = self.value(node.value)
            case _:
                found = Unknown(short(node))
        return found

    def items(self, nodes: list[ast.expr]) -> list[object]:
        """
        Return the values of several expressions, those of a starred list one by one.
        """
        found: list[object] = []
        for node in nodes:
            value = self.value(node)
            if isinstance(node, ast.Starred) and isinstance(value, list | tuple):
                found += value
            else:
                found.append(value)
        return found

    def truth(self, node: ast.expr) -> bool | None:
        """
        Return whether an expression holds; ``None`` if only a run tells.
        """
        value = self.value(node)
        return None if isinstance(value, Unknown | Text) else bool(value)

    def _mapping(self, node: ast.Dict) -> dict[object, object]:
        found: dict[object, object] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            one = self.value(value)
            if key is None and isinstance(one, dict):
                found |= one
            elif key is None:
                found["**"] = one
            else:
                name = self.value(key)
                found[name if isinstance(name, str | int) else short(key)] = one
        if any(name in found for name in OF_MODELS):
            self.variables.append((node.lineno, found))
        return found

    def _formatted(self, node: ast.FormattedValue) -> object:
        value = self.value(node.value)
        form = self.value(node.format_spec) if node.format_spec else ""
        if isinstance(form, str) and form and isinstance(value, int | float | str):
            try:
                return format(value, form)
            except ValueError:
                return Unknown(short(node.value))
        return value

    def _operation(self, node: ast.BinOp) -> object:  # noqa: PLR0911 - kinds of operands
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(left, dict) and isinstance(right, dict):
            return {**left, **right}
        is_text = isinstance(left, str | Text) or isinstance(right, str | Text)
        if is_text and isinstance(node.op, ast.Add | ast.Div):
            # A path is the text that it is.
            between = ["/"] if isinstance(node.op, ast.Div) else []
            return joined([left, *between, right], short(node))
        if isinstance(node.op, ast.Add) and isinstance(left, list):
            return [*left, *right] if isinstance(right, list) else [*left, right]
        if isinstance(right, list) and isinstance(node.op, ast.Mod):
            right = tuple(right)
        work = _OPERATIONS.get(type(node.op))
        if work is None or not (is_known(left) and is_known(right)):
            return Unknown(short(node))
        if isinstance(node.op, ast.Mult) and not _is_small(left, right):
            return Unknown(short(node))
        try:
            return work(left, right)
        except (TypeError, ValueError, ArithmeticError):
            return Unknown(short(node))

    def _attribute(self, node: ast.Attribute) -> object:
        text = ast.unparse(node)
        if text in _ENVIRONMENT:
            return self.environment
        owner = self.value(node.value)
        if isinstance(owner, Thing) and node.attr in owner.arguments:
            return owner.arguments[node.attr]
        kind = kind_of_name(node.attr)
        if isinstance(owner, Unknown) and not kind:
            kind = owner.kind if owner.kind == "time" else ""
        return Unknown(text, kind, name=node.attr.strip("_"))

    def _item(self, node: ast.Subscript) -> object:  # noqa: PLR0911 - kinds of owners
        owner = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            if isinstance(owner, Text):
                # The cut of a name that is too long changes no reference to it.
                return owner
            bounds: list[Any] = [
                one and self.value(one)
                for one in (node.slice.lower, node.slice.upper, node.slice.step)
            ]
            if isinstance(owner, str | list | tuple) and is_known(bounds):
                return owner[slice(*bounds)]
        else:
            key = self.value(node.slice)
            name = key if isinstance(key, str) else ""
            if isinstance(owner, dict | list | tuple | str):
                try:
                    return owner[key]
                except (LookupError, TypeError):
                    return Unknown(short(node), name=name)
            if isinstance(owner, Thing) and name in owner.arguments:
                return owner.arguments[name]
            if name == "Account":
                return Unknown(short(node), "account")
        kind = owner.kind if isinstance(owner, Unknown) else ""
        return Unknown(short(node), kind)

    def _comparison(self, node: ast.Compare) -> object:
        left, right = self.value(node.left), self.value(node.comparators[0])
        work = _OPERATIONS.get(type(node.ops[0]))
        is_single = len(node.ops) == 1
        if isinstance(node.ops[0], ast.Is | ast.IsNot) and isinstance(left, Thing):
            return isinstance(node.ops[0], ast.IsNot)
        if is_single and work and is_known(left) and is_known(right):
            try:
                return work(left, right)
            except TypeError:
                pass
        return Unknown(short(node))

    def _choice(self, node: ast.BoolOp) -> object:
        is_any = isinstance(node.op, ast.Or)
        value: object = None
        for one in node.values:
            value = self.value(one)
            if isinstance(value, Unknown | Text):
                return Unknown(short(node), getattr(value, "kind", ""))
            if bool(value) is is_any:
                break
        return value

    def _signed(self, node: ast.UnaryOp) -> object:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not) and not isinstance(value, Unknown | Text):
            return not value
        if isinstance(node.op, ast.USub) and isinstance(value, int | float):
            return -value
        return Unknown(short(node))

    def _conditional(self, node: ast.IfExp) -> object:
        holds = self.truth(node.test)
        if holds is not None:
            return self.value(node.body if holds else node.orelse)
        why = f"{short(node.test)} decides it"
        return merged(self.value(node.body), self.value(node.orelse), why)

    def _comprehension(
        self, node: ast.ListComp | ast.GeneratorExp | ast.DictComp
    ) -> object:
        loop = node.generators[0]
        values = self.value(loop.iter)
        if isinstance(values, dict):
            values = list(values)
        if not isinstance(values, list | tuple) or len(node.generators) > 1:
            return Unknown(short(node))
        frame = dict(self.frames[-1])
        self.frames.append(frame)
        pairs: list[tuple[object, object]] = []
        for one in values:
            self.assign(loop.target, one)
            if all(self.truth(test) for test in loop.ifs):
                is_mapping = isinstance(node, ast.DictComp)
                key = self.value(node.key) if isinstance(node, ast.DictComp) else None
                value = self.value(node.value if is_mapping else node.elt)  # type: ignore[union-attr]
                pairs.append((key, value))
        self.frames.pop()
        if not isinstance(node, ast.DictComp):
            return [value for _, value in pairs]
        return {k: v for k, v in pairs if isinstance(k, str | int)}

    def assign(self, target: ast.expr, value: object) -> None:
        """
        Set a variable, an item or an attribute.
        """
        raise NotImplementedError


def _is_small(left: object, right: object) -> bool:
    if isinstance(left, int | float) and isinstance(right, int | float):
        return True
    sizes = [one if isinstance(one, int) else len(str(one)) for one in (left, right)]
    return sizes[0] * sizes[1] < _LONGEST
