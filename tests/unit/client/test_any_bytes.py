"""
Whatever bytes and whatever JSON come, what leaves the reader is of its family.
"""

from __future__ import annotations

import contextlib
import json

from hypothesis import given
from hypothesis import strategies as st

from cdk_sagemaker_llm.client import LlmError, read_body, read_stream
from tests.unit.client.wire_examples import EMBEDDINGS, EXAMPLES

BODIES = [*(example.body for example in EXAMPLES), *EMBEDDINGS.values()]
# The names that readers look at, with values that nobody expects there.
NAMES = [
    "token",
    "details",
    "generated_text",
    "choices",
    "delta",
    "message",
    "content",
    "logprobs",
    "tokens",
    "tool_calls",
    "function",
    "arguments",
    "usage",
    "index",
    "id",
    "text",
    "log_prob",
    "logprob",
    "special",
    "finish_reason",
    "stop",
    "completion_probabilities",
    "data",
    "embedding",
    "error",
    "code",
    "best_of_sequences",
    "reasoning",
    "token_ids",
    "token_logprobs",
]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
ANY_JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
    ),
    max_leaves=20,
)


def read(body: bytes) -> None:
    """
    Read a body in both ways.
    """
    with contextlib.suppress(LlmError):
        assert read_body(body).requests == 1
    with contextlib.suppress(LlmError):
        for token in read_stream([body]):
            assert isinstance(token.text, str)


@given(body=st.binary(max_size=200))
def test_any_bytes(body: bytes) -> None:
    """
    Noise.
    """
    read(body)


@given(data=st.data())
def test_bytes_that_were_spoilt(data: st.DataObject) -> None:
    """
    Some bytes of an answer are others, or missing.
    """
    body = bytearray(data.draw(st.sampled_from(BODIES)))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(body) - 1))
        other = data.draw(st.binary(max_size=3))
        body[place : place + 1] = other
    read(bytes(body))


@given(records=st.lists(ANY_JSON, min_size=1, max_size=3))
def test_any_json(records: list[object]) -> None:
    """
    The right names with the wrong values, as lines, events and documents.
    """
    lines = [json.dumps(record) for record in records]
    read("\n".join(lines).encode())
    read("".join(f"data: {line}\n\n" for line in lines).encode())
    read(json.dumps(records).encode())
