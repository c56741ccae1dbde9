"""
What the documents say of ``sagemaker-llm simulate`` is what it does.
"""

from __future__ import annotations

import contextlib
import inspect
import re
import shlex
from pathlib import Path

import pytest
from aws_cdk import App

from app import define
from cdk_sagemaker_llm.cli.commands.simulate import simulate as simulate_command
from tests.running import run

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "simulate.md").read_text(encoding="utf-8")
PROGRAM = "sagemaker-llm simulate "
COMMANDS = [
    line.split("  #")[0].strip()
    for block in re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
    for line in block.splitlines()
    if line.startswith(PROGRAM)
]


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    Synthesise the reference app where a user would.
    """
    folder = tmp_path_factory.mktemp("app")
    app = App(outdir=str(folder / "cdk.out"))
    define(app)
    app.synth()
    return folder


def simulate(command: str, folder: Path) -> str:
    """
    Run a line of a document beside the synthesised app.
    """
    with contextlib.chdir(folder):
        done = run(*shlex.split(command)[1:])
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("command", dict.fromkeys(COMMANDS))
def test_a_command_of_the_documents_works(command: str, folder: Path) -> None:
    """
    On the reference app; each ends in its report.
    """
    assert "Assumed or estimated" in simulate(command, folder)


def test_the_guide_shows_what_is_printed(folder: Path) -> None:
    """
    Line by line, but for those that it leaves out.
    """
    after = GUIDE.split("cdk.out --endpoint Mistral", 1)[1]
    shown = re.search(r"```text\n(.*?)```", after, re.DOTALL)
    printed = simulate(f"{PROGRAM}cdk.out --endpoint Mistral", folder).splitlines()

    assert shown is not None
    lines = [line for line in shown[1].splitlines() if line and line != "..."]
    assert len(lines) > 10
    for line in lines:
        assert line.rstrip() in [one.rstrip() for one in printed], line


def test_the_guide_has_commands() -> None:
    """
    A change of the fences does not silently empty the test above.
    """
    assert len(COMMANDS) >= 8


def test_the_guide_names_every_option() -> None:
    """
    What can be told is written down.
    """
    names = inspect.signature(simulate_command).parameters
    options = {name: f"--{name.replace('_', '-')}" for name in names}
    special = {"app": "cdk.out", "setting": "--set", "as_json": "--json"}
    known = {**options, **special}

    assert [each for each in known.values() if each not in GUIDE] == []
