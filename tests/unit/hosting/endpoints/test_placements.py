"""
What runs on an endpoint's hosts, and whether they can roll.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from aws_cdk import CfnParameter, Stack

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponent,
    InferenceComponentEndpoint,
    LlmEndpoint,
    LmiVllm,
    Model,
    NeuronX,
    ProductionVariant,
    ResourceRequirements,
    Tgi,
)
from cdk_sagemaker_llm.hosting.endpoints.endpoint_definition import (
    EndpointConfigDefinition,
    define_endpoint_config,
)
from cdk_sagemaker_llm.hosting.endpoints.placements import Placements
from cdk_sagemaker_llm.hosting.variants.variant_definition import define_variant
from tests.unit.hosting.written import warnings_of

TGI = Tgi("1.4.5")
GPT2 = HuggingFaceModel("gpt2")
P4D = "ml.p4d.24xlarge"


def host(
    stack: Stack, *, most: int | None = None, instance_type: str = P4D
) -> InferenceComponentEndpoint:
    """
    Define hosts for TGI.
    """
    return InferenceComponentEndpoint(
        stack,
        "Host",
        instance_type=instance_type,
        max_instance_count=most,
        engine=TGI,
    )


def rolling(stack: Stack) -> list[tuple[str, str]]:
    """
    Return who is warned of having no room to roll, and the first of the text.
    """
    return [
        (path, text) for path, text in warnings_of(stack) if text.endswith("LLM245]")
    ]


@pytest.mark.parametrize(
    ("copies", "most", "warned"), [(7, None, 0), (8, None, 1), (8, 2, 0), (16, 2, 1)]
)
def test_full_hosts_cannot_roll(
    stack: Stack, copies: int, most: int | None, warned: int
) -> None:
    """
    One free place is enough for a batch.
    """
    one = ResourceRequirements(copies=copies, accelerators=1)
    host(stack, most=most).add_model("It", model=GPT2, serving=TGI, resources=one)

    assert len(rolling(stack)) == warned


def test_each_model_is_warned_of_once(stack: Stack) -> None:
    """
    By the component that took the last place.
    """
    hosts = host(stack)
    for name, devices in (("Large", 4), ("Small", 1), ("Last", 1), ("Full", 2)):
        needs = ResourceRequirements(accelerators=devices)
        hosts.add_model(name, model=GPT2, serving=TGI, resources=needs)

    assert rolling(stack) == [
        (
            "/Test/Host/Full/Component",
            (
                "an update starts new copies beside the old ones, and 1 x "
                "ml.p4d.24xlarge has no room for one of Small, Last, Full; "
                "set max_instance_count above what the copies need, at least while "
                "updating [ack: cdk-sagemaker-llm:LLM245]"
            ),
        ),
        (
            "/Test/Host/Small/Component",
            (
                "an update starts new copies beside the old ones, and 1 x "
                "ml.p4d.24xlarge has no room for one of Large; set "
                "max_instance_count above what the copies need, at least while "
                "updating [ack: cdk-sagemaker-llm:LLM245]"
            ),
        ),
    ]


def test_many_models_are_counted(stack: Stack) -> None:
    """
    Not listed.
    """
    hosts = host(stack, most=2)
    for index in range(16):
        needs = ResourceRequirements(accelerators=1)
        hosts.add_model(f"M{index}", model=GPT2, serving=TGI, resources=needs)

    ((_, text),) = rolling(stack)
    assert "2 x ml.p4d.24xlarge have no room for one of M0, M1, M2 and 13 more;" in text


def test_another_packing_may_leave_the_room(stack: Stack) -> None:
    """
    Of the newest model every packing is tried.
    """
    hosts = host(stack, most=2)
    # Eight and eight are free of sixteen, in whatever halves the first packing leaves.
    for name, devices, copies in (("A", 3, 2), ("B", 1, 2), ("C", 4, 1)):
        needs = ResourceRequirements(copies=copies, accelerators=devices)
        hosts.add_model(name, model=GPT2, serving=TGI, resources=needs)

    assert rolling(stack) == []


def test_the_newest_is_given_the_room_that_another_packing_leaves(
    stack: Stack,
) -> None:
    """
    One and three are free at first; A, A and B beside C and C leave none idle.
    """
    hosts = host(stack, most=2)
    for name, devices, copies in (("A", 3, 2), ("B", 2, 1), ("C", 4, 1)):
        needs = ResourceRequirements(copies=copies, accelerators=devices)
        hosts.add_model(name, model=GPT2, serving=TGI, resources=needs)

    assert rolling(stack) == []


def shared() -> Placements:
    """
    Return what runs on two variants of one endpoint: nothing yet.
    """
    variants = [
        define_variant(ProductionVariant(instance_type=P4D, variant_name=name))
        for name in ("Blue", "Green")
    ]
    return Placements(
        define_endpoint_config(
            EndpointConfigDefinition(variants=tuple(variants)), hosts_components=True
        )
    )


def test_each_variant_has_places_and_warnings_of_its_own() -> None:
    """
    A component of one name may run on each.
    """
    placements = shared()
    all_eight = ResourceRequirements(accelerators=8)
    said = []
    for variant in ("Blue", "Green"):
        place = placements.beside(variant, "It", all_eight)
        assert place is not None
        assert place.name == "It"
        assert place.findings() == []
        said += [each.code for each in placements.keep(variant, place)]
    again = placements.beside("Blue", "It", all_eight)

    assert said == ["LLM245", "LLM245"]
    assert again is not None
    assert again.name == "It (2)"
    assert [each.code for each in again.findings()] == ["LLM104"]
    assert placements.beside("Red", "It", all_eight) is None


def test_a_third_of_one_name_has_a_name_too() -> None:
    """
    By number.
    """
    placements = shared()
    names = []
    for _ in range(3):
        place = placements.beside("Blue", "It", ResourceRequirements(accelerators=1))
        assert place is not None
        assert placements.keep("Blue", place) == []
        names.append(place.name)

    assert names == ["It", "It (2)", "It (3)"]


def test_room_is_not_spoken_of_where_not_all_have_a_place() -> None:
    """
    Which copies are left over is said, or was not found out.
    """
    placements = shared()
    place = placements.beside("Blue", "It", ResourceRequirements(accelerators=8))
    assert place is not None
    undecided = replace(place.packing, left_over={"It": 1})

    assert placements.keep("Blue", replace(place, packing=undecided)) == []


def test_what_has_no_copies_needs_no_room(stack: Stack) -> None:
    """
    Nor is anything said of hosts or needs that are not known.
    """
    number = CfnParameter(stack, "Number", type="Number").value_as_number
    hosts = host(stack)
    none = ResourceRequirements(copies=0, accelerators=8)
    hosts.add_model("None", model=GPT2, serving=TGI, resources=none)
    unknown = ResourceRequirements(accelerators=1, cpus=number)
    hosts.add_model("Unknown", model=GPT2, serving=TGI, resources=unknown)
    half = ResourceRequirements(accelerators=4)
    hosts.add_model("Half", model=GPT2, serving=TGI, resources=half)

    assert rolling(stack) == []


def test_two_of_one_name_are_two(stack: Stack) -> None:
    """
    Components of different scopes may have the same id.
    """
    hosts = host(stack)
    five = ResourceRequirements(copies=5, accelerators=1)
    hosts.add_model("It", model=GPT2, serving=TGI, resources=five)
    model = Model(stack, "Model", model=GPT2, serving=TGI, role=hosts.role)

    with pytest.raises(
        ValueError, match=r"5 x It, 5 x It \(2\) need 10 accelerators, one instance"
    ):
        InferenceComponent(
            stack, "It", endpoint=hosts.endpoint, model=model, resources=five
        )


def test_fails_if_the_endpoint_hosts_no_components(stack: Stack) -> None:
    """
    Its one model fills it.
    """
    full = LlmEndpoint(stack, "Llm", model=GPT2, serving=TGI, instance_type=P4D)
    one = ResourceRequirements(accelerators=1)
    with pytest.raises(ValueError, match="LLM124 the endpoint's variant has a model"):
        InferenceComponent(
            stack, "It", endpoint=full.endpoint, model=full.model, resources=one
        )


@pytest.mark.parametrize("serving", [TGI, LmiVllm("0.28.0")], ids=["TGI", "LMI"])
def test_fails_if_a_gpu_image_reserves_no_accelerator(
    stack: Stack, serving: Tgi | LmiVllm
) -> None:
    """
    By the pattern and by itself.
    """
    hosts = host(stack)
    none = ResourceRequirements()
    message = "LLM197 image .* runs on accelerators, and resources reserve none"
    with pytest.raises(ValueError, match=message):
        hosts.add_model("It", model=GPT2, serving=serving, resources=none)
    model = Model(stack, "Model", model=GPT2, serving=serving, role=hosts.role)
    with pytest.raises(ValueError, match=message):
        InferenceComponent(
            stack, "Mine", endpoint=hosts.endpoint, model=model, resources=none
        )


@pytest.mark.parametrize(
    ("least", "most", "warned"),
    [(1, 4, False), (4, 4, False), (1, 3, True), (5, 6, True)],
)
def test_warns_if_the_copies_that_start_lie_outside_their_scaling(
    stack: Stack, least: int, most: int, *, warned: bool
) -> None:
    """
    They would be changed as soon as they run.
    """
    four = ResourceRequirements(copies=4, accelerators=1)
    component = host(stack).add_model("It", model=GPT2, serving=TGI, resources=four)
    component.auto_scale_copy_count(min_capacity=least, max_capacity=most)

    found = [text for _, text in warnings_of(stack) if text.endswith("LLM248]")]
    assert bool(found) is warned


@pytest.mark.parametrize(("devices", "refused"), [(4, False), (2, True)])
def test_fails_if_a_model_is_split_over_more_devices_than_its_copies_have(
    stack: Stack, devices: int, *, refused: bool
) -> None:
    """
    A model that was defined by itself knew of none.
    """
    hosts = InferenceComponentEndpoint(stack, "LmiVllm", instance_type="ml.g5.12xlarge")
    model = Model(
        stack,
        "Model",
        model=HuggingFaceModel("a/b"),
        serving=LmiVllm(tensor_parallel_degree=4),
        role=hosts.role,
    )

    def define() -> InferenceComponent:
        return InferenceComponent(
            stack,
            "It",
            endpoint=hosts.endpoint,
            model=model,
            resources=ResourceRequirements(accelerators=devices),
        )

    if refused:
        with pytest.raises(ValueError, match="LLM172 the model is split over 4"):
            define()
    else:
        assert define().resources.accelerators == devices


def test_fails_if_a_neuron_image_reserves_no_accelerator(stack: Stack) -> None:
    """
    Though it has no CUDA version.
    """
    neuron = NeuronX("0.29.0", n_positions=4096)
    hosts = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.inf2.48xlarge", engine=neuron
    )
    with pytest.raises(
        ValueError, match="LLM197 image djl-neuronx 0.29.0 runs on accelerators"
    ):
        hosts.add_model(
            "It",
            model=GPT2,
            serving=neuron,
            resources=ResourceRequirements(cpus=1, memory_mib=1024),
        )
