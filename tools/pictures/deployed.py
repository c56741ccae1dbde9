"""
An endpoint on an embedded AWS, deployed as the README does it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from cdk_sagemaker_llm.local import EmbeddedAws, Latency
from cdk_sagemaker_llm.simulation.fleet import FleetTimes

ROOT = Path(__file__).parents[2]
ENDPOINT = "chat"
_EXAMPLE = ROOT / "examples" / "canary_with_rollback" / "app.py"
_CDK = ROOT / "node_modules" / ".bin" / "cdk"
_SPEED = 60
_AT_ONCE = FleetTimes(provision=1, image_pull=1, model_start=1)
# How the caller wishes commands to look, which is no part of a picture.
_WISHES = {"NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS"}


@contextmanager
def deployed(
    *, latency: Latency | None = None, forward: Mapping[str, str] | None = None
) -> Iterator[dict[str, str]]:
    """
    Deploy the endpoint, and yield the variables that lead to it.

    Args:
        latency: How long the embedded AWS's own answers take. If left out, no time.

        forward: Model servers that answer in its place. If left out, none does.
    """
    speed = None if latency is None else _SPEED
    times = None if latency is None else _AT_ONCE
    with (
        tempfile.TemporaryDirectory() as folder,
        EmbeddedAws(speed=speed, times=times, latency=latency, forward=forward) as aws,
    ):
        given = aws.process_environment
        variables = {k: v for k, v in given.items() if k not in _WISHES}
        variables["HOME"] = folder
        app = f"{sys.executable} {_EXAMPLE}"
        deploy = ("--app", app, "--output", f"{folder}/cdk.out")
        for words in (
            ("bootstrap", f"aws://{aws.account}/{aws.region}"),
            ("deploy", *deploy, "--require-approval", "never"),
        ):
            subprocess.run(
                [_CDK, *words, "--no-notices"],
                cwd=folder,
                env=variables,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=True,
            )
        yield variables
