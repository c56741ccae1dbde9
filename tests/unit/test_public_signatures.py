"""
What a public signature names can be imported by whoever writes one like it.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = "cdk_sagemaker_llm"
# Where users import from; what stands in a signature of one must be in one of them.
PUBLIC = (
    PACKAGE,
    *(f"{PACKAGE}.{name}" for name in ("serving", "fit", "catalog", "client")),
)

# And what questions and answers are made of.
HOMES = (*PUBLIC, f"{PACKAGE}.choosing")


@functools.cache
def names_in(annotation: str) -> set[str]:
    """
    Return every name that an annotation has.
    """
    tree = ast.parse(annotation, mode="eval")
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    quoted = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return found.union(*map(names_in, filter(str.isidentifier, quoted)))


def annotations_of(public: object) -> Iterator[tuple[str, str, str]]:
    """
    Yield module, place and text of each annotation of a public class or function.
    """
    if inspect.isfunction(public):
        for text in inspect.get_annotations(public).values():
            yield public.__module__, public.__qualname__, str(text)
    if not inspect.isclass(public):
        return
    for owner in public.__mro__:
        if not owner.__module__.startswith(PACKAGE):
            continue
        for name, value in vars(owner).items():
            if name.startswith("_") and name != "__init__":
                continue
            inner = getattr(value, "__func__", getattr(value, "fget", value))
            yield from annotations_of(inner) if inspect.isfunction(inner) else ()


def is_of_this_package(module: str, name: str) -> bool:
    """
    Return whether a name in a module is a type or an alias of this package.
    """
    loaded = sys.modules[module]
    value = vars(loaded).get(name)
    if isinstance(value, type):
        return value.__module__.startswith(PACKAGE)
    return name in names_of_this_package(str(loaded.__file__))


@functools.cache
def names_of_this_package(file: str) -> set[str]:
    """
    Return the names that a module imports from this package, or assigns.
    """
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE)
        for alias in node.names
    }
    assigned = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return imported | assigned


@pytest.mark.parametrize("package", PUBLIC)
def test_each_type_of_a_public_signature_is_public(package: str) -> None:
    """
    Also what is named for type checkers alone.
    """
    listed = importlib.import_module(package).__all__
    known = {name for each in HOMES for name in importlib.import_module(each).__all__}
    missing = {
        f"{place}: {name}"
        for public in listed
        for module, place, text in annotations_of(
            getattr(importlib.import_module(package), public)
        )
        for name in names_in(text)
        if name not in known and is_of_this_package(module, name)
    }

    assert sorted(missing) == []


def test_a_type_that_is_not_public_is_found() -> None:
    """
    Also one that only type checkers import: the test above is no empty promise.
    """
    assert names_in("Mapping[str, 'Model'] | None") == {"Mapping", "Model", "str"}
    assert is_of_this_package(
        f"{PACKAGE}.hosting.endpoints.endpoint", "EndpointConfigBase"
    )
    assert is_of_this_package(f"{PACKAGE}.models", "ModelSource")
    assert not is_of_this_package(f"{PACKAGE}.models", "str")
