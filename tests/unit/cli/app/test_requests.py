"""
What the service would refuse of endpoints, components and scaling, in any template.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.cli.app.findings import hosted_reports
from cdk_sagemaker_llm.findings import Finding
from tests.unit.cli.app.templates import (
    COPIES,
    INSTANCES,
    Resources,
    name_of,
    resource,
    template,
    variant,
)

ROLE = "arn:aws:iam::111111111111:role/it"
OPEN = {"Ref": "Parameter"}
# A condition that nothing is known of, by which there may be nothing.
IF = {"Fn::If": ["Is", OPEN, {"Ref": "AWS::NoValue"}]}
TARGET = "ApplicationAutoScaling::ScalableTarget"
VLLM = "763104351884.dkr.ecr.us-east-1.amazonaws.com/vllm:server-sagemaker-cuda-v2.6"
POOLS = [
    {"InstanceType": "ml.g6e.2xlarge", "Priority": 1},
    {"InstanceType": "ml.g5.2xlarge", "Priority": 2},
]


def base() -> Resources:
    """
    Write two endpoints that nothing is wrong with: a model on instances of its own that
    scale, and a component that scales.
    """
    production = {
        "VariantName": "Hosts",
        "InstanceType": "ml.g5.12xlarge",
        "InitialInstanceCount": 1,
        "ManagedInstanceScaling": {
            "Status": "ENABLED",
            "MinInstanceCount": 1,
            "MaxInstanceCount": 2,
        },
    }
    needs = {"MinMemoryRequiredInMb": 1024, "NumberOfAcceleratorDevicesRequired": 1}
    return copy.deepcopy(
        {
            **variant(),
            "Own": resource(
                TARGET,
                ServiceNamespace="sagemaker",
                ScalableDimension=INSTANCES,
                ResourceId={
                    "Fn::Sub": "endpoint/${Host.EndpointName}/variant/AllTraffic"
                },
                MinCapacity=1,
                MaxCapacity=3,
            ),
            "Shared": resource(
                "SageMaker::EndpointConfig",
                ExecutionRoleArn=ROLE,
                ProductionVariants=[production],
            ),
            "SharedHost": resource(
                "SageMaker::Endpoint",
                EndpointName="shared",
                EndpointConfigName=name_of("Shared", "EndpointConfigName"),
            ),
            "Component": resource(
                "SageMaker::InferenceComponent",
                InferenceComponentName="mine",
                EndpointName=name_of("SharedHost", "EndpointName"),
                VariantName="Hosts",
                Specification={
                    "ModelName": name_of("Model", "ModelName"),
                    "ComputeResourceRequirements": needs,
                },
                RuntimeConfig={"CopyCount": 4},
            ),
            "Copies": resource(
                TARGET,
                ServiceNamespace="sagemaker",
                ScalableDimension=COPIES,
                ResourceId="inference-component/mine",
                MinCapacity=1,
                MaxCapacity=8,
            ),
        }
    )


def found_in(
    folder: Path, resources: Resources, **sections: object
) -> dict[str, list[Finding]]:
    """
    Return what is found of each resource.
    """
    path = template(folder, resources, **sections)
    return {
        report.subject.removeprefix("Host/"): report.findings
        for report in hosted_reports(path)
        if report.findings
    }


def changed(path: str, value: object) -> Resources:
    """
    Return the base with another value at a path; ``None`` takes it out.
    """
    resources = base()
    name, *way, last = path.split(".")
    holder: Any = resources[name]["Properties"]
    for key in way:
        holder = holder[int(key) if key.isdecimal() else key]
    if value is None:
        del holder[last]
    else:
        holder[last] = value
    return resources


def test_nothing_is_found_of_what_is_right(tmp_path: Path) -> None:
    """
    Of both endpoints.
    """
    assert found_in(tmp_path, base()) == {}


ON_ITS_OWN = "Config.ProductionVariants.0."
SHARED = "Shared.ProductionVariants.0."
MANAGED = f"{SHARED}ManagedInstanceScaling."
NEEDS = "Component.Specification.ComputeResourceRequirements."
HEALTH = "ContainerStartupHealthCheckTimeoutInSeconds"


@pytest.mark.parametrize(
    ("path", "value", "code", "words"),
    [
        (f"{ON_ITS_OWN}InstanceType", "ml.g5.huge", "LLM101", "ml.g5.huge"),
        (f"{ON_ITS_OWN}InstanceType", "ml.g5", "LLM101", "use one such as ml.g5.12xl"),
        (f"{ON_ITS_OWN}InstanceType", "g5.xlarge", "LLM101", "g5.xlarge"),
        (f"{ON_ITS_OWN}InstanceType", "", "LLM101", "''"),
        (f"{ON_ITS_OWN}InitialInstanceCount", "NaN", "LLM182", "got 'NaN'"),
        (f"{ON_ITS_OWN}InitialVariantWeight", "much", "LLM182", "got 'much'"),
        (f"{ON_ITS_OWN}{HEALTH}", "", "LLM182", "must be a number, got ''"),
        (f"{ON_ITS_OWN}{HEALTH}", [60], "LLM182", "must be a number, got [60]"),
        (f"{ON_ITS_OWN}InitialInstanceCount", 0, "LLM105", "at least 1, got 0"),
        (f"{ON_ITS_OWN}InitialInstanceCount", "0", "LLM105", "at least 1, got 0"),
        (f"{ON_ITS_OWN}{HEALTH}", 59, "LLM111", "60 to 3600, got 59"),
        (f"{ON_ITS_OWN}{HEALTH}", 3601, "LLM111", "60 to 3600, got 3601"),
        (
            f"{ON_ITS_OWN}ModelDataDownloadTimeoutInSeconds",
            7200,
            "LLM111",
            "ModelDataDownloadTimeoutInSeconds must be 60 to 3600, got 7200",
        ),
        (
            f"{ON_ITS_OWN}VariantInstanceProvisionTimeoutInSeconds",
            60,
            "LLM111",
            "300 to 3600, got 60",
        ),
        (f"{ON_ITS_OWN}InitialVariantWeight", -1, "LLM111", "at least 0, got -1"),
        (f"{ON_ITS_OWN}VolumeSizeInGB", 100, "LLM121", "refuses VolumeSizeInGB"),
        ("Config.KmsKeyId", "alias/mine", "LLM121", "refuses KmsKeyId"),
        (
            f"{ON_ITS_OWN}ManagedInstanceScaling",
            {"Status": "ENABLED"},
            "LLM122",
            "goes with inference components only",
        ),
        ("Config.ProductionVariants", [], "LLM123", "1 to 10, got 0"),
        (f"{ON_ITS_OWN}ModelName", None, "LLM124", "neither a ModelName nor"),
        ("Config.ExecutionRoleArn", ROLE, "LLM124", "which exclude each other"),
        ("Shared.ExecutionRoleArn", None, "LLM124", "neither a ModelName nor"),
        (
            f"{ON_ITS_OWN}InferenceAmiVersion",
            "al2-ami-sagemaker-inference-gpu-9",
            "LLM184",
            "InferenceAmiVersion must be one that the API has",
        ),
        (f"{ON_ITS_OWN}InstanceType", None, "LLM311", "neither an InstanceType nor"),
        (f"{ON_ITS_OWN}InstancePools", POOLS, "LLM311", "exclude each other"),
        (f"{MANAGED}MinInstanceCount", 3, "LLM105", "MinInstanceCount=3"),
        (f"{MANAGED}MaxInstanceCount", 0, "LLM105", "at least 1, got 0"),
        ("SharedHost.EndpointName", "of mine", "LLM106", "got 'of mine'"),
        ("Component.InferenceComponentName", "-", "LLM106", "got '-'"),
        ("Component.RuntimeConfig.CopyCount", -1, "LLM105", "at least 0, got -1"),
        (f"{NEEDS}MinMemoryRequiredInMb", 127, "LLM111", "at least 128, got 127"),
        (f"{NEEDS}MaxMemoryRequiredInMb", 512, "LLM105", "MaxMemoryRequiredInMb=512"),
        (
            "Component.Specification.StartupParameters",
            {HEALTH: 10},
            "LLM111",
            "60 to 3600, got 10",
        ),
        ("Component.VariantName", "Host", "LLM123", "one of Hosts, got 'Host'"),
        ("Copies.MinCapacity", 9, "LLM105", "MinCapacity=9"),
        ("Copies.MaxCapacity", -1, "LLM105", "at least 0, got -1"),
        ("Own.MinCapacity", 0, "LLM105", "at least 1, got 0"),
        (
            "Model.VpcConfig",
            {"Subnets": []},
            "LLM199",
            "Subnets must be 1 to 16, got 0",
        ),
        (
            "Model.VpcConfig",
            {"Subnets": ["subnet-1"], "SecurityGroupIds": ["sg-1"] * 6},
            "LLM199",
            "SecurityGroupIds must be 1 to 5, got 6",
        ),
        ("Shared.VpcConfig", {"Subnets": ["s"] * 17}, "LLM199", "1 to 16, got 17"),
        (
            "Own.ResourceId",
            {"Fn::Sub": "endpoint/${Host.EndpointName}/variant/Al1Traffic"},
            "LLM123",
            "one of AllTraffic, got 'Al1Traffic'",
        ),
    ],
)
def test_what_the_service_refuses_is_an_error_of_its_resource(
    tmp_path: Path, path: str, value: object, code: str, words: str
) -> None:
    """
    In the API's words, and of nothing else.
    """
    found = found_in(tmp_path, changed(path, value))
    name = path.split(".", maxsplit=1)[0]

    assert set(found) == {name}
    assert {one.code for one in found[name]} == {code}
    assert words in str(found[name][0])


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (f"{ON_ITS_OWN}InstanceType", OPEN),
        (f"{ON_ITS_OWN}InitialInstanceCount", OPEN),
        (f"{ON_ITS_OWN}VariantName", {"Fn::Sub": "v-${Parameter}"}),
        (f"{ON_ITS_OWN}{HEALTH}", 60),
        (f"{ON_ITS_OWN}{HEALTH}", 3600),
        (f"{ON_ITS_OWN}{HEALTH}", OPEN),
        (f"{ON_ITS_OWN}InstanceType", "ml.p99.48xlarge"),
        (f"{ON_ITS_OWN}InstanceType", IF),
        (f"{ON_ITS_OWN}InstancePools", IF),
        (f"{ON_ITS_OWN}VolumeSizeInGB", IF),
        ("Config.ExecutionRoleArn", IF),
        ("Config.KmsKeyId", IF),
        ("Shared.ExecutionRoleArn", IF),
        (f"{SHARED}ModelName", IF),
        (f"{ON_ITS_OWN}VolumeSizeInGB", None),
        (f"{ON_ITS_OWN}InferenceAmiVersion", OPEN),
        (f"{ON_ITS_OWN}ModelName", {"Fn::If": ["Is", OPEN, OPEN]}),
        (f"{ON_ITS_OWN}ManagedInstanceScaling", {"Status": "DISABLED"}),
        (f"{ON_ITS_OWN}ManagedInstanceScaling", OPEN),
        ("Config.ProductionVariants", OPEN),
        ("Config.ProductionVariants", {"Fn::If": ["Is", [], OPEN]}),
        ("Shared.ExecutionRoleArn", OPEN),
        ("SharedHost.EndpointName", {"Fn::Join": ["-", ["of mine", OPEN]]}),
        ("SharedHost.EndpointName", "a" * 63),
        ("Component.VariantName", OPEN),
        ("Component.RuntimeConfig.CopyCount", 0),
        ("Component.RuntimeConfig.CopyCount", 8),
        (f"{NEEDS}MinMemoryRequiredInMb", 128),
        (f"{MANAGED}MinInstanceCount", 0),
        (f"{MANAGED}MinInstanceCount", 2),
        ("Copies.MinCapacity", 0),
        ("Copies.MaxCapacity", OPEN),
        ("Copies.ServiceNamespace", OPEN),
        ("Own.ResourceId", OPEN),
        ("Own.MinCapacity", OPEN),
        ("Model.VpcConfig", {"Subnets": ["s"] * 16, "SecurityGroupIds": ["g"] * 5}),
        ("Model.VpcConfig", {"Subnets": OPEN, "SecurityGroupIds": ["g"]}),
        ("Model.VpcConfig", OPEN),
    ],
)
def test_what_deployment_decides_and_what_is_at_the_bound_is_let_through(
    tmp_path: Path, path: str, value: object
) -> None:
    """
    A value that the template does not say may be the right one.
    """
    if path.endswith("VolumeSizeInGB") and value is None:
        # Without local storage a size is what instances have.
        resources = changed(f"{ON_ITS_OWN}InstanceType", "ml.c7i.large")
        resources["Config"]["Properties"]["ProductionVariants"][0]["VolumeSizeInGB"] = (
            512
        )
    else:
        resources = changed(path, value)

    assert found_in(tmp_path, resources, Parameters={"Parameter": {}}) == {}


def codes_of(found: dict[str, list[Finding]]) -> dict[str, list[str]]:
    """
    Return the codes of what is found of each resource.
    """
    return {name: [one.code for one in rows] for name, rows in found.items()}


@pytest.mark.parametrize(
    ("pools", "code", "words"),
    [
        (POOLS[:1], "LLM312", "2 to 5, got 1; give one type as InstanceType"),
        (POOLS * 3, "LLM312", "2 to 5, got 6"),
        ([POOLS[0], POOLS[0]], "LLM312", "name ml.g6e.2xlarge more than once"),
        ([{**POOLS[0], "Priority": 0}, POOLS[1]], "LLM111", "1 to 5, got 0"),
        ([{**POOLS[0], "InstanceType": "ml.none"}, POOLS[1]], "LLM101", "ml.none"),
        (POOLS, "", ""),
    ],
)
def test_pools_are_held_to_their_number_and_types(
    tmp_path: Path, pools: list[dict[str, object]], code: str, words: str
) -> None:
    """
    In place of one type.
    """
    resources = changed(f"{SHARED}InstanceType", None)
    resources["Shared"]["Properties"]["ProductionVariants"][0]["InstancePools"] = pools
    found = found_in(tmp_path, resources).get("Shared", [])

    assert [one.code for one in found][:1] == ([code] if code else [])
    assert not code or words in str(found[0])


@pytest.mark.parametrize("name", ["of_mine", "a" * 64, "-a", ""])
def test_a_variants_name_is_one(tmp_path: Path, name: str) -> None:
    """
    The target that named it otherwise is told as well.
    """
    found = found_in(tmp_path, changed(f"{ON_ITS_OWN}VariantName", name))

    assert codes_of(found)["Config"] == ["LLM106"]
    assert f"at most 63 letters, digits and inner hyphens, got {name!r}" in str(
        found["Config"][0]
    )


def test_variants_have_names_of_their_own(tmp_path: Path) -> None:
    """
    A shadow too, which is one beside one production variant, and has a model.
    """
    resources = base()
    shape = resources["Config"]["Properties"]
    shape["ProductionVariants"] *= 2
    twice = found_in(tmp_path, resources)
    first = shape["ProductionVariants"][0]
    shadow = {**first, "VariantName": "Shadow"}
    shape["ProductionVariants"] = [first]
    shape["ShadowProductionVariants"] = [shadow]
    right = found_in(tmp_path, resources)
    shape["ShadowProductionVariants"] = [shadow, {**shadow, "VariantName": "Second"}]
    two = found_in(tmp_path, resources)
    del shadow["ModelName"]
    shape["ShadowProductionVariants"] = [shadow]
    empty = found_in(tmp_path, resources)

    assert codes_of(twice) == {"Config": ["LLM123"]}
    assert right == {}
    assert codes_of(two) == {"Config": ["LLM345"]}
    assert codes_of(empty) == {"Config": ["LLM346"]}


def test_a_serverless_variant_has_no_instances(tmp_path: Path) -> None:
    """
    It says how much memory it has instead.
    """
    resources = changed(f"{ON_ITS_OWN}InstanceType", None)
    shape = resources["Config"]["Properties"]["ProductionVariants"][0]
    shape["ServerlessConfig"] = {"MemorySizeInMB": 2048, "MaxConcurrency": 5}
    del resources["Own"]

    assert found_in(tmp_path, resources) == {}


def test_an_endpoint_of_a_model_takes_no_components(tmp_path: Path) -> None:
    """
    It is told at the component, whose endpoint is otherwise right.
    """
    resources = changed("Component.EndpointName", name_of("Host", "EndpointName"))
    resources["Component"]["Properties"]["VariantName"] = "AllTraffic"
    found = found_in(tmp_path, resources)

    assert codes_of(found) == {"Component": ["LLM124"]}
    assert "leaves no room for inference components" in str(found["Component"][0])


def test_copies_have_to_have_a_place(tmp_path: Path) -> None:
    """
    On the most instances that the template allows; where it leaves them open, or takes
    pools of types, they may have one.
    """
    full = changed("Component.RuntimeConfig.CopyCount", 9)
    large = changed(f"{NEEDS}NumberOfAcceleratorDevicesRequired", 5)
    open_ = changed("Component.RuntimeConfig.CopyCount", 9)
    scaling = open_["Shared"]["Properties"]["ProductionVariants"][0]
    scaling["ManagedInstanceScaling"]["MaxInstanceCount"] = OPEN

    assert codes_of(found_in(tmp_path, full)) == {"SharedHost": ["LLM104"]}
    assert codes_of(found_in(tmp_path, large)) == {"SharedHost": ["LLM104"]}
    assert found_in(tmp_path, open_) == {}


def test_copies_of_what_runs_on_gpus_reserve_some(tmp_path: Path) -> None:
    """
    Of a model as of a container of the component's own.
    """
    container = {"Image": VLLM, "Environment": {"SM_VLLM_MODEL": "a/b"}}
    resources = base()
    resources["Model"]["Properties"]["PrimaryContainer"] = container
    right = found_in(tmp_path, resources)
    needs = resources["Component"]["Properties"]["Specification"][
        "ComputeResourceRequirements"
    ]
    del needs["NumberOfAcceleratorDevicesRequired"]
    none = found_in(tmp_path, resources)

    assert "Component" not in right
    assert codes_of(none)["Component"] == ["LLM197"]


def test_names_are_taken_once_in_a_stack(tmp_path: Path) -> None:
    """
    The service sees no case.
    """
    resources = base()
    second = copy.deepcopy(resources["SharedHost"])
    second["Properties"]["EndpointName"] = "SHARED"
    third = copy.deepcopy(resources["Component"])
    third["Properties"]["RuntimeConfig"]["CopyCount"] = 1
    resources |= {"Second": second, "Third": third}
    found = codes_of(found_in(tmp_path, resources))

    assert found == {"Second": ["LLM183"], "Third": ["LLM183"]}
