"""
The command itself: which subcommands there are, and what starts them.
"""

from __future__ import annotations

import sys

import pytest

from cdk_sagemaker_llm import cli

NAMES = [
    "benchmark",
    "chat",
    "check",
    "invoke",
    "load-test",
    "local",
    "permissions",
    "plan",
    "simulate",
    "stream",
]


def shown(
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> tuple[int, str]:
    """
    Run the command in this process; return its exit status and what it printed.
    """
    monkeypatch.setattr(sys, "argv", ["sagemaker-llm", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out + printed.err


def test_help_lists_every_subcommand(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    With what the command is for.
    """
    status, text = shown(["--help"], monkeypatch, capsys)

    assert status == 0
    assert "Large language models on Amazon SageMaker." in text
    assert "--install-completion" not in text
    assert [name for name in NAMES if f" {name} " in text] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_each_subcommand_has_help(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Without loading the others.
    """
    status, text = shown([name, "--help"], monkeypatch, capsys)

    assert status == 0
    assert f"sagemaker-llm {name}" in text


def test_an_unknown_subcommand_is_misuse(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    It is named.
    """
    status, text = shown(["chekc"], monkeypatch, capsys)

    assert status == 2
    assert "chekc" in text


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["local"], "local"),
        (["load-test"], "load"),
        (["benchmark"], "load"),
        (["check"], "cli"),
        ([], "cli"),
        (["stream", "x"], "cli,client"),
    ],
)
def test_without_typer_it_says_what_to_install(
    arguments: list[str], extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The embedded AWS and load tests need more than the others.
    """
    monkeypatch.setattr(sys, "argv", ["sagemaker-llm", *arguments])
    monkeypatch.setitem(sys.modules, "typer", None)

    with pytest.raises(SystemExit) as ended:
        cli.main()

    assert ended.value.code == (
        "sagemaker-llm needs typer; install it with: "
        f"pip install 'cdk-sagemaker-llm[{extra}]'"
    )


def test_ctrl_c_while_it_is_loaded_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    It ends as an interrupted command does.
    """

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.commands, "add_command", interrupted)

    assert shown(["load-test"], monkeypatch, capsys) == (130, "")
