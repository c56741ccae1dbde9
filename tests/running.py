"""
The command ``sagemaker-llm``: in this process, which takes a tenth of the time, or as
it is installed.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from unittest import mock

import boto3

from cdk_sagemaker_llm.cli import main

INSTALLED = Path(sys.executable).with_name("sagemaker-llm")


def run(
    *arguments: str | bytes | Path,
    environment: Mapping[str, str] | None = None,
    said: bytes = b"",
) -> subprocess.CompletedProcess[str]:
    """
    Run the command in this process, to its end.

    Args:
        arguments: What it is called with.

        environment: All of its variables. If omitted, they are this process's.

        said: What it reads from its standard input.
    """
    command = [str(INSTALLED), *map(os.fsdecode, arguments)]
    output, errors = io.BytesIO(), io.BytesIO()
    with (
        mock.patch.object(sys, "argv", command),
        mock.patch.object(boto3, "DEFAULT_SESSION", None),
        # This process goes on, and so must its search for garbage.
        mock.patch.multiple(gc, freeze=mock.DEFAULT, set_threshold=mock.DEFAULT),
        mock.patch.object(sys, "stdin", _stream(io.BytesIO(said))),
        mock.patch.dict(os.environ, environment or {}, clear=environment is not None),
        contextlib.redirect_stdout(_stream(output)),
        contextlib.redirect_stderr(_stream(errors)),
    ):
        status = _status()
        texts = output.getvalue().decode(), errors.getvalue().decode()
    return subprocess.CompletedProcess(command, status, *texts)


def run_installed(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """
    Run the installed command.
    """
    return subprocess.run(
        [INSTALLED, *arguments], capture_output=True, text=True, check=False
    )


def _stream(content: io.BytesIO) -> io.TextIOWrapper:
    return io.TextIOWrapper(content, encoding="utf-8", write_through=True)


def _status() -> int:
    # As Python ends a process.
    try:
        main()
    except SystemExit as ended:
        if isinstance(ended.code, str):
            sys.stderr.write(f"{ended.code}\n")
            return 1
        return ended.code or 0
    return 0
