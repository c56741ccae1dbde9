"""
What TGI's server stops at before it loads a model: two answers to how numbers are kept,
attention of no such name, and weights that came with later releases.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.quantization import scheme_of
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.text import any_of

_TYPES_SINCE = "0.9.0"
# From here on bitsandbytes may be asked for beside a data type.
_BOTH_SINCE, _OF_BITS = "1.2.0", "bitsandbytes"
# Later ones read it from config.json (models/__init__.py; issue 1613).
_NAMED, _UNNAMED_UNTIL = ("awq", "gptq"), "1.4.5"
# The launcher's variable, and the one that AWS's entry point makes it of.
_NAMING = ("QUANTIZE", "HF_MODEL_QUANTIZE")
_ATTENTION_SINCE = "2.3.0"
_ATTENTION = ("paged", "flashdecoding", "flashinfer")
_ON_PROCESSORS = "flashdecoding-ipex"
_PACKED_SINCE = "2.4.1"

UNFIT_START_OF_TGI = Rule(
    "LLM950",
    "TGI's server does not start with what is asked for",
    "server/text_generation_server/cli.py, models/globals.py and layers of TGI, 0.9.0 "
    "to 3.3.6",
)


def tgi_starting_findings(subject: Subject) -> Iterator[Finding]:
    """
    The server starts with what is asked for.
    """
    for why, way_out in (*_of_types(subject), *_of_attention(subject)):
        yield UNFIT_START_OF_TGI.finding(
            f"{subject.title} does not start: {why}", way_out
        )


def _of_types(subject: Subject) -> Iterator[tuple[str, str]]:
    choice, word = subject.text("quantize") or "", subject.word("quantize")
    # Of others the options tell, and of these until they may.
    is_both = choice.startswith(_OF_BITS) and subject.has("dtype")
    if is_both and subject.is_at(_TYPES_SINCE) and not subject.is_at(_BOTH_SINCE):
        yield (
            (
                f"{word}={choice} and {subject.word('dtype')} both say how numbers are "
                "kept"
            ),
            f"leave {subject.word('dtype')} out",
        )
    own = subject.checkpoint.method
    is_named = choice or any(subject.environment.get(one) for one in _NAMING)
    if own in _NAMED and not is_named and subject.is_at("0.9.0", _UNNAMED_UNTIL):
        yield f"the weights are in {own}, and {word} does not say it", f"write {own}"
    is_packed = scheme_of(subject.checkpoint) == "CompressedTensorsWNA16"
    if is_packed and subject.is_at("0.9.0") and not subject.is_at(_PACKED_SINCE):
        yield (
            "it does not read integers of compressed-tensors",
            f"take an image with TGI {_PACKED_SINCE} or newer",
        )


def _of_attention(subject: Subject) -> Iterator[tuple[str, str]]:
    attention = subject.environment.get("ATTENTION")
    choices = {*_ATTENTION, _ON_PROCESSORS}
    if (
        attention is not None
        and attention not in choices
        and subject.is_at(_ATTENTION_SINCE)
    ):
        yield f"ATTENTION must be {any_of(_ATTENTION)}, got {attention}", "leave it out"
