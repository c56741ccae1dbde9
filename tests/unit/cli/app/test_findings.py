"""
The models of an app: which container is checked, and what of it is left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.cli.app.assembly import Stack
from cdk_sagemaker_llm.cli.app.findings import hosted_reports
from cdk_sagemaker_llm.cli.app.hosting import EndpointConfig, Resource, Variant
from tests.unit.cli.app.test_foreign_apps import LMI, MODEL
from tests.unit.cli.commands.test_check_subjects import assembly, template

SERVER = find_image("vllm-server", "2.6").uri("eu-west-1")
SGLANG = find_image("sglang-server", "1.4").uri("eu-west-1")
ROLLING = find_image("vllm-server", "2").uri("eu-west-1")
GRAVITON = find_image("llama-cpp-arm64", "1.0.1").uri("eu-west-1")
CHOSEN = {"Fn::If": ["Condition", {"Image": LMI}, {"Image": "other"}]}
BROKEN = {**MODEL, "OPTION_DTYPE": "fp4"}


@pytest.mark.parametrize(
    ("properties", "codes", "left_out", "is_checked"),
    [
        ({"PrimaryContainer": {"Image": LMI, "Environment": MODEL}}, [], [], True),
        # The only one of a list is the container; of several none is chosen.
        (
            {"Containers": [{"Image": LMI, "Environment": BROKEN}]},
            ["LLM136"],
            [],
            True,
        ),
        (
            {"Containers": [{"Image": LMI}, {"Image": LMI}]},
            [],
            ["it has several containers"],
            False,
        ),
        (
            {"PrimaryContainer": CHOSEN},
            [],
            ["its container is known at deployment only"],
            False,
        ),
        ({}, [], ["it has no container"], False),
        (
            {"PrimaryContainer": {"ModelPackageName": "mine"}},
            [],
            ["it has no image, but a model package"],
            False,
        ),
        ({"PrimaryContainer": {}}, [], ["it has no image"], False),
        # CloudFormation turns numbers and switches into text.
        (
            {
                "PrimaryContainer": {
                    "Image": LMI,
                    "Environment": {
                        **MODEL,
                        "OPTION_MAX_MODEL_LEN": 4096,
                        "OPTION_ENFORCE_EAGER": True,
                    },
                }
            },
            [],
            [],
            True,
        ),
        # What is chosen at deployment is not guessed.
        (
            {
                "PrimaryContainer": {
                    "Image": LMI,
                    "Environment": {"Fn::If": ["Condition", MODEL, BROKEN]},
                    "ModelDataUrl": "s3://bucket/model.tar.gz",
                }
            },
            [],
            [
                "what is at s3://bucket/model.tar.gz: it is not in the assembly",
                "its environment: it is known at deployment only",
            ],
            False,
        ),
        (
            {
                "PrimaryContainer": {
                    "Image": LMI,
                    "Environment": {"Fn::If": ["Condition", MODEL, BROKEN]},
                }
            },
            [],
            ["its environment: it is known at deployment only"],
            False,
        ),
        # A secret by reference is no gap; another reference is.
        (
            {
                "PrimaryContainer": {
                    "Image": LMI,
                    "Environment": {
                        **MODEL,
                        "HF_TOKEN": {"Fn::Sub": "{{resolve:secretsmanager:${A}}}"},
                        "OPTION_DTYPE": {"Ref": "Type"},
                    },
                }
            },
            [],
            ["OPTION_DTYPE: known at deployment only"],
            True,
        ),
        # An engine's own server, with a network or without.
        (
            {
                "PrimaryContainer": {
                    "Image": SERVER,
                    "Environment": {**MODEL, "SM_VLLM_DTYPE": "fp4"},
                }
            },
            ["LLM504"],
            [],
            True,
        ),
        (
            {
                "PrimaryContainer": {
                    "Image": SERVER,
                    "Environment": {**MODEL, "HF_HUB_OFFLINE": 1},
                },
                "EnableNetworkIsolation": True,
            },
            ["LLM514"],
            [],
            True,
        ),
        # A token is told of whatever its form, and its name alone would be none.
        (
            {
                "PrimaryContainer": {
                    "Image": SERVER,
                    "Environment": {**MODEL, "HF_TOKEN": "anything"},
                }
            },
            ["LLM107"],
            [],
            True,
        ),
        (
            {
                "PrimaryContainer": {
                    "Image": LMI,
                    "Environment": {**MODEL, "NAME": "hf" + "_" + "a" * 34},
                }
            },
            ["LLM107"],
            [],
            True,
        ),
        (
            {
                "PrimaryContainer": {
                    "Image": SERVER,
                    "Environment": {**MODEL, "HF_TOKEN": ""},
                }
            },
            [],
            [],
            True,
        ),
        (
            {"PrimaryContainer": {"Image": ROLLING, "Environment": MODEL}},
            ["LLM627"],
            [],
            True,
        ),
        # Weights under a prefix may hold a serving.properties; variables are checked.
        (
            {
                "PrimaryContainer": {
                    "Image": LMI,
                    "Environment": {"OPTION_DTYPE": "fp4"},
                    "ModelDataSource": {"S3DataSource": {"S3Uri": "s3://bucket/it/"}},
                }
            },
            ["LLM136"],
            ["what is at s3://bucket/it/: it is not in the assembly"],
            True,
        ),
        # Nothing at all makes it load a model.
        ({"PrimaryContainer": {"Image": LMI}}, ["LLM179"], [], True),
    ],
)
def test_what_is_known_of_a_container_is_checked(
    tmp_path: Path,
    properties: dict[str, Any],
    codes: list[str],
    left_out: list[str],
    *,
    is_checked: bool,
) -> None:
    """
    And what is not is said.
    """
    path = assembly(tmp_path, {"It": template("Model", **properties)})
    (report,) = hosted_reports(path)

    assert [finding.code for finding in report.findings] == codes
    assert list(report.left_out) == left_out
    assert report.is_checked is is_checked
    assert report.fault == ""


SERVED = {**MODEL, "SM_VLLM_MODEL": "a/b"}
GPU_4 = "al2023-ami-sagemaker-inference-gpu-4-1"


@pytest.mark.parametrize(
    ("image", "variant", "codes"),
    [
        (SERVER, {"InstanceType": "ml.g5.xlarge", "InferenceAmiVersion": GPU_4}, []),
        # Its default driver is too old for CUDA 13.
        (SERVER, {"InstanceType": "ml.g5.xlarge"}, ["LLM198"]),
        (SERVER, {"InstanceType": "ml.c7i.xlarge"}, ["LLM521"]),
        (SERVER, {"InstanceType": "ml.inf2.xlarge"}, ["LLM127"]),
        (GRAVITON, {"InstanceType": "ml.c7i.xlarge"}, ["LLM523"]),
        (GRAVITON, {"InstanceType": "ml.c7g.xlarge"}, []),
        # What nothing is known of is not guessed.
        (SERVER, {"InstanceType": "ml.z9.xlarge"}, []),
        (SERVER, {"InstanceType": {"Ref": "Type"}}, ["LLM806"]),
        (
            SERVER,
            {"InstanceType": "ml.g5.xlarge", "InferenceAmiVersion": {"Ref": "Ami"}},
            [],
        ),
        (
            SGLANG,
            {"InstanceType": "ml.g5.xlarge", "InferenceAmiVersion": GPU_4},
            ["LLM620"],
        ),
    ],
)
@pytest.mark.parametrize("kind", ["ProductionVariants", "ShadowProductionVariants"])
def test_what_it_runs_on_is_checked(
    tmp_path: Path, kind: str, image: str, variant: dict[str, object], codes: list[str]
) -> None:
    """
    As the constructs do: processors, devices and driver, of a shadow too.
    """
    variables = {
        SERVER: SERVED,
        SGLANG: {**MODEL, "SM_SGLANG_MODEL_PATH": "a/b"},
        GRAVITON: {"SM_LLAMA_CPP_HF_REPO": "a/b-GGUF"},
    }[image]
    container = {"Image": image, "Environment": variables}
    resources = {
        "It": template("Model", PrimaryContainer=container),
        "Config": template(
            "EndpointConfig",
            **{kind: [{"ModelName": {"Fn::GetAtt": "It.ModelName"}, **variant}]},
        ),
    }
    # Models come first; what the configuration lacks is another report.
    report, *_ = hosted_reports(assembly(tmp_path, resources))

    assert [finding.code for finding in report.findings] == codes


@pytest.mark.parametrize(
    ("value", "shown"), [(True, "'true'"), (False, "'false'"), (1.5, "'1.5'")]
)
def test_a_value_is_text_as_cloudformation_writes_it(
    tmp_path: Path, value: object, shown: str
) -> None:
    """
    Switches are in lower case.
    """
    environment = {**MODEL, "TENSOR_PARALLEL_DEGREE": value}
    container = {"Image": LMI, "Environment": environment}
    path = assembly(tmp_path, {"It": template("Model", PrimaryContainer=container)})
    (report,) = hosted_reports(path)
    (finding,) = report.findings

    assert finding.message.endswith(f"got {shown}")


@pytest.mark.parametrize(
    ("specification", "codes", "left_out"),
    [
        (
            {
                "Container": {
                    "Image": LMI,
                    "Environment": {**MODEL, "SM_NUM_GPUS": "4"},
                },
                "ComputeResourceRequirements": {
                    "NumberOfAcceleratorDevicesRequired": 2
                },
            },
            ["LLM154"],
            [],
        ),
        (
            {"Container": {"Image": LMI, "ArtifactUrl": "s3://bucket/model.tar.gz"}},
            [],
            ["what is at s3://bucket/model.tar.gz: it is not in the assembly"],
        ),
        ({"Container": CHOSEN}, [], ["its container is known at deployment only"]),
        (
            {"Container": {"Image": "mine:1"}},
            [],
            ["the catalogue does not have its image mine:1"],
        ),
    ],
)
def test_a_component_with_a_container_of_its_own_is_a_subject(
    tmp_path: Path,
    specification: dict[str, Any],
    codes: list[str],
    left_out: list[str],
) -> None:
    """
    One that names a model is not: the model is.
    """
    by_name = template("InferenceComponent", Specification={"ModelName": "mine"})
    own = template("InferenceComponent", Specification=specification)
    (report,) = hosted_reports(assembly(tmp_path, {"It": own, "Other": by_name}))

    assert report.subject == "Prod/It"
    assert [finding.code for finding in report.findings] == codes
    assert list(report.left_out) == left_out


def test_requirements_that_deployment_alone_knows_are_left_to_it(
    tmp_path: Path,
) -> None:
    """
    The model is checked all the same, without a number of accelerators.
    """
    model = template("Model", PrimaryContainer={"Image": LMI, "Environment": MODEL})
    component = template(
        "InferenceComponent",
        Specification={
            "ModelName": {"Fn::GetAtt": ["It", "ModelName"]},
            "ComputeResourceRequirements": {"Fn::GetAtt": ["X", "Y"]},
        },
    )
    (report,) = hosted_reports(assembly(tmp_path, {"It": model, "Other": component}))

    assert (report.subject, report.findings) == ("Prod/It", [])


@pytest.mark.parametrize(("number", "codes"), [(16, []), (17, ["LLM519"])])
def test_a_component_names_few_variables_itself(
    tmp_path: Path, number: int, codes: list[str]
) -> None:
    """
    Fewer than a model does.
    """
    variables = {f"A{each}": "1" for each in range(number - 1)}
    container = {"Image": LMI, "Environment": {**MODEL, **variables}}
    own = template("InferenceComponent", Specification={"Container": container})
    (report,) = hosted_reports(assembly(tmp_path, {"It": own}))

    assert [finding.code for finding in report.findings] == codes


def test_variants_that_deployment_chooses_are_none() -> None:
    """
    As of a configuration that has none.
    """
    one = {"VariantName": "All"}

    def variants(**properties: object) -> list[Variant]:
        stack = Stack("S", Path(), {})
        return EndpointConfig(Resource(stack, "Config", properties)).variants

    assert variants(ProductionVariants=[one]) == [Variant(one)]
    assert variants(ProductionVariants="${Fn::If A}") == []
    assert variants() == []


BASE = {"BaseInferenceComponentName": {"Ref": "Base"}}


def adapter_of(url: object, **more: object) -> dict[str, object]:
    """
    Write the specification of an adapter.
    """
    return {**BASE, "Container": {"ArtifactUrl": url}, **more}


@pytest.mark.parametrize(
    ("specification", "codes"),
    [
        (adapter_of("s3://bucket/a/"), []),
        (adapter_of("s3://bucket/a.tar.gz"), []),
        (adapter_of("s3://bucket/a"), ["LLM325"]),
        (adapter_of("https://bucket.s3.amazonaws.com/a.tar.gz"), []),
        (adapter_of({"Fn::Sub": "s3://${Bucket}/a/"}), []),
        (adapter_of({"Fn::Sub": "s3://${Bucket}/a"}), ["LLM325"]),
        (
            adapter_of({"Fn::Join": ["", ["s3://", {"Ref": "B"}, "/", {"Ref": "K"}]]}),
            [],
        ),
        (adapter_of({"Ref": "Url"}), []),
        (adapter_of("s3://bucket/a/", ComputeResourceRequirements={}), ["LLM330"]),
        ({**BASE, "Container": {}}, ["LLM325"]),
        (BASE, ["LLM325"]),
    ],
)
def test_an_adapter_is_a_subject(
    tmp_path: Path, specification: dict[str, object], codes: list[str]
) -> None:
    """
    Its files, and that it asks for nothing else.
    """
    component = template("InferenceComponent", Specification=specification)
    (report,) = hosted_reports(assembly(tmp_path, {"It": component}))

    assert [finding.code for finding in report.findings] == codes
    assert (report.is_checked, report.left_out) == (True, ())
