"""
What is loaded only where it is used, so that an app pays for what it has.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

PACKAGE = "cdk_sagemaker_llm"
REFERENCE_APP = """
import sys
from aws_cdk import App
from app import define

app = App()
define(app)
app.synth()
print(*sorted(m for m in sys.modules if m.partition(".")[0] == "cdk_sagemaker_llm"))
"""
# Rooms that no synthesis of the reference app enters.
UNUSED = [
    "hosting.patterns.dashboard",
    "load",
    "local",
    "simulation",
]


def test_the_reference_app_loads_nothing_that_it_has_none_of(
    root: Path, tmp_path: Path
) -> None:
    """
    It scales, and nothing more.
    """
    done = subprocess.run(
        [sys.executable, "-c", REFERENCE_APP],
        capture_output=True,
        text=True,
        check=True,
        cwd=root,
        env={**os.environ, "CDK_OUTDIR": str(tmp_path)},
    )
    loaded = done.stdout.split()

    assert f"{PACKAGE}.hosting.scaling.tracking" in loaded
    assert {f"{PACKAGE}.{one}" for one in UNUSED} & {*loaded} == set()


@pytest.mark.parametrize("module", UNUSED)
def test_what_is_unused_is_there(module: str) -> None:
    """
    A module that was renamed is never loaded: the test above is no empty promise.
    """
    assert import_module(f"{PACKAGE}.{module}")
