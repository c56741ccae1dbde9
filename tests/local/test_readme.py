"""
The README's way from a clone to a streamed answer.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.local.client.commands import run_line
from tests.local.conftest import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"## Talk to it\n.*?```sh\n(.*?)```", re.DOTALL)

pytestmark = pytest.mark.timeout(300)


def block() -> list[str]:
    """
    Return the set-up, the path, and the command that runs with them.
    """
    found = BLOCK.search(README)
    assert found is not None
    return found[1].split("\n", 2)


def test_its_way_names_what_is_there() -> None:
    """
    The example that it deploys makes the endpoint that it asks.
    """
    set_up, path, command = block()
    app = re.search(r'--app "python (\S+)"', command)
    asked = re.search(r"sagemaker-llm stream (\w+) ", command)

    assert (set_up, path[:12]) == ("make setup", "export PATH=")
    assert app is not None
    assert asked is not None
    code = (ROOT / app[1]).read_text(encoding="utf-8")
    assert f'endpoint_name="{asked[1]}"' in code


@pytest.mark.whole
def test_its_last_command_streams_an_answer(tmp_path: Path) -> None:
    """
    What `make setup` brings is there already.
    """
    _, _, command = block()

    done = run_line(command, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip("\n").endswith("It came in waves, as it does, and the")
    assert "finish reason length (cut off at its length)" in done.stderr
    assert (tmp_path / "cdk.out").is_dir()
