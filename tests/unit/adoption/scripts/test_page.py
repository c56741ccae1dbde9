"""
The page on notebooks shows what the command does.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.pages import ROOT, blocks, shows
from tests.running import run

PAGE = ROOT / "docs" / "how-to" / "adopt-a-notebook.md"


def test_its_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The script, the answer to the command, and the lines of the stack.
    """
    script, command, answer, stack, *_ = blocks(PAGE.read_text("utf-8"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / script.title).write_text(script.body)

    done = run(*shlex.split(command.body)[1:])

    assert done.returncode == 0
    assert shows(answer.body, done.stdout)
    assert shows(f"...\n{stack.body}...", Path("chat-app/adopted_stack.py").read_text())
