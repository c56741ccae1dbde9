"""
How resources and copies are decided, before anything is made.
"""

from __future__ import annotations

import pytest
from aws_cdk import CfnParameter, Stack

from cdk_sagemaker_llm import (
    Assumptions,
    HuggingFaceModel,
    LmiVllm,
    ResourceRequirements,
)
from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.demand import Demand
from cdk_sagemaker_llm.fit.packing import Fleet
from cdk_sagemaker_llm.hosting.components.sizing import Sizing, with_copies

P4D = find_instance_type("ml.p4d.24xlarge")
FLEET = Fleet(instance_type=P4D, instances=2)
THREE = ResourceRequirements(copies=2, accelerators=3, cpus=4, memory_mib=2048)


def demand_of(model_id: str) -> Demand:
    """
    Return what vLLM asks of the memory for a catalogued model.
    """
    demand = LmiVllm().prepare(HuggingFaceModel(model_id), None).demand
    assert demand is not None
    return demand


MISTRAL = demand_of("HuggingFaceH4/zephyr-7b-beta")
MIXTRAL = demand_of("mistralai/Mixtral-8x7B-v0.1")
UNKNOWN = demand_of("org/unknown")


def sizing(
    given: ResourceRequirements | None = None, assumptions: Assumptions | None = None
) -> Sizing:
    """
    Size a model on eight A100.
    """
    return Sizing(hardware=P4D, requested=given, assumptions=assumptions)


def test_what_is_given_stays() -> None:
    """
    Copies included, whatever the plan would say.
    """
    assert sizing(THREE).resources(MIXTRAL) is THREE
    assert sizing(THREE).resources(None) is THREE
    assert sizing(THREE).accelerators(MIXTRAL) == 3


def test_what_is_left_out_is_planned_for_one_copy() -> None:
    """
    As many devices as the model needs, their share of the cores, a little memory.
    """
    assert sizing().resources(MIXTRAL) == ResourceRequirements(
        copies=1, accelerators=4, cpus=38, memory_mib=1024
    )
    assert sizing().accelerators(MISTRAL) == 1
    assert sizing().findings(MIXTRAL, ()) == []


def test_without_a_plan_nothing_is_reserved() -> None:
    """
    The finding says why, and both ways out.
    """
    assert sizing().resources(UNKNOWN) == ResourceRequirements()
    assert [str(each) for each in sizing().findings(UNKNOWN, ())] == [
        (
            "LLM192 resources are left out, and the size of the model is not known; "
            "pass resources=ResourceRequirements(...), or give the model "
            "architecture=ModelArchitecture.from_config(...)"
        )
    ]
    assert [str(each) for each in sizing().findings(None, ())] == [
        (
            "LLM192 resources are left out, and how much memory the serving "
            "configuration takes is not modelled; pass "
            "resources=ResourceRequirements(...)"
        )
    ]
    unknown_type = Sizing(hardware=None, requested=None, assumptions=None)
    assert [str(each) for each in unknown_type.findings(MISTRAL, ())] == [
        (
            "LLM192 resources are left out, and the instance type is known only at "
            "deployment; pass resources=ResourceRequirements(...)"
        )
    ]


def test_given_devices_are_held_against_the_model() -> None:
    """
    One device is too few for 87 GiB, and nothing is said of what is not known.
    """
    one = ResourceRequirements(accelerators=1)

    assert [each.code for each in sizing(one).findings(MIXTRAL, ())] == ["LLM190"]
    assert sizing(one).findings(MISTRAL, ()) == []
    assert sizing(one).findings(UNKNOWN, ()) == []
    assert sizing(one).findings(None, ()) == []
    assert sizing(ResourceRequirements()).findings(MIXTRAL, ()) == []


def test_without_devices_nothing_is_held_against_the_model() -> None:
    """
    Who reserves no accelerator has not said what the model is to run on.
    """
    small = Sizing(
        hardware=find_instance_type("ml.g5.xlarge"),
        requested=ResourceRequirements(),
        assumptions=None,
    )

    assert small.findings(MIXTRAL, ()) == []


def test_devices_known_only_at_deployment_are_not_checked(stack: Stack) -> None:
    """
    Nothing is guessed.
    """
    number = CfnParameter(stack, "Number", type="Number").value_as_number
    given = ResourceRequirements(
        accelerators=number,  # type: ignore[arg-type] # a placeholder is a float
    )

    assert sizing(given).findings(MIXTRAL, ()) == []


def test_the_plan_is_made_with_what_is_assumed() -> None:
    """
    A larger overhead needs more devices.
    """
    heavy = Assumptions(runtime_gib=28.0)

    assert sizing(assumptions=heavy).accelerators(MISTRAL) == 4
    assert [
        each.code
        for each in sizing(ResourceRequirements(accelerators=1), heavy).findings(
            MISTRAL, ()
        )
    ] == ["LLM190"]


def test_copies_replace_what_resources_say() -> None:
    """
    All else of them stays.
    """
    five = ResourceRequirements(copies=5, accelerators=3, cpus=4, memory_mib=2048)

    assert with_copies(THREE, None, FLEET) == (THREE, [])
    assert with_copies(THREE, 5, FLEET) == (five, [])
    assert with_copies(THREE, 5, None) == (five, [])


def test_filling_leaves_no_place_for_one_more() -> None:
    """
    Two copies of three devices fit each of the two instances, beside nothing else.
    """
    filled, faults = with_copies(THREE, "fill", FLEET)
    beside, _ = with_copies(
        THREE, "fill", FLEET.with_model("Other", ResourceRequirements(accelerators=8))
    )

    assert (filled.copies, beside.copies, faults) == (4, 2, [])


def test_filling_asks_for_one_copy_at_least() -> None:
    """
    One that does not fit is refused where the others are named.
    """
    large = ResourceRequirements(accelerators=9)

    assert with_copies(large, "fill", FLEET) == (large, [])


@pytest.mark.parametrize("unknown", ["fleet", "own", "other"])
def test_filling_needs_every_number(stack: Stack, unknown: str) -> None:
    """
    The instances, one's own resources, and those of the other models.
    """
    number = CfnParameter(stack, "Number", type="Number").value_as_number
    vague = ResourceRequirements(cpus=number)
    fleet, needs = {
        "fleet": (None, THREE),
        "own": (FLEET, vague),
        "other": (FLEET.with_model("Other", vague), THREE),
    }[unknown]

    kept, faults = with_copies(needs, "fill", fleet)

    assert kept is needs
    assert [str(each) for each in faults] == [
        (
            "LLM193 copies='fill' needs an instance type, a number of instances and "
            "the resources of all models to be known at synth; pass a number"
        )
    ]
