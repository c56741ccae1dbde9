"""
The whole templates of the reference stacks: snapshots, and two linters over them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from cdk_sagemaker_llm.testing import TemplateSnapshotExtension
from tests.linting import lint

STACKS = ["MistralTrtLlm", "Mixtral", "Llama13BX8"]


@pytest.mark.parametrize("stack", STACKS)
def test_the_template_is_the_reviewed_one(
    outdir: Path, stack: str, snapshot: SnapshotAssertion
) -> None:
    """
    A change to any property of any resource is seen in review.
    """
    template = json.loads((outdir / f"{stack}.template.json").read_text())

    assert template == snapshot(extension_class=TemplateSnapshotExtension)


@pytest.mark.parametrize("stack", STACKS)
def test_cloudformation_lint_finds_nothing(outdir: Path, stack: str) -> None:
    """
    Neither errors nor warnings, by the schemas that cfn-lint carries.
    """
    found = lint((outdir / f"{stack}.template.json").read_text())

    assert [str(match) for match in found] == []
