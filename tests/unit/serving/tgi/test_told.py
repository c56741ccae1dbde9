"""
Every rule of a TGI environment: when it is broken, when not, and what is said of it.

The files in ``told/`` are named as the modules of the checks. Each environment names
a model, unless it says otherwise.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from cdk_sagemaker_llm.codes import rules_in
from cdk_sagemaker_llm.serving.tgi import tgi_variables, variable_combinations
from cdk_sagemaker_llm.serving.tgi.tgi_family import tgi_findings
from tests.unit.serving.told import Told, lines_of, read

FOLDER = Path(__file__).parent / "told"
CASES = [
    pytest.param(case, id=f"{path.stem}: {case}")
    for path in sorted(FOLDER.glob("*.txt"))
    for case in read(path)
]


def findings(case: Told) -> list[str]:
    """
    Return what is said of a case's environment.
    """
    version, *_ = case.head
    devices = case.known("accelerators")
    variables = dict(part.split("=", 1) for part in case.parts)
    found = tgi_findings(
        {"HF_MODEL_ID": "gpt2", **variables},
        version=version,
        accelerators=None if devices is None else int(devices),
    )
    return [str(finding) for finding in found]


@pytest.mark.parametrize("case", CASES)
def test_an_environment_is_told_of_what_breaks_its_rules(case: Told) -> None:
    """
    All of it, in order and word for word.
    """
    assert findings(case) == case.findings


@pytest.mark.parametrize(
    "module", [tgi_variables, variable_combinations], ids=lambda module: module.__name__
)
def test_every_rule_is_told_of(module: ModuleType) -> None:
    """
    A new one comes with its words, and with what must not break it; but one that is
    about options, which an environment alone has none of.
    """
    told = [line for path in FOLDER.glob("*.txt") for line in lines_of(path)]
    codes = {line.split()[1] for line in told if line.startswith("> ")}

    assert {rule.code for rule in rules_in(module)} - codes <= {"LLM160"}
