"""
What a change set announces.

The rules are those that the lifecycle carries a change out by, so that what is
announced is what happens.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.cloudformation.registry import (
    NESTED,
    is_custom,
    must_replace,
)
from cdk_sagemaker_llm.local.cloudformation.resource import (
    Declaration,
    Properties,
    Resource,
    changed_names,
    pointers,
)
from cdk_sagemaker_llm.local.cloudformation.stack import Draft, EmbeddedStack

UNKNOWN = "{{changeSet:KNOWN_AFTER_APPLY}}"
"""What CloudFormation shows for a value that only the deployment decides."""

_HIDDEN = "****"  # What it shows for a parameter with NoEcho.
_ATTRIBUTES = (
    "Metadata",
    "CreationPolicy",
    "UpdatePolicy",
    "DeletionPolicy",
    "UpdateReplacePolicy",
)
_WITH_VALUES = frozenset({"BeforeContext", "AfterContext"})
_VALUES = frozenset({"Path", "BeforeValue", "AfterValue", "AttributeChangeType"})

Change = dict[str, Any]


def changes(stack: EmbeddedStack, draft: Draft) -> list[Change]:
    """
    List what bringing a stack to a template would do to its resources.
    """
    return _Preview(stack, draft).changes()


def without_values(change: Change) -> Change:
    """
    Leave out what is shown only where ``IncludePropertyValues`` asks for it.
    """
    parts = {k: v for k, v in change.items() if k not in _WITH_VALUES}
    parts["Details"] = [
        {
            **detail,
            "Target": {k: v for k, v in detail["Target"].items() if k not in _VALUES},
        }
        for detail in change["Details"]
    ]
    return parts


class _Preview:
    def __init__(self, stack: EmbeddedStack, draft: Draft) -> None:
        self._stack = stack
        self._draft = draft
        # What stands for the resources as they will be; the real ones are not touched.
        self._made = dict(stack.resources)
        self._unsettled: set[str] = set()
        before = stack.resource_map.resolved_parameters
        after = draft.resolver.resolved_parameters
        self._parameters = changed_names(before, after)
        # Those that are in use too: a value is shown as it was and as it will be.
        secret = {
            str(value)
            for resolver in (stack.resource_map, draft.resolver)
            for key in resolver.no_echo_parameter_keys
            if (value := resolver.resolved_parameters.get(key))
        }
        # The longest first: one may be a part of another.
        self._secrets = sorted(secret, key=len, reverse=True)

    def changes(self) -> list[Change]:
        self._draft.resolver.made = self._made
        found = [self._change(declaration) for declaration in self._draft.plan]
        remaining = {declaration.logical_id for declaration in self._draft.plan}
        gone = [r for name, r in self._stack.resources.items() if name not in remaining]
        return [*filter(None, found), *map(self._removal, gone)]

    def _change(self, declaration: Declaration) -> Change | None:
        old = self._stack.resources.get(declaration.logical_id)
        after = self._resolved(declaration)
        if old is None:
            self._unsettle(Resource(declaration, after, UNKNOWN, lambda _: UNKNOWN))
            context = self._after(declaration, after)
            return {**_entry("Add", declaration), "AfterContext": context}
        details = [
            *self._property_details(old, declaration, after),
            *self._attribute_details(declaration.logical_id),
        ]
        if not details:
            return None
        replacement = _replacement(old, after)
        if replacement != "False":
            self._unsettle(
                replace(
                    old, physical_resource_id=UNKNOWN, read_attribute=lambda _: UNKNOWN
                )
            )
        elif declaration.type == NESTED or is_custom(declaration.type):
            # Their attributes may follow from their properties.
            self._unsettle(replace(old, read_attribute=lambda _: UNKNOWN))
        kept = "ReplaceAndRetain" if declaration.retain_on_replace else None
        policy = kept or "ReplaceAndDelete"
        return {
            **_entry("Modify", declaration, old.physical_resource_id),
            "PolicyAction": None if replacement == "False" else policy,
            "Replacement": replacement,
            "Scope": sorted({detail["Target"]["Attribute"] for detail in details}),
            "Details": details,
            "BeforeContext": self._before(old),
            "AfterContext": self._after(declaration, after),
        }

    def _removal(self, resource: Resource) -> Change:
        retained = resource.declaration.retain_on_delete
        physical_id = resource.physical_resource_id
        return {
            **_entry("Remove", resource.declaration, physical_id),
            "PolicyAction": "Retain" if retained else "Delete",
            "BeforeContext": self._before(resource),
        }

    def _unsettle(self, resource: Resource) -> None:
        self._made[resource.logical_resource_id] = resource
        self._unsettled.add(resource.logical_resource_id)

    def _resolved(self, declaration: Declaration) -> Properties:
        resolved: Properties = {}
        for name, value in declaration.properties.items():
            try:
                resolved.update(self._draft.resolver.resolve({name: value}))
            except Exception:  # noqa: BLE001 - any function of what is not known yet
                resolved[name] = UNKNOWN
        return resolved

    def _property_details(
        self, old: Resource, declaration: Declaration, after: Properties
    ) -> Iterator[dict[str, Any]]:
        before = old.properties
        for name in sorted(changed_names(before, after)):
            alone = {**before, name: after[name]} if name in after else dict(before)
            if name not in after:
                del alone[name]
            always = must_replace(declaration.type, before, alone)
            tags = name == "Tags"
            target = {
                "Attribute": "Tags" if tags else "Properties",
                "Name": None if tags else name,
                "RequiresRecreation": "Always" if always else "Never",
                "Path": f"/Properties/{name}",
                **self._values(name, before, after),
            }
            unknown = UNKNOWN in json.dumps(after.get(name), default=str)
            pair = (old.declaration.properties, declaration.properties)
            texts = [properties.get(name) for properties in pair]
            for cause in self._causes(texts, unknown=unknown):
                yield {"Target": target, **cause}

    def _causes(
        self, texts: list[Untyped], *, unknown: bool
    ) -> Iterator[dict[str, str]]:
        explained = False
        for pointer in sorted(set(pointers(texts[1]))):
            name, _, attribute = pointer.partition(".")
            if name in self._parameters:
                yield _cause("Static", "ParameterReference", pointer)
            elif unknown and name in self._unsettled:
                source = "ResourceAttribute" if attribute else "ResourceReference"
                yield _cause("Dynamic", source, pointer)
            else:
                continue
            explained = True
        if texts[0] != texts[1] or not explained:
            evaluation = "Dynamic" if unknown else "Static"
            yield {"Evaluation": evaluation, "ChangeSource": "DirectModification"}

    def _attribute_details(self, logical_id: str) -> Iterator[dict[str, Any]]:
        before = _body(self._stack.template_dict, logical_id)
        after = _body(self._draft.template, logical_id)
        for name in _ATTRIBUTES:
            if before.get(name) != after.get(name):
                target = {
                    "Attribute": name,
                    "RequiresRecreation": "Never",
                    "Path": f"/{name}",
                    **self._values(name, before, after),
                }
                direct = {"Evaluation": "Static", "ChangeSource": "DirectModification"}
                yield {"Target": target, **direct}

    def _values(self, name: str, before: Properties, after: Properties) -> Change:
        kind = "Modify" if name in after else "Remove"
        return {
            "BeforeValue": self._hide_secrets(before.get(name)),
            "AfterValue": self._hide_secrets(after.get(name)),
            "AttributeChangeType": kind if name in before else "Add",
        }

    def _before(self, resource: Resource) -> str | None:
        body = _body(self._stack.template_dict, resource.logical_resource_id)
        return self._context(body, resource.properties)

    def _after(self, declaration: Declaration, properties: Properties) -> str | None:
        body = _body(self._draft.template, declaration.logical_id)
        return self._context(body, properties)

    def _context(self, body: dict[str, Any], properties: Properties) -> str | None:
        context = {name: body[name] for name in _ATTRIBUTES if name in body}
        return self._hide_secrets({"Properties": properties, **context})

    def _hide_secrets(self, value: Untyped) -> str | None:
        if value is None:
            return None
        text = value if isinstance(value, str) else json.dumps(value, default=str)
        for secret in self._secrets:
            text = text.replace(secret, _HIDDEN)
        return text


def _replacement(old: Resource, after: Properties) -> str:
    before = old.properties
    kind = old.declaration.type
    if before == after or not must_replace(kind, before, after):
        return "False"
    # As if what is not known yet stayed what it is: it may.
    settled = {
        name: before.get(name) if UNKNOWN in json.dumps(value, default=str) else value
        for name, value in after.items()
    }
    certain = settled != before and must_replace(kind, before, settled)
    return "True" if certain else "Conditional"


def _entry(
    action: str, declaration: Declaration, physical_id: str | None = None
) -> Change:
    return {
        "Action": action,
        "LogicalResourceId": declaration.logical_id,
        "PhysicalResourceId": physical_id,
        "ResourceType": declaration.type,
        "Scope": [],
        "Details": [],
    }


def _cause(evaluation: str, source: str, entity: str) -> dict[str, str]:
    return {
        "Evaluation": evaluation,
        "ChangeSource": source,
        "CausingEntity": entity,
    }


def _body(template: dict[str, Any], logical_id: str) -> dict[str, Any]:
    body: dict[str, Any] = template.get("Resources", {}).get(logical_id, {})
    return body
