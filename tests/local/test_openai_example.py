"""
The way from a clone to an endpoint that takes OpenAI's messages, as the example says.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.local.client.commands import run_line
from tests.local.conftest import ROOT

EXAMPLE = ROOT / "examples" / "openai_compatible" / "app.py"

pytestmark = pytest.mark.timeout(300)


@pytest.mark.whole
def test_its_command_deploys_and_asks(tmp_path: Path) -> None:
    """
    The model is asked in OpenAI's messages with a tool, and then once more, streamed.
    """
    text = ast.get_docstring(ast.parse(EXAMPLE.read_text(encoding="utf-8"))) or ""

    done = run_line(text[text.index("sagemaker-llm local") :], tmp_path)

    assert done.returncode == 0, done.stderr
    asked, streamed = done.stdout.splitlines()[-2:]
    assert re.match(r"(length|stop|tool_calls) Usage\(", asked)
    assert len(streamed.split()) > 20
