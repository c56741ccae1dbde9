"""
Evaluating what is read: names, calls and classes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from tools.catalog.reading import expressions, natives, statements
from tools.catalog.reading.modules import Bound, Modules
from tools.catalog.reading.values import (
    NONE,
    CannotRead,
    Class,
    Field,
    Frame,
    Function,
    Hint,
    Made,
    Member,
    Method,
    Module,
    Named,
    NotThere,
    Super,
    Unread,
    Value,
    known,
)

Native = Callable[..., Value]
# Deeper than any declaration goes; what calls itself is stopped.
_DEPTH = 60
_ENUMS = {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"}


class Reader:
    """
    What the texts of a package say.

    Args:
        modules: The package's modules.

        surroundings: What is taken of things outside the package, by dotted name;
            ``name()`` is what a call of it returns.

        instead: Functions of the package, by dotted name, that are not followed, and
            what does their work.
    """

    def __init__(
        self,
        modules: Modules,
        surroundings: Mapping[str, Value],
        instead: Mapping[str, Native],
    ) -> None:
        self.modules = modules
        self.surroundings = surroundings
        self._instead = {**natives.NATIVES, **instead}
        self._known: dict[tuple[str, str, bool], Value] = {}
        self._is_checking = False
        # The functions that are being followed, outermost first.
        self.followed: list[str] = []

    def evaluate(self, node: ast.expr, frame: Frame) -> Value:
        """
        Return what an expression is worth.

        Raises:
            CannotRead: If the text does not say.
        """
        return expressions.evaluate(self, node, frame)

    def attempt(self, node: ast.expr, frame: Frame) -> Value:
        """
        Return what an expression is worth, or that nobody can say.
        """
        try:
            return self.evaluate(node, frame)
        except CannotRead as error:
            return Unread(str(error))

    def name(self, name: str, frame: Frame) -> Value:
        """
        Return what a name stands for.
        """
        inner: Frame | None = frame
        while inner is not None:
            if name in inner.names:
                return known(inner.names[name])
            if inner.body is not None and _binds(inner.body, name):
                return self.attribute(inner.body, name)
            inner = inner.outer
        if self.modules.bound(frame.module, name):
            return self.member_of(frame.module, name)
        if name in natives.BUILTINS:
            return natives.BUILTINS[name]
        raise CannotRead(f"{name} is not bound in {frame.module}")

    def member_of(self, module: str, name: str) -> Value:
        """
        Return what a module has under a name.
        """
        path = f"{module}.{name}"
        if path in self.surroundings:
            return self.surroundings[path]
        bound = self.modules.bound(module, name)
        if not bound:
            return self._unbound(module, name)
        key = (module, name, self._is_checking)
        if key not in self._known:
            self._known[key] = Unread(f"{path} is defined by itself")
            try:
                self._known[key] = self._bound(module, name, bound)
            except CannotRead as error:
                self._known[key] = Unread(str(error))
        return known(self._known[key])

    def _unbound(self, module: str, name: str) -> Value:
        for one in self.modules.bound(module, "*"):
            if isinstance(one.statement, ast.ImportFrom):
                source = self.modules.absolute(one.statement, module)
                if self.modules.bound(source, name):
                    return self.member_of(source, name)
        path = f"{module}.{name}"
        if self.modules.has(path):
            return Module(path)
        if self.modules.bound(module, "__getattr__"):
            return Named(path)
        raise NotThere(f"{module} has no {name}")

    def _bound(self, module: str, name: str, bound: Sequence[Bound]) -> Value:
        fitting = [b for b in bound if b.is_checked_only == self._is_checking]
        chosen = (fitting or list(bound))[-1]
        if chosen.is_conditional:
            raise CannotRead(f"{module}.{name} depends on a condition")
        one = chosen.statement
        frame = Frame(module)
        if isinstance(one, ast.AugAssign):
            before = self._bound(module, name, [b for b in bound if b is not chosen])
            added = self.evaluate(one.value, frame)
            return expressions.combine(one.op, before, added, ast.unparse(one))
        if isinstance(one, ast.ImportFrom):
            source = self.modules.absolute(one, module)
            real = next(a.name for a in one.names if (a.asname or a.name) == name)
            return self.imported(source, real)
        if isinstance(one, ast.Import):
            real = (
                next(a.name for a in one.names if a.asname == name)
                if any(a.asname == name for a in one.names)
                else name
            )
            return self.module(real)
        if isinstance(one, ast.AnnAssign | ast.Assign):
            if one.value is None:
                return Named(f"{module}.{name}")
            return self.evaluate(one.value, frame)
        return statements.defined(self, one, frame)

    def imported(self, source: str, name: str) -> Value:
        """
        Return what is imported from a module by a name.
        """
        path = f"{source}.{name}"
        if path in self.surroundings:
            return self.surroundings[path]
        if not self.modules.has(source):
            if source.partition(".")[0] == self.modules.package:
                raise CannotRead(f"{source} is not in the package")
            return Named(path)
        return self.member_of(source, name)

    def module(self, name: str) -> Value:
        """
        Return a module, of the package or not.
        """
        return Module(name) if self.modules.has(name) else Named(name)

    @contextmanager
    def checking(self) -> Iterator[None]:
        """
        Read hints as a type checker does, meanwhile.
        """
        before, self._is_checking = self._is_checking, True
        try:
            yield
        finally:
            self._is_checking = before

    def attribute(self, of: Value, name: str) -> Value:
        """
        Return an attribute.
        """
        if isinstance(of, Module):
            return self.member_of(of.name, name)
        if isinstance(of, Class | Super):
            return self._of_class(of, name)
        found = natives.attribute(self, of, name)
        return known(found)

    def _of_class(self, of: Class | Super, name: str) -> Value:
        if isinstance(of, Class) and name in {"__name__", "__module__"}:
            return of.name if name == "__name__" else of.module
        if name == "__doc__" and isinstance(of, Class):
            return ast.get_docstring(of.node)
        path = f"{of.module}.{of.name}.{name}" if isinstance(of, Class) else ""
        if path in self._instead:
            return Method(of, path)
        line = self.line_of(of if isinstance(of, Class) else of.of)
        bound = of if isinstance(of, Class) else of.bound
        for one in line if isinstance(of, Class) else line[1:]:
            try:
                return known(self._own(one, name, bound))
            except NotThere:
                continue
        if any(self.is_enum(one) for one in line) and isinstance(of, Class):
            return Method(of, name)
        raise NotThere(f"{self.said(of)} has no {name}")

    def _own(self, of: Class, name: str, bound: Value) -> Value:
        frame = Frame(of.module, owner=of)
        body = Frame(of.module, body=of)
        for one in of.node.body:
            if isinstance(one, ast.FunctionDef) and one.name == name:
                made = Function(one, frame)
                marks = {ast.unparse(d) for d in one.decorator_list}
                made.bound = None if "staticmethod" in marks else bound
                return made
            value = _assigned(one, name)
            if value is not None and self.is_enum(of):
                return Member(of, name, self.attempt(value, body))
            if isinstance(one, ast.AnnAssign) and value is not None:
                return natives.default_of(self, natives.field(self, of, one))
            if value is not None:
                return self.evaluate(value, body)
        raise NotThere(f"{of.name} has no {name}")

    def line_of(self, of: Class) -> list[Class]:
        """
        Return a class and those of the package above it, nearest first.
        """
        found = [of]
        for base in of.node.bases:
            value = self.attempt(base, Frame(of.module))
            if isinstance(value, Hint):
                value = value.origin
            if isinstance(value, Class):
                found += [one for one in self.line_of(value) if one not in found]
        return found

    def bases(self, of: Class) -> list[Value]:
        """
        Return all that a class inherits from, and itself.
        """
        found: list[Value] = []
        for one in self.line_of(of):
            frame = Frame(one.module)
            found += [one, *(self.attempt(base, frame) for base in one.node.bases)]
        return found

    def is_enum(self, of: Class) -> bool:
        """
        Whether a class is an enumeration.
        """
        paths = [one.path for one in self.bases(of) if isinstance(one, Named)]
        metas = [word for one in self.line_of(of) for word in one.node.keywords]
        return any(path.rpartition(".")[2] in _ENUMS for path in paths) or any(
            "EnumMeta" in ast.unparse(word.value) for word in metas
        )

    def members(self, of: Class) -> list[Member]:
        """
        Return the members of an enumeration.
        """
        names = [
            target.id
            for one in of.node.body
            if isinstance(one, ast.Assign)
            for target in one.targets
            if isinstance(target, ast.Name) and not target.id.startswith("_")
        ]
        return [self._own(of, name, of) for name in names]

    def fields(self, of: Class) -> list[Field]:
        """
        Return the fields that a class and those above it declare.
        """
        found: dict[str, Field] = {}
        for one in reversed(self.line_of(of)):
            for statement in one.node.body:
                if natives.is_field(statement):
                    made = natives.field(self, one, statement)
                    found[made.name] = made
        return list(found.values())

    def call(
        self, of: Value, args: Sequence[Value], words: Mapping[str, Value]
    ) -> Value:
        """
        Return what a call returns.
        """
        self.followed.append(self.path_of(of))
        try:
            if len(self.followed) > _DEPTH:
                raise CannotRead("it calls itself")
            return self._called(of, args, words)
        finally:
            self.followed.pop()

    def _called(
        self, of: Value, args: Sequence[Value], words: Mapping[str, Value]
    ) -> Value:
        path = self.path_of(of)
        if f"{path}()" in self.surroundings:
            return self.surroundings[f"{path}()"]
        if path in self._instead:
            return self._instead[path](self, *args, **words)
        if isinstance(of, Function):
            return statements.follow(self, of, args, words)
        if isinstance(of, Class) and self.is_enum(of):
            return next(m for m in self.members(of) if args and m.value == args[0])
        if isinstance(of, Class | Named):
            return Made(of, tuple(args), dict(words))
        return natives.call(self, of, args, words)

    def path_of(self, of: Value) -> str:
        """
        Return the dotted name of a function or a class.
        """
        if isinstance(of, Function) and of.frame.outer is None:
            owner = f"{of.frame.owner.name}." if of.frame.owner else ""
            return f"{of.frame.module}.{owner}{of.name}"
        if isinstance(of, Class):
            return f"{of.module}.{of.name}"
        return of.path if isinstance(of, Named) else ""

    def said(self, of: Value) -> str:
        """
        Return how something is called where it is spoken of.
        """
        return self.path_of(of) or str(of)

    def hint(self, node: ast.expr, frame: Frame) -> Value:
        """
        Return a hint; text in it is read too.
        """
        value = self.evaluate(node, frame)
        if isinstance(value, str):
            return self.hint(ast.parse(value.strip(), mode="eval").body, frame)
        return NONE if value is None else value


def _binds(of: Class, name: str) -> bool:
    return any(_assigned(one, name) is not None for one in of.node.body)


def _assigned(statement: ast.stmt, name: str) -> ast.expr | None:
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    else:
        return None
    if any(isinstance(one, ast.Name) and one.id == name for one in targets):
        return statement.value
    return None
