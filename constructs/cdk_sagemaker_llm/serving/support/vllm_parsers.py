"""
Parsers of tool calls and of reasoning: whether the release has them, and whether they
are made for the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cdk_sagemaker_llm.catalog.model_classes import (
    has_parser,
    parser_names,
    parser_spans,
)
from cdk_sagemaker_llm.catalog.releases import first_of, image_within
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.text import any_of, nearest

_SERVER = "vllm/entrypoints/openai and vllm/reasoning"
_DOCS = "docs/features/tool_calling.md and reasoning_outputs.md of vLLM"
# Parsers of reasoning that look for <think> among the tokens when they are made, which
# the engine did when it started in these releases.
_TAGGED = frozenset({"deepseek_r1", "qwen3", "glm45"})
# Those that still do where the configuration asks them for their marks when it is made
# (ReasoningConfig.initialize_token_ids).
_MARKED = frozenset(
    {
        *("deepseek_r1", "qwen3", "gemma4", "minimax_m2", "seed_oss", "ernie45"),
        *("step3p5", "nemotron_v3", "hy_v3"),
    }
)
_ASKED_FOR_MARKS = "0.21.0"
# Models that think, and not between these: by channels, or within other marks.
_OTHERWISE_TAGGED = re.compile(
    r"^(?:openai/gpt-oss|moonshotai/kimi-(?:dev|vl-a3b-thinking))", re.IGNORECASE
)
# Until then the tokenizer for it had to be asked for, wherever the files are.
_MISTRAL_IS_ASKED = "0.11.0"
_MADE_AT_START = ("0.9.2", "0.20.0")
# What names are suggested where none is alike.
_MOST_NAMES = 8

UNKNOWN_PARSER = Rule("LLM961", "the release does not have a parser", _SERVER)
NO_PARSER = Rule(
    "LLM963", "tools or thoughts are to be parsed, and no parser is named", _SERVER
)
# When thoughts had a switch that stopped the server without a parser, and when it did
# not go with that of tools (entrypoints/openai/cli_args.py).
_SWITCHED = ("0.7.0", "0.8.5.post1")
_SWITCHED_ALONE = ("0.7.0", "0.7.3")
OTHER_FAMILY = Rule("LLM896", "a parser is made for models of another family", _DOCS)
NO_TAGS = Rule(
    "LLM965", "a parser of reasoning looks for tokens that the model lacks", _DOCS
)


def parser_findings(subject: Subject) -> Iterator[Finding]:
    """
    The release has the parsers that are named.
    """
    for kind in ("tool", "reasoning"):
        argument = "tool_call_parser" if kind == "tool" else "reasoning_parser"
        name = subject.arguments.get(argument)
        if not isinstance(name, str) or not name or _is_plugged(subject, kind):
            continue
        is_read = kind == "reasoning" or subject.flag("enable_auto_tool_choice")
        is_read = is_read or not subject.is_at("0.6.3")
        if is_read and has_parser("vllm", kind, name, subject.release) is False:
            word = subject.word(argument)
            yield unknown_parser(subject.release, kind, name, word)
    has_tools = subject.flag("enable_auto_tool_choice")
    if has_tools and not subject.has("tool_call_parser"):
        yield NO_PARSER.finding(
            f"{subject.word('enable_auto_tool_choice')} needs a tool_call_parser",
            "name the one for the model's family",
        )
    yield from _switch_findings(subject, has_tools=has_tools)


def _switch_findings(subject: Subject, *, has_tools: bool) -> Iterator[Finding]:
    word = subject.word("enable_reasoning")
    if not subject.flag("enable_reasoning") or not subject.is_at(*_SWITCHED):
        return
    if not subject.has("reasoning_parser"):
        yield NO_PARSER.finding(
            f"{word} needs a reasoning_parser", "name the one for the model's family"
        )
    elif has_tools and subject.is_at(*_SWITCHED_ALONE):
        yield NO_PARSER.finding(
            f"{subject.title} does not parse thoughts and tools at once, got {word} "
            f"and {subject.word('enable_auto_tool_choice')}",
            "leave one of both out, or take an image with vLLM 0.8 or newer",
        )


def unknown_parser(release: str, kind: str, name: str, word: str) -> Finding:
    """
    Say that a release of vLLM does not have a parser, and which has, or what is alike.
    """
    return UNKNOWN_PARSER.finding(
        f"vLLM {release} has no {kind} parser named {name}, got {word}={name}",
        _way_out(release, kind, name),
    )


def _is_plugged(subject: Subject, kind: str) -> bool:
    plugin = "tool_parser_plugin" if kind == "tool" else "reasoning_parser_plugin"
    return subject.has(plugin)


def _way_out(release: str, kind: str, name: str) -> str:
    spans = parser_spans("vllm", kind, name)
    if spans:
        image = image_within("vllm", spans)
        where = f", such as {image}" if image else ""
        return f"take an image with vLLM {first_of(spans)} or newer{where}"
    names = parser_names("vllm", kind, release)
    near = nearest(name, names)
    if near:
        return f"use {any_of(near)}"
    return f"use one that it has, such as {any_of(sorted(names)[:_MOST_NAMES])}"


def family_findings(subject: Subject) -> Iterator[Finding]:
    """
    The parsers are made for the model's family.
    """
    tools, thoughts = _family(subject)
    tool_parser = subject.text("tool_call_parser")
    if (
        tool_parser
        and tools
        and tool_parser not in tools
        and subject.flag("enable_auto_tool_choice")
    ):
        yield OTHER_FAMILY.finding(
            f"{subject.word('tool_call_parser')}={tool_parser} is not for "
            f"{subject.checkpoint.name}: calls of tools fail, or stay plain text",
            f"use {any_of(tools)}",
        )
    parser = subject.text("reasoning_parser")
    is_plain = parser == "mistral" and subject.text("tokenizer_mode") != "mistral"
    if is_plain and subject.is_at(_MADE_AT_START[0], _MISTRAL_IS_ASKED):
        yield NO_TAGS.finding(
            f"{subject.word('reasoning_parser')}=mistral needs Mistral's tokenizer, "
            f"and {subject.title} stops there",
            f"write {subject.word('tokenizer_mode')}=mistral",
        )
        return
    is_other = bool(_OTHERWISE_TAGGED.match(subject.checkpoint.name))
    is_made = parser in _TAGGED and subject.is_at(*_MADE_AT_START)
    is_made |= parser in _MARKED and subject.is_at(_ASKED_FOR_MARKS)
    if is_other and is_made:
        thoughts = ()
    if parser is None or thoughts is None or parser in thoughts:
        return
    if not thoughts and is_made:
        yield NO_TAGS.finding(
            f"{subject.word('reasoning_parser')}={parser} looks for its marks among "
            f"the tokens, which {subject.checkpoint.name} does not have, and "
            f"{subject.title} stops there",
            "leave it out",
        )
    else:
        yield OTHER_FAMILY.finding(
            f"{subject.word('reasoning_parser')}={parser} is not for "
            f"{subject.checkpoint.name}",
            f"use {any_of(thoughts)}" if thoughts else "leave it out",
        )


def _family(subject: Subject) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """
    Return the parsers for a model's family: of tools, and of reasoning, of which
    ``None`` says that it is not known, and none that it does not think aloud.
    """
    name = subject.checkpoint.name
    for pattern, tools, thoughts in _FAMILIES:
        if pattern.search(name):
            return tools, thoughts
    return (), None


def _row(
    pattern: str, tools: str, thoughts: str | None
) -> tuple[re.Pattern[str], tuple[str, ...], tuple[str, ...] | None]:
    parsers = None if thoughts is None else tuple(thoughts.split())
    return re.compile(pattern, re.IGNORECASE), tuple(tools.split()), parsers


# The first that a name matches counts. Models of an organisation's own alone: a copy
# may have been trained to call tools otherwise.
_FAMILIES = (
    _row(r"^qwen/qwq", "hermes", "deepseek_r1 qwen3"),
    _row(
        r"^qwen/qwen3[-.]?coder|^qwen/qwen3\.[56]",
        "qwen3_coder qwen3_xml hermes qwen3_json",
        None,
    ),
    _row(r"^qwen/qwen3", "hermes qwen3_coder qwen3_xml qwen3_json", None),
    _row(r"^qwen/qwen2\.5|^qwen/qwen2-", "hermes", ""),
    _row(r"^mistralai/magistral|^mistralai/.*reasoning", "mistral", "mistral"),
    _row(
        r"^mistralai/(?:mistral|mixtral)-.*(?:v0\.\d|2407|2411|2409)",
        "mistral hermes",
        "",
    ),
    _row(r"^meta-llama/llama-4", "llama4_pythonic llama4_json pythonic", None),
    _row(r"^meta-llama/(?:meta-)?llama-3\.[123]", "llama3_json pythonic", ""),
    _row(r"^meta-llama/(?:meta-)?llama-(?:2|3)-", "", ""),
    _row(r"^google/gemma-(?:[27]b|1\.1-|[23]-)", "", ""),
    _row(r"^microsoft/phi-(?:[23]|4\Z|4-mini-instruct)", "", ""),
    _row(r"^(?:tiiuae/falcon|tinyllama/|huggingfacetb/smollm2|coherefora?i/)", "", ""),
    _row(r"^openai/gpt-oss", "openai", None),
    _row(r"^deepseek-ai/deepseek-r1-distill", "", "deepseek_r1 qwen3"),
)
