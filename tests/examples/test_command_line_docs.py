"""
What docs/command-line.md shows is what the command does.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from aws_cdk import App

from app import define
from tests.running import run

GUIDE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text("utf-8")


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    Synthesise the reference app.
    """
    folder = tmp_path_factory.mktemp("cdk.out")
    app = App(outdir=str(folder))
    define(app)
    app.synth()
    return folder


def test_the_costs_of_an_app_are_those_that_are_shown(folder: Path) -> None:
    """
    Line by line; dots stand for what is left out.
    """
    (shown,) = [
        block
        for block in re.findall(r"```text\n(.*?)```", GUIDE, re.DOTALL)
        if "prices: " in block
    ]
    expected = [line for line in shown.splitlines() if line != "..."]
    lines = iter(run("plan", folder).stdout.splitlines())

    # Each is there, after the one before it.
    assert [line for line in expected if line not in lines] == []
