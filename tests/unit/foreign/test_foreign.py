"""
Thirty apps that are not made with this library, and faults that are planted in them.

Each fault is found at its construct, or at its address; of the apps as they are nothing
is found that is not argued here.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from aws_cdk import App, Environment, Stack, Validations

from cdk_sagemaker_llm import SageMakerLlmChecks
from cdk_sagemaker_llm.cli.app.assembly import read_app
from cdk_sagemaker_llm.cli.app.findings import hosted_reports
from cdk_sagemaker_llm.cli.app.places import place_of
from tests.unit.foreign.cdk_apps import APPS
from tests.unit.foreign.terraform_plans import PLANS

TEMPLATES = Path(__file__).parents[2] / "data" / "foreign_templates.json"
ENVIRONMENT = Environment(account="111111111111", region="us-east-1")
# Built from parts, as no file may have one.
TOKEN = "_".join(["hf", "aB3" * 11])

_NO_FIXES = "AWS archived TGI in 2026-03, and this app pins an image of it"
_DRIVER = (
    "the app sets no InferenceAmiVersion, and the default driver of G5 is older than "
    "what CUDA 12.4 asks for; AWS lists al2-ami-sagemaker-inference-gpu-3-1 for it"
)
_QUEUE = (
    "the alarm follows a metric that endpoints publish with AsyncInferenceConfig "
    "alone, so that the policy never acts"
)
# Why what is found of an app as it is is right, by its construct and the code.
ARGUED: Mapping[tuple[str, str], str] = {
    ("AlphaIsolated/Model/Model", "LLM221"): _DRIVER,
    ("AlphaTgi/Model/Model", "LLM201"): _NO_FIXES,
    ("AlphaTwo/LargeModel/Model", "LLM221"): _DRIVER,
    ("AlphaTwo/SmallModel/Model", "LLM221"): _DRIVER,
    ("Asynchronous/Model", "LLM201"): _NO_FIXES,
    ("ByParameters/Model", "LLM806"): (
        "the instance type is a parameter without a default: over how many GPUs the "
        "model is split follows from it, and nothing says it"
    ),
    ("GenerativeAsync/own-model-Custom", "LLM221"): _DRIVER,
    ("GenerativeCustom/own-model-Custom", "LLM221"): _DRIVER,
    ("GenerativeCustom/Custom/ScalingPolicy/LowerAlarm/Resource", "LLM349"): _QUEUE,
    ("GenerativeCustom/Custom/ScalingPolicy/UpperAlarm/Resource", "LLM349"): _QUEUE,
    ("GenerativeHub/mistralai-Mistral-7B-v0-1-model-Hub", "LLM201"): _NO_FIXES,
    ("GenerativeHub/mistralai-Mistral-7B-v0-1-model-Hub", "LLM214"): (
        "the model's card has asked for a form since 2024, and no token is set"
    ),
    (
        "GenerativeJumpStart/huggingface-llm-mistral-7b-model-JumpStart",
        "LLM201",
    ): _NO_FIXES,
    ("TfLlm: aws_sagemaker_model.this", "LLM201"): _NO_FIXES,
    ("TfNeo: aws_sagemaker_model.this", "LLM201"): _NO_FIXES,
    ("TfVolume: aws_sagemaker_model.this", "LLM201"): _NO_FIXES,
}


class Fault(NamedTuple):
    """
    One that is planted: another value at a property's path (``None`` takes it out), the
    code, and the construct at which it is found, if it is another one.
    """

    construct: str
    path: str
    value: object
    code: str
    found_at: str = ""


ENV = "PrimaryContainer.Environment."
FIRST = "ProductionVariants.0."
HEALTH = "ContainerStartupHealthCheckTimeoutInSeconds"
TF_ENV = "primary_container.0.environment."
TF_FIRST = "production_variants.0."
NEEDS = "Specification.ComputeResourceRequirements."
HUB = "GenerativeHub/mistralai-Mistral-7B-v0-1-model-Hub"
CUSTOM = "GenerativeAsync/Custom/ScalingPolicy/LowerAlarm/Resource"
_POOL = {"InstanceType": "ml.g5.2xlarge", "Priority": 1}


def tf(app: str, kind: str) -> str:
    """
    Name a resource of a plan.
    """
    return f"{app}: {kind}.this"


MODEL, CONFIG = "aws_sagemaker_model", "aws_sagemaker_endpoint_configuration"
SHARED = tf("TfShared", "awscc_sagemaker_inference_component")

FAULTS = (
    Fault("DeepSeek/DeepSeekR1/Model", f"{ENV}OPTION_DTYPE", "fp4", "LLM136"),
    Fault(
        "DeepSeek/DeepSeekR1/Model",
        f"{ENV}OPTION_TENSOR_PARALLEL_DEGREE",
        "2",
        "LLM154",
    ),
    Fault("DeepSeek/DeepSeekR1/Model", f"{ENV}OPTION_ROLLING_BATCH", "vlm", "LLM132"),
    Fault("DeepSeek/DeepSeekR1/Model", f"{ENV}HF_TOKEN", TOKEN, "LLM107"),
    Fault(
        "DeepSeek/DeepSeekR1/Config", f"{FIRST}InferenceAmiVersion", "gpu-9", "LLM184"
    ),
    Fault(
        "ScaleToZero/EndpointConfig",
        f"{FIRST}ManagedInstanceScaling.MinInstanceCount",
        2,
        "LLM105",
    ),
    Fault("ScaleToZero/EndpointConfig", f"{FIRST}ModelName", "perception", "LLM124"),
    Fault("ScaleToZero/InferenceComponent", "VariantName", "primry", "LLM123"),
    Fault(
        "ScaleToZero/InferenceComponent",
        "RuntimeConfig.CopyCount",
        3,
        "LLM104",
        "ScaleToZero/Endpoint",
    ),
    Fault("ScaleToZero/ScalableTarget", "MinCapacity", 2, "LLM105"),
    Fault("ScaleToZero/Endpoint", "EndpointName", "of mine", "LLM106"),
    Fault(
        "Adapters/BaseComponent",
        f"{NEEDS}NumberOfAcceleratorDevicesRequired",
        None,
        "LLM197",
    ),
    Fault(
        "Adapters/BaseComponent",
        "Specification.Container.Environment.OPTION_MAX_LORA_RANK",
        "65",
        "LLM332",
    ),
    Fault(
        "Adapters/AdapterComponent",
        "Specification.Container.ArtifactUrl",
        "s3://adapters/acme",
        "LLM325",
    ),
    Fault(
        "Asynchronous/Model",
        "PrimaryContainer.Environment",
        {"HF_MODEL_ID": "a/b", "MAX_INPUT_LENGTH": "9", "MAX_TOTAL_TOKENS": "9"},
        "LLM115",
    ),
    Fault(
        "Asynchronous/Config",
        "AsyncInferenceConfig",
        None,
        "LLM349",
        "Asynchronous/Policy",
    ),
    Fault("ByParameters/Config", f"{FIRST}{HEALTH}", 30, "LLM111"),
    Fault("Nested/Llm/ChatModel", f"{ENV}OPTION_TENSOR_PARALLEL_DEGREE", "8", "LLM154"),
    Fault("Nested/Llm/EmbedConfig", f"{FIRST}InstanceType", "ml.g5.xl", "LLM101"),
    Fault("OwnImage/Config", f"{FIRST}InstanceType", "ml.g5.xlarge", "LLM121"),
    Fault(
        "TwoComponents/Config",
        f"{FIRST}ManagedInstanceScaling.MaxInstanceCount",
        0,
        "LLM105",
    ),
    Fault(
        "TwoComponents/Flan",
        f"{NEEDS}NumberOfAcceleratorDevicesRequired",
        5,
        "LLM104",
        "TwoComponents/Endpoint",
    ),
    Fault("Shadow/New", f"{ENV}SM_VLLM_MAX_MODELLEN", "9", "LLM501"),
    Fault("Shadow/Config", "ShadowProductionVariants.0.ModelName", None, "LLM346"),
    Fault("Pools/Config", f"{FIRST}InstancePools", [_POOL], "LLM312"),
    Fault("Pools/Config", f"{FIRST}InstanceType", "ml.g5.2xlarge", "LLM311"),
    Fault("ByNames/Model", f"{ENV}TENSOR_PARALLEL_DEGREE", "8", "LLM154"),
    Fault("Classifier/Config", f"{FIRST}VariantName", "All_Traffic", "LLM106"),
    Fault("AlphaTgi/Model/Model", f"{ENV}SM_NUM_GPUS", "8", "LLM174"),
    Fault("AlphaTgi/Model/Model", f"{ENV}MAX_TOTAL_TOKENS", "many", "LLM162"),
    Fault(
        "AlphaTwo/Endpoint/InstanceCount/Target/Resource",
        "MinCapacity",
        4,
        "LLM105",
    ),
    Fault(
        "AlphaTwo/Config/EndpointConfig", f"{FIRST}InitialVariantWeight", -1, "LLM111"
    ),
    Fault("AlphaIsolated/Model/Model", f"{ENV}OPTION_DTYPE", "fp4", "LLM136"),
    Fault(
        "AlphaIsolated/Config/EndpointConfig",
        f"{FIRST}InitialInstanceCount",
        0,
        "LLM105",
    ),
    Fault("AlphaServerless/Config/EndpointConfig", f"{FIRST}ModelName", None, "LLM124"),
    Fault(HUB, f"{ENV}MAX_INPUT_LENGTH", "4096", "LLM115"),
    Fault(
        "GenerativeAsync/EndpointConfig-Custom",
        "AsyncInferenceConfig",
        None,
        "LLM349",
        CUSTOM,
    ),
    Fault(
        "GenerativeJumpStart/EndpointConfig-JumpStart",
        f"{FIRST}InstanceType",
        "ml.g5",
        "LLM101",
    ),
    Fault(
        "GenerativeCustom/EndpointConfig-Custom",
        f"{FIRST}VolumeSizeInGB",
        256,
        "LLM121",
    ),
    Fault(
        tf("TfLmi", CONFIG),
        f"{TF_FIRST}managed_instance_scaling",
        [{"status": "ENABLED", "min_instance_count": 1, "max_instance_count": 2}],
        "LLM122",
    ),
    Fault(tf("TfLlm", MODEL), f"{TF_ENV}SM_NUM_GPUS", "4", "LLM174"),
    Fault(tf("TfNeo", "aws_appautoscaling_target"), "min_capacity", 3, "LLM105"),
    Fault(
        tf("TfTransformers", "aws_appautoscaling_target"),
        "resource_id",
        "endpoint/deploy-hub/variant/variant-1",
        "LLM123",
    ),
    Fault(
        SHARED,
        "specification.compute_resource_requirements.min_memory_required_in_mb",
        64,
        "LLM111",
    ),
    Fault(
        SHARED,
        "runtime_config.copy_count",
        5,
        "LLM104",
        tf("TfShared", "aws_sagemaker_endpoint"),
    ),
    Fault(tf("TfVllm", MODEL), f"{TF_ENV}SM_VLLM_TENSOR_PARALLEL_SIZE", "2", "LLM516"),
    Fault(tf("TfVolume", CONFIG), f"{TF_FIRST}volume_size_in_gb", 256, "LLM121"),
    Fault(tf("TfMedium", CONFIG), f"{TF_FIRST}initial_instance_count", 0, "LLM105"),
    Fault(tf("TfFilled", CONFIG), f"{TF_FIRST}instance_type", "ml.g6.2xl", "LLM101"),
    Fault(tf("TfServerless", CONFIG), f"{TF_FIRST}variant_name", "a b", "LLM106"),
)


@pytest.fixture(name="apps", scope="module")
def _apps(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """
    Write all apps: what ``check`` is given of each.
    """
    folder = tmp_path_factory.mktemp("foreign")
    for name, (define, _) in APPS.items():
        app = App(outdir=str(folder / name))
        define(Stack(app, name, env=ENVIRONMENT))
        app.synth()
    for name, row in json.loads(TEMPLATES.read_text())["apps"].items():
        write_assembly(folder / name, name, row)
    for name, (content, _) in PLANS.items():
        (folder / f"{name}.json").write_text(json.dumps(content, indent=1))
    return {path.stem: path for path in sorted(folder.iterdir())}


def write_assembly(folder: Path, name: str, row: Mapping[str, Any]) -> None:
    """
    Write the assembly of one template.
    """
    folder.mkdir()
    stack = {
        "type": "aws:cloudformation:stack",
        "environment": "aws://111111111111/us-east-1",
        "properties": {"templateFile": f"{name}.template.json"},
        "additionalMetadataFile": f"{name}.metadata.json",
    }
    for file, content in (
        ("manifest", {"version": "55.0.0", "artifacts": {name: stack}}),
        (f"{name}.template", row["template"]),
        (f"{name}.metadata", row["metadata"]),
    ):
        (folder / f"{file}.json").write_text(json.dumps(content, indent=1))


def found_in(path: Path) -> Iterator[tuple[str, str]]:
    """
    Return the construct and the code of each finding of an app.
    """
    for report in hosted_reports(path):
        assert not report.fault
        name = report.subject if report.place is None else report.place.name
        for finding in report.findings:
            yield (name if path.is_dir() else f"{path.stem}: {name}", finding.code)


def planted(path: Path, folder: Path, fault: Fault) -> Path:
    """
    Copy an app with one fault in it.
    """
    copied = folder / path.name
    if path.is_file():
        shutil.copy(path, copied)
        address = fault.construct.partition(": ")[2]
        content = json.loads(path.read_text())
        rows = content["planned_values"]["root_module"]["resources"]
        (row,) = [one for one in rows if one["address"] == address]
        put(row["values"], fault)
        copied.write_text(json.dumps(content))
        return copied
    shutil.copytree(path, copied)
    (stack, name), *others = [
        (stack, name)
        for stack in read_app(copied).stacks
        for name in stack.resources
        if place_of(stack, name).name == fault.construct
    ]
    assert not others
    content = json.loads(stack.template.read_text())
    put(content["Resources"][name]["Properties"], fault)
    stack.template.write_text(json.dumps(content))
    return copied


def put(holder: Any, fault: Fault) -> None:  # noqa: ANN401 - JSON
    """
    Put the fault's value where it belongs.
    """
    *way, last = fault.path.split(".")
    for key in way:
        holder = holder[int(key) if key.isdecimal() else key]
    if fault.value is None:
        del holder[last]
    else:
        holder[last] = fault.value


def test_there_are_thirty_apps_and_forty_faults(apps: Mapping[str, Path]) -> None:
    """
    Each app is of somebody else, and each fault another.
    """
    described = [source for _, source in (*APPS.values(), *PLANS.values())]

    assert len(apps) == 30
    assert all(described)
    assert len(set(map(str, FAULTS))) == len(FAULTS) >= 40
    assert {one.construct.split(":")[0].split("/")[0] for one in FAULTS} == set(apps)


def test_nothing_is_found_that_is_not_argued(apps: Mapping[str, Path]) -> None:
    """
    And what is argued is found.
    """
    found = {one for path in apps.values() for one in found_in(path)}

    assert found == set(ARGUED)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: f"{one.construct}-{one.code}")
def test_a_planted_fault_is_found_at_its_construct(
    apps: Mapping[str, Path], tmp_path: Path, fault: Fault
) -> None:
    """
    By its rule; it was not there before.
    """
    name = fault.construct.split(":")[0].split("/")[0]
    place = fault.found_at or fault.construct
    before = set(found_in(apps[name]))
    after = set(found_in(planted(apps[name], tmp_path, fault)))

    assert (place, fault.code) in after - before


def test_the_plugin_lets_the_clean_ones_through(tmp_path: Path) -> None:
    """
    All in one app: what is argued of them are warnings.
    """
    app = App(outdir=str(tmp_path))
    for name, (define, _) in APPS.items():
        define(Stack(app, name, env=ENVIRONMENT))
    Validations.of(app).add_plugins(SageMakerLlmChecks())
    app.synth()
    report = json.loads((tmp_path / "validation-report.json").read_text())
    (mine,) = [
        one
        for one in report["pluginReports"]
        if one["pluginName"] == "cdk-sagemaker-llm"
    ]
    found = {
        (construct["constructPath"], one["ruleName"])
        for one in mine["violations"]
        for construct in one["violatingConstructs"]
    }

    assert mine["conclusion"] == "success"
    assert found == {one for one in ARGUED if one[0].split("/")[0] in APPS}
