"""
Rankings, as vLLM and TEI write them, and the requests that ask for them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from cdk_sagemaker_llm.client import (
    LlmClient,
    Ranked,
    Schema,
    UnreadableAnswerError,
    Usage,
    read_body,
    read_embeddings,
    read_stream,
)
from cdk_sagemaker_llm.client.requests import rerank_body

TEI = b'[{"index":1,"score":0.9},{"index":0,"score":0.25}]'
VLLM = json.dumps(
    {
        "id": "rerank-1",
        "model": "m",
        "usage": {"prompt_tokens": 9, "total_tokens": 9},
        "results": [
            {"index": 0, "document": {"text": "a"}, "relevance_score": 0.25},
            {"index": 1, "document": {"text": "b"}, "relevance_score": 0.9},
        ],
    }
).encode()
BEST = (Ranked(1, 0.9), Ranked(0, 0.25))


@pytest.mark.parametrize(
    ("body", "usage"), [(TEI, None), (VLLM, Usage(9, None))], ids=["tei", "vllm"]
)
@pytest.mark.parametrize("family", [None, "embeddings", "lmi"])
def test_rankings_are_read(
    body: bytes, usage: Usage | None, family: str | None
) -> None:
    """
    The best comes first, whichever format it is.
    """
    answer = read_body(body, format=family)
    assert answer.ranking == BEST
    assert answer.usage == usage
    assert answer.text == ""


def test_texts_beside_the_scores() -> None:
    """
    As TEI gives them where it is asked for them.
    """
    answer = read_body(b'[{"index":0,"score":-3,"text":"a"}]')
    assert answer.ranking == (Ranked(0, -3.0),)


def test_a_ranking_is_no_text_and_no_vectors() -> None:
    """
    Who asks for those is told.
    """
    with pytest.raises(UnreadableAnswerError, match=r"a ranking, no text.*rerank\(\)"):
        list(read_stream([TEI]))
    with pytest.raises(UnreadableAnswerError, match="no embeddings"):
        read_embeddings(TEI)


@pytest.mark.parametrize(
    "body",
    [
        b'[{"index":0}]',
        b'[{"index":0,"score":true}]',
        b'[{"index":-1,"score":1}]',
        b'[{"index":0,"score":1},3]',
        b'{"results":[]}',
        b'{"results":{"index":0,"relevance_score":1}}',
    ],
)
def test_what_is_no_ranking(body: bytes) -> None:
    """
    Half of one is none.
    """
    with pytest.raises(UnreadableAnswerError):
        read_body(body)


def test_requests() -> None:
    """
    TEI is not told how many are wanted; vLLM is.
    """
    texts = ["a", "\u00fc"]
    assert json.loads(rerank_body(Schema.LMI, "q", texts, 1, {"raw_scores": True})) == {
        "query": "q",
        "texts": texts,
        "raw_scores": True,
    }
    assert json.loads(rerank_body(Schema.OPENAI, "q", texts, None, {})) == {
        "query": "q",
        "documents": texts,
    }
    assert json.loads(rerank_body(Schema.OPENAI, "q", texts, 1, {})) == {
        "query": "q",
        "documents": texts,
        "top_n": 1,
    }


@pytest.mark.parametrize(
    ("query", "texts", "given", "told"),
    [
        (1, ["a"], {}, "query must be a text, got 1"),
        ("q", "abc", {}, "texts must be a list, got 'abc'"),
        ("q", [], {}, "texts must be at least one text"),
        ("q", [b"a"], {}, r"texts\[0\] must be a text"),
        ("q", ["a"], {"top_n": 0}, "top_n must be at least 1, got 0"),
        ("q", ["a"], {"top_n": 1.5}, "top_n must be a whole number"),
        ("q", ["a"], {"top_n": True}, "top_n must be a whole number"),
        ("q", ["a"], {"parameters": 3}, "parameters must be a dictionary"),
        ("q", ["\ud800"], {}, "UTF-8"),
        ("q", ["a"], {"parameters": {"x": float("nan")}}, "what JSON can say"),
    ],
)
def test_wrong_arguments(
    query: Any,  # noqa: ANN401 - what is refused
    texts: Sequence[str],
    given: dict[str, Any],
    told: str,
) -> None:
    """
    They are refused before anything is sent.
    """
    client = LlmClient("endpoint", region="us-east-1")
    with pytest.raises(ValueError, match=told):
        client.rerank(query, texts, **given)
