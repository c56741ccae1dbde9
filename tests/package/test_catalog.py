"""
The image catalogue against the package of the SageMaker SDK that it is made from.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.whole
def test_the_shipped_images_are_those_of_the_sdk() -> None:
    """
    Every family, version and region, but for the differences recorded with a reason.

    The pinned wheel is downloaded, and read without being installed.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tools.catalog", "--check"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )

    assert done.returncode == 0, done.stdout + done.stderr
