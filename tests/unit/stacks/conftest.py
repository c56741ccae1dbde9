"""
The reference app, synthesised once, and as a user does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.deployments import synthesised

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
        return subprocess.run(
            [sys.executable, str(cwd / "app.py")],
            capture_output=True,
            text=True,
            check=False,
            cwd=cwd,
            env={
                **kept,
                "CDK_OUTDIR": str(outdir),
                "CDK_CONTEXT_JSON": json.dumps(
                    {**settings_of(root), **(context or {})}
                ),
            },
        )

    return run


@pytest.fixture(name="assembly", scope="session")
def _assembly(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    outdir = tmp_path_factory.mktemp("reference") / "cdk.out"
    return synthesised(root / "app.py", outdir, **settings_of(root))


def settings_of(root: Path) -> dict[str, object]:
    """
    Return what ``cdk.json`` sets for the app.
    """
    settings: dict[str, object] = json.loads((root / "cdk.json").read_text())["context"]
    return settings
