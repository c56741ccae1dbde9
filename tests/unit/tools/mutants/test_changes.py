"""
What the operators make of a few lines, and the sample of it.
"""

from __future__ import annotations

import pytest

from tools.mutants.changes import Mutant, Source, draw, made, own_changes

MANY = "\n".join(f"def f{it}(a={it}):\n    return [a, 1, 2]" for it in range(40))


def mutants(operator: str, code: str) -> list[Mutant]:
    """
    Return what an operator makes of a module, without what is no other program.
    """
    source = Source("module.py", code)
    changes = [it for it in own_changes(source) if not source.is_barren(it[0])]
    found = [made(source, it) for it in changes if it[1] == operator]
    return [mutant for mutant in found if mutant is not None]


@pytest.mark.parametrize(
    ("operator", "code", "expected"),
    [
        ("drop_element", "x = [1, 2]", ["x = [2]", "x = [1]"]),
        ("drop_element", "x = [1]", ["x = []"]),
        ("drop_element", "x = (1, 2)", ["x = (2,)", "x = (1,)"]),
        ("drop_element", "x = 1, 2, 3", ["x = 2, 3", "x = 1, 3", "x = 1, 2"]),
        ("drop_element", "x = {1: 2, 3: 4}", ["x = {3: 4}", "x = {1: 2}"]),
        ("drop_element", "x, y = z", []),
        (
            "force_condition",
            "if a:\n  b",
            ["if True:\n  b", "if False:\n  b"],
        ),
        (
            "force_condition",
            "while a:\n  b",
            ["while False:\n  b"],
        ),
        (
            "force_condition",
            "x = [y for y in z if y]",
            [f"x = [y for y in z if {it}]" for it in ("True", "False")],
        ),
        ("change_default", "def f(a, b=1): ...", ["def f(a, b=None): ..."]),
        ("change_default", "def f(*, b=None): ...", ["def f(*, b=...): ..."]),
        ("drop_statement", "f(x)", ["pass"]),
        ("drop_statement", "raise ValueError", ["pass"]),
        (
            "drop_statement",
            "def f():\n  yield 1\n  yield 2",
            ["def f():\n  pass\n  yield 2", "def f():\n  yield 1\n  pass"],
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
        (
            "drop_element",
            "x = 'é€', [2]",
            ["x = ([2],)", "x = ('é€',)", "x = 'é€', []"],
        ),
    ],
)
def test_an_operator_changes_one_thing(
    operator: str, code: str, expected: list[str]
) -> None:
    """
    Each time another one.
    """
    assert [mutant.text for mutant in mutants(operator, code)] == expected


@pytest.mark.parametrize(
    "code",
    [
        "def f() -> Literal[1, 2]: ...",
        "def f(x: Annotated[int, [1]]): ...",
        "x: Annotated[int, [1]]",
        "__all__ = ['a', 'b']",
        "if TYPE_CHECKING:\n    X = [1]",
        "@dataclass(slots=True, order=[1])\nclass A: pass",
        "assert x != [1]",
        "T = TypeVar('T', bound=[1])",
        "f(encoding=[1])",
    ],
)
def test_what_no_test_could_see_is_left_alone(code: str) -> None:
    """
    Types, what the type checker reads, and caution.
    """
    source = Source("module.py", code)

    changes = [it for it in own_changes(source) if it[1] != "drop_statement"]
    assert all(source.is_barren(span) for span, _, _ in changes)


def test_a_mutant_tells_what_changed() -> None:
    """
    In the words of the file, without their indentation.
    """
    (mutant, _) = mutants(
        "drop_element", "if a:\n    x = [\n        b,\n        c,\n    ]\n"
    )

    assert mutant.line == 3
    assert mutant.key == ("module.py", ("b,",), ())
    assert mutant.diff.startswith("@@ -1,5 +1,4 @@\n")


def test_the_same_seed_draws_the_same() -> None:
    """
    And another seed others.
    """
    sources = [Source("a.py", MANY), Source("b.py", MANY)]
    first = draw(sources, 10, 1, [own_changes])

    assert len(first) == 10
    assert first == draw(sources, 10, 1, [own_changes])
    assert first != draw(sources, 10, 2, [own_changes])


def test_no_line_is_changed_twice() -> None:
    """
    So there are never more mutants than lines.
    """
    drawn = draw([Source("a.py", "x = [1, 2]\ny = [3, 4]\n")], 10, 1, [own_changes])

    assert sorted(mutant.line for mutant in drawn) == [1, 2]


def test_the_statement_at_a_line_is_the_innermost() -> None:
    """
    A signature runs on import, with its decorators and defaults; a body does not.
    """
    owners = Source(
        "module.py",
        "@it\ndef f(\n    a=B,\n):\n    if a:\n        return [\n          a]\n\nX = 1",
    ).owners

    runs = {line: on_import for line, (_, on_import) in owners.items()}
    assert runs == {
        **dict.fromkeys((1, 2, 3, 4, 9), True),
        **dict.fromkeys((5, 6, 7), False),
    }
    assert owners[1][0] is owners[4][0]
    assert owners[6][0] is owners[7][0]
    assert owners[5][0] is not owners[6][0]
