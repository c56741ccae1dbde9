"""
Which statement stands at a line, and when it runs.
"""

from __future__ import annotations

from tools.mutants.source import Source, Statement

SOURCE = Source(
    "module.py",
    """\
LIMIT = 1


@decorated
def f(
    a=LIMIT,
):
    if a:
        return [
            a,
        ]


class C:
    x: int = 2
""",
)


def statement(line: int) -> Statement:
    """
    Return the statement at a line, which must have one.
    """
    found = SOURCE.statement(line)
    assert found is not None
    return found


def test_a_constant_runs_at_import_and_has_a_name() -> None:
    """
    Its tests are those of what mentions the name.
    """
    assert statement(1) == Statement((1,), True, frozenset({"LIMIT"}), ())  # noqa: FBT003 - as written
    assert statement(15).names == {"x"}


def test_a_signature_runs_at_import_and_knows_its_body() -> None:
    """
    Decorators and defaults belong to it.
    """
    assert statement(6).runs_at_import
    assert statement(6).lines == (4, 5, 6, 7)
    assert statement(6).body == (8, 9, 10, 11)


def test_a_statement_in_a_function_has_lines_of_its_own() -> None:
    """
    The innermost one counts.
    """
    assert statement(8).lines == (8,)
    assert statement(10).lines == (9, 10, 11)
    assert not statement(10).runs_at_import
    assert SOURCE.statement(2) is None


def test_the_lines_of_functions_are_told_from_those_that_run_on_import() -> None:
    """
    A signature is not one of them.
    """
    assert SOURCE.function_lines == {8, 9, 10, 11}
