"""
Which models SGLang runs: each condition from both sides.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.serving.support.cases import Row, case, codes_of, table
from tests.unit.support_rule_examples import Example

LLAMA, OWN, BAMBA = "LlamaForCausalLM", "FooBarForCausalLM", "BambaForCausalLM"
AT = "sglang 0.5.14 H100"
TRUSTED: dict[str, Any] = {"trust_remote_code": True}
MODEL = {"auto_map": {"AutoModel": "a.B"}}
CODE = {"model_type": "own", "auto_map": {"AutoConfig": "a.B"}}

CLASSES: list[Row] = [
    (codes, case("sglang 0.5.9 H100", name, config, **arguments))
    for name, config, arguments, codes in (
        (LLAMA, {}, {}, ""),
        ("", {}, {}, ""),
        ("HeliumForCausalLM", {}, {}, "LLM881"),
        (BAMBA, {}, {}, "LLM971"),
        (BAMBA, {}, {"model_impl": "transformers"}, ""),
        (BAMBA, {}, {"model_impl": "auto"}, "LLM971"),
        (OWN, {}, {}, "LLM901"),
        (OWN, {}, TRUSTED, "LLM882"),
        (OWN, {}, {"trust_remote_code": False}, "LLM901"),
        (OWN, {"hidden_size": 64}, TRUSTED, "LLM901"),
        (OWN, MODEL, {}, "LLM882"),
        (OWN, {"auto_map": {"AutoModelForCausalLM": "a.B"}}, TRUSTED, "LLM901"),
        ("FooBarModel", {}, {}, "LLM882"),
        ("FooBarLMHeadModel", {}, {}, "LLM901"),
        ("FooBarForConditionalGeneration", {}, {}, "LLM901"),
        ("DeepseekV4ForCausalLM", {}, TRUSTED, "LLM901"),
        ("DeepseekV4ForCausalLM", MODEL, {}, "LLM901"),
        ("Glm4MoeLiteForCausalLM", {}, {}, "LLM903"),
        ("Glm4MoeLiteForCausalLM", MODEL, {}, ""),
    )
]

TRUST: list[Row] = [
    (codes, case(AT, "", config, **arguments))
    for config, arguments, codes in (
        (CODE, {}, "LLM941"),
        (CODE, TRUSTED, ""),
        (CODE, {"trust_remote_code": "false"}, "LLM941"),
        ({**CODE, "model_type": "llama"}, {}, ""),
        ({**CODE, "auto_map": {"AutoModel": "a.B"}}, {}, ""),
        ({**CODE, "auto_map": "a.B"}, {}, ""),
        ({"auto_map": {"AutoConfig": "a.B"}}, {}, ""),
    )
]


def _longest(config: dict[str, Any], override: object = None) -> int | None:
    found = case(
        AT,
        LLAMA,
        config,
        context_length=10**9,
        json_model_override_args=override,
    )()
    told = [one.message for one in found if one.code == "LLM931"]
    return int(told[0].split("at most ")[1].split(",")[0]) if told else None


OF_4096 = {"max_position_embeddings": 4096}


@pytest.mark.parametrize(
    ("config", "override", "longest"),
    [
        ({}, None, None),
        (OF_4096, None, 4096),
        ({"max_position_embeddings": "4096"}, None, None),
        ({"max_position_embeddings": True}, None, None),
        ({"max_sequence_length": 1024, **OF_4096}, None, 1024),
        ({"seq_length": 1024, **OF_4096}, None, 1024),
        ({"max_seq_len": 8192, **OF_4096}, None, 8192),
        ({"model_max_length": 8192, **OF_4096}, None, 8192),
        ({"seq_length": 1, "max_seq_len": 2}, None, 1),
        ({"text_config": OF_4096}, None, 4096),
        ({**OF_4096, "rope_scaling": {"factor": 2}}, None, 8192),
        ({**OF_4096, "rope_scaling": {"factor": 2.5}}, None, 10240),
        ({**OF_4096, "rope_scaling": {"factor": "2"}}, None, None),
        ({**OF_4096, "rope_scaling": {}}, None, 4096),
        ({**OF_4096, "rope_scaling": None}, None, 4096),
        (
            {**OF_4096, "rope_scaling": {"factor": 2, "rope_type": "llama3"}},
            None,
            4096,
        ),
        (
            {
                **OF_4096,
                "rope_scaling": {
                    "factor": 2,
                    "original_max_position_embeddings": 2048,
                },
            },
            None,
            4096,
        ),
        (OF_4096, '{"max_position_embeddings": 8192}', 8192),
        (OF_4096, {"max_position_embeddings": 8192}, 8192),
        (OF_4096, "{", None),
        (OF_4096, "[1]", None),
        (OF_4096, '{"text_config": {}}', None),
        (OF_4096, '{"text_config": 3}', 4096),
    ],
)
def test_derives_the_longest_context(
    config: dict[str, Any], override: object, longest: int | None
) -> None:
    """
    From the first of the keys, and from what overrides them.
    """
    assert _longest(config, override) == longest


LENGTHS: list[Row] = [
    *(
        (codes, case(AT, LLAMA, OF_4096, context_length=value))
        for value, codes in ((4096, ""), (4097, "LLM931"), (None, ""), ("x", ""))
    ),
    *(
        (
            codes,
            case(
                AT,
                LLAMA,
                OF_4096,
                environment={"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": value},
                context_length=4097,
            ),
        )
        for value, codes in (
            *((one, "LLM888") for one in ("1", "true", "TRUE", "yes", "y", "on", "t")),
            ("0", "LLM931"),
            ("", "LLM931"),
        )
    ),
]

PARSERS: list[Row] = [
    (codes, case(AT, name, **arguments))
    for name, arguments, codes in table(
        ("", {"tool_call_parser": "foo"}, "LLM961"),
        ("", {"reasoning_parser": "foo"}, "LLM961"),
        ("", {"tool_call_parser": "foo", "reasoning_parser": "foo"}, "LLM961 LLM961"),
        ("", {"tool_call_parser": "llama3"}, ""),
        ("", {"tool_call_parser": 3}, ""),
        ("", {"tool_call_parser": None, "reasoning_parser": "foo"}, "LLM961"),
        *(
            (family, {"tool_call_parser": parser}, "")
            for parser, families in (
                ("llama3", "Llama Mllama"),
                ("pythonic", "Llama Mllama"),
                ("qwen", "Qwen"),
                ("qwen25", "Qwen"),
                ("qwen3_coder", "Qwen Nemotron"),
                ("mistral", "Mistral Mixtral Ministral Pixtral Voxtral"),
                ("deepseekv3", "Deepseek"),
                ("deepseekv31", "Deepseek"),
                ("deepseekv32", "Deepseek"),
                ("gpt-oss", "GptOss"),
                ("gemma4", "Gemma"),
            )
            for family in families.split()
        ),
        *(
            ("Gemma", {"tool_call_parser": parser}, "LLM896")
            for parser in (
                "llama3",
                "pythonic",
                "qwen",
                "qwen25",
                "qwen3_coder",
                "mistral",
                "deepseekv3",
                "deepseekv31",
                "deepseekv32",
                "gpt-oss",
            )
        ),
        *(
            (family, {"tool_call_parser": "gemma4"}, "LLM896")
            for family in (
                "Llama",
                "Mllama",
                "Qwen",
                "Nemotron",
                "Mistral",
                "Mixtral",
                "Ministral",
                "Pixtral",
                "Voxtral",
                "Deepseek",
                "GptOss",
            )
        ),
        ("Phi3", {"tool_call_parser": "llama3"}, ""),
        ("Gemma", {"tool_call_parser": "kimi_k2"}, ""),
        ("Gemma", {}, ""),
    )
]


@pytest.mark.parametrize(("codes", "example"), [*CLASSES, *TRUST, *LENGTHS])
def test_runs_what_the_release_has(codes: str, example: Example) -> None:
    """
    Classes, code, and lengths.
    """
    assert codes_of(example) == codes


@pytest.mark.parametrize(("codes", "example"), PARSERS)
def test_has_the_parsers_of_the_family(codes: str, example: Example) -> None:
    """
    Of classes that begin so, whether or not there is such a class.
    """
    found = [one for one in codes_of(example).split() if one != "LLM882"]

    assert " ".join(found) == codes


@pytest.mark.parametrize(
    ("example", "told"),
    [
        (
            case(AT, LLAMA, OF_4096, context_length=4097),
            (
                "LLM931 context_length must be at most 4096, which a/b was made for, "
                "got 4097; write 4096, or leave it out, or set "
                "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 if the model is known to "
                "take it"
            ),
        ),
        (
            case(AT, "", CODE),
            (
                "LLM941 a/b is read by code of its own, for neither SGLang 0.5.14 nor "
                "its transformers package knows the model type own; read the code, and "
                "set trust_remote_code"
            ),
        ),
        (
            case("sglang 0.5.9 H100", "FooBarModel"),
            (
                "LLM882 SGLang 0.5.9 has no FooBarModel of its own: it runs only if "
                "its Transformers backend does"
            ),
        ),
        (
            case("sglang 0.5.9 H100", OWN, MODEL),
            (
                "LLM882 SGLang 0.5.9 has no FooBarForCausalLM: it runs only if the "
                "model's own code is made for the Transformers backend"
            ),
        ),
        (
            case(AT, "", tool_call_parser="llama4"),
            (
                "LLM961 SGLang 0.5.14 has no parser named llama4, got "
                "tool_call_parser=llama4; use llama3"
            ),
        ),
    ],
)
def test_tells_what_is_wrong_and_the_way_out(example: Example, told: str) -> None:
    """
    In the caller's words.
    """
    assert [str(found) for found in example()] == [told]
