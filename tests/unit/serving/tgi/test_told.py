"""
Every rule of a TGI environment: when it is broken, when not, and what is said of it.

The files in ``told/`` are named as the modules of the checks. Each environment names
a model, unless it says otherwise.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cdk_sagemaker_llm.serving import check_environment
from tests.unit.serving.told import Told, read

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
    found = check_environment(
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
