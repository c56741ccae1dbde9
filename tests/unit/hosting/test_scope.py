"""
The stack and the region of a construct.
"""

from __future__ import annotations

import pytest
from aws_cdk import App, Environment, Stack
from constructs import Construct, RootConstruct

from cdk_sagemaker_llm.hosting.scope import folders_of, region_of, stack_of


def test_a_construct_is_in_its_nearest_stack(app: App) -> None:
    """
    Also where stacks are nested in each other's scope.
    """
    outer = Stack(app, "Outer")
    inner = Stack(outer, "Inner")
    one = Construct(outer, "One")
    two = Construct(Construct(inner, "Two"), "Deep")

    for _ in range(2):
        assert stack_of(outer) is outer
        assert stack_of(one) is outer
        assert stack_of(two) is inner


def test_each_stack_has_its_own_region(app: App) -> None:
    """
    One without any has none, whatever was asked before.
    """
    west = Stack(app, "West", env=Environment(region="us-west-2"))
    east = Stack(app, "East", env=Environment(region="us-east-1"))
    anywhere = Stack(app, "Anywhere")

    for _ in range(2):
        assert region_of(Construct(west, f"A{_}")) == "us-west-2"
        assert region_of(Construct(east, f"A{_}")) == "us-east-1"
        assert region_of(Construct(anywhere, f"A{_}")) is None


def test_fails_in_a_stack_of_no_app() -> None:
    """
    There is no folder that a tarball could be written to.
    """
    stack = Stack(RootConstruct("Root"), "Lonely")

    with pytest.raises(ValueError, match="^Root/Lonely is in no app; define it inside"):
        folders_of(stack)
