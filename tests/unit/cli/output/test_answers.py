"""
Answers on a terminal, and in a pipe.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import partial
from unittest import mock

import pytest
from rich.console import Console

from cdk_sagemaker_llm.cli.output import answers
from cdk_sagemaker_llm.cli.output.answers import Paper, legend, note, put
from cdk_sagemaker_llm.client.answers import FinishReason, Generation, Token, gather

TERMINAL = partial(
    Console, force_terminal=True, color_system="standard", legacy_windows=False
)
DIM, YELLOW, PLAIN = "\x1b[2m", "\x1b[33m", "\x1b[0m"


@pytest.fixture(name="terminal")
def _terminal() -> Iterator[None]:
    """
    Have what is written go to a terminal.
    """
    with mock.patch.object(answers, "Console", TERMINAL):
        yield


def thought(text: str) -> Token:
    """
    Make a token of the reasoning.
    """
    return Token("", reasoning=text)


@pytest.mark.usefixtures("terminal")
def test_a_terminal_shows_what_was_thought_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    Dimmed, and on lines of its own.
    """
    paper = Paper(shaded=False)
    for token in (thought("Hm"), thought("?"), Token("Yes"), Token("!")):
        paper.token(token)
    paper.end()
    paper.end()

    assert capsys.readouterr().out == (f"{DIM}Hm{PLAIN}{DIM}?{PLAIN}\nYes!\n")


def test_a_pipe_has_the_answer_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """
    As it is, and of several the first.
    """
    paper = Paper(shaded=True)
    paper.end()
    for token in (
        thought("Hm"),
        Token("Yes\x1b[2J", log_prob=-9.0),
        Token("No", index=1),
        Token("\n"),
    ):
        paper.token(token)
    paper.end()

    assert capsys.readouterr().out == "Yes\x1b[2J\n"


@pytest.mark.parametrize(
    ("tokens", "lines"),
    [
        # The last column is for what ends a sentence.
        ([" One", " two", " three", "."], [" One two", "three."]),
        ([" Uno", " dos", " t", "."], [" Uno dos t."]),
        ([" Uno", " dos", " tr", "."], [" Uno dos", "tr."]),
        # A whole answer, with lines of its own.
        (["alpha beta gamma\n\ndelta"], ["alpha beta", "gamma", "", "delta"]),
        # What comes in parts, and what has no space.
        ([" Feder", "erererer", " on"], [" Federerererer", "on"]),
        (["http://a.example/b c"], ["http://a.example/b", "c"]),
        # Wide letters take two columns.
        (["日本語 日本語"], ["日本語", "日本語"]),
    ],
)
def test_a_terminal_breaks_lines_between_words(
    tokens: list[str], lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """
    A pipe has the text as it is.
    """
    with mock.patch.object(answers, "Console", partial(TERMINAL, width=11)):
        paper = Paper(shaded=False)
        for text in tokens:
            paper.token(Token(text))
        paper.end()
    shown = capsys.readouterr().out
    paper = Paper(shaded=False)
    for text in tokens:
        paper.token(Token(text))

    assert shown.splitlines() == lines
    assert capsys.readouterr().out == "".join(tokens)


def test_remarks_are_broken_between_words_on_a_terminal_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    A pipe has each in a line.
    """
    with mock.patch.object(answers, "Console", partial(TERMINAL, width=11)):
        note("as long as this")
    shown = capsys.readouterr().err.replace(DIM, "").replace(PLAIN, "")
    note("as long as this " * 20)

    assert [line.rstrip() for line in shown.splitlines()] == ["as long as", "this"]
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.usefixtures("terminal")
def test_a_whole_answer_is_shaded_by_its_tokens(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    Where they make it up, and where that is asked for.
    """
    whole = gather([thought("Hm"), Token("a", log_prob=0.0), Token("b", log_prob=-0.4)])
    Paper(shaded=True).whole(whole)
    assert capsys.readouterr().out == f"{DIM}Hm{PLAIN}\na{YELLOW}b{PLAIN}"
    Paper(shaded=False).whole(whole)
    assert capsys.readouterr().out == f"{DIM}Hm{PLAIN}\nab"
    Paper(shaded=True).whole(Generation("other", tokens=whole.tokens))
    assert capsys.readouterr().out == "other"
    Paper(shaded=True).whole(Generation("c\x1b[2Jd"))
    assert capsys.readouterr().out == "c[2Jd"


@pytest.mark.usefixtures("terminal")
def test_what_shades_mean_is_said_on_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    Where there are any.
    """
    answer = Generation("a", finish_reason=FinishReason.STOP)
    Paper(shaded=True).remark(answer, 1.5)
    shaded = capsys.readouterr().err
    Paper(shaded=False).remark(answer, 1.5)

    plain = shaded.replace(DIM, "").replace(PLAIN, "")
    assert legend() in " ".join(plain.split())
    assert "1.50 s" in shaded
    assert capsys.readouterr().err == ""


def test_what_shades_mean_is_not_said_in_a_pipe(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    Which has none.
    """
    Paper(shaded=True).remark(Generation("a"), 1.5, 0.25)
    said = capsys.readouterr().err

    assert "1.50 s, the first after 0.25 s" in said
    assert "probability" not in said
    assert legend() == (
        "probability: plain from 0.9 on, yellow from 0.6 on, magenta from 0.3 on, red "
        "below"
    )


def test_what_an_output_cannot_hold_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    And the rest is written at once.
    """
    file = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(file, encoding="latin-1"))
    put("é ☃ \ud800")

    assert file.getvalue() == b"\xe9 ? ?"
