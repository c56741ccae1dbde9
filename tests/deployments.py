"""
Apps of this repository, synthesised in this process, and what deploys them.
"""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any
from unittest import mock

import aws_cdk

from cdk_sagemaker_llm.testing import Deployer, DeploymentResult

__all__ = [
    "EXAMPLES",
    "OF_INIT",
    "ROOT",
    "Deployer",
    "DeploymentResult",
    "example",
    "synthesised",
]

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
_TEMPLATES = ROOT / "node_modules/aws-cdk/lib/init-templates"
# The context that the CDK CLI writes into the cdk.json of a new app.
OF_INIT = json.loads((_TEMPLATES / ".recommended-feature-flags.json").read_text())
_App = aws_cdk.App


def synthesised(app: Path, outdir: Path, **context: object) -> Path:
    """
    Run an app's file as its user would, and return its assembly.
    """

    class Written(_App):
        def __init__(self, **given: Any) -> None:  # noqa: ANN401 - whatever an app takes
            said = {**(given.pop("context", None) or {}), **context}
            super().__init__(outdir=str(outdir), context=said, **given)

    # Apps take the class by its name when they are run.
    with mock.patch.object(aws_cdk, "App", Written):
        runpy.run_path(str(app), run_name="__main__")
    return outdir


def example(name: str, outdir: Path, **context: object) -> Path:
    """
    Synthesise an example, and return its assembly.
    """
    return synthesised(EXAMPLES / name / "app.py", outdir, **context)
