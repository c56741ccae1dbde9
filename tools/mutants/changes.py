"""
The small changes of a module: what the operators make of it, and a sample of them.

mutmut's operators change arguments, constants, comparisons and texts; those below what
it leaves alone: conditions, defaults, elements of literals, statements and results.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher, unified_diff
from functools import cached_property, partial
from itertools import accumulate, takewhile

Span = tuple[int, int]
Edit = tuple[Span, str]
# What an operator replaces, its name, and what returns the whole changed module.
Change = tuple[Span, str, Callable[[], str]]
Key = tuple[str, tuple[str, ...], tuple[str, ...]]
Operators = Sequence[Callable[["Source"], Iterator[Change]]]
Located = ast.expr | ast.stmt | ast.keyword | ast.arg
Function = ast.FunctionDef | ast.AsyncFunctionDef
# What these decorate either has no body, or they change nothing that a test could see.
_BARREN_DECORATORS = {"cache", "dataclass", "lru_cache", "overload", "override"}
# Arguments that are caution: the result is the same wherever the tests run.
_BARREN_KEYWORDS = {"encoding", "stacklevel", "strict"}
_BETWEEN = b" \n,"
_EMPTY = {"bool": "False", "dict": "{}", "int": "0", "list": "[]", "str": '""'}
_TRIES = 50  # Draws for each change, before there are too few changes to draw from.


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
    data: bytes = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tree", ast.parse(self.text))
        object.__setattr__(self, "data", self.text.encode())

    def span(self, node: Located) -> Span:
        """
        Return where a node begins and ends, in bytes.
        """
        end = node.end_lineno or node.lineno, node.end_col_offset or 0
        places = (node.lineno, node.col_offset), end
        first, last = (self._starts[line - 1] + column for line, column in places)
        return first, last

    def code(self, node: Located) -> str:
        """
        Return a node's text.
        """
        return self.data[slice(*self.span(node))].decode()

    def is_barren(self, span: Span) -> bool:
        """
        Say whether no test could or should see a change there.
        """
        start, end = span
        return any(a <= start and end <= b for a, b in self._barren)

    @cached_property
    def owners(self) -> dict[int, tuple[ast.stmt, bool]]:
        """
        The innermost statement at each line, and whether it runs on import.
        """
        owners: dict[int, tuple[ast.stmt, bool]] = {}
        _own(self.tree, owners, at_import=True)
        return owners

    @cached_property
    def _starts(self) -> list[int]:
        lengths = map(len, self.data.splitlines(keepends=True))
        return [0, *accumulate(lengths)]

    @cached_property
    def _barren(self) -> list[Span]:
        nodes = [n for node in ast.walk(self.tree) for n in _barren_parts(node)]
        return [self._with_commas(self.span(node)) for node in nodes]

    def _with_commas(self, span: Span) -> Span:
        # What leaves an argument out takes the comma on one of its sides along.
        before, after = self.data[: span[0]], self.data[span[1] :]
        end = len(self.data) - len(after.lstrip(_BETWEEN))
        return len(before.rstrip(_BETWEEN)), end


def _own(
    node: ast.AST, owners: dict[int, tuple[ast.stmt, bool]], *, at_import: bool
) -> None:
    for child in ast.iter_child_nodes(node):
        inside = at_import and not isinstance(node, Function)
        if isinstance(child, ast.stmt):
            decorators: list[ast.expr] = getattr(child, "decorator_list", [])
            first = min([child.lineno, *(it.lineno for it in decorators)])
            for line in range(first, (child.end_lineno or 0) + 1):
                owners[line] = (child, inside)
        _own(child, owners, at_import=inside)


def _called(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Subscript):
        node = node.value
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _barren_parts(node: ast.AST) -> Iterator[Located]:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Assert():
            yield node
        case ast.Expr(value=ast.Constant()) | ast.Subscript(slice=ast.Tuple()):
            yield node  # A docstring or the dots of a body that is not there; a type.
        case ast.Assign(targets=[ast.Name(id="__all__" | "__slots__")]):
            yield node
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            yield node
        case ast.arg(annotation=ast.expr() as type_) | ast.AnnAssign(annotation=type_):
            yield type_
        case ast.Call(func=ast.Name(id="NewType" | "ParamSpec" | "TypeVar")):
            yield node
        case ast.Call(args=arguments, keywords=words):
            yield from arguments[: _called(node) == "cast"]
            yield from (word for word in words if word.arg in _BARREN_KEYWORDS)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            decorators = node.decorator_list
            yield from (it for it in decorators if _called(it) in _BARREN_DECORATORS)
            yield from filter(None, [getattr(node, "returns", None)])
        case _:
            pass


@dataclass(frozen=True)
class Mutant:
    """
    A module with one change made.

    Args:
        line: Where it stands.

        key: What stays the same when lines elsewhere come and go: the path, the lines
            that it changes, without indentation, and those that take their place.
    """

    path: str
    operator: str
    text: str
    line: int
    key: Key
    diff: str


def draw(
    sources: Sequence[Source], count: int, seed: int, operators: Operators
) -> list[Mutant]:
    """
    Draw mutants: a module by its lines, an operator, then one of its changes.

    Rare operators are so drawn as often as others, and no line is changed twice, so
    that few mutants see much. Only the modules drawn are read for their changes.
    """
    luck = random.Random(seed)  # noqa: S311 - a sample
    sizes = [source.text.count("\n") + 1 for source in sources]
    changes: dict[str, dict[str, list[Change]]] = {}
    drawn: dict[tuple[str, int], Mutant] = {}
    for _ in range(count * _TRIES if sources else 0):
        if len(drawn) == count:
            break
        (source,) = luck.choices(sources, sizes)
        if source.path not in changes:
            changes[source.path] = _by_operator(source, operators)
        if kinds := changes[source.path]:
            change = luck.choice(kinds[luck.choice(sorted(kinds))])
            if (mutant := made(source, change)) is not None:
                drawn.setdefault((mutant.path, mutant.line), mutant)
    return list(drawn.values())


def _by_operator(source: Source, operators: Operators) -> dict[str, list[Change]]:
    kinds: dict[str, list[Change]] = {}
    for change in (change for operator in operators for change in operator(source)):
        span, name, _ = change
        if not source.is_barren(span):
            kinds.setdefault(name, []).append(change)
    return kinds


def made(source: Source, change: Change) -> Mutant | None:
    """
    Make a change; return None if that is no other program, or none at all.
    """
    _, operator, make = change
    text = make()
    before, after = source.data, text.encode()
    start = _alike(before, after)
    end = len(before) - _alike(before[start:][::-1], after[start:][::-1])
    try:
        is_same = ast.dump(ast.parse(text)) == ast.dump(source.tree)
    except SyntaxError:
        return None
    if is_same or source.is_barren((start, end)):
        return None
    old, new = source.text.splitlines(), text.splitlines()
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    edits = [code for code in codes if code[0] != "equal"]
    removed = tuple(it.strip() for _, a, b, _, _ in edits for it in old[a:b])
    added = tuple(it.strip() for _, _, _, a, b in edits for it in new[a:b])
    diff = "\n".join(list(unified_diff(old, new, lineterm="", n=2))[2:])
    key = source.path, removed, added
    return Mutant(source.path, operator, text, edits[0][1] + 1, key, diff)


def _alike(one: bytes, other: bytes) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def mutmut_changes(source: Source) -> Iterator[Change]:
    """
    Return every change that mutmut's operators make of a module.
    """
    # Installed in an environment of their own.
    import libcst.metadata  # type: ignore[import-not-found]  # noqa: PLC0415
    from mutmut.mutation import mutators  # type: ignore[import-not-found]  # noqa: PLC0415

    def replaced(module: libcst.Module, node: object, changed: object) -> str:
        return str(module.deep_replace(node, changed).code)

    position = libcst.metadata.ByteSpanPositionProvider
    wrapper = libcst.metadata.MetadataWrapper(libcst.parse_module(source.text))
    for node, where in wrapper.resolve(position).items():
        span = (where.start, where.start + where.length)
        for kind, operator in mutators.mutation_operators:
            if isinstance(node, kind):
                name = operator.__name__.removeprefix("operator_")
                for changed in operator(node):
                    make = partial(replaced, wrapper.module, node, changed)
                    yield span, f"mutmut.{name}", make


def own_changes(source: Source) -> Iterator[Change]:
    """
    Return every change that the operators below make of a module.
    """

    def replaced(span: Span, text: str) -> str:
        start, end = span
        return (source.data[:start] + text.encode() + source.data[end:]).decode()

    for node in _nodes(source.tree):
        for operator in _OPERATORS:
            for span, text in operator(source, node):
                name = operator.__name__.removeprefix("_")
                yield span, name, partial(replaced, span, text)


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    # Positions inside an f-string are wrong before Python 3.12.
    if not isinstance(node, ast.JoinedStr):
        for child in ast.iter_child_nodes(node):
            yield from _nodes(child)


def _drop_element(source: Source, node: ast.AST) -> Iterator[Edit]:
    spans: list[Span] = []
    match node:
        case ast.Tuple(elts=[left, right], ctx=ast.Load()):
            yield source.span(node), f"({source.code(right)},)"
            yield source.span(node), f"({source.code(left)},)"
        case ast.Tuple(elts=elements, ctx=ast.Load()):
            spans = [source.span(element) for element in elements]
        case ast.List(elts=elements) | ast.Set(elts=elements):
            spans = [source.span(element) for element in elements]
        case ast.Dict(keys=keys, values=values) if None not in keys:
            pairs = zip(filter(None, keys), values, strict=True)
            spans = [(source.span(k)[0], source.span(v)[1]) for k, v in pairs]
        case _:
            pass
    for index, (start, end) in enumerate(spans):
        if index + 1 < len(spans):
            yield (start, spans[index + 1][0]), ""
        else:  # The last takes the comma before it along.
            yield (spans[index - 1][1] if index else start, end), ""


def _force_condition(source: Source, node: ast.AST) -> Iterator[Edit]:
    tests: list[ast.expr] = []
    if isinstance(node, ast.If | ast.While):
        tests = [node.test]
    elif isinstance(node, ast.comprehension):
        tests = node.ifs
    for test in tests:
        span = source.span(test)
        if not isinstance(node, ast.While):  # It would run into its time limit.
            yield span, "True"
        yield span, "False"


def _change_default(source: Source, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.arguments):
        for default in [*node.defaults, *node.kw_defaults]:
            if default is not None:
                is_none = source.code(default) == "None"
                yield source.span(default), "..." if is_none else "None"


def _drop_statement(source: Source, node: ast.AST) -> Iterator[Edit]:
    match node:
        case ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom()) | ast.Raise():
            yield source.span(node), "pass"
        case _:
            pass


def _empty_result(source: Source, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, Function) and node.returns is not None:
        empty = _EMPTY.get(_called(node.returns), "None")
        for inner in ast.walk(node):
            if isinstance(inner, ast.Return) and inner.value is not None:
                yield source.span(inner.value), empty


_OPERATORS: tuple[Callable[[Source, ast.AST], Iterator[Edit]], ...] = (
    _change_default,
    _drop_element,
    _drop_statement,
    _empty_result,
    _force_condition,
)
