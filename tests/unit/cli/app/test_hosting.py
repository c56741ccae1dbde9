"""
Instances of several types, as the commands read them out of a cloud assembly.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.cli.app.containers import ServedModel
from cdk_sagemaker_llm.cli.app.findings import hosted_reports
from cdk_sagemaker_llm.cli.app.fleets import VariantPlan, quotas
from cdk_sagemaker_llm.cli.app.playing import service_of
from cdk_sagemaker_llm.cli.app.simulated import HostedModel
from cdk_sagemaker_llm.cli.output import plans
from cdk_sagemaker_llm.fit import ResourceRequirements
from cdk_sagemaker_llm.models import HuggingFaceModel, architecture_of
from cdk_sagemaker_llm.simulation.traffic.lengths import Lengths
from tests.unit.cli.app.test_fleets import Resources, component, host, read, resource
from tests.unit.cli.app.test_foreign_apps import LMI, MODEL
from tests.unit.cli.commands.test_check_subjects import assembly, template
from tests.unit.cli.output.results import NO_PRICES

LARGE, SMALL = "ml.g6e.12xlarge", "ml.g5.2xlarge"
POOLS = [
    {"InstanceType": SMALL, "Priority": 2},
    {"InstanceType": LARGE, "Priority": 1},
]


def pooled(**variant: object) -> Resources:
    """
    Write an endpoint of two types, the first choice last.
    """
    hosts = host(InstancePools=POOLS, **variant)
    del hosts["Config"]["Properties"]["ProductionVariants"][0]["InstanceType"]
    return hosts


def by_type(copies: int, **accelerators: int) -> dict[str, Any]:
    """
    Write copies that reserve another number of accelerators on each type.
    """
    found = component(copies)
    del found["Properties"]["Specification"]
    found["Properties"]["Specifications"] = [
        {
            "InstanceType": kind,
            "ComputeResourceRequirements": {
                "NumberOfAcceleratorDevicesRequired": accelerators[size],
                "MinMemoryRequiredInMb": 1024,
            },
        }
        for kind, size in ((SMALL, "small"), (LARGE, "large"))
    ]
    return found


def test_a_variant_of_pools_is_read_once_for_each_type(tmp_path: Path) -> None:
    """
    The first choice is the variant, the others stand in for it.
    """
    scaling = {"MinInstanceCount": 1, "MaxInstanceCount": 3}
    resources = {
        **pooled(ManagedInstanceScaling=scaling),
        "Llama": by_type(2, large=2, small=1),
    }
    (found,) = read(tmp_path, resources)

    assert found == VariantPlan(
        endpoint="Prod/Chat",
        variant="Blue",
        instance_type=LARGE,
        instances=1,
        most_instances=3,
        components={"Llama": ResourceRequirements(copies=2, accelerators=2)},
        fallbacks=(
            VariantPlan(
                endpoint="Prod/Chat",
                variant="Blue",
                instance_type=SMALL,
                instances=1,
                most_instances=3,
                components={"Llama": ResourceRequirements(copies=2, accelerators=1)},
            ),
        ),
    )


def test_one_specification_is_for_all_types(tmp_path: Path) -> None:
    """
    What a copy reserves is the same then.
    """
    one = component(1, NumberOfAcceleratorDevicesRequired=1)
    (found,) = read(tmp_path, {**pooled(), "Llama": one})

    (other,) = found.fallbacks
    assert found.components == other.components
    assert found.accelerators_used == 1


def test_what_deployment_alone_knows_is_tried_last(tmp_path: Path) -> None:
    """
    A type that has no specification of its own gets the first one.
    """
    hosts = pooled()
    (variant,) = hosts["Config"]["Properties"]["ProductionVariants"]
    later = {"InstanceType": "ml.g5.4xlarge", "Priority": {"Ref": "Later"}}
    variant["InstancePools"] = [later, *POOLS]
    (found,) = read(tmp_path, {**hosts, "Llama": by_type(1, large=2, small=1)})

    assert [one.instance_type for one in (found, *found.fallbacks)] == [
        LARGE,
        SMALL,
        "ml.g5.4xlarge",
    ]
    assert found.fallbacks[1].components == {
        "Llama": ResourceRequirements(accelerators=1)
    }


def test_a_pools_own_model_fills_its_instances(tmp_path: Path) -> None:
    """
    The variant's fills those of the other type.
    """
    resources = {
        **pooled(ModelName={"Ref": "Model"}),
        "Model": resource("SageMaker::Model"),
        "Small": resource("SageMaker::Model"),
    }
    (variant,) = resources["Config"]["Properties"]["ProductionVariants"]
    variant["InstancePools"] = [
        {**POOLS[0], "ModelNameOverride": {"Ref": "Small"}},
        POOLS[1],
    ]
    (found,) = read(tmp_path, resources)

    assert found.copies == {"Model": 1}
    assert found.fallbacks[0].copies == {"Small": 1}


def test_quotas_are_needed_of_every_type(tmp_path: Path) -> None:
    """
    The service looks at all of them when the endpoint is created.
    """
    (found,) = read(tmp_path, pooled(InitialInstanceCount=2))

    assert quotas([found]) == {
        "ml.g5.2xlarge for endpoint usage": 2,
        "ml.g6e.12xlarge for endpoint usage": 2,
    }


def test_what_runs_without_capacity_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Below what is tried first.
    """
    found = read(tmp_path, {**pooled(), "Llama": by_type(2, large=2, small=1)})
    plans.show_app(found, NO_PRICES)

    assert capsys.readouterr().out.splitlines()[:10] == [
        "Prod/Chat (Blue): 1 x ml.g6e.12xlarge, at most 1",
        "  accelerators: 4 used, 0 free",
        "  2 x Llama: 2 accelerators, 0 CPU cores, 1,024 MiB each",
        "  instance 1: 2 x Llama; free 0 accelerators, 48 CPU cores, 382 GiB",
        "  costs: no price known for ml.g6e.12xlarge",
        "  without capacity: 1 x ml.g5.2xlarge",
        "    accelerators: 2 needed, 1 there",
        "    2 x Llama: 1 accelerator, 0 CPU cores, 1,024 MiB each",
        "    instance 1: 1 x Llama; free 0 accelerators, 8 CPU cores, 31 GiB",
        "    no place: 1 x Llama",
    ]
    (facts,) = plans.app_facts(found, NO_PRICES)["endpoints"]
    (other,) = facts["fallbacks"]
    assert (facts["instance_type"], other["instance_type"]) == (LARGE, SMALL)
    assert other["left_over"] == {"Llama": 1}


SPLIT = {**MODEL, "SM_NUM_GPUS": "4"}


def test_a_model_is_checked_for_the_fewest_accelerators_it_has(
    tmp_path: Path,
) -> None:
    """
    On whatever type; a model of the other type is not held against this one.
    """
    container = {"Image": LMI, "Environment": SPLIT}
    driver = {"InferenceAmiVersion": "al2023-ami-sagemaker-inference-gpu-4-1"}
    config = template(
        "EndpointConfig",
        ProductionVariants=[
            {
                **driver,
                "ModelName": {"Fn::GetAtt": ["Split", "ModelName"]},
                "InstancePools": [
                    {**POOLS[1]},
                    {**POOLS[0], "ModelNameOverride": {"Ref": "Whole"}},
                ],
            },
            {
                **driver,
                "ModelName": {"Fn::GetAtt": ["Both", "ModelName"]},
                "InstancePools": POOLS,
            },
        ],
    )
    path = assembly(
        tmp_path,
        {
            "Config": config,
            "Split": template("Model", PrimaryContainer=container),
            "Both": template("Model", PrimaryContainer=container),
        },
    )
    found = {
        report.subject: report.findings
        for report in hosted_reports(path)
        if report.subject != "Prod/Config"
    }

    assert {name: [one.code for one in told] for name, told in found.items()} == {
        "Prod/Split": [],
        "Prod/Both": ["LLM154"],
    }


def test_a_components_models_are_checked_for_what_they_reserve(
    tmp_path: Path,
) -> None:
    """
    Each specification names its own.
    """
    container = {"Image": LMI, "Environment": SPLIT}
    several = [
        {
            "InstanceType": kind,
            "ModelName": {"Fn::GetAtt": [name, "ModelName"]},
            "ComputeResourceRequirements": {
                "NumberOfAcceleratorDevicesRequired": number
            },
        }
        for kind, name, number in ((LARGE, "Four", 4), (SMALL, "One", 1))
    ]
    path = assembly(
        tmp_path,
        {
            "It": template("InferenceComponent", Specifications=several),
            "Four": template("Model", PrimaryContainer=container),
            "One": template("Model", PrimaryContainer=container),
        },
    )
    found = {report.subject: report.findings for report in hosted_reports(path)}

    assert {name: [one.code for one in told] for name, told in found.items()} == {
        "Prod/Four": [],
        "Prod/One": ["LLM154"],
    }


def test_a_container_of_each_specification_is_a_subject(tmp_path: Path) -> None:
    """
    As that of a single one.
    """
    container = {"Image": LMI, "Environment": SPLIT}
    needs = {"NumberOfAcceleratorDevicesRequired": 2}
    several = [
        {
            "InstanceType": kind,
            "Container": container,
            "ComputeResourceRequirements": needs,
        }
        for kind in (LARGE, SMALL)
    ]
    it = template("InferenceComponent", Specifications=several)
    found = hosted_reports(assembly(tmp_path, {"It": it}))

    assert [one.subject for one in found] == ["Prod/It", "Prod/It"]


def test_service_times_follow_what_is_reserved_on_a_type() -> None:
    """
    Two GPUs write faster than one.
    """
    zephyr = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
    model = HostedModel(
        name="Chat",
        needs={
            LARGE: ResourceRequirements(accelerators=1),
            "ml.g6e.24xlarge": ResourceRequirements(accelerators=2),
        },
        copies=1,
        served=ServedModel(model=zephyr.model_id, architecture=architecture_of(zephyr)),
    )

    one, two = (
        service_of(model, kind, Lengths(prompt=100, answer=100)).times.decode[0][1]
        for kind in (LARGE, "ml.g6e.24xlarge")
    )
    assert two < one
