"""
``tests/doctor_cases``: why endpoints did not run, as threads and sources tell it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

Case = Mapping[str, Any]

_CASES = Path(__file__).parents[1] / "doctor_cases"
_HALVES = ("written_from", "held_out")
_PLACES = {
    "log",
    "failure_reason",
    "event",
    "client",
    "metric",
    "activity",
    "alarm",
    "describe",
}
# A repository's file at a commit, or an address.
_SOURCE = re.compile(r"https://\S+|[\w.-]+/[\w.-]+:[^@\s]+@[0-9a-f]{40}")


def content(name: str) -> dict[str, Any]:
    """
    Return a file of the cases.
    """
    read: dict[str, Any] = json.loads(
        (_CASES / f"{name}.json").read_text(encoding="utf-8")
    )
    return read


def cases(*halves: str) -> list[Case]:
    """
    Return the cases of halves; of both where none is named.
    """
    return [case for half in halves or _HALVES for case in content(half)["cases"]]


def causes() -> dict[str, str]:
    """
    Return each cause's sentence, by its name.
    """
    return {cause["name"]: cause["sentence"] for cause in content("causes")["causes"]}


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case["id"]) for case in cases()]
)
def test_a_case_says_what_was_seen_where_and_by_whom(case: Case) -> None:
    """
    The evidence is text that a machine printed; the source can be opened.
    """
    assert list(case) == [
        *(
            "id",
            "cause",
            "engine",
            "release",
            "evidence",
            "source",
            "basis",
            "confirmed",
        )
    ]
    assert re.fullmatch(rf"{case['cause']}-\d+", case["id"])
    assert case["cause"] in {*causes(), "none"}
    assert _SOURCE.fullmatch(case["source"])
    assert case["basis"] in {"thread", "source", "documentation"}
    assert isinstance(case["confirmed"], bool)
    assert case["evidence"]
    for seen in case["evidence"]:
        assert list(seen) == ["where", "text"]
        assert seen["where"] in _PLACES
        assert seen["text"].strip()


@pytest.mark.parametrize("half", _HALVES)
def test_the_source_alone_tells_the_half_of_a_case(half: str) -> None:
    """
    So nobody chooses, and all cases of a thread are in one half.
    """
    for case in cases(half):
        odd = int(sha256(case["source"].encode()).hexdigest(), 16) % 2
        assert _HALVES[odd] == half, case["id"]


def test_no_case_is_there_twice() -> None:
    """
    Neither its name nor its evidence.
    """
    names = Counter(case["id"] for case in cases())
    evidence = Counter(
        json.dumps([case["cause"], case["evidence"]]) for case in cases()
    )
    assert [name for name, count in names.items() if count > 1] == []
    assert [text for text, count in evidence.items() if count > 1] == []


def test_the_causes_are_many_and_each_has_a_case() -> None:
    """
    What has no cause is told from what has one, too.
    """
    of_cause = Counter(case["cause"] for case in cases())
    healthy = of_cause.pop("none")
    assert set(of_cause) == set(causes())
    assert len(of_cause) >= 120
    assert of_cause.total() >= 240
    assert healthy >= 20


def test_each_half_has_enough_to_learn_from_and_to_measure_with() -> None:
    """
    Of cases with a cause, and of those with none.
    """
    for half in _HALVES:
        told = [case["cause"] for case in cases(half)]
        assert len(told) >= 100
        assert "none" in told


def test_no_account_is_told() -> None:
    """
    But AWS's own, whose registry has the images.
    """
    numbers = {
        number
        for case in cases()
        for seen in case["evidence"]
        for number in re.findall(r"(?<=[:/])\d{12}(?=[:.])", seen["text"])
    }
    assert numbers <= {"111122223333", "763104351884"}
