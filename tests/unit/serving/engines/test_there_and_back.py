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
    argument_names,
    find_argument,
)
from cdk_sagemaker_llm.serving.engines.entry_points import ENTRY_POINTS
from cdk_sagemaker_llm.serving.engines.parsing import parse
from cdk_sagemaker_llm.serving.engines.translation import passed_on, translate
from cdk_sagemaker_llm.serving.engines.writing import (
    RECOVERY_OFF,
    UntellableError,
    write,
)

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
    arguments = translate(environment, rule, model_data=["config.json"])
    return vars(parse(engine, release, arguments))[name.replace("-", "_")]


@pytest.mark.parametrize("rule", _RELEASES)
@settings(max_examples=150, suppress_health_check=list(HealthCheck), deadline=None)
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
@settings(max_examples=100, suppress_health_check=list(HealthCheck), deadline=None)
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
@settings(max_examples=100, suppress_health_check=list(HealthCheck), deadline=None)
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
        if name == "enable-log-outputs":
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


@settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=None)
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
