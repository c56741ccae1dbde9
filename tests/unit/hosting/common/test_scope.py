"""
The stack and the region of a construct.
"""

from __future__ import annotations

import pytest
from aws_cdk import App, Aws, Environment, NestedStack, Stack
from constructs import Construct, RootConstruct

from cdk_sagemaker_llm.hosting.common.scope import (
    account_of,
    folders_of,
    region_of,
    stack_of,
)
from tests.conftest import ACCOUNT


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


@pytest.mark.parametrize(
    ("environment", "account", "region"),
    [
        (Environment(account=ACCOUNT, region="eu-west-1"), ACCOUNT, "eu-west-1"),
        (Environment(account=ACCOUNT), ACCOUNT, None),
        (Environment(region="eu-west-1"), None, "eu-west-1"),
        (None, None, None),
    ],
    ids=["both", "account", "region", "neither"],
)
def test_what_deployment_decides_is_not_known(
    environment: Environment | None, account: str | None, region: str | None
) -> None:
    """
    The account is a placeholder then, and the region none.
    """
    stack = Stack(App(), "Test", env=environment)

    assert account_of(stack) == (account or Aws.ACCOUNT_ID)
    assert region_of(stack) == region


def test_a_nested_stack_is_where_its_parent_is(stack: Stack) -> None:
    """
    It has no environment of its own.
    """
    nested = NestedStack(stack, "Nested")

    assert (account_of(nested), region_of(nested)) == ("111111111111", "us-east-1")
