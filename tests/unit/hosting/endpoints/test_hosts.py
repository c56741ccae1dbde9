"""
What is known of an endpoint's hosts before they are made.
"""

from __future__ import annotations

import pytest
from aws_cdk import CfnParameter, Duration, Size, Stack
from aws_cdk import aws_kms as kms

from cdk_sagemaker_llm import (
    EndpointConfig,
    HuggingFaceModel,
    InstanceType,
    LmiVllm,
    ManagedInstanceScaling,
    Model,
    Network,
    Observability,
    ProductionVariant,
    TensorRtLlm,
    Tgi,
)
from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.hosting.endpoints.endpoint_definition import (
    EndpointConfigDefinition,
    define_endpoint_config,
)
from cdk_sagemaker_llm.hosting.models.definitions import (
    ModelDefinition,
    ModelRequest,
    define_model,
)
from cdk_sagemaker_llm.hosting.variants.instance_types import known_hardware
from cdk_sagemaker_llm.hosting.variants.variant_definition import (
    VariantDefinition,
    define_variant,
)
from cdk_sagemaker_llm.serving.base import ServingConfiguration

MISTRAL = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
NEWEST_HOST = "al2023-ami-sagemaker-inference-gpu-4-1"
G5 = "ml.g5.12xlarge"


def defined(serving: ServingConfiguration) -> ModelDefinition:
    """
    Define a model of a 7B's size.
    """
    request = ModelRequest(
        serving=serving,
        model=MISTRAL,
        environment=None,
        role=None,
        network=None,
        region="us-east-1",
    )
    return define_model(request, 4)


def host(name: str = "AllTraffic", **changes: object) -> VariantDefinition:
    """
    Define hosts without a model.
    """
    fields = {"instance_type": G5, "variant_name": name, **changes}
    return define_variant(ProductionVariant(**fields))  # type: ignore[arg-type] # any


def test_hardware_is_known_by_name_or_as_described(stack: Stack) -> None:
    """
    A placeholder and a type that there is not are not guessed.
    """
    new = InstanceType.of("ml.p9.4xlarge", accelerators=1, vcpus=16, memory_gib=256)

    assert known_hardware(G5) == find_instance_type(G5)
    assert known_hardware(new) is new
    assert known_hardware(CfnParameter(stack, "Type").value_as_string) is None
    assert known_hardware("ml.g5.13xlarge") is None
    assert host(instance_type=new).hardware is new
    assert host(instance_type=new).findings == ()


def test_a_fleet_counts_the_most_instances_there_may_be(stack: Stack) -> None:
    """
    Those that are added for components included, where the number is known.
    """
    number = CfnParameter(stack, "Number", type="Number").value_as_number
    scaled = ManagedInstanceScaling(min_instance_count=1, max_instance_count=5)
    unknown = ManagedInstanceScaling(
        min_instance_count=1,
        max_instance_count=number,  # type: ignore[arg-type] # a placeholder is a float
    )
    (fixed,) = host(initial_instance_count=3).fleets
    (growing,) = host(initial_instance_count=3, managed_instance_scaling=scaled).fleets

    assert (fixed.instance_type, fixed.instances) == (find_instance_type(G5), 3)
    assert dict(fixed.models) == {}
    assert growing.instances == 5
    assert host(managed_instance_scaling=unknown).fleets == ()
    assert host(instance_type="ml.g5.13xlarge").fleets == ()


@pytest.mark.parametrize(
    ("count", "least", "most", "messages"),
    [
        (1, 0, 1, []),
        (1, -1, 2, ["min_instance_count must be at least 0, got -1"]),
        (1, 0, 0, ["max_instance_count must be at least 1, got 0"]),
        # A bound that is none is not held against the other.
        (1, 3, 0, ["max_instance_count must be at least 1, got 0"]),
        (
            1,
            3,
            2,
            [
                (
                    "max_instance_count must be at least min_instance_count, got "
                    "max_instance_count=2 and min_instance_count=3"
                )
            ],
        ),
        # What a pattern has as one number is told of as one.
        (-1, -1, 2, ["initial_instance_count must be at least 1, got -1"]),
        (
            0,
            -1,
            2,
            [
                "initial_instance_count must be at least 1, got 0",
                "min_instance_count must be at least 0, got -1",
            ],
        ),
    ],
)
def test_each_number_of_instances_is_told_of_once(
    count: int, least: int, most: int, messages: list[str]
) -> None:
    """
    What they start with, the least and the most.
    """
    scaling = ManagedInstanceScaling(min_instance_count=least, max_instance_count=most)
    found = host(initial_instance_count=count, managed_instance_scaling=scaling)

    assert [each.message for each in found.findings] == messages


def test_the_host_image_is_the_models() -> None:
    """
    None where there is no hardware, or the default one will do.
    """
    new, old = defined(LmiVllm()), defined(Tgi("1.4.5"))
    variant = ProductionVariant(instance_type=G5)
    unknown = ProductionVariant(instance_type="ml.g5.13xlarge")

    assert define_variant(variant, model=new).host_image == NEWEST_HOST
    assert define_variant(variant, model=old).host_image is None
    assert define_variant(variant).host_image == NEWEST_HOST
    assert define_variant(unknown, model=new).host_image is None


def test_a_variants_own_model_is_taken_unless_another_is_named(stack: Stack) -> None:
    """
    Patterns name it before it is made.
    """
    model = Model(stack, "Model", model=MISTRAL, serving=Tgi("1.4.5"))
    other = defined(LmiVllm())
    filled = ProductionVariant(instance_type=G5, model=model)

    assert define_variant(filled).model is model.definition
    assert define_variant(filled, model=other).model is other
    assert define_variant(ProductionVariant(instance_type=G5)).model is None


def test_a_variant_is_found_by_its_name() -> None:
    """
    And none in place of one that there is not.
    """
    blue, green = host("Blue"), host("Green")
    config = define_endpoint_config(
        EndpointConfigDefinition(variants=(blue, green)), hosts_components=True
    )

    assert config.variant("Green") is green
    assert config.variant("Blue") is blue
    assert config.variant("Red") is None
    assert config.observability.detailed is False


def test_the_model_that_was_made_fills_each_variant(stack: Stack) -> None:
    """
    All else stays as it was defined.
    """
    model = Model(stack, "Model", model=MISTRAL, serving=Tgi("1.4.5"))
    config = define_endpoint_config(
        EndpointConfigDefinition(
            variants=(
                define_variant(
                    ProductionVariant(instance_type=G5), model=model.definition
                ),
            ),
            observability=Observability(detailed=True),
        ),
        hosts_components=False,
    )
    filled = config.filled_by(model)

    assert filled.variants[0].variant.model is model
    assert filled.variants[0].variant.instance_type == G5
    assert filled.observability.detailed is True
    assert config.variants[0].variant.model is None


def test_a_configuration_holds_what_it_was_made_of(key: kms.IKey) -> None:
    """
    Nothing of it is asked for again.
    """
    network = Network(isolated=True)
    hosts = host()
    config = define_endpoint_config(
        EndpointConfigDefinition(
            variants=(hosts,),
            network=network,
            kms_key=None,
            observability=Observability(detailed=True),
        ),
        hosts_components=True,
    )

    assert config.variants == (hosts,)
    assert config.network is network
    assert config.kms_key is None
    assert config.execution_role is None
    assert config.observability.detailed is True
    assert config.findings == ()
    keyed = define_endpoint_config(
        EndpointConfigDefinition(
            variants=(host(instance_type="ml.p3.16xlarge"),), kms_key=key
        ),
        hosts_components=True,
    )
    assert keyed.kms_key is key
    assert keyed.findings == ()


def test_a_key_is_refused_by_each_type_with_storage_of_its_own(key: kms.IKey) -> None:
    """
    And by no other: EBS volumes take it.
    """
    config = define_endpoint_config(
        EndpointConfigDefinition(
            variants=(host("A"), host("B", instance_type="ml.p3.16xlarge"), host("C")),
            kms_key=key,
        ),
        hosts_components=True,
    )

    assert [str(each) for each in config.findings] == [
        (
            "LLM121 ml.g5.12xlarge refuses kms_key: its NVMe storage is encrypted in "
            "hardware; leave it out"
        )
    ] * 2


def test_a_type_known_only_at_deployment_may_take_a_key_and_a_size(
    stack: Stack, key: kms.IKey
) -> None:
    """
    Whether it has storage of its own is not guessed.
    """
    name = CfnParameter(stack, "Type").value_as_string
    hosts = host(instance_type=name, volume_size=Size.gibibytes(600))
    config = define_endpoint_config(
        EndpointConfigDefinition(variants=(hosts,), kms_key=key), hosts_components=True
    )

    assert [one.code for one in config.findings] == ["LLM806"]


def test_models_are_checked_on_hosts_that_are_wrong_too() -> None:
    """
    All that can be said is said at once.
    """
    patient = defined(TensorRtLlm("0.26.0", model_loading_timeout=7200))
    good = ProductionVariant(instance_type=G5)
    wrong = ProductionVariant(instance_type=G5, initial_instance_count=0)

    def codes(variant: ProductionVariant) -> list[str]:
        config = define_endpoint_config(
            EndpointConfigDefinition(
                variants=(define_variant(variant, model=patient),)
            ),
            hosts_components=False,
        )
        return [each.code for each in config.findings]

    assert codes(good) == ["LLM213"]
    assert codes(wrong) == ["LLM105", "LLM213"]


def test_a_model_that_is_wrong_is_not_checked_on_its_hosts() -> None:
    """
    Its own faults are told with it.
    """
    broken = defined(TensorRtLlm("0.26.9", model_loading_timeout=7200))

    assert host().model_findings([broken], None) == []


@pytest.mark.parametrize(
    ("loading", "start_up", "expected"),
    [
        (1800, None, []),
        (1801, None, ["gives up after 1800 s"]),
        (1799, None, []),
        (1200, 1200, []),
        (1201, 1200, ["gives up after 1200 s"]),
        (1199, 1200, ["container gives up loading after 1199 s"]),
        (1800, 1800, []),
        (1799, 1800, ["container gives up loading after 1799 s"]),
    ],
)
def test_the_containers_patience_is_held_against_sagemakers(
    loading: int, start_up: int | None, expected: list[str]
) -> None:
    """
    The default is no promise, and a figure of one's own is.
    """
    model = defined(TensorRtLlm("0.26.0", model_loading_timeout=loading))
    chosen = None if start_up is None else Duration.seconds(start_up)
    old_host = host(cuda_version="12.2")
    found = [each.message for each in old_host.model_findings([model], chosen)]

    assert len(found) == len(expected)
    assert all(part in whole for part, whole in zip(expected, found, strict=True))


def test_each_variant_without_a_model_or_with_one_too_many_is_named(
    stack: Stack,
) -> None:
    """
    An endpoint is filled by models, or shared by components.
    """
    model = Model(stack, "Model", model=MISTRAL, serving=Tgi("1.4.5"))
    full = host("Full", model=model)
    empty = host("Empty")

    filled = define_endpoint_config(
        EndpointConfigDefinition(variants=(full, empty)), hosts_components=False
    )
    shared = define_endpoint_config(
        EndpointConfigDefinition(variants=(full, empty)), hosts_components=True
    )

    assert [str(each) for each in filled.findings] == [
        (
            "LLM124 variant 'Empty' has neither a model nor, for inference components, "
            "an execution_role"
        )
    ]
    assert [str(each) for each in shared.findings] == [
        (
            "LLM124 variant 'Full' has a model, and execution_role is for inference "
            "components, which exclude each other"
        )
    ]


def test_the_definition_of_a_configuration_is_at_hand(stack: Stack) -> None:
    """
    For what else is to be checked against it.
    """
    model = Model(stack, "Model", model=MISTRAL, serving=Tgi("1.4.5"))
    variant = ProductionVariant(instance_type=G5, model=model)
    config = EndpointConfig(stack, "Config", variants=[variant])

    assert config.variants == (variant,)
    assert config.definition.variants[0].hardware == find_instance_type(G5)
    assert config.execution_role is None
    assert not config.hosts_components
