"""
Targets and metrics that the tests of scaling begin with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponent,
    InferenceComponentEndpoint,
    ResourceRequirements,
    ScalableCopyCount,
    ScalableInstanceCount,
)

ONE = ResourceRequirements(accelerators=1)


def copies_of(stack: Stack, least: int = 1, most: int = 4) -> ScalableCopyCount:
    """
    Define copies of a component that was made elsewhere.
    """
    return ScalableCopyCount(
        stack,
        "Count",
        inference_component_name="llama",
        min_capacity=least,
        max_capacity=most,
    )


def instances_of(
    stack: Stack, least: int = 1, *, is_asynchronous: bool = False
) -> ScalableInstanceCount:
    """
    Define instances of a variant that was made elsewhere.
    """
    return ScalableInstanceCount(
        stack,
        "Count",
        endpoint_name="chat",
        variant_name="Blue",
        min_capacity=least,
        max_capacity=4,
        asynchronous=is_asynchronous,
    )


def component_on(
    stack: Stack,
    **host: Any,  # noqa: ANN401 - any keyword of the host
) -> InferenceComponent:
    """
    Define a component on a host of four accelerators.
    """
    hosting = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.g5.12xlarge", **host
    )
    return hosting.add_model("Gpt", model=HuggingFaceModel("gpt2"), resources=ONE)


def metric(
    name: str = "Orders",
    *,
    statistic: str = "Average",
    seconds: float = 60,
    dimensions: Mapping[str, str] | None = None,
    unit: cloudwatch.Unit | None = None,
    region: str | None = None,
    account: str | None = None,
) -> cloudwatch.Metric:
    """
    Name a metric of the user's.
    """
    return cloudwatch.Metric(
        namespace="Shop",
        metric_name=name,
        statistic=statistic,
        period=Duration.seconds(seconds),
        dimensions_map=dimensions,
        unit=unit,
        region=region,
        account=account,
    )
