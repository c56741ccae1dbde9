"""
The rules of support for a definition: what is left to its other checks.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.serving.support.checkpoint import Checkpoint
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.serving.support.wiring import wired_findings

LLAMA = {"architectures": ["LlamaForCausalLM"]}


def _told(
    where: str,
    config: dict[str, Any] | None,
    *,
    name: str | None = "a/b",
    environment: dict[str, str] | None = None,
    is_isolated: bool = False,
    words: dict[str, str] | None = None,
    **arguments: Any,  # noqa: ANN401 - the engine's own
) -> list[str]:
    engine, release, gpu = where.split()
    found = wired_findings(
        engine=engine,
        release=release,
        name=name,
        kind=config,
        accelerator=gpu,
        accelerators=1,
        arguments=arguments,
        environment=environment or {},
        network_isolation=is_isolated,
        words=words or {},
    )
    return [str(one) for one in found]


@pytest.mark.parametrize(
    ("where", "config", "arguments"),
    [
        (
            "vllm 0.10.2 H100",
            {**LLAMA, "num_attention_heads": 28},
            {"tensor_parallel_size": 8},
        ),
        ("vllm 0.10.2 H100", LLAMA, {"enable_auto_tool_choice": True}),
        ("vllm 0.10.2 H100", LLAMA, {"enable_lora": True, "max_lora_rank": 24}),
        ("vllm 0.10.2 H100", LLAMA, {"enable_reasoning": True}),
        ("vllm 0.7.1 H100", LLAMA, {"tokenizer_mode": "custom"}),
        ("vllm 0.10.2 H100", LLAMA, {"reasoning_parser": "foo"}),
        ("vllm 0.15.1 H100", LLAMA, {"quantization": "deepspeedfp"}),
        ("tei 1.8.2 B200", {"model_type": "bert"}, {}),
        ("tgi 2.4.0 H100", {"model_type": "llama"}, {"quantize": "foo"}),
    ],
)
def test_leaves_to_other_checks_what_they_say(
    where: str, config: dict[str, Any], arguments: dict[str, Any]
) -> None:
    """
    Of the arguments' values, of TEI's GPUs, and of TGI's choices.
    """
    assert _told(where, config, **arguments) == []


@pytest.mark.parametrize(
    ("where", "config", "code"),
    [
        (
            "vllm 0.28.0 H100",
            {**LLAMA, "quantization_config": {"quant_method": "bitsandbytes"}},
            "LLM915",
        ),
        ("vllm 0.7.1 H100", {"architectures": ["HeliumForCausalLM"]}, "LLM901"),
        ("tei 1.7.0 A10G", {"model_type": "qwen3"}, "LLM983"),
    ],
)
def test_tells_what_files_and_releases_bring(
    where: str, config: dict[str, Any], code: str
) -> None:
    """
    Which no argument says.
    """
    assert [one.partition(" ")[0] for one in _told(where, config)] == [code]


def test_tells_nothing_of_a_model_that_is_not_known() -> None:
    """
    Neither its name nor its class.
    """
    assert _told("vllm 0.10.2 V100", None, name=None, dtype="bfloat16") == []


def test_tells_in_the_words_of_the_caller() -> None:
    """
    As a definition calls its arguments.
    """
    told = _told(
        "vllm 0.10.2 T4", LLAMA, words={"dtype": "data_type"}, dtype="bfloat16"
    )

    assert told == [
        (
            "LLM911 data_type must be float16 on T4 (compute capability 7.5), which "
            "has no bfloat16, got bfloat16; write float16, or take a GPU from A10G on"
        )
    ]


def test_hands_on_the_environment_and_the_isolation() -> None:
    """
    Which rules ask for.
    """
    gpt = {"architectures": ["GptOssForCausalLM"]}
    has_files = {"TIKTOKEN_ENCODINGS_BASE": "/opt"}
    refused = _told("vllm 0.10.2 H100", gpt, is_isolated=True)

    assert [one.partition(" ")[0] for one in refused] == ["LLM955"]
    assert _told("vllm 0.10.2 H100", gpt) == []
    assert _told("vllm 0.10.2 H100", gpt, is_isolated=True, environment=has_files) == []


def _of(value: object) -> Subject:
    return Subject(
        engine="vllm",
        release="0.10.2",
        checkpoint=Checkpoint(name="a/b"),
        accelerator="A10G",
        arguments={"a": value},
    )


@pytest.mark.parametrize(
    ("value", "is_on", "number", "text"),
    [
        (True, True, None, "true"),
        (False, False, None, "false"),
        (None, False, None, None),
        (1, True, 1, "1"),
        (0, False, 0, "0"),
        ("Yes", True, None, "yes"),
        ("Y", True, None, "y"),
        ("ON", True, None, "on"),
        ("t", True, None, "t"),
        ("TRUE", True, None, "true"),
        ("no", False, None, "no"),
        ("-2", False, -2, "-2"),
        ("2.5", False, None, "2.5"),
    ],
)
def test_reads_an_argument_in_each_spelling(
    value: object, *, is_on: bool, number: int | None, text: str | None
) -> None:
    """
    As a switch, a number, and a text.
    """
    subject = _of(value)

    assert subject.flag("a") is is_on
    assert subject.number("a") == number
    assert subject.text("a") == text
    assert subject.has("a") is (value is not None)
    assert subject.flag("b") is False
    assert subject.number("b") is None
    assert subject.word("a") == "a"


def test_knows_its_gpu_and_its_release() -> None:
    """
    In words, and within spans.
    """
    subject = _of(None)

    assert subject.title == "vLLM 0.10.2"
    assert subject.capability == 86
    assert subject.gpu == "A10G (compute capability 8.6)"
    assert subject.is_at("0.10.2")
    assert subject.is_at("0.10.0", "0.10.2")
    assert not subject.is_at("0.10.3")
    assert not subject.is_at("0.9.0", "0.10.1")
