"""
What stands on the way to each ``raise`` of a class, read in its syntax tree as far as
it is made of arguments and plain values alone: what a model, a file or the machine
decides is left out, and so is all that it would guard.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cdk_sagemaker_llm.serving.engines.checks.refusals import UNKNOWN, holds
from tools.catalog.expressions import CLASS, Expressions, Known, State
from tools.catalog.sources import Source, is_own, name_of, returns, words_of

# Of the model this alone is what an argument says, if one does.
_MODEL = {
    "max_model_len": "(unknown() if max_model_len in (None, -1) else max_model_len)"
}
# What marks an object that JSON may be read into.
_OF_JSON = " json"
# Longer values have a name of their own.
_LONG = 100
_ITSELF = ("self", "cls")
# Where a model's class may change the cache.
_BY_MODEL = "try_verify_and_update_config"


@dataclass(frozen=True)
class Refusal:
    """
    What leads to an end, and what is said then.
    """

    path: tuple[str, ...]
    words: str


class Reader(Expressions):
    """
    Reads one class, whose fields stand for what its mapping says.
    """

    def __init__(
        self, source: Source, of: str, fields: Mapping[str, str | None]
    ) -> None:
        super().__init__(source, of, fields)
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
        if isinstance(line.test, ast.UnaryOp) and not state.is_lost:
            self._of_factory(line.test.operand, state)
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
                self._assign_inside(target, value, state)

    def _assign_inside(self, target: ast.expr, value: Known, state: State) -> None:
        """
        Keep what a local object's field is set to.
        """
        inner = target.value if isinstance(target, ast.Attribute) else None
        if isinstance(target, ast.Attribute) and isinstance(inner, ast.Name):
            local = state.names.get(inner.id)
            if isinstance(local, Mapping) and isinstance(value, str):
                state.names[inner.id] = {**local, target.attr: value}

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
            called = one.func if isinstance(one.func, ast.Attribute) else None
            is_mine = called and ast.unparse(called.value) in _ITSELF
            name = called.attr if called and is_mine else ""
            if name in self.methods and name not in self._reading:
                self._reading.append(name)
                inner = State(state.path, self._bound(one, state), dict(state.own))
                inner.is_lost = state.is_lost
                self._block(self.methods[name].body, inner)
                self._settle(inner)
                state.own.update(inner.own)
                self._reading.pop()
                if name == _BY_MODEL:
                    self._let_models_change()
            elif self.of == "EngineArgs" and name_of(one) in self.source.classes:
                self._class(one, line, state)
            elif isinstance(one.func, ast.Attribute) and not one.args:
                self._of_local(one.func, state)

    def _of_factory(self, call: ast.expr, state: State) -> None:
        """
        Read what a class answers that is asked with one of the fields.
        """
        called = call.func if isinstance(call, ast.Call) else None
        if (
            not isinstance(call, ast.Call)
            or not isinstance(called, ast.Attribute)
            or not isinstance(called.value, ast.Name)
            or not called.value.id.endswith("Factory")
            or called.attr not in self.source.methods(called.value.id)
        ):
            return
        made = Reader(self.source, called.value.id, {})
        words = [one.arg for one in made.methods[called.attr].args.args[1:]]
        given = [self._text(one, state) for one in call.args]
        made.fields = dict(zip(words, given, strict=False))
        made.read([called.attr], state.path)
        self.found += made.found

    def _of_local(self, called: ast.Attribute, state: State) -> None:
        """
        Read a method of an object that was made here.
        """
        name = called.value.id if isinstance(called.value, ast.Name) else ""
        local = state.names.get(name)
        of = local.get(CLASS) if isinstance(local, Mapping) else None
        if (
            state.is_lost
            or of not in self.source.classes
            or not isinstance(local, Mapping)
            or called.attr not in self.source.methods(of)
        ):
            return
        made = Reader(self.source, of, local)
        made.read([called.attr], state.path)
        self.found += made.found
        state.names[name] = {**local, **made.last.own}

    def _let_models_change(self) -> None:
        """
        Leave open what the classes of some models put into the cache's defaults.
        """
        cache = self.fields.get("cache_config")
        if not isinstance(cache, Mapping):
            return
        changed = dict(cache)
        for key, models in self.source.of_models.items():
            _, value = self.source.default("CacheConfig", key)
            text = cache.get(key)
            if models and isinstance(text, str) and value is not None:
                is_open = f"{text} == {value!r} and model_arch in {models}"
                changed[key] = f"(unknown() if {is_open} else {text})"
        self.fields = {**self.fields, "cache_config": changed}

    def _bound(self, call: ast.Call, state: State) -> dict[str, Known]:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        words = [
            one.arg for one in self.methods[name].args.args if one.arg not in _ITSELF
        ]
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
        self.found += class_refusals(self.source, of, self._given(call, state), path)

    def _mapping(self, call: ast.Call, state: State) -> dict[str, Any]:
        found = self._given(call, state)
        made = Reader(self.source, found[CLASS], found)
        made.read(_checks(made.methods))
        # What the class makes of its fields is what others see of them.
        return {**found, **made.last.own}

    def _given(self, call: ast.Call, state: State) -> dict[str, Any]:
        """
        Return what the fields of a class are as it is made.
        """
        of = call.func.id if isinstance(call.func, ast.Name) else ""
        found: dict[str, Any] = {CLASS: of}
        for key in self.source.defaults(of):
            is_plain, value = self.source.default(of, key)
            found[key] = repr(value) if is_plain else None
        for word in call.keywords:
            if word.arg:
                value = self._object(word.value, state)
                # The platform and the optimization level change what JSON says.
                is_changed = isinstance(value, Mapping) and _OF_JSON in value
                found[word.arg] = None if is_changed else value
        return found

    def _made(self, call: ast.Call) -> ast.Call | None:
        """
        Return the call of a class that a method of the arguments is made of alone.
        """
        name = call.func.attr if is_own(call.func) and not call.args else ""
        method = self.methods.get(name)
        if method is None or not name.startswith("create_"):
            return None
        lines = [one for one in method.body if not isinstance(one, ast.Expr)]
        last = lines[0] if len(lines) == 1 else None
        value = last.value if isinstance(last, ast.Return) else None
        is_class = isinstance(value, ast.Call) and name_of(value) in self.source.classes
        return value if is_class and isinstance(value, ast.Call) else None

    def _copy(self, node: ast.expr) -> Known:
        """
        Return what an object of the arguments' class is made of.
        """
        of = self.source.class_of(self.of, node.attr) if is_own(node) else ""
        if not of or not is_own(node):
            return None
        name = node.attr
        found: dict[str, Any] = {k: f"{name}.{k}" for k in self.source.defaults(of)}
        # What is read in a way of its own need not be what JSON says.
        found |= dict.fromkeys(self.source.read_first(of))
        made = Reader(self.source, of, found)
        made.read(_checks(made.methods))
        is_json = (
            {_OF_JSON: ""} if f"--{name.replace('_', '-')}" in self.source.flags else {}
        )
        return {**found, **made.last.own, CLASS: of, **is_json}

    def _answered(self, call: ast.Call, state: State) -> Known:
        """
        Return what is known of an answer beside its text.
        """
        called = ast.unparse(call.func)
        made = self._made(call)
        if name_of(call) in self.source.classes:
            return self._mapping(call, state)
        if made is not None:
            return self._mapping(made, State(own=dict(state.own)))
        if called == "copy.deepcopy":
            return self._copy(call.args[0])
        is_model = called == "self.create_model_config"
        return _MODEL if is_model else self.source.made.get(called)

    def _object(self, node: ast.expr, state: State) -> Known:
        if isinstance(node, ast.List | ast.Set | ast.Dict):
            # It may be added to later.
            return None
        if isinstance(node, ast.Call):
            made = self._answered(node, state)
            return self._text(node, state) if made is None else made
        if isinstance(node, ast.Name) and isinstance(state.names.get(node.id), Mapping):
            return state.names[node.id]
        return self._text(node, state)


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
        return {key: _either(test, one[key], two.get(key)) for key in one}
    if isinstance(one, Mapping) or isinstance(two, Mapping) or one is two is None:
        return None
    if test is None and None in {one, two}:
        return None
    test = test or "unknown()"
    if one is not None and "unknown()" in one and test.endswith(" is None)"):
        # What stands in for an argument that is left out need not be told in full.
        one = "unknown()"
    return f"({one or 'unknown()'} if {test} else {two or 'unknown()'})"
