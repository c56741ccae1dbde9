"""
Which stack a construct is in, and for which region, asked for once each.

A call into the CDK's Node process costs as much as a check (ADR 2), and the parts of
one model all ask the same. For the same reason an interface of ``aws_ec2`` is named
here by what jsii asks of it: the module takes half a second to load.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import jsii
from aws_cdk import Aws, Stack, Stage
from constructs import Construct

if TYPE_CHECKING:
    from aws_cdk import aws_ec2 as ec2

_stacks: WeakKeyDictionary[Construct, Stack] = WeakKeyDictionary()
_environments: WeakKeyDictionary[Stack, tuple[str, str]] = WeakKeyDictionary()
_stages: WeakKeyDictionary[Stack, Stage] = WeakKeyDictionary()
_folders: WeakKeyDictionary[Stage, Folders] = WeakKeyDictionary()


def belongs(construct: Construct, scope: Construct) -> None:
    """
    Remember that a construct is in its scope's stack.
    """
    _stacks[construct] = stack_of(scope)


def region_of(scope: Construct) -> str | None:
    """
    Return the region that the stack is for; ``None`` when deployment decides.
    """
    _, region = _environment_of(stack_of(scope))
    return None if region == "unknown-region" else region


def account_of(scope: Construct) -> str:
    """
    Return the account that the stack is for; a placeholder when deployment decides.
    """
    account, _ = _environment_of(stack_of(scope))
    return Aws.ACCOUNT_ID if account == "unknown-account" else account


def folders_of(scope: Construct) -> Folders:
    """
    Return where the stage of a construct's stack writes.
    """
    stage = stage_of(scope)
    if stage not in _folders:
        _folders[stage] = Folders(
            stage.node.path, Path(stage.outdir), Path(stage.asset_outdir)
        )
    return _folders[stage]


@dataclass(frozen=True, slots=True)
class Folders:
    """
    Where a stage is in the app, and where it writes: its templates and manifests, and
    its assets.
    """

    stage: str
    templates: Path
    assets: Path


def stage_of(scope: Construct) -> Stage:
    """
    Return the stage that a construct's stack is in.
    """
    stack = stack_of(scope)
    if stack not in _stages:
        stage = Stage.of(stack)
        if stage is None:
            raise ValueError(f"{scope.node.path} is in no app; define it inside one")
        _stages[stack] = stage
    return _stages[stack]


def stack_of(scope: Construct) -> Stack:
    """
    Return the stack that a construct is in.
    """
    if isinstance(scope, Stack):
        return scope
    if scope not in _stacks:
        try:
            _stacks[scope] = Stack.of(scope)
        except RuntimeError as fault:
            where = scope.node.path or "the app"
            raise ValueError(
                f"{where} is in no stack; define it inside a Stack"
            ) from fault
    return _stacks[scope]


def is_defined(construct: Construct) -> bool:
    """
    Return whether a construct is still where it was defined, and was not taken out by
    ``try_remove_child``. It asks Node several times.
    """
    scope = construct.node.scope
    if not isinstance(scope, Construct):
        return True
    found = scope.node.try_find_child(construct.node.id)
    return found is construct and is_defined(scope)


def is_defined_at(within: Construct, path: str) -> bool:
    """
    Return whether there is something at a path of a construct's app, as above.
    """
    found = within.node.root
    for name in path.split("/"):
        child = found.node.try_find_child(name)
        if child is None:
            return False
        found = child
    return True


class Connectable:
    """
    Something that ports can be opened to and from, as ``ec2.IConnectable`` is.
    """

    __jsii_type__ = "aws-cdk-lib.aws_ec2.IConnectable"

    @property
    @jsii.member(jsii_name="connections")
    def connections(self) -> ec2.Connections:
        """
        The security groups.
        """
        raise NotImplementedError


def _environment_of(stack: Stack) -> tuple[str, str]:
    """
    Ask for both at once, as ``aws://account/region`` (cx-api, EnvironmentUtils).
    """
    if stack not in _environments:
        account, region = stack.environment.removeprefix("aws://").split("/")
        _environments[stack] = (account, region)
    return _environments[stack]
