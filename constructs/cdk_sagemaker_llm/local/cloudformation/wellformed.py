"""
What CloudFormation sees in a template before it makes anything.

The words are the service's, where they are known from threads of its users.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from moto.cloudformation.exceptions import ValidationError

from cdk_sagemaker_llm.local.untyped import Untyped

_VERSION = "2010-09-09"
_MOST_RESOURCES = 500
_SECTIONS = frozenset(
    {
        "AWSTemplateFormatVersion",
        "Conditions",
        "Description",
        "Hooks",
        "Mappings",
        "Metadata",
        "Outputs",
        "Parameters",
        "Resources",
        "Rules",
        "Transform",
    }
)
_PSEUDO_PARAMETERS = frozenset(
    f"AWS::{name}"
    for name in (
        "AccountId",
        "NoValue",
        "NotificationARNs",
        "Partition",
        "Region",
        "StackId",
        "StackName",
        "URLSuffix",
    )
)
_LOGICAL_ID = re.compile(r"[A-Za-z0-9]+")
_IN_SUB = re.compile(r"\$\{\s*([^!{}][^{}]*?)\s*\}")


def check(template: dict[str, Any]) -> None:
    """
    Refuse a template that names what it does not declare, or is otherwise malformed.

    A template with a transform is left alone: the transform may declare what is
    missing, and take away what is too much.

    Raises:
        ValidationError: In the service's words.
    """
    if "Transform" in template:
        return
    _check_sections(template)
    _check_resources(template)
    declared = {*template["Resources"], *(template.get("Parameters") or {})}
    for section in ("Resources", "Outputs"):
        _check_names(template, section, declared | _PSEUDO_PARAMETERS)


def _check_sections(template: dict[str, Any]) -> None:
    unknown = [str(name) for name in template if name not in _SECTIONS]
    if unknown:
        raise ValidationError(
            message=f"Invalid template property or properties [{', '.join(unknown)}]"
        )
    version = str(template.get("AWSTemplateFormatVersion", _VERSION))
    if version != _VERSION:
        raise _format_error(
            f"{version} is not a supported value for AWSTemplateFormatVersion."
        )


def _check_resources(template: dict[str, Any]) -> None:
    resources = template["Resources"]
    if len(resources) > _MOST_RESOURCES:
        raise _format_error(
            f"Number of resources, {len(resources)}, is greater than maximum allowed, "
            f"{_MOST_RESOURCES}"
        )
    for name in resources:
        if not _LOGICAL_ID.fullmatch(str(name)):
            raise _format_error(f"Resource name {name} is non alphanumeric.")


def _check_names(template: dict[str, Any], section: str, declared: set[str]) -> None:
    body = template.get(section) or {}
    for resource in (part[0] for part in _arguments(body, "Fn::GetAtt") if part):
        if resource not in template["Resources"]:
            raise ValidationError(
                message="Template error: instance of Fn::GetAtt references undefined "
                f"resource {resource}"
            )
    named = _referred(body) if section == "Outputs" else _needed(body)
    missing = sorted({name for name in named if name not in declared})
    if missing:
        what = (
            f"Unresolved resource dependencies [{', '.join(missing)}] in the {section} "
            "block of the template"
        )
        raise ValidationError(
            message=what if section == "Outputs" else f"Template format error: {what}"
        )
    for name in (part[0] for part in _arguments(body, "Fn::FindInMap") if part):
        if name not in (template.get("Mappings") or {}):
            raise ValidationError(
                message=f"Template error: Mapping named '{name}' is not present in the "
                "'Mappings' section of template."
            )


def _needed(resources: dict[str, Any]) -> Iterator[str]:
    for body in resources.values():
        yield from _referred(body.get("Properties"))
        before = body.get("DependsOn", [])
        yield from [before] if isinstance(before, str) else before


def _referred(value: Untyped) -> Iterator[str]:
    for function, argument in _functions(value):
        if function == "Ref" and isinstance(argument, str):
            yield argument
        if function == "Fn::Sub":
            yield from _substituted(argument)


def _substituted(argument: Untyped) -> Iterator[str]:
    text, own = argument, {}
    if isinstance(argument, list) and len(argument) == 2:  # noqa: PLR2004 - its form
        text, own = argument
    if not isinstance(text, str) or not isinstance(own, dict):
        return
    for name in _IN_SUB.findall(text):
        if name not in own:
            yield name.split(".")[0]


def _arguments(value: Untyped, wanted: str) -> Iterator[list[str]]:
    # The arguments of a function, as far as they are written out.
    for function, argument in _functions(value):
        if function == wanted:
            parts = argument.split(".") if isinstance(argument, str) else argument
            if isinstance(parts, list) and parts and isinstance(parts[0], str):
                yield parts


def _functions(value: Untyped) -> Iterator[tuple[str, Untyped]]:
    if isinstance(value, list):
        for item in value:
            yield from _functions(item)
    if isinstance(value, dict):
        for key, item in value.items():
            if len(value) == 1 and (key == "Ref" or str(key).startswith("Fn::")):
                yield key, item
            yield from _functions(item)


def _format_error(what: str) -> ValidationError:
    return ValidationError(message=f"Template format error: {what}")
