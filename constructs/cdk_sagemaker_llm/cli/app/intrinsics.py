"""
What a template's values come to, as far as the template says it.

References become ``${Stack/LogicalId}``; what deployment alone knows becomes text that
begins with ``${`` too, so that whoever wants a number sees that there is none.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from cdk_sagemaker_llm.cli.app.assembly import Stack
from cdk_sagemaker_llm.cli.app.template_shapes import text_of
from cdk_sagemaker_llm.simulation.api_values import is_open

_REFERENCE = re.compile(r"(\$\{[^}]*\})")
# A value that leads back to itself is none.
_LONGEST_WAY = 64
_ABSENT = object()  # AWS::NoValue
# Whose Ref is an ARN that ends in the name, which templates cut off.
_NAMED_BY_ARN = {
    "AWS::SageMaker::Endpoint": "endpoint",
    "AWS::SageMaker::InferenceComponent": "inference-component",
}
_ARN = "arn:aws:sagemaker:region:account:"
_OUTPUTS = "Outputs."
# Whose value is looked up when the stack is deployed: the default is where.
_LOOKED_UP = "AWS::SSM::Parameter::Value"


def evaluate(stack: Stack, value: object) -> Any:  # noqa: ANN401 - JSON
    """
    Compute a value of a stack's template.
    """
    found = _evaluate(stack, value, _LONGEST_WAY)
    return None if found is _ABSENT else found


def resolve(stack: Stack, value: object) -> str | None:
    """
    Find the resource that a value names, as ``Stack/LogicalId``; ``None`` for what is
    no reference, or leads out of the app.
    """
    text = str(evaluate(stack, value))
    name = (references_in(text) or [""])[-1]
    token = f"${{{name}}}"
    is_name = text == token or (text.startswith(_ARN) and text.endswith(f"/{token}"))
    return name if is_name else None


def references_in(text: object) -> list[str]:
    """
    Return the resources that an evaluated text names, as ``Stack/LogicalId``.
    """
    return [one[2:-1] for one in _REFERENCE.findall(str(text)) if "/" in one]


def _evaluate(stack: Stack, value: object, steps: int) -> object:
    if isinstance(value, list):
        inner = (_evaluate(stack, each, steps) for each in value)
        return [each for each in inner if each is not _ABSENT]
    if not isinstance(value, Mapping):
        return value
    if len(value) == 1:
        ((name, argument),) = value.items()
        function = _FUNCTIONS.get(name)
        if function is not None:
            return function(stack, argument, steps - 1) if steps else "${...}"
        if name.startswith("Fn::"):
            return f"${{{name}}}"
    pairs = ((key, _evaluate(stack, each, steps)) for key, each in value.items())
    return {key: each for key, each in pairs if each is not _ABSENT}


def _ref(stack: Stack, name: Any, steps: int) -> object:  # noqa: ANN401 - JSON
    if name == "AWS::NoValue":
        return _ABSENT
    if name in stack.resources:
        return _named(stack, name)
    lead = _passed(stack, name)
    if lead is not None:
        return _evaluate(*lead, steps)
    parameter = _section(stack, "Parameters").get(name)
    if isinstance(parameter, Mapping) and "Default" in parameter:
        kind, default = str(parameter.get("Type")), parameter["Default"]
        if kind == "Number" and isinstance(default, str):
            with contextlib.suppress(ValueError):
                number = float(default)
                default = int(number) if number.is_integer() else number
        if not kind.startswith(_LOOKED_UP):
            return default
    return f"${{{name}}}"


def _named(stack: Stack, name: str) -> str:
    kind = _NAMED_BY_ARN.get(stack.resources[name].get("Type", ""))
    token = f"${{{stack.name}/{name}}}"
    return f"{_ARN}{kind}/{token}" if kind else token


def _passed(stack: Stack, name: str) -> tuple[Stack, object] | None:
    # A parameter, which the stack around passes.
    if stack.parent is not None and name in stack.parameters:
        return stack.parent, stack.parameters[name]
    return None


def _output(stack: Stack, name: str, attribute: str) -> tuple[Stack, object] | None:
    inner = stack.nested.get(name)
    if inner is None or not attribute.startswith(_OUTPUTS):
        return None
    found = inner.outputs.get(attribute.removeprefix(_OUTPUTS))
    return (inner, found.get("Value")) if isinstance(found, Mapping) else None


def _attribute(stack: Stack, argument: Any, steps: int) -> object:  # noqa: ANN401 - JSON
    name, _, attribute = (
        argument.partition(".")
        if isinstance(argument, str)
        else (str(argument[0]), "", argument[1])
    )
    lead = _output(stack, name, str(attribute)) or _passed(stack, name)
    if lead is not None:
        return _evaluate(*lead, steps)
    if name in stack.resources and not str(attribute).startswith(_OUTPUTS):
        if str(attribute).endswith("Arn"):
            return _named(stack, name)
        return f"${{{stack.name}/{name}}}"
    return f"${{{name}.{attribute}}}"


def _imported(stack: Stack, argument: Any, steps: int) -> object:  # noqa: ANN401 - JSON
    lead = stack.exports.get(text_of(argument))
    return _evaluate(*lead, steps) if lead is not None else "${Fn::ImportValue}"


def _stack_output(stack: Stack, argument: Any, steps: int) -> object:  # noqa: ANN401 - JSON
    named = argument if isinstance(argument, Mapping) else {}
    name, output, region = (
        str(_evaluate(stack, named.get(key, ""), steps))
        for key in ("StackName", "OutputName", "Region")
    )
    if is_open(region) or not region:
        region = stack.region
    for peer in stack.peers:
        if (peer.deployed_name, peer.region) == (name, region):
            found = peer.outputs.get(output)
            if isinstance(found, Mapping):
                return _evaluate(peer, found.get("Value"), steps)
    return "${Fn::GetStackOutput}"


def _join(stack: Stack, argument: Any, steps: int) -> object:  # noqa: ANN401 - JSON
    parts = _evaluate(stack, argument[1], steps)
    if not isinstance(parts, list):
        return str(parts)
    return str(argument[0]).join(map(str, parts))


def _split(stack: Stack, argument: Any, steps: int) -> object:  # noqa: ANN401 - JSON
    if not isinstance(argument, list) or len(argument) != len(("separator", "text")):
        return "${Fn::Split}"
    separator = str(argument[0])
    pieces = [""]
    for part in _REFERENCE.split(str(_evaluate(stack, argument[1], steps))):
        if part.startswith("${") or not separator:
            pieces[-1] += part
            continue
        first, *rest = part.split(separator)
        pieces[-1] += first
        pieces.extend(rest)
    return pieces


def _select(stack: Stack, argument: Any, steps: int) -> object:  # noqa: ANN401 - JSON
    index, choices = _evaluate(stack, argument, steps), None
    if isinstance(index, list) and len(index) == len(("index", "list")):
        index, choices = index
    try:
        return choices[int(str(index))] if isinstance(choices, list) else "${...}"
    except (ValueError, IndexError):
        return "${Fn::Select}"


def _sub(stack: Stack, argument: Any, steps: int) -> object:  # noqa: ANN401 - JSON
    text, values = argument if isinstance(argument, list) else (argument, {})

    def fill(match: re.Match[str]) -> str:
        name = match[1][2:-1]
        if name.startswith("!"):
            return f"${{{name[1:]}}}"
        if name in values:
            return str(_evaluate(stack, values[name], steps))
        if "." in name:
            return str(_attribute(stack, name, steps))
        return str(_ref(stack, name, steps))

    return _REFERENCE.sub(fill, str(text))


def _mapped(stack: Stack, argument: Any, steps: int) -> object:  # noqa: ANN401 - JSON
    found: object = _section(stack, "Mappings")
    keys = _evaluate(stack, argument, steps)
    for key in keys if isinstance(keys, list) else [keys]:
        found = found.get(str(key)) if isinstance(found, Mapping) else None
    return "${Fn::FindInMap}" if found is None else found


def _chosen(stack: Stack, argument: Any, steps: int) -> object:  # noqa: ANN401 - JSON
    if not isinstance(argument, list) or len(argument) != len(("if", "then", "else")):
        return "${Fn::If}"
    name, yes, no = argument
    holds = _holds(stack, {"Condition": name}, steps)
    if holds is None:
        return f"${{Fn::If {name}}}"
    return _evaluate(stack, yes if holds else no, steps)


def exists(stack: Stack, name: str) -> bool | None:
    """
    Whether a resource's condition holds; ``None`` if the template does not say.
    """
    condition = stack.resources[name].get("Condition")
    if condition is None:
        return True
    return _holds(stack, {"Condition": condition}, _LONGEST_WAY)


def _holds(stack: Stack, rule: object, steps: int) -> bool | None:
    if not isinstance(rule, Mapping) or len(rule) != 1 or not steps:
        return None
    ((name, argument),) = rule.items()
    if name == "Condition":
        return _holds(stack, _section(stack, "Conditions").get(argument), steps - 1)
    if name == "Fn::Equals":
        sides = [str(_evaluate(stack, each, steps - 1)) for each in argument]
        return None if any(map(is_open, sides)) else sides[0] == sides[1]
    several = argument if isinstance(argument, list) else []
    parts = [_holds(stack, each, steps - 1) for each in several]
    if name == "Fn::Not" and parts:
        return None if parts[0] is None else not parts[0]
    decisive = {"Fn::And": False, "Fn::Or": True}.get(name)
    if decisive in parts:
        return decisive
    return None if decisive is None or None in parts else not decisive


def _section(stack: Stack, name: str) -> Mapping[str, Any]:
    found = stack.content.get(name)
    return found if isinstance(found, Mapping) else {}


_FUNCTIONS: Mapping[str, Callable[[Stack, Any, int], object]] = {
    "Ref": _ref,
    "Fn::GetAtt": _attribute,
    "Fn::ImportValue": _imported,
    "Fn::GetStackOutput": _stack_output,
    "Fn::Join": _join,
    "Fn::Split": _split,
    "Fn::Select": _select,
    "Fn::Sub": _sub,
    "Fn::FindInMap": _mapped,
    "Fn::If": _chosen,
}
