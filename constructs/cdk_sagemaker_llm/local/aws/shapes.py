"""
Checking requests against botocore's own service models, as the services do.

The models are what keeps instance types, enumerations and bounds current: nothing
of the kind is written down here.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cdk_sagemaker_llm.local.aws.errors import AwsError, validation
from cdk_sagemaker_llm.local.aws.untyped import Untyped

if TYPE_CHECKING:
    from botocore.model import ServiceModel, Shape

TAG_OPERATIONS = frozenset({"AddTags", "ListTags", "DeleteTags"})
"""Those of SageMaker on tags, whatever has them."""

_NUMBERS = {"integer", "long", "float", "double"}
# In the order of the services' messages, where it is known and not that of the model.
_LISTED = {"PolicyType": ("PredictiveScaling", "StepScaling", "TargetTrackingScaling")}


@functools.cache
def service_model(service: str) -> ServiceModel:
    """
    Load a service's model, once.
    """
    from botocore.session import get_session  # noqa: PLC0415 - 0.1 s, server only

    return get_session().get_service_model(service)


@functools.cache
def input_shape(service: str, operation: str) -> Shape | None:
    """
    Return the shape of an operation's request.
    """
    return service_model(service).operation_model(operation).input_shape


def check(service: str, operation: str, request: dict[str, Any]) -> None:
    """
    Refuse a request that breaks the operation's model: a member that is missing, of a
    wrong type or out of bounds; all faults together, in the words the services use.
    """
    faults = list(_faults(input_shape(service, operation), request, ""))
    if faults:
        plural = "s" if len(faults) > 1 else ""
        raise validation(
            f"{len(faults)} validation error{plural} detected: {'; '.join(faults)}"
        )


def has_operation(service: str, operation: str) -> bool:
    """
    Tell whether a service's API has an operation.
    """
    return operation in _operations(service)


@functools.cache
def _operations(service: str) -> frozenset[str]:
    return frozenset(service_model(service).operation_names)


def refuse_wrong_types(service: str, operation: str, request: dict[str, Any]) -> None:
    """
    Refuse a request whose members are of types that the API cannot read, by a
    ``SerializationException``, which comes before any other check.
    """
    for fault in _wrong_types(input_shape(service, operation), request):
        raise AwsError("SerializationException", fault)


def coerce(shape: Untyped, value: Untyped) -> Untyped:
    """
    Turn a template's value into the type the API wants, as CloudFormation does.

    Templates may carry numbers and booleans as strings, and the other way round.
    """
    if shape.type_name == "structure" and isinstance(value, dict):
        return {
            key: coerce(shape.members[key], item) if key in shape.members else item
            for key, item in value.items()
        }
    if shape.type_name == "map" and isinstance(value, dict):
        return {key: coerce(shape.value, item) for key, item in value.items()}
    if shape.type_name == "list" and isinstance(value, list):
        return [coerce(shape.member, item) for item in value]
    return _coerce_scalar(shape.type_name, value)


def unknown_members(shape: Untyped, value: Untyped, path: str = "#") -> Iterator[str]:
    """
    Name the members that the shape does not have, as CloudFormation names them.
    """
    if shape.type_name == "structure" and isinstance(value, dict):
        for key, item in value.items():
            if key in shape.members:
                yield from unknown_members(shape.members[key], item, f"{path}/{key}")
            else:
                yield f"{path}: extraneous key [{key}] is not permitted"
    elif shape.type_name == "list" and isinstance(value, list):
        for index, item in enumerate(value):
            yield from unknown_members(shape.member, item, f"{path}/{index}")


def _coerce_scalar(type_name: str, value: Untyped) -> Untyped:
    if type_name == "string" and isinstance(value, bool):
        return str(value).lower()
    if type_name == "string" and isinstance(value, int | float):
        return str(value)
    if type_name == "boolean" and value in ("true", "false"):
        return value == "true"
    if type_name in _NUMBERS and isinstance(value, str):
        try:
            return float(value) if type_name in {"float", "double"} else int(value)
        except ValueError:
            return value
    return value


_KINDS: dict[str, tuple[type, ...]] = {
    "structure": (dict,),
    "map": (dict,),
    "list": (list,),
    "string": (str,),
    "blob": (str,),
    "boolean": (bool,),
    # In CBOR it is a moment.
    "timestamp": (int, float, str, dt.datetime),
    "integer": (int,),
    "long": (int,),
    "float": (int, float),
    "double": (int, float),
}
# As JSON has none of them; Smithy's awsJson1_1, "shape serialization".
_NO_FINITE = frozenset({"NaN", "Infinity", "-Infinity"})
_FOUND = {int: "NUMBER_VALUE", float: "NUMBER_VALUE"}


def _wrong_types(shape: Untyped, value: Untyped) -> Iterator[str]:
    if shape is None or value is None or _is_no_finite(shape, value):
        return
    expected: Untyped = _KINDS[shape.type_name]
    # A boolean is an integer to Python, and to no service.
    if not isinstance(value, expected) or (
        isinstance(value, bool) > (bool in expected)
    ):
        yield _not_convertible(shape.type_name, value)
    elif shape.type_name == "structure":
        for name, item in value.items():
            if name in shape.members:
                yield from _wrong_types(shape.members[name], item)
    elif shape.type_name == "map":
        for item in value.values():
            yield from _wrong_types(shape.value, item)
    elif shape.type_name == "list":
        for item in value:
            yield from _wrong_types(shape.member, item)


def _is_no_finite(shape: Untyped, value: Untyped) -> bool:
    is_text = isinstance(value, str) and value in _NO_FINITE
    return is_text and shape.type_name in {"float", "double"}


def _not_convertible(type_name: str, value: Untyped) -> str:
    # The words of the services' JSON reader.
    if isinstance(value, dict):
        return "Start of structure or map found where not expected."
    if isinstance(value, list):
        return "Start of list found where not expected"
    if type_name in {"structure", "map", "list"}:
        return "Unexpected field type"
    found = _FOUND.get(type(value), "STRING_VALUE")
    found = str(value).upper() if isinstance(value, bool) else found
    kind = {"integer": "an Integer", "long": "a Long"}.get(type_name)
    return f"{found} can not be converted to {kind or 'a ' + type_name.title()}"


def _faults(shape: Untyped, value: Untyped, path: str) -> Iterator[str]:
    if shape is None:
        return
    if value is None:
        yield _fault(None, path, "Member must not be null")
    elif shape.type_name == "structure" and isinstance(value, dict):
        yield from _structure_faults(shape, value, path)
    elif shape.type_name == "list" and isinstance(value, list):
        yield from _bounds(shape, len(value), value, path, "length")
        for index, item in enumerate(value, start=1):
            yield from _faults(shape.member, item, f"{path}.{index}.member")
    elif shape.type_name == "map" and isinstance(value, dict):
        yield from _bounds(shape, len(value), value, path, "length")
        for key, item in value.items():
            yield from _faults(shape.key, key, f"{path}.{key}.key")
            yield from _faults(shape.value, item, f"{path}.{key}.value")
    else:
        yield from _scalar_faults(shape, value, path)


def _scalar_faults(shape: Untyped, value: Untyped, path: str) -> Iterator[str]:
    if shape.type_name == "string" and isinstance(value, str):
        yield from _string_faults(shape, value, path)
    elif shape.type_name in _NUMBERS and isinstance(value, int | float):
        yield from _bounds(shape, value, value, path, "value")
    elif shape.type_name not in {"boolean", "timestamp", "blob"}:
        yield _fault(value, path, f"Member must be of type {shape.type_name}")


def _structure_faults(
    shape: Untyped, value: dict[str, Any], path: str
) -> Iterator[str]:
    for name in shape.required_members:
        if value.get(name) is None:
            yield _fault(None, _join(path, name), "Member must not be null")
    for name, item in value.items():
        if name in shape.members and item is not None:
            yield from _faults(shape.members[name], item, _join(path, name))


def _string_faults(shape: Untyped, value: str, path: str) -> Iterator[str]:
    yield from _bounds(shape, len(value), value, path, "length")
    if shape.enum and value not in shape.enum:
        allowed = f"[{', '.join(_LISTED.get(shape.name, shape.enum))}]"
        yield _fault(value, path, f"Member must satisfy enum value set: {allowed}")
    pattern = shape.metadata.get("pattern", "")
    compiled = _compiled(pattern)
    if compiled and not compiled.fullmatch(value):
        rule = f"Member must satisfy regular expression pattern: {pattern}"
        yield _fault(value, path, rule)


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str] | None:
    # The patterns are Java's; the few that Python does not read are let pass.
    try:
        return re.compile(pattern, re.DOTALL) if pattern else None
    except re.error:
        return None


def _bounds(
    shape: Untyped, size: float, value: Untyped, path: str, noun: str
) -> Iterator[str]:
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if least is not None and size < least:
        rule = f"Member must have {noun} greater than or equal to {least}"
        yield _fault(value, path, rule)
    if most is not None and size > most:
        rule = f"Member must have {noun} less than or equal to {most}"
        yield _fault(value, path, rule)


def _fault(value: Untyped, path: str, rule: str) -> str:
    text = "null" if value is None else f"'{value}'"
    return f"Value {text} at '{path}' failed to satisfy constraint: {rule}"


def _join(path: str, name: str) -> str:
    member = name[0].lower() + name[1:]
    return f"{path}.{member}" if path else member
