"""
One embedded AWS, and each client in the environment that ``make clients`` made for it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.local import EmbeddedAws
from tests.local.conftest import ACCOUNT, REGION, Cdk, cdk_runner
from tests.local.stacks import Stacks

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
ENVIRONMENTS = HERE.parents[1] / ".venv-clients"
_LIMIT = 300

Run = Callable[..., subprocess.CompletedProcess[str]]
Program = Callable[..., dict[str, Any]]


@pytest.fixture(name="aws", scope="session")
def _aws() -> Iterator[EmbeddedAws]:
    """
    One server for all clients; tests name what they make apart.
    """
    with EmbeddedAws(region=REGION) as aws:
        yield aws


@pytest.fixture(name="home", scope="session")
def _home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    A home without anybody's settings.
    """
    return tmp_path_factory.mktemp("home")


@pytest.fixture(name="run", scope="session")
def _run(aws: EmbeddedAws, home: Path) -> Run:
    """
    Run a command of a client's environment, pointed at the server.
    """

    def run(
        client: str, command: str, *arguments: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [ENVIRONMENTS / client / "bin" / command, *arguments],
            cwd=home,
            env=_variables(aws, home),
            capture_output=True,
            text=True,
            timeout=_LIMIT,
            check=False,
        )

    return run


@pytest.fixture(name="program", scope="session")
def _program(run: Run) -> Program:
    """
    Run a program of this folder in a client's environment and read what it prints.

    It prints one JSON object, on its last line: libraries print before it.
    """

    def program(client: str, name: str, *arguments: str) -> dict[str, Any]:
        done = run(client, "python", str(PROGRAMS / f"{name}.py"), *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        printed: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return printed

    return program


@pytest.fixture(name="cdk", scope="session")
def _cdk(aws: EmbeddedAws, home: Path) -> Cdk:
    """
    Run the CDK CLI against the server, which is bootstrapped already.
    """
    run = cdk_runner(aws, home)
    bootstrapped = run("bootstrap", f"aws://{ACCOUNT}/{REGION}", cwd=home)
    assert bootstrapped.returncode == 0, bootstrapped.stdout
    return run


@pytest.fixture(name="default_endpoint", scope="session")
def _default_endpoint(
    aws: EmbeddedAws, cdk: Cdk, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """
    Deploy what is served where nothing is said, and return the endpoint's name.
    """
    app = f"{sys.executable} {HERE.parent / 'local' / 'default_app.py'}"
    outdir = tmp_path_factory.mktemp("unsaid")
    done = cdk(
        "deploy", "Unsaid", "--require-approval", "never", app=app, outdir=outdir
    )
    assert done.returncode == 0, done.stdout
    outputs = Stacks(aws).outputs("Unsaid")
    (name,) = (value for key, value in outputs.items() if "EndpointName" in key)
    return name


def _variables(aws: EmbeddedAws, home: Path) -> Mapping[str, str]:
    # Not the project's packages, and not its libraries' settings either.
    mine = {"PYTHONPATH", "PYTHONSAFEPATH", "VIRTUAL_ENV"}
    kept = {k: v for k, v in aws.process_environment.items() if k not in mine}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    return {**kept, "HOME": str(home), "PATH": path}
