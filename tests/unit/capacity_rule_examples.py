"""
For each rule of where instances come from the smallest definition that breaks it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from aws_cdk import Duration, Stack

from cdk_sagemaker_llm import (
    AvailabilityZoneBalance,
    CapacityReservation,
    HuggingFaceModel,
    InferenceComponentEndpoint,
    InstanceCapacity,
    InstancePool,
    LlmEndpoint,
    ResourceRequirements,
    RoutingStrategy,
    ScaleInPolicy,
    ScaleInStrategy,
)

GPT2 = HuggingFaceModel("gpt2")
ONE = ResourceRequirements(accelerators=1)
G6E = InstancePool("ml.g6e.12xlarge", priority=1)
G5 = InstancePool("ml.g5.12xlarge", priority=2)
NEURON = InstancePool("ml.inf2.48xlarge", priority=2)
RESERVED = CapacityReservation(
    "arn:aws:sagemaker:us-east-1:111111111111:training-plan/mine"
)
IDLE = ScaleInPolicy(
    strategy=ScaleInStrategy.IDLE_RELEASE, cooldown=Duration.minutes(30)
)

_endpoint = partial(LlmEndpoint, id="It", model=GPT2)
_host = partial(InferenceComponentEndpoint, id="Host")


def _component(
    *,
    resources: ResourceRequirements | dict[str, ResourceRequirements],
    availability_zone_balance: AvailabilityZoneBalance | None = None,
) -> Callable[[Stack], object]:
    def define(stack: Stack) -> object:
        small = InstancePool("ml.g5.2xlarge", priority=2)
        host = _host(stack, capacity=InstanceCapacity(pools=[G6E, small]))
        return host.add_model(
            "It",
            model=GPT2,
            resources=resources,
            availability_zone_balance=availability_zone_balance,
        )

    return define


CAPACITY: dict[str, Callable[[Stack], object]] = {
    "LLM311": _endpoint,
    "LLM312": partial(_endpoint, capacity=InstanceCapacity(pools=[G5])),
    "LLM313": partial(_host, capacity=InstanceCapacity(pools=[G6E, NEURON])),
    "LLM314": partial(
        _endpoint,
        instance_type="ml.p4d.24xlarge",
        capacity=InstanceCapacity(reservation=CapacityReservation("mine")),
    ),
    "LLM315": _component(resources={"ml.g6e.12xlarge": ONE}),
    "LLM316": _component(
        resources=ONE, availability_zone_balance=AvailabilityZoneBalance()
    ),
    "LLM317": partial(_host, instance_type="ml.g5.xlarge", scale_in_policy=IDLE),
    "LLM411": partial(
        _endpoint,
        capacity=InstanceCapacity(pools=[G6E, G5]),
        routing_strategy=RoutingStrategy.RANDOM,
    ),
    "LLM412": partial(
        _endpoint,
        instance_type="ml.g5.xlarge",
        capacity=InstanceCapacity(reservation=RESERVED),
    ),
    "LLM414": partial(
        _host,
        instance_type="ml.g5.xlarge",
        max_instance_count=2,
        scale_in_policy=IDLE,
    ),
    "LLM417": partial(
        _endpoint,
        instance_type="ml.g7e.2xlarge",
        inference_ami_version="al2-ami-sagemaker-inference-gpu-3-1",
    ),
    "LLM416": _component(resources=ResourceRequirements(copies=2, accelerators=1)),
}
