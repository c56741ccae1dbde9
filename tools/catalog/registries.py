"""
What a release of an engine registers, read from the syntax trees of its modules: the
classes of models and what they can do, quantization methods, and parsers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

Where = tuple[str, ...]

# What the table calls an ability, by the interface that a class of vLLM inherits.
_ABILITIES = {
    "lora": "SupportsLoRA",
    "pp": "SupportsPP",
    "eagle3": "SupportsEagle3",
}
_VLLM_MODELS: Where = ("vllm", "model_executor", "models")
_VLLM_METHODS: Where = ("vllm", "model_executor", "layers", "quantization")
_SGLANG_METHODS: Where = ("sglang", "srt", "layers", "quantization")
_NOT_LOADED = (
    "_VLLM_MODELS",
    "_PREVIOUSLY_SUPPORTED_MODELS",
    "_OOT_SUPPORTED_MODELS",
)
_BY_TRANSFORMERS = "_TRANSFORMERS_SUPPORTED_MODELS"
_TYPES = ("bfloat16", "float16", "float32")
_PINNED = re.compile(r"^Requires-Dist: transformers==([\d.]+\d)$", re.MULTILINE)
# The conditions of modules that are for other accelerators.
_ELSEWHERE = ("is_rocm", "is_xpu", "is_cpu", "is_tpu", "is_hip", "is_npu", "is_mps")


@dataclass(frozen=True, slots=True)
class Registered:
    """
    What a release registers.

    Args:
        classes: The abilities of each class; ``in`` is that it is there.

        methods: Of each quantization method ``capability``, ``types`` and
            ``deprecated``, as far as they are known.

        parsers: The names of parsers, by ``tool`` and ``reasoning``.

        types: The branches that there are for each model type, likewise.

        names: What else it has, by the name of the list in the engine's own table.

        values: What that table says of single names there, likewise.

        inside: The ``transformers`` in its image.
    """

    classes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    methods: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    parsers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    types: Mapping[str, frozenset[str]] = field(default_factory=dict)
    names: Mapping[str, Collection[str]] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    inside: str | None = None


def read_registries(engine: str, folder: Path) -> Registered:
    """
    Read what the modules of a release in a folder register.
    """
    return _vllm(Modules(folder)) if engine == "vllm" else _sglang(Modules(folder))


class Modules:
    """
    The modules in a folder, as far as they were asked for.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._trees: dict[Where, ast.Module] = {}
        self._named: dict[Where, dict[str, ast.stmt | tuple[Where, str]]] = {}

    def tree(self, where: Where) -> ast.Module:
        """
        Return a module's syntax tree; an empty one if there is no such module.
        """
        if where not in self._trees:
            file = self.file(where)
            text = file.read_text("utf-8-sig") if file else ""
            self._trees[where] = ast.parse(text)
        return self._trees[where]

    def file(self, where: Where) -> Path | None:
        """
        Return the file of a module; ``None`` if there is none.
        """
        base = self.folder.joinpath(*where)
        files = (base.with_name(f"{base.name}.py"), base / "__init__.py")
        return next((one for one in files if one.is_file()), None)

    def below(self, where: Where) -> Iterator[Where]:
        """
        Yield the modules in a package, in the order of their names.
        """
        base = self.folder.joinpath(*where)
        for file in sorted(base.rglob("*.py")):
            parts = (*file.parent.relative_to(self.folder).parts, file.stem)
            yield parts[:-1] if file.stem == "__init__" else parts

    def find(self, where: Where, name: str) -> tuple[Where, ast.stmt] | None:
        """
        Find where a name is defined, through the imports of modules.
        """
        seen: set[tuple[Where, str]] = set()
        while (where, name) not in seen:
            seen.add((where, name))
            found = self._names(where).get(name)
            if isinstance(found, ast.stmt):
                return where, found
            if found is None:
                return None
            where, name = found
        return None

    def _names(self, where: Where) -> Mapping[str, ast.stmt | tuple[Where, str]]:
        """
        Return what each name of a module is: what defines it, or where it is imported
        from.
        """
        if where not in self._named:
            lines = list(_lines(self.tree(where).body))
            named: dict[str, ast.stmt | tuple[Where, str]] = {}
            for line in reversed(lines):
                named.update(self._imported(line, where))
            named |= {
                line.name: line
                for line in reversed(lines)
                if isinstance(line, ast.ClassDef)
            }
            # Another name counts least: it may only stand in until an import.
            for line in lines:
                named.setdefault(_defined(line), line)
            self._named[where] = named
        return self._named[where]

    def _imported(
        self, line: ast.stmt, where: Where
    ) -> Iterator[tuple[str, tuple[Where, str]]]:
        if not isinstance(line, ast.ImportFrom):
            return
        module = tuple(line.module.split(".")) if line.module else ()
        file = self.file(where)
        is_package = file is not None and file.name == "__init__.py"
        package = where if is_package else where[:-1]
        above = package[: len(package) - line.level + 1] if line.level else ()
        for one in line.names:
            yield one.asname or one.name, ((*above, *module), one.name)

    def ancestors(self, where: Where, name: str) -> frozenset[str]:
        """
        Return the names of a class and all that it inherits from.
        """
        found, queue = {name}, [(where, name)]
        seen: set[tuple[Where, str]] = set()
        while queue:
            asked = queue.pop()
            if asked in seen:
                continue
            seen.add(asked)
            defined = self.find(*asked)
            if defined is None:
                continue
            found.add(_defined(defined[1]))
            for base in _bases(defined[1]):
                found.add(base)
                queue.append((defined[0], base))
        return frozenset(found)

    def method(self, where: Where, name: str, method: str) -> ast.FunctionDef | None:
        """
        Return a method of a class, or of the first of its bases that has it.
        """
        defined = self.find(where, name)
        if defined is None or not isinstance(defined[1], ast.ClassDef):
            return None
        for line in defined[1].body:
            if isinstance(line, ast.FunctionDef) and line.name == method:
                return line
        bases = (self.method(defined[0], one, method) for one in _bases(defined[1]))
        return next((one for one in bases if one is not None), None)


def literals(values: Iterable[ast.expr]) -> list[str]:
    """
    Return the texts among expressions, those within lists and tuples too.
    """
    found: list[str] = []
    for one in values:
        if isinstance(one, ast.List | ast.Tuple | ast.Set):
            found += literals(one.elts)
        elif isinstance(one, ast.Starred):
            found += literals([one.value])
        elif isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value:
            found.append(one.value)
    return found


def _lines(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """
    Yield the lines that are run on GPUs of NVIDIA, those behind conditions too.
    """
    for line in body:
        yield line
        if isinstance(line, ast.If):
            test = ast.unparse(line.test)
            is_elsewhere = any(one in test for one in _ELSEWHERE) and "cuda" not in test
            if not is_elsewhere:
                yield from _lines(line.body)
            yield from _lines(line.orelse)
        elif isinstance(line, ast.Try | ast.FunctionDef):
            yield from _lines(line.body)


def _defined(line: ast.stmt) -> str:
    """
    Return the name that a line defines; empty if it defines none.
    """
    if isinstance(line, ast.ClassDef):
        return line.name
    is_name = isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name)
    return line.targets[0].id if is_name else ""  # type: ignore[attr-defined] # as told above


def _bases(line: ast.stmt) -> Iterator[str]:
    """
    Yield the names that a class, or another name for one, is made of.
    """
    values = line.bases if isinstance(line, ast.ClassDef) else []
    if isinstance(line, ast.Assign):
        values = [line.value]
    for value in values:
        # as_seq_cls_model(LlamaForCausalLM) derives from what it is called with.
        node = value.args[0] if isinstance(value, ast.Call) and value.args else value
        node = node.value if isinstance(node, ast.Subscript) else node
        if isinstance(node, ast.Name):
            yield node.id


def _tables(tree: ast.Module) -> Iterator[tuple[str, ast.Dict]]:
    """
    Yield the mappings of a module, with their names.
    """
    for line in ast.walk(tree):
        target = line.targets[0] if isinstance(line, ast.Assign) else None
        target = line.target if isinstance(line, ast.AnnAssign) else target
        value = getattr(line, "value", None)
        if isinstance(target, ast.Name) and isinstance(value, ast.Dict):
            yield target.id, value


def _texts(table: ast.Dict) -> Iterator[tuple[str, ast.expr]]:
    for key, value in zip(table.keys, table.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value, value


def _vllm(modules: Modules) -> Registered:
    registry = modules.tree((*_VLLM_MODELS, "registry"))
    classes: dict[str, frozenset[str]] = {}
    for table, rows in _tables(registry):
        if not table.endswith("_MODELS") or table in _NOT_LOADED:
            continue
        for name, value in _texts(rows):
            module, implementation = ast.literal_eval(value)[:2]
            parts = tuple(module.split("."))
            where = parts if parts[0] == "vllm" else (*_VLLM_MODELS, *parts)
            bases = modules.ancestors(where, implementation)
            able = {key for key, base in _ABILITIES.items() if base in bases}
            own = {"by_transformers"} if table == _BY_TRANSFORMERS else set()
            classes[name] = frozenset({"in", *able, *own})
    parsers = {
        "tool": _names(modules, ("vllm", "tool_parsers"), "_TOOL_PARSERS_TO_REGISTER"),
        "reasoning": _names(
            modules, ("vllm", "reasoning"), "_REASONING_PARSERS_TO_REGISTER"
        ),
    }
    return Registered(classes, _vllm_methods(modules), parsers)


def _names(modules: Modules, where: Where, table: str) -> tuple[str, ...]:
    found = (rows for name, rows in _tables(modules.tree(where)) if name == table)
    return tuple(name for rows in found for name, _ in _texts(rows))


def _vllm_methods(modules: Modules) -> dict[str, dict[str, object]]:
    tree = modules.tree(_VLLM_METHODS)
    lists = {
        ast.unparse(line.targets[0]): line.value
        for line in tree.body
        if isinstance(line, ast.Assign)
    }
    names, deprecated = (
        [
            one.value
            for one in ast.walk(lists.get(key, ast.Constant(None)))
            if isinstance(one, ast.Constant) and isinstance(one.value, str)
        ]
        for key in ("QuantizationMethods", "DEPRECATED_QUANTIZATION_METHODS")
    )
    made = dict(
        pair
        for table, rows in _tables(tree)
        if table == "method_to_config"
        for pair in _texts(rows)
    )
    found: dict[str, dict[str, object]] = {}
    for name in names:
        row = _method_row(modules, _VLLM_METHODS, name, made.get(name))
        found[name] = row | ({"deprecated": True} if name in deprecated else {})
    return found


def _method_row(
    modules: Modules, where: Where, name: str, config: ast.expr | None
) -> dict[str, object]:
    """
    Return what a method's configuration says of GPUs and data types.
    """
    if not isinstance(config, ast.Name):
        return {}
    row: dict[str, object] = {}
    capability = _capability(modules, where, config.id, name)
    if capability is not None:
        row["capability"] = capability
    answer = _answer(modules.method(where, config.id, "get_supported_act_dtypes"))
    if isinstance(answer, ast.IfExp):
        answer = answer.body
    if isinstance(answer, ast.List):
        words = (ast.unparse(one).rpartition(".")[2] for one in answer.elts)
        types = {"float16" if one == "half" else one for one in words}
        row["types"] = [one for one in _TYPES if one in types]
    return row


def _capability(modules: Modules, where: Where, config: str, name: str) -> int | None:
    answer = _answer(modules.method(where, config, "get_min_capability"))
    if isinstance(answer, ast.Call):
        other = ast.unparse(answer.func).partition(".")[0]
        defined = modules.find(where, config)
        return _capability(modules, defined[0] if defined else where, other, name)
    if isinstance(answer, ast.IfExp):
        # For the format that shares the class, or for other accelerators.
        test = ast.unparse(answer.test)
        is_first = "mxfp8" in name or test.startswith("not ")
        answer = answer.body if is_first else answer.orelse
    value = answer.value if isinstance(answer, ast.Constant) else None
    return value if type(value) is int else None


def _answer(method: ast.FunctionDef | None) -> ast.expr | None:
    """
    Return what a method answers at last: what it answers before is for others.
    """
    lines = ast.walk(method) if method is not None else ()
    answers = [one.value for one in lines if isinstance(one, ast.Return)]
    return answers[0] if answers else None


def _sglang(modules: Modules) -> Registered:
    classes: dict[str, frozenset[str]] = {}
    for where in modules.below(("sglang", "srt", "models")):
        for line in modules.tree(where).body:
            if isinstance(line, ast.Assign) and _defined(line) == "EntryClass":
                names = (
                    one.id for one in ast.walk(line.value) if isinstance(one, ast.Name)
                )
                classes |= dict.fromkeys(names, frozenset({"in"}))
    configurations = ("sglang", "srt", "configs")
    own = {
        name
        for where in modules.below(configurations)
        for line in ast.walk(modules.tree(where))
        if isinstance(line, ast.ClassDef)
        for name in _own_types(line)
    }
    said = next(modules.folder.glob("sglang-*.dist-info/METADATA"), None)
    pinned = _PINNED.search(said.read_text("utf-8")) if said else None
    return Registered(
        classes,
        _sglang_methods(modules),
        names={"own_types": own},
        inside=pinned[1] if pinned else None,
    )


def _own_types(line: ast.ClassDef) -> Iterator[str]:
    for one in line.body:
        target = one.targets[0] if isinstance(one, ast.Assign) else None
        target = one.target if isinstance(one, ast.AnnAssign) else target
        value = getattr(one, "value", None)
        if target is not None and ast.unparse(target) == "model_type" and value:
            yield from literals([value])


def _sglang_methods(modules: Modules) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    for line in _lines(modules.tree(_SGLANG_METHODS).body):
        text = ast.unparse(line)
        names = ("BASE_QUANTIZATION_METHODS", "VLLM_QUANTIZATION_METHODS")
        if not text.startswith(names) or isinstance(line, ast.If):
            continue
        tables = (one for one in ast.walk(line) if isinstance(one, ast.Dict))
        for name, config in (pair for rows in tables for pair in _texts(rows)):
            row = _method_row(modules, _SGLANG_METHODS, name, config)
            found.setdefault(name, row)
    return found
