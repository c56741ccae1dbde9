"""
Which code is behind which resource type.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from moto.cloudformation.parsing import get_model_map

from cdk_sagemaker_llm.catalog import resource_types
from cdk_sagemaker_llm.local.cloudformation.custom_resources import (
    CustomResourceType,
    NotEmulated,
)
from cdk_sagemaker_llm.local.cloudformation.hosting_types import HOSTING_TYPES
from cdk_sagemaker_llm.local.cloudformation.moto_types import MotoType
from cdk_sagemaker_llm.local.cloudformation.nested import NestedStackType
from cdk_sagemaker_llm.local.cloudformation.plain_types import PLAIN_TYPES
from cdk_sagemaker_llm.local.cloudformation.resource import Properties, ResourceType
from cdk_sagemaker_llm.local.cloudformation.scaling_types import (
    AlarmType,
    ScalableTargetType,
    ScalingPolicyType,
)
from cdk_sagemaker_llm.local.cloudformation.wait_conditions import (
    WaitConditionHandleType,
    WaitConditionType,
)

NESTED = "AWS::CloudFormation::Stack"
_CUSTOM = "AWS::CloudFormation::CustomResource"
_SILENT = frozenset({"AWS::CDK::Metadata"})


_OWN: dict[str, ResourceType] = {
    **HOSTING_TYPES,
    **PLAIN_TYPES,
    "AWS::ApplicationAutoScaling::ScalableTarget": ScalableTargetType(),
    "AWS::ApplicationAutoScaling::ScalingPolicy": ScalingPolicyType(),
    "AWS::CloudFormation::WaitCondition": WaitConditionType(),
    "AWS::CloudFormation::WaitConditionHandle": WaitConditionHandleType(),
    "AWS::CloudWatch::Alarm": AlarmType(),
    # moto has a class for it, which would bypass the lifecycle of this package.
    NESTED: NestedStackType(),
}


def type_names() -> Iterable[str]:
    """
    Return the types that are made: ours and moto's.
    """
    return {*_OWN, *get_model_map()}


@functools.cache
def resource_type(name: str) -> ResourceType:
    """
    Return the code behind a type: ours, moto's, or what stands in for neither.
    """
    if name in _OWN:
        return _OWN[name]
    if is_custom(name):
        return CustomResourceType()
    model = get_model_map().get(name)
    if model is None:
        return NotEmulated(silent=name in _SILENT)
    return MotoType(name, model)


def must_replace(name: str, before: Properties, after: Properties) -> bool:
    """
    Tell whether a change of properties needs a new physical resource.

    The registry says so, and moto's limits do.
    """
    if resource_types.replaces(name, before, after):
        return True
    kind = resource_type(name)
    return isinstance(kind, MotoType) and kind.has_no_update(before, after)


def attributes_follow_properties(name: str) -> bool:
    """
    Tell whether an update in place may change what ``Fn::GetAtt`` gives.
    """
    return name == NESTED or is_custom(name)


def is_custom(name: str) -> bool:
    """
    Tell whether a type is a custom resource, behind which stands a function.
    """
    return name.startswith("Custom::") or name == _CUSTOM
