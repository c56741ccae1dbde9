"""
What is meant arrives: arguments become variables, and the entry point and the engine's
parser make of them what they were.
"""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cdk_sagemaker_llm.catalog.engine_arguments import (
    Engine,
    EngineArgument,
    argument_names,
    find_argument,
)
from cdk_sagemaker_llm.models import HuggingFaceModel
from cdk_sagemaker_llm.serving.engines.arguments import (
    RECOVERY_OFF,
    ArgumentValue,
    UntellableError,
    write,
)
from cdk_sagemaker_llm.serving.engines.entry_points import (
    ENTRY_POINTS,
    command_line,
    passed_on,
)
from cdk_sagemaker_llm.serving.engines.parsing import parse
from cdk_sagemaker_llm.serving.engines.telling import Telling
from cdk_sagemaker_llm.serving.engines.vllm import Vllm
from tests.drawing import examples

_RELEASES: dict[str, tuple[Engine, str]] = {
    "vllm-A": ("vllm", "0.16.0"),
    "hf-vllm-A": ("vllm", "0.21.0"),
    "vllm-B0": ("vllm", "0.19.0"),
    "vllm-B-nosup": ("vllm", "0.20.0"),
    "vllm-B1": ("vllm", "0.22.1"),
    "vllm-B2": ("vllm", "0.26.0"),
    "hf-vllm-B": ("vllm", "0.29.0"),
    "vllm-C": ("vllm", "0.30.0"),
    "vllm-C-nosup": ("vllm", "0.28.0"),
    "sglang-A": ("sglang", "0.5.8"),
    "sglang-B": ("sglang", "0.5.19"),
}
# Of engines whose arguments no table describes.
_WITHOUT_TABLE = ("llama-cpp", "hf-llama-cpp", "neuron")
_PIECES = st.sampled_from(
    [
        "a",
        "Z",
        "0",
        " ",
        "  ",
        "'",
        '"',
        "\\",
        "=",
        "==",
        "%",
        "%%",
        "%(x)s",
        "#",
        " #",
        ";",
        " ;",
        "\n",
        "\t",
        "[",
        "]",
        "{",
        "}",
        '{"a": "b c"}',
        '["x","y"]',
        "ä",
        "日本",
        "-",
        "true",
        "None",
        "$HOME",
        "`id`",
        "*",
    ]
)
_TEXTS = st.lists(_PIECES, max_size=6).map("".join)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner),
    max_leaves=6,
)


def test_every_rule_is_tried() -> None:
    """
    A new one is tried as well.
    """
    assert {*_RELEASES, *_WITHOUT_TABLE} == set(ENTRY_POINTS)


def told(rule_name: str, name: str, value: Any) -> Any:  # noqa: ANN401 - any argument's
    """
    Return what the engine makes of an argument that was written for an entry point.
    """
    rule = ENTRY_POINTS[rule_name]
    engine, release = _RELEASES[rule_name]
    argument = find_argument(engine, name, release)
    assert argument is not None
    written = write(argument, value, rule)
    environment = dict(written.variables)
    if written.needs_no_supervisor:
        environment |= RECOVERY_OFF
    arguments = command_line(environment, rule, model_data=["config.json"])
    return vars(parse(engine, release, arguments))[name.replace("-", "_")]


@pytest.mark.parametrize("rule", _RELEASES)
@settings(
    max_examples=examples(150), suppress_health_check=list(HealthCheck), deadline=None
)
@given(text=_TEXTS)
def test_texts(rule: str, text: str) -> None:
    """
    A text arrives as it is, or is refused.
    """
    name = "served-model-name" if rule.startswith("sglang") else "revision"
    try:
        got = told(rule, name, text)
    except UntellableError:
        return
    engine, release = _RELEASES[rule]
    argument = find_argument(engine, name, release)
    assert argument is not None
    unset = argument.allows_none and text in {"", "None"}
    assert got == (None if unset else text)


@pytest.mark.parametrize("rule", _RELEASES)
@settings(
    max_examples=examples(100), suppress_health_check=list(HealthCheck), deadline=None
)
@given(value=st.dictionaries(_TEXTS, _JSON, max_size=3))
def test_objects(rule: str, value: dict[str, Any]) -> None:
    """
    A mapping arrives as the JSON that it is, whatever is in it.
    """
    is_sglang = rule.startswith("sglang")
    name = "json-model-override-args" if is_sglang else "hf-overrides"
    got = told(rule, name, value)
    assert (json.loads(got) if isinstance(got, str) else got) == value


@pytest.mark.parametrize("rule", ["vllm-C", "vllm-C-nosup"])
@settings(
    max_examples=examples(100), suppress_health_check=list(HealthCheck), deadline=None
)
@given(values=st.lists(_TEXTS, min_size=1, max_size=4))
def test_lists(rule: str, values: list[str]) -> None:
    """
    A list arrives value by value, or is refused.
    """
    try:
        got = told(rule, "served-model-name", values)
    except UntellableError:
        return
    unset = [None if value in {"None", ""} else value for value in values]
    assert got == unset


@pytest.mark.parametrize("rule", sorted(set(_RELEASES) - {"vllm-C", "vllm-C-nosup"}))
def test_two_values(rule: str) -> None:
    """
    Before the translator a variable is one value.
    """
    is_sglang = rule.startswith("sglang")
    name = "lora-target-modules" if is_sglang else "served-model-name"
    assert told(rule, name, ["q_proj"]) == ["q_proj"]
    with pytest.raises(UntellableError, match="one value for each variable, got 2"):
        told(rule, name, ["q_proj", "k_proj"])


@pytest.mark.parametrize("rule", _RELEASES)
@pytest.mark.parametrize("value", [True, False])
def test_switches(rule: str, value: bool) -> None:  # noqa: FBT001 - what is tried
    """
    Each switch of a release is what it was set to.
    """
    engine, release = _RELEASES[rule]
    for name in argument_names(engine, release):
        argument = find_argument(engine, name, release)
        assert argument is not None
        if not argument.is_switch or name == "enable-auto-tool-choice":
            continue
        # These ask for others beside them.
        if name in {"enable-log-outputs", "data-parallel-multi-port-external-lb"}:
            continue
        try:
            got = told(rule, name, value)
        except UntellableError:
            assert value is False
            assert argument.default
            continue
        if value or argument.has_negative:
            assert got is value
        else:
            assert got is None
            assert not argument.default


@pytest.mark.parametrize("rule", ["vllm-B1", "vllm-B2", "vllm-C", "hf-vllm-B"])
@pytest.mark.parametrize(
    ("text", "is_kept"),
    [("50%", True), ("a b", False), ("a #b", False), ("a;b", True)],
)
def test_supervisor(rule: str, text: str, is_kept: bool) -> None:  # noqa: FBT001 - what is tried
    """
    A per cent sign is doubled; what supervisord cuts off goes around it.
    """
    engine, release = _RELEASES[rule]
    argument = find_argument(engine, "revision", release)
    assert argument is not None
    written = write(argument, text, ENTRY_POINTS[rule])
    survives = is_kept or (text == "a b" and rule != "vllm-B1")
    assert written.needs_no_supervisor is not survives
    expected = "50%%" if text == "50%" else text
    assert written.variables == {"SM_VLLM_REVISION": expected}


_SHELL = r"""
while IFS='=' read -r key value; do
  printf '%s\0%s\0' "$key" "$value"
done < <(env | grep "^SM_VLLM_")
"""


@settings(
    max_examples=examples(60), suppress_health_check=list(HealthCheck), deadline=None
)
@given(text=_TEXTS.filter(lambda text: "\0" not in text))
def test_the_shell_itself(text: str) -> None:
    """
    The shell's loop is read as a real one reads it.
    """
    environment = {"SM_VLLM_X": text}
    done = subprocess.run(
        ["bash", "-c", _SHELL],
        env={**environment, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        check=True,
    )
    parts = done.stdout.decode().split("\0")[:-1]
    rule = ENTRY_POINTS["vllm-A"]
    # Under this rule every value is passed on as it was read, and an empty one not.
    got = {passed.variable: passed.values for passed in passed_on(environment, rule)}
    pairs = zip(parts[::2], parts[1::2], strict=True)
    assert got == {key: (value,) if value else () for key, value in pairs}


@pytest.mark.parametrize("rule_name", _WITHOUT_TABLE)
@settings(
    max_examples=examples(150), suppress_health_check=list(HealthCheck), deadline=None
)
@given(
    texts=st.dictionaries(
        st.sampled_from(["alias", "ctx-size", "chat-template", "hf-file", "n"]),
        _TEXTS | st.dictionaries(_TEXTS, _JSON, max_size=2).map(json.dumps),
    )
)
def test_without_a_table(rule_name: str, texts: dict[str, str]) -> None:
    """
    Each argument is followed by what was meant and by nothing else, or is refused.
    """
    rule = ENTRY_POINTS[rule_name]
    environment: dict[str, str] = {}
    expected = set()
    for name, text in texts.items():
        try:
            written = write(EngineArgument(name=name), text, rule)
        except UntellableError:
            continue
        environment |= written.variables
        flag = name.replace("-", "_") if rule_name == "neuron" else name
        expected.add((f"--{flag}", text))
    arguments = command_line(environment, rule)
    assert arguments[: len(rule.first)] == list(rule.first)
    rest = arguments[len(rule.first) :]
    assert set(zip(rest[::2], rest[1::2], strict=True)) == expected


@pytest.mark.parametrize("rule_name", _WITHOUT_TABLE)
def test_switches_without_a_table(rule_name: str) -> None:
    """
    One that is on stands alone, one that is off is not there or has its ``no-`` form.
    """
    rule = ENTRY_POINTS[rule_name]
    jinja = EngineArgument(name="jinja", kind="bool")
    mmap = EngineArgument(name="mmap", kind="bool", default=True, has_negative=True)
    no_mmap = "--no_mmap" if rule_name == "neuron" else "--no-mmap"

    def arguments(argument: EngineArgument, *, value: bool) -> list[str]:
        written = write(argument, value, rule)
        return command_line(written.variables, rule)[len(rule.first) :]

    assert arguments(jinja, value=True) == ["--jinja"]
    assert arguments(jinja, value=False) == []
    assert arguments(mmap, value=False) == [no_mmap]


def test_what_entry_points_consume() -> None:
    """
    A model's path reaches llama.cpp by its own way; a port does not.
    """
    environment = {
        "SM_LLAMA_CPP_MODEL": "/opt/ml/model/ä b=%.gguf",
        "SM_LLAMA_CPP_PORT": "1",
    }
    first = ["--host", "127.0.0.1", "--port", "8081"]
    expected = [*first, "--model", "/opt/ml/model/ä b=%.gguf"]
    assert command_line(environment, ENTRY_POINTS["llama-cpp"]) == expected
    environment = {"SM_LLAMACPP_HOST": "::", "SM_LLAMACPP_MODEL": "/m.gguf"}
    assert command_line(environment, ENTRY_POINTS["hf-llama-cpp"]) == [
        "--model",
        "/m.gguf",
    ]


@pytest.mark.parametrize("rule_name", _RELEASES)
@settings(
    max_examples=examples(60), suppress_health_check=list(HealthCheck), deadline=None
)
@given(
    text=_TEXTS,
    value=st.dictionaries(_TEXTS, _JSON, min_size=1, max_size=2),
    eager=st.booleans(),
)
def test_several_at_once(
    rule_name: str, text: str, value: dict[str, Any], *, eager: bool
) -> None:
    """
    Whatever one of them needs, such as no supervisor, the others arrive as well.
    """
    engine, release = _RELEASES[rule_name]
    is_sglang = engine == "sglang"
    names = ("model-path", "json-model-override-args", "disable-cuda-graph")
    names = names if is_sglang else ("tokenizer", "hf-overrides", "enforce-eager")
    values: tuple[ArgumentValue, ...] = (text, value, eager)
    asked = dict(zip(names, values, strict=True))
    rule = ENTRY_POINTS[rule_name]
    telling = Telling(engine, release, rule, engine)
    done = telling.tell(asked, {}, {})
    refused = [one for one in done.findings if one.severity == "error"]
    data = ["config.json"]
    got = vars(
        parse(engine, release, command_line(done.variables, rule, model_data=data))
    )

    found = got[names[1].replace("-", "_")]
    assert (json.loads(found) if isinstance(found, str) else found) == value
    assert bool(got[names[2].replace("-", "_")]) is eager
    if not refused:
        argument = find_argument(engine, names[0], release)
        assert argument is not None
        unset = argument.allows_none and text in {"", "None"}
        assert got[names[0].replace("-", "_")] == (None if unset else text)


def test_a_supervisor_that_the_user_switches_off() -> None:
    """
    Nothing is doubled for its sake.
    """
    serving = Vllm(served_model_name="50%", environment=RECOVERY_OFF)
    supervised = Vllm(served_model_name="50%")
    names = []
    for one in (serving, supervised):
        prepared = one.prepare(HuggingFaceModel("Qwen/Qwen3-8B"), 1)
        assert prepared.container is not None
        names.append(prepared.container.environment["SM_VLLM_SERVED_MODEL_NAME"])
    assert names == ["50%", "50%%"]
