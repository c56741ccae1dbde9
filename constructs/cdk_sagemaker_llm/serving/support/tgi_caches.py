"""
What TGI keeps of prompts: the format of its KV cache, and their prefixes.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.catalog.model_classes import has_model_type
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.attention import head_size_of
from cdk_sagemaker_llm.serving.support.support_subject import Subject

_IN_8_BITS_SINCE, _BY_PAGES_SINCE = "2.4.0", "3.1.0"
_INFER_SIZES = (64, 128, 256)
# The server looks for a variable that the launcher passes on.
_PREFIXES_SINCE, _RENAMED_AT = "2.3.0", "2.4.0"
_ON = ("1", "true")
# Those that VlmCausalLM and MllamaCausalLM run.
_SEEING = frozenset(
    {
        *("idefics2", "idefics3", "paligemma", "llava_next", "mllama", "gemma3"),
        *("qwen2_vl", "qwen2_5_vl"),
    }
)

UNFIT_TGI_CACHE = Rule(
    "LLM932",
    "TGI's attention does not keep a cache in 8 bits, or prefixes, for the model",
    "server/text_generation_server/layers/attention/kv_cache.py, models/globals.py and "
    "vlm_causal_lm.py of TGI, 2.3.0 to 3.3.6",
)


def tgi_format_findings(subject: Subject) -> Iterator[Finding]:
    """
    Attention reads a cache in 8 bits.
    """
    kind, attention = subject.text("kv_cache_dtype") or "", _attention(subject)
    if not kind.startswith("fp8") or not subject.is_at(_IN_8_BITS_SINCE):
        return
    size = head_size_of(subject)
    if not attention and size is not None and size not in _INFER_SIZES:
        attention = "flashdecoding"
    fitting = ["flashinfer", *(["paged"] if subject.is_at(_BY_PAGES_SINCE) else [])]
    if attention and attention not in fitting:
        yield UNFIT_TGI_CACHE.finding(
            f"{subject.title} keeps {subject.word('kv_cache_dtype')}={kind} with "
            f"{' or '.join(fitting)} alone, and takes {attention} here",
            "leave ATTENTION out" if _attention(subject) else "leave it out",
        )


def tgi_prefix_findings(subject: Subject) -> Iterator[Finding]:
    """
    Prefixes are kept of text, by attention that can.
    """
    word = "PREFIX_CACHING" if subject.is_at(_RENAMED_AT) else "USE_PREFIX_CACHING"
    value = subject.environment.get(word, "")
    if value.lower() not in _ON or not subject.is_at(_PREFIXES_SINCE):
        return
    kind = subject.checkpoint.model_type or ""
    if _attention(subject) == "paged":
        yield UNFIT_TGI_CACHE.finding(
            f"{subject.title} keeps no prefixes with ATTENTION=paged, got "
            f"{word}={value}",
            "leave one of both out",
        )
    elif kind in _SEEING and has_model_type("tgi", kind, subject.release):
        yield UNFIT_TGI_CACHE.finding(
            f"{subject.title} keeps no prefixes for models of type {kind}, which see "
            f"pictures, got {word}={value}",
            "leave it out",
        )


def _attention(subject: Subject) -> str:
    return subject.environment.get("ATTENTION", "")
