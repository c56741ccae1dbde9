"""
How often metrics are published, and by what.
"""

from __future__ import annotations

import pytest
from aws_cdk import CfnParameter, Duration, Stack

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
    Observability,
)
from tests.unit.hosting.written import properties_of

GPT2 = HuggingFaceModel("gpt2")


def define(stack: Stack, frequency: Duration) -> LlmEndpoint:
    """
    Define an endpoint whose metrics come that often.
    """
    return LlmEndpoint(
        stack,
        "Llm",
        model=GPT2,
        instance_type="ml.g5.xlarge",
        observability=Observability(publish_frequency=frequency),
    )


@pytest.mark.parametrize("interval", [10, 30, 60, 120, 180, 240, 300])
def test_metrics_come_as_often_as_the_service_can(stack: Stack, interval: int) -> None:
    """
    Without enhanced metrics, those of instances do.
    """
    define(stack, Duration.seconds(interval))

    metrics = properties_of(stack, "SageMaker::EndpointConfig")["MetricsConfig"]
    assert metrics == {
        "EnableDetailedObservability": False,
        "MetricPublishFrequencyInSeconds": interval,
    }


@pytest.mark.parametrize("interval", [1, 9, 11, 29, 31, 90, 299, 301, 600])
def test_another_interval_is_refused(stack: Stack, interval: int) -> None:
    """
    With those that there are, before anything is made.
    """
    with pytest.raises(ValueError, match="LLM363") as raised:
        define(stack, Duration.seconds(interval))

    assert str(raised.value) == (
        "Test/Llm: LLM363 observability.publish_frequency must be 10, 30, 60, 120, "
        f"180, 240 or 300 seconds, got {interval}"
    )
    assert stack.node.children == []


def test_an_interval_is_in_whole_seconds(stack: Stack) -> None:
    """
    As all of the service's are.
    """
    with pytest.raises(
        ValueError, match="LLM129 observability.publish_frequency must be of"
    ):
        define(stack, Duration.millis(10_500))


def test_an_interval_known_at_deployment_is_passed_on(stack: Stack) -> None:
    """
    It is not guessed.
    """
    interval = CfnParameter(stack, "Interval", type="Number").value_as_number
    define(stack, Duration.seconds(interval))

    metrics = properties_of(stack, "SageMaker::EndpointConfig")["MetricsConfig"]
    assert metrics["MetricPublishFrequencyInSeconds"] == "${Interval}"


def test_enhanced_metrics_are_asked_for(stack: Stack) -> None:
    """
    They are written only then: a configuration that has none stays as it was.
    """
    InferenceComponentEndpoint(
        stack,
        "Host",
        instance_type="ml.g5.xlarge",
        observability=Observability(enhanced_metrics=True),
    )

    metrics = properties_of(stack, "SageMaker::EndpointConfig")["MetricsConfig"]
    assert metrics == {
        "EnableDetailedObservability": False,
        "EnableEnhancedMetrics": True,
    }
