"""
The GitHub Action and the pre-commit hooks, run as their runners would run them.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.running import INSTALLED, run
from tests.unit.cli.app.templates import resource
from tests.unit.cli.app.test_foreign_apps import LMI, MODEL
from tests.unit.cli.commands.test_check import BAD, GOOD

_EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")
_PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}\Z")
# Instead of a virtual environment and what pip installs there: what is installed here.
_PYTHON = f"""\
#!/bin/sh
if [ "$2" = venv ]; then
  mkdir -p "$3/bin"
  printf '#!/bin/sh\\necho "$@" >> "%s/pip.log"\\n' "$3" > "$3/bin/python"
  chmod +x "$3/bin/python"
  ln -s {shlex.quote(str(INSTALLED))} "$3/bin/sagemaker-llm"
fi
"""


@pytest.fixture(name="action", scope="module")
def _action(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((root / "action.yml").read_text())
    return found


@pytest.fixture(name="hooks", scope="module")
def _hooks(root: Path) -> dict[str, dict[str, Any]]:
    rows = yaml.safe_load((root / ".pre-commit-hooks.yaml").read_text())
    return {row["id"]: row for row in rows}


class Runner:
    """
    Runs the steps of a composite action, in order, as GitHub's runner does.
    """

    def __init__(self, action: Mapping[str, Any], root: Path, folder: Path) -> None:
        self.action = action
        self.values = {
            "github.action_path": str(root),
            "runner.temp": str(folder / "temp"),
            **{
                f"inputs.{name}": str(one["default"])
                for name, one in action["inputs"].items()
            },
        }
        self.folder = folder
        self.used: list[tuple[str, dict[str, str]]] = []
        self.output = ""
        (folder / "temp").mkdir()

    def filled(self, text: str) -> str:
        """
        Fill in the expressions of a text; each has to be known.
        """
        return _EXPRESSION.sub(lambda match: self.values[match[1]], text)

    def run(self, path: str, **inputs: str) -> int:
        """
        Run every step that is wanted; return the status of the first that fails.
        """
        self.values |= {f"inputs.{name}": value for name, value in inputs.items()}
        failed = 0
        for step in self.action["runs"]["steps"]:
            if not self.is_wanted(step) or (failed and "if" not in step):
                continue
            if "uses" in step:
                told = {key: self.filled(text) for key, text in step["with"].items()}
                self.used.append((step["uses"], told))
            else:
                failed = self.shell(step, path)
        return failed

    def is_wanted(self, step: Mapping[str, Any]) -> bool:
        """
        Whether a step's condition holds; there are two of them.
        """
        known = {
            "": True,
            "${{ !cancelled() && inputs.upload == 'true' && "
            "steps.check.outputs.sarif }}": (
                self.values["inputs.upload"] == "true"
                and bool(self.values.get("steps.check.outputs.sarif"))
            ),
        }
        return known[step.get("if", "")]

    def shell(self, step: Mapping[str, Any], path: str) -> int:
        """
        Run a script as `shell: bash` does, and keep what it outputs.
        """
        assert step["shell"] == "bash"
        file = self.folder / "temp" / "output"
        file.write_text("")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            env={
                "PATH": path,
                "HOME": str(self.folder),
                "GITHUB_OUTPUT": str(file),
                **{key: self.filled(text) for key, text in step.get("env", {}).items()},
            },
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        self.output += done.stdout + done.stderr
        for line in file.read_text().splitlines():
            name, _, value = line.partition("=")
            self.values[f"steps.{step['id']}.outputs.{name}"] = value
        return done.returncode


@pytest.fixture(name="runner")
def _runner(action: dict[str, Any], root: Path, tmp_path: Path) -> Runner:
    """
    Make a runner in a folder with an app of one model that is wrong.
    """
    container = {"Image": LMI, "Environment": {**MODEL, "OPTION_DTYPE": "fp4"}}
    made = {"Model": resource("SageMaker::Model", PrimaryContainer=container)}
    write_app(tmp_path / "cdk.out", made)
    return Runner(action, root, tmp_path)


def write_app(folder: Path, resources: dict[str, Any]) -> None:
    """
    Write an assembly of one stack.
    """
    folder.mkdir()
    stack = {
        "type": "aws:cloudformation:stack",
        "properties": {"templateFile": "Prod.template.json"},
    }
    manifest = {"version": "55.0.0", "artifacts": {"Prod": stack}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    template = json.dumps({"Resources": resources}, indent=1)
    (folder / "Prod.template.json").write_text(template)


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> str:
    """
    Put a Python in front that installs nothing.
    """
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python").write_text(_PYTHON)
    (folder / "python").chmod(0o755)
    return f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin"


def test_the_action_shows_findings_and_fails(
    runner: Runner, path: str, root: Path
) -> None:
    """
    It installs itself, uploads what was found under its name, and then fails.
    """
    status = runner.run(path)
    setup, upload = runner.used
    log = json.loads(Path(upload[1]["sarif_file"]).read_text())
    (result,) = log["runs"][0]["results"]
    location = result["locations"][0]["physicalLocation"]

    assert status == 1
    assert "Prod/Model: error LLM136" in runner.output
    assert setup[0].startswith("actions/setup-python@")
    assert upload[0].startswith("github/codeql-action/upload-sarif@")
    assert upload[1]["category"] == "sagemaker-llm"
    assert result["ruleId"] == "LLM136"
    assert location["artifactLocation"]["uri"] == "cdk.out/Prod.template.json"
    assert runner.values["steps.check.outputs.status"] == "1"
    installed = (runner.folder / "temp" / "sagemaker-llm" / "pip.log").read_text()
    assert installed == (
        f"-m pip install --quiet --disable-pip-version-check {root}[cli]\n"
    )


def test_the_action_lets_through_what_is_acknowledged(
    runner: Runner, path: str
) -> None:
    """
    By the file that it is told of, of the several paths that it is given; without
    uploading, if that is not wanted.
    """
    (runner.folder / "it.toml").write_text(
        '[[acknowledge]]\ncode = "LLM136"\npath = "*"\nreason = "we know"\n'
    )
    (runner.folder / "serving.properties").write_text(GOOD)
    status = runner.run(
        path,
        paths="cdk.out\n\nserving.properties\n",
        acknowledgements="it.toml",
        upload="false",
    )

    assert status == 0
    assert "2 subjects checked" in runner.output
    assert len(runner.used) == 1


def test_the_action_fails_on_what_cannot_be_read(runner: Runner, path: str) -> None:
    """
    Whatever its name holds; the log is uploaded all the same.
    """
    status = runner.run(path, paths="no $(exit 0) such; path")

    assert status == 2
    assert "no $(exit 0) such; path does not exist" in runner.output
    assert len(runner.used) == 2


def test_the_action_uploads_nothing_where_the_question_is_wrong(
    runner: Runner, path: str
) -> None:
    """
    An empty file would fail at the upload, with words of its own.
    """
    (runner.folder / "it.toml").write_text("[[acknowledge]")
    status = runner.run(path, acknowledgements="it.toml")

    assert status == 2
    assert "it.toml is no TOML" in runner.output
    assert [used.partition("@")[0] for used, _ in runner.used] == [
        "actions/setup-python"
    ]
    assert runner.values["steps.check.outputs.status"] == "2"


def test_actions_are_pinned_by_their_commits(action: dict[str, Any]) -> None:
    """
    A tag can be moved.
    """
    used = [step["uses"] for step in action["runs"]["steps"] if "uses" in step]

    assert used
    assert [one for one in used if not _PINNED.match(one)] == []


def test_inputs_reach_scripts_as_variables(action: dict[str, Any]) -> None:
    """
    What stands in the script itself would be run.
    """
    scripts = [step.get("run", "") for step in action["runs"]["steps"]]

    assert not any("${{" in script for script in scripts)


@pytest.mark.whole
def test_the_action_installs_itself(
    action: dict[str, Any], root: Path, tmp_path: Path
) -> None:
    """
    With nothing but the Python that runs it.
    """
    runner = Runner(action, root, tmp_path)
    (tmp_path / "serving.properties").write_text(BAD)
    python = Path(sys.executable).parent
    path = f"{python}{os.pathsep}{os.environ['PATH']}"

    assert runner.run(path, paths="serving.properties") == 1
    assert "error LLM135" in runner.output


def hooked(hook: Mapping[str, Any], files: list[str]) -> int | None:
    """
    Run a hook as pre-commit does; ``None`` where it has no file to run for.
    """
    wanted = [one for one in files if re.search(hook.get("files", ""), one)]
    if not wanted and not hook.get("always_run", False):
        return None
    passed = wanted if hook.get("pass_filenames", True) else []
    program, *arguments = shlex.split(hook["entry"])
    assert program == "sagemaker-llm"
    return run(*arguments, *hook.get("args", []), *passed).returncode


@pytest.mark.parametrize(
    ("content", "status"), [(GOOD, 0), (BAD, 1)], ids=["good", "bad"]
)
def test_a_hook_checks_the_files_of_a_commit(
    hooks: dict[str, dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: str,
    status: int,
) -> None:
    """
    Those that it can read, and no others.
    """
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "assets" / "mine"
    folder.mkdir(parents=True)
    (folder / "serving.properties").write_text(content)
    hook = hooks["sagemaker-llm-check"]

    assert hooked(hook, ["app.py", "assets/mine/serving.properties"]) == status
    assert hooked(hook, ["app.py", "serving.properties.md", "cdk.json"]) is None
    assert hooked(hook, ["package.json.template", "nginx.conf.template"]) is None
    assert re.search(hook["files"], "cdk.out/Chat.template.json")


def test_a_hook_checks_the_app_as_it_was_synthesised(
    hooks: dict[str, dict[str, Any]],
    runner: Runner,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    Whatever was committed; without an assembly it says what is missing.
    """
    monkeypatch.chdir(runner.folder)
    hook = hooks["sagemaker-llm-check-app"]

    assert hooked(hook, ["app.py"]) == 1
    (runner.folder / "cdk.out").rename(runner.folder / "elsewhere")
    assert hooked(hook, []) == 2


def test_hooks_install_the_command(
    hooks: dict[str, dict[str, Any]], root: Path
) -> None:
    """
    It is an extra of the package, which alone would bring no command.
    """
    for hook in hooks.values():
        assert hook["language"] == "python"
        assert hook["additional_dependencies"] == [".[cli]"]
    assert "\ncli = [" in (root / "pyproject.toml").read_text()
