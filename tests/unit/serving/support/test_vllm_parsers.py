"""
Parsers of vLLM: each family, and each condition from both sides.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.serving.support.cases import Row, case, codes_of
from tests.unit.support_rule_examples import Example

AUTO: dict[str, Any] = {"enable_auto_tool_choice": True}

PARSERS: list[Row] = [
    (codes, case(f"vllm {release} A10G", "", **arguments))
    for release, arguments, codes in (
        ("0.13.0", {**AUTO, "tool_call_parser": "glm47"}, "LLM961"),
        ("0.13.0", {**AUTO, "tool_call_parser": "hermes"}, ""),
        ("0.13.0", {"tool_call_parser": "glm47"}, ""),
        (
            "0.13.0",
            {"enable_auto_tool_choice": False, "tool_call_parser": "glm47"},
            "",
        ),
        (
            "0.13.0",
            {**AUTO, "tool_call_parser": "glm47", "tool_parser_plugin": "/opt/a.py"},
            "",
        ),
        (
            "0.13.0",
            {
                **AUTO,
                "tool_call_parser": "glm47",
                "reasoning_parser_plugin": "/opt/a.py",
            },
            "LLM961",
        ),
        ("0.6.2", {"tool_call_parser": "glm47"}, "LLM961"),
        ("0.6.3.post1", {"tool_call_parser": "glm47"}, ""),
        ("0.13.0", {"reasoning_parser": "foo"}, "LLM961"),
        ("0.13.0", {"reasoning_parser": "deepseek_r1"}, ""),
        ("0.13.0", {"reasoning_parser": ""}, ""),
        ("0.13.0", {"reasoning_parser": 3}, ""),
        (
            "0.13.0",
            {"reasoning_parser": "foo", "reasoning_parser_plugin": "/opt/a.py"},
            "",
        ),
        (
            "0.13.0",
            {"reasoning_parser": "foo", "tool_parser_plugin": "/opt/a.py"},
            "LLM961",
        ),
        ("0.13.0", AUTO, "LLM963"),
        ("0.13.0", {"enable_auto_tool_choice": "true"}, "LLM963"),
        ("0.13.0", {"enable_auto_tool_choice": False}, ""),
        ("0.13.0", {**AUTO, "tool_call_parser": None}, "LLM963"),
        # Both are looked at.
        (
            "0.13.0",
            {**AUTO, "tool_call_parser": "foo", "reasoning_parser": "foo"},
            "LLM961 LLM961",
        ),
        (
            "0.13.0",
            {
                **AUTO,
                "tool_call_parser": "foo",
                "tool_parser_plugin": "/opt/a.py",
                "reasoning_parser": "foo",
            },
            "LLM961",
        ),
    )
]


@pytest.mark.parametrize(("codes", "example"), PARSERS)
def test_has_the_parsers_that_are_named(codes: str, example: Example) -> None:
    """
    Its own, or a plugin's.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            {**AUTO, "tool_call_parser": "glm47"},
            (
                "LLM961 vLLM 0.13.0 has no tool parser named glm47, got "
                "tool_call_parser=glm47; take an image with vLLM 0.14.0 or newer, such "
                "as djl-lmi 0.36.0-lmi19"
            ),
        ),
        (
            {"reasoning_parser": "deepseek_r2"},
            (
                "LLM961 vLLM 0.13.0 has no reasoning parser named deepseek_r2, got "
                "reasoning_parser=deepseek_r2; use deepseek_r1 or deepseek_v3"
            ),
        ),
        (
            AUTO,
            (
                "LLM963 enable_auto_tool_choice needs a tool_call_parser; name the one "
                "for the model's family"
            ),
        ),
    ],
)
def test_tells_which_parsers_there_are(arguments: dict[str, Any], told: str) -> None:
    """
    Or which image has the one that is named.
    """
    assert [str(one) for one in case("vllm 0.13.0 A10G", "", **arguments)()] == [told]


NO_THOUGHT = ""
TOOLS = (
    ("Qwen/QwQ-32B", "hermes", "deepseek_r1 qwen3"),
    ("Qwen/Qwen3-Coder-30B-A3B-Instruct", "qwen3_coder qwen3_xml hermes", None),
    ("Qwen/Qwen3.5-9B", "qwen3_coder qwen3_xml hermes", None),
    ("Qwen/Qwen3.6-35B", "qwen3_coder qwen3_xml hermes", None),
    ("Qwen/Qwen3-8B", "hermes qwen3_coder qwen3_xml", None),
    ("Qwen/Qwen2.5-7B-Instruct", "hermes", ""),
    ("Qwen/Qwen2-7B-Instruct", "hermes", ""),
    ("mistralai/Magistral-Small-2506", "mistral", "mistral"),
    ("mistralai/Ministral-3-8B-Reasoning-2512", "mistral", "mistral"),
    ("mistralai/Mistral-7B-Instruct-v0.3", "mistral hermes", ""),
    ("mistralai/Mistral-Large-Instruct-2407", "mistral hermes", ""),
    ("mistralai/Mistral-Large-Instruct-2411", "mistral hermes", ""),
    ("mistralai/Mistral-Small-Instruct-2409", "mistral hermes", ""),
    ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mistral hermes", ""),
    ("meta-llama/Llama-4-Scout-17B-16E", "llama4_pythonic llama4_json pythonic", None),
    ("meta-llama/Llama-3.1-8B-Instruct", "llama3_json pythonic", ""),
    ("meta-llama/Meta-Llama-3.1-8B-Instruct", "llama3_json pythonic", ""),
    ("meta-llama/Llama-3.3-70B-Instruct", "llama3_json pythonic", ""),
    ("meta-llama/Llama-2-7b-chat-hf", "", ""),
    ("meta-llama/Meta-Llama-3-8B-Instruct", "", ""),
    ("google/gemma-2-2b-it", "", ""),
    ("google/gemma-7b-it", "", ""),
    ("google/gemma-1.1-7b-it", "", ""),
    ("google/gemma-3-4b-it", "", ""),
    ("microsoft/phi-2", "", ""),
    ("microsoft/Phi-3-mini-4k-instruct", "", ""),
    ("microsoft/phi-4", "", ""),
    ("microsoft/Phi-4-mini-instruct", "", ""),
    ("tiiuae/falcon-7b", "", ""),
    ("TinyLlama/TinyLlama-1.1B-Chat-v1.0", "", ""),
    ("HuggingFaceTB/SmolLM2-1.7B-Instruct", "", ""),
    ("CohereForAI/c4ai-command-r-v01", "", ""),
    ("openai/gpt-oss-20b", "openai", None),
    ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "", "deepseek_r1 qwen3"),
)
ALL_TOOLS = (
    "hermes",
    "mistral",
    "openai",
    "pythonic",
    "llama3_json",
    "llama4_json",
    "llama4_pythonic",
    "qwen3_coder",
    "qwen3_xml",
)
ALL_THOUGHTS = ("deepseek_r1", "qwen3", "mistral", "granite")


@pytest.mark.parametrize(("model", "tools", "thoughts"), TOOLS)
def test_knows_the_parsers_of_a_family(
    model: str, tools: str, thoughts: str | None
) -> None:
    """
    Of tool calls, and of reasoning where that is known.
    """

    def _codes(**arguments: Any) -> str:  # noqa: ANN401 - the engine's own
        return codes_of(
            case(
                "vllm 0.20.1 H100",
                model,
                {"architectures": ["LlamaForCausalLM"]},
                trust_remote_code=True,
                **arguments,
            )
        )

    told = [
        one for one in ALL_TOOLS if "LLM896" not in _codes(**AUTO, tool_call_parser=one)
    ]
    thinking = [
        one for one in ALL_THOUGHTS if "LLM896" not in _codes(reasoning_parser=one)
    ]

    assert set(told) == set(tools.split() or ALL_TOOLS)
    assert set(thinking) == set(ALL_THOUGHTS if thoughts is None else thoughts.split())


@pytest.mark.parametrize(
    "model",
    [
        "someone/Qwen3-8B",
        "mistralai/Mistral-Small-3.2-24B-Instruct-2506",
        "microsoft/Phi-4-reasoning",
        "microsoft/Phi-4-multimodal-instruct",
        "google/gemma-4-E4B-it",
        "deepseek-ai/DeepSeek-V3",
    ],
)
def test_says_nothing_of_parsers_for_other_models(model: str) -> None:
    """
    A copy may have been trained to call tools otherwise.
    """
    config = {"architectures": ["LlamaForCausalLM"]}
    found = case(
        "vllm 0.20.1 H100",
        model,
        config,
        **AUTO,
        tool_call_parser="llama3_json",
        reasoning_parser="granite",
        trust_remote_code=True,
    )

    assert "LLM896" not in codes_of(found)


MISTRAL, LLAMA = "mistralai/Mistral-7B-Instruct-v0.3", "meta-llama/Llama-3.1-8B"
THOUGHTS: list[Row] = [
    (codes, case(f"vllm {release} H100", model, reasoning_parser=parser))
    for release, model, parser, codes in (
        ("0.8.4", MISTRAL, "deepseek_r1", "LLM896"),
        ("0.10.2", MISTRAL, "deepseek_r1", "LLM965"),
        ("0.20.0", MISTRAL, "qwen3", "LLM965"),
        ("0.20.1", MISTRAL, "qwen3", "LLM896"),
        ("0.20.0", MISTRAL, "granite", "LLM896"),
        ("0.20.0", MISTRAL, None, ""),
        ("0.20.0", "Qwen/QwQ-32B", "qwen3", ""),
        ("0.20.0", "Qwen/QwQ-32B", "granite", "LLM896"),
        ("0.20.0", "openai/gpt-oss-20b", "granite", ""),
    )
]


@pytest.mark.parametrize(("codes", "example"), THOUGHTS)
def test_looks_for_thoughts_where_there_are_some(codes: str, example: Example) -> None:
    """
    A parser that looks for its tokens at the start stops there.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(
    ("model", "arguments", "told"),
    [
        (
            MISTRAL,
            {"reasoning_parser": "granite"},
            (
                "LLM896 reasoning_parser=granite is not for "
                "mistralai/Mistral-7B-Instruct-v0.3; leave it out"
            ),
        ),
        (
            "Qwen/QwQ-32B",
            {"reasoning_parser": "granite"},
            (
                "LLM896 reasoning_parser=granite is not for Qwen/QwQ-32B; use "
                "deepseek_r1 or qwen3"
            ),
        ),
        (
            MISTRAL,
            {"reasoning_parser": "qwen3"},
            (
                "LLM965 reasoning_parser=qwen3 looks for its marks among the tokens, "
                "which mistralai/Mistral-7B-Instruct-v0.3 does not have, and vLLM "
                "0.20.0 stops there; leave it out"
            ),
        ),
        (
            MISTRAL,
            {**AUTO, "tool_call_parser": "llama3_json"},
            (
                "LLM896 tool_call_parser=llama3_json is not for "
                "mistralai/Mistral-7B-Instruct-v0.3: calls of tools fail, or stay "
                "plain text; use mistral or hermes"
            ),
        ),
    ],
)
def test_tells_which_parser_is_for_the_model(
    model: str, arguments: dict[str, Any], told: str
) -> None:
    """
    Or that there is none.
    """
    found = case("vllm 0.20.0 H100", model, **arguments)()

    assert [str(one) for one in found] == [told]
