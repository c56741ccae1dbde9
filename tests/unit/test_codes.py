"""
The codes: one list, which the code and the documentation agree with.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cdk_sagemaker_llm.codes import rules
from tools.checks import TARGET, page

SOURCE = Path(__file__).parents[2] / "constructs" / "cdk_sagemaker_llm"


def codes_in(path: Path) -> set[str]:
    """
    Return the codes that a module makes findings with.
    """
    return set(re.findall(r'"(LLM\d{3})"', path.read_text(encoding="utf-8")))


def test_every_code_in_use_is_listed_and_every_listed_one_in_use() -> None:
    """
    A code without a description cannot be looked up; the reverse never appears.
    """
    lists = ("codes.py", "tgi_checks.py")
    used = {
        code
        for path in SOURCE.rglob("*.py")
        if path.name not in lists
        for code in codes_in(path)
    }

    assert used == set(rules())


def test_the_page_is_the_one_the_code_makes() -> None:
    """
    ``make docs`` writes it anew.
    """
    assert TARGET.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("code", rules())
def test_a_test_trips_each_code(code: str) -> None:
    """
    A check that nothing trips may be broken already.
    """
    tests = Path(__file__).parents[1]
    mentions = [
        path
        for path in tests.rglob("*.py")
        if path != Path(__file__) and code in path.read_text(encoding="utf-8")
    ]

    assert mentions
