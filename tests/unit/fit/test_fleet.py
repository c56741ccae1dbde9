"""
Models on the equal instances of a fleet.
"""

from __future__ import annotations

from aws_cdk import Fn, Token

from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.fit import Capacity, Fleet, ResourceRequirements

P4D = find_instance_type("ml.p4d.24xlarge")
FIVE = ResourceRequirements(copies=2, accelerators=5, cpus=40, memory_mib=400 * 1024)
ONE = ResourceRequirements(accelerators=1)


def test_instances_have_what_the_nameplate_says() -> None:
    """
    Each of them alike, and all accelerators together.
    """
    fleet = Fleet(instance_type=P4D, instances=3)

    assert fleet.models == {}
    assert fleet.capacity == Capacity(accelerators=8, cpus=96, memory_mib=1152 * 1024)
    assert fleet.accelerators == 24
    assert fleet.accelerators_used == 0


def test_a_model_comes_beside_the_others() -> None:
    """
    In a new fleet: the old one is as it was.
    """
    before = Fleet(instance_type=P4D, instances=2, models={"Large": FIVE})
    after = before.with_model("Small", ResourceRequirements(copies=4, accelerators=1))

    assert before.models == {"Large": FIVE}
    assert list(after.models) == ["Large", "Small"]
    assert (after.instance_type, after.instances) == (P4D, 2)
    assert after.accelerators_used == 14


def test_a_model_of_the_same_name_takes_the_place_of_the_other() -> None:
    """
    A name is one model's.
    """
    fleet = Fleet(instance_type=P4D, instances=2, models={"Large": FIVE})

    assert fleet.with_model("Large", ONE).models == {"Large": ONE}


def test_copies_have_their_places() -> None:
    """
    One of five accelerators an instance, and what is small where there is room.
    """
    fleet = Fleet(
        instance_type=P4D,
        instances=2,
        models={
            "Large": FIVE,
            "Small": ResourceRequirements(copies=4, accelerators=1),
        },
    )

    assert fleet.pack().instances == (
        {"Large": 1, "Small": 3},
        {"Large": 1, "Small": 1},
    )


def test_a_refusal_has_its_reasons() -> None:
    """
    As those of the packing.
    """
    fleet = Fleet(instance_type=P4D, instances=1, models={"Large": FIVE})

    assert fleet.pack().reasons == (
        "2 copies of Large do not fit, one instance holds 1",
    )


def test_the_most_copies_are_those_beside_the_others() -> None:
    """
    Two of five leave three on each of two instances; alone there would be 16.
    """
    fleet = Fleet(instance_type=P4D, instances=2, models={"Large": FIVE})

    assert fleet.most_copies(ONE) == 6
    assert fleet.alone(ONE) == 16
    assert fleet.alone(FIVE) == 2
    assert fleet.alone(ResourceRequirements(accelerators=9)) == 0


def test_a_model_without_accelerators_uses_none() -> None:
    """
    It shares cores and memory with the others.
    """
    cpu_only = ResourceRequirements(copies=3, cpus=40)
    fleet = Fleet(instance_type=P4D, instances=2, models={"Reranker": cpu_only})

    assert fleet.accelerators_used == 0
    assert fleet.pack().is_complete
    assert fleet.most_copies(cpu_only) == 1


def test_a_model_that_is_not_known_at_synth_takes_no_place() -> None:
    """
    A parameter's value is nobody's to guess.
    """
    later = ResourceRequirements(
        copies=int(Token.as_number(Fn.ref("Copies"))), accelerators=8
    )
    fleet = Fleet(instance_type=P4D, instances=1, models={"Small": ONE, "Later": later})

    assert fleet.accelerators_used == 1
    assert fleet.most_copies(ONE) == 7
    assert fleet.pack().instances == ({"Small": 1},)
