"""
What is loaded only where it is used, so that an app pays for what it has.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

from cdk_sagemaker_llm._lazily import later

PACKAGE = "cdk_sagemaker_llm"
SIMPLE_APP = """
import sys
from aws_cdk import App, Environment, Stack
from cdk_sagemaker_llm import HuggingFaceModel, InferenceComponentEndpoint, LlmEndpoint

model = HuggingFaceModel("Qwen/Qwen2.5-7B-Instruct")
app = App()
stack = Stack(app, "Stack", env=Environment(account="1" * 12, region="eu-west-1"))
LlmEndpoint(stack, "Chat", model=model, instance_type="ml.g5.12xlarge")
host = InferenceComponentEndpoint(stack, "Host", instance_type="ml.g5.12xlarge")
host.add_model("Chat", model=model)
app.synth()
"""
REFERENCE_APP = """
import sys
from aws_cdk import App
from app import define

app = App()
define(app)
app.synth()
"""
TELL = """
print(*sorted(m for m in sys.modules if m.partition(".")[0] == "cdk_sagemaker_llm"))
"""
# What the reference app has none of.
UNUSED = [
    "catalog.metrics",
    "client",
    "hosting.adapters",
    "hosting.async_access",
    "hosting.asynchronous",
    "hosting.backlog",
    "hosting.connecting",
    "hosting.connection",
    "hosting.data_capture",
    "hosting.dialects",
    "hosting.monitoring.alarms",
    "hosting.monitoring.dashboard",
    "hosting.monitoring.metrics",
    "hosting.rollback",
    "hosting.rollback_alarms",
    "hosting.rollout",
    "hosting.rollout_base",
    "hosting.rollout_checks",
    "hosting.scaling.copy_host",
    "hosting.scaling.metrics",
    "hosting.scaling.office",
    "hosting.scaling.schedules",
    "hosting.scaling.stepping",
    "hosting.scaling.waking",
    "hosting.scaling.zero",
    "hosting.shadow",
    "serving.adapters",
    "serving.environment",
    "serving.lmi.vllm",
    "simulation",
]
# A name, the module that it is of, and its name there.
Name = tuple[str, str, str]
Loader = Callable[[str], list[str]]


@pytest.fixture(name="loaded_by")
def _loaded_by(root: Path, tmp_path: Path) -> Loader:
    """
    Tell which of the library's modules a program has loaded at its end.
    """

    def loaded(code: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", code + TELL],
            capture_output=True,
            text=True,
            check=True,
            cwd=root,
            env={**os.environ, "CDK_OUTDIR": str(tmp_path)},
        )
        return done.stdout.split()

    return loaded


def put_off(source: Path) -> Iterator[Name]:
    """
    Yield what a module puts off.
    """
    texts = {}
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Assign) or not isinstance(
            node.targets[0], ast.Name
        ):
            continue
        name, value = node.targets[0].id, node.value
        if isinstance(value, ast.Constant):
            texts[name] = str(value.value)
        if isinstance(value, ast.Call) and ast.unparse(value.func) == "later":
            home, there = (
                texts[one.id] if isinstance(one, ast.Name) else ast.unparse(one)[1:-1]
                for one in value.args
            )
            yield name, home, there


def seen(source: Path) -> set[Name]:
    """
    Return what type checkers see a module import.
    """
    return {
        (one.asname or one.name, str(node.module).removeprefix(f"{PACKAGE}."), one.name)
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        for one in node.names
    }


def test_a_simple_app_loads_what_is_written_and_nothing_else(
    root: Path, loaded_by: Loader
) -> None:
    """
    What grows here makes every synthesis slower: what few apps use is put off with
    ``later``, and what all use is added to the list.
    """
    written = root / "tests" / "unit" / "loaded.txt"

    loaded = loaded_by(SIMPLE_APP)

    assert loaded == written.read_text(encoding="utf-8").split()


def test_the_reference_app_loads_nothing_that_it_has_none_of(loaded_by: Loader) -> None:
    """
    It scales, and nothing more.
    """
    loaded = loaded_by(REFERENCE_APP)

    assert f"{PACKAGE}.hosting.scaling.tracking" in loaded
    assert {f"{PACKAGE}.{one}" for one in UNUSED} & {*loaded} == set()


@pytest.mark.parametrize("module", UNUSED)
def test_what_is_unused_is_there(module: str) -> None:
    """
    A module that was renamed is never loaded: the test above is no empty promise.
    """
    assert import_module(f"{PACKAGE}.{module}")


def test_what_is_put_off_is_what_type_checkers_see(root: Path) -> None:
    """
    A name that is not there would be missed at its first call alone.
    """
    sources = sorted((root / "constructs").rglob("*.py"))
    every = {source: set(put_off(source)) for source in sources}
    unseen = {
        (source.name, *one)
        for source, names in every.items()
        for one in names - seen(source)
    }

    assert sum(map(len, every.values())) > 40
    assert unseen == set()


def test_a_module_is_loaded_by_the_first_call(loaded_by: Loader) -> None:
    """
    And not where the function is named.
    """
    code = (
        "import sys\n"
        "from cdk_sagemaker_llm._lazily import later\n"
        'any_of = later("wording", "any_of")\n'
        'assert "cdk_sagemaker_llm.wording" not in sys.modules\n'
        'assert any_of(["a", "b"]) == "a or b"\n'
    )

    assert f"{PACKAGE}.wording" in loaded_by(code)


def test_a_call_is_passed_on_with_all_its_arguments() -> None:
    """
    Those by name as well, and what it returns comes back.
    """
    nearest = later("wording", "nearest")

    assert nearest("vlm", ["vllm", "tgi"], count=1) == ["vllm"]
