"""
Times and sizes in other units than the service's: told of, never rounded.
"""

from __future__ import annotations

import pytest
from aws_cdk import CfnParameter, Duration, Size, Stack
from aws_cdk.assertions import Match, Template

from cdk_sagemaker_llm import HuggingFaceModel, InstanceCapacity, LlmEndpoint
from cdk_sagemaker_llm.findings import Finding, Severity
from cdk_sagemaker_llm.hosting.common.limits import size_findings, time_findings
from cdk_sagemaker_llm.hosting.variants.variant import ProductionVariant
from cdk_sagemaker_llm.hosting.variants.variant_definition import define_variant

GPT2 = HuggingFaceModel("gpt2")


def uncountable(message: str, remedy: str) -> list[Finding]:
    """
    Return the one error that is expected.
    """
    return [Finding(Severity.ERROR, "LLM129", message, remedy)]


@pytest.fixture(name="number")
def _number(stack: Stack) -> float:
    """
    Return a number that only deployment knows.
    """
    return CfnParameter(stack, "P", type="Number").value_as_number


@pytest.mark.parametrize(
    "time", [None, Duration.minutes(1.5), Duration.millis(2000), Duration.seconds(7)]
)
def test_a_time_of_whole_seconds_passes(time: Duration | None) -> None:
    """
    Whatever unit it is written in.
    """
    assert time_findings("t", time) == []


@pytest.mark.parametrize(
    "size", [None, Size.mebibytes(1024), Size.tebibytes(1), Size.gibibytes(7)]
)
def test_a_size_of_whole_gibibytes_passes(size: Size | None) -> None:
    """
    Whatever unit it is written in.
    """
    assert size_findings("s", size) == []


def test_fails_for_a_time_between_two_seconds() -> None:
    """
    The next second is offered.
    """
    assert time_findings("t", Duration.millis(61_500)) == uncountable(
        "t must be of whole seconds, got 61.5", "write Duration.seconds(62)"
    )


def test_fails_for_a_size_between_two_gibibytes() -> None:
    """
    The next GiB is offered.
    """
    assert size_findings("s", Size.mebibytes(100)) == uncountable(
        "s must be of whole GiB, got 0.0976562", "write Size.gibibytes(1)"
    )


def test_placeholders_pass_in_the_services_unit_only(number: float) -> None:
    """
    Nothing can convert them from another.
    """
    assert time_findings("t", Duration.seconds(number)) == []
    assert time_findings("t", Duration.minutes(number)) == uncountable(
        "t is known only at deployment, and must be in seconds then",
        "write Duration.seconds(...)",
    )
    assert size_findings("s", Size.gibibytes(number)) == []
    assert size_findings("s", Size.tebibytes(number)) == uncountable(
        "s is known only at deployment, and must be in GiB then",
        "write Size.gibibytes(...)",
    )


def test_fails_for_a_volume_between_two_gibibytes(stack: Stack) -> None:
    """
    Also where nothing else is known of the hosts.
    """
    unknown = CfnParameter(stack, "Type").value_as_string
    volume = Size.mebibytes(100)

    for instance_type, codes in (
        ("ml.p3.8xlarge", ["LLM129"]),
        # What is left out until deployment says the type is one finding more.
        (unknown, ["LLM806", "LLM129"]),
    ):
        one = ProductionVariant(instance_type=instance_type, volume_size=volume)
        found = define_variant(one).findings
        assert [finding.code for finding in found] == codes


def test_fails_for_times_of_an_endpoint_that_cannot_be_counted(
    stack: Stack, number: float
) -> None:
    """
    All of a call together.
    """
    later, between = Duration.minutes(number), Duration.millis(61_500)
    with pytest.raises(ValueError, match=r"(?s)LLM129 .*LLM129 .*LLM129 ") as told:
        LlmEndpoint(
            stack,
            "E",
            model=GPT2,
            instance_type="ml.g5.xlarge",
            container_startup_health_check_timeout=later,
            model_data_download_timeout=between,
            capacity=InstanceCapacity(provision_timeout=later),
        )

    assert str(told.value).count("LLM129") == len(("start", "download", "provision"))


def test_fails_for_cooldowns_that_cannot_be_counted(
    stack: Stack, number: float
) -> None:
    """
    Both are named; one in seconds reaches the template.
    """
    endpoint = LlmEndpoint(stack, "E", model=GPT2, instance_type="ml.g5.xlarge")
    scaling = endpoint.auto_scale_instance_count(max_capacity=2)
    message = "(?s)Bad: .*LLM129 scale_in_cooldown .*LLM129 scale_out_cooldown "
    with pytest.raises(ValueError, match=message):
        scaling.scale_on_concurrency(
            "Bad",
            per_instance=5,
            scale_in_cooldown=Duration.minutes(number),
            scale_out_cooldown=Duration.millis(1),
        )
    scaling.scale_on_concurrency(
        "Good", per_instance=5, scale_in_cooldown=Duration.seconds(number)
    )

    Template.from_stack(stack).has_resource_properties(
        "AWS::ApplicationAutoScaling::ScalingPolicy",
        {
            "TargetTrackingScalingPolicyConfiguration": Match.object_like(
                {"ScaleInCooldown": {"Ref": "P"}, "ScaleOutCooldown": 300}
            )
        },
    )
