"""
The code of README and guides is what works; the examples are held by the tests beside
this one.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deployments import synthesised
from tests.linting import lint

ROOT = Path(__file__).parents[2]
APPS = sorted((ROOT / "examples").glob("*/app.py"))
GUIDES = "\n".join(
    page.read_text(encoding="utf-8")
    for page in (ROOT / "README.md", *sorted((ROOT / "docs" / "how-to").glob("*.md")))
)
EXAMPLES = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
# What a comment above it leaves to another test is that one's.
PASTED = re.findall(r"(?<!\.py -->\n)```python\n(.*?)```", GUIDES, re.DOTALL)


def synthesise(app: Path, outdir: Path) -> str:
    """
    Synthesise an app; return its templates' findings.
    """
    synthesised(app, outdir)
    templates = list(outdir.glob("*.template.json"))
    assert templates
    return "\n".join(str(match) for t in templates for match in lint(t.read_text()))


def test_there_is_an_example_of_each_capability() -> None:
    """
    A renamed folder does not silently empty the tests of examples.
    """
    names = {app.parent.name for app in APPS}

    assert {"one_model", "many_models", "backends", "in_a_vpc"} <= names
    assert {"async_endpoint", "shadow_variant"} <= names


def test_the_guides_have_code_to_paste() -> None:
    """
    A change of the fences does not silently empty the test below.
    """
    assert len(PASTED) >= 10


@pytest.mark.parametrize("code", [code for code in PASTED if "app.synth()" in code])
def test_the_guides_code_synthesises(code: str, tmp_path: Path) -> None:
    """
    A reader may paste it.
    """
    app = tmp_path / "app.py"
    app.write_text(code)
    outdir = tmp_path / "cdk.out"

    assert synthesise(app, outdir) == ""
    said = "".join(one.read_text() for one in outdir.glob("*.metadata.json"))
    assert "LLM201" not in said, "it begins with an image that gets no more releases"


@pytest.mark.parametrize("code", [code for code in PASTED if "app.synth()" not in code])
def test_the_guides_other_code_runs_and_prints_what_it_says(code: str) -> None:
    """
    What it prints stands in the next block.
    """
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert f"```text\n{done.stdout}```" in GUIDES or not done.stdout


@pytest.mark.parametrize("app", APPS, ids=lambda app: app.parent.name)
def test_the_page_has_a_line_for_each_example(app: Path) -> None:
    """
    Which links to it.
    """
    name = app.parent.name

    row = rf"\| \[{name}\]\(\.\./examples/{name}/app\.py\) \| .+\. \|"
    assert re.search(row, EXAMPLES)
