"""
Reading templates, and refusing those that are none.
"""

from __future__ import annotations

import json
from typing import Any

import yaml
from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.models import Stack

from cdk_sagemaker_llm.local.cloudformation import wellformed
from cdk_sagemaker_llm.local.untyped import Untyped

_IAM_NAMES = {
    "AWS::IAM::Group": "GroupName",
    "AWS::IAM::InstanceProfile": "InstanceProfileName",
    "AWS::IAM::ManagedPolicy": "ManagedPolicyName",
    "AWS::IAM::Role": "RoleName",
    "AWS::IAM::User": "UserName",
}
_IAM = {*_IAM_NAMES, "AWS::IAM::AccessKey", "AWS::IAM::Policy"}


def parse(text: Untyped) -> dict[str, Any]:
    """
    Parse a template.

    Raises:
        ValidationError: If it is no template, in the service's words.
    """
    if isinstance(text, dict):
        return text
    try:
        parsed = Stack.parse_template(text)
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise _format_error("JSON not well-formed.") from error
    if not isinstance(parsed, dict):
        raise _format_error("unsupported structure.")
    resources = parsed.get("Resources")
    if not isinstance(resources, dict) or not resources:
        raise _format_error("At least one Resources member must be defined.")
    conditions = parsed.get("Conditions") or {}
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
    wellformed.check(parsed)
    return parsed


def summary(parsed: dict[str, Any]) -> dict[str, Any]:
    """
    Return what ``GetTemplateSummary`` tells of a template.
    """
    bodies = parsed["Resources"].values()
    needed = capabilities(parsed)
    return {
        "Parameters": parameters(parsed),
        "Description": parsed.get("Description"),
        "Capabilities": needed,
        "CapabilitiesReason": capabilities_reason(parsed) if needed else None,
        "ResourceTypes": sorted({body["Type"] for body in bodies}),
        "Version": parsed.get("AWSTemplateFormatVersion"),
        "Metadata": json.dumps(parsed["Metadata"]) if "Metadata" in parsed else None,
        "DeclaredTransforms": _transforms(parsed),
    }


def validated(parsed: dict[str, Any]) -> dict[str, Any]:
    """
    Return what ``ValidateTemplate`` tells of a template.
    """
    known = ("ParameterKey", "DefaultValue", "NoEcho", "Description")
    told = summary(parsed)
    return {
        "Parameters": [
            {key: value for key, value in parameter.items() if key in known}
            for parameter in told["Parameters"]
        ],
        **{
            key: told[key]
            for key in (
                "Description",
                "Capabilities",
                "CapabilitiesReason",
                "DeclaredTransforms",
            )
        },
    }


def parameters(parsed: dict[str, Any]) -> list[dict[str, Any]]:
    """
    Describe the parameters that a template declares.
    """
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
        for key, body in (parsed.get("Parameters") or {}).items()
    ]


def capabilities(parsed: dict[str, Any]) -> list[str]:
    """
    Name the capability that has to be acknowledged for a template, if there is one.
    """
    found = [body for body in parsed["Resources"].values() if body["Type"] in _IAM]
    if not found:
        return []
    named = any(
        _IAM_NAMES.get(body["Type"]) in (body.get("Properties") or {}) for body in found
    )
    return ["CAPABILITY_NAMED_IAM" if named else "CAPABILITY_IAM"]


def capabilities_reason(parsed: dict[str, Any]) -> str:
    """
    Name the types for which capabilities have to be acknowledged.
    """
    bodies = parsed["Resources"].values()
    found = sorted({body["Type"] for body in bodies if body["Type"] in _IAM})
    names = ", ".join(found)
    return f"The following resource(s) require capabilities: [{names}]"


def _transforms(parsed: dict[str, Any]) -> list[str]:
    declared = parsed.get("Transform") or []
    return [declared] if isinstance(declared, str) else list(declared)


def _text(value: Untyped) -> str | None:
    return None if value is None else str(value)


def _format_error(what: str) -> ValidationError:
    return ValidationError(message=f"Template format error: {what}")
