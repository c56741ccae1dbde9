"""
Texts that are empty where they are to say something.

What belongs here looks at what was given, before any engine is asked about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.engines.overlaps import plain_name

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# The newest of llama.cpp's images is of neither distribution.
_MAY_BE_EMPTY = ("version",)
_OPTIONS = ("options", "unchecked_options")
S = TypeVar("S", bound="DataclassInstance")

EMPTY_TEXT = Rule(
    "LLM531",
    "a parameter, or the name of an option, is an empty text",
    "the library's own rule",
)


def empty_findings(serving: DataclassInstance) -> list[Finding]:
    """
    Find parameters that are empty texts, and options without a name.
    """
    found = [
        EMPTY_TEXT.finding(f"{name} is an empty text", "leave it out, or say which")
        for name in _empty(serving)
    ]
    return found + [
        EMPTY_TEXT.finding(
            f"{where} has a name that is empty: {name!r}", "name an argument"
        )
        for where in _OPTIONS
        for name in getattr(serving, where)
        if not plain_name(name)
    ]


def without_empty(serving: S) -> S:
    """
    Return a configuration without what is empty in it.
    """
    named: dict[str, Mapping[str, Any]] = {
        where: {k: v for k, v in getattr(serving, where).items() if plain_name(k)}
        for where in _OPTIONS
    }
    left_out: dict[str, Any] = dict.fromkeys(_empty(serving))
    return replace(serving, **left_out, **named)


def _empty(serving: DataclassInstance) -> list[str]:
    return [
        one.name
        for one in fields(serving)
        if one.name not in _MAY_BE_EMPTY and _says_nothing(getattr(serving, one.name))
    ]


def _says_nothing(value: object) -> bool:
    if isinstance(value, str):
        return not value.strip()
    return isinstance(value, list | tuple) and any(map(_says_nothing, value))
