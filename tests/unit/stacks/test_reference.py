"""
The reference deployments, value for value, in what ``python app.py`` writes.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.deployments import synthesised

Synth = Callable[..., subprocess.CompletedProcess[str]]

MISTRAL_PROPERTIES = """\
engine=MPI
option.tensor_parallel_degree=4
option.model_id=mistralai/Mistral-7B-v0.1
option.max_rolling_batch_size=16
option.rolling_batch=auto
option.model_loading_timeout=1800
"""
MIXTRAL_PROPERTIES = """\
engine=MPI
option.model_id=mistralai/Mixtral-8x7B-v0.1
option.tensor_parallel_degree=max
option.max_rolling_batch_size=32
option.rolling_batch=auto
option.model_loading_timeout=7200
"""


class Deployed:
    """
    One stack of a cloud assembly.
    """

    def __init__(self, assembly: Path, name: str) -> None:
        self._assembly = assembly
        self._name = name
        text = (assembly / f"{name}.template.json").read_text()
        self.resources = json.loads(text)["Resources"]

    def only(self, kind: str) -> dict[str, Any]:
        """
        Return the properties of the only resource of a kind.
        """
        (found,) = (r for r in self.resources.values() if r["Type"] == f"AWS::{kind}")
        properties: dict[str, Any] = found["Properties"]
        return properties

    def variant(self) -> dict[str, Any]:
        """
        Return the only production variant.
        """
        (variant,) = self.only("SageMaker::EndpointConfig")["ProductionVariants"]
        found: dict[str, Any] = variant
        return found

    def image(self) -> str:
        """
        Return the end of the image's URI, behind the registry.
        """
        image = self.only("SageMaker::Model")["PrimaryContainer"]["Image"]
        end: str = image["Fn::Join"][1][-1]
        return end

    def unpacked(self) -> dict[str, str]:
        """
        Unpack the tarball that the Model's data URL leads to.
        """
        url = self.only("SageMaker::Model")["PrimaryContainer"]["ModelDataUrl"]
        key = url["Fn::Join"][1][-1].lstrip("/")
        manifest = json.loads(
            (self._assembly / f"{self._name}.assets.json").read_text()
        )
        (source,) = (
            asset["source"]["path"]
            for asset in manifest["files"].values()
            for destination in asset["destinations"].values()
            if destination["objectKey"] == key
        )
        with tarfile.open(self._assembly / source) as tar:
            return {m.name: _text(tar, m) for m in tar.getmembers()}


def _text(tar: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    content = tar.extractfile(member)
    assert content is not None
    return content.read().decode()


def test_a_mistral_on_tensorrt_llm(assembly: Path) -> None:
    """
    Deployment A: container, artifact, instance, variant.
    """
    stack = Deployed(assembly, "MistralTrtLlm")
    variant = stack.variant()

    assert stack.image() == "/djl-inference:0.26.0-tensorrtllm0.7.1-cu122"
    assert stack.unpacked() == {"serving.properties": MISTRAL_PROPERTIES}
    assert variant["InstanceType"] == "ml.g5.12xlarge"
    assert variant["InitialInstanceCount"] == 1
    assert variant["VariantName"] == "AllTraffic"
    # Weights come from the Hub, which takes about 10 minutes.
    assert variant["ContainerStartupHealthCheckTimeoutInSeconds"] >= 600


def test_a_mistral_scales_on_invocations(assembly: Path) -> None:
    """
    Deployment A: 1 to 4 instances, 5 requests a minute each, 300 and 60 seconds.
    """
    stack = Deployed(assembly, "MistralTrtLlm")
    target = stack.only("ApplicationAutoScaling::ScalableTarget")
    policy = stack.only("ApplicationAutoScaling::ScalingPolicy")
    parts = target["ResourceId"]["Fn::Join"][1]

    assert (parts[0], parts[-1]) == ("endpoint/", "/variant/AllTraffic")
    assert target["ScalableDimension"] == "sagemaker:variant:DesiredInstanceCount"
    assert (target["MinCapacity"], target["MaxCapacity"]) == (1, 4)
    assert policy["PolicyType"] == "TargetTrackingScaling"
    assert policy["TargetTrackingScalingPolicyConfiguration"] == {
        "PredefinedMetricSpecification": {
            "PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"
        },
        "TargetValue": 5.0,
        "ScaleInCooldown": 300,
        "ScaleOutCooldown": 60,
    }


def test_b_mixtral_from_a_file_written_by_hand(assembly: Path, root: Path) -> None:
    """
    Deployment B: the tarball unpacks to the file in assets/, byte for byte.
    """
    stack = Deployed(assembly, "Mixtral")
    variant = stack.variant()
    source = root / "assets" / "mixtral-8x7b" / "serving.properties"

    assert stack.image() == "/djl-inference:0.26.0-tensorrtllm0.7.1-cu122"
    assert stack.unpacked() == {"serving.properties": MIXTRAL_PROPERTIES}
    assert source.read_text() == MIXTRAL_PROPERTIES
    assert variant["InstanceType"] == "ml.p4d.24xlarge"
    assert variant["InitialInstanceCount"] == 1
    assert variant["ContainerStartupHealthCheckTimeoutInSeconds"] == 1800


def test_c_eight_copies_of_llama_13b(assembly: Path) -> None:
    """
    Deployment C: environment, endpoint and resources per replica.
    """
    stack = Deployed(assembly, "Llama13BX8")
    model = stack.only("SageMaker::Model")
    component = stack.only("SageMaker::InferenceComponent")
    environment = dict(model["PrimaryContainer"]["Environment"])
    tokens = {environment.pop("HF_TOKEN"), environment.pop("HUGGING_FACE_HUB_TOKEN")}

    assert stack.image().startswith(
        "/huggingface-pytorch-tgi-inference:2.1.1-tgi1.4.5-"
    )
    assert environment == {
        "HF_MODEL_ID": "meta-llama/Llama-2-13b-chat-hf",
        "SM_NUM_GPUS": "1",
        "MAX_INPUT_LENGTH": "2048",
        "MAX_TOTAL_TOKENS": "4096",
        "MAX_BATCH_TOTAL_TOKENS": "16384",
    }
    assert tokens == {"{{resolve:secretsmanager:hugging-face-token:SecretString:::}}"}
    assert stack.variant()["InstanceType"] == "ml.p4d.24xlarge"
    assert stack.variant()["InitialInstanceCount"] == 1
    assert stack.variant()["ContainerStartupHealthCheckTimeoutInSeconds"] >= 300
    assert "ModelName" not in stack.variant()
    assert component["RuntimeConfig"] == {"CopyCount": 8}
    assert component["Specification"]["ComputeResourceRequirements"] == {
        "NumberOfAcceleratorDevicesRequired": 1,
        "NumberOfCpuCoresRequired": 10,
        "MinMemoryRequiredInMb": 100 * 1024,
    }


@pytest.mark.parametrize("stack", ["MistralTrtLlm", "Mixtral", "Llama13BX8"])
def test_no_managed_policy_and_no_wildcard_action(assembly: Path, stack: str) -> None:
    """
    Every role allows named actions only.
    """
    resources = Deployed(assembly, stack).resources.values()
    statements = [
        statement
        for resource in resources
        if resource["Type"] == "AWS::IAM::Policy"
        for statement in resource["Properties"]["PolicyDocument"]["Statement"]
    ]

    assert statements
    assert not [s for s in statements if "*" in str(s["Action"])]
    assert not [r for r in resources if "ManagedPolicyArns" in r["Properties"]]


def test_ids_of_endpoints_are_frozen(assembly: Path) -> None:
    """
    Another id would replace a running endpoint: that is a breaking change.
    """
    ids = {
        name
        for stack in ("MistralTrtLlm", "Mixtral", "Llama13BX8")
        for name, resource in Deployed(assembly, stack).resources.items()
        if resource["Type"]
        in ("AWS::SageMaker::Endpoint", "AWS::SageMaker::InferenceComponent")
    }

    assert ids == {
        "HostEndpointB22D91C1",
        "HostLlama13BComponentC3B2828B",
        "MistralEndpoint60E6E2F5",
        "MixtralEndpoint6A1164B4",
    }


def test_the_same_input_gives_the_same_bytes_anywhere(
    synth: Synth, assembly: Path, root: Path, tmp_path: Path
) -> None:
    """
    Another folder, another time of the files: the same templates and hashes.
    """
    elsewhere = tmp_path / "deep" / "elsewhere"
    for name in ("stacks", "assets"):
        # Plain copies, so that every file has a new time and mode.
        shutil.copytree(root / name, elsewhere / name, copy_function=shutil.copyfile)
    shutil.copyfile(root / "app.py", elsewhere / "app.py")
    outdir = tmp_path / "other.out"

    done = synth(outdir, cwd=elsewhere)

    assert done.returncode == 0, done.stderr
    patterns = ("*.template.json", "*.assets.json", "asset.*")
    for pattern in patterns:
        names = sorted(p.name for p in assembly.glob(pattern))
        assert names == sorted(p.name for p in outdir.glob(pattern))
        for name in names:
            assert (outdir / name).read_bytes() == (assembly / name).read_bytes()


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({"mistral_instance_type": "ml.g5.13xlarge"}, "ml.g5.12xlarge"),
        ({"region": "us-iso-east-1"}, "not listed in us-iso-east-1"),
        (
            {"llama_copies": 17},
            "17 copies of Llama13B do not fit, 2 instances hold 16",
        ),
        (
            {"llama_copies": 9, "llama_max_instances": 1},
            "9 copies of Llama13B do not fit, one instance holds 8",
        ),
        (
            {"mistral_min_instances": 5},
            "max_capacity must be at least min_capacity, got max_capacity=4",
        ),
    ],
    ids=str,
)
def test_bad_input_ends_in_one_message_and_nothing_is_written(
    root: Path, tmp_path: Path, context: dict[str, object], message: str
) -> None:
    """
    No traceback, no template, no tarball.
    """
    outdir = tmp_path / "cdk.out"
    settings = json.loads((root / "cdk.json").read_text())["context"]

    with pytest.raises(SystemExit) as ended:
        synthesised(root / "app.py", outdir, **{**settings, **context})

    assert str(ended.value).startswith("error: ")
    assert message in str(ended.value)
    assert not outdir.exists() or list(outdir.iterdir()) == []


def test_bad_input_is_shown_without_a_traceback(synth: Synth, tmp_path: Path) -> None:
    """
    On standard error, with a status that ends a pipeline.
    """
    done = synth(tmp_path / "cdk.out", {"llama_copies": 17})

    assert done.returncode == 1
    assert "17 copies of Llama13B do not fit, 2 instances hold 16" in done.stderr
    assert "Traceback" not in done.stderr
