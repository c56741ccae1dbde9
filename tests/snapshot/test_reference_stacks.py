"""
The whole templates of the reference stacks: snapshots, and two linters over them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from tests.linting import lint

STACKS = ["MistralTrtLlm", "Mixtral", "Llama13BX8"]


def redacted(text: str) -> Any:  # noqa: ANN401 - a template is any JSON
    """
    Replace asset hashes, which change with every line of an artifact.
    """
    return json.loads(re.sub(r"\b[0-9a-f]{64}\b", "<asset hash>", text))


@pytest.mark.parametrize("stack", STACKS)
def test_the_template_is_the_reviewed_one(
    outdir: Path, stack: str, snapshot: SnapshotAssertion
) -> None:
    """
    A change to any property of any resource is seen in review.
    """
    template = redacted((outdir / f"{stack}.template.json").read_text())

    assert template == snapshot(extension_class=JSONSnapshotExtension)


@pytest.mark.parametrize("stack", STACKS)
def test_cloudformation_lint_finds_nothing(outdir: Path, stack: str) -> None:
    """
    Neither errors nor warnings, by the schemas that cfn-lint carries.
    """
    found = lint((outdir / f"{stack}.template.json").read_text())

    assert [str(match) for match in found] == []
