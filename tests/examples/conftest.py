"""
Every example, synthesised once for all tests of this folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples import synthesis


@pytest.fixture(name="assemblies", scope="session")
def _assemblies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    Return the folder that has each example's assembly under the example's name.
    """
    folder = tmp_path_factory.mktemp("examples")
    kept = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    done = subprocess.run(
        [sys.executable, "-m", synthesis.__name__, folder],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
        env=kept,
    )
    assert done.returncode == 0, done.stderr
    return folder
