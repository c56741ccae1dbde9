"""
Names of models' classes: which are known, and which are likely mistaken.

The Hub has classes that nobody here has heard of: only what is certainly no class, or
a known one with its letters in another order, is a fault.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from cdk_sagemaker_llm.architectures.families import FAMILIES

_ENDINGS = (
    "ForCausalLM",
    "LMHeadModel",
    "ForConditionalGeneration",
    "ForSequenceClassification",
    "ForMaskedLM",
    "Model",
)
# Classes that are served, and that no family here counts: vLLM's and LMI's lists.
_OTHERS = (
    "BaichuanForCausalLM",
    "ChatGLMModel",
    "CohereForCausalLM",
    "Gemma3ForConditionalGeneration",
    "Gemma3TextModel",
    "Gemma3nForConditionalGeneration",
    "GPT2LMHeadModel",
    "GPTNeoForCausalLM",
    "DistilBertModel",
    "InternLMForCausalLM",
    "JinaBertModel",
    "KimiK25ForConditionalGeneration",
    "Llama4ForConditionalGeneration",
    "LlavaForConditionalGeneration",
    "MPTForCausalLM",
    "Mistral3ForConditionalGeneration",
    "OlmoForCausalLM",
    "PhiForCausalLM",
    "QWenLMHeadModel",
    "RWForCausalLM",
    "T5ForConditionalGeneration",
)
_ALIKE = 0.8


def known_classes() -> tuple[str, ...]:
    """
    Return the names of the classes that are known.
    """
    return (*(name for name, _ in FAMILIES.values()), *_OTHERS)


def class_fault(name: str) -> str | None:
    """
    Return the class that a name certainly stands for, though it is not its name: a
    family's bare name, or one with its letters in another order; ``None`` otherwise.
    """
    if name in known_classes():
        return None
    meant = _families().get(name.lower())
    turned = (one for one in known_classes() if sorted(one) == sorted(name))
    return meant or next(turned, None)


def class_doubt(name: str) -> str | None:
    """
    Return the known class that a name is likely meant to be; empty if it has no ending
    of a class and none is near, ``None`` if there is no doubt.
    """
    if name in known_classes():
        return None
    ending = next((one for one in _ENDINGS if name.endswith(one)), None)
    alike = {known: _doubtful(name, known, ending) for known in known_classes()}
    known = max(alike, key=alike.__getitem__)
    if alike[known] > _ALIKE:
        return known
    return None if ending else ""


def _doubtful(name: str, known: str, ending: str | None) -> float:
    likeness = _likeness(_stem(name), _stem(known))
    if ending is None:
        return max(likeness, _likeness(name, known))
    # Of a name like another but for digits, either may be a later version.
    return likeness if likeness < 1 else 0


@functools.cache
def _families() -> Mapping[str, str]:
    return {_stem(name).lower(): name for name in reversed(known_classes())}


def _stem(name: str) -> str:
    ending = next((one for one in _ENDINGS if name.endswith(one)), "")
    return name.removesuffix(ending)


def _likeness(one: str, other: str) -> float:
    """
    Return how alike two names are, 1 for the same; digits are versions, and not seen.
    """
    import difflib  # noqa: PLC0415 - few names are wrong

    first, second = (re.sub(r"[\d_]", "", name) for name in (one, other))
    return difflib.SequenceMatcher(None, first, second).ratio()
