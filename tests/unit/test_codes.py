"""
The rules: each has a code of its own, an example that breaks it, and a line on a page.
"""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from aws_cdk import Stack
from syrupy.assertion import SnapshotAssertion

from cdk_sagemaker_llm import Model, ServingFolder
from cdk_sagemaker_llm.codes import by_code, rules, rules_in
from cdk_sagemaker_llm.findings import Rule
from tests.unit.hosting.written import warnings_of
from tests.unit.rule_examples import DEFINITIONS, FOLDERS, TEXTS
from tools.checks import TARGET, page

SOURCE = Path(__file__).parents[2] / "constructs" / "cdk_sagemaker_llm"


@pytest.mark.parametrize("code", sorted(TEXTS))
def test_a_text_breaks_each_rule(code: str, snapshot: SnapshotAssertion) -> None:
    """
    A check that nothing trips may be broken already; each says it in the same words.
    """
    found = [str(finding) for finding in TEXTS[code]() if finding.code == code]

    assert found
    assert found == snapshot


@pytest.mark.parametrize("code", sorted(DEFINITIONS))
def test_a_definition_breaks_each_rule(
    code: str, stack: Stack, snapshot: SnapshotAssertion
) -> None:
    """
    What is certain is raised, what is doubtful is shown.
    """
    if rules()[code].severity == "error":
        with pytest.raises(ValueError, match=rf"\b{code} ") as raised:
            DEFINITIONS[code](stack)
        # An example is the text of an object, with its address.
        found = [re.sub(r"0x[0-9a-f]+", "0x0", str(raised.value))]
    else:
        DEFINITIONS[code](stack)
        ours = f"[ack: cdk-sagemaker-llm:{code}]"
        found = [f"{path}: {text}" for path, text in warnings_of(stack) if ours in text]

    assert found
    assert found == snapshot


@pytest.mark.parametrize("code", FOLDERS)
def test_a_folder_breaks_each_rule(
    code: str, stack: Stack, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    """
    A serving artifact is refused for what it holds, or does not.
    """
    folder = tmp_path / "artifact"
    for name, size in FOLDERS[code].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if size < 0:
            os.mkfifo(folder / name)
        else:
            (folder / name).write_bytes(b"#" * size)
    serving = ServingFolder(
        folder, container_family="djl-tensorrtllm", version="0.26.0"
    )

    with pytest.raises(ValueError, match=rf"\b{code} ") as raised:
        Model(stack, "It", serving=serving)

    assert str(raised.value).replace(str(tmp_path), "<folder>") == snapshot


def test_each_rule_has_an_example() -> None:
    """
    A new rule comes with an input that breaks it.
    """
    assert {*TEXTS, *DEFINITIONS, *FOLDERS} == set(rules())


def test_each_code_in_the_source_is_a_rules() -> None:
    """
    A code without a rule cannot be looked up.
    """
    written = {
        code
        for path in SOURCE.rglob("*.py")
        for code in re.findall(r'"(LLM\d{3})"', path.read_text(encoding="utf-8"))
    }

    assert written == set(rules())


def test_rules_are_listed_by_their_codes() -> None:
    """
    In order, each under its own.
    """
    assert list(rules()) == sorted(rules())
    assert all(rule.code == code for code, rule in rules().items())


def test_a_rule_is_found_where_a_module_defines_it() -> None:
    """
    A module constant is all that a new rule needs.
    """
    module = ModuleType("checks_of_tomorrow")
    vars(module).update(NO_SHARD=Rule("LLM899", "nothing"), LIMIT=4)

    assert rules_in(module) == [Rule("LLM899", "nothing")]


@pytest.mark.parametrize("finds", ["this", "that"])
def test_fails_if_two_rules_have_one_code(finds: str) -> None:
    """
    Nor may one be written twice: a copy would drift, so that checks import it.
    """
    first, second = Rule("LLM899", "this"), Rule("LLM899", finds)

    assert by_code([first, first]) == {"LLM899": first}
    with pytest.raises(ValueError, match=f"LLM899 must .* got 'this' and '{finds}'"):
        by_code([first, second])


def test_the_registry_loads_nothing_before_it_is_asked() -> None:
    """
    Neither the CDK nor the checks.
    """
    code = (
        "import sys, cdk_sagemaker_llm.codes;"
        "print([m for m in ('aws_cdk', 'jsii', 'cdk_sagemaker_llm.serving')"
        " if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


def test_the_registry_needs_no_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    What needs one is left out, and what is left loads nothing of them.
    """
    loaded: list[str] = []

    def note(name: str) -> ModuleType:
        loaded.append(name)
        return importlib.import_module(name)

    watched = SimpleNamespace(import_module=note)
    monkeypatch.setattr("cdk_sagemaker_llm.codes.importlib", watched)
    rules.__wrapped__()

    rooms = {name.split(".")[1] for name in loaded}
    assert {"serving", "hosting", "fit"} < rooms
    assert rooms.isdisjoint({"cli", "load", "local", "testing"})


def test_the_page_is_the_one_the_code_makes() -> None:
    """
    ``make docs`` writes it anew.
    """
    assert TARGET.read_text(encoding="utf-8") == page()
