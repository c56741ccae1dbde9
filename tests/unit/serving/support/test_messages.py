"""
What is told of each rule's examples, word for word.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.unit.engine_support_rule_examples import OF_ENGINES, SHARED
from tests.unit.serving.support import (
    test_attention,
    test_derived_engines,
    test_number_formats,
    test_sglang_formats,
    test_tei_models,
    test_tgi_models,
    test_vllm_arguments,
    test_vllm_classes,
)
from tests.unit.serving.support.cases import Row
from tests.unit.support_rule_examples import SUPPORT, Example

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

EXAMPLES: list[tuple[str, Example]] = [
    *((code, broken) for code, (broken, _) in SUPPORT.items()),
    *((code, broken) for code, (broken, _) in OF_ENGINES.items()),
    *((code, broken) for code, broken, _ in SHARED),
]
TABLES: dict[str, list[Row]] = {
    "attention": [
        *test_attention.CACHES,
        *test_attention.SPECIAL,
        *test_attention.PREFIXES,
        *test_attention.BACKENDS,
        *test_attention.FORCED,
        *test_attention.GENERATIONS,
    ],
    "number formats": [
        *test_number_formats.TYPES,
        *test_number_formats.METHODS,
        *test_number_formats.SCHEMES,
        *test_number_formats.EIGHT,
        *test_number_formats.BUILT,
    ],
    "arguments": [
        *test_vllm_arguments.CODE,
        *test_vllm_arguments.TOKENIZERS,
        *test_vllm_arguments.ARGUMENTS,
        *test_vllm_arguments.DRAFTS,
        *test_vllm_arguments.VOCABULARY,
    ],
    "classes": [
        *test_vllm_classes.CLASSES,
        *test_vllm_classes.HEADS,
        *test_vllm_classes.ABILITIES,
        *test_vllm_classes.FILES,
    ],
    "SGLang": [
        *test_sglang_formats.GPUS,
        *test_sglang_formats.METHODS,
        *test_sglang_formats.BACKENDS,
        *test_sglang_formats.SPLITS,
    ],
    "TGI": [
        *test_tgi_models.KINDS,
        *test_tgi_models.ATTENTION,
        *test_tgi_models.WINDOWS,
        *test_tgi_models.SHARED,
        *test_tgi_models.CHOICES,
        *test_tgi_models.WEIGHTS,
        *test_tgi_models.ROPE,
    ],
    "TEI": [
        *test_tei_models.TYPES,
        *test_tei_models.GPUS,
        *test_tei_models.NUMBERS,
        *test_tei_models.CLASSES,
    ],
    "derived": [
        *test_derived_engines.LMI_DIST,
        *test_derived_engines.TENSORRT,
        *test_derived_engines.DEEPSPEED,
        *test_derived_engines.NEURON,
        *test_derived_engines.LLAMA_CPP,
    ],
}


# Of these the code is held alone: their way out is in doubt.
DOUBTED = re.compile(
    r"LLM933 vLLM \S+ cannot .* on A100|LLM933 .* VLLM_USE_V1|0\.9\.2 to 0\.9\.2"
)


def _told(example: Example) -> list[str]:
    told = [str(one) for one in example()]
    return [one for one in told if not DOUBTED.search(one)]


def test_tells_of_each_rule_word_for_word(snapshot: SnapshotAssertion) -> None:
    """
    What is wrong, what was got, and the way out.
    """
    told = [one for _, example in EXAMPLES for one in _told(example)]

    assert sorted(set(told)) == snapshot


@pytest.mark.parametrize("name", TABLES)
def test_tells_of_each_side_word_for_word(
    name: str, snapshot: SnapshotAssertion
) -> None:
    """
    In the order of the tables, once each.
    """
    told = [one for _, example in TABLES[name] for one in _told(example)]

    assert list(dict.fromkeys(told)) == snapshot
