"""
Saying what was found of properties in the names of the variables they are from.
"""

from __future__ import annotations

import re

from cdk_sagemaker_llm.catalog.lmi import LmiVersion
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.lmi.environment.translation import (
    Translation,
    engine_variable,
)
from cdk_sagemaker_llm.serving.lmi.environment.variables import (
    ENGINE,
    LOAD_MODELS,
    PREFIX,
)

_OPTION = re.compile(r"\boption\.(\w+)")
_ENGINE = re.compile(r"\bengine=(\w+)")
_BARE_SETTING = re.compile(r"(reads|write) (max_batch_delay|max_idle_time)\b")


def in_variables(
    finding: Finding, found: Translation, version: LmiVersion, *, has_file: bool
) -> Finding:
    """
    Name the variables in a finding, but leave what is the file's as the file has it.
    """

    def option(match: re.Match[str]) -> str:
        if match[0] in found.variables:
            return found.variables[match[0]]
        return match[0] if has_file else f"{PREFIX}{match[1].upper()}"

    def engine(match: re.Match[str]) -> str:
        is_own = found.variables.get("engine") == ENGINE
        return f"{ENGINE}={match[1]}" if is_own else match[0]

    def way_out(match: re.Match[str]) -> str:
        from_variables = "engine" in found.variables or not has_file
        return engine_variable(match[1], version) if from_variables else match[0]

    def text(words: str) -> str:
        return _OPTION.sub(option, _BARE_SETTING.sub(_with_prefix, words))

    return Finding(
        finding.severity,
        finding.code,
        _ENGINE.sub(engine, text(finding.message)),
        _ENGINE.sub(way_out, text(finding.remedy)),
    )


def mentions(finding: Finding, keys: set[str]) -> bool:
    """
    Whether a finding speaks of one of the properties.
    """
    words = f"{finding.message} {finding.remedy}"
    return any(re.search(rf"\b{re.escape(key)}\b", words) for key in keys)


def source_of(variable: str, key: str) -> str:
    """
    Return how a message names a variable that sets a property.
    """
    return f"{LOAD_MODELS}'s {key}" if variable == LOAD_MODELS else variable


def _with_prefix(match: re.Match[str]) -> str:
    return f"{match[1]} SERVING_{match[2].upper()}"
