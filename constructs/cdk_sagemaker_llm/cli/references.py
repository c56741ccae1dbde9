"""
Following references through a synthesised app: into nested stacks and out of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from cdk_sagemaker_llm.cli.assembly import Stack, target_of, text_of

_OUTPUTS = "Outputs."
# A reference that leads back to itself is none.
_LONGEST_WAY = 32


def resolve(
    stack: Stack, value: object, steps: int = _LONGEST_WAY
) -> tuple[Stack, str] | None:
    """
    Find the resource that a value means: its stack and its logical id.

    ``None`` for what is no reference, or leads out of the app.
    """
    name = target_of(value)
    if name in stack.resources and _output_of(value) is None:
        return stack, str(name)
    lead = further(stack, value) if steps else None
    return resolve(*lead, steps - 1) if lead else None


def means(stack: Stack, value: object, other: Stack, name: str) -> bool:
    """
    Whether a value in a stack means a resource of another, or of the same.
    """
    found = resolve(stack, value)
    return found is not None and found[0] is other and found[1] == name


def full_text_of(stack: Stack, value: object) -> str:
    """
    Write a value as text, with the references by stack and logical id.
    """
    if isinstance(value, Mapping) and "Fn::Join" in value:
        separator, parts = value["Fn::Join"]
        if isinstance(parts, list):
            return str(separator).join(full_text_of(stack, part) for part in parts)
    found = resolve(stack, value)
    return f"${{{found[0].name}/{found[1]}}}" if found else text_of(value)


def further(stack: Stack, value: object) -> tuple[Stack, object] | None:
    """
    Say where a reference leads on to: another stack, and what is written there.
    """
    if isinstance(value, Mapping) and "Fn::ImportValue" in value:
        return stack.exports.get(text_of(value["Fn::ImportValue"]))
    name, output = target_of(value), _output_of(value)
    inner = stack.nested.get(name or "")
    if output is not None and inner is not None:
        found = inner.outputs.get(output)
        return (inner, found.get("Value")) if isinstance(found, Mapping) else None
    if stack.parent is not None and name in stack.given:
        return stack.parent, stack.given[str(name)]
    return None


def _output_of(value: object) -> str | None:
    target = value.get("Fn::GetAtt") if isinstance(value, Mapping) else None
    attribute = target.partition(".")[2] if isinstance(target, str) else None
    if isinstance(target, list):
        attribute = target[1]
    if isinstance(attribute, str) and attribute.startswith(_OUTPUTS):
        return attribute.removeprefix(_OUTPUTS)
    return None
