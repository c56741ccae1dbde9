"""
Functions of templates that moto's resolver lacks, or gets wrong.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any

from moto.cloudformation.exceptions import ValidationError

from cdk_sagemaker_llm.local.untyped import Untyped

_NOTIFICATIONS = {"Ref": "AWS::NotificationARNs"}
_ADDRESS_BITS = {4: 32, 6: 128}


def replaced(
    value: Untyped, resolve: Callable[[Untyped], Untyped], zones: list[str]
) -> Untyped:
    """
    Put the results of those functions in their places.

    Args:
        value: A part of a template.

        resolve: What resolves the arguments.

        zones: The availability zones of the stack's region.
    """
    if isinstance(value, list):
        return [replaced(item, resolve, zones) for item in value]
    if not isinstance(value, dict):
        return value
    if "Fn::GetAZs" in value:
        # moto makes zones out of whatever stands in it, a Ref included.
        return zones
    if value == _NOTIFICATIONS:
        return []
    for name, function in _FUNCTIONS.items():
        if name in value:
            return function(resolve(value[name]))
    inside = {key: replaced(item, resolve, zones) for key, item in value.items()}
    _check_selection(inside, resolve)
    return inside


def _blocks(arguments: list[Any]) -> list[str]:
    block, count = ipaddress.ip_network(arguments[0]), int(arguments[1])
    bits = int(arguments[2]) if len(arguments) > 2 else 8  # noqa: PLR2004 - optional
    prefix = _ADDRESS_BITS[block.version] - bits
    subnets = block.subnets(new_prefix=prefix)
    return [str(subnet) for subnet, _ in zip(subnets, range(count), strict=False)]


def _check_selection(value: dict[str, Any], resolve: Callable[..., Untyped]) -> None:
    if "Fn::Select" not in value:
        return
    index, items = value["Fn::Select"]
    found = resolve(items)
    position = int(resolve(index))
    if isinstance(found, list) and not 0 <= position < len(found):
        raise ValidationError(
            message="Template error: Fn::Select cannot select nonexistent value at "
            f"index {position}"
        )


_FUNCTIONS: dict[str, Callable[[Untyped], Untyped]] = {
    "Fn::Cidr": _blocks,
    "Fn::Length": len,
}
