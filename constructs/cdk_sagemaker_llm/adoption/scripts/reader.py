"""
Statements in the order of a run: what they leave in variables, and which of them a run
decides on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from cdk_sagemaker_llm.adoption.scripts.calls import (
    DEPLOYING,
    Calls,
    Class,
    Function,
    Left,
)
from cdk_sagemaker_llm.adoption.scripts.cells import Script
from cdk_sagemaker_llm.adoption.scripts.expressions import OF_MODELS
from cdk_sagemaker_llm.adoption.scripts.values import (
    Thing,
    Unknown,
    last_name,
    merged,
    named,
    short,
    snapshot,
)

_STEPS = 50_000
_ROUNDS = 100


class Reader(Calls):
    """
    A script that is read from its top to its end, without a call to anything.
    """

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        for line, why in script.unread:
            self.tell(line, f"this cell is no Python: {why}")
        self._steps = 0
        self._methods: list[Function] = []

    def read(self) -> None:
        """
        Read all cells, and then what is defined there and called nowhere.
        """
        self.frames[0]["__name__"] = "__main__"
        for tree in self.script.trees:
            self._run_alone(tree.body)
        uncalled = [
            *(one for one in self.frames[0].values() if isinstance(one, Function)),
            *self._methods,
        ]
        for one in uncalled:
            if one.node not in self.called and _bears_on_models(one.node):
                self.tell(
                    one.node.lineno,
                    f"nothing calls {one.node.name}() here: its arguments are those of "
                    "the app",
                )
                self.follow(one, [], {})

    def _run_alone(self, body: Sequence[ast.stmt]) -> None:
        for one in body:
            try:
                self.run([one])
            except Left:
                pass
            except RecursionError:
                self.tell(one.lineno, "this goes too deep to be read")

    def run(self, body: Sequence[ast.stmt]) -> None:
        """
        Read statements, until one leaves them.
        """
        for one in body:
            self._steps += 1
            if self._steps == _STEPS:
                self.tell(one.lineno, "what follows takes too long to be read")
            if self._steps >= _STEPS:
                raise Left
            self._statement(one)

    def _statement(self, node: ast.stmt) -> None:  # noqa: C901, PLR0912 - a language
        match node:
            case ast.Expr():
                self.value(node.value)
            case ast.Assign():
                value = self.value(node.value)
                for target in node.targets:
                    self.assign(target, value)
            case ast.AnnAssign() if node.value is not None:
                self.assign(node.target, self.value(node.value))
            case ast.AugAssign():
                whole = ast.BinOp(node.target, node.op, node.value)
                self.assign(node.target, self.value(ast.copy_location(whole, node)))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.frames[-1][node.name] = Function(node)
            case ast.ClassDef():
                self._define(node)
            case ast.Return():
                raise Left(self.value(node.value) if node.value else None)
            case ast.Break() | ast.Continue():
                raise Left(loop=True)
            case ast.Raise():
                raise Left(Unknown("an error"))
            case ast.If():
                self._branch(node)
            case ast.For() | ast.AsyncFor():
                self._loop(node)
            case ast.While():
                if self.truth(node.test) is not False:
                    self._round(node.body)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    value = self.value(item.context_expr)
                    if item.optional_vars is not None:
                        self.assign(item.optional_vars, value)
                self.run(node.body)
            case ast.Try() | ast.TryStar():
                self._attempt(node)
            case ast.Match():
                self._skip(node.cases, "which case holds is known when the script runs")
            case ast.Delete():
                self._delete(node)
            case _:
                pass

    def assign(self, target: ast.expr, value: object) -> None:
        """
        Set a variable, the parts of a tuple, an item or an attribute.
        """
        match target:
            case ast.Name():
                self._note_region(target.id, value)
                self.frames[-1][target.id] = named(value, target.id)
            case ast.Tuple() | ast.List():
                values = value if isinstance(value, list | tuple) else ()
                for number, one in enumerate(target.elts):
                    has = number < len(values) and not isinstance(one, ast.Starred)
                    self.assign(one, values[number] if has else Unknown(short(one)))
            case ast.Subscript():
                owner, key = self.value(target.value), self.value(target.slice)
                if isinstance(owner, Thing):
                    owner = owner.arguments
                if isinstance(owner, dict) and isinstance(key, str | int):
                    owner[key] = value
                elif isinstance(owner, list) and isinstance(key, int):
                    owner[key : key + 1] = [value]
            case ast.Attribute():
                owner = self.value(target.value)
                if isinstance(owner, Thing):
                    owner.arguments[target.attr] = value
            case _:
                pass

    def _note_region(self, name: str, value: object) -> None:
        if "region" in name.lower() and isinstance(value, str) and value:
            self.regions.append(value)

    def _define(self, node: ast.ClassDef) -> None:
        self.frames[-1][node.name] = Class(node)
        self._methods += [
            Function(one, Thing(node.name))
            for one in node.body
            if isinstance(one, ast.FunctionDef)
        ]

    def _branch(self, node: ast.If) -> None:
        holds = self.truth(node.test)
        if holds is not None:
            self._skip(
                node.orelse if holds else node.body, f"{short(node.test)} is {holds}"
            )
            self.run(node.body if holds else node.orelse)
            return
        before, count, test = snapshot(self.frames), len(self.made), short(node.test)
        self._try(node.body)
        first, self.frames = self.frames, before
        has_first, middle = len(self.made) > count, len(self.made)
        self._try(node.orelse)
        for at, one in enumerate(first):
            merged(
                one,
                self.frames[at],
                f"{test} decides it in {self.script.place(node.lineno)}",
            )
        self.frames = first
        if has_first and len(self.made) > middle:
            lines = sorted({one.line for one in self.made[middle:]})
            del self.made[middle:]
            for line in lines:
                self.tell(
                    line, f"this is made unless {test}: the app has the other way"
                )
        elif len(self.made) > count:
            self.tell(
                node.lineno,
                f"{'' if has_first else 'not '}{test} decides whether what follows is "
                "made: the app has it",
            )

    def _try(self, body: Sequence[ast.stmt]) -> None:
        # Who leaves here in some runs goes on in the others.
        depth = len(self.frames)
        try:
            self.run(body)
        except Left as left:
            del self.frames[depth:]
            if not left.loop:
                self.returned.append(left.value)

    def _loop(self, node: ast.For | ast.AsyncFor) -> None:
        values = self.value(node.iter)
        if isinstance(values, dict):
            values = list(values)
        if not isinstance(values, list | tuple) or len(values) > _ROUNDS:
            count = len(self.made)
            self.assign(node.target, Unknown(short(node.target)))
            self._round(node.body)
            if len(self.made) > count:
                self.tell(
                    node.lineno,
                    f"how often this runs over {short(node.iter)} is known when the "
                    "script runs: the app has one",
                )
            return
        for one in values:
            self.assign(node.target, one)
            self._round(node.body)

    def _round(self, body: Sequence[ast.stmt]) -> None:
        try:
            self.run(body)
        except Left as left:
            if not left.loop:
                raise

    def _attempt(self, node: ast.Try | ast.TryStar) -> None:
        for handler in node.handlers:
            self._skip([handler], "this is made when something fails")
        try:
            self.run([*node.body, *node.orelse])
        finally:
            self.run(node.finalbody)

    def _skip(self, nodes: Sequence[ast.AST], why: str) -> None:
        for node in nodes:
            for line, name in _deploying(node):
                self.tell(line, f"{name}() is not converted: {why}")

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.frames[-1].pop(target.id, None)
            elif isinstance(target, ast.Subscript):
                owner, key = self.value(target.value), self.value(target.slice)
                if isinstance(owner, dict) and isinstance(key, str):
                    owner.pop(key, None)


def _bears_on_models(node: ast.AST) -> bool:
    """
    Whether code deploys, or says which model a container serves.
    """
    return any(_deploying(node)) or any(
        isinstance(one, ast.Constant) and one.value in OF_MODELS
        for one in ast.walk(node)
    )


def _deploying(node: ast.AST) -> Iterator[tuple[int, str]]:
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and last_name(one.func) in DEPLOYING:
            yield one.lineno, last_name(one.func)
