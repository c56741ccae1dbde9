"""
Which stacks import what another one exports.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from cdk_sagemaker_llm.local.cloudformation.resource import Resource
from cdk_sagemaker_llm.local.untyped import Untyped

_IMPORT = "Fn::ImportValue"


class Importer(Protocol):
    """
    A stack that may import.
    """

    name: str
    template_dict: dict[str, Any]

    @property
    def resources(self) -> dict[str, Resource]:
        """
        The resources that exist.
        """

    def resolve(self, value: Untyped) -> Untyped:
        """
        Resolve intrinsic functions.
        """


def importers(export: str, stacks: Iterable[Importer]) -> list[str]:
    """
    Name the stacks that import an export.
    """
    return sorted(
        stack.name for stack in stacks if stack.resources and export in _imported(stack)
    )


def listed(names: list[str]) -> str:
    """
    Write names as CloudFormation does: ``a, b and c``.
    """
    *rest, last = names
    return f"{', '.join(rest)} and {last}" if rest else last


def _imported(stack: Importer) -> Iterator[Untyped]:
    for section in ("Resources", "Outputs"):
        for argument in _arguments(stack.template_dict.get(section)):
            yield stack.resolve(argument)


def _arguments(value: Untyped) -> Iterator[Untyped]:
    if isinstance(value, list):
        for item in value:
            yield from _arguments(item)
    elif isinstance(value, dict):
        if _IMPORT in value:
            yield value[_IMPORT]
        for item in value.values():
            yield from _arguments(item)
