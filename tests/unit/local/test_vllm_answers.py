"""
What vLLM answers, by release, by model and by route.
"""

from __future__ import annotations

import base64
import struct
from typing import Any

import pytest

from cdk_sagemaker_llm.local.engines.containers import StartedEngine
from tests.unit.local.engine_requests import (
    QUESTION,
    events,
    nested,
    refused,
    said,
    started,
)

NEW = ("vllm-server", "2.6")
WRITES = "Qwen/Qwen3-0.6B"
EMBEDS = "BAAI/bge-small-en-v1.5"
RANKS = "BAAI/bge-reranker-base"
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        },
    },
}


def vllm(image: tuple[str, str] = NEW, **variables: str) -> StartedEngine:
    """
    Start vLLM with a model that writes, if nothing else is said.
    """
    return started(*image, **{"SM_VLLM_MODEL": WRITES, **variables})


def test_a_chat_has_all_that_vllm_writes() -> None:
    """
    Key by key, with what is not set.
    """
    found = said(vllm(), {**QUESTION, "max_tokens": 2})
    text = found["choices"][0]["message"]["content"]
    assert found["id"].startswith("chatcmpl-")
    assert {**found, "id": 0, "created": 0} == {
        "id": 0,
        "object": "chat.completion",
        "created": 0,
        "model": WRITES,
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": text,
                    "refusal": None,
                    "annotations": None,
                    "audio": None,
                    "function_call": None,
                    "reasoning": None,
                },
                "logprobs": None,
                "finish_reason": "length",
                "stop_reason": None,
                "token_ids": None,
            }
        ],
        "service_tier": None,
        "system_fingerprint": None,
        "usage": {
            "prompt_tokens": 3,
            "total_tokens": 5,
            "completion_tokens": 2,
            "prompt_tokens_details": None,
        },
        "prompt_logprobs": None,
        "prompt_token_ids": None,
        "kv_transfer_params": None,
    }


@pytest.mark.parametrize(
    ("version", "keys"),
    [
        ("0.13.0", {"reasoning", "reasoning_content"}),
        ("0.15.1", {"reasoning", "reasoning_content"}),
        ("0.16.0", {"reasoning"}),
    ],
)
def test_a_message_changes_with_the_release(version: str, keys: set[str]) -> None:
    """
    ``reasoning_content`` goes with 0.16.
    """
    message = said(vllm(("vllm", version)), QUESTION)["choices"][0]["message"]
    assert set(message) & {"reasoning", "reasoning_content"} == keys


def test_several_choices_are_counted_together() -> None:
    """
    Each has its index, streamed too.
    """
    engine = vllm()
    found = said(engine, {**QUESTION, "max_tokens": 3, "n": 2})
    assert [choice["index"] for choice in found["choices"]] == [0, 1]
    assert found["usage"]["completion_tokens"] == 6
    streamed = events(engine, {**QUESTION, "max_tokens": 1, "n": 2})
    assert [chunk["choices"][0]["index"] for chunk in streamed] == [0, 1, 0, 0, 1, 1]


def test_a_stop_string_ends_the_answer_before_it() -> None:
    """
    And is named.
    """
    engine = vllm()
    text = said(engine, QUESTION)["choices"][0]["message"]["content"]
    stop = text.split()[2]
    (choice,) = said(engine, {**QUESTION, "stop": [stop]})["choices"]
    assert choice["message"]["content"] == text[: text.index(stop)]
    assert (choice["finish_reason"], choice["stop_reason"]) == ("stop", stop)
    assert said(engine, {**QUESTION, "stop": stop})["choices"][0]["stop_reason"] == stop


def test_usage_ends_a_stream_where_it_is_asked_for() -> None:
    """
    And is not there otherwise.
    """
    engine = vllm()
    told = {**QUESTION, "max_tokens": 1, "stream_options": {"include_usage": True}}
    *_, last = events(engine, told)
    assert last["choices"] == []
    assert last["usage"]["total_tokens"] == 4
    chunks = events(engine, {**QUESTION, "max_tokens": 1})
    assert not any("usage" in chunk for chunk in chunks)
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [
        None,
        None,
        "length",
    ]


def test_thoughts_come_first_where_a_parser_takes_them_apart() -> None:
    """
    Unless the request says that the model is not to think.
    """
    engine = vllm(SM_VLLM_REASONING_PARSER="qwen3")
    message = said(engine, QUESTION)["choices"][0]["message"]
    other = {**QUESTION, "chat_template_kwargs": {"enable_thinking": True}}
    assert said(engine, other)["choices"][0]["message"] == message
    bare = {**QUESTION, "chat_template_kwargs": {"enable_thinking": False}}
    plain = said(engine, bare)["choices"][0]["message"]
    assert plain["reasoning"] is None
    assert message["reasoning"] + message["content"] == plain["content"]
    deltas = [chunk["choices"][0]["delta"] for chunk in events(engine, QUESTION)]
    thought = "".join(delta.get("reasoning", "") for delta in deltas)
    assert thought == message["reasoning"]


def test_a_tool_is_called_once_and_then_answered() -> None:
    """
    The arguments fit its schema.
    """
    engine = vllm(
        SM_VLLM_ENABLE_AUTO_TOOL_CHOICE="true", SM_VLLM_TOOL_CALL_PARSER="hermes"
    )
    asked: dict[str, Any] = {**QUESTION, "tools": [WEATHER]}
    (choice,) = said(engine, asked)["choices"]
    (call,) = choice["message"]["tool_calls"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None
    assert call["id"].startswith("chatcmpl-tool-")
    assert call["function"] == {
        "name": "weather",
        "arguments": '{"city": "text", "days": 1}',
    }
    deltas = [chunk["choices"][0]["delta"] for chunk in events(engine, asked)]
    begun, written = [
        delta["tool_calls"][0] for delta in deltas if "tool_calls" in delta
    ]
    assert begun.pop("id").startswith("chatcmpl-tool-")
    assert begun == {
        "type": "function",
        "index": 0,
        "function": {"name": "weather", "arguments": ""},
    }
    assert written == {
        "index": 0,
        "function": {"arguments": '{"city": "text", "days": 1}'},
    }
    told = {"role": "tool", "content": "sunny", "tool_call_id": call["id"]}
    answered = {**asked, "messages": [*QUESTION["messages"], told]}
    assert said(engine, answered)["choices"][0]["finish_reason"] == "stop"
    silent = {**asked, "tool_choice": "none"}
    assert said(engine, silent)["choices"][0]["message"]["content"]


def test_the_tool_that_is_named_is_called() -> None:
    """
    Else the first that is one.
    """
    engine = vllm(
        SM_VLLM_ENABLE_AUTO_TOOL_CHOICE="true", SM_VLLM_TOOL_CALL_PARSER="hermes"
    )
    other = {"type": "function", "function": {"name": "time"}}
    named = {"type": "function", "function": {"name": "time"}}
    asked = {**QUESTION, "tools": [WEATHER, other]}
    for choice, name in (("required", "weather"), ("auto", "weather"), (named, "time")):
        found = said(engine, {**asked, "tool_choice": choice})["choices"][0]
        (call,) = found["message"]["tool_calls"]
        assert call["function"]["name"] == name


def test_tools_need_a_parser() -> None:
    """
    Also one that is named.
    """
    asked = {**QUESTION, "tools": [WEATHER]}
    assert refused(vllm(), asked) == nested(
        '"auto" tool choice requires --enable-auto-tool-choice and '
        "--tool-call-parser to be set"
    )
    named = {"type": "function", "function": {"name": "weather"}}
    assert refused(vllm(), {**asked, "tool_choice": named}) == nested(
        'tool_choice=function "weather" requires --tool-call-parser to be set'
    )


@pytest.mark.parametrize(
    ("fields", "message", "field"),
    [
        (
            {"stream_options": {"include_usage": True}},
            "Stream options can only be defined when `stream=True`.",
            "stream_options",
        ),
        (
            {"tool_choice": "auto"},
            "When using `tool_choice`, `tools` must be set.",
            "tool_choice",
        ),
    ],
)
def test_fields_that_do_not_go_together(
    fields: dict[str, Any], message: str, field: str
) -> None:
    """
    vLLM says so, and names the field.
    """
    asked = {**QUESTION, **fields}
    assert refused(vllm(), asked) == nested(f"{message} (parameter={field})", field)


@pytest.mark.parametrize(
    "body",
    [{"inputs": "Who?"}, {"input": "Who?"}, {**QUESTION, "max_tokens": "2"}, {}],
    ids=["TGI's", "an embedding", "a text for a number", "nothing"],
)
def test_a_body_of_no_type(body: dict[str, Any]) -> None:
    """
    The completion's own check answers, whatever was meant.
    """
    assert refused(vllm(), body) == nested(
        "Either prompt or prompt_embeds must be provided and non-empty. "
        "(parameter=prompt)",
        "prompt",
    )


def test_a_prompt_that_is_too_long() -> None:
    """
    It reads one token more than there is room for, and says at least.
    """
    new = vllm(SM_VLLM_MAX_MODEL_LEN="8")
    assert said(new, {**QUESTION, "max_tokens": 5})
    assert refused(new, {**QUESTION, "max_tokens": 6}) == nested(
        "This model's maximum context length is 8 tokens. However, you requested 6 "
        "output tokens and your prompt contains at least 3 input tokens, for a total "
        "of at least 9 tokens. Please reduce the length of the input prompt or the "
        "number of requested output tokens. (parameter=input_tokens, value=3)",
        "input_tokens",
    )
    assert refused(new, {**QUESTION, "max_completion_tokens": 9}) == nested(
        "max_completion_tokens=9 cannot be greater than max_model_len="
        "max_total_tokens=8. Please request fewer output tokens. "
        "(parameter=max_completion_tokens, value=9)",
        "max_completion_tokens",
    )
    long = {"messages": [{"role": "user", "content": "a " * 8}]}
    assert refused(new, long) == nested(
        "max_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)",
        "max_tokens",
    )
    longer = {"messages": [{"role": "user", "content": "a " * 9}]}
    assert "you requested 0 output tokens" in refused(new, longer)[1]


def test_the_context_is_the_models_own_if_nothing_is_said() -> None:
    """
    Of Qwen 3 it is 40,960 tokens.
    """
    assert vllm().context_length == 40_960
    assert vllm(SM_VLLM_MAX_MODEL_LEN="auto").context_length == 40_960
    assert vllm(SM_VLLM_MAX_MODEL_LEN="2k").context_length == 2000
    assert said(vllm(), {**QUESTION, "max_tokens": 40_957})
    assert refused(vllm(), {**QUESTION, "max_tokens": 40_958})[0] == 400


def test_the_answer_has_at_least_one_token() -> None:
    """
    None is too few.
    """
    assert refused(vllm(), {**QUESTION, "max_tokens": 0}) == nested(
        "max_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)",
        "max_tokens",
    )


def test_a_completion_of_several_prompts() -> None:
    """
    Each has a choice, of 16 tokens if nothing is said.
    """
    found = said(vllm(), {"prompt": ["Once", "Twice"], "logprobs": 1, "echo": True})
    assert found["object"] == "text_completion"
    assert [choice["index"] for choice in found["choices"]] == [0, 1]
    assert found["choices"][1]["text"].startswith("Twice ")
    assert found["usage"]["completion_tokens"] == 32
    told = found["choices"][0]["logprobs"]
    assert told["text_offset"][:2] == [0, len(told["tokens"][0])]


def test_a_completion_has_all_that_vllm_writes() -> None:
    """
    What it does not know is ``null``.
    """
    found = said(vllm(), {"prompt": "Once", "max_tokens": 1, "n": 2})
    assert found.pop("id").startswith("cmpl-")
    assert found.pop("created") > 0
    assert found["choices"][1].pop("text")
    assert found["choices"][1] == {
        "index": 1,
        "logprobs": None,
        "finish_reason": "length",
        "stop_reason": None,
        "token_ids": None,
        "prompt_logprobs": None,
        "prompt_token_ids": None,
    }
    del found["choices"]
    assert found == {
        "object": "text_completion",
        "model": WRITES,
        "service_tier": None,
        "system_fingerprint": None,
        "usage": {
            "prompt_tokens": 1,
            "total_tokens": 3,
            "completion_tokens": 2,
            "prompt_tokens_details": None,
        },
        "kv_transfer_params": None,
    }


def test_a_completion_is_streamed_word_by_word() -> None:
    """
    The prompt first where it is asked for, and the usage last.
    """
    asked = {"prompt": "Once", "max_tokens": 2}
    text = said(vllm(), asked)["choices"][0]["text"]
    told = {**asked, "echo": True, "stream_options": {"include_usage": True}}
    prompt, *words, end, usage = events(vllm(), told)
    assert prompt["choices"] == [
        {"index": 0, "text": "Once", "logprobs": None, "finish_reason": None}
    ]
    assert "".join(word["choices"][0]["text"] for word in words) == text
    assert len(words) == 2
    assert end["choices"] == [
        {
            "index": 0,
            "text": "",
            "logprobs": None,
            "finish_reason": "length",
            "stop_reason": None,
        }
    ]
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] == 2
    bare = events(vllm(), asked)
    assert len(bare) == 3
    assert not any("usage" in chunk for chunk in bare)


def test_tokens_are_a_prompt_too() -> None:
    """
    One of them, or several lists; what is neither is no prompt.
    """
    one = said(vllm(), {"prompt": [1, 2, 3], "echo": True, "max_tokens": 1})
    assert one["choices"][0]["text"].startswith("1 2 3")
    assert len(one["choices"]) == 1
    two = said(vllm(), {"prompt": [[1, 2], [3]], "echo": True, "max_tokens": 1})
    first, second = [choice["text"] for choice in two["choices"]]
    assert first.startswith("1 2")
    assert second.startswith("3")
    for prompt in ([], "", [1, "a"], [True], [[1], 2]):
        assert refused(vllm(), {"prompt": prompt})[0] == 400


@pytest.mark.parametrize(
    "fields",
    [
        {"temperature": True},
        {"max_tokens": True},
        {"top_p": "0.5"},
        {"stream": 1},
        {"top_logprobs": 1.5},
        {"seed": 1.5},
        {"logprobs": 1},
    ],
    ids=str,
)
def test_fields_of_another_type(fields: dict[str, Any]) -> None:
    """
    Neither is a truth a number, nor a number a truth.
    """
    assert refused(vllm(), {**QUESTION, **fields})[0] == 400


def test_answers_are_one_to_16384() -> None:
    """
    As VLLM_MAX_N_SEQUENCES has it.
    """
    for number in (0, 16_385):
        body = {"prompt": "Once", "n": number, "max_tokens": 1}
        assert refused(vllm(), body) == nested(
            f"n must be 1 to 16384, got {number}. (parameter=n, value={number})", "n"
        )


def test_a_decoder_embeds_by_its_name() -> None:
    """
    However it is written; the name of its folder says nothing.
    """
    for name in ("Qwen/Qwen3-Embedding-0.6B", "Qwen/qwen3-embedding-0.6b"):
        assert said(vllm(SM_VLLM_MODEL=name), {"input": "one"})["data"]
    writes = vllm(SM_VLLM_MODEL="embedders/Qwen3-0.6B", SM_VLLM_MAX_MODEL_LEN="2048")
    assert said(writes, {**QUESTION, "max_tokens": 1})["choices"]


def test_a_model_that_embeds_does_nothing_else() -> None:
    """
    Vectors are as long as the model is wide.
    """
    engine = vllm(SM_VLLM_MODEL=EMBEDS)
    found = said(engine, {"input": ["one", "two"]})
    assert [len(one["embedding"]) for one in found["data"]] == [384, 384]
    assert found["usage"]["prompt_tokens"] == 2
    packed = said(engine, {"input": "one", "encoding_format": "base64"})
    raw = base64.b64decode(packed["data"][0]["embedding"])
    numbers = struct.unpack("<384f", raw)
    assert numbers == pytest.approx(found["data"][0]["embedding"], abs=1e-6)
    assert refused(engine, {"prompt": "Once"}) == nested(
        "Cannot find suitable handler for request. Expected one of: "
        "['EmbeddingRequest', 'RerankRequest']"
    )


def test_a_model_that_ranks() -> None:
    """
    The most relevant first, as many as are asked for.
    """
    engine = vllm(SM_VLLM_MODEL=RANKS)
    asked = {"query": "red apple", "documents": ["stone", "a red apple", "red"]}
    found = said(engine, {**asked, "top_n": 2})
    assert [one["index"] for one in found["results"]] == [1, 2]
    assert found["results"][0]["document"] == {
        "text": "a red apple",
        "multi_modal": None,
    }
    assert found["usage"] == {"prompt_tokens": 7, "total_tokens": 7}
    assert refused(engine, {"input": "one"})[0] == 400


def test_a_runner_that_is_told_wins() -> None:
    """
    A model that writes can be made to embed.
    """
    engine = vllm(SM_VLLM_RUNNER="pooling")
    assert said(engine, {"input": "one"})["data"]
    assert engine.kind == "embed"
    assert vllm(SM_VLLM_CONVERT="classify").kind == "classify"
    assert vllm(SM_VLLM_MODEL="nobody/knows").kind is None


def test_a_route_of_another_kind_of_model_is_not_there() -> None:
    """
    With Starlette's own refusal.
    """
    found = refused(vllm(), QUESTION, attributes="route=/v1/embeddings")
    assert found == (404, '{"detail":"Not Found"}')


def test_a_model_of_classes_is_not_emulated() -> None:
    """
    Whatever it is asked.
    """
    status, told = refused(vllm(SM_VLLM_CONVERT="classify"), {"input": "one"})
    assert status == 501
    assert "does not emulate models that classify" in told


def test_a_route_is_read_up_to_a_blank_or_a_comma() -> None:
    """
    There the model's name counts; on ``/invocations`` it does not.
    """
    engine = vllm(SM_VLLM_SERVED_MODEL_NAME='["one","two"]')
    route = "trace=7,route=/v1/chat/completions, x"
    named = {**QUESTION, "model": "two"}
    assert said(engine, named, attributes=route)["model"] == "two"
    assert said(engine, named)["model"] == "one"
    other = {**QUESTION, "model": "three"}
    assert said(engine, other)["model"] == "one"
    assert refused(engine, other, attributes=route) == nested(
        "The model `three` does not exist.", "model", kind="NotFoundError", code=404
    )
    old = vllm(("vllm", "0.30.0"))
    assert said(old, other, attributes=route)["model"] == WRITES


def test_a_path_that_is_called_wins_over_attributes() -> None:
    """
    In every image; an empty name is the model's own there.
    """
    for image in (NEW, ("vllm", "0.30.0")):
        engine = vllm(image)
        called: dict[str, str] = {
            "path": "/v1/chat/completions",
            "attributes": "route=/v1/embeddings",
        }
        assert said(engine, {**QUESTION, "model": ""}, **called)["model"] == WRITES
        assert refused(engine, {**QUESTION, "model": "three"}, **called)[0] == 404


@pytest.mark.parametrize(
    ("switches", "status"),
    [
        ({"SM_VLLM_ENABLE_LORA": "true", "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1"}, 200),
        ({}, 404),
    ],
    ids=["lora", "none"],
)
def test_an_adapter_answers_at_a_path_that_is_called(
    switches: dict[str, str], status: int
) -> None:
    """
    Whatever the body calls the model; at one that attributes name, the body counts.
    """
    engine = vllm(NEW, **switches)
    path = "/v1/chat/completions"
    body = {**QUESTION, "model": WRITES, "max_tokens": 2}

    at_attributes = said(engine, body, adapter="own", attributes=f"route={path}")
    assert at_attributes["model"] == WRITES
    if status == 200:
        assert said(engine, body, adapter="own", path=path)["model"] == "own"
    else:
        assert refused(engine, body, adapter="own", path=path)[0] == status


@pytest.mark.parametrize(
    "route", ["/v1/responses", "/v1/audio/speech", "/tokenize", "/v1/no/such"]
)
def test_what_is_not_emulated_says_so(route: str) -> None:
    """
    In place of an answer that vLLM would not give.
    """
    status, told = refused(vllm(), {}, attributes=f"route={route}")
    assert status == 501
    assert f"The embedded AWS does not emulate {route} of vLLM." in told


@pytest.mark.parametrize("more", [{"session": "one"}, {}], ids=["one", "new"])
def test_sessions_are_not_emulated(more: dict[str, str]) -> None:
    """
    Neither one that is named nor one that begins.
    """
    body = QUESTION if more else {"requestType": "NEW_SESSION"}

    assert refused(vllm(), body, **more) == nested(
        "The embedded AWS does not emulate sessions.",
        kind="NotImplementedError",
        code=501,
    )


def test_what_is_no_json_is_refused() -> None:
    """
    By what it says it is, and by what it is.
    """
    assert refused(vllm(), QUESTION, content_type="text/plain") == nested(
        "1 validation error:\n"
        "  Unsupported Media Type: Only 'application/json' is allowed",
        kind="Bad Request",
    )
    assert said(vllm(), QUESTION, content_type="application/json; charset=utf-8")


def test_neuron_holds_to_the_models_name() -> None:
    """
    Its vLLM is older than SageMaker's standards.
    """
    engine = started("huggingface-vllm-neuronx", "0.4.4", SM_ON_MODEL="a/b")
    message = said(engine, {**QUESTION, "model": "a/b"})["choices"][0]["message"]
    assert message["reasoning_content"] is None
    assert "reasoning" not in message
    assert refused(engine, {**QUESTION, "model": "x"})[0] == 404


def test_a_streamed_token_has_its_probability_where_it_is_asked_for() -> None:
    """
    Each in a chunk of its own, with where it begins.
    """
    asked = {"prompt": "Once", "max_tokens": 2}
    whole = said(vllm(), {**asked, "logprobs": 1})["choices"][0]["logprobs"]
    *words, end = events(vllm(), {**asked, "logprobs": 1, "echo": True})[1:]
    told = [word["choices"][0]["logprobs"] for word in words]

    assert len(told) == 2
    assert {name: [*map(list.pop, (one[name] for one in told))] for name in whole} == (
        whole
    )
    assert end["choices"][0]["logprobs"] is None
