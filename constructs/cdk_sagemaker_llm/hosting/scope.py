"""
Which stack a construct is in, and for which region, asked for once each.

A call into the CDK's Node process costs as much as a check (ADR 2), and the parts of
one model all ask the same.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from aws_cdk import Stack
from constructs import Construct

from cdk_sagemaker_llm._tokens import is_unresolved

_stacks: WeakKeyDictionary[Construct, Stack] = WeakKeyDictionary()
_regions: WeakKeyDictionary[Stack, str] = WeakKeyDictionary()


def stack_of(scope: Construct) -> Stack:
    """
    Return the stack that a construct is in.
    """
    if isinstance(scope, Stack):
        return scope
    if scope not in _stacks:
        _stacks[scope] = Stack.of(scope)
    return _stacks[scope]


def region_of(scope: Construct) -> str | None:
    """
    Return the region that the stack is for; ``None`` when deployment decides.
    """
    stack = stack_of(scope)
    if stack not in _regions:
        _regions[stack] = stack.region
    region = _regions[stack]
    return None if is_unresolved(region) else region
