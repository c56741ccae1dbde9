"""
The example deployed with the real CDK CLI: the worker's own code runs in a build of the
embedded AWS, against a registry on a socket.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.conftest import Cdk
from tests.local.mirroring.example_app import URL
from tests.local.mirroring.registry_server import (
    RegistryServer,
    Repository,
    digest_of,
)
from tests.local.staging.test_staged_model import log_of
from tests.local.test_cdk import succeed

# Several deployments by the real CLI.
pytestmark = pytest.mark.timeout(600)

APP = f"{sys.executable} -m tests.local.mirroring.example_app"
LAYERS = (b"base" * 50_000, bytes(range(256)) * 800)

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(name="ecr")
def _ecr(embedded_aws: EmbeddedAws) -> Untyped:
    return embedded_aws.client("ecr")


@pytest.fixture(name="run")
def _run(cdk: Cdk, tmp_path: Path) -> Run:
    """
    Deploy the example with a digest, or destroy it.
    """

    def run(
        verb: str, server: RegistryServer, digest: str
    ) -> subprocess.CompletedProcess[str]:
        force = ("--force",) if verb == "destroy" else ("--require-approval", "never")
        outputs = ("--outputs-file", str(tmp_path / "outputs.json"))
        return cdk(
            *(verb, "--all", *force, "--context", f"digest={digest}"),
            *(outputs if verb == "deploy" else ()),
            app=f"env {URL}={server.url} {APP}",
            outdir=tmp_path / "cdk.out",
        )

    return run


class Repositories(dict[str, Repository]):
    """
    AWS's repository, and those of the account that the embedded AWS has made.
    """

    def __init__(self, theirs: Repository, ecr: Untyped) -> None:
        super().__init__(vllm=theirs)
        self._ecr = ecr

    def get(self, name: str, default: object = None) -> object:  # type: ignore[override] # a test's own
        """
        Return a repository; what is made by a stack is empty at first.
        """
        made = self._ecr.describe_repositories()["repositories"]
        if name in {one["repositoryName"] for one in made}:
            self.setdefault(name, Repository())
        return super().get(name, default)


def test_the_example_runs_the_copy(
    embedded_aws: EmbeddedAws, ecr: Untyped, run: Run, tmp_path: Path
) -> None:
    """
    A repository is made, the build copies every byte, the endpoint runs the digest;
    another digest is copied beside the first, and a deletion keeps both.
    """
    theirs = Repository()
    digest = theirs.add_image(*LAYERS)
    newer = theirs.add_image(*LAYERS, b"patched")
    with RegistryServer(Repositories(theirs, ecr)) as server:
        succeed(run("deploy", server, digest))
        told = json.loads((tmp_path / "outputs.json").read_text())["MirroredImage"]
        address, _, at = told["ImageUri"].partition("@")
        name = address.partition("/")[2]
        mine = server.repositories[name]
        assert at == digest
        assert mine.manifests == {digest: theirs.manifests[digest]}
        assert mine.tags == {
            f"0.20.2-gpu-py312-cu130-ubuntu22.04-sagemaker-{digest[7:19]}": digest
        }
        assert image_of(embedded_aws, told["EndpointName"]) == told["ImageUri"]
        lines = log_of(embedded_aws, f"vllm@{digest[:19]} is mirrored")
        assert any(line.startswith("[3/3] ") for line in lines)
        server.written.clear()
        succeed(run("deploy", server, newer))
        assert digest_of(LAYERS[0]) not in server.written
        told = json.loads((tmp_path / "outputs.json").read_text())["MirroredImage"]
        assert told["ImageUri"] == f"{address}@{newer}"
        assert sorted(mine.tags.values()) == sorted([digest, newer])
        succeed(run("destroy", server, newer))
    (kept,) = ecr.describe_repositories(repositoryNames=[name])["repositories"]
    assert kept["imageTagMutability"] == "IMMUTABLE"


def image_of(aws: EmbeddedAws, endpoint: str) -> str:
    """
    Return the image that an endpoint runs.
    """
    sagemaker = aws.client("sagemaker")
    config = sagemaker.describe_endpoint(EndpointName=endpoint)["EndpointConfigName"]
    (variant,) = sagemaker.describe_endpoint_config(EndpointConfigName=config)[
        "ProductionVariants"
    ]
    model = sagemaker.describe_model(ModelName=variant["ModelName"])
    return str(model["PrimaryContainer"]["Image"])


def test_what_cannot_be_copied_fails_with_its_reason(ecr: Untyped, run: Run) -> None:
    """
    In the stack's event, and no model was made of what is not there.
    """
    theirs = Repository()
    theirs.add_image(*LAYERS)
    missing = "sha256:" + "0" * 64
    with RegistryServer(Repositories(theirs, ecr)) as server:
        failed = run("deploy", server, missing)
        run("destroy", server, missing)

    assert failed.returncode == 1
    assert f"/vllm has no {missing}; name a digest of that repository" in (
        " ".join(failed.stdout.split())
    )
    assert "AWS::SageMaker::Endpoint " not in failed.stdout
