"""
Reading option values as pydantic and the Java front end do.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.catalog.lmi import OptionType
from cdk_sagemaker_llm.serving.lmi.values import (
    as_bool,
    as_int,
    fault_of,
    java_int_fault,
)

CHOICES = OptionType(kind="enum", choices=("awq", "gptq"))
LEVELS = OptionType(kind="int-enum", choices=("1", "2", "3"))
# By kind: what can be read by every version, what by none, and what is asked for.
KINDS: list[tuple[OptionType, list[str], list[str], str]] = [
    (
        OptionType(kind="int"),
        ["0", "4", "-4", "+4", " 4 ", "1_000", "007"],
        ["", "x", "4.5", "4.01", "1e3", "4.0.0", "0x10", "4 2", "None"],
        "an integer",
    ),
    (
        OptionType(kind="float"),
        ["0.5", "1", "-1e-3", " .5 ", "inf", "nan", "1_0.5"],
        ["", "x", "0,5", "1e", "50%", "None"],
        "a number",
    ),
    (
        OptionType(kind="bool"),
        [
            *("true", "True", "TRUE", "1", "on", "t", "y", "yes", "YES"),
            *("false", "False", "0", "off", "f", "n", "no", "NO"),
        ],
        ["", "2", "tru", "maybe", " true", "None", "enabled"],
        "true or false",
    ),
    (CHOICES, ["awq", "gptq"], ["", "AWQ", "awq ", "squeezellm"], "one of awq, gptq"),
    (LEVELS, ["1", "2", "3", "+2", "02"], ["", "0", "4", "x", "-1"], "one of 1, 2, 3"),
    (
        OptionType(kind="int-list"),
        ["128", "128,512", " 1 , 2 ", "-1,0"],
        ["", "1,", ",1", "1;2", "1,x", "[1,2]", "1.0"],
        "integers joined by commas, such as 128,512",
    ),
    (
        OptionType(kind="counts"),
        ["image=2", "image=2,video=1", " Image = 2 ", "a=1,A=1", "=1", "a=-1"],
        ["", "image", "image=", "image=x", "image=2,", "a=1,a=2", "image:2", "a=1;b=2"],
        "name=count pairs joined by commas, such as image=2",
    ),
    (
        OptionType(kind="floats"),
        ["[1.0,4.0]", "4", "(1, 2)", "[]", " 1.5 ", "[1, '2']", "True"],
        ["", "x", "1,x", "{'a': 1}", "'1'", "None", "[1, 'x']", "[[1]]", "["],
        "a list of numbers, such as [1.0,4.0]",
    ),
    (
        OptionType(kind="dict"),
        ["{}", "{'a': 1}", ' {"a": [1]} '],
        ["", "x", "[]", "{1}", "'a'", "{'a': }", "{'a': b}", "{[]: 1}", "(" * 9000],
        "a dictionary, such as {'key':'value'}",
    ),
    (
        OptionType(kind="none"),
        [],
        ["", "x", "None", "1"],
        "left out: this version takes no value",
    ),
    (
        OptionType(kind="callable"),
        [],
        ["", "x", "model.py"],
        "set by model.py: a file can name no function",
    ),
    (OptionType(kind="str"), ["", "x", "None", "1"], [], ""),
    (OptionType(kind="any"), ["", "x", "[", "1"], [], ""),
]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    ("declared", "taken", "refused", "asked"), KINDS, ids=[k[0].kind for k in KINDS]
)
def test_a_value_is_read_as_its_kind(
    declared: OptionType,
    taken: list[str],
    refused: list[str],
    asked: str,
    *,
    strict: bool,
) -> None:
    """
    What both versions of pydantic take, and what neither does.
    """
    faults = {value: fault_of(declared, value, strict_int=strict) for value in refused}

    assert faults == dict.fromkeys(refused, asked)
    for value in taken:
        assert fault_of(declared, value, strict_int=strict) is None, value


@pytest.mark.parametrize(
    ("declared", "value", "asked"),
    [
        (OptionType(kind="int"), "4.0", "an integer"),
        (OptionType(kind="int"), " -4.00 ", "an integer"),
        (LEVELS, "2.0", "one of 1, 2, 3"),
    ],
)
def test_a_zero_fraction_is_an_integer_from_0_28_on(
    declared: OptionType, value: str, asked: str
) -> None:
    """
    Pydantic 2 takes it, and the first did not.
    """
    assert fault_of(declared, value, strict_int=True) == asked
    assert fault_of(declared, value, strict_int=False) is None


@pytest.mark.parametrize("value", ["4.0.0", "4.05", "4.", ".0", "x.0", "4.0x"])
def test_no_other_fraction_is_an_integer(value: str) -> None:
    """
    Zeros alone may follow the point, and nothing follows them.
    """
    fault = fault_of(OptionType(kind="int"), value, strict_int=False)

    assert fault == "an integer"


@pytest.mark.parametrize("kind", ["int", "int-enum", "float"])
def test_digits_of_other_scripts_are_read_up_to_0_27(kind: str) -> None:
    """
    By Python itself; pydantic 2 has a reader of its own.
    """
    declared = OptionType(kind=kind, choices=("1", "2", "3"))
    arabic = "\u0662"

    assert fault_of(declared, arabic, strict_int=True) is None
    assert fault_of(declared, arabic, strict_int=False) == "written in ASCII digits"


@pytest.mark.parametrize("kind", ["str", "any"])
def test_text_may_be_of_any_script(kind: str) -> None:
    """
    Only numbers are of digits.
    """
    assert fault_of(OptionType(kind=kind), "\u0662é", strict_int=False) is None


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("0", None),
        ("+4", None),
        ("-4", None),
        ("007", None),
        ("2147483647", None),
        ("2147483648", "an integer of 32 bits"),
        ("-2147483648", None),
        ("-2147483649", "an integer of 32 bits"),
        ("0" * 39 + "1", None),
        ("0" * 40 + "1", "an integer of 32 bits"),
        ("9" * 5000, "an integer of 32 bits"),
        ("4 ", "an integer without blanks after it"),
        (" 4", "an integer without blanks after it"),
        ("4\n", "an integer without blanks after it"),
        ("", "an integer"),
        (" ", "an integer"),
        ("x ", "an integer"),
        ("4.0", "an integer"),
        ("4 2", "an integer"),
        ("1_000", "an integer"),
        ("+", "an integer"),
        ("\u0662", "an integer"),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_java_reads_an_integer(value: str, fault: str | None) -> None:
    """
    ``Integer.parseInt``: 32 bits, no blanks, no underscores.
    """
    assert java_int_fault(value) == fault


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("true", True),
        ("Yes", True),
        ("1", True),
        ("on", True),
        ("t", True),
        ("y", True),
        ("false", False),
        ("No", False),
        ("0", False),
        ("off", False),
        ("f", False),
        ("n", False),
        ("", None),
        (None, None),
        ("2", None),
    ],
)
def test_a_switch_is_on_off_or_neither(value: str | None, *, read: bool | None) -> None:
    """
    By every word that pydantic has for it.
    """
    assert as_bool(value) is read


@pytest.mark.parametrize(
    ("value", "read"),
    [("4", 4), ("-4", -4), (" 4 ", 4), ("0", 0), ("", None), (None, None), ("x", None)],
)
def test_a_whole_number_is_read_or_is_none(value: str | None, read: int | None) -> None:
    """
    As Python reads it.
    """
    assert as_int(value) == read
