"""
Reading what runs where out of a cloud assembly.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.cli.app.fleets import VariantPlan, quotas, variant_plans
from cdk_sagemaker_llm.cli.app.hosting import App
from cdk_sagemaker_llm.cli.app.template_shapes import AssemblyError
from cdk_sagemaker_llm.cli.output import plans
from cdk_sagemaker_llm.fit import ResourceRequirements, search
from tests.unit.cli.output.results import NO_PRICES

Resources = dict[str, dict[str, Any]]


def resource(kind: str, **properties: object) -> dict[str, Any]:
    """
    Write a resource of a template.
    """
    return {"Type": f"AWS::{kind}", "Properties": properties}


def host(**variant: object) -> Resources:
    """
    Write an endpoint with one variant, of ml.p4d.24xlarge unless told otherwise.
    """
    production = {
        "VariantName": "Blue",
        "InstanceType": "ml.p4d.24xlarge",
        "InitialInstanceCount": 1,
        **variant,
    }
    return {
        "Config": resource(
            "SageMaker::EndpointConfig", ProductionVariants=[production]
        ),
        "Chat": resource(
            "SageMaker::Endpoint",
            EndpointConfigName={"Fn::GetAtt": ["Config", "EndpointConfigName"]},
        ),
    }


def component(
    copies: object, /, variant: str = "Blue", **needs: object
) -> dict[str, Any]:
    """
    Write copies of a model on that variant.
    """
    return resource(
        "SageMaker::InferenceComponent",
        EndpointName={"Fn::GetAtt": "Chat.EndpointName"},
        VariantName=variant,
        RuntimeConfig={"CopyCount": copies},
        Specification={"ComputeResourceRequirements": needs},
    )


def read(folder: Path, resources: Resources) -> list[VariantPlan]:
    """
    Read the variants of an assembly of one stack.
    """
    stack = {
        "type": "aws:cloudformation:stack",
        "properties": {"templateFile": "Prod.template.json"},
    }
    (folder / "manifest.json").write_text(json.dumps({"artifacts": {"Prod": stack}}))
    template = json.dumps({"Resources": resources})
    (folder / "Prod.template.json").write_text(template)
    return variant_plans(App.read(folder))


def test_a_variant_is_read_with_its_components(tmp_path: Path) -> None:
    """
    Every number as the template has it; another variant's components are not its own.
    """
    resources = {
        **host(),
        "Llama": component(
            4,
            NumberOfAcceleratorDevicesRequired=2,
            NumberOfCpuCoresRequired=12.5,
            MinMemoryRequiredInMb=4096,
        ),
        "Reranker": component(2, MinMemoryRequiredInMb=2048),
        "Other": component(2, variant="Green", MinMemoryRequiredInMb=2048),
    }

    assert read(tmp_path, resources) == [
        VariantPlan(
            endpoint="Prod/Chat",
            variant="Blue",
            instance_type="ml.p4d.24xlarge",
            instances=1,
            most_instances=1,
            components={
                "Llama": ResourceRequirements(
                    copies=4, accelerators=2, cpus=12.5, memory_mib=4096
                ),
                "Reranker": ResourceRequirements(copies=2, memory_mib=2048),
            },
        )
    ]


def test_a_model_that_fills_its_instances_takes_all_of_each(tmp_path: Path) -> None:
    """
    One copy an instance; components cannot share it.
    """
    resources = {
        **host(ModelName={"Ref": "Model"}, InitialInstanceCount=3),
        "Model": resource("SageMaker::Model"),
    }
    (variant,) = read(tmp_path, resources)

    assert variant.copies == {"Model": 3}
    assert variant.accelerators_used == 24
    assert variant.fleet is not None
    assert variant.fleet.models == {
        "Model": ResourceRequirements(
            copies=3, accelerators=8, cpus=96, memory_mib=1179648
        )
    }
    assert variant.fleet.pack().instances == ({"Model": 1}, {"Model": 1}, {"Model": 1})


def test_a_shadow_runs_on_instances_of_its_own(tmp_path: Path) -> None:
    """
    Which the quota counts as well.
    """
    resources = {
        **host(ModelName={"Ref": "Model"}, InitialInstanceCount=3),
        "Model": resource("SageMaker::Model"),
        "Trial": resource("SageMaker::Model"),
    }
    resources["Config"]["Properties"]["ShadowProductionVariants"] = [
        {
            "VariantName": "Shadow",
            "InstanceType": "ml.p4d.24xlarge",
            "InitialInstanceCount": 2,
            "ModelName": {"Ref": "Trial"},
        }
    ]
    variants = read(tmp_path, resources)

    assert [(each.variant, each.copies) for each in variants] == [
        ("Blue", {"Model": 3}),
        ("Shadow", {"Trial": 2}),
    ]
    assert quotas(variants) == {"ml.p4d.24xlarge for endpoint usage": 5}


def test_nothing_is_said_of_an_instance_that_is_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    A model fills it, whatever it has.
    """
    resources = host(ModelName={"Ref": "Model"}, InstanceType={"Ref": "Type"})
    variants = read(tmp_path, resources)
    plans.show_app(variants, NO_PRICES)

    assert (variants[0].fleet, variants[0].accelerators_used) == (None, None)
    assert capsys.readouterr().out == (
        "Prod/Chat (Blue): 1 x ${Type}, at most 1\n"
        "  accelerators: unknown used, unknown free\n"
        "  1 x Model: a whole instance each\n"
        "  costs: no price known for ${Type}\n"
        "\n"
        "in all: no price known\n"
        "prices: us-east-1 (none); a list\n"
        "\n"
        "service quotas, for all instances that may run\n"
        "  ${Type} for endpoint usage: 1\n"
    )


@pytest.mark.parametrize(
    ("variant", "scaled", "most"),
    [
        ({}, None, 2),
        ({"ManagedInstanceScaling": {"MaxInstanceCount": 5}}, None, 5),
        ({"ManagedInstanceScaling": {"MaxInstanceCount": 1}}, None, 2),
        ({"ManagedInstanceScaling": {}}, None, 2),
        ({}, 4, 4),
        ({"ManagedInstanceScaling": {"MaxInstanceCount": 5}}, 4, 5),
        ({}, {"Ref": "Parameter"}, 2),
    ],
)
def test_the_most_instances_are_what_anything_scales_to(
    tmp_path: Path, variant: dict[str, object], scaled: object, most: int
) -> None:
    """
    SageMaker's own scaling, a target's, and never fewer than at the start.
    """
    resources = host(InitialInstanceCount=2, **variant)
    if scaled is not None:
        for name, endpoint, capacity in (
            ("Least", "Chat", 1),
            ("Most", "Chat", scaled),
            ("Elsewhere", "Other", 99),
        ):
            resources[name] = resource(
                "ApplicationAutoScaling::ScalableTarget",
                ResourceId={
                    "Fn::Join": [
                        "",
                        [
                            "endpoint/",
                            {"Fn::GetAtt": [endpoint, "EndpointName"]},
                            "/variant/Blue",
                        ],
                    ]
                },
                MaxCapacity=capacity,
            )
    (found,) = read(tmp_path, resources)

    assert (found.instances, found.most_instances) == (2, most)


def test_what_a_template_leaves_out_is_the_least(tmp_path: Path) -> None:
    """
    One instance, no copies, and of memory what the API takes at least.
    """
    resources = {**host(), "Small": component({"Ref": "Copies"})}
    del resources["Config"]["Properties"]["ProductionVariants"][0][
        "InitialInstanceCount"
    ]
    (found,) = read(tmp_path, resources)

    assert found.instances == 1
    assert found.components == {"Small": ResourceRequirements(copies=0, memory_mib=128)}


@pytest.mark.parametrize(
    ("written", "found"), [(0, 0), ("2", 2), ({"Ref": "Open"}, 1), (-1, 1)]
)
def test_instances_are_as_many_as_written(
    tmp_path: Path, written: object, found: int
) -> None:
    """
    One where nobody can tell.
    """
    (one,) = read(tmp_path, host(InitialInstanceCount=written))

    assert (one.instances, one.most_instances) == (found, found)


def test_an_adapter_reserves_nothing(tmp_path: Path) -> None:
    """
    It is loaded into the copies of its base.
    """
    adapter = component(0)
    adapter["Properties"]["Specification"] = {"BaseInferenceComponentName": "base"}

    (found,) = read(tmp_path, {**host(), "Adapter": adapter})

    assert found.components == {}


def test_an_endpoint_that_hosts_nothing_yet_has_empty_instances(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    All of it is free.
    """
    plans.show_app(read(tmp_path, host(InitialInstanceCount=2)), NO_PRICES)

    assert capsys.readouterr().out.splitlines()[1:4] == [
        "  accelerators: 0 used, 16 free",
        "  instance 1: empty; free 8 accelerators, 96 CPU cores, 1152 GiB",
        "  instance 2: empty; free 8 accelerators, 96 CPU cores, 1152 GiB",
    ]


def test_an_app_without_endpoints_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Not an empty table.
    """
    plans.show_app(read(tmp_path, {}), NO_PRICES)

    assert capsys.readouterr().out == "the app defines no endpoint\n"


def test_quotas_are_added_up_by_type() -> None:
    """
    The most instances of every variant.
    """
    two, five, other = (
        VariantPlan(
            endpoint="Prod/Chat",
            variant="Blue",
            instance_type=name,
            instances=1,
            most_instances=most,
        )
        for name, most in (
            ("ml.p5.48xlarge", 2),
            ("ml.p5.48xlarge", 5),
            ("ml.g5.xlarge", 1),
        )
    )

    assert list(quotas([two, five, other]).items()) == [
        ("ml.g5.xlarge for endpoint usage", 1),
        ("ml.p5.48xlarge for endpoint usage", 7),
    ]


@pytest.mark.parametrize(
    ("copies", "most", "lines"),
    [
        # One of five accelerators an instance, and more instances may come.
        (
            {"Large": (2, 5)},
            4,
            [
                "instance 1: 1 x Large; free 3 accelerators, 96 CPU cores, 1151.9 GiB",
                "instance 2: 1 x Large; free 3 accelerators, 96 CPU cores, 1151.9 GiB",
                "fewest instances for all copies: 2",
            ],
        ),
        # Not as many as they need.
        (
            {"Large": (3, 5)},
            2,
            [
                "instance 1: 1 x Large; free 3 accelerators, 96 CPU cores, 1151.9 GiB",
                "instance 2: 1 x Large; free 3 accelerators, 96 CPU cores, 1151.9 GiB",
                "no place: 1 x Large",
                "3 copies of Large do not fit, 2 instances hold 2",
                "fewest instances for all copies: 3",
            ],
        ),
        # No more instances may come: how many would do is nobody's question.
        (
            {"Large": (3, 5)},
            1,
            [
                "instance 1: 1 x Large; free 3 accelerators, 96 CPU cores, 1151.9 GiB",
                "no place: 2 x Large",
                "3 copies of Large do not fit, one instance holds 1",
            ],
        ),
        # All have a place.
        (
            {"L": (1, 5), "S": (3, 1)},
            2,
            [
                (
                    "instance 1: 1 x L, 3 x S; free 0 accelerators, 96 CPU cores, "
                    "1151.5 GiB"
                ),
                "fewest instances for all copies: 1",
            ],
        ),
        # No number of instances helps.
        (
            {"H": (1, 9)},
            4,
            [
                "instance 1: empty; free 8 accelerators, 96 CPU cores, 1152 GiB",
                "no place: 1 x H",
                (
                    "a copy of H is larger than an instance (accelerators: needs 9, "
                    "free 8)"
                ),
            ],
        ),
    ],
)
def test_places_are_shown_and_what_has_none(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    copies: dict[str, tuple[int, int]],
    most: int,
    lines: list[str],
) -> None:
    """
    One instance a line, then what is left over, why, and how many instances do.
    """
    resources = host(ManagedInstanceScaling={"MaxInstanceCount": most})
    for name, (count, accelerators) in copies.items():
        resources[name] = component(
            count,
            NumberOfAcceleratorDevicesRequired=accelerators,
            MinMemoryRequiredInMb=128,
        )
    plans.show_app(read(tmp_path, resources), NO_PRICES)
    shown = capsys.readouterr().out.splitlines()
    begin = 2 + len(copies)

    assert [line.strip() for line in shown[begin : shown.index("")]] == [
        *lines,
        "costs: no price known for ml.p4d.24xlarge",
    ]


@pytest.mark.parametrize(
    ("most", "lines"),
    [
        (
            3,
            [
                "no place: 1 x Four",
                (
                    "not decided: all copies may have a place in a packing that was "
                    "not found"
                ),
            ],
        ),
        (5, ["fewest instances for all copies: 3 to 4"]),
    ],
)
def test_what_is_open_is_said_to_be(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    most: int,
    lines: list[str],
) -> None:
    """
    Two of six accelerators take an instance each, and leave room for two of four.
    """
    monkeypatch.setattr(search, "MOST_KINDS", 0)
    resources = host(
        InitialInstanceCount=3, ManagedInstanceScaling={"MaxInstanceCount": most}
    )
    resources["Four"] = component(
        3,
        NumberOfAcceleratorDevicesRequired=4,
        NumberOfCpuCoresRequired=48,
        MinMemoryRequiredInMb=128,
    )
    resources["Six"] = component(
        2, NumberOfAcceleratorDevicesRequired=6, MinMemoryRequiredInMb=128
    )
    variants = read(tmp_path, resources)
    plans.show_app(variants, NO_PRICES)

    shown = [line.strip() for line in capsys.readouterr().out.splitlines()]
    end = shown.index("") - 1
    assert shown[end] == "costs: no price known for ml.p4d.24xlarge"
    assert shown[end - len(lines) : end] == lines
    assert plans.app_facts(variants, NO_PRICES)["endpoints"][0]["reasons"] == ()


@pytest.mark.parametrize(
    ("needs", "message"),
    [
        (
            {"MinMemoryRequiredInMb": 64},
            "Prod/Small: memory_mib must be at least 128, got 64",
        ),
        (
            {"NumberOfCpuCoresRequired": 0.1},
            "Prod/Small: cpus must be at least 0.25, got 0.1",
        ),
    ],
)
def test_fails_if_the_api_would_refuse_a_requirement(
    tmp_path: Path, needs: dict[str, Any], message: str
) -> None:
    """
    With the component's name.
    """
    with pytest.raises(AssemblyError) as raised:
        read(tmp_path, {**host(), "Small": component(1, **needs)})

    assert str(raised.value) == message
