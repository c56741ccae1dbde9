"""
How each engine says that prompt and answer do not fit the model's context.
"""

from __future__ import annotations

import re

from cdk_sagemaker_llm.client.wire.failures import Failure

# In the engines' words: LIMIT fits, ASKED was asked for, and MORE on top of it.
_SAYINGS = (
    # vLLM from 0.11 on: prompt and answer apart, and their sum.
    "maximum context length is LIMIT tokens.*for a total of (?:at least )?ASKED",
    # vLLM before, SGLang's other form, OpenAI: the sum, or the prompt alone.
    "maximum context length is LIMIT tokens.*?VERB(?: about| at least)? ASKED",
    "maximum context length of LIMIT tokens(?:.*?a total of ASKED)?",
    "maximum context length is LIMIT tokens",
    # SGLang.
    r"input \(ASKED tokens\) is longer than .{,20}context length \(LIMIT tokens\)",
    # TGI: the sum of both, and the prompt alone; TEI says it as the latter.
    r"must be <= LIMIT\. Given: ASKED `inputs` tokens(?: and MORE `max_new_tokens`)?",
    r"`inputs` must have less than LIMIT tokens\. Given: ASKED",
    # llama.cpp.
    r"request \(ASKED tokens\) exceeds the available context size \(LIMIT tokens\)",
    "exceeds? the (?:available )?context size",
    # LMI's rolling batch: on vLLM, and on TensorRT-LLM.
    r"prompt \(ASKED tokens\) is too long and exceeds (?:the )?limit of LIMIT",
    r"prompt length \(ASKED\) exceeds maximum input length \(LIMIT\)",
    "longer than the maximum model length of LIMIT",
)
_NUMBERS = {"LIMIT": "limit", "ASKED": "asked", "MORE": "more"}


def _compiled(saying: str) -> re.Pattern[str]:
    saying = saying.replace("VERB", "(?:requested|has|contains|resulted in)")
    for word, name in _NUMBERS.items():
        saying = saying.replace(word, rf"(?P<{name}>\d+)")
    return re.compile(saying, re.IGNORECASE | re.DOTALL)


_PATTERNS = tuple(map(_compiled, _SAYINGS))


def numbers_of(failure: Failure) -> tuple[int | None, int | None] | None:
    """
    Return how many tokens fit and how many were asked for, as far as it says.

    ``None`` if the failure is another one.
    """
    if failure.kind == "exceed_context_size_error":
        return failure.limit, failure.requested
    for pattern in _PATTERNS:
        found = pattern.search(failure.message)
        if found:
            said = found.groupdict()
            asked, more = _number(said.get("asked")), _number(said.get("more"))
            total = None if asked is None else asked + (more or 0)
            return _number(said.get("limit")), total
    return None


def _number(text: str | None) -> int | None:
    return int(text) if text else None
