"""
What SGLang, llama.cpp, TEI and vLLM-Omni answer.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from cdk_sagemaker_llm.local.engines.containers import StartedEngine
from tests.unit.local.engine_requests import (
    QUESTION,
    events,
    refused,
    said,
    started,
)

TEI = ("tei", "1.8.2")
LLAMA = ("llama-cpp", "1.0.1")
HF_LLAMA = ("huggingface-llamacpp", "b9522")


def sglang(**variables: str) -> StartedEngine:
    """
    Start SGLang.
    """
    told = {"SM_SGLANG_MODEL_PATH": "Qwen/Qwen3-0.6B", **variables}
    return started("sglang-server", "1.4", **told)


def tei(model: str, image: tuple[str, str] = TEI, **variables: str) -> StartedEngine:
    """
    Start TEI.
    """
    return started(*image, HF_MODEL_ID=model, **variables)


def flat(message: str, kind: str = "BadRequest") -> tuple[int, str]:
    """
    Return a refusal as SGLang writes it.
    """
    error = {"object": "error", "message": message, "type": kind}
    told = {**error, "param": None, "code": 400}
    return 400, json.dumps(told, separators=(",", ":"))


def test_sglang_answers_chats() -> None:
    """
    In its own words.
    """
    found = said(sglang(), {**QUESTION, "max_tokens": 2, "model": "any"})
    (choice,) = found["choices"]
    assert choice == {
        "index": 0,
        "message": {
            "role": "assistant",
            "content": choice["message"]["content"],
            "reasoning_content": None,
        },
        "logprobs": None,
        "finish_reason": "length",
        "matched_stop": None,
    }
    assert found["model"] == "any"
    assert found["metadata"] == {"weight_version": "default"}
    assert events(sglang(), {**QUESTION, "max_tokens": 1})[1]["usage"] is None


def test_sglang_answers_as_it_is_asked() -> None:
    """
    By the name that it is called, and with thoughts where a parser takes them apart.
    """
    plain = said(sglang(), QUESTION)
    assert plain["model"] == "default"
    assert said(sglang(), {**QUESTION, "model": "any"})["model"] == "any"
    thinking = said(sglang(SM_SGLANG_REASONING_PARSER="qwen3"), QUESTION)
    message = thinking["choices"][0]["message"]
    whole_text = plain["choices"][0]["message"]["content"]
    assert message["reasoning_content"] + message["content"] == whole_text


def test_the_served_name_of_sglang_may_have_a_colon() -> None:
    """
    It is no adapter then.
    """
    engine = sglang(SM_SGLANG_SERVED_MODEL_NAME="own:name")
    assert said(engine, {**QUESTION, "model": "own:name"})["model"] == "own:name"
    assert refused(engine, {**QUESTION, "model": "own:name:one"}) == flat(
        "LoRA is not enabled. Please set `--enable-lora` to enable LoRA."
    )


def test_sglang_refuses_what_is_no_chat() -> None:
    """
    With a flat error, and never a 422.
    """
    status, told = refused(sglang(), {"prompt": "Once"})
    assert status == 400
    assert json.loads(told)["type"] == "Bad Request"
    assert "'loc': ('body', 'messages'), 'msg': 'Field required'" in told
    assert refused(sglang(), {"messages": []}) == flat(
        "Messages cannot be empty.", "BadRequestError"
    )


def test_sglang_refuses_or_cuts_what_is_too_long() -> None:
    """
    As it was told.
    """
    told = {"SM_SGLANG_CONTEXT_LENGTH": "4"}
    engine = sglang(**told)
    assert said(engine, {**QUESTION, "max_tokens": 1})
    assert refused(engine, {**QUESTION, "max_tokens": 2})[1].startswith(
        '{"object":"error","message":"Requested token count exceeds the model\'s '
        "maximum context length of 4 tokens. You requested a total of 5 tokens: 3 "
    )
    long = {"messages": [{"role": "user", "content": "a b c d"}]}
    assert refused(engine, long) == flat(
        "The input (4 tokens) is longer than the model's context length (4 tokens)."
    )
    cutting = sglang(**told, SM_SGLANG_ALLOW_AUTO_TRUNCATE="true")
    assert said(cutting, {**long, "max_tokens": 9})["usage"] == {
        "prompt_tokens": 3,
        "total_tokens": 4,
        "completion_tokens": 1,
        "prompt_tokens_details": None,
        "reasoning_tokens": 0,
    }


def test_sglang_takes_adapters_by_name() -> None:
    """
    Behind a colon, or in a field of their own.
    """
    engine = sglang(SM_SGLANG_ENABLE_LORA="true", SM_SGLANG_LORA_PATHS="one=/a")
    model = "Qwen/Qwen3-0.6B:one"
    assert said(engine, {**QUESTION, "model": model})["model"] == model
    assert said(engine, {**QUESTION, "lora_path": "one"})
    status, told = refused(engine, {**QUESTION, "model": "base:two"})
    assert status == 400
    assert "The following requested LoRA adapters are not loaded: two" in told
    assert refused(sglang(), {**QUESTION, "lora_path": "one"}) == flat(
        "LoRA is not enabled. Please set `--enable-lora` to enable LoRA."
    )


def test_llama_cpp_of_aws_takes_chats_alone() -> None:
    """
    Whatever the route.
    """
    engine = started(*LLAMA, "model.gguf", SM_LLAMA_CPP_CTX_SIZE="8")
    found = said(engine, {**QUESTION, "max_tokens": 2}, attributes="route=/props")
    assert found["model"] == "/opt/ml/model/model.gguf"
    assert found["choices"][0]["finish_reason"] == "length"
    assert refused(engine, {"prompt": "Once"}) == (
        400,
        (
            '{"error":{"code":400,"message":"\'messages\' is required",'
            '"type":"invalid_request_error"}}'
        ),
    )
    long = {"messages": [{"role": "user", "content": "a " * 8}]}
    assert refused(engine, long) == (
        400,
        (
            '{"error":{"code":400,"message":"request (8 tokens) exceeds the available '
            'context size (8 tokens), try increasing it","type":'
            '"exceed_context_size_error","n_prompt_tokens":8,"n_ctx":8}}'
        ),
    )


def test_llama_cpp_counts_and_calls() -> None:
    """
    A tool is called with nothing said.
    """
    engine = started(*LLAMA, "model.gguf", SM_LLAMA_CPP_JINJA="true")
    plain = said(engine, {**QUESTION, "max_tokens": 2})
    assert plain["usage"] == {
        "completion_tokens": 2,
        "prompt_tokens": 3,
        "total_tokens": 5,
    }
    assert plain["choices"][0]["message"].keys() == {"role", "content"}
    tool = {"type": "function", "function": {"name": "now"}}
    (choice,) = said(engine, {**QUESTION, "tools": [tool]})["choices"]
    (call,) = choice["message"]["tool_calls"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] == ""
    assert call["function"] == {"name": "now", "arguments": "{}"}


def test_llama_cpp_of_hugging_face_routes() -> None:
    """
    By the header, or else by the body's key.
    """
    engine = started(*HF_LLAMA, SM_LLAMACPP_HF_REPO="a/b", SM_LLAMACPP_EMBEDDINGS="")
    assert said(engine, {"prompt": "Once"})["object"] == "text_completion"
    assert said(engine, {"input": "Once"})["object"] == "list"
    assert said(engine, QUESTION, attributes="route=/v1/chat/completions;x=1")
    ranking = {"query": "a", "documents": ["b"]}
    status, told = refused(engine, ranking, attributes="route=/rerank")
    assert status == 501
    assert "does not support reranking. Start it with `--reranking`" in told
    assert refused(engine, {}, attributes="route=/props")[0] == 501


def test_tei_embeds() -> None:
    """
    A text or many, each a vector as long as the model is wide.
    """
    engine = tei("BAAI/bge-small-en-v1.5")
    (one,) = said(engine, {"inputs": "one"})
    assert len(one) == 384
    assert sum(value * value for value in one) == pytest.approx(1, abs=1e-3)
    (long,) = said(engine, {"inputs": "one", "normalize": False})
    assert sum(value * value for value in long) > 1.5


@pytest.mark.parametrize(
    ("version", "too_much"), [("1.6.0", 413), ("1.8.2", 413), ("1.9.3", 422)]
)
def test_tei_refuses_with_codes_of_its_release(version: str, too_much: int) -> None:
    """
    Too many, too long and too little.
    """
    engine = tei("BAAI/bge-small-en-v1.5", ("tei", version))
    assert said(engine, {"inputs": ["a"] * 32})
    assert refused(engine, {"inputs": ["a"] * 33}) == (
        too_much,
        (
            '{"error":"batch size 33 > maximum allowed batch size 32",'
            '"error_type":"validation"}'
        ),
    )
    assert said(engine, {"inputs": "a " * 512})
    assert refused(engine, {"inputs": "a " * 513}) == (
        too_much,
        (
            '{"error":"Input validation error: `inputs` must have less than 512 '
            'tokens. Given: 513","error_type":"validation"}'
        ),
    )
    assert said(engine, {"inputs": "a " * 513, "truncate": True})
    assert refused(engine, {"inputs": []}) == (
        400,
        '{"error":"`inputs` cannot be empty","error_type":"empty"}',
    )


def test_tei_has_limits_that_can_be_set() -> None:
    """
    Each text takes one of the places for requests.
    """
    wide = tei(
        "BAAI/bge-small-en-v1.5",
        MAX_CLIENT_BATCH_SIZE="40",
        MAX_CONCURRENT_REQUESTS="35",
        AUTO_TRUNCATE="true",
    )
    assert said(wide, {"inputs": ["a"] * 35})
    assert refused(wide, {"inputs": ["a"] * 36}) == (
        429,
        '{"error":"Model is overloaded","error_type":"overloaded"}',
    )
    assert said(wide, {"inputs": "a " * 513})


def test_tei_ranks() -> None:
    """
    With a model that does nothing else.
    """
    engine = tei("BAAI/bge-reranker-base")
    asked: dict[str, Any] = {"query": "a b", "texts": ["x", "a b"]}
    ranked = said(engine, {**asked, "return_text": True})
    assert [(one["index"], one["text"]) for one in ranked] == [(1, "a b"), (0, "x")]
    assert [set(one) for one in said(engine, asked)] == [{"index", "score"}] * 2
    assert refused(engine, {"inputs": "one"}) == (
        422,
        (
            "Failed to deserialize the JSON body into the target type: missing field "
            "`query`"
        ),
    )


def test_what_tei_does_beside_is_not_emulated() -> None:
    """
    Classes, sparse vectors, and how alike sentences are.
    """
    config = {
        "architectures": ["BertForSequenceClassification"],
        "model_type": "bert",
        "hidden_size": 384,
        "intermediate_size": 1536,
        "num_hidden_layers": 2,
        "num_attention_heads": 12,
        "vocab_size": 30522,
        "max_position_embeddings": 512,
        "id2label": {"0": "A", "1": "B", "2": "C"},
    }
    classes = started(
        *TEI, "config.json", config=json.dumps(config), HF_MODEL_ID="/opt/ml/model"
    )
    sparse = tei("BAAI/bge-small-en-v1.5", POOLING="splade")
    pairs = tei("BAAI/bge-small-en-v1.5", TASK="sentence-similarity")

    for engine in (classes, sparse, pairs):
        assert refused(engine, {"inputs": "good"}) == (
            501,
            "The embedded AWS emulates embeddings and rankings of TEI alone.",
        )


def test_tei_reads_json_alone() -> None:
    """
    In the words of its framework.
    """
    engine = tei("BAAI/bge-small-en-v1.5")
    assert refused(engine, {"inputs": "a"}, content_type="text/csv") == (
        415,
        "Expected request with `Content-Type: application/json`",
    )
    assert refused(engine, {"inputs": 1})[0] == 422
    assert refused(engine, {})[0] == 422


def test_vllm_omni_answers_as_vllm() -> None:
    """
    Chats; of sound and images it says that they are not emulated.
    """
    omni = started("vllm-omni", "1.6", SM_VLLM_MODEL="Qwen/Qwen3-TTS")

    assert said(omni, QUESTION)["object"] == "chat.completion"
    assert refused(omni, {}, attributes="route=/v1/audio/speech")[0] == 501


def test_a_path_for_chats_is_called_of_any_engine() -> None:
    """
    llama.cpp does not go by the body then; TEI has none.
    """
    path = "/v1/chat/completions"
    llama = started(*HF_LLAMA, SM_LLAMACPP_HF_REPO="a/b")

    assert said(sglang(), QUESTION, path=path)["object"] == "chat.completion"
    assert said(llama, QUESTION, path=path)["object"] == "chat.completion"
    status, told = refused(llama, {"input": "one"}, path=path)
    assert (status, "'messages' is required" in told) == (400, True)
    assert refused(tei("BAAI/bge-small-en-v1.5"), {"inputs": "a"}, path=path) == (
        404,
        "",
    )
