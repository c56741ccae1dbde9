"""
The parameters of a template, and the values they may have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from moto.cloudformation.exceptions import ValidationError

from cdk_sagemaker_llm.local.untyped import Untyped

_HIDDEN = "****"


def check(template: dict[str, Any], given: dict[str, Untyped]) -> None:
    """
    Refuse values that the template's parameters do not allow.

    Raises:
        ValidationError: In the service's words.
    """
    declared = template.get("Parameters") or {}
    unknown = [name for name in given if name not in declared]
    if unknown:
        listed = ", ".join(unknown)
        raise ValidationError(
            message=f"Parameters: [{listed}] do not exist in the template"
        )
    missing = [
        name
        for name, body in declared.items()
        if name not in given and body.get("Default") is None
    ]
    if missing:
        listed = ", ".join(missing)
        raise ValidationError(message=f"Parameters: [{listed}] must have values")
    for name, body in declared.items():
        _check_value(name, body, text(given.get(name, body.get("Default"))))


def as_given(template: dict[str, Any], given: dict[str, Untyped]) -> dict[str, Untyped]:
    """
    Return parameters with the defaults of lists, as text without spaces.

    moto splits a list that is given and leaves a default as it is written.
    """
    taken = dict(given)
    for name, body in (template.get("Parameters") or {}).items():
        if is_list(body):
            written = text(given.get(name, body.get("Default")))
            taken[name] = ",".join(part.strip() for part in written.split(","))
        elif isinstance(body.get("Default"), bool) and name not in given:
            taken[name] = text(body["Default"])
    return taken


def is_list(body: dict[str, Any]) -> bool:
    """
    Tell whether a parameter is a list, written as one text.
    """
    kind = str(body.get("Type"))
    return kind == "CommaDelimitedList" or kind.startswith("List<")


def shown(template: dict[str, Any], values: dict[str, Untyped]) -> dict[str, Untyped]:
    """
    Return parameters as they are shown: none that is not to be echoed.
    """
    declared = template.get("Parameters") or {}
    return {
        name: _HIDDEN
        if text(declared.get(name, {}).get("NoEcho", False)) == "true"
        else value
        for name, value in values.items()
    }


def text(value: Untyped) -> str:
    """
    Write a value of a template as text: a truth value in small letters.
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_value(name: str, body: dict[str, Any], value: str) -> None:
    kind = str(body.get("Type"))
    if kind.startswith("AWS::SSM::"):
        # The constraints are on what is read, which the service does not check either.
        return
    members = [value]
    if is_list(body):
        members = [part.strip() for part in value.split(",")] if value else []
    for one in members:
        for reason in _faults(kind, body, one):
            told = body.get("ConstraintDescription")
            raise ValidationError(
                message=f"Parameter {name} failed to satisfy constraint: {told}"
                if told
                else f"Parameter '{name}' must {reason}"
            )


def _faults(kind: str, body: dict[str, Any], value: str) -> Iterator[str]:
    if "AllowedValues" in body and value not in map(text, body["AllowedValues"]):
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
