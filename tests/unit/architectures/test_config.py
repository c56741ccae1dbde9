"""
Reading a config.json.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cdk_sagemaker_llm.architectures.config import Config, read_config

CONFIG = Config(
    {
        "zero": 0,
        "one": 1,
        "most": 10**9,
        "text": "x",
        "null": None,
        "yes": True,
        "no": False,
        "list": ["a", "b", "a"],
        "numbers": [3, -1, 0],
        "part": {"one": 7},
        "empty": [],
    }
)


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (lambda: CONFIG.number("one"), 1),
        (lambda: CONFIG.number("most"), 10**9),
        (lambda: CONFIG.number("one", "most"), 1),
        (lambda: CONFIG.number("none", "most"), 10**9),
        (lambda: CONFIG.number("null", "most"), 10**9),
        (lambda: CONFIG.number("one", default=5), 1),
        (lambda: CONFIG.number("none", default=5), 5),
        (lambda: CONFIG.number("none", "null", default=0), 0),
        (lambda: CONFIG.number("zero", default=0), 0),
        (lambda: CONFIG.flag("yes", default=False), True),
        (lambda: CONFIG.flag("no", default=True), False),
        (lambda: CONFIG.flag("none", default=True), True),
        (lambda: CONFIG.flag("null", default=False), False),
        (lambda: CONFIG.word("text"), "x"),
        (lambda: CONFIG.word("one"), None),
        (lambda: CONFIG.word("none"), None),
        (lambda: CONFIG.numbers("numbers"), [3, -1, 0]),
        (lambda: CONFIG.numbers("none"), []),
        (lambda: CONFIG.numbers("null"), []),
        (lambda: CONFIG.numbers("empty"), []),
        (lambda: CONFIG.count_of("list", "a"), 2),
        (lambda: CONFIG.count_of("list", "c"), 0),
        (lambda: CONFIG.count_of("none", "a"), None),
        (lambda: CONFIG.count_of("text", "x"), None),
        (lambda: CONFIG.architecture, None),
        (lambda: Config({"architectures": ["A", "B"]}).architecture, "A"),
        (lambda: Config({"architectures": []}).architecture, None),
        (lambda: Config({"architectures": "A"}).architecture, None),
        (lambda: Config({"architectures": [1]}).architecture, None),
        (lambda: CONFIG.filled({"one": 9, "new": 8}).number("one"), 1),
        (lambda: CONFIG.filled({"one": 9, "new": 8}).number("new"), 8),
        (lambda: CONFIG.filled({"null": 9}).number("null", default=4), 4),
        (lambda: CONFIG.part("one"), None),
        (lambda: CONFIG.part("none"), None),
    ],
)
def test_a_key_is_read_by_its_kind(read: Callable[[], object], value: object) -> None:
    """
    The first of its names that is there, else what is taken for it.
    """
    assert read() == value


def test_a_part_is_a_configuration_of_its_own() -> None:
    """
    Such as ``text_config``.
    """
    part = CONFIG.part("part")

    assert part is not None
    assert part.number("one") == 7


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (
            lambda: CONFIG.number("zero"),
            "zero in config.json must be a whole number of at least 1, got 0",
        ),
        (
            lambda: CONFIG.number("zero", default=3),
            "zero in config.json must be a whole number of at least 1, got 0",
        ),
        (
            lambda: Config({"n": -1}).number("n", default=0),
            "n in config.json must be a whole number of at least 0, got -1",
        ),
        (
            lambda: CONFIG.number("yes"),
            "yes in config.json must be a whole number of at least 1, got True",
        ),
        (
            lambda: CONFIG.number("text"),
            "text in config.json must be a whole number of at least 1, got 'x'",
        ),
        (
            lambda: Config({"n": 1.0}).number("n"),
            "n in config.json must be a whole number of at least 1, got 1.0",
        ),
        (
            lambda: Config({"n": 10**9 + 1}).number("n"),
            "n in config.json must be at most 1000000000",
        ),
        (lambda: CONFIG.number("none", "null"), "config.json has no none"),
        (
            lambda: CONFIG.flag("one", default=True),
            "one in config.json must be true or false, got 1",
        ),
        (
            lambda: CONFIG.numbers("list"),
            "list in config.json must be a list of numbers, got ['a', 'b', 'a']",
        ),
        (
            lambda: CONFIG.numbers("one"),
            "one in config.json must be a list of numbers, got 1",
        ),
    ],
)
def test_fails_if_a_key_is_not_of_its_kind(
    read: Callable[[], object], message: str
) -> None:
    """
    The key, the rule, and the value got.
    """
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - compared below
        read()

    assert str(caught.value) == message


def test_an_object_a_text_and_a_file_are_read(tmp_path: Path) -> None:
    """
    A text is one that holds an object; anything else is a path.
    """
    path = tmp_path / "config.json"
    path.write_text('{"text": "é"}', encoding="utf-8")

    assert read_config({"text": "é"}).word("text") == "é"
    assert read_config('{"text": "é"}').word("text") == "é"
    assert read_config(path).word("text") == "é"
    assert read_config(str(path)).word("text") == "é"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("{", "config.json is no JSON: Expecting property name enclosed in double "),
        ('[{"a": 1}]', "config.json must hold an object"),
        ("no-such-file", "config.json cannot be read: [Errno 2] No such file or "),
        (Path("no-such-file"), "config.json cannot be read: [Errno 2] No such file "),
        ("a\0b", "config.json cannot be read: "),
        ('{"a":' * 100_000, "config.json is no JSON: "),
    ],
    ids=["half", "a list", "a path", "a file", "no path", "too deep"],
)
def test_fails_if_nothing_can_be_read(given: str | Path, message: str) -> None:
    """
    With what the reader said of it.
    """
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - compared below
        read_config(given)

    assert str(caught.value).startswith(message)


def test_a_file_that_is_no_json_is_named(tmp_path: Path) -> None:
    """
    Any path may have been given.
    """
    path = tmp_path / "hosts"
    path.write_text("127.0.0.1 localhost", encoding="utf-8")

    for given in (path, str(path)):
        with pytest.raises(ValueError, match=f"^{path} is no JSON: "):
            read_config(given)
