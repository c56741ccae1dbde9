"""
What a version of the transformers package knows, read from the syntax trees of its
modules: model types, what its automatic classes take, and what attention is replaced
in.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from tools.catalog.registries import Registered, literals

_AUTO = ("auto_mappings", "configuration_auto", "modeling_auto")
_TYPES = "CONFIG_MAPPING_NAMES"
_WRITES = "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES"
_TRANSLATES = "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES"
# Where a class's type is looked for, in that order.
_CLASSES = (
    "MODEL_MAPPING_NAMES",
    _WRITES,
    _TRANSLATES,
    "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES",
    "MODEL_FOR_VISION_2_SEQ_MAPPING_NAMES",
)
_HEADS = ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel")
# What a class may be called behind its model's name; the longest of two alike first.
_KNOWN = (*_HEADS, "Model")
_OTHERS = ("modeling_tf_", "modeling_flax_")
_REPLACES = "_supports_attention_backend"
_COUNTS = "_get_num_multimodal_tokens"
_SEES = "get_image_features"
Mappings = Mapping[str, Mapping[str, tuple[str, ...]]]


def read_transformers(folder: Path) -> Registered:
    """
    Read what the modules of a version in a folder know.
    """
    models = folder / "transformers" / "models"
    mappings = _mappings(models / "auto")
    classes: set[str] = set()
    attention: set[str] = set()
    backend: set[str] = set()
    for package in sorted(one for one in models.iterdir() if one.is_dir()):
        processors = [one.read_text("utf-8") for one in package.glob("processing_*.py")]
        counts = any(_COUNTS in one for one in processors)
        for file in sorted(package.glob("modeling_*.py")):
            if file.name.startswith(_OTHERS):
                continue
            text = file.read_text("utf-8")
            heads = dict(_heads(ast.parse(text)))
            replaced = {name for name, replaces in heads.items() if replaces}
            # Where it has no processor of its own, that of another counts.
            reads = counts or (not processors and _SEES in text)
            classes.update(heads)
            attention |= replaced
            backend |= {one for one in replaced if reads or not one.endswith(_HEADS[1])}
    return Registered(
        names={
            "model_types": set(mappings.get(_TYPES, ())),
            "attention": attention,
            "backend": backend,
            "causal": set(mappings.get(_WRITES, ())),
            "sequences": set(mappings.get(_TRANSLATES, ())),
            "classes": classes,
        },
        values={"class_types": _class_types(mappings)},
    )


def _mappings(folder: Path) -> Mappings:
    """
    Return the mappings of the automatic classes: the names of classes by model type.
    """
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for name in _AUTO:
        file = folder / f"{name}.py"
        text = file.read_text("utf-8") if file.is_file() else ""
        for line in ast.parse(text).body:
            target, value = _said(line)
            if target.endswith("_MAPPING_NAMES"):
                found.setdefault(target, {}).update(_pairs(value))
    return found


def _said(line: ast.stmt) -> tuple[str, ast.expr]:
    """
    Return what a line assigns to, or updates, and with what.
    """
    if isinstance(line, ast.Assign):
        return ast.unparse(line.targets[0]), line.value
    if isinstance(line, ast.AnnAssign) and line.value is not None:
        return ast.unparse(line.target), line.value
    if isinstance(line, ast.Expr) and isinstance(line.value, ast.Call):
        name, _, method = ast.unparse(line.value.func).rpartition(".")
        return (name if method == "update" else ""), line.value
    return "", ast.Constant(None)


def _pairs(value: ast.expr) -> Iterator[tuple[str, tuple[str, ...]]]:
    for node in ast.walk(value):
        rows: list[tuple[ast.expr | None, ast.expr]] = []
        if isinstance(node, ast.Dict):
            rows = list(zip(node.keys, node.values, strict=True))
        elif isinstance(node, ast.List):
            pairs = (one.elts for one in node.elts if isinstance(one, ast.Tuple))
            rows = [(one[0], one[1]) for one in pairs]
        for key, names in rows:
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, tuple(literals([names]))


def _heads(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """
    Yield the classes that write text, with whether their attention can be replaced, as
    they say or inherit.
    """
    made = {one.name: one for one in tree.body if isinstance(one, ast.ClassDef)}

    def replaces(name: str) -> bool | None:
        line = made.get(name)
        for one in line.body if line else ():
            target, value = _said(one)
            if target == _REPLACES and isinstance(value, ast.Constant):
                return bool(value.value)
        bases = [ast.unparse(one) for one in line.bases] if line else []
        answers = (replaces(one) for one in bases if one != name)
        return next((one for one in answers if one is not None), None)

    for name in made:
        if name.endswith(_HEADS):
            yield name, bool(replaces(name))


def _class_types(mappings: Mappings) -> dict[str, str]:
    """
    Return the model type of each class: that of its name, or else the first that the
    automatic classes have it for.
    """
    types: dict[str, list[str]] = {}
    for mapping in _CLASSES:
        for kind, names in mappings.get(mapping, {}).items():
            for name in names:
                if name.endswith(_KNOWN):
                    types.setdefault(name, []).append(kind)
    return {name: _closest(name, kinds) for name, kinds in types.items()}


def _closest(name: str, kinds: list[str]) -> str:
    ending = next(one for one in _KNOWN if name.endswith(one))
    stem = name.removesuffix(ending).lower()
    same = (one for one in kinds if one.replace("-", "").replace("_", "") == stem)
    return next(same, kinds[0])
