"""
The wheel, built once for all tests of this folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def run(*command: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    """
    Run a command, whatever its exit status.
    """
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **env},
    )


def constraints(root: Path, folder: Path) -> Path:
    """
    Write the locked versions as constraints.
    """
    pins = folder / "constraints.txt"
    locked = (root / "requirements.txt").read_text().splitlines()
    pins.write_text(
        "\n".join(line.rstrip(" \\") for line in locked if "==" in line) + "\n"
    )
    return pins


@pytest.fixture(name="wheel", scope="session")
def _wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    built = run(
        *(sys.executable, "-m", "build", "--wheel", "--no-isolation"),
        *("--outdir", folder, root),
    )
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel
