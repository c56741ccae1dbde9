"""
The page about apps that are made otherwise: its app, its outputs, its files.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from cdk_sagemaker_llm.cli.app.acknowledgements import read_acknowledgements
from tests.pages import Block, blocks
from tests.running import run

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "check-any-app.md"
BLOCKS = blocks(PAGE.read_text(encoding="utf-8"))


def of(language: str) -> list[Block]:
    """
    Return the blocks in a language.
    """
    return [block for block in BLOCKS if block.language == language]


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    Synthesise the page's app, whose plugin refuses it.
    """
    folder = tmp_path_factory.mktemp("page")
    synthesise(folder / "cdk.out", of("python")[0].body)
    return folder


def synthesise(outdir: Path, code: str) -> str:
    """
    Run an app that the plugin refuses; return what it says.
    """
    code = code.replace("App()", f"App(outdir={str(outdir)!r})")
    with pytest.raises(RuntimeError) as raised:
        exec(compile(code, str(PAGE), "exec"), {})  # noqa: S102 - the page's own
    return str(raised.value)


def test_the_plugin_says_what_the_page_shows(tmp_path: Path) -> None:
    """
    Word for word.
    """
    assert of("text")[0].body in synthesise(tmp_path, of("python")[0].body)


@pytest.mark.whole
def test_the_cdk_cli_ends_as_the_page_says(root: Path, tmp_path: Path) -> None:
    """
    It prints the plugin's report itself, and fails.
    """
    app = tmp_path / "app.py"
    app.write_text(of("python")[0].body)
    cdk = root / "node_modules" / ".bin" / "cdk"
    done = subprocess.run(
        [cdk, "synth", "--quiet", "--app", f"{sys.executable} {app}"],
        cwd=tmp_path,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert of("text")[0].body in done.stdout + done.stderr


def test_the_command_prints_what_the_page_shows(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    As text, and as SARIF.
    """
    monkeypatch.chdir(folder)
    text, sarif = (
        run(*block.body.split(">")[0].split()[1:])
        for block in of("sh")
        if "cdk.out" in block.body
    )
    (shown,) = of("json")
    log: dict[str, Any] = json.loads(sarif.stdout)

    assert text.stdout == of("text")[1].body
    assert log["runs"][0]["results"] == [json.loads(shown.body)]


def test_the_page_acknowledges_what_it_says(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    In the app, which is let through, and in a file.
    """
    app, acknowledged = (block.body for block in of("python"))
    code = app.replace("Validations.of(app)", f"{acknowledged}\nValidations.of(app)")
    code = code.replace("App()", f"App(outdir={str(tmp_path / 'cdk.out')!r})")
    exec(compile(code, str(PAGE), "exec"), {})  # noqa: S102 - the page's own
    monkeypatch.chdir(folder)
    file = tmp_path / "it.toml"
    file.write_text(of("toml")[0].body)

    assert run("check", tmp_path / "cdk.out").returncode == 0
    assert run("check", "cdk.out").returncode == 1
    assert run("check", "cdk.out", "--acknowledgements", file).returncode == 0
    assert [one.code for one in read_acknowledgements(file)] == ["LLM154"]
    assert tomllib.loads(file.read_text())["acknowledge"][0]["path"] == "Chat/*"


def test_the_workflow_and_the_hooks_are_those_of_the_repository(root: Path) -> None:
    """
    With inputs that the Action has.
    """
    workflow, hooks = (yaml.safe_load(block.body) for block in of("yaml"))
    action = yaml.safe_load((root / "action.yml").read_text())
    offered = yaml.safe_load((root / ".pre-commit-hooks.yaml").read_text())
    (step,) = [
        one
        for one in workflow["jobs"]["check"]["steps"]
        if one.get("uses", "").startswith("OWNER/")
    ]
    (repository,) = hooks["repos"]

    assert workflow["permissions"]["security-events"] == "write"
    assert step["with"].keys() <= action["inputs"].keys()
    assert {one["id"] for one in repository["hooks"]} == {one["id"] for one in offered}
    for name in [*action["inputs"], *action["outputs"]]:
        assert f"`{name}`" in PAGE.read_text()
