"""
What the checks of a TGI environment look at.
"""

from __future__ import annotations

import math

import pytest

from cdk_sagemaker_llm.catalog.tgi import TgiOption
from cdk_sagemaker_llm.serving.tgi.tgi_variables import (
    TgiSubject,
    as_count,
    as_number,
    value_fault,
)

ENVIRONMENT = {
    "SM_NUM_GPUS": "2",
    "QUANTIZE": "awq",
    "HF_MODEL_QUANTIZE": "",
    "MAX_BEST_OF": "x",
    "PORT": "${Token[TOKEN.1]}",
    "MAX_INPUT_TOKENS": "8",
    "HF_MODEL_REVISION": "main",
}
SUBJECT = TgiSubject(
    ENVIRONMENT,
    "1.4.5",
    None,
    words={"SM_NUM_GPUS": "num_gpus"},
    unchecked=["HF_MODEL_REVISION"],
)
WHOLE = "a whole number of at least 0"
CHOICE = TgiOption(name="X", kind="choice", choices=("awq", "gptq", "fp8"))


def test_left_out_nothing_is_renamed_and_everything_checked() -> None:
    """
    Every check is made, and in the launcher's own words.
    """
    plain = TgiSubject(ENVIRONMENT, "1.4.5", None)

    assert (plain.words, plain.unchecked) == ({}, ())


def test_a_variable_is_set_under_either_name() -> None:
    """
    SageMaker's, unless it is empty; and called as the user calls it.
    """
    names = ["NUM_SHARD", "QUANTIZE", "REVISION", "MAX_TOTAL_TOKENS"]

    assert [SUBJECT.written(name) for name in names] == [
        "SM_NUM_GPUS",
        "QUANTIZE",
        "HF_MODEL_REVISION",
        "MAX_TOTAL_TOKENS",
    ]
    assert [SUBJECT.word(name) for name in names] == [
        "num_gpus",
        "QUANTIZE",
        "HF_MODEL_REVISION",
        "MAX_TOTAL_TOKENS",
    ]
    assert [SUBJECT.is_left_out(name) for name in names] == [False, False, False, True]


def test_a_value_is_what_this_version_reads_of_it() -> None:
    """
    Nothing of what it does not know, what is no number, or is not to be checked.
    """
    names = ["NUM_SHARD", "QUANTIZE", "MAX_BEST_OF", "PORT", "MAX_INPUT_TOKENS"]

    assert [SUBJECT.value(name) for name in names] == ["2", "awq", "x", None, None]
    assert [SUBJECT.count(name) for name in names] == [2, None, None, None, None]
    assert SUBJECT.value("REVISION") is None
    assert SUBJECT.raw("MAX_INPUT_TOKENS") == "8"
    assert SUBJECT.raw("nothing") is None


def test_left_out_a_count_is_the_versions_default() -> None:
    """
    Where it has one.
    """
    names = ["MAX_TOTAL_TOKENS", "NUM_SHARD", "MAX_BATCH_SIZE", "MAX_INPUT_TOKENS"]

    assert [SUBJECT.count_or_default(name) for name in names] == [2048, 2, None, None]
    assert TgiSubject({}, "1.4.5", None).count_or_default("MAX_INPUT_TOKENS") is None


def test_a_version_is_between_two() -> None:
    """
    Both of them included.
    """
    assert SUBJECT.is_between("1.4.5")
    assert SUBJECT.is_between("1.4.5", "1.4.5")
    assert not SUBJECT.is_between("1.4.6")
    assert not SUBJECT.is_between("1.0.0", "1.4.4")
    assert SUBJECT.knows("MAX_BEST_OF")
    assert not SUBJECT.knows("MAX_INPUT_TOKENS")


def option(kind: str) -> TgiOption:
    """
    Return an option of a kind.
    """
    return TgiOption(name="X", kind=kind)


@pytest.mark.parametrize(
    ("declared", "value", "fault"),
    [
        *(
            (option(kind), value, WHOLE)
            for kind in ("usize", "u64", "u32", "u16")
            for value in ("", "-1", "4.0", "1e3", " 4", "4 ", "1_0", "\u0661", "+", "x")
        ),
        *(
            (option(kind), value, None)
            for kind in ("usize", "u64", "u32", "u16")
            for value in ("0", "+4", "007", "-0", "-00", "0" * 40)
        ),
        (option("usize"), "18446744073709551615", None),
        (option("usize"), "18446744073709551616", "at most 18446744073709551615"),
        (option("u64"), "18446744073709551615", None),
        (option("u64"), "18446744073709551616", "at most 18446744073709551615"),
        (option("u32"), "4294967295", None),
        (option("u32"), "4294967296", "at most 4294967295"),
        (option("u16"), "65535", None),
        (option("u16"), "65536", "at most 65535"),
        (option("u16"), "0" * 41, "at most 65535"),
        (option("usize"), "9" * 5000, "at most 18446744073709551615"),
        *((option("bool"), value, None) for value in ("true", "false")),
        *(
            (option("bool"), value, "true or false")
            for value in ("", "True", "1", "0", "yes", " true")
        ),
        *(
            (option("f32"), value, None)
            for value in ("1", ".5", "5.", "-1.5", "+2", "1e-3", "1E+3", "5.e1", "inf")
        ),
        *((option("f32"), value, None) for value in ("-Infinity", "NaN", "+nan")),
        *(
            (option("f32"), value, "a number")
            for value in ("", "1,5", "0.5 ", ".", "e3", "1e", "1_0", "\u0661", "x")
        ),
        *((option("usize-list"), value, None) for value in ("0", "1,2,4", "+1,-0")),
        *(
            (
                option("usize-list"),
                value,
                "whole numbers joined by commas, such as 1,2,4",
            )
            for value in ("", "1, 2", "1,,2", "a", "1,", "18446744073709551616")
        ),
        *((CHOICE, value, None) for value in ("awq", "gptq", "fp8")),
        *((CHOICE, value, "awq, gptq or fp8") for value in ("", "AWQ", "awq ")),
        *((option("str"), value, None) for value in ("", "anything at all")),
    ],
    ids=lambda value: value.kind if isinstance(value, TgiOption) else str(value)[:20],
)  # fmt: skip
def test_a_value_is_read_as_its_kind(
    declared: TgiOption, value: str, fault: str | None
) -> None:
    """
    Rust's own parsers, without blanks, underscores or other scripts' digits.
    """
    assert value_fault(declared, value) == fault


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (None, None),
        ("", None),
        ("-1", None),
        ("x", None),
        ("18446744073709551616", None),
        ("18446744073709551615", 18446744073709551615),
        ("0", 0),
        ("+4", 4),
        ("-0", 0),
    ],
)
def test_a_count_is_read_or_is_none(value: str | None, read: int | None) -> None:
    """
    What the launcher could not read is told of elsewhere.
    """
    assert as_count(value) == read


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (None, None),
        ("", None),
        ("x", None),
        ("0.5", 0.5),
        ("-1", -1),
        ("inf", math.inf),
    ],
)
def test_a_number_is_read_or_is_none(value: str | None, read: float | None) -> None:
    """
    As Rust reads it.
    """
    assert as_number(value) == read
