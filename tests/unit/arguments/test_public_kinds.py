"""
Whatever holds its arguments to their annotations knows each of their types.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdk_sagemaker_llm.arguments import UnknownKindError, held, kind_of

SOURCE = Path(__file__).parents[3] / "constructs" / "cdk_sagemaker_llm"
_HOLDING = ("held", "checked", "hold_kinds")


def declared() -> dict[str, set[str]]:
    """
    Return the annotations of all that is held to them, each with where it stands.
    """
    found: dict[str, set[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if any(name in text for name in _HOLDING):
            place = str(path.relative_to(SOURCE))
            for annotation in held_annotations(ast.parse(text)):
                found.setdefault(annotation, set()).add(place)
    return found


def held_annotations(tree: ast.Module) -> Iterator[str]:
    """
    Yield the annotations of decorated functions, and of data classes that hold theirs.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(map(is_held, node.decorator_list)):
            given = node.args
            for one in (*given.posonlyargs, *given.args, *given.kwonlyargs):
                if one.annotation is not None:
                    yield ast.unparse(one.annotation)
        if isinstance(node, ast.ClassDef) and "hold_kinds(self)" in ast.unparse(node):
            for each in node.body:
                if isinstance(each, ast.AnnAssign):
                    annotation = ast.unparse(each.annotation)
                    # Neither is a field.
                    if not annotation.startswith(("ClassVar[", "KW_ONLY")):
                        yield annotation


def is_held(decorator: ast.expr) -> bool:
    """
    Whether a decorator holds arguments to their annotations.
    """
    return ast.unparse(decorator).partition("(")[0] in _HOLDING


def test_much_is_held() -> None:
    """
    The walk finds what it looks for.
    """
    assert len(declared()) > 100


@pytest.mark.parametrize("annotation", sorted(declared()))
def test_every_type_is_known(annotation: str) -> None:
    """
    What is new gets its words in ``kinds``.
    """
    assert kind_of(annotation).words


def test_fails_for_an_unknown_type_at_the_first_use() -> None:
    """
    Rather than check nothing.
    """

    @held
    def function(value: Unheard) -> None:  # type: ignore[name-defined]  # noqa: F821 - it is unheard of
        pass

    with pytest.raises(UnknownKindError, match="Unheard"):
        function(1)
