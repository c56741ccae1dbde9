"""
The way from a clone to an endpoint that takes OpenAI's messages, as the example says.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.local.client.commands import clean
from tests.local.conftest import ROOT

EXAMPLE = ROOT / "examples" / "openai_compatible" / "app.py"
_LIMIT = 240

pytestmark = pytest.mark.timeout(300)


def test_its_command_deploys_and_asks(tmp_path: Path) -> None:
    """
    The model is asked in OpenAI's messages with a tool, and then once more, streamed.
    """
    text = ast.get_docstring(ast.parse(EXAMPLE.read_text(encoding="utf-8"))) or ""
    places = (Path(sys.executable).parent, ROOT / "node_modules" / ".bin")
    done = subprocess.run(
        ["sh", "-c", text[text.index("sagemaker-llm local") :]],
        cwd=ROOT,
        env=clean(
            {
                **os.environ,
                "CDK_OUTPUT": str(tmp_path / "cdk.out"),
                "HOME": str(tmp_path),
                "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
                "PATH": os.pathsep.join([*map(str, places), os.environ["PATH"]]),
            }
        ),
        capture_output=True,
        text=True,
        timeout=_LIMIT,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    asked, streamed = done.stdout.splitlines()[-2:]
    assert re.match(r"(length|stop|tool_calls) Usage\(", asked)
    assert len(streamed.split()) > 20
