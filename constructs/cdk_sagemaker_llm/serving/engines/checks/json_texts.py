"""
Checks of text that an engine reads as JSON, although its parser does not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.engines.checks.subject import EngineSubject

_READ_LATER = ("json-model-override-args", "model-loader-extra-config")

NO_JSON = Rule(
    "LLM558",
    "text for SGLang that it reads as JSON, and that is none",
    "SGLang, configs/model_config.py and configs/load_config.py",
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
            yield NO_JSON.finding(
                f"{subject.word(told.variable)} must be JSON ({fault}), got "
                f"{told.taken[0][:60]!r}",
                'write an object, such as {"rope_scaling": {...}}',
            )
