"""
Every rule of a serving.properties: when it is broken, when not, and what is said of it.

The files in ``told/`` are named as the modules of the checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cdk_sagemaker_llm.codes import rules_in
from cdk_sagemaker_llm.serving import check_properties
from cdk_sagemaker_llm.serving.lmi import checks
from cdk_sagemaker_llm.serving.lmi.checks import (
    backends,
    launcher,
    lmi_models,
    options,
    parallelism,
    passed_arguments,
)
from tests.unit.serving.told import Told, lines_of, read

FOLDER = Path(__file__).parent / "told"
MODULES = [
    checks,
    launcher,
    lmi_models,
    backends,
    options,
    parallelism,
    passed_arguments,
]
CASES = [
    pytest.param(case, id=f"{path.stem}: {case}")
    for path in sorted(FOLDER.glob("*.txt"))
    for case in read(path)
]


def architecture_of(case: Told) -> Mapping[str, Any]:
    """
    Return the model's config.json, as far as the case says it.
    """
    heads = case.known("heads")
    return {
        "architectures": [case.known("architecture")],
        "num_attention_heads": int(heads) if heads else None,
    }


@pytest.mark.parametrize("case", CASES)
def test_a_file_is_told_of_what_breaks_its_rules(case: Told) -> None:
    """
    All of it, in order and word for word; each copy has 4 devices unless said.
    """
    container, version, *_ = case.head
    devices = case.known("accelerators") or "4"
    found = check_properties(
        "".join(f"{line}\n" for line in case.parts),
        container=container,
        version=version,
        accelerators=None if devices == "unknown" else int(devices),
        architecture=architecture_of(case),
        backend=case.known("backend"),
        strict="strict" in case.head,
    )

    assert [str(finding) for finding in found] == case.findings


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_rule_is_told_of(module: ModuleType) -> None:
    """
    A new one comes with its words, and with what must not break it.
    """
    told = [line for path in FOLDER.glob("*.txt") for line in lines_of(path)]
    codes = {line.split()[1] for line in told if line.startswith("> ")}

    assert {rule.code for rule in rules_in(module)} - codes == set()
