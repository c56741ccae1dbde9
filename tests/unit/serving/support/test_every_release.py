"""
What is found of each rule's examples at every release and on every kind of GPU.

A limit that moves, by a release or a GPU, changes a line of the snapshot.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import pytest

from cdk_sagemaker_llm.catalog.releases import known_releases
from tests.unit.engine_support_rule_examples import CPU, INF2, OF_ENGINES, SHARED
from tests.unit.support_rule_examples import (
    A10G,
    A100,
    B200,
    H100,
    L40S,
    RTX,
    SUPPORT,
    T4,
    V100,
    Example,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syrupy.assertion import SnapshotAssertion

_TYPES = {
    "V100": V100,
    "T4": T4,
    "A100": A100,
    "A10G": A10G,
    "L4": "ml.g6.2xlarge",
    "L40S": L40S,
    "H100": H100,
    "B200": B200,
    "RTX": RTX,
    "CPU": CPU,
    "Neuron": INF2,
}
_TABLES = [
    *((code, *both) for code, both in SUPPORT.items()),
    *((code, *both) for code, both in OF_ENGINES.items()),
    *SHARED,
]


def _code(row: tuple[str, Example, Example]) -> str:
    return row[0]


def _codes(example: Example, **other: str) -> str:
    found = example.func(*example.args, **{**example.keywords, **other})
    return " ".join(one.code for one in found) or "nothing"


def _in_spans(rows: Iterable[tuple[str, str]]) -> list[str]:
    """
    Join neighbours of which the same is found.
    """
    spans = []
    for codes, group in groupby(rows, key=lambda row: row[1]):
        names = [name for name, _ in group]
        ends = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
        spans.append(f"{ends}: {codes}")
    return spans


@pytest.mark.parametrize(
    ("broken", "beside"),
    [
        pytest.param(broken, beside, id=f"{code}-{broken.keywords['engine']}-{number}")
        for code, examples in groupby(sorted(_TABLES, key=_code), key=_code)
        for number, (_, broken, beside) in enumerate(examples)
    ],
)
def test_finds_the_same_at_each_release_and_gpu(
    broken: Example, beside: Example, snapshot: SnapshotAssertion
) -> None:
    """
    Of what breaks a rule, and of what stands beside it.
    """
    found = {}
    for name, example in (("broken", broken), ("beside", beside)):
        releases = known_releases(example.keywords["engine"])
        found[name] = {
            "by release": _in_spans(
                (one, _codes(example, release=one)) for one in releases
            ),
            "by GPU": _in_spans(
                (gpu, _codes(example, instance_type=one)) for gpu, one in _TYPES.items()
            ),
        }

    assert found == snapshot
