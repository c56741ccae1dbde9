"""
Vectors, rankings and models, as far as engines agree on them.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.engines.containers import StartedEngine, read_model
from cdk_sagemaker_llm.local.engines.story import say
from tests.unit.local.engine_requests import (
    QUESTION,
    events,
    nested,
    refused,
    said,
    started,
    whole,
)

NEW = ("vllm-server", "2.6")
EMBEDS = "BAAI/bge-small-en-v1.5"
RANKS = "BAAI/bge-reranker-base"
UNKNOWN = "nobody/knows"
LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
    "vocab_size": 100,
    "max_position_embeddings": 77,
}


def vllm(model: str, **variables: str) -> StartedEngine:
    """
    Start vLLM with a model.
    """
    return started(*NEW, SM_VLLM_MODEL=model, **variables)


def test_an_answer_of_vectors_has_all_that_vllm_writes() -> None:
    """
    Rounded as the stand-in writes them.
    """
    body = {"input": ["one two", "one"], "dimensions": 2}
    found = said(vllm(EMBEDS), body)

    assert found.pop("id").startswith("embd-")
    assert found.pop("created") > 1_700_000_000
    assert [it.pop("embedding") for it in found["data"]] == [
        said(vllm(EMBEDS), {**body, "input": text})["data"][0]["embedding"]
        for text in ("one two", "one")
    ]
    assert found == {
        "object": "list",
        "model": EMBEDS,
        "data": [
            {"index": 0, "object": "embedding"},
            {"index": 1, "object": "embedding"},
        ],
        "usage": {
            "prompt_tokens": 3,
            "total_tokens": 3,
            "completion_tokens": 0,
            "prompt_tokens_details": None,
        },
    }


@pytest.mark.parametrize("size", [0, 385, -1, "2"])
def test_a_vector_is_as_long_as_its_model_or_shorter(size: Untyped) -> None:
    """
    From one number on.
    """
    message = f"dimensions must be between 1 and 384, got {size!r}"
    body = {"input": "one", "dimensions": size}

    assert refused(vllm(EMBEDS), body) == nested(message)
    for allowed in (1, 384):
        answer = said(vllm(EMBEDS), {**body, "dimensions": allowed})
        assert len(answer["data"][0]["embedding"]) == allowed


def test_a_model_that_is_not_known_has_vectors_of_16() -> None:
    """
    Unless a request says how long; and up to what is wider than any model.
    """
    engine = vllm(UNKNOWN)

    assert len(said(engine, {"input": "one"})["data"][0]["embedding"]) == 16
    assert refused(engine, {"input": "one", "dimensions": 32_769}) == nested(
        "dimensions must be between 1 and 32768, got 32769"
    )


def test_messages_are_embedded_as_one_text() -> None:
    """
    Where the model embeds; what are no messages is not taken.
    """
    engine = vllm(EMBEDS)
    messages = [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]
    found = said(engine, {"messages": messages})

    assert found["data"] == said(engine, {"input": "one\ntwo"})["data"]
    assert refused(engine, {"messages": [{"content": "one"}]}) == nested(
        "Cannot find suitable handler for request. Expected one of: "
        "['EmbeddingRequest', 'RerankRequest']"
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"top_n": "2"},
        {"query": 7},
        {"query": None},
        {"documents": []},
        {"documents": [7.5]},
        {"documents": None},
    ],
)
def test_what_is_no_ranking_is_not_taken(fields: dict[str, Any]) -> None:
    """
    A query, texts and a number, or it is something else.
    """
    body = {"query": "one", "documents": ["one"], **fields}

    assert refused(vllm(RANKS), body) == nested(
        "Cannot find suitable handler for request. Expected one of: ['RerankRequest']"
    )


def test_a_ranking_has_all_that_vllm_writes() -> None:
    """
    Every document, if no number is asked for; equals stay in their order.
    """
    found = said(vllm(RANKS), {"query": "red", "documents": ["a", "red", "b"]})

    assert found.pop("id").startswith("rerank-")
    assert found == {
        "model": RANKS,
        "usage": {"prompt_tokens": 4, "total_tokens": 4},
        "results": [
            {
                "index": index,
                "document": {"text": text, "multi_modal": None},
                "relevance_score": score,
            }
            for index, text, score in ((1, "red", 0.99), (0, "a", 0.01), (2, "b", 0.01))
        ],
    }


def test_texts_are_as_long_as_the_context_unless_they_are_cut() -> None:
    """
    A ranking counts the query and its document together.
    """
    embeds = vllm(EMBEDS, SM_VLLM_MAX_MODEL_LEN="3")
    ranks = vllm(RANKS, SM_VLLM_MAX_MODEL_LEN="3")
    long = {"input": ["one", "one two three four"]}
    pair = {"query": "one two", "documents": ["three"]}

    assert said(embeds, {"input": "one two three"})["data"]
    assert refused(embeds, long)[0] == 400
    assert said(embeds, {**long, "truncate_prompt_tokens": 3})["data"]
    assert said(ranks, pair)["results"]
    assert refused(ranks, {**pair, "documents": ["three four"]})[0] == 400


@pytest.mark.parametrize(
    ("task", "kind"),
    [
        ("generate", "generate"),
        ("embed", "embed"),
        ("embedding", "embed"),
        ("classify", "classify"),
        ("reward", "classify"),
        ("score", "rank"),
    ],
)
def test_a_task_says_what_a_model_is_for(task: str, kind: str) -> None:
    """
    Whatever it is called.
    """
    for name in (EMBEDS, RANKS, UNKNOWN):
        engine = vllm(name)
        settings = {**engine.settings, "task": task, "runner": "pooling"}
        told = StartedEngine(
            release=engine.release, settings=settings, model=engine.model
        )
        assert told.kind == kind


@pytest.mark.parametrize(
    ("name", "runner", "kind"),
    [
        (UNKNOWN, "generate", "generate"),
        (UNKNOWN, "pooling", "embed"),
        (UNKNOWN, "auto", None),
        ("Qwen/Qwen3-0.6B", "pooling", "embed"),
        (RANKS, "pooling", "rank"),
        (RANKS, "generate", "generate"),
    ],
)
def test_a_runner_says_how_a_model_runs(
    name: str, runner: str, kind: str | None
) -> None:
    """
    Of a model that writes it makes one that embeds; one that ranks goes on to.
    """
    engine = vllm("Qwen/Qwen3-0.6B")
    settings = {**engine.settings, "runner": runner, "convert": None, "task": None}

    told = StartedEngine(
        release=engine.release, settings=settings, model=read_model(name)
    )

    assert told.kind == kind


@pytest.mark.parametrize(
    ("config", "kind", "labels"),
    [
        (LLAMA, "generate", None),
        ({**LLAMA, "architectures": ["LlamaForSequenceClassification"]}, "classify", 2),
        (
            {
                **LLAMA,
                "architectures": ["LlamaForSequenceClassification"],
                "num_labels": 1,
            },
            "rank",
            1,
        ),
        (
            {
                **LLAMA,
                "architectures": ["LlamaForSequenceClassification"],
                "num_labels": 1,
                "id2label": {"0": "a", "1": "b", "2": "c"},
            },
            "classify",
            3,
        ),
    ],
)
def test_a_model_is_what_its_file_says(
    config: dict[str, Any], kind: str, labels: int | None
) -> None:
    """
    Two classes where nothing is said of them; one is a score.
    """
    model = read_model("/opt/ml/model", json.dumps(config))

    assert (model.kind, model.labels) == (kind, labels)
    assert model.architecture is not None
    assert model.architecture.context_length == 77


@pytest.mark.parametrize("config", ["{", "[" * 100_000])
def test_a_file_that_nobody_can_read_says_nothing(config: str) -> None:
    """
    The name still does.
    """
    assert read_model(UNKNOWN, config).kind is None
    assert read_model("org/Embedder", config).kind == "embed"
    # The catalogue has its sizes, and what lies in the folder wins.
    assert read_model(EMBEDS, config).architecture is None


def test_the_context_of_a_file_counts() -> None:
    """
    Where no setting is smaller; of llama.cpp's the GGUF alone says it.
    """
    config = json.dumps(LLAMA)
    engine = started(*NEW, "config.json", config=config, SM_VLLM_MODEL="/opt/ml/model")

    assert engine.context_length == 77
    assert engine.vector_size == 64


def test_usage_is_the_last_part_of_a_stream_that_asks_for_it() -> None:
    """
    Every part has its index; the first says who speaks.
    """
    engine = vllm("Qwen/Qwen3-0.6B")
    body = {**QUESTION, "max_tokens": 1, "n": 2}
    found = events(engine, {**body, "stream_options": {"include_usage": True}})

    assert [one["choices"][0]["index"] for one in found[:-1]] == [0, 1, 0, 0, 1, 1]
    assert [one["choices"][0]["delta"] for one in found[:2]] == [
        {"role": "assistant", "content": ""}
    ] * 2
    assert [one["choices"][0]["finish_reason"] for one in found[:-1]] == [
        *(None, None),
        *(None, "length"),
        *(None, "length"),
    ]
    assert found[-1]["choices"] == []
    assert found[-1]["usage"]["completion_tokens"] == 2
    assert found[-1]["object"] == "chat.completion.chunk"
    assert all("usage" not in one for one in events(engine, body))


def test_thoughts_are_switched_off_by_the_template() -> None:
    """
    By a plain no alone.
    """
    engine = vllm("Qwen/Qwen3-0.6B", SM_VLLM_REASONING_PARSER="qwen3")

    def thought(**options: Untyped) -> Untyped:
        body = {**QUESTION, "max_tokens": 30, **options}
        return said(engine, body)["choices"][0]["message"]["reasoning"]

    assert thought()
    assert thought(chat_template_kwargs={"enable_thinking": True})
    assert thought(chat_template_kwargs={"enable_thinking": None})
    assert thought(chat_template_kwargs={"enable_thinking": False}) is None


def test_either_field_makes_a_model_write_that_is_not_known() -> None:
    """
    A prompt as well as messages, of whatever else it could do.
    """
    engine = vllm(UNKNOWN)

    assert said(engine, {"prompt": "Hi", "max_tokens": 1})["object"] == (
        "text_completion"
    )
    assert said(engine, {**QUESTION, "max_tokens": 1})["object"] == "chat.completion"
    assert refused(engine, {"prompt": "", "input": "one"}) == nested(
        "Either prompt or prompt_embeds must be provided and non-empty. "
        "(parameter=prompt)",
        "prompt",
    )


@pytest.mark.parametrize(
    ("route", "field", "body"),
    [
        ("/v1/chat/completions", "messages", {}),
        ("/v1/embeddings", "input", {}),
        ("/rerank", "query", {}),
    ],
)
def test_a_route_says_what_its_body_lacks(
    route: str, field: str, body: dict[str, Any]
) -> None:
    """
    By the name of a field.
    """
    message = (
        f"1 validation error:\n  {{'type': 'missing', 'loc': ('body', '{field}')}}"
    )

    found = refused(vllm(UNKNOWN), body, attributes=f"route={route}")

    assert found == nested(message, kind="Bad Request")


def test_a_ping_is_answered_with_nothing() -> None:
    """
    By a route that is no model's.
    """
    assert whole(vllm(UNKNOWN), {}, attributes="route=/ping") == b""


def test_a_story_stops_at_the_first_of_its_stops() -> None:
    """
    Which may begin in the middle of a token, and is not part of the text.
    """
    told = say("Hi there", 99).text
    first, second = told.index("tensor"), told.index("accelerator")

    assert first < second
    stopped = say("Hi there", 99, stops=("accelerator", "nsor"))
    assert stopped.text == told[: first + 2]
    assert (stopped.stop, stopped.reason, stopped.end) == ("nsor", "stop", None)
    assert say("Hi there", 99, stops=("nowhere",)).text == told
    assert told.count("the") > 1
    assert say("Hi there", 99, stops=("the",)).text == told[: told.index("the")]


def test_a_thought_is_one_sentence() -> None:
    """
    With its end, and what follows is the answer.
    """
    speech = say("Hi there", 99, thinks=True)
    short = say("Hi there", 2, thinks=True)

    assert speech.thought == " Once there was a tensor that did not fit."
    assert speech.text.startswith(" It tried one accelerator")
    assert (short.thought, short.content, short.reason) == (
        " Once there",
        None,
        "length",
    )


def test_a_completion_says_where_its_words_begin() -> None:
    """
    Each with its own probability alone.
    """
    body = {"prompt": "Hi there", "max_tokens": 3, "logprobs": 1}
    (choice,) = said(vllm("Qwen/Qwen3-0.6B"), body)["choices"]

    found = choice["logprobs"]
    assert found["tokens"] == [" Once", " there", " was"]
    assert found["text_offset"] == [0, 5, 11]
    assert [list(one) for one in found["top_logprobs"]] == [
        [" Once"],
        [" there"],
        [" was"],
    ]
    assert [*(it for one in found["top_logprobs"] for it in one.values())] == (
        found["token_logprobs"]
    )
