"""
The help of every subcommand: nothing is left unsaid, and nothing is cut off.
"""

from __future__ import annotations

import re

import pytest
import typer
import typer.rich_utils

from cdk_sagemaker_llm.cli.commands import add_command
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.unit.cli.test_command import NAMES, shown

_WIDTH = 80
_FRAME = re.compile(r"[│╭╮╰╯─]")
# What nobody asked for is not written, not there, and not given again.
_SPEAKS_FOR_ITSELF = ("Write ", "Draw ")


def parameters(name: str) -> list[Untyped]:
    """
    Return the arguments and options of a subcommand.
    """
    app = typer.Typer(add_completion=False)
    add_command(app, name.replace("-", "_"))
    # Which click they are of, its own or the package, differs by typer's version.
    return list(typer.main.get_command(app).params)


def of_no_use(parameter: Untyped) -> str:
    """
    Say what is missing of the help of an option.
    """
    told: str = getattr(parameter, "help", None) or ""
    if not told.endswith("."):
        return "no sentence"
    if getattr(parameter, "multiple", False) or parameter.required:
        return ""
    if parameter.default is None and not told.startswith(_SPEAKS_FOR_ITSELF):
        return "" if "omitted" in told or "may be given again" in told else "no default"
    return ""


@pytest.mark.parametrize("name", NAMES)
def test_every_option_says_what_it_is_and_what_it_is_if_omitted(name: str) -> None:
    """
    Its default is shown, or said.
    """
    found = {one.opts[-1]: of_no_use(one) for one in parameters(name)}

    assert {option: fault for option, fault in found.items() if fault} == {}


@pytest.mark.parametrize("name", NAMES)
def test_help_fits_a_terminal_of_eighty_columns(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    No word of it is cut off, no line is too long, and every word of it is there.
    """
    monkeypatch.setenv("COLUMNS", str(_WIDTH))
    monkeypatch.setenv("TERMINAL_WIDTH", str(_WIDTH))
    status, text = shown([name, "--help"], monkeypatch, capsys)
    words = " ".join(_FRAME.sub(" ", text).split())

    assert status == 0
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= _WIDTH
    for one in parameters(name):
        assert all(option in words for option in one.opts if option.startswith("-"))


@pytest.mark.parametrize("name", NAMES)
def test_help_has_no_colours_where_nobody_wants_them(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    On a terminal too.
    """
    monkeypatch.setattr(typer.rich_utils, "FORCE_TERMINAL", True)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    colour = re.compile(r"\x1b\[(?:\d+;)*[34]\d")
    _, coloured = shown([name, "--help"], monkeypatch, capsys)
    monkeypatch.setenv("NO_COLOR", "1")
    _, plain = shown([name, "--help"], monkeypatch, capsys)

    assert colour.search(coloured)
    assert not colour.search(plain)


def test_a_paragraph_is_broken_where_the_terminal_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    And not where its source is as well.
    """
    monkeypatch.setenv("COLUMNS", str(_WIDTH))
    monkeypatch.setenv("TERMINAL_WIDTH", str(_WIDTH))
    _, text = shown(["load-test", "--help"], monkeypatch, capsys)
    (begun,) = [line for line in text.splitlines() if "Nothing is tried again" in line]

    assert begun.rstrip().endswith("The endpoint is asked once")
    assert "\n before it begins. Ctrl-C ends it early" in text


def test_commands_call_the_same_thing_by_the_same_word() -> None:
    """
    No option of one is what another calls otherwise.
    """
    options = {
        name: {option for one in parameters(name) for option in one.opts}
        for name in NAMES
    }
    old = {"--arrival-rate", "--run-time", "--think", "--plot", "--backend"}

    assert {name for name, found in options.items() if found & old} == set()
    assert {"--rate", "--duration", "--think-time", "--users", "--png"} <= (
        options["load-test"] & options["simulate"]
    )
    asking = {"benchmark", "chat", "invoke", "load-test", "plan", "simulate", "stream"}
    asking |= {"preflight", "doctor", "adopt", "choose"}
    assert {name for name, found in options.items() if "--profile" in found} == asking
    assert "--instance-type" in options["plan"] & options["check"]
    assert "--serving" in options["plan"] & options["check"]
