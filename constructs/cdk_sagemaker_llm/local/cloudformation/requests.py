"""
What CloudFormation sees in a request: names, capabilities, parameters and pages.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, TypeVar

from moto.cloudformation.exceptions import CloudFormationError, ValidationError

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.cloudformation import template
from cdk_sagemaker_llm.local.cloudformation.resource import scalar_text

_NAME = "[a-zA-Z][-a-zA-Z0-9]*"
_LONGEST_NAME = 128
_LONGEST_BODY = 51_200
_HIDDEN = "****"
_PAGE = 100  # The service's own pages are of 1 MB.
_Item = TypeVar("_Item")


class InsufficientCapabilities(CloudFormationError):  # noqa: N818 - the service's name
    """
    The code by which deployment tools know that a capability is missing.
    """

    code = "InsufficientCapabilitiesException"


def check_name(name: str) -> None:
    """
    Refuse a name that no new stack can have.
    """
    faults = []
    if not re.fullmatch(_NAME, name):
        faults.append(f"Member must satisfy regular expression pattern: {_NAME}")
    if len(name) > _LONGEST_NAME:
        faults.append(f"Member must have length less than or equal to {_LONGEST_NAME}")
    _refuse("stackName", name, faults)


def check_body(body: str) -> None:
    """
    Refuse a template that is too long to be sent; it would have to lie in S3.
    """
    if len(body.encode()) > _LONGEST_BODY:
        rule = f"Member must have length less than or equal to {_LONGEST_BODY}"
        _refuse("templateBody", body, [rule])


def check_capabilities(body: str, acknowledged: Collection[str]) -> None:
    """
    Refuse a template that makes roles and their like, if nobody has agreed to it.
    """
    capabilities = template.capabilities(template.parse(body))
    enough = {"CAPABILITY_NAMED_IAM", *capabilities}
    if capabilities and enough.isdisjoint(acknowledged):
        raise InsufficientCapabilities(f"Requires capabilities : [{capabilities[0]}]")


def _refuse(member: str, value: str, faults: list[str]) -> None:
    if faults:
        count = "1 validation error" if len(faults) == 1 else "2 validation errors"
        faults_text = "; ".join(
            f"Value '{value}' at '{member}' failed to satisfy constraint: {fault}"
            for fault in faults
        )
        raise ValidationError(message=f"{count} detected: {faults_text}")


def check_parameters(template: dict[str, Any], values: dict[str, Untyped]) -> None:
    """
    Refuse values that the template's parameters do not allow.
    """
    declared = template.get("Parameters") or {}
    unknown = [name for name in values if name not in declared]
    if unknown:
        listed = ", ".join(unknown)
        raise ValidationError(
            message=f"Parameters: [{listed}] do not exist in the template"
        )
    missing = [
        name
        for name, body in declared.items()
        if name not in values and body.get("Default") is None
    ]
    if missing:
        listed = ", ".join(missing)
        raise ValidationError(message=f"Parameters: [{listed}] must have values")
    for name, body in declared.items():
        _check_value(name, body, scalar_text(values.get(name, body.get("Default"))))


def parameters_as_given(
    template: dict[str, Any], values: dict[str, Untyped]
) -> dict[str, Untyped]:
    """
    Return parameters with the defaults of lists, as text without spaces.

    moto splits a list that is given and leaves a default as it is written.
    """
    parameters = dict(values)
    for name, body in (template.get("Parameters") or {}).items():
        if is_list_type(body):
            text = scalar_text(values.get(name, body.get("Default")))
            parameters[name] = ",".join(part.strip() for part in text.split(","))
        elif isinstance(body.get("Default"), bool) and name not in values:
            parameters[name] = scalar_text(body["Default"])
    return parameters


def is_list_type(body: dict[str, Any]) -> bool:
    kind = str(body.get("Type"))
    return kind == "CommaDelimitedList" or kind.startswith("List<")


def shown_parameter(
    template: dict[str, Any], values: dict[str, Untyped]
) -> dict[str, Untyped]:
    """
    Return parameters as they are shown, without those that are not to be echoed.
    """
    declared = template.get("Parameters") or {}
    return {
        name: _HIDDEN
        if scalar_text(declared.get(name, {}).get("NoEcho", False)) == "true"
        else value
        for name, value in values.items()
    }


def _check_value(name: str, body: dict[str, Any], value: str) -> None:
    kind = str(body.get("Type"))
    if kind.startswith("AWS::SSM::"):
        # The constraints are on what is read, which the service does not check either.
        return
    members = [value]
    if is_list_type(body):
        members = [part.strip() for part in value.split(",")] if value else []
    for one in members:
        for reason in _faults(kind, body, one):
            rule = body.get("ConstraintDescription")
            raise ValidationError(
                message=f"Parameter {name} failed to satisfy constraint: {rule}"
                if rule
                else f"Parameter '{name}' must {reason}"
            )


def _faults(kind: str, body: dict[str, Any], value: str) -> Iterator[str]:
    if "AllowedValues" in body and value not in map(scalar_text, body["AllowedValues"]):
        yield "be one of AllowedValues"
    pattern = body.get("AllowedPattern")
    if pattern is not None and not _matches(str(pattern), value):
        yield f"match pattern {pattern}"
    if kind == "String":
        if len(value) < int(body.get("MinLength", 0)):
            yield f"contain at least {body['MinLength']} characters"
        if len(value) > int(body.get("MaxLength", len(value))):
            yield f"contain at most {body['MaxLength']} characters"
    if kind in {"Number", "List<Number>"}:
        yield from _number_faults(body, value)


def _number_faults(body: dict[str, Any], value: str) -> Iterator[str]:
    try:
        number = float(value)
    except ValueError:
        yield "be a number"
        return
    if number < float(body.get("MinValue", number)):
        yield f"be a number not less than {body['MinValue']}"
    if number > float(body.get("MaxValue", number)):
        yield f"be a number not greater than {body['MaxValue']}"


def _matches(pattern: str, value: str) -> bool:
    try:
        return re.fullmatch(pattern, value) is not None
    except re.error:
        # A pattern of Java's that Python does not read.
        return True


def page(
    items: list[_Item], token: str | None, size: int | None = None
) -> tuple[list[_Item], str | None]:
    """
    Return the page that a token asks for, and the token of the next if there is one.
    """
    if token is not None and not token.isdecimal():
        raise ValidationError(message=f"Invalid NextToken: {token}")
    start = int(token or 0)
    end = start + (size or _PAGE)
    return items[start:end], str(end) if end < len(items) else None
