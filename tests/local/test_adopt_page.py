"""
The session of the guide is what the command prints and writes.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.deployments import ROOT
from tests.local.near import NearAws
from tests.running import run

GUIDE = (ROOT / "docs/how-to/adopt.md").read_text(encoding="utf-8")


def test_the_session_is_what_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The notebook's cell, the answer, and the lines of the stack.
    """
    cell, lines = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    (session,) = re.findall(r"```text\n(.*?)```", GUIDE, re.DOTALL)
    command = re.search(r"^sagemaker-llm (adopt chat .*)$", GUIDE, re.MULTILINE)
    assert command is not None
    monkeypatch.chdir(tmp_path)
    with NearAws() as aws:
        names: dict[str, Any] = {}
        exec(cell, names)  # noqa: S102 - the guide's own lines
        said = run(*command[1].split(), environment={**os.environ})
        account = aws.account

    stack = (tmp_path / "chat-app/adopted_stack.py").read_text()
    assert said.returncode == 0
    assert said.stdout.replace(account, "111122223333") == session
    assert lines in stack.replace(account, "111122223333")
