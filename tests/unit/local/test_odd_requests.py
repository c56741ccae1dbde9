"""
Requests that nobody should send: each engine refuses them in its own way.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.local.engines.bodies import RefusedError
from cdk_sagemaker_llm.local.engines.containers import ContainerRequest, StartedEngine
from tests.unit.local.engine_requests import QUESTION, refused, sent, started

ENGINES = {
    "vllm": ("vllm-server", "2.6", {"SM_VLLM_MODEL": "nobody/knows"}),
    "old vllm": ("vllm", "0.13.0", {"SM_VLLM_MODEL": "nobody/knows"}),
    "sglang": ("sglang-server", "1.4", {"SM_SGLANG_MODEL_PATH": "nobody/knows"}),
    "llama.cpp": (
        "huggingface-llamacpp",
        "b9522",
        {"SM_LLAMACPP_HF_REPO": "a/b", "SM_LLAMACPP_EMBEDDINGS": ""},
    ),
    "tei": ("tei", "1.8.2", {"HF_MODEL_ID": "nobody/knows"}),
}
_TOOL = {"type": "function", "function": {"name": "f"}}


@pytest.fixture(name="engine", params=list(ENGINES))
def _engine(request: pytest.FixtureRequest) -> StartedEngine:
    family, version, variables = ENGINES[request.param]
    return started(family, version, **variables)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"1",
        b"null",
        b'"text"',
        b"\xff",
        b"[" * 100_000,
        b'{"messages":[{"role":"user","content":"\\ud800"}]}',
    ],
    ids=["empty", "open", "list", "number", "null", "text", "bytes", "deep", "half"],
)
def test_what_is_no_request(engine: StartedEngine, body: bytes) -> None:
    """
    It is the client's fault.
    """
    with pytest.raises(RefusedError) as caught:
        sent(engine, body)
    assert caught.value.status in {400, 422}


@pytest.mark.parametrize(
    ("content_type", "is_json"),
    [
        ("application/json", True),
        ("Application/JSON; charset=utf-8; x=1", True),
        ("text/plain", False),
        ("application/jsonlines", False),
    ],
)
def test_a_type_says_that_it_is_json(
    content_type: str,
    is_json: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """
    Whatever its case, and what is behind it.
    """
    assert ContainerRequest(body=b"", content_type=content_type).is_json is is_json


@pytest.mark.parametrize(
    "fields",
    [
        {"messages": "Who?"},
        {"messages": [1]},
        {"messages": [{}]},
        {**QUESTION, "max_tokens": "many"},
        {**QUESTION, "stream": True, "stream_options": [1]},
        {**QUESTION, "stop": 1},
        {**QUESTION, "tools": {}},
    ],
    ids=str,
)
def test_chats_of_other_types(engine: StartedEngine, fields: dict[str, Any]) -> None:
    """
    None of them is answered, nor breaks anything.
    """
    assert refused(engine, fields)[0] in {400, 422}


@pytest.mark.parametrize(
    "fields",
    [
        {**QUESTION, "n": 0},
        {**QUESTION, "n": 10**9},
        {**QUESTION, "tools": [_TOOL], "tool_choice": ["auto"]},
        {**QUESTION, "tools": [_TOOL], "tool_choice": {"function": {"name": []}}},
        {**QUESTION, "tools": [1], "tool_choice": "required"},
        {"input": "a", "dimensions": 10**9},
        {"input": "a", "dimensions": "wide"},
        {"query": "a", "documents": ["b"], "top_n": "all"},
        {"query": "a", "documents": []},
    ],
    ids=str,
)
def test_what_vllm_refuses(fields: dict[str, Any]) -> None:
    """
    Of a model that may be for anything.
    """
    family, version, variables = ENGINES["vllm"]
    assert refused(started(family, version, **variables), fields)[0] == 400
