"""
Every row of the option tables, at every version.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.catalog.engine_arguments import find_argument
from cdk_sagemaker_llm.catalog.lmi import (
    LmiVersion,
    OptionType,
    Span,
    front_end_type,
    is_known,
    option_spans,
    option_type,
)
from cdk_sagemaker_llm.findings import Finding, Severity
from cdk_sagemaker_llm.serving import check_properties
from tests.unit.serving.lmi.checks.canonical import cases

TABLES = load("lmi_options.json")
ROWS = [
    (backend, key)
    for backend, rows in TABLES["backends"].items()
    for key in rows
    # Chosen by the launching text, and tested with the rules of the launcher.
    if key not in ("engine", "option.rolling_batch")
]
SERVER_KEYS = [k for k in (*TABLES["server"], *TABLES["front_end"]) if k != "engine"]
NO_EFFECT = {"LLM204", "LLM205", "LLM210", "LLM220"}
GOOD = {
    "int": "1",
    "int-or-max": "1",
    "float": "0.5",
    "bool": "true",
    "str": "auto",
    "int-list": "128,512",
    "counts": "image=2",
    "floats": "[1.0,4.0]",
    "dict": "{'a':1}",
    "any": "x",
}
# Values that a rule beside the type asks for, and what a rule needs beside them.
SPECIAL = {
    "option.dtype": "fp16",
    "option.group_query_attention": "shard-over-heads",
    "option.device_map": "auto",
    "option.output_formatter": "json",
}
COMPANIONS = {
    "option.rotary_scaling_type": "option.rotary_scaling_factor=2.0\n",
    "option.rotary_scaling_factor": "option.rotary_scaling_type=linear\n",
    "option.checkpoint": "option.dtype=fp16\n",
    "option.enable_auto_tool_choice": "option.tool_call_parser=mistral\n",
    "option.enable_reasoning": "option.reasoning_parser=deepseek_r1\n",
    "option.load_in_4bit": "option.device_map=auto\n",
    "option.load_in_8bit": "option.device_map=auto\n",
    "option.speculative_model": "option.use_v2_block_manager=true\n",
}


def sample(key: str, declared: OptionType | None) -> str:
    """
    Return a value that the declared type takes.
    """
    if key in SPECIAL:
        return SPECIAL[key]
    if declared is None:
        return "1"
    if declared.choices:
        return declared.choices[0]
    return "2" if declared.above else GOOD[declared.kind]


def passed_sample(key: str, version: LmiVersion) -> str | None:
    """
    Return a value that vLLM's own parser takes of what LMI hands on.
    """
    name = key.removeprefix("option.").replace("_", "-")
    name = "quantization" if name == "quantize" else name
    release = version.vllm if version.at_least("0.32") else None
    argument = find_argument("vllm", name, release) if release else None
    if argument is None:
        return None
    if argument.kind == "bool":
        return "true"
    by_kind = {"json": "{}", "kvs": "image=2", "str": "auto"}
    known = [*argument.choices, *argument.known_values]
    return str(known[0]) if known else by_kind.get(argument.kind, "1")


def check(container: str, version: str, text: str) -> list[Finding]:
    """
    Check a file for one device.
    """
    return check_properties(text, container=container, version=version, accelerators=1)


def has_effect(backend: str, key: str, version: LmiVersion) -> bool:
    """
    Whether a backend, or what starts it, reads a key.
    """
    through_handler = backend in ("vllm", "lmi-dist", "scheduler", "common")
    readers = [backend, *(["hf"] if through_handler and version.before("0.35") else ())]
    if is_known(key, readers, version):
        return True
    arguments = load("vllm_engine_args.json")
    names = {*arguments["0.8"], *arguments["0.23"]}
    passes = backend == "vllm" and version.at_least("0.32")
    return passes and key.removeprefix("option.") in names


@pytest.mark.parametrize(("backend", "key"), ROWS, ids=map(" ".join, ROWS))
def test_a_row_is_accepted_where_it_exists_and_told_where_it_does_not(
    backend: str, key: str
) -> None:
    """
    At each version with the backend: no finding, or one that names the option.
    """
    for container, version, launch in cases(backend):
        parsed = LmiVersion.parse(version)
        name = "hf" if backend == "common" else backend
        declared = option_type(name, key, parsed) or option_type("common", key, parsed)
        if declared is not None and declared.kind in ("none", "callable"):
            continue
        value = sample(key, declared)
        if backend == "vllm" and (declared is None or key == "option.quantize"):
            value = passed_sample(key, parsed) or value
        if key == "option.reasoning_parser":
            value = "deepseek_r1"
        text = f"{launch}{COMPANIONS.get(key, '')}{key}={value}\n"
        found = check(container, version, text)

        errors = [f for f in found if f.severity is Severity.ERROR]
        assert errors == [], (version, text)
        told = [f for f in found if f.code in NO_EFFECT and key in f.message]
        expected = has_effect(backend, key, parsed) and not told
        assert expected or told, (version, text)


def typed_cases(backend: str, key: str) -> list[tuple[str, str, str]]:
    """
    Return the cases in which the property model has a type for a row's values.
    """
    # DeepSpeed ignores what it does not know there, and a warning says so.
    if (backend, key) == ("deepspeed", "option.quantize"):
        return []
    return [
        (container, version, launch)
        for container, version, launch in cases(backend)
        for declared in [option_type(backend, key, LmiVersion.parse(version))]
        if declared is not None and declared.kind not in ("str", "any")
        # The handler's own row, which is another case, overrides the common one.
        if backend != "common" or not option_type("hf", key, LmiVersion.parse(version))
        if not declared.documented_only
    ]


TYPED = [row for row in ROWS if typed_cases(*row)]


@pytest.mark.parametrize(("backend", "key"), TYPED, ids=map(" ".join, TYPED))
def test_a_value_of_the_wrong_type_is_refused(backend: str, key: str) -> None:
    """
    Numbers, switches and choices are held wherever the property model has them.
    """
    errors = {
        (container, version): [
            (finding.code, key in finding.message)
            for finding in check(container, version, f"{launch}{key}=no-such-value\n")
            if finding.severity is Severity.ERROR
        ]
        for container, version, launch in typed_cases(backend, key)
    }

    refused = ([("LLM135", True)], [("LLM136", True)])
    assert {case: found for case, found in errors.items() if found not in refused} == {}


@pytest.mark.parametrize("key", SERVER_KEYS)
def test_a_key_of_the_server_is_accepted(key: str) -> None:
    """
    The Java server reads it, whatever the backend.
    """
    declared = front_end_type(key)
    for container, version, launch in cases("vllm"):
        span = next(s for s in option_spans(key) if s.backend == "server")
        if not all(span.covers(row) for row in LmiVersion.parse(version).rows):
            continue
        found = check(container, version, f"{launch}{key}={sample(key, declared)}\n")

        assert [f for f in found if key in f.message and f.code in NO_EFFECT] == []
        if key != "option.async_mode":
            assert [f for f in found if f.severity is Severity.ERROR] == []


@pytest.mark.parametrize("key", list(TABLES["trtllm_documented"]))
def test_a_documented_option_of_tensorrt_llm_is_known_from_its_version_on(
    key: str,
) -> None:
    """
    Its reader is closed: the documentation says since when.
    """
    row = TABLES["trtllm_documented"][key]
    span = Span("trtllm", row["since"], row.get("until"))
    for container, version, launch in cases("trtllm"):
        parsed = LmiVersion.parse(version)
        declared = option_type("trtllm", key, parsed)
        text = f"{launch}{COMPANIONS.get(key, '')}{key}={sample(key, declared)}\n"
        codes = {f.code for f in check(container, version, text) if key in f.message}
        known = all(span.covers(row) for row in parsed.rows)

        assert known <= (not codes & NO_EFFECT), (version, codes)
