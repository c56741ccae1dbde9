"""
serving.properties: written for two readers, read as Java does.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.serving.lmi.properties import PropertiesError, parse, render

KEYS = st.from_regex(r"[A-Za-z0-9_.\-]+", fullmatch=True)
VALUES = st.text(
    st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="\\")
).filter(lambda text: not is_unresolved(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1\nb = 2 \n", {"a": "1", "b": "2 "}),
        ("a:1\nb 2\nc\n", {"a": "1", "b": "2", "c": ""}),
        ("# no\n  ! no\na=1", {"a": "1"}),
        ("a=1\\\n   2", {"a": "12"}),
        ("a\\=b\\ c=d", {"a=b c": "d"}),
        ("a=\\u00e9\\t\\q", {"a": "é\tq"}),
        ("a==b", {"a": "=b"}),
        ("a=1\r\na=2\rb=3", {"a": "2", "b": "3"}),
        ("a=b\\\\", {"a": "b\\"}),
    ],
    ids=repr,
)
def test_text_is_read_as_java_reads_it(text: str, expected: dict[str, str]) -> None:
    """
    Separators, comments, escapes and continuations of ``Properties.load``.
    """
    assert parse(text) == expected


def test_fails_if_an_escape_is_malformed() -> None:
    """
    Java refuses the whole file, and so do we.
    """
    with pytest.raises(PropertiesError, match=r"malformed \\u escape"):
        parse("a=\\u12")


@pytest.mark.parametrize("value", ["é", "a\\b", " a", "a ", "a\nb", "a\x00"], ids=repr)
def test_fails_if_a_value_would_be_read_differently(value: str) -> None:
    """
    What one of the two readers would change is never written.
    """
    with pytest.raises(PropertiesError, match="option.x must be printable ASCII"):
        render({"option.x": value})


def test_fails_if_a_name_would_be_read_differently() -> None:
    """
    A separator inside a name would end it.
    """
    with pytest.raises(PropertiesError, match="property name 'option.a b'"):
        render({"option.a b": 1})


def test_booleans_are_written_as_java_reads_them() -> None:
    """
    ``True`` is Python's word.
    """
    assert render({"option.enable_lora": True}) == "option.enable_lora=true\n"


@given(st.dictionaries(KEYS, VALUES))
def test_what_is_written_is_read_back(properties: dict[str, str]) -> None:
    """
    Render, then parse, is the identity.
    """
    assert parse(render(properties)) == properties


@given(st.text())
@example("\\")
@example("\\\n#a")
def test_no_text_breaks_the_reader(text: str) -> None:
    """
    Whatever is in a file, the only error is the reader's own.
    """
    try:
        parse(text)
    except PropertiesError as fault:
        assert "escape" in str(fault)  # noqa: PT017 - most texts raise nothing
