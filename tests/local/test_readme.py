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


def test_its_last_command_streams_an_answer(tmp_path: Path) -> None:
    """
    What `make setup` brings is there already.
    """
    found = BLOCK.search(README)
    assert found is not None
    set_up, path, command = found[1].split("\n", 2)
    assert (set_up, path[:12]) == ("make setup", "export PATH=")

    done = run_line(command, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip("\n").endswith("It came in waves, as it does, and the")
    assert "finish reason length (cut off at its length)" in done.stderr
    assert (tmp_path / "cdk.out").is_dir()
