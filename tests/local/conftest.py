"""
A real server and real sockets, shared by the tests of this folder, and what deploys to
it: the real CDK CLI, or its calls alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cdk_sagemaker_llm.local import EmbeddedAws
from tests.deployments import Deployer
from tests.local.near import NearAws
from tests.secrecy import in_aws

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local.aws.untyped import Untyped
    from tests.local.by_hand import HandRunAws

ROOT = Path(__file__).parents[2]
CDK = ROOT / "node_modules" / ".bin" / "cdk"
ACCOUNT = "123456789012"
REGION = "us-east-1"

Cdk = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(name="embedded_aws", scope="session")
def _embedded_aws() -> Iterator[EmbeddedAws]:
    """
    One server for the whole session; tests name what they make apart. When all is done,
    nothing in it tells the token that they keep in secrets.
    """
    with EmbeddedAws(region=REGION) as aws:
        yield aws
        assert in_aws(aws) == []


@pytest.fixture(name="fresh_aws", scope="module")
def _fresh_aws() -> Iterator[EmbeddedAws]:
    """
    A server of its own for each module that asks, for tests that count what there is.
    """
    with EmbeddedAws(region=REGION) as aws:
        yield aws
        assert in_aws(aws) == []


@pytest.fixture(name="near_aws", scope="module")
def _near_aws() -> Iterator[EmbeddedAws]:
    """
    One in this process for each module that asks, which starts at once.
    """
    with NearAws() as aws:
        yield aws
        assert in_aws(aws) == []


@pytest.fixture(name="near_deployer", scope="module")
def _near_deployer(near_aws: EmbeddedAws) -> Deployer:
    """
    Deploy likewise to the one in this process.
    """
    return Deployer(near_aws)


@pytest.fixture(name="sagemaker", scope="module")
def _sagemaker(aws: EmbeddedAws | HandRunAws) -> Untyped:
    """
    A client of the AWS that a module has of its own.
    """
    return aws.client("sagemaker")


@pytest.fixture(name="arn", scope="module")
def _arn(aws: EmbeddedAws | HandRunAws) -> str:
    """
    What the ARNs of hosting begin with there.
    """
    account = aws.client("sts").get_caller_identity()["Account"]
    return f"arn:aws:sagemaker:{REGION}:{account}"


@pytest.fixture(name="cdk", scope="session")
def _cdk(embedded_aws: EmbeddedAws, tmp_path_factory: pytest.TempPathFactory) -> Cdk:
    """
    Run the CDK CLI against the shared server, which is bootstrapped already.

    The output is standard output and error together, in the order they came.
    """
    home = tmp_path_factory.mktemp("home")
    run = cdk_runner(embedded_aws, home)
    # Not in the checkout, whose cdk.json would have its app synthesised first.
    bootstrapped = run("bootstrap", f"aws://{ACCOUNT}/{REGION}", cwd=home)
    assert bootstrapped.returncode == 0, bootstrapped.stdout
    return run


@pytest.fixture(name="deployer", scope="session")
def _deployer(embedded_aws: EmbeddedAws) -> Deployer:
    """
    Deploy to the shared server without the CLI.
    """
    return Deployer(embedded_aws)


@pytest.fixture(name="fresh_deployer", scope="module")
def _fresh_deployer(fresh_aws: EmbeddedAws) -> Deployer:
    """
    Deploy likewise to the module's own server.
    """
    return Deployer(fresh_aws)


def cdk_runner(aws: EmbeddedAws, home: Path) -> Cdk:
    """
    Return a function that runs the CDK CLI with nothing of the caller's AWS set-up.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {
        **aws.process_environment,
        "HOME": str(home),
        "PATH": path,
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
    }

    def run(
        *arguments: str,
        app: str | Path | None = None,
        outdir: str | Path | None = None,
        cwd: Path = ROOT,
    ) -> subprocess.CompletedProcess[str]:
        chosen = [*(["--app", str(app)] if app else [])]
        chosen += ["--output", str(outdir)] if outdir else []
        return subprocess.run(
            [CDK, *arguments, *chosen, "--no-notices", "--no-color", "--ci"],
            cwd=cwd,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )

    return run
