"""
The guide for pytest, done as it says in an empty folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.recipes import blocks

pytestmark = [pytest.mark.whole, pytest.mark.timeout(300)]


def test_the_guides_tests_pass(tmp_path: Path) -> None:
    """
    Each file as it stands there; the snapshot is written first, then compared.
    """
    for code in [*blocks("pytest", "python"), *blocks("pytest", "py")]:
        path = tmp_path / code.split("\n", 1)[0].removeprefix("# ")
        path.parent.mkdir(exist_ok=True)
        path.write_text(code, encoding="utf-8")
    (commands,) = blocks("pytest", "sh")
    # In a CI pytest's summary is another one, and below a worker of pytest-xdist syrupy
    # writes nothing.
    by_hand = {
        name: value
        for name, value in os.environ.items()
        if name != "CI" and not name.startswith("PYTEST_")
    }
    search = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    done = [
        subprocess.run(
            command.split(),
            cwd=tmp_path,
            env={**by_hand, "PATH": search},
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        for command in commands.splitlines()
    ]
    assert "4 passed" in done[0], done[0]
    assert "1 snapshot generated" in done[0]
    assert "4 passed" in done[1], done[1]
    assert "1 snapshot passed" in done[1]
