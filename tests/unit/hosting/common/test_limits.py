"""
The service's limits: what stands at one passes, and what is one beside it does not.
"""

from __future__ import annotations

from typing import cast

import botocore.session
import pytest
from aws_cdk import CfnParameter, Duration, Size, Stack
from botocore.model import StringShape

from cdk_sagemaker_llm import (
    InstanceCapacity,
    ManagedInstanceScaling,
    ProductionVariant,
)
from cdk_sagemaker_llm.catalog.instances import host_image_names
from cdk_sagemaker_llm.findings import Finding, Severity
from cdk_sagemaker_llm.hosting.common.limits import (
    bounds_findings,
    count_findings,
    gibibytes,
    host_image_findings,
    least_findings,
    minute_findings,
    minutes,
    name_findings,
    range_findings,
    seconds,
    size_findings,
    time_findings,
    timeout_findings,
    together_findings,
)
from cdk_sagemaker_llm.hosting.endpoints.endpoint_definition import (
    EndpointConfigDefinition,
    define_endpoint_config,
)
from cdk_sagemaker_llm.hosting.scaling.target_base import capacity_findings
from cdk_sagemaker_llm.hosting.variants.variant_definition import (
    VariantDefinition,
    define_variant,
)


def error(code: str, message: str) -> list[Finding]:
    """
    Return the one error that is expected.
    """
    return [Finding(Severity.ERROR, code, message)]


@pytest.mark.parametrize(
    "name", [None, "a", "7", "a" * 63, "a" + "-" * 61 + "b", "A--b-9"], ids=str
)
def test_names_that_the_service_takes_pass(name: str | None) -> None:
    """
    One to 63 letters, digits and inner hyphens.
    """
    assert name_findings("endpoint_name", name) == []


@pytest.mark.parametrize(
    "name", ["", "a" * 64, "-a", "a-", "-", "a_b", "a b", "ä", "a\n", "a.b"], ids=repr
)
def test_names_that_the_service_refuses_are_named(name: str) -> None:
    """
    With the parameter and the value.
    """
    assert name_findings("endpoint_name", name) == error(
        "LLM106",
        "endpoint_name must be at most 63 letters, digits and inner hyphens, "
        f"got {name!r}",
    )


@pytest.mark.parametrize("value", [None, 60, 60.5, 3599, 3600])
def test_a_number_within_its_range_passes(value: float | None) -> None:
    """
    Both ends belong to it.
    """
    assert range_findings("x", value, 60, 3600, " s") == []


@pytest.mark.parametrize(
    ("value", "shown"), [(59, "59"), (3601, "3601"), (59.5, "59.5")]
)
def test_a_number_beside_its_range_is_named(value: float, shown: str) -> None:
    """
    With the range, its unit, and the value.
    """
    assert range_findings("x", value, 60, 3600, " s") == error(
        "LLM111", f"x must be 60 to 3600 s, got {shown}"
    )


@pytest.mark.parametrize("value", [60, 3600])
def test_a_time_out_within_the_apis_bounds_passes(value: int) -> None:
    """
    One minute to one hour.
    """
    assert timeout_findings("x", Duration.seconds(value)) == []
    assert timeout_findings("x", None) == []


@pytest.mark.parametrize("value", [59, 3601])
def test_a_time_out_beside_the_apis_bounds_is_named(value: int) -> None:
    """
    In seconds, as the API counts.
    """
    assert timeout_findings("x", Duration.seconds(value)) == error(
        "LLM111", f"x must be 60 to 3600 seconds, got {value}"
    )


def test_a_duration_is_counted_in_seconds() -> None:
    """
    Whatever unit it was given in.
    """
    assert seconds(Duration.minutes(2)) == 120
    assert seconds(None) is None


def test_a_count_at_its_bound_passes_and_one_below_does_not() -> None:
    """
    The bound belongs to it.
    """
    assert count_findings("copies", 2, 2) == []
    assert count_findings("copies", 3, 2) == []
    assert count_findings("copies", 1, 2) == error(
        "LLM105", "copies must be at least 2, got 1"
    )


def test_equal_bounds_pass_and_crossed_ones_do_not() -> None:
    """
    Each with its own name and value.
    """
    assert bounds_findings("low", 2, "high", 2) == []
    assert bounds_findings("low", 3, "high", 2) == error(
        "LLM105", "high must be at least low, got high=2 and low=3"
    )


def test_placeholders_are_not_compared(stack: Stack) -> None:
    """
    Nothing is guessed of what the deployment decides.
    """
    text = CfnParameter(stack, "Text").value_as_string
    number = CfnParameter(stack, "Number", type="Number").value_as_number

    assert name_findings("x", text) == []
    assert range_findings("x", number, 1, 2) == []
    assert count_findings("x", number, 1) == []
    assert bounds_findings("x", number, "y", 1) == []
    assert bounds_findings("x", 1, "y", number) == []


@pytest.mark.parametrize(
    ("least", "most", "expected"),
    [
        (1, 1, []),
        (2, 4, []),
        (
            0,
            4,
            [
                Finding(
                    Severity.ERROR,
                    "LLM105",
                    "min_capacity must be at least 1, got 0: an endpoint that answers "
                    "in real time keeps an instance",
                    "host the model as an inference component, whose copies and "
                    "instances can go to zero",
                )
            ],
        ),
        (-1, 4, error("LLM105", "min_capacity must be at least 1, got -1")),
        (
            2,
            1,
            error(
                "LLM105",
                "max_capacity must be at least min_capacity, got max_capacity=1 and "
                "min_capacity=2",
            ),
        ),
        (
            -1,
            -2,
            [
                *error("LLM105", "min_capacity must be at least 1, got -1"),
                *error(
                    "LLM105",
                    "max_capacity must be at least min_capacity, got max_capacity=-2 "
                    "and min_capacity=-1",
                ),
            ],
        ),
    ],
)
def test_capacities_are_in_order_and_above_zero(
    least: int, most: int, expected: list[Finding]
) -> None:
    """
    All that is wrong of them, at once.
    """
    assert capacity_findings(least, most) == expected


def variant(**changes: object) -> ProductionVariant:
    """
    Return a variant on EBS storage with some fields changed.
    """
    fields = {"instance_type": "ml.p3.16xlarge", **changes}
    return ProductionVariant(**fields)  # type: ignore[arg-type] # any field


@pytest.mark.parametrize(
    ("field", "least", "most"),
    [
        ("container_startup_health_check_timeout", 60, 3600),
        ("model_data_download_timeout", 60, 3600),
    ],
)
def test_each_time_out_of_a_variant_has_its_bounds(
    field: str, least: int, most: int
) -> None:
    """
    Containers and data are waited for at least one minute.
    """
    for value in (least, most):
        assert (
            define_variant(variant(**{field: Duration.seconds(value)})).findings == ()
        )
    for value in (least - 1, most + 1):
        found = define_variant(variant(**{field: Duration.seconds(value)})).findings
        assert list(found) == error(
            "LLM111", f"{field} must be {least} to {most} seconds, got {value}"
        )


def test_instances_are_waited_for_within_bounds() -> None:
    """
    At least five minutes, at most an hour.
    """

    def found(wait: int) -> list[Finding]:
        capacity = InstanceCapacity(provision_timeout=Duration.seconds(wait))
        return list(define_variant(variant(capacity=capacity)).findings)

    assert found(300) == found(3600) == []
    for wait in (299, 3601):
        assert found(wait) == error(
            "LLM111",
            f"capacity.provision_timeout must be 300 to 3600 seconds, got {wait}",
        )


def test_a_volume_has_one_to_512_gibibytes() -> None:
    """
    Where the type has no storage of its own.
    """
    for size in (1, 512):
        assert define_variant(variant(volume_size=Size.gibibytes(size))).findings == ()
    for size in (0, 513):
        found = define_variant(variant(volume_size=Size.gibibytes(size))).findings
        assert list(found) == error(
            "LLM111", f"volume_size must be 1 to 512 GiB, got {size}"
        )


def test_a_variant_starts_with_one_instance_at_least() -> None:
    """
    And with no fewer than its bounds are in order.
    """
    bounds = ManagedInstanceScaling(min_instance_count=2, max_instance_count=2)
    crossed = ManagedInstanceScaling(min_instance_count=3, max_instance_count=2)

    assert define_variant(variant(initial_instance_count=1)).findings == ()
    assert list(define_variant(variant(initial_instance_count=0)).findings) == error(
        "LLM105", "initial_instance_count must be at least 1, got 0"
    )
    assert define_variant(variant(managed_instance_scaling=bounds)).findings == ()
    assert list(
        define_variant(
            variant(initial_instance_count=0, managed_instance_scaling=crossed)
        ).findings
    ) == [
        *error("LLM105", "initial_instance_count must be at least 1, got 0"),
        *error(
            "LLM105",
            "max_instance_count must be at least min_instance_count, got "
            "max_instance_count=2 and min_instance_count=3",
        ),
    ]


@pytest.mark.parametrize(
    ("least", "most", "message"),
    [
        (-1, 2, "min_instance_count must be at least 0, got -1"),
        (0, 0, "max_instance_count must be at least 1, got 0"),
    ],
)
def test_fails_for_bounds_below_the_apis(least: int, most: int, message: str) -> None:
    """
    None may always run, and one at most.
    """
    bounds = ManagedInstanceScaling(min_instance_count=least, max_instance_count=most)
    lowest = ManagedInstanceScaling(min_instance_count=0, max_instance_count=1)
    found = define_variant(variant(managed_instance_scaling=bounds)).findings

    assert list(found) == error("LLM105", message)
    assert define_variant(variant(managed_instance_scaling=lowest)).findings == ()


def named(*names: str) -> list[VariantDefinition]:
    """
    Return variants of these names.
    """
    return [define_variant(variant(variant_name=name)) for name in names]


def test_a_configuration_has_one_to_ten_variants() -> None:
    """
    Each of them with a name of its own.
    """
    names = [f"V{number}" for number in range(11)]

    for some in (names[:1], names[:10]):
        config = define_endpoint_config(
            EndpointConfigDefinition(variants=tuple(named(*some))),
            hosts_components=True,
        )
        assert config.findings == ()
    for some, count in (([], 0), (names, 11)):
        config = define_endpoint_config(
            EndpointConfigDefinition(variants=tuple(named(*some))),
            hosts_components=True,
        )
        assert list(config.findings) == error(
            "LLM123", f"variants must be 1 to 10, got {count}"
        )


def test_each_repeated_name_is_named_once() -> None:
    """
    In order, so that a message does not change from run to run.
    """
    config = define_endpoint_config(
        EndpointConfigDefinition(variants=tuple(named("B", "A", "B", "C", "A", "B"))),
        hosts_components=True,
    )

    assert list(config.findings) == [
        *error("LLM123", "variant_name 'A' is used more than once"),
        *error("LLM123", "variant_name 'B' is used more than once"),
    ]


def test_every_host_image_of_the_api_passes() -> None:
    """
    The catalogue has all that botocore's model lists.
    """
    model = botocore.session.get_session().get_service_model("sagemaker")
    shape = model.shape_for("ProductionVariantInferenceAmiVersion")
    listed = cast("StringShape", shape).enum

    assert set(host_image_names()) == set(listed)
    assert [host_image_findings("it", name) for name in listed] == [[]] * len(listed)
    assert host_image_findings("it", None) == []
    assert host_image_findings("it", "${Token[TOKEN.1]}") == []


def test_fails_for_a_host_image_that_there_is_not() -> None:
    """
    CreateEndpointConfig refuses what is not in its list.
    """
    (near,) = host_image_findings("it", "al2-ami-sagemaker-inference-gpu-4-1")
    (far,) = host_image_findings("it", "x")

    assert str(near) == (
        "LLM184 it must be one that the API has, got "
        "'al2-ami-sagemaker-inference-gpu-4-1'; use "
        "al2-ami-sagemaker-inference-gpu-3-1, al2-ami-sagemaker-inference-gpu-2-1 or "
        "al2023-ami-sagemaker-inference-gpu-4-1, or leave it out"
    )
    assert "al2023-ami-sagemaker-inference-gpu-4-1" in far.remedy


@pytest.mark.parametrize("weight", [None, 0, 0.5, 3, -1.8881545897087626e289])
def test_a_weight_of_zero_and_more_passes(weight: float | None) -> None:
    """
    The API's least is 0.
    """
    assert least_findings("initial_variant_weight", weight, 0) == []


def test_fails_for_a_weight_below_zero() -> None:
    """
    With the value got.
    """
    (found,) = least_findings("initial_variant_weight", -0.5, 0)

    assert str(found) == "LLM111 initial_variant_weight must be at least 0, got -0.5"


@pytest.mark.parametrize(
    ("period", "periods", "message"),
    [
        (None, 10**6, None),
        (60, 1440, None),
        (60, 1441, "60 seconds must be at most a day together, got 1441"),
        (3599, 24, None),
        (3599, 25, "3599 seconds must be at most a day together, got 25"),
        (3600, 168, None),
        (3600, 169, "3600 seconds must be at most a week together, got 169"),
    ],
)
def test_an_alarm_looks_back_a_day_or_a_week(
    period: float | None, periods: int, message: str | None
) -> None:
    """
    A week with periods of an hour and more.
    """
    text = f"evaluation_periods of {message}"
    expected = [] if message is None else error("LLM111", text)

    assert together_findings(period, periods) == expected


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (2**31 - 1, None),
        (2**31, "it must be at most 2147483647, got 2147483648"),
        (3, None),
        (2, "it must be at least 3, got 2"),
    ],
)
def test_services_count_by_32_bits(value: int, message: str | None) -> None:
    """
    As Smithy's integer has them.
    """
    expected = [] if message is None else error("LLM105", message)

    assert count_findings("it", value, 3) == expected


def test_times_and_sizes_are_whole(stack: Stack) -> None:
    """
    In the unit that the service counts; what deployment knows is in that unit.
    """
    later = CfnParameter(stack, "Later", type="Number").value_as_number
    most = 2**31 - 1
    texts = [
        [str(one) for one in found]
        for found in (
            time_findings("it", None),
            time_findings("it", Duration.seconds(1)),
            time_findings("it", Duration.seconds(later)),
            time_findings("it", Duration.seconds(most)),
            minute_findings("it", None),
            minute_findings("it", Duration.seconds(60)),
            minute_findings("it", Duration.minutes(later)),
            size_findings("it", None),
            size_findings("it", Size.mebibytes(1024)),
            size_findings("it", Size.gibibytes(later)),
        )
    ]

    assert texts == [[]] * 10
    assert [
        str(one)
        for found in (
            time_findings("it", Duration.millis(1500)),
            time_findings("it", Duration.minutes(later)),
            time_findings("it", Duration.seconds(most + 1)),
            minute_findings("it", Duration.seconds(61)),
            minute_findings("it", Duration.seconds(later)),
            size_findings("it", Size.mebibytes(1025)),
            size_findings("it", Size.mebibytes(later)),
        )
        for one in found
    ] == [
        "LLM129 it must be of whole seconds, got 1.5; write Duration.seconds(2)",
        (
            "LLM129 it is known only at deployment, and must be in seconds then; "
            "write Duration.seconds(...)"
        ),
        f"LLM129 it must be at most {most} seconds, got more",
        "LLM129 it must be of whole minutes, got 1.01667; write Duration.minutes(2)",
        (
            "LLM129 it is known only at deployment, and must be in minutes then; "
            "write Duration.minutes(...)"
        ),
        "LLM129 it must be of whole GiB, got 1.00098; write Size.gibibytes(2)",
        (
            "LLM129 it is known only at deployment, and must be in GiB then; "
            "write Size.gibibytes(...)"
        ),
    ]
    assert minutes(None) is None
    assert gibibytes(None) is None
    assert seconds(None) is None
