"""
The public names of the simulation.
"""

from __future__ import annotations

import subprocess
import sys

from cdk_sagemaker_llm import simulation


def test_every_name_has_a_home() -> None:
    """
    What is listed loads, and carries its name.
    """
    listed = list(simulation.__all__)

    assert sorted(set(listed)) == listed == sorted(simulation._HOMES)  # noqa: SLF001 - the list behind the names
    assert [name for name in listed if getattr(simulation, name).__name__ != name] == []


def test_what_plays_nothing_out_starts_without_numpy() -> None:
    """
    It takes a tenth of a second to load.
    """
    code = (
        "import sys, cdk_sagemaker_llm.simulation as s;"
        "[getattr(s, name) for name in s.__all__];"
        "s.LogNormal(median=200, spread=1).mean;"
        "print('numpy' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "False"
