"""
Where a revision goes.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm import HuggingFaceModel
from cdk_sagemaker_llm.hosting.weights.starter import (
    StagedPlace,
    minutes_of,
    place_of,
)

COMMIT = "0123456789abcdef0123456789abcdef01234567"
MODEL = HuggingFaceModel("org/name", revision=COMMIT)


@pytest.mark.parametrize(
    ("folder", "base", "home"),
    [
        ("models", f"models/org--name/{COMMIT}", "models/"),
        ("/a/b/", f"a/b/org--name/{COMMIT}", "a/b/"),
        ("", f"org--name/{COMMIT}", "org--name/"),
        ("/", f"org--name/{COMMIT}", "org--name/"),
    ],
)
def test_a_revision_goes_below_its_folder(folder: str, base: str, home: str) -> None:
    """
    With its manifest beside it.
    """
    place = place_of(MODEL, folder, (), ())

    assert place == StagedPlace(base=base, home=home)
    assert (place.prefix, place.manifest) == (f"{base}/", f"{base}.json")


def base_of(include: tuple[str, ...] = (), exclude: tuple[str, ...] = ()) -> str:
    """
    Return the end of a prefix that stands for patterns.
    """
    base = place_of(MODEL, "", include, exclude).base
    return base.removeprefix(f"org--name/{COMMIT}")


def test_the_same_patterns_are_the_same_place() -> None:
    """
    In any order, and however often one is said.
    """
    # printf '[["*.json", "a*"], []]' | sha256sum, its first eight characters.
    assert base_of(("a*", "*.json")) == "-331ca8d8"
    assert base_of(("*.json", "a*", "a*")) == "-331ca8d8"
    assert base_of((), ("a*", "*.json")) == "-12a51aba"
    assert base_of((), ("*.json", "a*", "a*")) == "-12a51aba"


def test_other_patterns_are_another_place() -> None:
    """
    Of which none is that of the usual files.
    """
    found = [base_of(), base_of(("a",)), base_of((), ("a",)), base_of(("a",), ("a",))]

    assert found[0] == ""
    assert len(set(found)) == 4


@pytest.mark.parametrize(
    ("weight_bytes", "minutes"),
    [(None, None), (0, 0), (1, 1), (3_000_000_000, 1), (3_000_000_001, 2)],
)
def test_a_download_takes_whole_minutes(
    weight_bytes: int | None, minutes: int | None
) -> None:
    """
    At 50 MB a second.
    """
    assert minutes_of(weight_bytes) == minutes
