"""
Every format reads to the same tokens, however its bytes arrive.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdk_sagemaker_llm import client
from cdk_sagemaker_llm.client import LlmError, Token, read_body, read_stream
from tests.unit.client.wire_examples import EXAMPLES, Example

EACH = pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)


def read(chunks: Iterable[bytes]) -> tuple[tuple[Token, ...], LlmError | None]:
    """
    Read a stream to its end, or to its error.
    """
    tokens = []
    try:
        for token in read_stream(chunks):
            tokens.append(token)  # noqa: PERF402 - what came before an error stays
    except LlmError as error:
        return tuple(tokens), error
    return tuple(tokens), None


def check(example: Example, chunks: Iterable[bytes]) -> None:
    """
    Hold what is read against what the example says.
    """
    tokens, error = read(chunks)

    assert tokens == example.tokens
    if not example.error:
        assert error is None
        assert "".join(token.text for token in tokens) == example.text
        return
    assert error is not None
    assert type(error) is getattr(client, example.error)
    assert error.text == example.text


@EACH
def test_at_once(example: Example) -> None:
    """
    All bytes in one chunk, several events with them.
    """
    check(example, [example.body])


@EACH
def test_byte_by_byte(example: Example) -> None:
    """
    Also in the middle of a character.
    """
    check(example, (example.body[i : i + 1] for i in range(len(example.body))))


@EACH
def test_cut_in_two_at_every_byte(example: Example) -> None:
    """
    Wherever the cut is.
    """
    for cut in range(len(example.body) + 1):
        check(example, [example.body[:cut], example.body[cut:]])


@given(data=st.data())
def test_cut_and_joined_in_any_way(data: st.DataObject) -> None:
    """
    Any number of cuts, and chunks that are empty.
    """
    example = data.draw(st.sampled_from(EXAMPLES))
    places = st.lists(st.integers(0, len(example.body)), max_size=30)
    cuts = [0, *sorted(data.draw(places)), len(example.body)]
    pairs = itertools.pairwise(cuts)

    check(example, [example.body[start:end] for start, end in pairs])


@EACH
def test_a_body_is_the_stream_put_together(example: Example) -> None:
    """
    ``read_body`` takes documents and collected streams alike.
    """
    if example.error:
        with pytest.raises(getattr(client, example.error)) as caught:
            read_body(example.body)
        assert caught.value.text == example.text
        return
    found = read_body(example.body)

    last = example.tokens[-1]
    assert found.text == example.text
    assert found.finish_reason == last.finish_reason
    assert found.usage == last.usage
    assert found.tool_calls == last.tool_calls
    assert found.reasoning == "".join(token.reasoning for token in example.tokens)


@EACH
def test_every_beginning_ends_in_the_family(example: Example) -> None:
    """
    A stream that is cut anywhere keeps what came, and is never mistaken for whole.

    Only what follows the end may be missing: a closing mark, blank lines.
    """
    whole = None if example.error else example.text
    for cut in range(len(example.body)):
        tokens, error = read([example.body[:cut]])
        joined = "".join(token.text for token in tokens)
        if error is None:
            assert joined == whole
        else:
            assert error.text.startswith(joined)
            if not example.error:
                assert example.text.startswith(error.text)
