"""
The shapes that a manifest and a template must have, before anything reads them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.cli.app.terraform import is_plan

MANIFEST = "manifest.json"
# Where the variables of containers are, by the resource's type.
_VARIABLES: Mapping[str, list[str]] = {
    "AWS::SageMaker::Model": ["PrimaryContainer", "Environment"],
    "AWS::SageMaker::InferenceComponent": ["Specification", "Container", "Environment"],
}
# What a property of a resource holds, by the resource's type and the way to it.
_PROPERTIES: Mapping[str, Mapping[str, type]] = {
    "AWS::SageMaker::Model": {
        "PrimaryContainer": dict,
        "PrimaryContainer.Environment": dict,
        "PrimaryContainer.ModelDataSource": dict,
        "PrimaryContainer.ModelDataSource.S3DataSource": dict,
        "Containers": list,
    },
    "AWS::SageMaker::InferenceComponent": {
        "Specification": dict,
        "Specification.ComputeResourceRequirements": dict,
        "Specification.Container": dict,
        "Specification.Container.Environment": dict,
        "RuntimeConfig": dict,
    },
    "AWS::SageMaker::EndpointConfig": {"ProductionVariants": list},
    "AWS::CloudFormation::Stack": {"Parameters": dict},
}
_KINDS: Mapping[type, str] = {dict: "a map", list: "a list", str: "text"}
_TWO = 2


class AssemblyError(ValueError):
    """
    A folder is no cloud assembly, or not one that can be read.
    """


def is_assembly(path: Path) -> bool:
    """
    Whether a folder is what ``cdk synth`` writes.
    """
    return (path / MANIFEST).is_file()


def is_template(path: Path) -> bool:
    """
    Whether a file is a template in JSON, or a Terraform plan.
    """
    if path.suffix not in {".json", ".template"}:
        return False
    try:
        content = read_json(path)
    except AssemblyError:
        return False
    return isinstance(content.get("Resources"), dict) or is_plan(content)


def read_json(path: Path) -> dict[str, Any]:
    """
    Read a file that holds one JSON object.
    """
    try:
        # Bytes: a shell on Windows redirects in UTF-16, which JSON tells by itself.
        content = json.loads(path.read_bytes(), parse_constant=_no_number)
    except FileNotFoundError as fault:
        raise AssemblyError(f"{path} is missing") from fault
    except OSError as fault:
        raise AssemblyError(f"{path} cannot be read: {fault.strerror}") from fault
    except RecursionError as fault:
        raise AssemblyError(f"{path} is no JSON: it is nested too deeply") from fault
    except ValueError as fault:
        raise AssemblyError(f"{path} is no JSON: {fault}") from fault
    if not isinstance(content, dict):
        raise AssemblyError(f"{path} holds no JSON object")
    return content


def map_in(holder: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    """
    Return what a key holds, which must be a map; an empty one where it is omitted.
    """
    found: dict[str, Any] = _of_kind(holder.get(key, {}), dict, f"{where}: {key}")
    return found


def text_in(holder: Mapping[str, Any], key: str, where: str) -> str:
    """
    Return what a key holds, which must be text.
    """
    found: str = _of_kind(holder.get(key), str, f"{where}: {key}")
    return found


def check_resource(resource: object, where: str) -> None:
    """
    Check a resource as far as this command reads it.
    """
    one: dict[str, Any] = _of_kind(resource, dict, where)
    kind = one.get("Type", "")
    _of_kind(kind, str, f"{where}.Type")
    properties = map_in(one, "Properties", where)
    map_in(one, "Metadata", where)
    inner = f"{where}.Properties"
    for way, json_type in _PROPERTIES.get(kind, {}).items():
        _check_way(properties, way.split("."), json_type, inner)
    variants = properties.get("ProductionVariants", [])
    if kind == "AWS::SageMaker::EndpointConfig" and isinstance(variants, list):
        for index, variant in enumerate(variants):
            place = f"{inner}.ProductionVariants.{index}"
            map_in(_of_kind(variant, dict, place), "ManagedInstanceScaling", place)
    _check_variables(properties, _VARIABLES.get(kind, ()), inner)
    check_intrinsics(properties, inner)


def check_intrinsics(value: object, where: str) -> None:
    """
    Check the intrinsic functions in a value, however deep.
    """
    for path, name, argument in _intrinsics(value, where):
        expected, fits = _ARGUMENTS[name]
        if not fits(argument):
            raise AssemblyError(f"{path}: {name} must be {expected}")


def is_intrinsic(value: object) -> bool:
    """
    Whether a value is what CloudFormation computes.
    """
    if not isinstance(value, Mapping) or len(value) != 1:
        return False
    (name,) = value
    return name in ("Ref", "Condition") or name.startswith("Fn::")


def kind_of(value: object) -> str:
    """
    Say what a JSON value is.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    return _KINDS.get(type(value), "a number")


def text_of(value: object) -> str:
    """
    Write a template's value for a reader, with the references left as ``${...}``.
    """
    if not isinstance(value, Mapping):
        return str(value)
    if "Fn::Join" in value:
        separator, parts = value["Fn::Join"]
        if not isinstance(parts, list):
            return "${...}"
        return str(separator).join(map(text_of, parts))
    if "Fn::Sub" in value:
        sub = value["Fn::Sub"]
        return str(sub if isinstance(sub, str) else sub[0])
    if "Fn::GetStackOutput" in value:
        words = value["Fn::GetStackOutput"]
        return f"${{{text_of(words['StackName'])}.{text_of(words['OutputName'])}}}"
    target = value.get("Ref", value.get("Fn::GetAtt"))
    name = target[0] if isinstance(target, list) else target
    return f"${{{str(name).split('.')[0] if name is not None else '...'}}}"


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _of_kind(value: object, json_type: type, where: str) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, json_type):
        return value
    raise AssemblyError(f"{where} must be {_KINDS[json_type]}, got {kind_of(value)}")


def _check_way(
    holder: Mapping[str, Any], way: list[str], json_type: type, where: str
) -> None:
    key, *rest = way
    if key not in holder or is_intrinsic(holder[key]):
        return
    inner = f"{where}.{key}"
    value = _of_kind(holder[key], dict if rest else json_type, inner)
    if rest:
        _check_way(value, rest, json_type, inner)


def _check_variables(holder: Mapping[str, Any], way: Sequence[str], where: str) -> None:
    for key in way:
        holder, where = holder.get(key, {}), f"{where}.{key}"
        if is_intrinsic(holder):
            return
    # CloudFormation turns numbers and switches into text, and nothing else.
    for name, value in holder.items() if way else ():
        is_nested = isinstance(value, dict | list) and not is_intrinsic(value)
        if value is None or is_nested:
            _of_kind(value, str, f"{where}.{name}")


def _intrinsics(value: object, where: str) -> Iterator[tuple[str, str, object]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in _ARGUMENTS and len(value) == 1:
                yield where, key, inner
            yield from _intrinsics(inner, f"{where}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _intrinsics(inner, f"{where}.{index}")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_attribute(value: object) -> bool:
    if isinstance(value, str):
        return "." in value
    is_pair = isinstance(value, list) and len(value) == _TWO
    return is_pair and isinstance(value[0], str)  # type: ignore[index] # a list


def _is_join(value: object) -> bool:
    if not isinstance(value, list) or len(value) != _TWO:
        return False
    separator, parts = value
    return isinstance(separator, str) and (
        isinstance(parts, list) or is_intrinsic(parts)
    )


def _is_stack_output(value: object) -> bool:
    return isinstance(value, dict) and {"StackName", "OutputName"} <= value.keys()


def _is_sub(value: object) -> bool:
    if isinstance(value, str):
        return True
    if not isinstance(value, list) or len(value) != _TWO:
        return False
    return isinstance(value[0], str) and isinstance(value[1], dict)


_ARGUMENTS: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "Ref": ("a logical id", _is_text),
    "Fn::GetAtt": ("a logical id and an attribute", _is_attribute),
    "Fn::GetStackOutput": ("a map with StackName and OutputName", _is_stack_output),
    "Fn::Join": ("a separator and a list", _is_join),
    "Fn::Sub": ("text, or text and a map", _is_sub),
}
