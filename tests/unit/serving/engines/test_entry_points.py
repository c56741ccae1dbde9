"""
What the images' entry points make of variables.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import pytest

from cdk_sagemaker_llm.serving.engines.entry_points import (
    ENTRY_POINTS,
    EntryPoint,
    Passed,
    StartError,
    command_line,
    is_supervised,
    passed_on,
    recovers,
    supervised,
)

PLAIN = EntryPoint(name="plain", prefix="SM_X_")
SPREADS = EntryPoint(name="spreads", prefix="SM_X_", spreads_lists=True)
TRIMS = EntryPoint(name="trims", prefix="SM_X_", trims=True, reads_lines=False)
EVERYWHERE = "0.0.0.0"  # noqa: S104 - what the container listens on
TEXTS = EntryPoint(name="texts", prefix="SM_X_", reads_truth=False)


def values(rule: EntryPoint, value: str, name: str = "A") -> tuple[str, ...] | None:
    """
    Return what stands behind the argument that a variable becomes; ``None`` for none.
    """
    found = [one.values for one in passed_on({f"SM_X_{name}": value}, rule)]
    return found[0] if found else None


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        (PLAIN, "b", ("b",)),
        (PLAIN, "", ()),
        (PLAIN, "TRUE", ()),
        (PLAIN, "False", None),
        (PLAIN, " true ", (" true ",)),
        (TRIMS, " true ", ()),
        (TRIMS, " false", None),
        (TEXTS, "true", ("true",)),
        (TEXTS, "false", ("false",)),
        (PLAIN, '["b","c"]', ('["b","c"]',)),
        (PLAIN, "b\nc", ("b",)),
        (TRIMS, "b\nc", ("b\nc",)),
        (PLAIN, "b=", ("b",)),
        (PLAIN, "b=c=", ("b=c=",)),
        (PLAIN, "=", ()),
        (TRIMS, "b=", ("b=",)),
        (SPREADS, '["b", "c"]', ("b", "c")),
        (SPREADS, ' ["b"] ', ("b",)),
        (SPREADS, "[]", None),
        (SPREADS, '[null, 1, {"a": [2, 3]}, true]', ("", "1", '{"a":[2,3]}', "true")),
        (SPREADS, "[b]", ("[b]",)),
        (SPREADS, "[1", ("[1",)),
        (SPREADS, '{"a": 1} {"b": 2}', ('{"a":1}', '{"b":2}')),
        (SPREADS, '{"a": 1}', ('{"a": 1}',)),
        (SPREADS, '{"a": 1} 2 {"b": 2}', ('{"a": 1} 2 {"b": 2}',)),
        (SPREADS, '{"a": 1} {b}', ('{"a": 1} {b}',)),
    ],
)
def test_a_value_becomes_these(
    rule: EntryPoint, value: str, expected: tuple[str, ...] | None
) -> None:
    """
    As the image's shell or its translator has it.
    """
    assert values(rule, value) == expected


@pytest.mark.parametrize(
    "name", ["ALLOWED_ORIGINS", "ALLOWED_METHODS", "ALLOWED_HEADERS", "MIDDLEWARE"]
)
def test_some_arguments_take_a_list_as_it_is(name: str) -> None:
    """
    The translator's own exceptions.
    """
    assert values(SPREADS, '["a"]', name) == ('["a"]',)


def test_variables_come_in_the_order_of_their_names() -> None:
    """
    Without those that are consumed, and those of another prefix.
    """
    rule = EntryPoint(name="x", prefix="SM_X_", consumed=("HOST",))
    variables = {"SM_X_B_C": "2", "SM_Y_D": "3", "SM_X_HOST": "h", "SM_X_A": "1"}

    assert list(passed_on(variables, rule)) == [
        Passed("SM_X_A", "--a", ("1",)),
        Passed("SM_X_B_C", "--b-c", ("2",)),
    ]


def test_a_line_of_a_value_may_be_a_variable_of_its_own() -> None:
    """
    A shell that reads lines does not know where a value ends.
    """
    variables = {"OTHER": "a\nSM_X_B=c"}

    assert list(passed_on(variables, PLAIN)) == [Passed("SM_X_B", "--b", ("c",))]
    assert list(passed_on(variables, TRIMS)) == []


def test_names_keep_underscores_where_the_rule_does() -> None:
    """
    And become variables again.
    """
    rule = EntryPoint(name="x", prefix="SM_X_", keeps_underscores=True)

    assert (rule.flag("SM_X_A_B"), PLAIN.flag("SM_X_A_B")) == ("--a_b", "--a-b")
    assert PLAIN.variable("a-b") == "SM_X_A_B"


@pytest.mark.parametrize(
    ("rule", "environment", "model_data", "expected"),
    [
        (PLAIN, {}, (), []),
        (PLAIN, {"HF_MODEL_ID": "a/b"}, (), ["--model", "a/b"]),
        (PLAIN, {"HF_MODEL_ID": "a/b"}, ["c"], ["--model", "/opt/ml/model"]),
        (PLAIN, {"SM_X_MODEL": "/m"}, ["c"], ["--model", "/m"]),
        (
            EntryPoint(name="x", prefix="SM_X_", finds_model=False, first=("serve",)),
            {"HF_MODEL_ID": "a/b"},
            (),
            ["serve"],
        ),
        (
            EntryPoint(
                name="x",
                prefix="SM_X_",
                finds_model=False,
                insists_on_model=True,
                model_flag="--model-path",
            ),
            {"SM_X_PORT": "1"},
            (),
            ["--port", "1", "--host", EVERYWHERE, "--model-path", "/opt/ml/model"],
        ),
        (
            EntryPoint(
                name="x",
                prefix="SM_X_",
                finds_model=False,
                insists_on_model=True,
                model_flag="--model-path",
                consumed=("PORT", "HOST", "MODEL_PATH"),
            ),
            {"SM_X_PORT": "1", "SM_X_HOST": "h", "SM_X_MODEL_PATH": "/m"},
            (),
            ["--port", "1", "--host", "h", "--model-path", "/m"],
        ),
    ],
)
def test_the_model_is_found_where_the_image_looks(
    rule: EntryPoint,
    environment: Mapping[str, str],
    model_data: list[str],
    expected: list[str],
) -> None:
    """
    Its own variable, the folder, and then the Hub.
    """
    assert command_line(environment, rule, model_data=model_data) == expected


@pytest.mark.parametrize(
    ("environment", "files", "expected"),
    [
        ({}, ["b.gguf", "a.gguf"], "/opt/ml/model/a.gguf"),
        ({}, ["a/a.gguf", "b.gguf"], "/opt/ml/model/b.gguf"),
        ({}, ["a/a.gguf"], "/opt/ml/model/a/a.gguf"),
        ({}, ["a/b/a.gguf"], None),
        ({}, ["a.bin"], None),
        ({"SM_LLAMA_CPP_MODEL": "/m.gguf"}, ["a.gguf"], "/m.gguf"),
        (
            {"SM_LLAMA_CPP_MODEL_DIR": "/opt/ml/model/"},
            ["a.gguf"],
            "/opt/ml/model/a.gguf",
        ),
        ({"SM_LLAMA_CPP_MODEL_DIR": "/other"}, ["a.gguf"], None),
    ],
)
def test_llama_cpp_takes_the_first_file(
    environment: Mapping[str, str], files: list[str], expected: str | None
) -> None:
    """
    Of the folder, or one below it.
    """
    rule = ENTRY_POINTS["llama-cpp"]
    found = command_line(environment, rule, model_data=files)
    named = [value for flag, value in pairwise(found) if flag == rule.model_flag]

    assert named[:1] == ([] if expected is None else [expected])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, True),
        ("true", True),
        ("TRUE", True),
        ("1", True),
        ("false", False),
        ("yes", False),
        ("", False),
    ],
)
def test_the_supervisor_is_on_unless_it_is_switched_off(
    value: str | None, *, expected: bool
) -> None:
    """
    By anything but true and 1.
    """
    environment = {} if value is None else {"PROCESS_AUTO_RECOVERY": value}
    rule = EntryPoint(name="x", prefix="SM_X_", supervisor="keeps")

    assert recovers(environment) is expected
    assert is_supervised(environment, rule) is expected
    assert is_supervised(environment, PLAIN) is False


@pytest.mark.parametrize(
    ("arguments", "is_joined", "expected"),
    [
        (["--a", "b c"], False, ["--a", "b c"]),
        (["--a", "b c"], True, ["--a", "b", "c"]),
        (["--a", "%(ENV_HOME)s"], False, ["--a", "/h"]),
        (["--a", "5%%"], False, ["--a", "5%"]),
        (["--a", "it's"], False, ["--a", "it's"]),
        (["--a", '"b"'], True, ["--a", "b"]),
    ],
)
def test_the_supervisor_hands_arguments_on(
    arguments: list[str], expected: list[str], *, is_joined: bool
) -> None:
    """
    With quotes, or with blanks between them alone; % begins a name of its own.
    """
    assert supervised(arguments, {"HOME": "/h"}, is_joined=is_joined) == expected


@pytest.mark.parametrize(
    ("arguments", "environment", "is_joined", "message"),
    [
        (
            ["--a"],
            {"LOG_LEVEL": "loud"},
            False,
            (
                "Invalid LOG_LEVEL: 'loud'; it must be one of debug, info, warn, "
                "error, critical"
            ),
        ),
        (
            ["--a", "%(ENV_NOT)s"],
            {},
            False,
            (
                "Error: Format string \"--a '%(ENV_NOT)s'\" for 'program:app.command' "
                "contains names or quotes that cannot be read: 'ENV_NOT'"
            ),
        ),
        (
            ["--a", "it's"],
            {},
            True,
            (
                "Error: Format string \"--a it's\" for 'program:app.command' "
                "contains names or quotes that cannot be read: No closing quotation"
            ),
        ),
        (
            ["--a", "5%"],
            {},
            False,
            (
                "Failed to generate supervisord configuration: invalid interpolation "
                "syntax in '--a 5%' at position 5"
            ),
        ),
    ],
)
def test_fails_if_the_supervisor_cannot_start_the_engine(
    arguments: list[str],
    environment: Mapping[str, str],
    message: str,
    *,
    is_joined: bool,
) -> None:
    """
    In the words of its log.
    """
    with pytest.raises(StartError) as raised:
        supervised(arguments, environment, is_joined=is_joined)

    assert str(raised.value) == message


@pytest.mark.parametrize("level", ["DEBUG", "info", "warn", "error", "Critical"])
def test_each_level_of_the_supervisor_is_taken(level: str) -> None:
    """
    In any letters.
    """
    assert supervised(["--a"], {"LOG_LEVEL": level}, is_joined=False) == ["--a"]
