"""
Every example, synthesised once for all tests of this folder, by whichever worker of
pytest comes first.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples import synthesis

# Folders by the context of what is in them: this project's, or that of ``cdk init``.
OURS, INIT = "ours", "init"


@pytest.fixture(name="assemblies", scope="session")
def _assemblies(synthesised_examples: Path) -> Path:
    """
    Return the folder that has each example's assembly under the example's name.
    """
    return synthesised_examples / OURS


@pytest.fixture(name="init_assemblies", scope="session")
def _init_assemblies(synthesised_examples: Path) -> Path:
    """
    Return the folder with those of the context that ``cdk init`` writes.
    """
    return synthesised_examples / INIT


@pytest.fixture(name="synthesised_examples", scope="session")
def _synthesised_examples(
    tmp_path_factory: pytest.TempPathFactory, worker_id: str
) -> Path:
    own = tmp_path_factory.getbasetemp()
    shared = own if worker_id == "master" else own.parent
    with (shared / "examples.lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.seek(0)
        if not (written := lock.read()):
            written = str(synthesised(tmp_path_factory.mktemp("examples")))
            lock.write(written)
    return Path(written)


def synthesised(folder: Path) -> Path:
    """
    Synthesise all examples into a folder.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    done = subprocess.run(
        [sys.executable, "-m", synthesis.__name__, folder / OURS, folder / INIT],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
        env=kept,
    )
    assert done.returncode == 0, done.stderr
    return folder
