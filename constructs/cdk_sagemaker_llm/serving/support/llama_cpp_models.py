"""
Whether a build of llama.cpp knows the architecture of a GGUF file.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.catalog.model_classes import converted_spans, model_type_spans
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.support_subject import Subject

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


def llama_cpp_architecture_findings(subject: Subject) -> Iterator[Finding]:
    """
    A build knows the architecture that the file names, or that its class becomes.

    Which build each copy that was read is, nobody read: what some have and others have
    not is a doubt.
    """
    named = subject.text("gguf_architecture")
    name = subject.checkpoint.class_name
    if named:
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


def _is_late(spans: str) -> bool:
    return not spans.startswith("0.3.26..")


def _late(subject: Subject, what: str) -> Finding:
    return LATER_ARCHITECTURE.finding(
        f"newer builds of llama.cpp brought {what}: {subject.title} may not have it",
        "take the newest version of the image",
    )
