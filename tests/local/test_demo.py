"""
``make demo``, as somebody runs it who has just cloned the repository.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from examples.demo import REPORT
from tests.local.client.commands import clean
from tests.local.conftest import ROOT

STEPS = (
    "=== cdk bootstrap",
    "=== cdk deploy MistralTrtLlm Mixtral Llama13BX8",
    "=== What now exists",
    "=== One plain request, as boto3 sends it",
    "=== A streamed answer, with its confidence",
    "=== A short load test",
    "=== cdk destroy MistralTrtLlm Mixtral Llama13BX8",
    "=== Summary (",
)
_LIMIT = 280

pytestmark = [pytest.mark.timeout(300), pytest.mark.whole]


def test_it_streams_loads_and_leaves_a_report(tmp_path: Path) -> None:
    """
    And nothing else, neither beside the code nor among temporary files.
    """
    home, scratch = tmp_path / "home", tmp_path / "scratch"
    home.mkdir()
    scratch.mkdir()
    report = tmp_path / "there" / "run.html"
    before = sorted(path.name for path in ROOT.iterdir())

    done = subprocess.run(
        [sys.executable, "-m", "examples.demo", "--report", str(report)],
        cwd=ROOT,
        env=clean(
            {
                **os.environ,
                "HOME": str(home),
                "TMPDIR": str(scratch),
                "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
            }
        ),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_LIMIT,
        check=False,
    )

    said = done.stdout
    assert done.returncode == 0, said
    headings = [line for line in said.splitlines() if line.startswith("=== ")]
    assert [line[: len(step)] for line, step in zip(headings, STEPS, strict=True)] == [
        *STEPS
    ]
    assert re.search(r"24 tokens, [\d.]+ tokens/s, .*, confidence 0\.\d{3}\n", said)
    assert "| success | 100.00% |" in said
    assert f"nothing is left but the load test's report:\n  {report}\n" in said
    assert report.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert sorted(path.name for path in ROOT.iterdir()) == before
    assert [path.name for path in scratch.iterdir()] == []


def test_its_report_lies_where_git_does_not_look_and_clean_does() -> None:
    """
    Unless it is told otherwise.
    """
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    clean_up = re.search(
        r"^clean:.*\n\t@rm -rf (.*)$",
        (ROOT / "Makefile").read_text(encoding="utf-8"),
        re.MULTILINE,
    )

    assert f"/{REPORT.parts[0]}/" in ignored
    assert clean_up is not None
    assert REPORT.parts[0] in clean_up[1].split()
