"""
Small things that engines' answers are made of, each on both sides.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.local.engines.answers import stops_of
from cdk_sagemaker_llm.local.engines.bodies import chat_faults, read_json
from cdk_sagemaker_llm.local.engines.containers import (
    ContainerRequest,
    EngineError,
    StartedEngine,
)
from cdk_sagemaker_llm.local.engines.starting import engine_release
from tests.unit.local.engine_requests import (
    QUESTION,
    events,
    said,
    started,
)

MODEL = {"SM_VLLM_MODEL": "Qwen/Qwen3-0.6B"}
IMAGE = ("vllm-server", "2.6")
TOOLS: list[Any] = [
    "none",
    {"type": "function"},
    {"type": "function", "function": {"name": ["a", "list"]}},
    {"type": "function", "function": {"name": "look"}},
]


@pytest.mark.parametrize(
    ("given", "stops"),
    [
        (None, ()),
        ("", ()),
        ("END", ("END",)),
        (["", None, 3, "b", "c"], ("b", "c")),
    ],
)
def test_stops_are_texts_that_say_something(
    given: object, stops: tuple[str, ...]
) -> None:
    """
    One, or several; an empty one would end every answer.
    """
    assert stops_of({"stop": given}) == stops


@pytest.mark.parametrize(("name", "count"), [("look", 0), ("other", 1), (None, 1)])
def test_a_named_tool_is_one_of_those(name: str | None, count: int) -> None:
    """
    Whatever else stands among them.
    """
    choice = {"type": "function", "function": {"name": name}}
    faults = list(chat_faults({"tools": TOOLS, "tool_choice": choice}))

    assert [parameter for _, parameter in faults] == ["tool_choice"] * count


@pytest.mark.parametrize(
    ("named", "names"),
    [
        ({}, ("Qwen/Qwen3-0.6B",)),
        ({"SM_VLLM_SERVED_MODEL_NAME": "one"}, ("one",)),
        ({"SM_VLLM_SERVED_MODEL_NAME": '["one","two"]'}, ("one", "two")),
    ],
)
def test_requests_call_the_model_what_it_was_named(
    named: dict[str, str], names: tuple[str, ...]
) -> None:
    """
    One name, several, or that of the model.
    """
    assert started(*IMAGE, **{**MODEL, **named}).served_names == names


@pytest.mark.parametrize(
    ("allowed", "takes"),
    [("1", True), ("TRUE ", True), ("0", False), ("no", False), (None, False)],
)
def test_adapters_are_taken_where_both_switches_are_on(
    allowed: str | None,
    takes: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """
    The route and the slots.
    """
    route = {} if allowed is None else {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": allowed}

    def engine(**more: str) -> StartedEngine:
        return started(*IMAGE, **{**MODEL, **route, **more})

    assert engine(SM_VLLM_ENABLE_LORA="true").takes_adapters is takes
    assert engine().takes_adapters is False


@pytest.mark.parametrize(
    ("modules", "names"),
    [
        ("a=/x", ("a",)),
        ("a=/x=b/c=d", ("a",)),
        ("/x/a", ("/x/a",)),
        ('{"lora_name":"n","lora_path":"p"}', ("n",)),
        ('{"name":"n","lora_name":"m"}', ("n",)),
        ('{"a":"/x","b":"/y"}', ("a", "b")),
        ('{"name":"n","path":"p"}', ("n",)),
        ("{bad", ()),
    ],
)
def test_adapters_that_it_starts_with(modules: str, names: tuple[str, ...]) -> None:
    """
    By SGLang's spelling, or as JSON.
    """
    sglang = started(
        "sglang-server",
        "1.4",
        SM_SGLANG_MODEL_PATH="Qwen/Qwen3-0.6B",
        SM_SGLANG_ENABLE_LORA="true",
        SM_SGLANG_LORA_PATHS=modules,
    )

    assert tuple(sglang.adapters) == names


@pytest.mark.parametrize(
    ("image", "found"),
    [
        ("x/vllm:server-sagemaker-cuda-v2", ("vllm-server", "2.6")),
        ("x/vllm:server-sagemaker-cuda-v2.4", ("vllm-server", "2.4")),
        ("x/vllm:server-sagemaker-cuda-v2.6-soci", ("vllm-server", "2.6")),
        ("busybox:1", None),
        ("x/djl-inference:0.36.0-lmi27.0.0-cu130", None),
    ],
)
def test_an_engines_image_is_recognised(
    image: str, found: tuple[str, str] | None
) -> None:
    """
    One that moves as what it stands for today.
    """
    release = engine_release(image)

    assert (release and (release.family, release.version)) == found


def test_tei_starts_with_a_model_alone() -> None:
    """
    Its entry point asks for the name.
    """
    with pytest.raises(EngineError, match="^HF_MODEL_ID must be set$"):
        started("tei", "1.9.3")
    with pytest.raises(EngineError, match="^HF_MODEL_ID must be set$"):
        started("tei", "1.9.3", HF_MODEL_ID="")
    tei = started("tei", "1.9.3", HF_MODEL_ID="BAAI/bge-m3")

    assert (tei.settings, tei.model.name) == ({}, "BAAI/bge-m3")


def test_sglang_says_what_is_not_new_in_a_part() -> None:
    """
    As null; the first has the role.
    """
    sglang = started("sglang-server", "1.4", SM_SGLANG_MODEL_PATH="gpt2")
    first, second, *_ = [
        one["choices"][0]["delta"]
        for one in events(sglang, {**QUESTION, "max_tokens": 2})
    ]

    assert first == {"role": "assistant", "content": "", "reasoning_content": None}
    assert (second["role"], second["reasoning_content"]) == (None, None)
    assert second["content"]


def test_llama_cpp_leaves_out_what_was_not_thought() -> None:
    """
    Beside the text and the role.
    """
    llama = started("llama-cpp", "1.0.1", SM_LLAMA_CPP_HF_REPO="Qwen/Qwen3-0.6B-GGUF")
    (choice,) = said(llama, {**QUESTION, "max_tokens": 4})["choices"]

    assert choice["message"].keys() == {"role", "content"}
    assert choice["message"]["content"]


def test_a_release_that_nobody_told_answers_as_the_newest() -> None:
    """
    Of a tag that moves.
    """

    def fields(version: str) -> set[str]:
        engine = started("vllm-server", version, **MODEL)
        (choice,) = said(engine, {**QUESTION, "max_tokens": 4})["choices"]
        return set(choice["message"])

    assert fields("2") == fields("2.6")
    assert "reasoning_content" not in fields("2")


@pytest.mark.parametrize(
    ("kind", "is_json"),
    [
        ("application/json", True),
        ("Application/JSON;charset=utf-8;q=1", True),
        ("application/jsonlines", False),
        ("text/plain;application/json", False),
        ("", False),
    ],
)
def test_a_request_says_that_it_is_json(kind: str, *, is_json: bool) -> None:
    """
    Whatever it says beside it.
    """
    assert ContainerRequest(body=b"", content_type=kind).is_json is is_json


@pytest.mark.parametrize("body", [b"[" * 100_000, b"{", b'"\\ud800"', b"\xff"])
def test_a_body_that_is_no_json_is_a_wrong_value(body: bytes) -> None:
    """
    Also one that goes too deep, or is no text.
    """
    with pytest.raises(ValueError, match="."):
        read_json(body)
    assert read_json(b'{"a": "\\u00e9"}') == {"a": "é"}
