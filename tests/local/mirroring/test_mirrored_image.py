"""
The example, deployed: the worker's own code runs in a build of the
embedded AWS, against a registry on a socket.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.deployments import OF_INIT, Deployer, example, synthesised
from tests.local.mirroring.registry_server import (
    RegistryServer,
    Repository,
    digest_of,
)
from tests.local.staging.test_staged_model import log_of

APP = Path(__file__).with_name("example_app.py")
LAYERS = (b"base" * 50_000, bytes(range(256)) * 800)

Synthesise = Callable[[RegistryServer, str], Path]


@pytest.fixture(name="ecr")
def _ecr(embedded_aws: EmbeddedAws) -> Untyped:
    return embedded_aws.client("ecr")


@pytest.fixture(name="synthesise")
def _synthesise(tmp_path: Path) -> Synthesise:
    """
    Synthesise the example with a digest.
    """

    def synthesise(server: RegistryServer, digest: str) -> Path:
        outdir = tmp_path / digest.replace(":", "-")
        return synthesised(APP, outdir, digest=digest, registry=server.url, **OF_INIT)

    return synthesise


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
    embedded_aws: EmbeddedAws,
    ecr: Untyped,
    deployer: Deployer,
    synthesise: Synthesise,
) -> None:
    """
    A repository is made, the build copies every byte, the endpoint runs the digest;
    another digest is copied beside the first, and a deletion keeps both.
    """
    theirs = Repository()
    digest = theirs.add_image(*LAYERS)
    newer = theirs.add_image(*LAYERS, b"patched")
    with RegistryServer(Repositories(theirs, ecr)) as server:
        deployed = deployer.deploy(synthesise(server, digest)).checked()
        told = deployed.outputs["MirroredImage"]
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
        app = synthesise(server, newer)
        deployed = deployer.deploy(app).checked()
        assert digest_of(LAYERS[0]) not in server.written
        told = deployed.outputs["MirroredImage"]
        assert told["ImageUri"] == f"{address}@{newer}"
        assert sorted(mine.tags.values()) == sorted([digest, newer])
        deployer.destroy(app).checked()
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


def test_without_a_registry_the_deployment_says_so(
    deployer: Deployer, tmp_path: Path
) -> None:
    """
    At once, and not after attempts to find one: the embedded AWS has none.
    """
    app = example("mirrored_image", tmp_path)

    failed = deployer.deploy(app)

    assert not failed.succeeded
    assert "not emulated: the registry behind Amazon ECR" in failed.events
    deployer.destroy(app).checked()


@pytest.mark.whole
def test_what_cannot_be_copied_fails_with_its_reason(
    ecr: Untyped, deployer: Deployer, synthesise: Synthesise
) -> None:
    """
    In the stack's event, and no model was made of what is not there.
    """
    theirs = Repository()
    theirs.add_image(*LAYERS)
    missing = "sha256:" + "0" * 64
    with RegistryServer(Repositories(theirs, ecr)) as server:
        app = synthesise(server, missing)
        failed = deployer.deploy(app)
        deployer.destroy(app)

    assert not failed.succeeded
    assert f"/vllm has no {missing}; name a digest of that repository" in failed.events
    assert "AWS::SageMaker::Endpoint " not in failed.events
