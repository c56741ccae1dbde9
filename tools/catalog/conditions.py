"""
What stands on the way to each ``raise`` of a class, read in its syntax tree as far as
it is made of arguments and plain values alone: what a model, a file or the machine
decides is left out, and so is all that it would guard.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cdk_sagemaker_llm.serving.engines.checks.refusals import UNKNOWN, holds
from tools.catalog.sources import (
    COMPARED,
    SIGNS,
    SUMS,
    Source,
    answer_to_none,
    is_own,
    name_of,
    returns,
    words_of,
)

# The images have GPUs of NVIDIA.
_PLATFORM = {"is_cuda": True, "is_cuda_alike": True}
_PLATFORMS_ELSE = ("is_cpu", "is_rocm", "is_tpu", "is_xpu", "is_out_of_tree")


# Of the model this alone is what an argument says, if one does.
_MODEL = {
    "max_model_len": "(unknown() if max_model_len in (None, -1) else max_model_len)"
}
_CLASS = " class"
# Longer values have a name of their own.
_LONG = 100
_PLAIN_CALLS = ("len", "max", "min")

Known = str | Mapping[str, Any] | None


@dataclass
class State:
    """
    What is known at a line: which conditions led here, and what names stand for.
    """

    path: tuple[str, ...] = ()
    names: dict[str, Known] = field(default_factory=dict)
    own: dict[str, str | None] = field(default_factory=dict)
    is_lost: bool = False
    # What the fields are where the method returned early, and when it does.
    left: list[tuple[str | None, dict[str, str | None]]] = field(default_factory=list)

    def branch(self, condition: str | None) -> State:
        """
        Return the state behind a condition; ``None`` for one that cannot be told.
        """
        path = self.path if condition is None else (*self.path, condition)
        lost = self.is_lost or condition is None
        return State(path, dict(self.names), dict(self.own), lost)


@dataclass(frozen=True)
class Refusal:
    """
    What leads to an end, and what is said then.
    """

    path: tuple[str, ...]
    words: str


class Reader:
    """
    Reads one class, whose fields stand for what its mapping says.
    """

    def __init__(
        self, source: Source, of: str, fields: Mapping[str, str | None]
    ) -> None:
        self.source, self.of, self.fields = source, of, fields
        self.methods = source.methods(of)
        self.found: list[Refusal] = []
        self.last = State()
        self._reading: list[str] = []

    def read(self, names: Sequence[str], path: tuple[str, ...] = ()) -> None:
        """
        Read methods, one after the other.
        """
        state = State(path=path)
        for name in names:
            # What one method returns early of is read by the next all the same.
            state = State(path=path, own=state.own)
            self.last = state
            for one in self.methods[name].args.args:
                state.names[one.arg] = self.fields.get(one.arg)
            self._block(self.methods[name].body, state)
            self._settle(state)

    def _settle(self, state: State) -> None:
        """
        Let the fields be what they are behind a method, wherever it returned.
        """
        for test, own in reversed(state.left):
            for key in {*own, *state.own}:
                before = self.fields.get(key)
                one, two = own.get(key, before), state.own.get(key, before)
                state.own[key] = self._short(_either(test, one, two))

    def _block(self, lines: Sequence[ast.stmt], state: State) -> str:
        for line in lines:
            ended = self._line(line, state)
            if ended:
                return ended
        return ""

    def _line(self, line: ast.stmt, state: State) -> str:  # noqa: C901 - a case each
        if isinstance(line, ast.Raise):
            if not state.is_lost:
                self.found.append(Refusal(state.path, words_of(line.exc)))
            return "raises"
        if isinstance(line, ast.Return):
            self._calls(line, state)
            return "returns"
        if isinstance(line, ast.If):
            return self._branch(line, state)
        if isinstance(line, ast.Assert):
            broken = self._told(line.test, state, wanted=False)
            if broken and not state.is_lost:
                words = words_of(line.msg)
                self.found.append(Refusal((*state.path, broken), words))
        elif isinstance(line, ast.With):
            return self._block(line.body, state)
        elif isinstance(line, ast.Assign | ast.AnnAssign | ast.AugAssign):
            self._calls(line, state)
            self._assign(line, state)
        elif isinstance(line, ast.Expr):
            self._calls(line, state)
        elif not isinstance(line, ast.FunctionDef):
            self._forget(line, state)
        return ""

    def _branch(self, line: ast.If, state: State) -> str:
        certain = _folded(self._text(line.test, state))
        if certain is not UNKNOWN:
            return self._block(line.body if certain else line.orelse, state)
        then = state.branch(self._told(line.test, state, wanted=True))
        other = state.branch(self._told(line.test, state, wanted=False))
        ends = self._block(line.body, then), self._block(line.orelse, other)
        if all(ends):
            return "raises" if ends == ("raises", "raises") else "returns"
        if any(ends):
            stays, end = (other, ends[0]) if ends[0] else (then, ends[1])
            gone = then if ends[0] else other
            taken = line.orelse if ends[0] else line.body
            if end == "raises":
                # It is refused either way: the way that is left needs no condition.
                inner = any(returns(one) for one in taken)
                stays = replace(stays, path=state.path, is_lost=state.is_lost or inner)
            left = [*state.left, *((None, own) for _, own in stays.left)]
            if end == "returns":
                when = self._text(line.test, state)
                when = when if ends[0] or when is None else f"(not {when})"
                left += [*gone.left, (when, gone.own)]
            vars(state).update({**vars(stays), "left": left})
            return ""
        state.left += [(None, own) for _, own in (*then.left, *other.left)]
        test = self._text(line.test, state)
        for key in {*then.names, *other.names}:
            known = _either(test, then.names.get(key), other.names.get(key))
            state.names[key] = self._short(known)
        for key in {*then.own, *other.own}:
            before = self.fields.get(key)
            one, two = then.own.get(key, before), other.own.get(key, before)
            state.own[key] = self._short(_either(test, one, two))
        state.is_lost = state.is_lost or returns(line)
        return ""

    def _short(self, known: Any) -> Any:  # noqa: ANN401 - as Known
        """
        Give what takes many words a name of its own.
        """
        if not isinstance(known, str) or len(known) <= _LONG:
            return known
        named = {text: name for name, text in self.source.where.items()}
        name = named.get(known, f"it{len(named) + 1}")
        self.source.where[name] = known
        return name

    def _assign(
        self, line: ast.Assign | ast.AnnAssign | ast.AugAssign, state: State
    ) -> None:
        is_plain = not isinstance(line, ast.AugAssign) and line.value is not None
        value = self._object(line.value, state) if is_plain and line.value else None
        targets = line.targets if isinstance(line, ast.Assign) else [line.target]
        for target in targets:
            if isinstance(target, ast.Name):
                state.names[target.id] = value
            elif is_own(target):
                if not ast.unparse(line).partition("= ")[2].startswith("envs."):
                    state.own[target.attr] = value if isinstance(value, str) else None
            else:
                self._spoil(target, state)

    def _spoil(self, target: ast.expr, state: State) -> None:
        """
        Forget what a line changes inside of something else.
        """
        inner = target.value if isinstance(target, ast.Attribute) else None
        if isinstance(target, ast.Attribute) and inner is not None and is_own(inner):
            known = self.fields.get(inner.attr)
            if isinstance(known, Mapping) and inner.attr not in state.own:
                self.fields = {**self.fields, inner.attr: {**known, target.attr: None}}
                return
        if isinstance(target, ast.Attribute) and isinstance(inner, ast.Name):
            local = state.names.get(inner.id)
            if isinstance(local, Mapping):
                state.names[inner.id] = {**local, target.attr: None}
                return
        for one in ast.walk(target):
            if isinstance(one, ast.Name) and one.id != "self":
                state.names[one.id] = None
            elif is_own(one):
                state.own[one.attr] = None

    def _forget(self, line: ast.stmt, state: State) -> None:
        for one in ast.walk(line):
            if isinstance(one, ast.Assign | ast.AugAssign | ast.AnnAssign):
                targets = one.targets if isinstance(one, ast.Assign) else [one.target]
                for target in targets:
                    self._spoil(target, state)
            elif isinstance(one, ast.Return):
                state.is_lost = True

    def _calls(self, line: ast.stmt, state: State) -> None:
        """
        Read the methods and the classes that a line calls.
        """
        for one in ast.walk(line):
            if not isinstance(one, ast.Call):
                continue
            name = one.func.attr if is_own(one.func) else ""
            if name in self.methods and name not in self._reading:
                self._reading.append(name)
                inner = State(state.path, self._bound(one, state), dict(state.own))
                inner.is_lost = state.is_lost
                self._block(self.methods[name].body, inner)
                self._settle(inner)
                state.own.update(inner.own)
                self._reading.pop()
            elif self.of == "EngineArgs" and name_of(one) in self.source.classes:
                self._class(one, line, state)

    def _bound(self, call: ast.Call, state: State) -> dict[str, Known]:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        words = [one.arg for one in self.methods[name].args.args if one.arg != "self"]
        found = dict(
            zip(words, (self._object(a, state) for a in call.args), strict=False)
        )
        for word in call.keywords:
            if word.arg:
                found[word.arg] = self._object(word.value, state)
        return found

    def _class(self, call: ast.Call, line: ast.stmt, state: State) -> None:
        of = call.func.id if isinstance(call.func, ast.Name) else ""
        condition: str | None = "True"
        for one in ast.walk(line):
            if isinstance(one, ast.IfExp) and call in list(ast.walk(one.body)):
                condition = self._told(one.test, state, wanted=True)
        if (
            condition is None
            or state.is_lost
            or any(w.arg is None for w in call.keywords)
        ):
            return
        path = state.path if condition == "True" else (*state.path, condition)
        self.found += class_refusals(self.source, of, self._mapping(call, state), path)

    def _mapping(self, call: ast.Call, state: State) -> dict[str, Any]:
        of = call.func.id if isinstance(call.func, ast.Name) else ""
        found: dict[str, Any] = {_CLASS: of}
        for key in self.source.defaults(of):
            is_plain, value = self.source.default(of, key)
            found[key] = repr(value) if is_plain else None
        for word in call.keywords:
            if word.arg:
                found[word.arg] = self._object(word.value, state)
        made = Reader(self.source, of, found)
        made.read(_checks(made.methods))
        # What the class makes of its fields is what others see of them.
        return {**found, **made.last.own}

    def _object(self, node: ast.expr, state: State) -> Known:
        if isinstance(node, ast.List | ast.Set | ast.Dict):
            # It may be added to later.
            return None
        if isinstance(node, ast.Call):
            is_class = isinstance(node.func, ast.Name)
            if is_class and ast.unparse(node.func) in self.source.classes:
                return self._mapping(node, state)
            if ast.unparse(node.func) == "self.create_model_config":
                return _MODEL
        if isinstance(node, ast.Name) and isinstance(state.names.get(node.id), Mapping):
            return state.names[node.id]
        return self._text(node, state)

    def _told(self, node: ast.expr, state: State, *, wanted: bool) -> str | None:
        """
        Return a condition that makes another one true, or not, whatever cannot be told.
        """
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self._told(node.operand, state, wanted=not wanted)
        if isinstance(node, ast.BoolOp):
            parts = [self._told(one, state, wanted=wanted) for one in node.values]
            if isinstance(node.op, ast.And) == wanted:
                known = [one for one in parts if one]
                return f"({' and '.join(known)})" if len(known) == len(parts) else None
            known = [one for one in parts if one]
            return f"({' or '.join(known)})" if known else None
        text = self._text(node, state)
        return None if text is None else text if wanted else f"not ({text})"

    def _text(self, node: ast.expr, state: State) -> str | None:  # noqa: PLR0911, PLR0912, C901 - a case each
        if isinstance(node, ast.Constant):
            is_plain = node.value is None or isinstance(
                node.value, bool | int | float | str
            )
            return repr(node.value) if is_plain else None
        if isinstance(node, ast.Name):
            known = state.names.get(node.id, self.source.constants.get(node.id))
            return known if isinstance(known, str) else None
        if isinstance(node, ast.Attribute):
            return self._attribute(node, state)
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            parts = [self._text(one, state) for one in node.elts]
            is_told = parts and None not in parts
            return f"({', '.join(map(str, parts))},)" if is_told else None
        if isinstance(node, ast.Compare):
            if not all(isinstance(op, COMPARED) for op in node.ops):
                return None
            parts = [self._text(one, state) for one in [node.left, *node.comparators]]
            if None in parts:
                return None
            text = str(parts[0])
            for op, part in zip(node.ops, parts[1:], strict=True):
                text += f" {SIGNS[type(op)]} {part}"
            return f"({text})"
        if isinstance(node, ast.BoolOp):
            parts = [self._text(one, state) for one in node.values]
            word = " and " if isinstance(node.op, ast.And) else " or "
            told = word.join(one or "unknown()" for one in parts)
            return f"({told})" if any(parts) else None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            inner = self._text(node.operand, state)
            sign = "not " if isinstance(node.op, ast.Not) else "-"
            return None if inner is None else f"({sign}{inner})"
        if isinstance(node, ast.BinOp) and type(node.op) in SUMS:
            left, right = self._text(node.left, state), self._text(node.right, state)
            is_known = left is not None and right is not None
            return f"({left} {SUMS[type(node.op)]} {right})" if is_known else None
        if isinstance(node, ast.IfExp):
            parts = [
                self._text(one, state) for one in (node.body, node.test, node.orelse)
            ]
            return None if None in parts else "({} if {} else {})".format(*parts)
        if isinstance(node, ast.Call):
            return self._call(node, state)
        return None

    def _call(self, node: ast.Call, state: State) -> str | None:  # noqa: PLR0911 - a case each
        if isinstance(node.func, ast.Attribute):
            is_platform = ast.unparse(node.func.value) == "current_platform"
            if is_platform and node.func.attr in _PLATFORM:
                return "True"
            if is_platform:
                return "False" if node.func.attr in _PLATFORMS_ELSE else None
            method = self.methods.get(node.func.attr)
            parts = [self._text(one, state) for one in node.args]
            if method is not None and len(parts) == 1 and parts[0] is not None:
                answer = answer_to_none(method)
                return (
                    f"({answer} if {parts[0]} is None else unknown())"
                    if answer
                    else None
                )
            return None
        if ast.unparse(node) == "unknown()":
            return "unknown()"
        if ast.unparse(node.func) == "get_args" and isinstance(node.args[0], ast.Name):
            values = self.source.literals.get(node.args[0].id)
            return None if values is None else repr(values)
        if isinstance(node.func, ast.Name) and node.func.id in _PLAIN_CALLS:
            parts = [self._text(one, state) for one in node.args]
            return (
                None
                if None in parts
                else f"{node.func.id}({', '.join(map(str, parts))})"
            )
        return None

    def _attribute(self, node: ast.Attribute, state: State) -> str | None:  # noqa: PLR0911 - a case each
        if is_own(node):
            if node.attr in state.own:
                return state.own[node.attr]
            if node.attr in self.fields:
                mine = self.fields[node.attr]
                return mine if isinstance(mine, str) else None
            return self._property(node.attr, state)
        if is_own(node.value) and node.value.attr not in state.own:
            inner = self.fields.get(node.value.attr)
            if isinstance(inner, Mapping):
                return self._inside(inner, node.attr)
        if isinstance(node.value, ast.Name):
            known = state.names.get(node.value.id)
            if isinstance(known, Mapping):
                return self._inside(known, node.attr)
            if known is None and node.value.id in self.source.classes:
                is_plain, value = self.source.default(node.value.id, node.attr)
                return repr(value) if is_plain else None
            return None
        base = (
            self._attribute(node.value, state)
            if isinstance(node.value, ast.Attribute)
            else None
        )
        return f"{base}.{node.attr}" if base and base.isidentifier() else None

    def _inside(self, fields: Mapping[str, Any], name: str) -> str | None:
        known = fields.get(name)
        if name in fields or fields.get(_CLASS) not in self.source.classes:
            return known if isinstance(known, str) else None
        return Reader(self.source, fields[_CLASS], fields)._property(name, State())  # noqa: SLF001 - of the same class

    def _property(self, name: str, state: State) -> str | None:
        method = self.methods.get(name)
        if method is None or not any(
            isinstance(one, ast.Name) and one.id == "property"
            for one in method.decorator_list
        ):
            return None
        lines = [one for one in method.body if not isinstance(one, ast.Expr)]
        if len(lines) == 1 and isinstance(lines[0], ast.Return) and lines[0].value:
            return self._text(lines[0].value, state)
        return None


def _checks(methods: Mapping[str, ast.FunctionDef]) -> list[str]:
    """
    Return the methods that a class of pydantic runs once its fields are there.
    """
    first = [name for name in ("__post_init__",) if name in methods]
    words = {
        name: [ast.unparse(one) for one in method.decorator_list]
        for name, method in methods.items()
    }
    later = [
        name
        for name, texts in words.items()
        if any("model_validator" in text and "after" in text for text in texts)
    ]
    return [*first, *later]


def class_refusals(
    source: Source, of: str, fields: Mapping[str, Any], path: tuple[str, ...]
) -> list[Refusal]:
    """
    Return what leads to each refusal of a class.
    """
    reader = Reader(source, of, fields)
    reader.read(_checks(reader.methods), path)
    return reader.found


def _folded(text: str | None) -> object:
    return UNKNOWN if text is None else holds(text, lambda _: UNKNOWN)


def _either(test: str | None, one: Known, two: Known) -> Any:  # noqa: ANN401 - as Known
    """
    Return what a name stands for behind two ways.
    """
    if one == two:
        return one
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        return {key: one[key] if one[key] == two.get(key) else None for key in one}
    if isinstance(one, Mapping) or isinstance(two, Mapping) or one is two is None:
        return None
    if test is None and None in {one, two}:
        return None
    test = test or "unknown()"
    if one is not None and "unknown()" in one and test.endswith(" is None)"):
        # What stands in for an argument that is left out need not be told in full.
        one = "unknown()"
    return f"({one or 'unknown()'} if {test} else {two or 'unknown()'})"
