"""
The command itself: which subcommands there are, and what starts them.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import re
import subprocess
import sys
from importlib import metadata
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

import cdk_sagemaker_llm
from cdk_sagemaker_llm import cli
from cdk_sagemaker_llm.cli import commands
from cdk_sagemaker_llm.load import running

NAMES = [
    "adopt",
    "benchmark",
    "chat",
    "check",
    "choose",
    "doctor",
    "invoke",
    "load-test",
    "local",
    "new",
    "permissions",
    "plan",
    "preflight",
    "simulate",
    "stream",
    "support",
]
GROUPS = {
    "Before deploying": [
        "new",
        "check",
        "support",
        "plan",
        "choose",
        "simulate",
        "permissions",
    ],
    "Run locally": ["local"],
    "Look into an account": ["preflight", "doctor", "adopt"],
    "Talk to an endpoint": ["invoke", "stream", "chat", "load-test", "benchmark"],
}


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
    In the group of what it is for.
    """
    status, text = shown(["--help"], monkeypatch, capsys)
    begun = {title: text.index(f" {title} ") for title in GROUPS}
    groups = {
        title: re.findall(r"^│ ([a-z]\S*) ", text[begin:].split("╰")[0], re.MULTILINE)
        for title, begin in begun.items()
    }

    assert status == 0
    assert "Large language models on Amazon SageMaker." in text
    assert groups == GROUPS
    assert list(begun.values()) == sorted(begun.values())
    assert sorted(name for group in groups.values() for name in group) == NAMES
    # What has no group would stand under this title.
    assert " Commands " not in text


def test_a_new_command_without_a_group_is_listed_last() -> None:
    """
    Rather than not at all.
    """
    ordered = sorted(["a_new_one", "benchmark", "check"], key=commands.place_of)

    assert ordered == ["check", "benchmark", "a_new_one"]


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
    arguments: list[str],
    extra: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    The embedded AWS and load tests need more than the others.
    """
    monkeypatch.setitem(sys.modules, "typer", None)

    status, text = shown(arguments, monkeypatch, capsys)

    assert status == 2
    assert text == (
        "sagemaker-llm needs typer; install it with: "
        f"pip install 'cdk-sagemaker-llm[{extra}]'\n"
    )


@pytest.mark.parametrize(
    ("package", "arguments"),
    [
        ("locust", ["load-test", "chat"]),
        ("locust", ["load-test", "--join", "leader"]),
        ("locust", ["benchmark", "chat", "--users", "1"]),
        ("moto", ["local", "--port", "0"]),
        ("numpy", ["simulate", "cdk.out"]),
        ("matplotlib", ["simulate", "cdk.out", "--png", "run.png"]),
        ("matplotlib", ["load-test", "chat", "--png", "run.png"]),
        ("boto3", ["plan", "mistralai/Mistral-7B-v0.1", "--prices", "aws"]),
        ("botocore", ["invoke", "chat", "Who?"]),
    ],
)
def test_whatever_is_not_installed_ends_a_command_alike(
    package: str,
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    As misuse, and with what to install.
    """
    for name in [*sys.modules]:
        if name.partition(".")[0] == package:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Without(package), *sys.meta_path])
    find = importlib.util.find_spec

    def find_others(name: str) -> ModuleSpec | None:
        return None if name == package else find(name)

    monkeypatch.setattr(importlib.util, "find_spec", find_others)
    monkeypatch.setattr(running, "find_spec", find_others)

    status, text = shown(arguments, monkeypatch, capsys)

    assert status == 2
    assert "install it with: pip install 'cdk-sagemaker-llm[" in " ".join(text.split())


class Without(importlib.abc.MetaPathFinder):
    """
    A machine without a package.
    """

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, fullname: str, *_: object) -> None:
        """
        Find everything but that.
        """
        if fullname.partition(".")[0] == self._package:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


@pytest.mark.parametrize("arguments", [["--version"], ["--version", "plan"]])
def test_the_version_is_that_of_the_package(
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    Which a program finds where it looks for it.
    """
    version = metadata.version("cdk-sagemaker-llm")

    assert cdk_sagemaker_llm.__version__ == version
    assert shown(arguments, monkeypatch, capsys) == (0, f"sagemaker-llm {version}\n")


@pytest.mark.parametrize("name", [None, *NAMES])
def test_help_has_a_short_option(
    name: str | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    Everywhere.
    """
    command = [] if name is None else [name]

    assert shown([*command, "-h"], monkeypatch, capsys) == shown(
        [*command, "--help"], monkeypatch, capsys
    )


@pytest.mark.parametrize(
    ("arguments", "old", "new"),
    [
        (["load-test", "x", "--users", "0"], "--run-time=1s", "--duration"),
        (["load-test", "x", "--users", "0"], "--arrival-rate=1", "--rate"),
        (["benchmark", "x", "--users", "0"], "--run-time=1s", "--duration"),
        (["simulate", "x"], "--think=1s", "--think-time"),
        (["plan", "x"], "--instance=ml.g5.xlarge", "--instance-type"),
        (["plan", "x"], "--plot=a.png", "--png"),
        (["check", "x"], "--backend=vllm", "--serving"),
    ],
)
def test_an_old_word_is_read_and_the_new_one_said(
    arguments: list[str],
    old: str,
    new: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    For a release.
    """
    word, _, value = old.partition("=")
    status, text = shown([*arguments, old], monkeypatch, capsys)
    _, renamed = shown([*arguments, f"{new}={value}"], monkeypatch, capsys)

    note = f"sagemaker-llm {arguments[0]}: {word} is {new} now; the old word goes"
    assert status == 2
    assert text.startswith(note)
    assert text.splitlines()[1:] == renamed.splitlines()


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


def test_an_output_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    """
    In a file that may not grow, as on a full disk: no traceback, and no success either.
    """
    code = """
import resource, sys
from cdk_sagemaker_llm import cli
from cdk_sagemaker_llm.cli import commands
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
sys.exit(cli.main())
"""
    with (tmp_path / "full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-c", code, "--version"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert ended.returncode == 1
    assert ended.stderr == (
        "sagemaker-llm: the output cannot be written: [Errno 27] File too large\n"
    )
