"""
An AWS in which time runs fast, and a team that deploys version after version to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cdk_sagemaker_llm.local import EmbeddedAws, Latency
from cdk_sagemaker_llm.simulation.fleet import FleetTimes
from tests.deployments import Deployer
from tests.local.conftest import REGION
from tests.local.updates import versions_app

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local.aws.untyped import Untyped
    from tests.local.updates.versions_app import Version

_TIMES = FleetTimes(
    provision=120.0, image_pull=60.0, model_start=60.0, drain=40.0, retry=0.0
)
# An answer is under way for half a minute of that time, while fleets come and go.
_LATENCY = Latency(first_token=30.0, per_token=0.0)


class Team:
    """
    The team that deploys the app.

    Args:
        aws: Where it is deployed.

        deployer: What deploys it.

        folder: Where the assemblies are written.
    """

    def __init__(self, aws: EmbeddedAws, deployer: Deployer, folder: Path) -> None:
        self.aws = aws
        self.sagemaker: Untyped = aws.client("sagemaker")
        self._deployer = deployer
        self._folder = folder
        self._steps = 0

    def deploy(self, stack: str, version: Version) -> tuple[bool, str]:
        """
        Deploy a stack; return whether that succeeded, and what happened.
        """
        self._steps += 1
        assembly = versions_app.synth(self._folder / f"step{self._steps}", version)
        done = self._deployer.deploy(assembly, stack)
        return done.succeeded, done.events

    def must_deploy(self, stack: str, version: Version) -> None:
        """
        Deploy a stack, which succeeds.
        """
        succeeded, said = self.deploy(stack, version)
        assert succeeded, said

    def endpoint(self, name: str) -> Untyped:
        """
        Describe an endpoint.
        """
        return self.sagemaker.describe_endpoint(EndpointName=name)

    def component(self, name: str) -> Untyped:
        """
        Describe a component.
        """
        return self.sagemaker.describe_inference_component(InferenceComponentName=name)

    def image(self, endpoint: str) -> str:
        """
        Return the image that an endpoint runs.
        """
        (variant,) = self.endpoint(endpoint)["ProductionVariants"]
        return str(variant["DeployedImages"][0]["SpecifiedImage"])

    def container(self, model: str) -> Untyped:
        """
        Return what a model says of its container.
        """
        return self.sagemaker.describe_model(ModelName=model)["PrimaryContainer"]


@pytest.fixture(name="team", scope="session")
def _team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    with EmbeddedAws(region=REGION, speed=300.0, times=_TIMES, latency=_LATENCY) as aws:
        yield Team(aws, Deployer(aws), tmp_path_factory.mktemp("versions"))
