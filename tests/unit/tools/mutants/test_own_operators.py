"""
What the operators make of a few lines.
"""

from __future__ import annotations

import pytest

from tools.mutants.changes import fertile, made
from tools.mutants.own_operators import own_changes
from tools.mutants.source import Source


def mutants(operator: str, code: str) -> list[str]:
    """
    Return the modules that an operator makes of one, without those that are none.
    """
    changes = fertile(own_changes(Source("module.py", code)))
    chosen = [made(change) for change in changes if change.operator == operator]
    return [mutant.text for mutant in chosen if mutant is not None]


@pytest.mark.parametrize(
    ("operator", "code", "expected"),
    [
        ("drop_keyword", "f(a=1)", ["f()"]),
        ("drop_keyword", "f(x, a=1, b=2)", ["f(x, b=2)", "f(x, a=1)"]),
        ("drop_keyword", "f(a=1,)", ["f()"]),
        ("drop_keyword", "f(x, **more)", []),
        ("drop_element", "x = [1, 2]", ["x = [2]", "x = [1]"]),
        ("drop_element", "x = (1,)", ["x = ()"]),
        ("drop_element", "x = (1, 2)", ["x = (2,)", "x = (1,)"]),
        ("drop_element", "x = {1: 2, 3: 4}", ["x = {3: 4}", "x = {1: 2}"]),
        ("drop_element", "x, y = z", []),
        ("swap_arguments", "f(a, b, c=1, d=2)", ["f(b, a, c=1, d=2)", ""]),
        ("swap_arguments", "f(a, a)", []),
        (
            "force_condition",
            "if a:\n  b",
            ["if (not (a)):\n  b", "if False:\n  b", "if True:\n  b"],
        ),
        (
            "force_condition",
            "while a:\n  b",
            ["while (not (a)):\n  b", "while False:\n  b"],
        ),
        (
            "force_condition",
            "x = [y for y in z if y]",
            [f"x = [y for y in z if {it}]" for it in ("(not (y))", "False", "True")],
        ),
        ("lower_number", "x = 1", ["x = 0"]),
        ("lower_number", "x = 1.5", ["x = 0.5"]),
        ("lower_number", "x = True", []),
        ("lower_number", "x = f'{1}'", []),
        ("change_default", "def f(a, b=1): ...", ["def f(a, b=None): ..."]),
        ("change_default", "def f(*, b=None): ...", ["def f(*, b=...): ..."]),
        ("drop_statement", "f(x)", ["pass"]),
        ("drop_statement", "raise ValueError", ["pass"]),
        (
            "drop_statement",
            "def f():\n  yield 1",
            ["def f():\n  yield from ()"],
        ),
        (
            "empty_result",
            "def f() -> list[int]:\n  return g()",
            ["def f() -> list[int]:\n  return []"],
        ),
        (
            "empty_result",
            "def f() -> Thing:\n  return g()",
            ["def f() -> Thing:\n  return None"],
        ),
        ("call_counterpart", "math.ceil(max(a))", ["math.floor(max(a))", ""]),
        ("empty_words", "x = f'{y} z'", ['x = ""']),
    ],
)
def test_an_operator_changes_one_thing(
    operator: str, code: str, expected: list[str]
) -> None:
    """
    Each time another one; an empty text stands for a change shown elsewhere.
    """
    found = mutants(operator, code)

    assert len(found) == len(expected)
    assert {text for text in expected if text} <= set(found)


def test_positions_are_counted_in_characters() -> None:
    """
    The tree counts bytes, which are more.
    """
    assert mutants("lower_number", "x = 'é€', 2") == ["x = 'é€', 1"]


@pytest.mark.parametrize(
    "code",
    [
        "def f() -> Literal[1]: ...",
        "def f(x: Annotated[int, 1]): ...",
        "x: Annotated[int, 1]",
        "__all__ = ['a', 'b']",
        "if TYPE_CHECKING:\n    X = 1",
        "@dataclass(slots=True, order=1)\nclass A: pass",
        "@overload\ndef f(x=1): ...",
        "class P(Protocol):\n    def f(self, x=1): ...",
        "assert x != 1",
        "T = TypeVar('T', bound=1)",
        "Value = Annotated[int, f(1)] | None",
    ],
)
def test_what_no_test_could_see_is_left_alone(code: str) -> None:
    """
    Types, what the type checker reads, and bodies that are not there.
    """
    assert fertile(own_changes(Source("module.py", code))) == []


def test_a_union_of_constants_is_no_type() -> None:
    """
    A type's name has small letters.
    """
    assert mutants("drop_element", "NAMES = OLD | {'a'}") == ["NAMES = OLD | {}"]


def test_caution_in_a_call_is_left_alone() -> None:
    """
    The arguments around it are not.
    """
    assert mutants("drop_keyword", "open(f, encoding=e, mode=m)") == [
        "open(f, encoding=e)"
    ]


def test_texts_for_people_are_told_from_names() -> None:
    """
    They are drawn less often.
    """
    changes = own_changes(Source("module.py", "f(x=1)\ng(f'{a} is b')"))

    assert {c.operator for c in changes if c.is_words} == {"empty_words"}


def test_a_mutant_tells_what_changed() -> None:
    """
    In the words of the file, without their indentation.
    """
    source = Source("module.py", "if a:\n    f(\n        x,\n        b=1,\n    )\n")
    (change,) = (c for c in own_changes(source) if c.operator == "drop_keyword")

    mutant = made(change)
    assert mutant is not None
    assert mutant.line == 4
    assert mutant.removed == ("b=1,",)
    assert mutant.added == ()
    assert mutant.diff.startswith("@@ -2,4 +2,3 @@\n")
