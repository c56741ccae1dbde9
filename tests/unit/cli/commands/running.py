"""
The command, as its users run it: in this process, which takes a tenth of the time, or
as it is installed.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

from cdk_sagemaker_llm.cli import main

INSTALLED = Path(sys.executable).with_name("sagemaker-llm")


def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """
    Run the command in this process.
    """
    command = [str(INSTALLED), *map(str, arguments)]
    output, errors = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", command),
        mock.patch.dict(os.environ, environment),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
    ):
        status = _status(errors)
    return subprocess.CompletedProcess(
        command, status, output.getvalue(), errors.getvalue()
    )


def run_installed(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """
    Run the installed command.
    """
    return subprocess.run(
        [INSTALLED, *arguments], capture_output=True, text=True, check=False
    )


def _status(errors: io.StringIO) -> int:
    try:
        main()
    except SystemExit as ended:
        if isinstance(ended.code, str):
            errors.write(f"{ended.code}\n")
            return 1
        return ended.code or 0
    return 0
