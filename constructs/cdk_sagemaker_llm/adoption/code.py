"""
Python text: calls with their arguments, in lines that are short enough.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import cdk_sagemaker_llm
from cdk_sagemaker_llm.adoption.deployment import Open

_WIDTH = 88
_INDENT = "    "

# Where each name that is written comes from, beside this library.
_CDK = {
    *("App", "CfnResource", "DefaultStackSynthesizer", "Duration", "Environment"),
    *("RemovalPolicy", "SecretValue", "Size", "Stack"),
}
_MODULES = {
    "appscaling": "aws_applicationautoscaling",
    "cloudwatch": "aws_cloudwatch",
    "ec2": "aws_ec2",
    "iam": "aws_iam",
    "kms": "aws_kms",
    "sns": "aws_sns",
}
_STANDARD = {"datetime": "datetime", "Path": "pathlib", "Any": "typing"}


@dataclass(frozen=True, slots=True)
class Name:
    """
    A variable, an attribute or an enumeration's value, as it is written.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """
    A call; arguments of ``None`` are left out.
    """

    function: str
    arguments: Sequence[object] = ()
    keywords: Mapping[str, object] = field(default_factory=dict)


def call(function: str, *arguments: object, **keywords: object) -> Call:
    """
    Return a call, without the keywords that are ``None``.
    """
    return Call(
        function, arguments, {k: v for k, v in keywords.items() if v is not None}
    )


def statement(target: str, value: object, depth: int = 2) -> str:
    """
    Return ``target = value``, or the value alone without a target, as lines that are
    indented.
    """
    start = f"{target} = " if target else ""
    return f"{_INDENT * depth}{start}{written(value, depth, len(start))}"


def comment(text: str, depth: int = 2) -> list[str]:
    """
    Return a text as lines of a comment.
    """
    start = f"{_INDENT * depth}# "
    lines, line = [], ""
    for word in " ".join(text.split()).split(" "):
        if line and len(start) + len(line) + 1 + len(word) > _WIDTH:
            lines.append(start + line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, start + line] if line else lines


def written(value: object, depth: int, used: int = 0) -> str:
    """
    Write a value as Python; a long one takes a line for each of its parts.

    Args:
        value: The value; ``Name`` and ``Call`` are written as code.

        depth: How far its lines are indented.

        used: How much of the first line is taken.
    """
    flat = _flat(value)
    if len(_INDENT) * depth + used + len(flat) < _WIDTH and "\n" not in flat:
        return flat
    parts = [*_parts(value)]
    if not parts:
        return flat
    opening, closing = _brackets(value)
    inner = _INDENT * (depth + 1)
    lines = [
        f"{inner}{start}{written(part, depth + 1, len(start))},"
        for start, part in parts
    ]
    return "\n".join([opening, *lines, f"{_INDENT * depth}{closing}"])


def imports(text: str) -> list[str]:
    """
    Return the lines that import what a module's text uses.
    """
    used = {one.id for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Name)}
    standard = [
        f"from {module} import {name}"
        for name, module in sorted(_STANDARD.items(), key=lambda pair: pair[1])
        if name in used
    ]
    cdk = [_from("aws_cdk", used & _CDK)] if used & _CDK else []
    cdk += [
        f"from aws_cdk import {module} as {name}"
        for name, module in _MODULES.items()
        if name in used
    ]
    if "Construct" in used:
        cdk.append("from constructs import Construct")
    own = used & set(cdk_sagemaker_llm.__all__)
    blocks = [standard, cdk, [_from("cdk_sagemaker_llm", own)] if own else []]
    return "\n\n".join("\n".join(block) for block in blocks if block).splitlines()


def _from(module: str, names: Collection[str]) -> str:
    flat = f"from {module} import {', '.join(sorted(names))}"
    if len(flat) <= _WIDTH:
        return flat
    parts = [f"{_INDENT}{name}," for name in sorted(names)]
    return "\n".join([f"from {module} import (", *parts, ")"])


def _flat(value: object) -> str:
    if isinstance(value, Name | Open):
        return value.text if isinstance(value, Name) else value.name
    if isinstance(value, Call):
        inner = [_flat(one) for one in value.arguments]
        inner += [f"{name}={_flat(one)}" for name, one in value.keywords.items()]
        return f"{value.function}({', '.join(inner)})"
    if isinstance(value, Mapping):
        pairs = (f"{_flat(key)}: {_flat(one)}" for key, one in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_flat, value)) + "]"
    if isinstance(value, str):
        return _quoted(value)
    return repr(value)


def _quoted(text: str) -> str:
    # As ruff writes it: in double quotes, unless that takes a backslash.
    plain = repr(text)
    if plain.startswith("'") and '"' not in text:
        return f'"{plain[1:-1]}"'
    return plain


def _parts(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Call):
        yield from (("", one) for one in value.arguments)
        yield from ((f"{name}=", one) for name, one in value.keywords.items())
    elif isinstance(value, Mapping):
        yield from ((f"{_flat(key)}: ", one) for key, one in value.items())
    elif isinstance(value, list | tuple):
        yield from (("", one) for one in value)


def _brackets(value: object) -> tuple[str, str]:
    if isinstance(value, Call):
        return f"{value.function}(", ")"
    return ("{", "}") if isinstance(value, Mapping) else ("[", "]")
