"""
What a stack writes, whole and readable, to compare with what is expected.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from aws_cdk import Stack
from aws_cdk.assertions import Annotations, Match, Template

ASSET_HASH = "<asset hash>"


def written(stack: Stack, *kinds: str) -> dict[str, Any]:
    """
    Return every resource of a stack, by its logical id without the hash at its end.

    References read as in ``Fn::Sub``: ``${Role.Arn}``, ``arn:${AWS::Partition}:s3:::``.

    Args:
        stack: The stack.

        kinds: The types to return, such as ``SageMaker::Model``; all if there are none.
    """
    template = Template.from_stack(stack).to_json()
    resources = template.get("Resources", {})
    text = re.sub(r"\b[0-9a-f]{64}\b", ASSET_HASH, json.dumps(resources))
    for logical_id in (*resources, *template.get("Mappings", {})):
        text = text.replace(f'"{logical_id}"', f'"{_readable(logical_id)}"')
    found: dict[str, Any] = _joined(json.loads(text))
    assert len(found) == len(resources), "two resources have the same readable id"
    return {
        name: resource
        for name, resource in found.items()
        if not kinds or resource["Type"].removeprefix("AWS::") in kinds
    }


def awaited_in(stack: Stack, kind: str) -> list[list[str]]:
    """
    Return what each resource of a type waits for, without the hashes of the names.
    """
    return [
        sorted(re.sub(r"[0-9A-Fa-f]{8}$", "", name) for name in each["DependsOn"])
        for each in written(stack, kind).values()
    ]


def properties_of(stack: Stack, kind: str) -> dict[str, Any]:
    """
    Return all properties of a stack's only resource of a type.
    """
    (resource,) = written(stack, kind).values()
    properties: dict[str, Any] = resource["Properties"]
    return properties


def warnings_of(stack: Stack) -> list[tuple[str, str]]:
    """
    Return path and text of every warning of the library's.
    """
    ours = Match.string_like_regexp("cdk-sagemaker-llm")
    found = Annotations.from_stack(stack).find_warning("*", ours)
    return sorted((each.id, str(each.entry.data)) for each in found)


def codes_of(stack: Stack) -> list[tuple[str, str]]:
    """
    Return path and code of every warning of the library's.
    """
    return [(path, text[-7:-1]) for path, text in warnings_of(stack)]


def keywords_of(callable_: Callable[..., object]) -> set[str]:
    """
    Return the keywords that a construct or method takes.
    """
    return {
        name
        for name, one in inspect.signature(callable_).parameters.items()
        if one.kind is inspect.Parameter.KEYWORD_ONLY
    }


def required_keywords_of(callable_: Callable[..., object]) -> set[str]:
    """
    Return the keywords that must be given.
    """
    parameters = inspect.signature(callable_).parameters
    empty = inspect.Parameter.empty
    return {n for n in keywords_of(callable_) if parameters[n].default is empty}


def left_at_default(
    callable_: Callable[..., object], given: Mapping[str, object]
) -> set[str]:
    """
    Return the keywords that are not given, or given their default.
    """
    parameters = inspect.signature(callable_).parameters
    return {
        name
        for name in keywords_of(callable_)
        if name not in given or given[name] == parameters[name].default
    }


def fields_at_default(value: Any) -> set[str]:  # noqa: ANN401 - any dataclass
    """
    Return the fields of a dataclass that have their default.
    """
    return {f.name for f in fields(value) if getattr(value, f.name) == f.default}


def _readable(logical_id: str) -> str:
    return re.sub(r"[0-9A-F]{8}\Z", "", logical_id)


def _joined(value: Any) -> Any:  # noqa: ANN401 - a template is any JSON
    if isinstance(value, list):
        return [_joined(each) for each in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"Ref": name}:
            return f"${{{name}}}"
        case {"Fn::GetAtt": [name, attribute]}:
            return f"${{{name}.{attribute}}}"
    inside = {key: _joined(each) for key, each in value.items()}
    match inside:
        case {"Fn::Join": ["", parts]} if all(isinstance(p, str) for p in parts):
            return "".join(parts)
    return inside
