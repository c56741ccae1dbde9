"""
``sagemaker-llm new``: what an app begins with, and what is refused.
"""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cdk_sagemaker_llm.cli.starter.starter import PINS, Starter
from cdk_sagemaker_llm.fit.planning import plan
from cdk_sagemaker_llm.testing import findings_of
from tests.deployments import OF_INIT, synthesised
from tests.running import run

DEPLOY = "npx cdk bootstrap && npx cdk deploy --all --require-approval never"
CHECK = "npx cdk synth --quiet && sagemaker-llm check cdk.out"
COMMIT = "c1899de289a04d12100db370d81485cdf75e47ca"
ALWAYS = {
    ".gitignore",
    "README.md",
    "app.py",
    "cdk.json",
    "llm_stack.py",
    "package.json",
    "pytest.ini",
    "requirements.txt",
    "tests/conftest.py",
    "tests/test_deployment.py",
    "tests/test_templates.py",
}
NO_SNAPSHOTS = (
    "It has no snapshots yet, because there is no Node.js here to synthesise it with; "
    "the first run of pytest writes them."
)
EVERY = pytest.mark.parametrize(
    ("shared", "vpc", "ci"), [*itertools.product([False, True], repeat=3)]
)


def starter(
    *,
    name: str = "chat",
    model_id: str = "Qwen/Qwen3-0.6B",
    revision: str | None = COMMIT,
    instance_type: str = "ml.g5.xlarge",
    shared: bool = False,
    vpc: bool = False,
    ci: bool = True,
) -> Starter:
    """
    Return an app as the command would make it.
    """
    return Starter(
        name=name,
        model_id=model_id,
        revision=revision,
        plan=plan(model_id, instance_type),
        shared=shared,
        vpc=vpc,
        ci=ci,
    )


def written(made: Starter, folder: Path) -> Path:
    """
    Write its files.
    """
    for path, text in made.files().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


@EVERY
def test_files_are_those_that_were_asked_for(
    *, shared: bool, vpc: bool, ci: bool
) -> None:
    """
    No file is there for what nobody asked for, and none is half filled in.
    """
    files = starter(shared=shared, vpc=vpc, ci=ci).files()
    stack = files["llm_stack.py"]

    assert set(files) == ALWAYS | {
        *(["network_stack.py"] if vpc else []),
        *([".github/workflows/ci.yml"] if ci else []),
    }
    assert ("InferenceComponentEndpoint(" in stack) is shared
    assert ("LlmEndpoint(" in stack) is not shared
    assert ("network=network" in stack) is vpc
    assert ("NetworkStack(app" in files["app.py"]) is vpc
    assert ("--component" in files["README.md"]) is shared
    for path, text in files.items():
        assert path.endswith(".yml") or "$" not in text, path
        assert text.endswith("\n"), path
        assert not text.endswith("\n\n"), path


@EVERY
def test_code_is_formatted_and_its_imports_are_sorted(
    tmp_path: Path, *, shared: bool, vpc: bool, ci: bool
) -> None:
    """
    As the user's own tools would leave it.
    """
    written(starter(shared=shared, vpc=vpc, ci=ci), tmp_path)
    ruff = Path(sys.executable).with_name("ruff")
    lint = (ruff, "check", "--isolated", "--no-cache", "--select", "E,F,I,UP,B,SIM")
    form = (ruff, "format", "--isolated", "--no-cache", "--check")

    for command in (lint, form):
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("shared", "vpc", "revision", "kinds"),
    [
        (False, True, COMMIT, {"Endpoint", "EndpointConfig", "Model"}),
        (True, False, COMMIT, {"Endpoint", "EndpointConfig", "InferenceComponent"}),
        (True, False, None, {"Endpoint", "EndpointConfig", "InferenceComponent"}),
    ],
    ids=["single in a VPC", "shared", "shared without a commit"],
)
def test_nothing_is_found_in_what_it_synthesises(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    shared: bool,
    vpc: bool,
    revision: str | None,
    kinds: set[str],
) -> None:
    """
    With the context that its cdk.json has.
    """
    made = starter(name="my-chat", shared=shared, vpc=vpc, revision=revision)
    folder = written(made, tmp_path / "app")
    context = json.loads((folder / "cdk.json").read_text())["context"]
    monkeypatch.syspath_prepend(folder)
    for module in ("llm_stack", "network_stack"):
        monkeypatch.delitem(sys.modules, module, raising=False)

    assembly = synthesised(folder / "app.py", tmp_path / "cdk.out", **context)
    template = json.loads((assembly / "MyChat.template.json").read_text())
    types = [one["Type"] for one in template["Resources"].values()]

    assert findings_of(assembly) == []
    assert {f"AWS::SageMaker::{kind}" for kind in kinds} <= set(types)
    scales = "AWS::ApplicationAutoScaling::ScalableTarget" in types
    assert scales is (revision is not None)
    assert (assembly / "MyChatNetwork.template.json").exists() is vpc


def test_a_model_that_is_split_says_over_how_many_gpus() -> None:
    """
    vLLM would take one otherwise.
    """
    made = starter(
        model_id="meta-llama/Llama-3.3-70B-Instruct",
        instance_type="ml.g6e.12xlarge",
        revision=None,
    )

    assert (
        'serving=Vllm("2.6", max_model_len=4096, tensor_parallel_size=4),'
        in made.files()["llm_stack.py"]
    )


def test_versions_are_the_ones_that_are_tested(root: Path) -> None:
    """
    Those that this library's own tests run with, each exact.
    """
    locked = (root / "requirements.txt").read_text(encoding="utf-8")
    tools = json.loads((root / "package.json").read_text(encoding="utf-8"))
    files = starter().files()

    assert PINS["cdk_cli"] == tools["devDependencies"]["aws-cdk"]
    assert json.loads(files["package.json"])["devDependencies"] == {
        "aws-cdk": PINS["cdk_cli"]
    }
    for line in files["requirements.txt"].splitlines():
        if not line.startswith("cdk-sagemaker-llm"):
            assert f"{line} \\" in locked.splitlines()


def test_the_context_is_that_of_a_new_app() -> None:
    """
    The CDK CLI would recommend flags otherwise.
    """
    context = json.loads(starter().files()["cdk.json"])["context"]

    assert context == OF_INIT


def test_actions_are_pinned_to_commits() -> None:
    """
    A tag may be moved.
    """
    workflow = starter().files()[".github/workflows/ci.yml"]
    uses = re.findall(r"uses: (\S+)", workflow)

    assert len(uses) == 3
    assert all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", one) for one in uses)


def test_it_says_what_is_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A repository that was just made is empty, and stays one. Without Node.js there are
    no snapshots yet.
    """
    folder = tmp_path / "my-chat"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JSII_NODE", raising=False)

    done = run("new", folder, "--shared")

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"{folder} has an app with Qwen/Qwen3-0.6B on ml.g5.xlarge.",
        NO_SNAPSHOTS,
        "Next:",
        f"  cd {folder}",
        "  pip install -r requirements.txt && npm install",
        f"  {CHECK} && pytest --snapshot-update",
        f"  sagemaker-llm local --port 0 -- sh -c '{DEPLOY}'",
    ]
    assert (folder / ".git").is_dir()
    assert not (folder / "tests" / "__snapshots__").exists()
    assert [one.name for one in tmp_path.iterdir()] == ["my-chat"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["full"], "DIR must be a folder, new or empty; full has notes.txt in it"),
        (["file"], "DIR must be a folder, new or empty; file is a file"),
        (["1st"], "a letter first; got '1st'"),
        (["a--b"], "single hyphens or underscores between them"),
        (["x" * 65], "at most 64 letters and digits"),
        (
            ["app", "--model", "Qwen/Qwen3-0.7B"],
            "--model: the catalogue does not have 'Qwen/Qwen3-0.7B'; sagemaker-llm ",
        ),
        (["app", "--model", "BAAI/bge-m3"], "BAAI/bge-m3 writes no text"),
        (["app", "--revision", "a..b"], "revision must be a commit, branch or tag"),
        (
            ["app", "--model", "Qwen/Qwen3-32B", "--instance-type", "ml.g5.xlarge"],
            "--instance-type: Qwen/Qwen3-32B does not fit ml.g5.xlarge, by weights",
        ),
        (["app", "--instance-type", "ml.g4dn.xlarge"], "--instance-type: LLM883"),
        (["app", "--instance-type", "ml.g5.huge"], "unknown instance type"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_what_cannot_be_is_refused_and_nothing_is_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    """
    Each in one message, with the way out.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").touch()
    (tmp_path / "file").touch()

    done = run("new", *arguments)

    assert done.returncode == 2
    assert message in done.stderr
    assert sorted(one.name for one in tmp_path.iterdir()) == ["file", "full"]


def test_an_app_that_does_not_synthesise_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Its last line is told, and no half of it is left.
    """
    monkeypatch.setenv("JSII_NODE", "/nowhere/node")

    done = run("new", tmp_path / "chat")

    assert done.returncode == 2
    assert "the app does not synthesise: " in done.stderr
    assert list(tmp_path.iterdir()) == []
