"""
The reference app: deployed, deployed again, changed, destroyed.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from cdk_sagemaker_llm.local import EmbeddedAws
from tests.deployments import ROOT, Deployer, synthesised
from tests.local.conftest import REGION


@dataclass(frozen=True)
class Deployment:
    """
    A copy of the app that may be changed, and where it is deployed.
    """

    aws: EmbeddedAws
    deployer: Deployer
    folder: Path

    def synth(self, **context: str) -> Path:
        """
        Synthesise the copy as it is now.
        """
        settings = json.loads((self.folder / "cdk.json").read_text())["context"]
        with mock.patch.dict(sys.modules), mock.patch.object(sys, "path", sys.path[:]):
            # The checkout's own stacks may be imported already.
            for name in [one for one in sys.modules if one.split(".")[0] == "stacks"]:
                del sys.modules[name]
            sys.path.insert(0, str(self.folder))
            outdir = Path(tempfile.mkdtemp(dir=self.folder))
            return synthesised(self.folder / "app.py", outdir, **settings, **context)

    def deploy(self, *stacks: str) -> str:
        """
        Deploy stacks of the copy, which succeeds; return what happened.
        """
        return self.deployer.deploy(self.synth(), *stacks).checked().events

    def change(self, file: str, old: str, new: str) -> None:
        """
        Replace a text of a file of the copy.
        """
        path = self.folder / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def hosting(self) -> dict[str, Any]:
        """
        Return what runs where, by the stack's part of the endpoint's name.
        """
        address = f"{self.aws.url}/_embedded/hosting"
        with urllib.request.urlopen(address) as answer:  # noqa: S310 - our own server
            endpoints = json.load(answer)["Endpoints"]
        return {e["EndpointName"].split("Endpoint")[0]: e for e in endpoints}

    def models(self) -> set[str]:
        """
        Return the names of all models.
        """
        listed = self.aws.client("sagemaker").list_models()["Models"]
        return {model["ModelName"] for model in listed}


@pytest.fixture(name="deployment", scope="module")
def _deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """
    The app, deployed once: with a server of its own, whose contents are counted.
    """
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("stacks", "assets"):
        shutil.copytree(ROOT / name, folder / name)
    for name in ("app.py", "cdk.json"):
        shutil.copyfile(ROOT / name, folder / name)
    with EmbeddedAws(region=REGION) as aws:
        aws.client("secretsmanager").create_secret(
            Name="hugging-face-token", SecretString="a-secret-of-the-test"
        )
        deployment = Deployment(aws, Deployer(aws), folder)
        deployment.deploy()
        yield deployment


def test_all_three_exist_with_eight_copies_placed(deployment: Deployment) -> None:
    """
    Endpoints, instances, copies.
    """
    hosting = deployment.hosting()
    variants = {name: e["Variants"][0] for name, e in hosting.items()}
    (copies,) = variants["Host"]["Instances"][0]["Copies"].values()

    assert sorted(hosting) == ["Host", "Mistral", "Mixtral"]
    assert {n: v["InstanceType"] for n, v in variants.items()} == {
        "Host": "ml.p4d.24xlarge",
        "Mistral": "ml.g5.12xlarge",
        "Mixtral": "ml.p4d.24xlarge",
    }
    assert copies == 8


def test_scaling_is_registered(deployment: Deployment) -> None:
    """
    One target, one policy, as the reference has them.
    """
    scaling = deployment.aws.client("application-autoscaling")
    (target,) = scaling.describe_scalable_targets(ServiceNamespace="sagemaker")[
        "ScalableTargets"
    ]
    (policy,) = scaling.describe_scaling_policies(ServiceNamespace="sagemaker")[
        "ScalingPolicies"
    ]

    assert (target["MinCapacity"], target["MaxCapacity"]) == (1, 4)
    assert policy["ResourceId"] == target["ResourceId"]
    assert policy["TargetTrackingScalingPolicyConfiguration"]["TargetValue"] == 5


def test_the_token_arrives_and_is_in_no_template(deployment: Deployment) -> None:
    """
    Resolved at deployment; CloudFormation keeps the reference alone.
    """
    sagemaker = deployment.aws.client("sagemaker")
    (name,) = [m for m in deployment.models() if m.startswith("HostLlama13B")]
    environment = sagemaker.describe_model(ModelName=name)["PrimaryContainer"]
    template = deployment.aws.client("cloudformation").get_template(
        StackName="Llama13BX8"
    )["TemplateBody"]

    assert environment["Environment"]["HF_TOKEN"] == "a-secret-of-the-test"  # noqa: S105 - made up
    assert "a-secret-of-the-test" not in str(template)


def test_deploying_again_changes_nothing(deployment: Deployment) -> None:
    """
    Not one resource is touched.
    """
    before = (deployment.hosting(), deployment.models())

    assert deployment.deploy().count("(no changes)") == 3
    assert (deployment.hosting(), deployment.models()) == before


def test_a_changed_artifact_is_a_new_model_on_the_same_endpoint(
    deployment: Deployment,
) -> None:
    """
    The old Model goes when the endpoint runs the new one.
    """
    before = deployment.hosting()["Mixtral"]
    models = deployment.models()
    deployment.change(
        "assets/mixtral-8x7b/serving.properties",
        "max_rolling_batch_size=32",
        "max_rolling_batch_size=64",
    )

    deployment.deploy("Mixtral")
    after = deployment.hosting()["Mixtral"]

    assert after["EndpointName"] == before["EndpointName"]
    assert after["EndpointConfigName"] != before["EndpointConfigName"]
    assert len(deployment.models() - models) == 1
    assert len(models - deployment.models()) == 1


def test_no_copy_is_lost_when_a_shared_model_changes(deployment: Deployment) -> None:
    """
    The component is updated in place; its eight copies stay.
    """
    before = deployment.hosting()["Host"]
    models = deployment.models()
    deployment.change(
        "stacks/llama_13b_x8.py",
        "max_batch_total_tokens=16384",
        "max_batch_total_tokens=8192",
    )

    deployment.deploy("Llama13BX8")

    assert deployment.hosting()["Host"] == before
    assert len(deployment.models() - models) == 1


def test_a_scaled_count_survives_an_update(deployment: Deployment) -> None:
    """
    Three instances under load stay three when the model changes.
    """
    name = deployment.hosting()["Mistral"]["EndpointName"]
    deployment.aws.client("sagemaker").update_endpoint_weights_and_capacities(
        EndpointName=name,
        DesiredWeightsAndCapacities=[
            {"VariantName": "AllTraffic", "DesiredInstanceCount": 3}
        ],
    )
    deployment.change(
        "stacks/mistral_trtllm.py",
        "max_rolling_batch_size=16",
        "max_rolling_batch_size=32",
    )

    deployment.deploy("MistralTrtLlm")

    assert deployment.hosting()["Mistral"]["Variants"][0]["InstanceCount"] == 3


def test_another_instance_type_is_refused_while_it_scales(
    deployment: Deployment,
) -> None:
    """
    The service's rule; the endpoint goes on with what it had.
    """
    app = deployment.synth(mistral_instance_type="ml.g5.48xlarge")
    done = deployment.deployer.deploy(app, "MistralTrtLlm")
    variant = deployment.hosting()["Mistral"]["Variants"][0]

    assert not done.succeeded
    assert "scalable target" in done.events
    assert variant["InstanceType"] == "ml.g5.12xlarge"


def test_destroying_leaves_nothing(deployment: Deployment) -> None:
    """
    The last test of this file: no endpoint, model, component, target or role is left.
    """
    deployment.deployer.destroy(deployment.synth()).checked()
    sagemaker = deployment.aws.client("sagemaker")
    scaling = deployment.aws.client("application-autoscaling")
    # Application Auto Scaling keeps its own.
    roles = deployment.aws.client("iam").list_roles()["Roles"]
    roles = [each for each in roles if each["Path"] == "/"]

    assert deployment.hosting() == {}
    assert deployment.models() == set()
    assert sagemaker.list_endpoint_configs()["EndpointConfigs"] == []
    assert sagemaker.list_inference_components()["InferenceComponents"] == []
    targets = scaling.describe_scalable_targets(ServiceNamespace="sagemaker")
    assert targets["ScalableTargets"] == []
    assert [r["RoleName"] for r in roles if not r["RoleName"].startswith("cdk-")] == []
