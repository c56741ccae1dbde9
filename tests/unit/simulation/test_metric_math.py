"""
Metric math.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.simulation.metric_math import evaluate, names_in

_VALUES = {"a": 6.0, "b": 4.0, "none": None}


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("a + b", 10.0),
        ("a - b", 2.0),
        ("a * b", 24.0),
        ("a / b", 1.5),
        ("a ^ 2", 36.0),
        ("-a", -6.0),
        ("(a + b) / 2", 5.0),
        ("a > b", 1.0),
        ("a < b", 0.0),
        ("a >= 6", 1.0),
        ("a <= 5", 0.0),
        ("a == 6", 1.0),
        ("a != 6", 0.0),
        ("a > 1 AND b > 5", 0.0),
        ("a > 1 OR b > 5", 1.0),
        ("IF(a > b, a, b)", 6.0),
        ("IF(a < b, a, b)", 4.0),
        ("IF(a < b, a)", None),
        ("FILL(none, 3)", 3.0),
        ("FILL(a, 3)", 6.0),
        ("SUM([a, b])", 10.0),
        ("AVG([a, b])", 5.0),
        ("MAX([a, b])", 6.0),
        ("MIN([a, b])", 4.0),
        ("SUM(METRICS())", 10.0),
        ("SUM([a, none])", 6.0),
        ("SUM([none])", None),
        ("ABS(b - a)", 2.0),
        ("CEIL(a / b)", 2.0),
        ("FLOOR(a / b)", 1.0),
        ("none + a", None),
        ("a / (b - 4)", None),
        ("none > 1 AND a > 1", None),
        ("a ^ 1000", None),
        ("(b - a) ^ 0.5", None),
        ("(b - 4) ^ (b - a)", None),
        ("CEIL(a * 1e308 * 10)", None),
        ("SUM([b * 4e307, b * 4e307])", None),
        ("MAX(a, b)", 6.0),
        (" a + b ", 10.0),
        ("none == 6", None),
        ("6 == none", None),
        ("FILL(b - 4, 3)", 0.0),
        ("AVG([a, b, 2])", 4.0),
        ("AVG([a, b - 4])", 3.0),
        ("METRICS()", None),
    ],
)
def test_is_computed_for_a_period(expression: str, result: float | None) -> None:
    """
    Missing data gives no data, and so does what has no finite result.
    """
    assert evaluate(expression, _VALUES) == result


def test_names_its_metrics() -> None:
    """
    And not its functions.
    """
    assert names_in("IF(m1 > 0, SUM([m1, e2]), FILL(m3, 0))") == {"m1", "e2", "m3"}
    assert names_in("AVG + AVG(m1)") == {"AVG", "m1"}


@pytest.mark.parametrize(
    "expression",
    [
        "a +",
        "__import__('os')",
        "a.b",
        "SEARCH('x')",
        "SEARCH(a)",
        "a if b else c",
        "'text'",
        "SUM(a, key=b)",
        "1 < a < 3",
        "True",
        "IF(a)",
        "IF(a, b, a, b)",
        "FILL(a)",
        "FILL(a, 1, 2)",
        "ABS()",
        "ABS(a, b)",
        "SUM()",
        "METRICS(a)",
        "[a](b)",
        "ABS(a)(b)",
        "NOSUCH()",
        "1e999",
        f"1{'0' * 400}",
    ],
)
def test_fails_if_it_is_not_understood(expression: str) -> None:
    """
    Rather than to compute something else; nothing of it is ever run.
    """
    with pytest.raises(ValueError, match="is not understood; arithmetic"):
        names_in(expression)
