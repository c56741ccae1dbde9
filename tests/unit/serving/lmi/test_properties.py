"""
serving.properties: written for two readers, read as Java does.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cdk_sagemaker_llm.catalog.lmi import OptionType
from cdk_sagemaker_llm.serving.lmi.properties import (
    PropertiesError,
    PropertyValue,
    as_bool,
    as_int,
    fault_of,
    java_int_fault,
    lines,
    pairs,
    parse,
    render,
    text_of,
)
from cdk_sagemaker_llm.tokens import is_unresolved

KEYS = st.from_regex(r"[A-Za-z0-9_.\-]+", fullmatch=True)
VALUES = st.text(
    st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="\\")
).filter(lambda text: not is_unresolved(text))
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1\nb = 2 \n", {"a": "1", "b": "2 "}),
        ("a:1\nb 2\nc\n", {"a": "1", "b": "2", "c": ""}),
        ("# no\n  ! no\na=1", {"a": "1"}),
        ("a=1\\\n   2", {"a": "12"}),
        ("a\\=b\\ c=d", {"a=b c": "d"}),
        ("a=\\u00e9\\t\\q", {"a": "é\tq"}),
        ("a==b", {"a": "=b"}),
        ("a=1\r\na=2\rb=3", {"a": "2", "b": "3"}),
        ("a=b\\\\", {"a": "b\\"}),
        # Separators: the first that is not escaped, with the blanks around it.
        ("", {}),
        ("=v", {"": "v"}),
        (" : v", {"": "v"}),
        ("a:=v", {"a": "=v"}),
        ("a=:v", {"a": ":v"}),
        ("a = = v", {"a": "= v"}),
        ("a  v w ", {"a": "v w "}),
        ("a\t=\tv\t", {"a": "v\t"}),
        ("a\fv", {"a": "v"}),
        ("a=\f\t v", {"a": "v"}),
        ("\f a\f:\fv\f", {"a": "v\f"}),
        ("a\u00a0b=1", {"a\u00a0b": "1"}),
        ("\va=1", {"\va": "1"}),
        # Escapes of separators, in keys and in values.
        ("a\\=b=c", {"a=b": "c"}),
        ("a\\:b:c", {"a:b": "c"}),
        ("a\\ b c", {"a b": "c"}),
        ("a\\\tb=c", {"a\tb": "c"}),
        ("a\\\fb=c", {"a\fb": "c"}),
        ("a\\\\=b", {"a\\": "b"}),
        ("a\\\\\\=b=c", {"a\\=b": "c"}),
        ("a\\\\ b", {"a\\": "b"}),
        ("a=\\=\\:\\ ", {"a": "=: "}),
        ("a=b\\=c", {"a": "b=c"}),
        # Escapes of letters, and of code points.
        ("a=\\t|\\n|\\r|\\f", {"a": "\t|\n|\r|\f"}),
        ("\\ta=1", {"\ta": "1"}),
        ("a=\\b\\'\\\"\\U0041", {"a": "b'\"U0041"}),
        ("a=\\u00e9\\u00E9x", {"a": "ééx"}),
        ("a\\u003db=c", {"a=b": "c"}),
        ("a=\\u00411", {"a": "A1"}),
        ("a=\\\\u00e9", {"a": "\\u00e9"}),
        ("a=\\u0020 b", {"a": "  b"}),
        # Comments begin a line, not a value, and do not continue.
        ("#a=1\n!b=2\n\f#c=3\nd=#!e", {"d": "#!e"}),
        ("\\#a=1\n\\!b=2", {"#a": "1", "!b": "2"}),
        ("#a\\\nb=1", {"b": "1"}),
        ("a=\\\n# b", {"a": "# b"}),
        ("\\\n#a\nb=1", {"b": "1"}),
        # Continuations: an odd number of backslashes at the end.
        ("a\\\n   b=c", {"ab": "c"}),
        ("a=1\\\n\t\f 2", {"a": "12"}),
        ("a=1\\\r\n 2\\\r 3", {"a": "123"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a=b\\\\\\\nc", {"a": "b\\c"}),
        ("a=1\\\n\nb=2", {"a": "1", "b": "2"}),
        ("a=1 \\\n 2", {"a": "1 2"}),
        ("a=1\\", {"a": "1"}),
        ("a=1\\\n", {"a": "1"}),
        # A backslash that nothing follows is an empty key (all of it tried in JDK 17).
        ("\\", {"": ""}),
        ("\\\n", {"": ""}),
        ("\\\r", {"": ""}),
        ("\\\r\n", {}),
        ("\\\n\n", {}),
        ("\\\n ", {}),
        ("a=1\n\\", {"a": "1", "": ""}),
        ("\\\n\\", {"": ""}),
        ("\\\\", {"\\": ""}),
        ("# no\\", {}),
        ("\\\n# no", {}),
        # Lines end at a carriage return or a line feed, or both, and nowhere else.
        ("a=1\n\r\n \t\f\n\rb=2", {"a": "1", "b": "2"}),
        ("a=1\vb\x85c\u2028d", {"a": "1\vb\x85c\u2028d"}),
        ("a=1\nb=2\na=3\na", {"a": "", "b": "2"}),
    ],
    ids=repr,
)
def test_text_is_read_as_java_reads_it(text: str, expected: dict[str, str]) -> None:
    """
    Separators, comments, escapes and continuations of ``Properties.load``.
    """
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a=\\u12", "malformed \\u escape in '\\\\u12'"),
        ("a=\\u12g4", "malformed \\u escape in '\\\\u12g4'"),
        ("a=x\\u", "malformed \\u escape in 'x\\\\u'"),
        ("a=\\u 041", "malformed \\u escape in '\\\\u 041'"),
        ("a=\\uu0041", "malformed \\u escape in '\\\\uu0041'"),
        ("a=1\nb\\u1=2", "malformed \\u escape in 'b\\\\u1'"),
    ],
    ids=repr,
)
def test_fails_if_an_escape_is_malformed(text: str, told: str) -> None:
    """
    Java refuses the whole file, and so do we.
    """
    with pytest.raises(PropertiesError) as caught:
        parse(text)

    assert str(caught.value) == told


def test_pairs_are_told_in_the_order_of_the_file() -> None:
    """
    Repeated ones too.
    """
    assert list(pairs("b=1\na=2\nb=3\n")) == [("b", "1"), ("a", "2"), ("b", "3")]


@pytest.mark.parametrize(
    "value",
    ["é", "a\\b", " a", "a ", "a\nb", "a\x00", "\ta", "a\tb", "a\x7f", "\f", "\u2028"],
    ids=repr,
)
def test_fails_if_a_value_would_be_read_differently(value: str) -> None:
    """
    What one of the two readers would change is never written.
    """
    with pytest.raises(PropertiesError) as caught:
        render({"option.x": value})

    assert str(caught.value) == (
        "option.x must be printable ASCII without backslashes or blanks at its ends, "
        f"got {value!r}"
    )


@pytest.mark.parametrize("value", ["${Token[TOKEN.12]}", int(-1.8881545897087e289)])
def test_fails_if_a_value_is_known_only_at_deployment(value: str | int) -> None:
    """
    A file is made before that.
    """
    with pytest.raises(PropertiesError) as caught:
        render({"option.x": value})

    assert str(caught.value) == (
        "option.x is known only at deployment, too late for a file; pass it in an "
        "environment variable"
    )


@pytest.mark.parametrize(
    "name",
    ["option.a b", "a=b", "a:b", "#a", "a\\", "", "a\n", "é", "\ta", "a/b"],
    ids=repr,
)
def test_fails_if_a_name_would_be_read_differently(name: str) -> None:
    """
    A separator inside a name would end it.
    """
    with pytest.raises(PropertiesError) as caught:
        render({name: 1})

    assert str(caught.value) == (
        f"property name {name!r} must hold letters, digits, dots, dashes and "
        "underscores only"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-5, "-5"),
        (0.95, "0.95"),
        (2.0, "2.0"),
        ("", ""),
        ("True", "True"),
        ("a b=c:d#!e", "a b=c:d#!e"),
        ("~!", "~!"),
    ],
    ids=repr,
)
def test_a_value_is_written_as_both_readers_take_it(
    value: PropertyValue, text: str
) -> None:
    """
    ``True`` is Python's word; text is left as it is.
    """
    assert render({"option.A-b_9": value}) == f"option.A-b_9={text}\n"
    assert text_of("option.A-b_9", value) == text


def test_properties_are_written_in_the_order_given() -> None:
    """
    A line each.
    """
    assert render({"b": 1, "a": "x"}) == "b=1\na=x\n"
    assert lines({"b": "1", "a": ""}) == "b=1\na=\n"
    assert render({}) == ""


@given(st.dictionaries(KEYS, VALUES))
def test_what_is_written_is_read_back(properties: dict[str, str]) -> None:
    """
    Render, then parse, is the identity.
    """
    assert parse(render(properties)) == properties


@given(st.text())
@example("\\")
@example("\\\n#a")
def test_no_text_breaks_the_reader(text: str) -> None:
    """
    Whatever is in a file, the only error is the reader's own.
    """
    try:
        parse(text)
    except PropertiesError as fault:
        assert "escape" in str(fault)  # noqa: PT017 - most texts raise nothing


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
