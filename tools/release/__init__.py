"""
Whether a commit may be released: what ``make release-check`` looks at.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "cdk_sagemaker_llm"
DISTRIBUTION = "cdk-sagemaker-llm"


class StepError(Exception):
    """
    A program that a check needs has failed.
    """


@dataclass(frozen=True, kw_only=True)
class Report:
    """
    What a check saw.

    Args:
        notes: What was looked at, a line each.

        findings:
            What is wrong, each with the way out.
            If omitted, nothing is.
    """

    notes: Sequence[str]
    findings: Sequence[str] = ()


def run(
    *command: str | Path,
    cwd: Path | None = None,
    variables: Mapping[str, str] | None = None,
) -> str:
    """
    Run a program and return what it printed.

    Args:
        command: The program and its arguments.

        cwd: Where it runs. If omitted, it runs here.

        variables:
            Environment variables on top of the own ones, of which those that lead
            Python to other modules are left out.
            If omitted, there are none.

    Raises:
        StepError: If it fails; with the end of what it printed.
    """
    own = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**own, **(variables or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        printed = (done.stderr.strip() or done.stdout.strip()).splitlines()[-_LAST:]
        name = " ".join([Path(command[0]).name, *map(str, command[1:4])])
        raise StepError(f"{name} failed:\n" + "\n".join(printed))
    return done.stdout


_FOREIGN = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
_LAST = 15
