"""
Tools that a chat offers, and the call that the stand-in model makes.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cdk_sagemaker_llm.local.untyped import Untyped

_SAMPLES: Mapping[str, Any] = {
    "string": "text",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "null": None,
}
_DEEPEST = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """
    A call of a tool.

    Args:
        name: The function's name.

        arguments: Its arguments, as JSON.

        id: What the engine calls the call.
    """

    name: str
    arguments: str
    id: str

    def shown(self) -> dict[str, Any]:
        """
        Return it as a message has it.
        """
        function = {"name": self.name, "arguments": self.arguments}
        return {"id": self.id, "type": "function", "function": function}


def chosen_call(body: Mapping[str, Any], prefix: str) -> Call | None:
    """
    Return the call that answers a chat; ``None`` where it is answered in words.

    The stand-in calls the first tool that it is offered, or the one that is named, and
    answers in words once the tool has.

    Args:
        body: The request.

        prefix: What the engine begins a call's id with.
    """
    choice = body.get("tool_choice")
    functions = list(_functions(body))
    if not functions or choice == "none":
        return None
    named = choice.get("function", {}).get("name") if isinstance(choice, dict) else None
    if named is not None:
        functions = [one for one in functions if one["name"] == named]
    elif choice != "required" and _is_answered(body):
        return None
    if not functions:
        return None
    arguments = json.dumps(sample(functions[0].get("parameters") or {}))
    name = str(functions[0]["name"])
    return Call(name=name, arguments=arguments, id=f"{prefix}{uuid.uuid4().hex}")


def sample(schema: Untyped, depth: int = 0) -> Untyped:
    """
    Return a value that fits a JSON schema, as far as its plain parts go.
    """
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return {}
    told = (schema.get("const"), schema.get("default"), *(schema.get("enum") or ()))
    chosen = next((one for one in told if one is not None), None)
    if chosen is not None:
        return chosen
    kind = schema.get("type", "object")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    if kind == "array":
        return [sample(schema.get("items"), depth + 1)] if schema.get("items") else []
    if kind in _SAMPLES:
        return _SAMPLES[kind]
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return {}
    return {name: sample(one, depth + 1) for name, one in properties.items()}


def _functions(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for tool in body.get("tools") or ():
        function = tool.get("function") if isinstance(tool, dict) else None
        if isinstance(function, dict) and function.get("name"):
            yield function


def _is_answered(body: Mapping[str, Any]) -> bool:
    last = (body.get("messages") or [{}])[-1]
    return isinstance(last, dict) and last.get("role") == "tool"
