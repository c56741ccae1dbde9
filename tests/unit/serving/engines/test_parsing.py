"""
The engines' parsers, played: what they take, and what they say of what they refuse.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.catalog.engine_arguments import Engine
from cdk_sagemaker_llm.serving.engines.parsing import ParserError, parse

LATE = "0.30.0"


@pytest.mark.parametrize(
    ("engine", "release", "arguments", "expected"),
    [
        ("vllm", LATE, ["--max-num-seqs", "8"], {"max_num_seqs": 8}),
        ("vllm", LATE, ["--max_num_seqs", "8"], {"max_num_seqs": 8}),
        ("vllm", LATE, ["--max_num_seqs=8"], {"max_num_seqs": 8}),
        ("vllm", LATE, ["--enable-prefix-caching"], {"enable_prefix_caching": True}),
        (
            "vllm",
            LATE,
            ["--no-enable-prefix-caching"],
            {"enable_prefix_caching": False},
        ),
        ("vllm", LATE, [], {"max_num_seqs": None, "enable_prefix_caching": None}),
        (
            "vllm",
            LATE,
            ["--served-model-name", "a", "b"],
            {"served_model_name": ["a", "b"]},
        ),
        (
            "vllm",
            LATE,
            ["--middleware", "a", "--middleware", "b"],
            {"middleware": ["a", "b"]},
        ),
        (
            "vllm",
            LATE,
            ["--hf-overrides.a.b", "1", "--hf-overrides.c=x"],
            {"hf_overrides": {"a": {"b": 1}, "c": "x"}},
        ),
        ("vllm", LATE, ["a-model", "--seed", "1"], {"model_tag": "a-model", "seed": 1}),
        ("vllm", LATE, ["--config", "/c.yaml"], {"config": "/c.yaml"}),
        ("vllm", LATE, ["--config", "/c.yml"], {"config": "/c.yml"}),
        ("vllm", LATE, ["--chat-template", "/a"], {"chat_template": "/a"}),
        ("vllm", LATE, ["--chat-template", ".."], {"chat_template": ".."}),
        ("vllm", LATE, ["--chat-template", "{{a}}"], {"chat_template": "{{a}}"}),
        (
            "vllm",
            LATE,
            ["--chat-template", "template_a.jinja"],
            {"chat_template": "template_a.jinja"},
        ),
        (
            "vllm",
            LATE,
            ["--enable-auto-tool-choice", "--tool-call-parser", "hermes"],
            {"enable_auto_tool_choice": True},
        ),
        (
            "vllm",
            LATE,
            ["--enable-log-outputs", "--enable-log-requests"],
            {"enable_log_outputs": True},
        ),
        (
            "vllm",
            LATE,
            ["--sse-keep-alive-interval", "0"],
            {"sse_keep_alive_interval": 0},
        ),
        (
            "vllm",
            LATE,
            ["--data-parallel-multi-port-external-lb", "--data-parallel-size", "2"],
            {"data_parallel_size": 2},
        ),
        ("sglang", "0.5.19", ["--model-path", "a", "--tp", "2"], {"tp_size": 2}),
    ],
)
def test_arguments_are_read(
    engine: Engine, release: str, arguments: list[str], expected: dict[str, Any]
) -> None:
    """
    In each spelling that the engine takes.
    """
    found = vars(parse(engine, release, arguments))

    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--config", "/c.json"],
            (
                "api_server.py: error: ValueError: the config file must be of YAML, "
                "got /c.json"
            ),
        ),
        (
            ["--hf-overrides.a"],
            (
                "api_server.py: error: IndexError: list index out of range (behind "
                "--hf-overrides.a)"
            ),
        ),
        (["--help"], "api_server.py prints its help and ends"),
        (
            ["--max-num-seqs", "many"],
            (
                "api_server.py: error: argument --max-num-seqs: 'many' must be a whole "
                "number"
            ),
        ),
        (
            ["--enable-auto-tool-choice"],
            "TypeError: Error: --enable-auto-tool-choice requires --tool-call-parser",
        ),
        (
            ["--enable-log-outputs"],
            "TypeError: Error: --enable-log-outputs requires --enable-log-requests",
        ),
        (
            ["--sse-keep-alive-interval", "-1"],
            (
                "ValueError: Error: --sse-keep-alive-interval must be a non-negative "
                "integer"
            ),
        ),
        (
            ["--enable-per-request-metrics", "--disable-log-stats"],
            (
                "ValueError: Error: --enable-per-request-metrics requires engine "
                "statistics logging"
            ),
        ),
        (
            ["--data-parallel-multi-port-external-lb", "--data-parallel-size", "1"],
            (
                "ValueError: Error: --data-parallel-multi-port-external-lb requires "
                "--data-parallel-size > 1"
            ),
        ),
        (
            ["--chat-template", "folder/a.jinja"],
            (
                "api_server.py: error: The supplied chat template string "
                "(folder/a.jinja) appears path-like, but doesn't exist!"
            ),
        ),
        (
            ["--chat-template", "folder/template_a.jinja"],
            (
                "api_server.py: error: The supplied chat template string "
                "(folder/template_a.jinja) appears path-like, but doesn't exist!"
            ),
        ),
    ],
)
def test_fails_with_the_parsers_own_words(arguments: list[str], message: str) -> None:
    """
    As the log of the container has them.
    """
    with pytest.raises(ParserError) as raised:
        parse("vllm", LATE, arguments)

    assert str(raised.value) == message


def test_the_model_of_sglang_is_required() -> None:
    """
    Its launcher says so.
    """
    with pytest.raises(ParserError, match=r"^launch_server\.py: error: .*--model-path"):
        parse("sglang", "0.5.19", ["--tp", "2"])
