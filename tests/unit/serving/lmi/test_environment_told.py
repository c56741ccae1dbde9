"""
Every rule of an LMI environment: when it is broken, when not, and what is said of it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cdk_sagemaker_llm.codes import rules_in
from cdk_sagemaker_llm.serving.lmi.checks import lmi_variables
from cdk_sagemaker_llm.serving.lmi.lmi_family import lmi_findings
from tests.unit.serving.told import Told, lines_of, read

FILE = Path(__file__).parent / "told" / "environment.txt"
CASES = [pytest.param(case, id=str(case)) for case in read(FILE)]
IN_FILE = "file: "


def findings(case: Told) -> list[str]:
    """
    Return what is said of a case's environment, and the file beside it.
    """
    container, version, *_ = case.head
    has_no_model = "no-model" in case.head
    heads = case.known("heads")
    file = [part for part in case.parts if part.startswith(IN_FILE)]
    given = [part for part in case.parts if not part.startswith(IN_FILE)]
    found = lmi_findings(
        {
            **({} if has_no_model else {"HF_MODEL_ID": "a/b"}),
            **dict(part.split("=", 1) for part in given),
        },
        container=container,
        version=version,
        accelerators=4,
        architecture={
            "architectures": ["LlamaForCausalLM"],
            "num_attention_heads": int(heads) if heads else None,
        },
        file=dict(p.removeprefix(IN_FILE).split("=", 1) for p in file) or None,
        has_model_data=False if has_no_model else None,
    )
    return [str(finding) for finding in found]


@pytest.mark.parametrize("case", CASES)
def test_an_environment_is_told_of_what_breaks_its_rules(case: Told) -> None:
    """
    All of it, in order and word for word.
    """
    assert findings(case) == case.findings


def test_every_rule_is_told_of() -> None:
    """
    A new one comes with its words, and with what must not break it.
    """
    codes = {line.split()[1] for line in lines_of(FILE) if line.startswith("> ")}

    assert {rule.code for rule in rules_in(lmi_variables)} <= codes
