"""
Whether a model loads where an app runs it: told only where nothing makes it smaller.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.app.templates import Resources, name_of, resource
from tests.unit.cli.app.test_requests import codes_of, found_in
from tests.unit.foreign.cdk_apps import AMI_130, LMI_28, REGISTRY, ROLE

LLAMA = "meta-llama/Llama-3.1-70B-Instruct"
TOKEN = {"Ref": "Token"}
TGI = (
    f"{REGISTRY}/huggingface-pytorch-tgi-inference:"
    "2.7.0-tgi3.3.6-gpu-py311-cu124-ubuntu22.04"
)


def app(
    instance_type: object,
    image: str = LMI_28,
    data: str | None = None,
    **environment: object,
) -> Resources:
    """
    Write a model of 70 billion weights that fills its instances.
    """
    variables = {"HF_MODEL_ID": LLAMA, "HF_TOKEN": TOKEN, **environment}
    container: dict[str, Any] = {"Image": image, "Environment": variables}
    if data is not None:
        container["ModelDataUrl"] = data
    variant = {
        "VariantName": "AllTraffic",
        "ModelName": name_of("Model", "ModelName"),
        "InstanceType": instance_type,
        "InitialInstanceCount": 1,
        "InferenceAmiVersion": AMI_130,
    }
    return {
        "Model": resource("SageMaker::Model", PrimaryContainer=container),
        "Config": resource("SageMaker::EndpointConfig", ProductionVariants=[variant]),
    }


def found(folder: Path, resources: Resources) -> set[str]:
    """
    Return the errors of memory, or that there are none.
    """
    rows = codes_of(found_in(folder, resources)).values()
    return {code for codes in rows for code in codes if code in {"LLM190", "LLM154"}}


def test_what_does_not_load_is_an_error(tmp_path: Path) -> None:
    """
    With the arithmetic, and a way out that any app has.
    """
    (finding,) = [
        one
        for one in found_in(tmp_path, app("ml.g5.12xlarge"))["Model"]
        if one.code == "LLM190"
    ]

    assert "does not load on ml.g5.12xlarge with tensor_parallel_degree 4" in (
        finding.message
    )
    assert "(weights 32.85 GiB)" in finding.message
    assert finding.remedy == (
        "use a larger instance type or a quantized model; `sagemaker-llm plan` shows "
        "the arithmetic"
    )


@pytest.mark.parametrize(
    ("resources", "codes"),
    [
        (app("ml.g5.12xlarge"), {"LLM190"}),
        (app("ml.g5.12xlarge", TGI, SM_NUM_GPUS="4"), {"LLM190"}),
        (app("ml.g5.12xlarge", OPTION_TENSOR_PARALLEL_DEGREE="4"), {"LLM190"}),
        (app("ml.p4d.24xlarge"), set()),
        (app("ml.g6e.12xlarge"), set()),
        (app({"Ref": "Type"}), set()),
        (app("ml.p99.xlarge"), set()),
        (app("ml.g5.12xlarge", OPTION_QUANTIZE="awq"), set()),
        (app("ml.g5.12xlarge", OPTION_CPU_OFFLOAD_GB="64"), set()),
        (app("ml.g5.12xlarge", OPTION_PIPELINE_PARALLEL_DEGREE="2"), set()),
        (app("ml.g5.12xlarge", OPTION_GPU_MEMORY_UTILIZATION="0.99"), set()),
        (app("ml.g5.12xlarge", OPTION_DTYPE={"Ref": "Type"}), set()),
        (app("ml.g5.12xlarge", HF_MODEL_ID="mine/of-70b"), set()),
        (app("ml.g5.12xlarge", HF_MODEL_ID={"Ref": "Id"}), set()),
        (app("ml.g5.12xlarge", data="s3://weights/model.tar.gz"), set()),
        # What is wrong with the split is told instead.
        (app("ml.g5.12xlarge", OPTION_TENSOR_PARALLEL_DEGREE="8"), {"LLM154"}),
    ],
)
def test_what_may_load_is_let_through(
    tmp_path: Path, resources: Resources, codes: set[str]
) -> None:
    """
    As anything may that has a copy take less.
    """
    assert found(tmp_path, resources) == codes


@pytest.mark.parametrize(
    ("accelerators", "codes"), [(2, {"LLM190"}), (8, set()), ({"Ref": "Count"}, set())]
)
@pytest.mark.parametrize("is_own", [True, False])
def test_a_component_has_what_it_reserves(
    tmp_path: Path,
    accelerators: object,
    codes: set[str],
    is_own: bool,  # noqa: FBT001 - a table
) -> None:
    """
    With a model, or with a container of its own.
    """
    resources = app("ml.p4d.24xlarge")
    container = resources["Model"]["Properties"]["PrimaryContainer"]
    config = resources["Config"]["Properties"]
    config["ExecutionRoleArn"] = ROLE
    del config["ProductionVariants"][0]["ModelName"]
    served = (
        {"Container": container}
        if is_own
        else {"ModelName": name_of("Model", "ModelName")}
    )
    if is_own:
        del resources["Model"]
    needs = {
        "MinMemoryRequiredInMb": 1024,
        "NumberOfAcceleratorDevicesRequired": accelerators,
    }
    resources |= {
        "Host": resource(
            "SageMaker::Endpoint",
            EndpointConfigName=name_of("Config", "EndpointConfigName"),
        ),
        "Component": resource(
            "SageMaker::InferenceComponent",
            EndpointName=name_of("Host", "EndpointName"),
            Specification={**served, "ComputeResourceRequirements": needs},
            RuntimeConfig={"CopyCount": 1},
        ),
    }

    assert found(tmp_path, resources) == codes
