"""
What engines load by a model's type, read from their source and never run: the branches
of TGI, what TEI's candle and optimum-neuron have, and llama.cpp's architectures.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tools.catalog.registries import Modules, Registered, literals

TGI_MODELS = "server/text_generation_server/models/__init__.py"
# The lock of the images with GPUs; older releases had one for all.
TGI_LOCKS = ("server/requirements_cuda.txt", "server/requirements.txt")
TEI_MODELS = "backends/candle/src/lib.rs"
# Names that say whether attention is flash attention: without it the imports fail on
# which transformers' own backend rests too.
_FLASH = (
    "FLASH_ATTENTION",
    "HAS_FLASH_ATTN",
    "MISTRAL",
    "MIXTRAL",
    "SUPPORTS_WINDOWING",
    "FLASH_TRANSFORMERS_BACKEND",
)
_NEURON = (
    ("optimum", "exporters", "neuron", "model_configs"),
    ("optimum", "neuron", "models", "inference", "auto_models"),
)
_WRITES_TEXT = "text-generation"
_PINNED = re.compile(r"^transformers==([\d.]+\d)", re.MULTILINE)
_CANDLE = re.compile(r"enum Config \{(.*?)^\}", re.MULTILINE | re.DOTALL)
_VARIANT = re.compile(r"((?:#\[[^\n]*\]\s*)*)(\w+)\(\w+\)")
_RENAMED = re.compile(r'rename(?:\(deserialize)? = "([^"]+)"')
_ALIAS = re.compile(r'alias = "([^"]+)"')
_COMMENT = re.compile(r"\s*//[^\n]*")
_HUMP = re.compile(r"(?<!^)(?=[A-Z])")
_ARCHITECTURES = re.compile(r"LLM_ARCH_NAMES = \{(.*?)\n\};", re.DOTALL)
_ARCHITECTURE = re.compile(r'^\s*\{\s*LLM_ARCH_\w+,\s*"([^"(]+)"', re.MULTILINE)
_UNUSED = "clip"


def read_tgi(models: str, lock: str = "") -> Registered:
    """
    Read for which types a release of TGI has a branch, and what it asks of the GPU.

    Args:
        models: The module that chooses a model's class.

        lock: The packages of the image, by their releases.
    """
    tree = ast.parse(models)
    kinds = dict(_kinds(tree))
    branches = next(
        one.body
        for one in tree.body
        if isinstance(one, ast.FunctionDef) and one.name == "get_model"
    )
    named = {
        kind
        for line in ast.walk(tree)
        if isinstance(line, ast.Compare) and _is_type(line.left)
        for kind in _texts(line.comparators[0], kinds)
    }
    types: dict[str, frozenset[str]] = {}
    for kind in sorted(named):
        ends = {
            (flash, sharded): _Branches(kind, kinds, flash=flash, sharded=sharded).ends(
                branches
            )
            for flash, sharded in itertools.product((True, False), repeat=2)
        }
        if not any("returns" in one for one in ends.values()):
            continue
        needs = {"flash"} if ends[False, False] == {"raises"} else set()
        if not needs and ends[False, True] == {"raises"}:
            needs = {"flash_to_shard"}
        types[kind] = frozenset({"in", *needs})
    pinned = _PINNED.search(lock)
    return Registered(types=types, inside=pinned[1] if pinned else None)


def _kinds(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """
    Yield the names that later releases have for types.
    """
    for line in tree.body:
        if isinstance(line, ast.ClassDef) and line.name == "ModelType":
            for one in line.body:
                if isinstance(one, ast.Assign):
                    value = ast.literal_eval(one.value)
                    yield ast.unparse(one.targets[0]), value["type"]


def _is_type(node: ast.expr) -> bool:
    return ast.unparse(node) in {"model_type", "config.model_type"}


def _texts(node: ast.expr, kinds: Mapping[str, str]) -> set[str]:
    values = node.elts if isinstance(node, ast.List | ast.Set | ast.Tuple) else [node]
    names = {kinds.get(ast.unparse(one), "") for one in values}
    return (names | set(literals(values))) - {""}


class _Branches:
    """
    How ``get_model`` ends for a type, as far as it says: it returns, raises, or goes on
    to what is there for all types.
    """

    def __init__(
        self, kind: str, kinds: Mapping[str, str], *, flash: bool, sharded: bool
    ) -> None:
        self._kind, self._kinds = kind, kinds
        self._flash, self._sharded = flash, sharded

    def ends(self, body: Iterable[ast.stmt], *, within: bool = False) -> set[str]:
        found: set[str] = set()
        for line in body:
            ended = self._end(line, within=within)
            found |= ended - {"goes on"}
            if "goes on" not in ended:
                return found
        return found | {"goes on"}

    def _end(self, line: ast.stmt, *, within: bool) -> set[str]:
        if isinstance(line, ast.If):
            return self._if(line, within=within)
        if isinstance(line, ast.Try) and within:
            return self.ends(line.body, within=True)
        if within and isinstance(line, ast.Return):
            return {"returns"}
        if within and isinstance(line, ast.Raise):
            return {"raises"}
        return {"goes on"}

    def _if(self, line: ast.If, *, within: bool) -> set[str]:
        is_about_type = any(
            isinstance(one, ast.Compare)
            and _is_type(one.left)
            and _texts(one.comparators[0], self._kinds)
            for one in ast.walk(line.test)
        )
        if not (within or is_about_type):
            return {"goes on"}
        is_so = self._holds(line.test)
        found: set[str] = set()
        if is_so is not False:
            found |= self.ends(line.body, within=True)
        if is_so is not True:
            # The other branches are about other types, unless this is within one.
            found |= self.ends(line.orelse, within=within)
        return found

    def _holds(self, test: ast.expr) -> bool | None:
        """
        Whether a condition holds; ``None`` where the model or the machine decides.
        """
        text = ast.unparse(test)
        if isinstance(test, ast.BoolOp):
            stops = isinstance(test.op, ast.Or)
            values = [self._holds(one) for one in test.values]
            unknown = None if None in values else not stops
            return stops if stops in values else unknown
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self._holds(test.operand)
            return inner if inner is None else not inner
        if isinstance(test, ast.Compare) and _is_type(test.left):
            return self._kind in _texts(test.comparators[0], self._kinds)
        if text == "sharded":
            return self._sharded
        return self._flash if text.startswith(_FLASH) else None


def read_tei(backend: str) -> Registered:
    """
    Read which types candle has in a release of TEI, from its configuration's variants.
    """
    listed = _CANDLE.search(backend)
    names: set[str] = set()
    for attributes, variant in _VARIANT.findall(
        _COMMENT.sub("", listed[1]) if listed else ""
    ):
        renamed = _RENAMED.search(attributes)
        names.add(renamed[1] if renamed else _HUMP.sub("-", variant).lower())
        names.update(_ALIAS.findall(attributes))
    return Registered(types=dict.fromkeys(sorted(names), frozenset({"in"})))


def read_neuron(folder: Path) -> Registered:
    """
    Read what a release of optimum-neuron registers for text generation.
    """
    modules = Modules(folder)
    names: set[str] = set()
    for where in _NEURON:
        for one in {where, *modules.below(where)}:
            names.update(_registered(modules.tree(one)))
    return Registered(types=dict.fromkeys(sorted(names), frozenset({"in"})))


def _registered(tree: ast.Module) -> Iterator[str]:
    calls = (
        one
        for line in ast.walk(tree)
        if isinstance(line, ast.ClassDef)
        for one in line.decorator_list
        if isinstance(one, ast.Call)
    )
    for call in calls:
        kind, *tasks = literals(call.args) or [""]
        if ast.unparse(call.func).startswith("register") and _WRITES_TEXT in tasks:
            yield kind


def read_llama_cpp(folder: Path) -> Registered:
    """
    Read the architectures of a copy of llama.cpp, and what its converter takes.
    """
    text = (folder / "src" / "llama-arch.cpp").read_text("utf-8")
    listed = _ARCHITECTURES.search(text)
    names = set(_ARCHITECTURE.findall(listed[1] if listed else "")) - {_UNUSED}
    classes: set[str] = set()
    for file in sorted((folder / "conversion").glob("*.py")):
        for line in ast.walk(ast.parse(file.read_text("utf-8"))):
            is_call = isinstance(line, ast.Call) and isinstance(
                line.func, ast.Attribute
            )
            if is_call and ast.unparse(line.func) == "ModelBase.register":  # type: ignore[attr-defined] # as told above
                classes.update(literals(line.args))  # type: ignore[attr-defined] # as told above
    return Registered(
        types=dict.fromkeys(sorted(names), frozenset({"in"})),
        names={"classes": classes},
    )
