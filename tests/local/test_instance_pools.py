"""
An app whose instances are of several types, where the first has no capacity.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local import EmbeddedAws
from tests.deployments import Deployer, example
from tests.local.conftest import REGION
from tests.local.test_drift import detected

WHOLE, SHARED = "WholeInstances", "SharedInstances"


@dataclass(frozen=True)
class Deployment:
    """
    The example where it was deployed, with its stacks' outputs.
    """

    aws: EmbeddedAws
    deployer: Deployer
    app: Path
    outputs: dict[str, dict[str, str]]

    def instances(self, stack: str) -> dict[str, int]:
        """
        Return how many instances of each type an endpoint has.
        """
        shown = self.aws.client("sagemaker").describe_endpoint(
            EndpointName=self.outputs[stack]["EndpointName"]
        )
        (variant,) = shown["ProductionVariants"]
        return {
            pool["InstanceType"]: pool["CurrentInstanceCount"]
            for pool in variant["InstancePools"]
        }

    def generate(self, stack: str, **further: str) -> str:
        """
        Ask a model; return what it writes.
        """
        answer = self.aws.client("sagemaker-runtime").invoke_endpoint(
            EndpointName=self.outputs[stack]["EndpointName"],
            Body=b'{"messages": [{"role": "user", "content": "Who is it?"}]}',
            ContentType="application/json",
            **further,
        )
        (choice,) = json.loads(answer["Body"].read())["choices"]
        return str(choice["message"]["content"])

    def models(self) -> list[str]:
        """
        Return the names of the models that fill instances, that of the first type
        first.
        """
        listed = self.aws.client("sagemaker").list_models()["Models"]
        names = (str(model["ModelName"]) for model in listed)
        filling = (name for name in names if name.startswith("ChatModel"))
        return sorted(filling, key=lambda name: "G548xlarge" in name)


@pytest.fixture(name="deployment", scope="module")
def _deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """
    Neither stack can have instances of its first choice.
    """
    app = example("instance_pools", tmp_path_factory.mktemp("out"))
    with EmbeddedAws(region=REGION) as aws:
        aws.fault("no-capacity", "ml.g6e.12xlarge")
        aws.fault("no-capacity", "ml.g6e.2xlarge")
        deployer = Deployer(aws)
        outputs = deployer.deploy(app).checked().outputs
        yield Deployment(aws, deployer, app, outputs)


def test_instances_of_the_second_type_start(deployment: Deployment) -> None:
    """
    The deployment goes through, and says what it got.
    """
    assert deployment.instances(WHOLE) == {"ml.g6e.12xlarge": 0, "ml.g5.48xlarge": 1}
    assert deployment.instances(SHARED) == {"ml.g6e.2xlarge": 0, "ml.g5.2xlarge": 1}


def test_the_model_of_the_second_type_answers(deployment: Deployment) -> None:
    """
    Whatever befalls the model of the first type; what befalls its own is seen.
    """
    assert deployment.generate(WHOLE)

    first, second = deployment.models()
    deployment.aws.fault("errors", first)
    assert deployment.generate(WHOLE)
    deployment.aws.fault("errors", second)
    with pytest.raises(ClientError, match="chosen to fail"):
        deployment.generate(WHOLE)


def test_copies_run_on_the_second_type(deployment: Deployment) -> None:
    """
    The component tells how many, and answers.
    """
    component = deployment.outputs[SHARED]["Component"]
    shown = deployment.aws.client("sagemaker").describe_inference_component(
        InferenceComponentName=component
    )

    assert shown["InferenceComponentStatus"] == "InService"
    assert shown["RuntimeConfig"]["PlacementStatus"] == [
        {"InstanceType": "ml.g5.2xlarge", "CurrentCopyCount": 1}
    ]
    assert deployment.generate(SHARED, InferenceComponentName=component)


def test_what_runs_is_what_was_asked_for(deployment: Deployment) -> None:
    """
    The same again changes nothing, and nothing has drifted.
    """
    again = deployment.deployer.deploy(deployment.app).checked()

    assert again.events.count("(no changes)") == 2
    for stack in (WHOLE, SHARED):
        assert detected(deployment.aws, stack)["StackDriftStatus"] == "IN_SYNC"
