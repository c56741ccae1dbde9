"""
Whether a build of llama.cpp knows the architecture of a GGUF file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.catalog.model_classes import converted_spans, model_type_spans
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.support_subject import Subject

# The newest build that was seen without it: what came later, none before it has either.
_LACKED: Mapping[str, str] = {
    "gemma2": "b3258",
    "qwen3": "b4591",
    "qwen3moe": "b4591",
    "hunyuan-dense": "b6000",
    "gemma-embedding": "b6383",
}
# How a text is cut before it becomes tokens (tokenizer.ggml.pre), by the file or by the
# name of what it was made of.
_CUTS_LACKED: Mapping[str, str] = {"gpt-4o": "b3400", "deepseek-r1-qwen": "b4513"}
_CUTS = (
    (re.compile(r"phi-4-mini", re.IGNORECASE), "gpt-4o"),
    (re.compile(r"deepseek-r1-distill-qwen", re.IGNORECASE), "deepseek-r1-qwen"),
)
# A tensor for the positions that these have, and what is older does not expect.
_STRETCHED = re.compile(r"llama-3\.[123]-", re.IGNORECASE)
_UNSTRETCHED = "b3411"
_ARCHITECTURES = "src/llama-arch.cpp and conversion of llama.cpp"

UNKNOWN_ARCHITECTURE = Rule(
    "LLM989",
    "no build of llama.cpp that was read knows the architecture",
    _ARCHITECTURES,
)
NOT_CONVERTED = Rule(
    "LLM860",
    "no converter of llama.cpp that was read takes the model's class",
    _ARCHITECTURES,
)
LATER_ARCHITECTURE = Rule(
    "LLM862",
    "the build of llama.cpp may be older than the architecture",
    _ARCHITECTURES,
)
OLD_BUILD = Rule(
    "LLM926",
    "the build of llama.cpp was seen to lack what the file needs",
    "llama.cpp issues 8195, 10759, 11341, 12122, 13157 and 15138, and "
    "llama-cpp-python issue 2065",
)


def llama_cpp_architecture_findings(subject: Subject) -> Iterator[Finding]:
    """
    A build knows the architecture that the file names, or that its class becomes.

    Which build each copy that was read is, nobody read: what some have and others have
    not is a doubt.
    """
    named = subject.text("gguf_architecture")
    name = subject.checkpoint.class_name
    last = _LACKED.get(named or "")
    if last is not None and subject.is_at("b0", last):
        yield _old(subject, f"the architecture {named}", last)
    elif named:
        spans = model_type_spans("llama.cpp", named)
        if not spans:
            yield UNKNOWN_ARCHITECTURE.finding(
                f"no build of llama.cpp that is known loads the architecture {named}",
                "take another model, or serve it with Vllm",
            )
        elif _is_late(spans):
            yield _late(subject, f"the architecture {named}")
    elif name is not None:
        spans = converted_spans(name)
        if not spans:
            yield NOT_CONVERTED.finding(
                f"no converter of llama.cpp that is known makes a GGUF file of {name}"
            )
        elif _is_late(spans):
            yield _late(subject, name)


def llama_cpp_file_findings(subject: Subject) -> Iterator[Finding]:
    """
    A build knows how the file cuts texts, and its tensors.
    """
    name = subject.checkpoint.name
    own = subject.checkpoint.tokenizer.get("pre")
    by_name = (cut for mark, cut in _CUTS if mark.search(name))
    cut = own if isinstance(own, str) else next(by_name, "")
    last = _CUTS_LACKED.get(cut)
    if last is not None and subject.is_at("b0", last):
        yield _old(subject, f"the pre-tokenizer {cut}", last)
    is_stretched = _STRETCHED.search(name)
    if is_stretched and subject.is_at("b0", _UNSTRETCHED):
        yield _old(subject, f"the tensors of {name}", _UNSTRETCHED)


def _old(subject: Subject, what: str, last: str) -> Finding:
    return OLD_BUILD.finding(
        f"{subject.title} does not know {what}, which builds up to {last} lack",
        "take the newest version of the image",
    )


def _is_late(spans: str) -> bool:
    return not spans.startswith("0.3.26..")


def _late(subject: Subject, what: str) -> Finding:
    return LATER_ARCHITECTURE.finding(
        f"newer builds of llama.cpp brought {what}: {subject.title} may not have it",
        "take the newest version of the image",
    )
