"""
Draw ``docs/dashboard.png``: ``python -m tools.dashboard``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from cdk_sagemaker_llm.cli.simulating.playing import Told
from cdk_sagemaker_llm.cli.simulating.subject import Subject
from cdk_sagemaker_llm.cli.simulating.traffics import Wanted
from tools.dashboard.body import body_in
from tools.dashboard.drawing import Panel, draw, panels_of
from tools.dashboard.series import simulated

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "dashboard" / "app.py"
TARGET = ROOT / "docs" / "dashboard.png"
_DAY = 24 * 60 * 60.0


def panels(folder: Path) -> list[Panel]:
    """
    Synthesise the example, play a day, and return what its dashboard shows then.

    Args:
        folder: Where the example is synthesised.
    """
    environment = {**os.environ, "CDK_OUTDIR": str(folder)}
    subprocess.run([sys.executable, EXAMPLE], env=environment, check=True)
    (template,) = folder.glob("*.template.json")
    run = Subject(folder, None, (), None, ()).run(
        Told(wanted=Wanted(shape="day"), duration=_DAY)
    )
    body = body_in(template)
    return list(panels_of(body, simulated(run.played, body["widgets"])))


def main() -> None:
    """
    Draw the picture of the documentation.
    """
    with tempfile.TemporaryDirectory() as folder:
        draw(panels(Path(folder)), TARGET)


if __name__ == "__main__":
    main()
