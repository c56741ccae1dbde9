"""
The reference app, synthesised once as a user would.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Synth = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(name="synth", scope="session")
def _synth(root: Path) -> Synth:
    """
    Run ``python app.py`` as a process of its own, without any AWS variable.
    """

    def run(
        outdir: Path, context: Mapping[str, object] | None = None, cwd: Path = root
    ) -> subprocess.CompletedProcess[str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
        settings = json.loads((root / "cdk.json").read_text())["context"]
        return subprocess.run(
            [sys.executable, str(cwd / "app.py")],
            capture_output=True,
            text=True,
            check=False,
            cwd=cwd,
            env={
                **kept,
                "CDK_OUTDIR": str(outdir),
                "CDK_CONTEXT_JSON": json.dumps({**settings, **(context or {})}),
            },
        )

    return run


@pytest.fixture(name="assembly", scope="session")
def _assembly(synth: Synth, tmp_path_factory: pytest.TempPathFactory) -> Path:
    outdir = tmp_path_factory.mktemp("reference") / "cdk.out"
    done = synth(outdir)
    assert done.returncode == 0, done.stderr
    return outdir
