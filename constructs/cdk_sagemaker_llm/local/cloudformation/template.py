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
    check_template(document)
    return document


def summary(document: dict[str, Any]) -> dict[str, Any]:
    """
    Return what ``GetTemplateSummary`` tells of a template.
    """
    bodies = document["Resources"].values()
    capability_names = capabilities(document)
    return {
        "Parameters": parameters(document),
        "Description": document.get("Description"),
        "Capabilities": capability_names,
        "CapabilitiesReason": capabilities_reason(document)
        if capability_names
        else None,
        "ResourceTypes": sorted({body["Type"] for body in bodies}),
        "Version": document.get("AWSTemplateFormatVersion"),
        "Metadata": json.dumps(document["Metadata"])
        if "Metadata" in document
        else None,
        "DeclaredTransforms": _transforms(document),
    }


def validation_answer(body: dict[str, Any]) -> dict[str, Any]:
    """
    Return what ``ValidateTemplate`` tells of a template.
    """
    members = ("ParameterKey", "DefaultValue", "NoEcho", "Description")
    answer = summary(body)
    return {
        "Parameters": [
            {key: value for key, value in parameter.items() if key in members}
            for parameter in answer["Parameters"]
        ],
        **{
            key: answer[key]
            for key in (
                "Description",
                "Capabilities",
                "CapabilitiesReason",
                "DeclaredTransforms",
            )
        },
    }


def parameters(template: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "ParameterKey": key,
            "DefaultValue": _text(body.get("Default")),
            "ParameterType": body.get("Type", "String"),
            "NoEcho": str(body.get("NoEcho", False)).lower() == "true",
            "Description": body.get("Description"),
            "ParameterConstraints": {
                "AllowedValues": [str(one) for one in body.get("AllowedValues", ())]
            },
        }
        for key, body in (template.get("Parameters") or {}).items()
    ]


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


def capabilities_reason(document: dict[str, Any]) -> str:
    bodies = document["Resources"].values()
    found = sorted({body["Type"] for body in bodies if body["Type"] in _IAM})
    names = ", ".join(found)
    return f"The following resource(s) require capabilities: [{names}]"


def _transforms(body: dict[str, Any]) -> list[str]:
    declared = body.get("Transform") or []
    return [declared] if isinstance(declared, str) else list(declared)


def _text(value: Untyped) -> str | None:
    return None if value is None else str(value)


def _format_error(what: str) -> ValidationError:
    return ValidationError(message=f"Template format error: {what}")


def check_template(template: dict[str, Any]) -> None:
    """
    Refuse a template that names what it does not declare, or is otherwise malformed.

    A template with a transform is left alone: the transform may declare what is
    missing, and take away what is too much.
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
    for resource in (
        part[0] for part in _function_arguments(body, "Fn::GetAtt") if part
    ):
        if resource not in template["Resources"]:
            raise ValidationError(
                message="Template error: instance of Fn::GetAtt references undefined "
                f"resource {resource}"
            )
    names = _referred(body) if section == "Outputs" else _references(body)
    missing = sorted({name for name in names if name not in declared})
    if missing:
        what = (
            f"Unresolved resource dependencies [{', '.join(missing)}] in the {section} "
            "block of the template"
        )
        raise ValidationError(
            message=what if section == "Outputs" else f"Template format error: {what}"
        )
    for name in (
        part[0] for part in _function_arguments(body, "Fn::FindInMap") if part
    ):
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


def _function_arguments(value: Untyped, name: str) -> Iterator[list[str]]:
    # The arguments of a function, as far as they are written out.
    for function, argument in functions(value):
        if function == name:
            parts = argument.split(".") if isinstance(argument, str) else argument
            if isinstance(parts, list) and parts and isinstance(parts[0], str):
                yield parts


def functions(value: Untyped) -> Iterator[tuple[str, Untyped]]:
    if isinstance(value, list):
        for item in value:
            yield from functions(item)
    if isinstance(value, dict):
        for key, item in value.items():
            if len(value) == 1 and (key == "Ref" or str(key).startswith("Fn::")):
                yield key, item
            yield from functions(item)
