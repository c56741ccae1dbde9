"""
The command, run in this process: starting one takes longer than most runs do.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest import mock

from typer import Typer
from typer.testing import CliRunner, Result

from cdk_sagemaker_llm.cli.commands import add_command


def simulate(*arguments: str | Path) -> Result:
    """
    Run the command in a terminal of 200 columns.
    """
    command = Typer()
    add_command(command, "simulate")
    with mock.patch.dict("os.environ", COLUMNS="200"):
        return CliRunner().invoke(command, list(map(str, arguments)))


def facts(*arguments: str | Path) -> Any:  # noqa: ANN401 - JSON
    """
    Run the command, and return what it prints as JSON.
    """
    done = simulate(*arguments, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def sentences(*arguments: str | Path) -> dict[str, list[str]]:
    """
    Run the command, and return the report of the first variant by its titles.
    """
    first = facts(*arguments)["runs"][0]["variants"][0]
    return {one["title"]: one["sentences"] for one in first["report"]}
