"""
Kinds of values, placeholders among them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest

from cdk_sagemaker_llm import ProductionVariant
from cdk_sagemaker_llm.arguments import (
    Fault,
    UnknownKindError,
    held,
    hold_kinds,
    hold_known,
    is_later,
    kind_of,
    known_at_synth,
)
from cdk_sagemaker_llm.arguments.kinds import value_text

NUMBER_TOKEN = -1.8881545897087626e289
TEXT_TOKEN = "${Token[TOKEN.1]}"  # noqa: S105 - a placeholder of the CDK
LIST_TOKEN = ["#{Token[TOKEN.1]}"]


def told(annotation: str, value: object) -> list[str]:
    """
    Return what is told of a value under an annotation.
    """
    return [str(fault) for fault in kind_of(annotation).faults("it", value)]


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        ("int", 0),
        ("int", -1),
        ("int", NUMBER_TOKEN),
        ("int | None", None),
        ("float", 1),
        ("float", 0.25),
        ("float", NUMBER_TOKEN),
        ("float | None", NUMBER_TOKEN),
        ("str", ""),
        ("str", TEXT_TOKEN),
        ("bool", False),
        ("Literal[1, 2]", 2),
        ("int | Literal['max']", "max"),
        ("Copies", "fill"),
        ("Copies", 2),
        ("Sequence[str]", ["a"]),
        ("Sequence[str]", ("a",)),
        ("Sequence[str]", LIST_TOKEN),
        ("Sequence[int]", LIST_TOKEN),
        ("Sequence[bool | str]", LIST_TOKEN),
        ("tuple[str, ...]", ()),
        ("Mapping[str, str]", {"a": TEXT_TOKEN}),
        ("Mapping[str, str]", {}),
        ("Mapping[str, Any]", {"a": [1, {"b": None}], "c": ("d",)}),
        ("EnvironmentValue", [1, 2]),
        ("EnvironmentValue", ["a"]),
        ("EnvironmentValue", True),
    ],
)
def test_takes_what_is_declared(annotation: str, value: object) -> None:
    """
    A placeholder counts as what it stands for.
    """
    assert told(annotation, value) == []


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        ("int", True, "it must be a whole number, got True (bool)"),
        ("int", 2.0, "it must be a whole number, got 2.0 (float)"),
        ("int", "x", "it must be a whole number, got 'x' (str)"),
        ("int", " 2 ", "it must be a whole number, got ' 2 ' (str); write 2"),
        ("int", None, "it must be a whole number, got None"),
        ("int", math.inf, "it must be a whole number, got inf (float)"),
        ("int", -math.inf, "it must be a whole number, got -inf (float)"),
        (
            "int",
            TEXT_TOKEN,
            (
                "it must be a whole number, got a value that is known only at "
                "deployment; write Token.as_number(...)"
            ),
        ),
        (
            "str",
            NUMBER_TOKEN,
            (
                "it must be text, got a value that is known only at deployment; write "
                "Token.as_string(...)"
            ),
        ),
        ("float", math.nan, "it must be a finite number, got nan (float)"),
        ("float", "nan", "it must be a finite number, got 'nan' (str)"),
        ("float", False, "it must be a finite number, got False (bool)"),
        ("int | float", "x", "it must be a finite number, got 'x' (str)"),
        ("Literal[1, 2]", True, "it must be 1 or 2, got True (bool)"),
        ("Literal['a']", "b", "it must be 'a', got 'b' (str)"),
        ("Sequence[str]", "a", "it must be a list, got 'a' (str); write ['a']"),
        (
            "Sequence[str]",
            [TEXT_TOKEN, None],
            "it[1] must be text, got None",
        ),
        (
            "Sequence[InstancePool]",
            LIST_TOKEN,
            (
                "it is known only at deployment, and is needed at synth; write a list, "
                "each item an InstancePool"
            ),
        ),
        ("Sequence[AsyncTopic]", LIST_TOKEN, "it is known only at deployment"),
        ("Sequence[int]", [1, "2"], "it[1] must be a whole number, got '2' (str)"),
        ("Mapping[str, str]", {5: "a"}, "a name in it must be text, got 5 (int)"),
        (
            "Mapping[str, str]",
            {"a": None},
            "it['a'] must be text, got None; leave it out",
        ),
        (
            "PropertyValue",
            {"image": 2},
            (
                "it must be text, a finite number or True or False, got a value of "
                "type dict; write it as text"
            ),
        ),
        (
            "Sequence[ProductionVariant]",
            ProductionVariant(instance_type="ml.g5.xlarge"),
            "got a value of type ProductionVariant; write a list of it",
        ),
        (
            "Mapping[str, str]",
            {"a": b"secret"},
            "it['a'] must be text, got a value of type bytes",
        ),
        (
            "Mapping[str, Any]",
            {"a": [1, {"b": math.nan}]},
            "it['a'][1]['b'] must be a finite number, got nan (float)",
        ),
        ("Duration", TEXT_TOKEN, "it must be a Duration"),
        ("Duration | None", 1.5, "write Duration.seconds(1.5)"),
        ("Duration | None", NUMBER_TOKEN, "write Duration.seconds(...)"),
        ("ModelSource", "hf_x", "write HuggingFaceModel('organisation/name')"),
    ],
)
def test_tells_what_is_not(annotation: str, value: object, message: str) -> None:
    """
    With the value and its type, and never the digits of a placeholder.
    """
    (fault,) = told(annotation, value)

    assert message in fault
    assert "1.888" not in fault
    assert "hf_x" not in fault


@pytest.mark.parametrize("annotation", ["Unheard", "Callable[[], int]", "list[int]"])
def test_fails_for_a_class_without_words(annotation: str) -> None:
    """
    So that a test can tell which are missing.
    """
    with pytest.raises(UnknownKindError):
        kind_of(annotation)


def test_a_long_value_is_not_repeated() -> None:
    """
    A message stays a line.
    """
    assert value_text("a" * 57) == f"'{'a' * 57}' (str)"
    assert value_text("a" * 59) == "a value of type str"
    assert value_text(object()) == "a value of type object"


@pytest.mark.parametrize(
    ("value", "later"),
    [
        (NUMBER_TOKEN, True),
        ([1, NUMBER_TOKEN], True),
        (TEXT_TOKEN, False),
        (1, False),
        (None, False),
    ],
    ids=["number", "in a list", "text", "known", "none"],
)
def test_only_numbers_are_missed_at_synth(value: object, *, later: bool) -> None:
    """
    Nothing is computed with text.
    """
    assert is_later(value) is later


def nested(depth: int) -> object:
    """
    Return a mapping in a mapping, so many times.
    """
    return {"a": nested(depth - 1)} if depth else None


class _Recursive(dict[str, object]):
    def __init__(self) -> None:
        super().__init__(a=self)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"a": {1}}, "it['a'] must be a value that JSON can hold, got a value of type"),
        ({"a": [b"x"]}, "it['a'][0] must be a value that JSON can hold, got a value"),
        ({"a": math.nan}, "it['a'] must be a "),
        (nested(103), "it is nested too deeply, or holds itself"),
        (_Recursive(), "it is nested too deeply, or holds itself"),
        (nested(102), ""),
        ({"a": [None, True, 1, 1.5, "b", {"c": ()}]}, ""),
        ({"a": TEXT_TOKEN, "b": NUMBER_TOKEN}, ""),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_json_holds_what_it_can(value: object, words: str) -> None:
    """
    What it cannot is named by where it stands.
    """
    faults = [str(one) for one in kind_of("Mapping[str, Any]").faults("it", value)]

    assert len(faults) == bool(words)
    assert "".join(faults).startswith(words)


def test_a_missing_argument_is_told_of_by_class_or_method() -> None:
    """
    Of a class within another as well; ``__init__`` is nobody's word.
    """

    class Thing:
        @held
        def __init__(self, value: int) -> None:
            self.value = value

        @held
        def grow(self, by: int) -> None:
            self.value += by

    made: Any = Thing
    here = "test_a_missing_argument_is_told_of_by_class_or_method.<locals>.Thing"
    with pytest.raises(TypeError) as raised:
        made()
    with pytest.raises(TypeError) as unknown:
        made(1).grow(2, more=3)

    missing = "missing 1 required positional argument: 'value'"
    assert str(raised.value) == f"{here}() {missing}"
    assert str(unknown.value) == "grow() got an unexpected keyword argument 'more'"


def test_what_is_held_is_called_as_it_is() -> None:
    """
    With defaults, by position and by keyword; what it returns is handed on.
    """

    @held
    def joined(first: str, *, second: str = "b") -> str:
        return first + second

    assert (joined("a"), joined(first="c", second="d")) == ("ab", "cd")
    with pytest.raises(ValueError, match=r"^first must be text, got 1 \(int\); "):
        joined(1)  # type: ignore[arg-type] # as a user may call it
    with pytest.raises(ValueError, match=r"^first must .*; second must be text"):
        joined(1, second=2)  # type: ignore[arg-type] # as above


def test_faults_may_be_handed_to_the_caller() -> None:
    """
    With all values of the call.
    """
    refused: list[object] = []

    def refuse(faults: list[Fault], values: Mapping[str, object]) -> None:
        refused.extend([[str(fault) for fault in faults], dict(values)])

    def twice(value: int) -> int:
        return value * 2

    held(twice, refuse=refuse)("a")  # type: ignore[arg-type] # as a user may call it

    assert refused == [["value must be a whole number, got 'a' (str)"], {"value": "a"}]


class Pair(NamedTuple):
    """
    A named tuple of a user's.
    """

    first: object
    second: object


@dataclass(frozen=True)
class Kept:
    """
    What a user's own values are kept in.
    """

    items: Sequence[object] = ()
    names: Mapping[str, object] = field(default_factory=dict)
    count: float | None = 0

    def __post_init__(self) -> None:
        hold_kinds(self)


def test_lists_and_mappings_are_kept_as_they_are_now() -> None:
    """
    Whole, each of its own type; a named tuple stays what it is.
    """
    inner, pair = [1], Pair([2], 3)
    kept = Kept(items=[inner, pair, (inner,)], names={"a": {"b": inner}})
    inner.append(4)

    assert kept.items == [[1], pair, ([1],)]
    assert isinstance(kept.items[1], type(pair))
    assert kept.names == {"a": {"b": [1]}}


def test_numbers_that_deployment_knows_are_left_out_or_refused() -> None:
    """
    What is computed with at synth is asked for.
    """
    later = Kept(count=NUMBER_TOKEN)
    known = Kept(count=3)

    assert known_at_synth(known) is known
    assert known_at_synth(later).count is None
    hold_known(known)
    with pytest.raises(ValueError, match=r"^count is known only at deployment, "):
        hold_known(later)
