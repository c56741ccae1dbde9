"""
Checks of text that an engine reads as JSON, although its parser does not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.engines.checks.subject import EngineSubject

_READ_LATER = ("json-model-override-args", "model-loader-extra-config")

_SOURCE = "SGLang, configs/model_config.py and configs/load_config.py"

NO_JSON = Rule(
    "LLM558", "a parameter of SGLang that it reads as JSON, and that is none", _SOURCE
)
READ_AS_JSON = Rule(
    "LLM654",
    "a variable that SGLang's parser takes as it is, and reads as JSON later",
    _SOURCE,
)


def check_json_texts(subject: EngineSubject) -> Iterator[Finding]:
    """
    The parser takes any text; what loads the model does not.
    """
    if subject.table != "sglang":
        return
    for name in _READ_LATER:
        told = subject.find(name)
        if told is None or not told.taken or not told.is_intact:
            continue
        try:
            json.loads(told.taken[0])
        except (ValueError, RecursionError) as fault:
            yield READ_AS_JSON.finding(
                f"{subject.word(told.variable)} must be JSON ({fault}), got "
                f"{told.taken[0][:60]!r}",
                "write an object, or leave it out",
            )


def certain(finding: Finding) -> Finding:
    """
    Return a finding of what a class writes: an error, for there it is no guess.
    """
    if finding.code != READ_AS_JSON.code:
        return finding
    return NO_JSON.finding(finding.message, finding.remedy)
