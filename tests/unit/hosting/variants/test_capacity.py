"""
Where instances come from, how requests reach them, and how copies spread: every limit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from aws_cdk import CfnParameter, Duration, Stack

from cdk_sagemaker_llm import (
    AvailabilityZoneBalance,
    CapacityReservation,
    HuggingFaceModel,
    InferenceComponentEndpoint,
    InstanceCapacity,
    InstancePool,
    LlmEndpoint,
    ManagedInstanceScaling,
    PlacementStrategy,
    PrefixAwareRouting,
    ProductionVariant,
    ResourceRequirements,
    RoutingStrategy,
    ScaleInPolicy,
    ScaleInStrategy,
    find_instance_type,
    fit,
)
from cdk_sagemaker_llm.hosting.components.component_checks import (
    Scheduling,
    scheduling_findings,
)
from cdk_sagemaker_llm.hosting.variants.variant_definition import define_variant
from tests.unit.hosting.expected import RESERVATION_ARN
from tests.unit.hosting.written import codes_of, properties_of

CONFIG = "SageMaker::EndpointConfig"
COMPONENT = "SageMaker::InferenceComponent"
ZEPHYR = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
G5, G6, G6E = "ml.g5.12xlarge", "ml.g6.12xlarge", "ml.g6e.12xlarge"
NEWEST_HOST = "al2023-ami-sagemaker-inference-gpu-4-1"
LONGEST = f"{RESERVATION_ARN:m<258}"


def pools(*names: str) -> list[InstancePool]:
    """
    Make pools in the order of their priority.
    """
    return [InstancePool(name, priority=i) for i, name in enumerate(names, start=1)]


def messages_of(**given: Any) -> list[str]:  # noqa: ANN401 - any field
    """
    Return what is found of a variant that hosts components.
    """
    return [str(each) for each in define_variant(ProductionVariant(**given)).findings]


def policy(**given: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    """
    Return a variant's fields with a policy that consolidates.
    """
    strategy = given.pop("strategy", ScaleInStrategy.CONSOLIDATION)
    return {
        "instance_type": G5,
        "managed_instance_scaling": ManagedInstanceScaling(
            min_instance_count=1,
            max_instance_count=2,
            scale_in_policy=ScaleInPolicy(strategy=strategy, **given),
        ),
    }


def test_a_variant_has_a_type_or_pools() -> None:
    """
    One of the two, and the message says which is too much or missing.
    """
    assert messages_of(instance_type=G5) == []
    assert messages_of(capacity=InstanceCapacity(pools=pools(G5, G6E))) == []
    assert messages_of() == [
        ("LLM311 neither instance_type nor capacity.pools is given; give one of them")
    ]
    assert messages_of(
        instance_type=G5, capacity=InstanceCapacity(pools=pools(G5, G6E))
    ) == [
        ("LLM311 instance_type and capacity.pools exclude each other; give one of them")
    ]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "capacity.pools must be 2 to 5, got 0"),
        (
            [G5],
            "capacity.pools must be 2 to 5, got 1; give one type as instance_type",
        ),
        ([G5, G6E], None),
        ([f"ml.g5.{size}xlarge" for size in ("", 2, 4, 8, 12)], None),
        (
            [f"ml.g5.{size}xlarge" for size in ("", 2, 4, 8, 12, 16)],
            "capacity.pools must be 2 to 5, got 6",
        ),
        ([G5, G6E, G5], "capacity.pools name ml.g5.12xlarge more than once"),
    ],
    ids=["none", "one", "two", "five", "six", "the same"],
)
def test_there_are_two_to_five_pools_of_different_types(
    names: list[str], message: str | None
) -> None:
    """
    One type is a plain instance type.
    """
    of_types = [InstancePool(name, priority=1) for name in names]

    expected = [] if message is None else [f"LLM312 {message}"]
    assert messages_of(capacity=InstanceCapacity(pools=of_types)) == expected


@pytest.mark.parametrize(("priority", "is_right"), [(0, 0), (1, 1), (5, 1), (6, 0)])
def test_priorities_are_those_of_the_api(priority: int, is_right: int) -> None:
    """
    From 1 to 5.
    """
    message = f"LLM111 priority of {G5} must be 1 to 5, got {priority}"
    given = [InstancePool(G6E, priority=1), InstancePool(G5, priority=priority)]

    assert messages_of(capacity=InstanceCapacity(pools=given)) == (
        [] if is_right else [message]
    )


def test_an_impossible_type_of_a_pool_is_told() -> None:
    """
    As it is of a variant of one type.
    """
    (message,) = messages_of(
        capacity=InstanceCapacity(pools=pools(G5, "ml.g5.13xlarge"))
    )

    assert message.startswith("LLM101 ")


def test_a_pools_model_stands_in_place_of_a_variants(stack: Stack) -> None:
    """
    Without one there is nothing to take the place of.
    """
    own = LlmEndpoint(stack, "Llm", model=ZEPHYR, instance_type=G5).model
    given = [InstancePool(G6E, priority=1), InstancePool(G5, priority=2, model=own)]

    assert messages_of(capacity=InstanceCapacity(pools=given))[0].startswith(
        "LLM312 a pool's model stands in place of the variant's, which has none"
    )
    assert messages_of(capacity=InstanceCapacity(pools=given), model=own) == []


@pytest.mark.parametrize(
    ("names", "cuda", "host"),
    [
        # Their default drivers are 470 and 535.
        ([G6E, G5], "12.1", "al2-ami-sagemaker-inference-gpu-3-1"),
        ([G6E, G5], "12.8", "al2-ami-sagemaker-inference-gpu-3-1"),
        ([G6E, G5], "13.0", NEWEST_HOST),
        (["ml.g7e.2xlarge", "ml.g5.2xlarge"], "13.0", NEWEST_HOST),
        # Of one generation the default will do.
        ([G6E, G6], "12.4", None),
    ],
)
def test_all_types_get_one_host_image(
    names: list[str], cuda: str, host: str | None
) -> None:
    """
    With the newest driver of the container's CUDA that all of them take.
    """
    variant = ProductionVariant(
        capacity=InstanceCapacity(pools=pools(*names)), cuda_version=cuda
    )

    found = define_variant(variant)

    assert found.findings == ()
    assert found.host_image == host


def test_fails_where_types_take_no_one_host_image() -> None:
    """
    The newest types know no older driver.
    """
    assert messages_of(
        capacity=InstanceCapacity(pools=pools("ml.g5.2xlarge", "ml.g7e.2xlarge")),
        cuda_version="12.8",
    ) == [
        (
            "LLM313 capacity.pools: no host image with a driver for CUDA 12.8 is taken "
            "by all of ml.g5.2xlarge, ml.g7e.2xlarge; choose types of one driver "
            "generation, or inference_ami_version"
        )
    ]


def test_fails_where_pools_mix_gpus_and_neuron() -> None:
    """
    No host image has the drivers of both.
    """
    assert messages_of(capacity=InstanceCapacity(pools=pools(G5, "ml.inf2.48xlarge")))[
        -1
    ] == (
        "LLM313 capacity.pools mix GPUs with Inferentia or Trainium: ml.g5.12xlarge, "
        "ml.inf2.48xlarge; serve these from endpoints of their own"
    )
    assert (
        messages_of(
            capacity=InstanceCapacity(pools=pools("ml.inf2.xlarge", "ml.inf2.48xlarge"))
        )
        == []
    )


@pytest.mark.parametrize(
    ("name", "asked", "is_listed"),
    [
        ("ml.g5.xlarge", "al2-ami-sagemaker-inference-gpu-3-1", True),
        ("ml.g5.xlarge", "al2-ami-sagemaker-inference-neuron-2", False),
        # The default, and another one with its driver.
        ("ml.g6.xlarge", "al2-ami-sagemaker-inference-gpu-2", True),
        ("ml.g6.xlarge", "al2-ami-sagemaker-inference-gpu-2-1", True),
        ("ml.p5en.48xlarge", "al2-ami-sagemaker-inference-gpu-2", False),
        ("ml.inf2.xlarge", "al2-ami-sagemaker-inference-neuron-2", True),
        # Nothing is known of these.
        ("ml.p3.2xlarge", "al2-ami-sagemaker-inference-gpu-2", True),
        ("ml.inf1.xlarge", "al2-ami-sagemaker-inference-neuron-2", True),
    ],
)
def test_warns_of_a_host_image_that_is_not_for_the_type(
    name: str, asked: str, *, is_listed: bool
) -> None:
    """
    As AWS's page on drivers lists them.
    """
    found = messages_of(instance_type=name, inference_ami_version=asked)

    assert [each[:6] for each in found] == ([] if is_listed else ["LLM417"])


def test_a_host_image_must_be_for_every_type_of_pools() -> None:
    """
    The message names the type, and what it takes.
    """
    newest = pools("ml.g5.2xlarge", "ml.g7e.2xlarge", "ml.p5en.48xlarge")
    older = "al2-ami-sagemaker-inference-gpu-2"

    assert messages_of(
        capacity=InstanceCapacity(pools=newest), inference_ami_version=older
    ) == [
        (
            f"LLM417 {older} is not among the host images that AWS lists for "
            "ml.g7e.2xlarge; leave inference_ami_version out"
        ),
        (
            f"LLM417 {older} is not among the host images that AWS lists for "
            "ml.p5en.48xlarge; leave inference_ami_version out, or use "
            f"{NEWEST_HOST}"
        ),
    ]


def wrongly(definition: Callable[..., object], **given: object) -> Callable[[], object]:
    """
    Give arguments that no type checker would let pass.
    """
    return partial(definition, **given)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            wrongly(InstanceCapacity, pools=[G5, G6E]),
            (
                f"pools[0] must be an InstancePool, got {G5!r} (str); write "
                "InstancePool('ml.g5.2xlarge', priority=1)"
            ),
        ),
        (
            wrongly(InstancePool, instance_type=G5, priority="1"),
            "priority must be a whole number, got '1' (str); write 1",
        ),
        (
            wrongly(InstanceCapacity, reservation=RESERVATION_ARN),
            "reservation must be a CapacityReservation, got ",
        ),
        (
            wrongly(
                ProductionVariant, capacity=fit.Capacity.of(find_instance_type(G5))
            ),
            "capacity must be an InstanceCapacity, got ",
        ),
        (
            wrongly(ScaleInPolicy, strategy="consolidation"),
            (
                "strategy must be a ScaleInStrategy, got 'consolidation' (str); write "
                "ScaleInStrategy.CONSOLIDATION"
            ),
        ),
        (
            wrongly(ScaleInPolicy, strategy=ScaleInStrategy.CONSOLIDATION, cooldown=20),
            "cooldown must be a Duration, got 20 (int); write Duration.seconds(20)",
        ),
        (
            wrongly(PrefixAwareRouting, prefix_length=1024.5, concurrency_threshold=1),
            "prefix_length must be a whole number, got 1024.5 (float)",
        ),
        (
            wrongly(AvailabilityZoneBalance, max_imbalance=True),
            "max_imbalance must be a whole number, got True (bool)",
        ),
    ],
)
def test_fails_where_a_value_of_another_kind_is_written(
    build: Callable[[], object], message: str
) -> None:
    """
    With what to write.
    """
    with pytest.raises(ValueError, match="must be") as caught:
        build()

    assert message in str(caught.value)


def test_fails_if_a_component_is_told_in_text(stack: Stack) -> None:
    """
    Of every keyword, all together.
    """
    host = InferenceComponentEndpoint(stack, "Host", instance_type=G5)
    add: Callable[..., object] = host.add_model

    with pytest.raises(ValueError, match="3 errors") as caught:
        add(
            "It",
            model=ZEPHYR,
            resources={G5: 1},
            placement_strategy="spread",
            data_caching="yes",
        )

    assert [line.split(" must ")[0] for line in str(caught.value).splitlines()[1:]] == [
        f"  - LLM182 resources[{G5!r}]",
        "  - LLM182 placement_strategy",
        "  - LLM182 data_caching",
    ]


def test_a_type_that_deployment_alone_knows_is_not_guessed_at(stack: Stack) -> None:
    """
    Neither is its priority, nor a reservation; the other types' host image is for it.
    """
    name = CfnParameter(stack, "Type").value_as_string
    number: Any = CfnParameter(stack, "Number", type="Number").value_as_number
    given = [InstancePool(name, priority=number), InstancePool(G5, priority=2)]
    arn = CapacityReservation(CfnParameter(stack, "Arn").value_as_string)
    p5 = "ml.p5.48xlarge"

    found = define_variant(ProductionVariant(capacity=InstanceCapacity(pools=given)))

    assert found.findings == ()
    assert (found.hardware, found.fleets) == (None, ())
    assert found.host_image == NEWEST_HOST
    assert (
        messages_of(instance_type=p5, capacity=InstanceCapacity(reservation=arn)) == []
    )


@pytest.mark.parametrize("routing", ["RANDOM", "prefix"])
def test_warns_of_other_routing_among_pools(routing: str) -> None:
    """
    What AWS's samples ask for is no rule of the API's.
    """
    other: Any = RoutingStrategy.RANDOM
    if routing == "prefix":
        other = PrefixAwareRouting(prefix_length=1024, concurrency_threshold=1)
    found = messages_of(
        capacity=InstanceCapacity(pools=pools(G5, G6E)),
        initial_instance_count=2,
        routing_strategy=other,
    )

    assert [each[:6] for each in found] == ["LLM411"]


@pytest.mark.parametrize(
    ("arn", "is_right"),
    [
        (RESERVATION_ARN, True),
        (RESERVATION_ARN.replace(":aws:", ":aws-cn:"), True),
        (LONGEST, True),
        (f"{LONGEST}m", False),
        ("mine", False),
        (RESERVATION_ARN.replace(":sagemaker:", ":ec2:"), False),
        (RESERVATION_ARN.replace("111111111111", "11111111111"), False),
        (RESERVATION_ARN.replace("/", "-"), False),
    ],
)
def test_a_reservation_is_named_by_its_arn(arn: str, *, is_right: bool) -> None:
    """
    Of the form that the API asks for.
    """
    found = messages_of(
        instance_type="ml.p5.48xlarge",
        capacity=InstanceCapacity(reservation=CapacityReservation(arn)),
    )

    assert [each[:6] for each in found] == ([] if is_right else ["LLM314"])


def test_warns_of_a_reservation_outside_the_p_family() -> None:
    """
    It is what people report, and no rule of the API's.
    """
    reserved = CapacityReservation(RESERVATION_ARN)
    found = messages_of(
        instance_type=G5, capacity=InstanceCapacity(reservation=reserved)
    )

    assert found == [
        (
            "LLM412 capacity for endpoints is known to be reserved on types of the p "
            "family only, got ml.g5.12xlarge"
        )
    ]


@pytest.mark.parametrize(("step", "is_right"), [(0, 0), (1, 1), (100, 1), (101, 0)])
def test_a_step_in_is_within_the_apis_bounds(step: int, is_right: int) -> None:
    """
    From 1 to 100 instances at a time.
    """
    message = f"LLM111 maximum_step_size must be 1 to 100, got {step}"

    found = messages_of(**policy(maximum_step_size=step))
    assert found == ([] if is_right else [message])


@pytest.mark.parametrize(
    ("cooldown", "message"),
    [
        (Duration.minutes(5), None),
        (Duration.seconds(300), None),
        (Duration.days(1), None),
        (Duration.minutes(4), "LLM111 cooldown must be 5 to 1440 minutes, got 4"),
        (
            Duration.minutes(1441),
            "LLM111 cooldown must be 5 to 1440 minutes, got 1441",
        ),
        (
            Duration.seconds(330),
            (
                "LLM129 cooldown must be of whole minutes, got 5.5; write "
                "Duration.minutes(6)"
            ),
        ),
    ],
)
def test_a_cooldown_is_within_the_apis_bounds(
    cooldown: Duration, message: str | None
) -> None:
    """
    In whole minutes, as the API counts.
    """
    assert messages_of(**policy(cooldown=cooldown)) == (
        [] if message is None else [message]
    )


def test_a_cooldown_that_deployment_alone_knows_is_in_minutes(stack: Stack) -> None:
    """
    Another unit cannot be converted.
    """
    number = CfnParameter(stack, "Number", type="Number").value_as_number

    assert messages_of(**policy(cooldown=Duration.minutes(number))) == []
    assert messages_of(**policy(cooldown=Duration.seconds(number))) == [
        (
            "LLM129 cooldown is known only at deployment, and must be in minutes then; "
            "write Duration.minutes(...)"
        )
    ]


def test_numbers_that_deployment_alone_knows_are_not_judged(stack: Stack) -> None:
    """
    They stand in the template as they are.
    """
    number: Any = CfnParameter(stack, "Number", type="Number").value_as_number
    host = InferenceComponentEndpoint(
        stack,
        "Host",
        instance_type=G5,
        max_instance_count=2,
        scale_in_policy=ScaleInPolicy(
            strategy=ScaleInStrategy.CONSOLIDATION,
            maximum_step_size=number,
            cooldown=Duration.minutes(number),
        ),
        routing_strategy=PrefixAwareRouting(
            prefix_length=number, concurrency_threshold=number
        ),
    )
    host.add_model(
        "It",
        model=ZEPHYR,
        resources=ResourceRequirements(accelerators=1),
        placement_strategy=PlacementStrategy.SPREAD,
        availability_zone_balance=AvailabilityZoneBalance(max_imbalance=number),
    )

    (variant,) = properties_of(stack, CONFIG)["ProductionVariants"]
    policy = variant["ManagedInstanceScaling"]["ScaleInPolicy"]
    assert policy["MaximumStepSize"] == policy["CooldownInMinutes"] == "${Number}"
    assert variant["RoutingConfig"]["PrefixAwareRoutingConfig"] == {
        "ConcurrencyThreshold": "${Number}",
        "PrefixLength": "${Number}",
    }
    scheduling = properties_of(stack, COMPONENT)["Specification"]["SchedulingConfig"]
    assert scheduling["AvailabilityZoneBalance"]["MaxImbalance"] == "${Number}"


def test_warns_of_settings_of_a_consolidation_without_one() -> None:
    """
    Idle instances are released at once, and all of them.
    """
    idle = ScaleInStrategy.IDLE_RELEASE
    both = policy(strategy=idle, maximum_step_size=2, cooldown=Duration.minutes(5))

    assert messages_of(**policy(strategy=idle)) == []
    assert messages_of(**both) == [
        (
            f"LLM414 {name} is of a consolidation, and IDLE_RELEASE consolidates "
            "nothing; leave it out, or use ScaleInStrategy.CONSOLIDATION"
        )
        for name in ("maximum_step_size", "cooldown")
    ]


def test_fails_if_a_fixed_number_is_scaled_in(stack: Stack) -> None:
    """
    The keyword that is missing is named.
    """
    idle = ScaleInPolicy(strategy=ScaleInStrategy.IDLE_RELEASE)
    with pytest.raises(ValueError, match="LLM317 .* give max_instance_count"):
        InferenceComponentEndpoint(
            stack, "Host", instance_type=G5, scale_in_policy=idle
        )


@pytest.mark.parametrize(
    ("length", "threshold", "message"),
    [
        (1024, 1, None),
        (65536, 1024, None),
        (1023, 1, "prefix_length must be 1024 to 65536, got 1023"),
        (65537, 1, "prefix_length must be 1024 to 65536, got 65537"),
        (1024, 0, "concurrency_threshold must be 1 to 1024, got 0"),
        (1024, 1025, "concurrency_threshold must be 1 to 1024, got 1025"),
    ],
)
def test_prefix_aware_routing_is_within_the_apis_bounds(
    length: int, threshold: int, message: str | None
) -> None:
    """
    Both numbers, among two instances.
    """
    routing = PrefixAwareRouting(prefix_length=length, concurrency_threshold=threshold)
    found = messages_of(
        instance_type=G5, initial_instance_count=2, routing_strategy=routing
    )

    assert found == ([] if message is None else [f"LLM111 {message}"])


def test_warns_of_prefixes_where_there_is_one_instance(stack: Stack) -> None:
    """
    Of a model's own instances a policy may add some, which is not known yet.
    """
    routing = PrefixAwareRouting(prefix_length=1024, concurrency_threshold=1)
    LlmEndpoint(stack, "Llm", model=ZEPHYR, instance_type=G5, routing_strategy=routing)
    InferenceComponentEndpoint(
        stack, "Host", instance_type=G5, routing_strategy=routing
    )
    InferenceComponentEndpoint(
        stack, "Two", instance_type=G5, routing_strategy=routing, max_instance_count=2
    )

    assert codes_of(stack) == [("/Test/Host/Config", "LLM414")]


@pytest.mark.parametrize(("most", "is_right"), [(-1, 0), (0, 1), (100, 1), (101, 0)])
def test_an_imbalance_is_within_the_apis_bounds(most: int, is_right: int) -> None:
    """
    From 0 to 100 copies.
    """
    scheduling = Scheduling(
        placement_strategy=PlacementStrategy.SPREAD,
        availability_zone_balance=AvailabilityZoneBalance(max_imbalance=most),
    )
    message = f"LLM111 max_imbalance must be 0 to 100, got {most}"

    found = [str(each) for each in scheduling_findings(scheduling)]
    assert found == ([] if is_right else [message])


def test_a_balance_needs_a_strategy() -> None:
    """
    The API has none without.
    """
    alone = Scheduling(availability_zone_balance=AvailabilityZoneBalance())

    assert [str(each) for each in scheduling_findings(alone)] == [
        (
            "LLM316 availability_zone_balance needs a placement_strategy, which "
            "applies within each zone; give PlacementStrategy.SPREAD or "
            "PlacementStrategy.BINPACK"
        )
    ]


def test_a_strategy_alone_balances_zones_as_cloudformation_asks(stack: Stack) -> None:
    """
    CloudFormation refuses a strategy without a balance.
    """
    host = InferenceComponentEndpoint(stack, "Host", instance_type=G5)
    host.add_model(
        "It",
        model=ZEPHYR,
        resources=ResourceRequirements(accelerators=1),
        placement_strategy=PlacementStrategy.BINPACK,
        data_caching=False,
    )

    specification = properties_of(stack, COMPONENT)["Specification"]
    assert specification["SchedulingConfig"] == {
        "AvailabilityZoneBalance": {"EnforcementMode": "PERMISSIVE"},
        "PlacementStrategy": "BINPACK",
    }
    assert specification["DataCacheConfig"] == {"EnableCaching": False}
