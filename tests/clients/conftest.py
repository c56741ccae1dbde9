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
from tests.deployments import Deployer, synthesised
from tests.local.conftest import ACCOUNT, REGION, Cdk, cdk_runner
from tests.local.stacks import Stacks
from tests.recipes import ROOT, blocks

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
ENVIRONMENTS = ROOT / ".venv-clients"
LIBRARY = str(ROOT / "constructs")
_LIMIT = 300

Run = Callable[..., subprocess.CompletedProcess[str]]
Program = Callable[..., dict[str, Any]]
Deployed = Callable[[str], dict[str, dict[str, str]]]
Pasted = Callable[..., str]


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
        client: str, command: str, *arguments: str, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [ENVIRONMENTS / client / "bin" / command, *arguments],
            cwd=home,
            env={**_variables(aws, home), **variables},
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

    def program(
        client: str, name: str, *arguments: str, **variables: str
    ) -> dict[str, Any]:
        path = str(PROGRAMS / f"{name}.py")
        done = run(client, "python", path, *arguments, **variables)
        assert done.returncode == 0, done.stdout + done.stderr
        printed: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return printed

    return program


@pytest.fixture(name="deployed")
def _deployed(aws: EmbeddedAws, tmp_path: Path) -> Deployed:
    """
    Deploy the app that a guide shows, and return the outputs of its stacks.
    """

    def deployed(guide: str) -> dict[str, dict[str, str]]:
        (code,) = blocks(guide, "python")
        app = tmp_path / "app.py"
        app.write_text(code, encoding="utf-8")
        assembly = synthesised(app, tmp_path / "cdk.out")
        return Deployer(aws).deploy(assembly).checked().outputs

    return deployed


@pytest.fixture(name="pasted")
def _pasted(run: Run, tmp_path: Path) -> Pasted:
    """
    Run a guide's program in a client's environment, and return what it prints.

    The library is there too, from the checkout.
    """

    def pasted(client: str, guide: str, number: int = 0, **variables: str) -> str:
        program = tmp_path / "program.py"
        program.write_text(blocks(guide, "py")[number], encoding="utf-8")
        paths = {"PYTHONPATH": LIBRARY}
        done = run(client, "python", str(program), **paths, **variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return pasted


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
