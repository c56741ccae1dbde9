"""
Asking for a staged prefix, and waiting until it is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aws_cdk import CfnWaitCondition, CfnWaitConditionHandle, CustomResource

from cdk_sagemaker_llm.hosting.scope import stack_of
from cdk_sagemaker_llm.hosting.staging.places import short_hash

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aws_cdk import aws_lambda as lambda_
    from aws_cdk import aws_s3 as s3
    from constructs import Construct

    from cdk_sagemaker_llm.hosting.staging.places import StagedPlace


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """
    What a stack asks for.

    Args:
        step: What the ids begin with: a word for each step.

        bucket: The bucket.

        place: The keys there.

        keeps: Whether it stays when no stack wants it any more.

        order: What is to be done.

        seconds: How long to wait for it.

        project: The build's project; empty where a job does it.
    """

    step: str
    bucket: s3.IBucket
    place: StagedPlace
    keeps: bool
    order: Mapping[str, Any]
    seconds: int
    project: str = ""


def await_staged(
    scope: Construct,
    asked: Asked,
    starter: lambda_.IFunction,
    ready: Sequence[Construct],
) -> CfnWaitCondition:
    """
    Ask for a prefix when all that it needs is ready; return what waits for it.
    """
    return await_order(
        scope,
        asked.step,
        resource_type="Custom::StagedModel",
        order=asked.order,
        seconds=asked.seconds,
        properties={
            "Bucket": asked.bucket.bucket_name,
            "Base": asked.place.base,
            "Keep": "true" if asked.keeps else "false",
            "Project": asked.project,
        },
        starter=starter,
        ready=ready,
    )


def await_order(
    scope: Construct,
    step: str,
    *,
    resource_type: str,
    order: Mapping[str, Any],
    seconds: int,
    properties: Mapping[str, str],
    starter: lambda_.IFunction,
    ready: Sequence[Construct],
) -> CfnWaitCondition:
    """
    Give an order when all that it needs is ready; return what waits for it.

    A wait condition cannot be updated, not even its time-out, and a handle is used
    once: each order has its own. The handle's address expires, so that it is made when
    all is ready.

    Args:
        scope: Where it is defined.

        step: What the ids begin with.

        resource_type: The custom resource's type.

        order: What is to be done.

        seconds: How long to wait for it.

        properties: What else the function is told.

        starter: The function that has it done.

        ready: What must be there before.
    """
    stack = stack_of(scope)
    key = short_hash([stack.resolve(order), seconds])
    handle = CfnWaitConditionHandle(scope, f"{step}Handle{key}")
    handle.node.add_dependency(*ready)
    start = CustomResource(
        scope,
        f"{step}Start",
        resource_type=resource_type,
        service_token=starter.function_arn,
        properties={
            **properties,
            "Handle": handle.ref,
            "Order": stack.to_json_string(order),
        },
    )
    start.node.add_dependency(*ready)
    condition = CfnWaitCondition(
        scope,
        f"{step}Done{key}",
        handle=handle.ref,
        count=1,
        timeout=str(seconds),
    )
    condition.node.add_dependency(start)
    return condition
