"""
Which part of a text each of its tokens stands for.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdk_sagemaker_llm.client.wire.step import shared


@pytest.mark.parametrize(
    ("written", "text", "expected"),
    [
        (["a", " b"], "a b", ["a", " b"]),
        (["K", "", "", "ln"], "Köln", ["K", "ö", "", "ln"]),
        (["K", "\ufffd", "\ufffd", "ln"], "Köln", ["K", "ö", "", "ln"]),
        (["\\xf0\\x9f", "\\x98\\x80"], "😀", ["😀", ""]),
        (["bytes:\\xf0", "bytes:\\x9f", "!"], "😀!", ["😀", "", "!"]),
        # What comes again is looked for behind what was found.
        (["a", "", "a"], "aöa", ["a", "ö", "a"]),
        (["ö", "", "", "l", "", ""], "öélè", ["ö", "é", "", "l", "è", ""]),
        # The stop sequence: listed, and cut off where it begins.
        (["a", " mat"], "a", ["a", ""]),
        (["a", " mat."], "a mat", ["a", " mat"]),
        (["a", " mat", "."], "a m", ["a", " m", ""]),
        (["", "", "a"], "ö", ["ö", "", ""]),
        # Nothing that fits.
        (["a", "b"], "xy", ["xy", ""]),
        ([" a", "b"], "ab", ["ab", ""]),
        (["a", "b"], "abc", ["abc", ""]),
        (["a"], "", [""]),
    ],
)
def test_shares(written: list[str], text: str, expected: list[str]) -> None:
    """
    Each its own; what nobody has is the first one's that has none.
    """
    assert shared(written, text) == expected


@given(
    written=st.lists(st.sampled_from(["a", "b", "ab", "", "\ufffd", "é"]), min_size=1),
    text=st.text("abé"),
)
def test_they_make_up_the_text(written: list[str], text: str) -> None:
    """
    Nothing is lost or doubled, whatever is written.
    """
    shares = shared(written, text)

    assert "".join(shares) == text
    assert len(shares) == len(written)
