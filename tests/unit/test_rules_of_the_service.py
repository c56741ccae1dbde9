"""
Each rule of the service that a template can break is checked, or it is said why not.
"""

from __future__ import annotations

import re

import pytest

from cdk_sagemaker_llm.codes import rules
from tests.conftest import ROOT
from tests.unit.rules_of_the_service import SECTIONS, Held

RULES = [each for section in SECTIONS.values() for each in section]
POLICY = (ROOT / "docs" / "support-policy.md").read_text(encoding="utf-8")
SOURCE = ROOT / "constructs" / "cdk_sagemaker_llm" / "hosting"


@pytest.mark.parametrize("held", RULES, ids=lambda held: held.rule)
def test_a_rule_is_held_in_one_way(held: Held) -> None:
    """
    By checks that there are, by what a construct does, or with a reason.
    """
    ways = [bool(way) for way in (held.codes, held.by, held.reason)]

    assert ways.count(True) == 1
    assert set(held.codes) <= rules().keys()


@pytest.mark.parametrize(
    "reason", sorted({held.reason for held in RULES if held.reason})
)
def test_what_is_not_checked_stands_in_the_support_policy(reason: str) -> None:
    """
    With its reason, so that nobody takes silence for consent.
    """
    assert f"- {reason}.\n" in POLICY


@pytest.mark.parametrize("by", sorted({held.by for held in RULES if held.by}))
def test_what_makes_a_rule_hold_is_there(by: str) -> None:
    """
    A class, a module, a method or an argument of the constructs.
    """
    name = by.partition("=")[0]
    texts = [path.read_text() for path in SOURCE.rglob("*.py")]

    assert any(re.search(rf"\b{name}\b", text) for text in texts)


def test_each_section_is_there() -> None:
    """
    So many rules of each; a table that was cut off would pass the tests above.
    """
    counts = {name: len(section) for name, section in SECTIONS.items()}

    assert counts == {
        "configurations": 45,
        "components": 21,
        "scaling": 20,
        "deployments": 21,
    }
