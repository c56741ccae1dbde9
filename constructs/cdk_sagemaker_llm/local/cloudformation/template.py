"""
Reading templates, and refusing those that are none before anything is made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml
from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.models import Stack

from cdk_sagemaker_llm.local.aws.untyped import Untyped

_IAM_NAMES = {
    "AWS::IAM::Group": "GroupName",
    "AWS::IAM::InstanceProfile": "InstanceProfileName",
    "AWS::IAM::ManagedPolicy": "ManagedPolicyName",
    "AWS::IAM::Role": "RoleName",
    "AWS::IAM::User": "UserName",
}
_IAM = {*_IAM_NAMES, "AWS::IAM::AccessKey", "AWS::IAM::Policy"}
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


def parse(text: Untyped) -> dict[str, Any]:
    """
    Parse a template.
    """
    if isinstance(text, dict):
        return text
    try:
        document = Stack.parse_template(text)
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise _format_error("JSON not well-formed.") from error
    if not isinstance(document, dict):
        raise _format_error("unsupported structure.")
    resources = document.get("Resources")
    if not isinstance(resources, dict) or not resources:
        raise _format_error("At least one Resources member must be defined.")
    conditions = document.get("Conditions") or {}
    for name, body in resources.items():
        if not isinstance(body, dict) or not isinstance(body.get("Type"), str):
            raise _format_error(
                f"[/Resources/{name}] Every Resources object must contain a Type "
                "member."
            )
        condition = body.get("Condition")
        if condition is not None and condition not in conditions:
            raise _format_error(
                f"Unresolved condition dependency {condition} in the Resources block "
                "of the template"
            )
    _check_template(document)
    return document


def summary(document: dict[str, Any]) -> dict[str, Any]:
    """
    Return what ``GetTemplateSummary`` tells of a template.
    """
    types = {body["Type"] for body in document["Resources"].values()}
    acknowledged = ", ".join(sorted(types & _IAM))
    metadata, transforms = document.get("Metadata"), document.get("Transform") or []
    return {
        "Parameters": [
            _parameter(key, body)
            for key, body in (document.get("Parameters") or {}).items()
        ],
        "Description": document.get("Description"),
        "Capabilities": capabilities(document),
        "CapabilitiesReason": (
            f"The following resource(s) require capabilities: [{acknowledged}]"
            if acknowledged
            else None
        ),
        "ResourceTypes": sorted(types),
        "Version": document.get("AWSTemplateFormatVersion"),
        "Metadata": None if metadata is None else json.dumps(metadata),
        "DeclaredTransforms": [transforms]
        if isinstance(transforms, str)
        else list(transforms),
    }


def validation_answer(document: dict[str, Any]) -> dict[str, Any]:
    """
    Return what ``ValidateTemplate`` tells of a template: a part of its summary.
    """
    answer = summary(document)
    for parameter in answer["Parameters"]:
        del parameter["ParameterType"], parameter["ParameterConstraints"]
    return {
        key: answer[key]
        for key in (
            *("Parameters", "Description", "Capabilities"),
            *("CapabilitiesReason", "DeclaredTransforms"),
        )
    }


def _parameter(key: str, body: dict[str, Any]) -> dict[str, Any]:
    default = body.get("Default")
    allowed = [str(one) for one in body.get("AllowedValues", ())]
    return {
        "ParameterKey": key,
        "DefaultValue": None if default is None else str(default),
        "ParameterType": body.get("Type", "String"),
        "NoEcho": str(body.get("NoEcho", False)).lower() == "true",
        "Description": body.get("Description"),
        "ParameterConstraints": {"AllowedValues": allowed},
    }


def capabilities(document: dict[str, Any]) -> list[str]:
    """
    Name the capability that has to be acknowledged for a template, if there is one.
    """
    found = [body for body in document["Resources"].values() if body["Type"] in _IAM]
    if not found:
        return []
    has_names = any(
        _IAM_NAMES.get(body["Type"]) in (body.get("Properties") or {}) for body in found
    )
    return ["CAPABILITY_NAMED_IAM" if has_names else "CAPABILITY_IAM"]


def _format_error(what: str) -> ValidationError:
    return ValidationError(message=f"Template format error: {what}")


def _check_template(template: dict[str, Any]) -> None:
    # A template with a transform is left alone: the transform may declare what is
    # missing, and take away what is too much.
    if "Transform" in template:
        return
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
    resources = template["Resources"]
    if len(resources) > _MOST_RESOURCES:
        raise _format_error(
            f"Number of resources, {len(resources)}, is greater than maximum allowed, "
            f"{_MOST_RESOURCES}"
        )
    for name in resources:
        if not _LOGICAL_ID.fullmatch(str(name)):
            raise _format_error(f"Resource name {name} is non alphanumeric.")
    declared = {*resources, *(template.get("Parameters") or {})} | _PSEUDO_PARAMETERS
    for section in ("Resources", "Outputs"):
        _check_names(template, section, declared)


def _check_names(template: dict[str, Any], section: str, declared: set[str]) -> None:
    body = template.get(section) or {}
    for resource in _first_arguments(body, "Fn::GetAtt"):
        if resource not in template["Resources"]:
            raise ValidationError(
                message="Template error: instance of Fn::GetAtt references undefined "
                f"resource {resource}"
            )
    names = _referred(body) if section == "Outputs" else _references(body)
    missing = sorted({*names} - declared)
    if missing:
        what = (
            f"Unresolved resource dependencies [{', '.join(missing)}] in the {section} "
            "block of the template"
        )
        raise ValidationError(
            message=what if section == "Outputs" else f"Template format error: {what}"
        )
    for name in _first_arguments(body, "Fn::FindInMap"):
        if name not in (template.get("Mappings") or {}):
            raise ValidationError(
                message=f"Template error: Mapping named '{name}' is not present in the "
                "'Mappings' section of template."
            )


def _references(resources: dict[str, Any]) -> Iterator[str]:
    for body in resources.values():
        yield from _referred(body.get("Properties"))
        before = body.get("DependsOn", [])
        yield from [before] if isinstance(before, str) else before


def _referred(value: Untyped) -> Iterator[str]:
    for function, argument in functions(value):
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


def _first_arguments(value: Untyped, name: str) -> Iterator[str]:
    # The first argument of each call of a function, as far as it is written out.
    for function, argument in functions(value):
        if function == name:
            parts = argument.split(".") if isinstance(argument, str) else argument
            if isinstance(parts, list) and parts and isinstance(parts[0], str):
                yield parts[0]


def functions(value: Untyped) -> Iterator[tuple[str, Untyped]]:
    if isinstance(value, list):
        for item in value:
            yield from functions(item)
    if isinstance(value, dict):
        for key, item in value.items():
            if len(value) == 1 and (key == "Ref" or str(key).startswith("Fn::")):
                yield key, item
            yield from functions(item)
