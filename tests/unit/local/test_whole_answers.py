"""
What SGLang, llama.cpp and TEI answer, whole, and where each limit of theirs lies.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.engines.containers import StartedEngine
from tests.unit.local.engine_requests import (
    QUESTION,
    events,
    refused,
    said,
    started,
)

TOOL = {"type": "function", "function": {"name": "now"}}


def llama(*files: str, **variables: str) -> StartedEngine:
    """
    Start llama.cpp of Hugging Face's image, which has routes.
    """
    named = {f"SM_LLAMACPP_{name}": value for name, value in variables.items()}
    return started(
        "huggingface-llamacpp", "b9522", *files, SM_LLAMACPP_HF_REPO="a/b", **named
    )


def sglang(**variables: str) -> StartedEngine:
    """
    Start SGLang.
    """
    named = {f"SM_SGLANG_{name}": value for name, value in variables.items()}
    return started("sglang-server", "1.4", SM_SGLANG_MODEL_PATH="a/b", **named)


def tei(model: str = "BAAI/bge-small-en-v1.5", **variables: str) -> StartedEngine:
    """
    Start TEI.
    """
    return started("tei", "1.8.2", HF_MODEL_ID=model, **variables)


def words(count: int) -> dict[str, Any]:
    """
    Write a chat of so many words.
    """
    return {"messages": [{"role": "user", "content": " ".join("a" * count)}]}


def llama_error(
    message: str, status: int = 400, kind: str = "invalid_request_error"
) -> tuple[int, str]:
    """
    Return a refusal as llama.cpp writes it.
    """
    error = {"code": status, "message": message, "type": kind}
    return status, json.dumps({"error": error}, separators=(",", ":"))


@pytest.mark.parametrize(
    ("route", "kind"),
    [
        ("/v1/chat/completions", "chat.completion"),
        ("/chat/completions", "chat.completion"),
        ("/v1/completions", "text_completion"),
        ("/completions", "text_completion"),
        ("/completion", "text_completion"),
        ("/v1/embeddings", "list"),
        ("/embeddings", "list"),
        ("/embedding", "list"),
    ],
)
def test_each_route_of_llama_cpp_has_more_names(route: str, kind: str) -> None:
    """
    All that its server lists.
    """
    body = {**QUESTION, "prompt": "Hi", "input": "Hi", "max_tokens": 1}

    found = said(llama(EMBEDDINGS=""), body, attributes=f"x=1;route={route};y=2")

    assert found["object"] == kind


@pytest.mark.parametrize(
    "route", ["/v1/rerank", "/v1/reranking", "/rerank", "/reranking"]
)
def test_llama_cpp_ranks_where_it_is_switched_on(route: str) -> None:
    """
    And embeds by a switch of its own.
    """
    body = {"query": "a b", "documents": ["x", "a b"]}
    attributes = f"route={route}"
    ranked = said(llama(RERANKING=""), body, attributes=attributes)

    assert [one["index"] for one in ranked["results"]] == [1, 0]
    assert refused(llama(EMBEDDINGS=""), body, attributes=attributes) == llama_error(
        "This server does not support reranking. Start it with `--reranking`",
        501,
        "not_supported_error",
    )
    assert refused(llama(RERANKING=""), {"input": "a"}) == llama_error(
        "This server does not support embeddings. Start it with `--embeddings`",
        501,
        "not_supported_error",
    )
    lacks = refused(llama(RERANKING=""), {"query": 7}, attributes=attributes)
    assert lacks == llama_error('"input" or "content" must be provided')


def test_llama_cpp_embeds_by_either_name_of_its_switch() -> None:
    """
    It has both.
    """
    for name in ("EMBEDDING", "EMBEDDINGS"):
        assert said(llama(**{name: ""}), {"input": "a"})["object"] == "list"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([], "Request body must be a JSON object"),
        ({"messages": []}, "`messages` must be a list that is not empty"),
        ({**QUESTION, "temperature": "hot"}, "a field has a value of another type"),
        (
            {"prompt": ["a"]},
            '"prompt" must be a string, an array of token ids or both',
        ),
    ],
)
def test_llama_cpp_says_what_it_does_not_take(body: Untyped, message: str) -> None:
    """
    In JSON.
    """
    assert refused(llama(), body) == llama_error(message)


def test_a_completion_of_llama_cpp_has_all_that_it_writes() -> None:
    """
    At once or as a stream of one part.
    """
    body = {"prompt": "Hi there", "n_predict": 2}
    found = said(llama(), body)
    (streamed,) = events(llama(), body)

    assert found.pop("id").startswith("chatcmpl-")
    assert found.pop("created") > 1_700_000_000
    assert found == {
        "choices": [
            {
                "text": " Once there",
                "index": 0,
                "logprobs": None,
                "finish_reason": "length",
            }
        ],
        "model": "a/b",
        "system_fingerprint": "b9522",
        "object": "text_completion",
        "usage": {"completion_tokens": 2, "prompt_tokens": 2, "total_tokens": 4},
    }
    assert streamed["choices"] == found["choices"]
    assert said(llama(), {**body, "model": "any"})["model"] == "any"
    assert said(llama(), {"prompt": "Hi there", "max_tokens": 3})["usage"] == {
        "completion_tokens": 3,
        "prompt_tokens": 2,
        "total_tokens": 5,
    }
    stopped = said(llama(), {**body, "n_predict": 9, "stop": "ere"})
    assert stopped["choices"][0]["text"] == " Once th"


def test_a_chat_of_llama_cpp_has_all_that_it_writes() -> None:
    """
    Its build in every part.
    """
    body = {**QUESTION, "max_tokens": 1}
    found = said(llama(), body)
    parts = events(llama(), body)

    assert found["choices"][0].keys() == {
        *("index", "message", "logprobs", "finish_reason"),
    }
    assert (found["model"], found["system_fingerprint"]) == ("a/b", "b9522")
    assert found["created"] > 1_700_000_000
    assert {one["system_fingerprint"] for one in parts} == {"b9522"}
    assert parts[0]["choices"][0]["delta"] == {"role": "assistant", "content": None}
    assert parts[0]["choices"][0]["finish_reason"] is None
    assert parts[-1]["choices"][0]["finish_reason"] == "length"
    assert said(llama(), {**body, "model": "any"})["model"] == "any"


def test_an_answer_of_llama_cpp_ends_where_its_context_does() -> None:
    """
    What was asked for beyond it is cut; a number below one counts as none.
    """
    engine = llama(CTX_SIZE="5")

    def count(**fields: Untyped) -> int:
        found: int = said(engine, {**words(3), **fields})["usage"]["completion_tokens"]
        return found

    assert (count(max_tokens=1), count(max_tokens=2), count(max_tokens=3)) == (1, 2, 2)
    assert (count(), count(max_tokens=-1), count(max_tokens=0)) == (2, 2, 2)
    assert count(max_tokens=2, max_completion_tokens=1) == 1
    assert said(engine, words(4))["usage"]["completion_tokens"] == 1
    assert refused(engine, words(5))[0] == 400


def test_thoughts_of_llama_cpp_are_apart_where_it_is_told_so() -> None:
    """
    By a format that is not none.
    """
    body = {**QUESTION, "max_tokens": 40}

    def message(**variables: str) -> dict[str, Any]:
        found: dict[str, Any] = said(llama(**variables), body)["choices"][0]["message"]
        return found

    assert message(REASONING_FORMAT="deepseek")["reasoning_content"]
    assert "reasoning_content" not in message(REASONING_FORMAT="none")
    assert "reasoning_content" not in message()


def test_an_answer_of_sglang_has_all_that_it_writes() -> None:
    """
    With a second id that is no vLLM's, and what matched a stop.
    """
    found = said(sglang(), {**QUESTION, "max_tokens": 9, "stop": ["e"]})
    told = said(sglang(), {**QUESTION, "max_tokens": 99})

    assert len(found["id"]) == 32
    assert found["object"] == "chat.completion"
    assert found["choices"][0]["finish_reason"] == "stop"
    assert found["choices"][0]["matched_stop"] == "e"
    assert told["choices"][0]["matched_stop"] == 2
    assert told["usage"]["prompt_tokens_details"] is None
    assert told["usage"]["reasoning_tokens"] == 0


def test_a_part_of_sglang_says_that_nothing_has_stopped() -> None:
    """
    Until the last one does.
    """
    parts = events(sglang(), {**QUESTION, "max_tokens": 1})

    assert [one["choices"][0]["finish_reason"] for one in parts] == [
        *(None, None),
        "length",
    ]
    assert {one["choices"][0]["matched_stop"] for one in parts} == {None}
    assert parts[-1]["choices"][0]["delta"] == {
        "role": None,
        "content": None,
        "reasoning_content": None,
    }


def test_sglang_calls_a_tool_where_a_parser_takes_calls_apart() -> None:
    """
    Without one a call stays in the text.
    """
    body = {**QUESTION, "max_tokens": 9, "tools": [TOOL]}
    (called,) = said(sglang(TOOL_CALL_PARSER="qwen25"), body)["choices"]
    (plain,) = said(sglang(), body)["choices"]

    (call,) = called["message"]["tool_calls"]
    assert call.pop("id").startswith("call_")
    assert call == {
        "type": "function",
        "function": {"name": "now", "arguments": "{}"},
        "index": 0,
    }
    assert called["message"]["content"] is None
    assert "tool_calls" not in plain["message"]
    assert plain["message"]["content"]


@pytest.mark.parametrize(
    ("body", "kind", "where", "message"),
    [
        ([], "model_attributes_type", "'body',", "Input should be an object"),
        ({}, "missing", "'body', 'messages'", "Field required"),
        (
            {**QUESTION, "n": "2"},
            "value_error",
            "'body',",
            "a field has a value of another type",
        ),
    ],
)
def test_sglang_says_where_a_request_is_wrong(
    body: Untyped, kind: str, where: str, message: str
) -> None:
    """
    As FastAPI lists it.
    """
    status, told = refused(sglang(), body)

    assert status == 400
    assert json.loads(told) == {
        "object": "error",
        "message": "1 validation error:\n"
        f"  {{'type': '{kind}', 'loc': ({where}), 'msg': '{message}'}}",
        "type": "Bad Request",
        "param": None,
        "code": 400,
    }


def test_sglang_has_one_token_at_least_and_as_many_as_there_is_room() -> None:
    """
    Either name of the number counts.
    """
    engine, free = sglang(CONTEXT_LENGTH="5"), sglang()

    def count(**fields: Untyped) -> int:
        found: int = said(engine, {**words(3), **fields})["usage"]["completion_tokens"]
        return found

    assert (count(), count(max_tokens=2), count(max_completion_tokens=1)) == (2, 2, 1)
    assert json.loads(refused(free, {**QUESTION, "max_tokens": -1})[1])["message"] == (
        "max_new_tokens must be at least 0, got -1."
    )
    assert said(free, {**QUESTION, "max_tokens": 1})
    assert refused(engine, {**words(3), "max_tokens": 3})[0] == 400
    assert refused(engine, words(5))[0] == 400
    assert said(engine, words(4))["usage"]["completion_tokens"] == 1


@pytest.mark.parametrize(
    ("model", "adapter"),
    [("a/b:two", "two"), ("other:two", "two"), ("other: two ", "two")],
)
def test_sglang_names_the_adapters_that_it_has(model: str, adapter: str) -> None:
    """
    Where one that is asked for is not there.
    """
    engine = sglang(ENABLE_LORA="true", LORA_PATHS="one=/a")

    assert json.loads(refused(engine, {**QUESTION, "model": model})[1])["message"] == (
        f"The following requested LoRA adapters are not loaded: {adapter}\n"
        "Loaded adapters: dict_keys(['one'])."
    )
    assert said(engine, {**QUESTION, "model": "other:"})["model"] == "other:"


@pytest.mark.parametrize("size", [0.5, -1, 32_769, "2"])
def test_a_vector_of_tei_is_one_number_at_least(size: Untyped) -> None:
    """
    And no longer than any model is wide.
    """
    assert refused(tei(), {"inputs": "a", "dimensions": size}) == (
        422,
        (
            "Failed to deserialize the JSON body into the target type: invalid value "
            "for `dimensions`"
        ),
    )
    assert len(said(tei(), {"inputs": "a", "dimensions": 1})[0]) == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([], "invalid type, expected a map"),
        ({}, "missing field `inputs`"),
        ({"inputs": ["a", 1]}, "data did not match any variant of untagged enum Input"),
    ],
)
def test_tei_says_what_is_no_request(body: Untyped, message: str) -> None:
    """
    In Axum's words.
    """
    assert refused(tei(), body) == (
        422,
        f"Failed to deserialize the JSON body into the target type: {message}",
    )


def test_a_text_of_tei_says_something_and_is_not_too_long() -> None:
    """
    A request says whether it is cut, or else a variable does.
    """
    long = {"inputs": "a " * 513}
    cutting = tei(AUTO_TRUNCATE="true")

    assert refused(tei(), {"inputs": ""}) == (
        400,
        (
            '{"error":"Input validation error: `inputs` cannot be empty",'
            '"error_type":"empty"}'
        ),
    )
    assert refused(cutting, {**long, "truncate": False})[0] == 413
    assert refused(tei(AUTO_TRUNCATE="false"), long)[0] == 413
    assert said(cutting, long) == said(cutting, {"inputs": "a " * 512 + "b"})
    assert said(cutting, long) == [
        [pytest.approx(one) for one in said(tei(), {"inputs": ("a " * 512).strip()})[0]]
    ]


def test_a_model_that_tei_does_not_know_does_as_it_is_asked() -> None:
    """
    It ranks what has a query, and embeds anything else, in 16 numbers.
    """
    unknown = tei("nobody/knows")

    assert [
        it["index"] for it in said(unknown, {"query": "a", "texts": ["b", "a"]})
    ] == [
        *(1, 0),
    ]
    assert len(said(unknown, {"inputs": "a"})[0]) == 16


def test_a_ranking_of_tei_has_the_score_of_each_text() -> None:
    """
    A score is of the words that both have; a text is repeated where it is asked for.
    """
    engine = tei("BAAI/bge-reranker-base")
    body = {"query": "a b", "texts": ["x", "a"]}

    assert said(engine, body) == [
        {"index": 1, "score": 0.5},
        {"index": 0, "score": 0.01},
    ]
    assert refused(engine, {"query": "a", "texts": None})[1].endswith(
        "missing field `texts`"
    )
    assert refused(engine, {"query": "a b", "texts": ["a " * 511]})[0] == 413
