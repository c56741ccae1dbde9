"""
Whether a release of optimum-neuron has a model's type: in TGI's images for Neuron
devices, and as a part of vLLM in those of Hugging Face.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.catalog.model_classes import (
    has_model_type,
    model_type_spans,
    model_types,
)
from cdk_sagemaker_llm.catalog.releases import first_of, is_between, last_of
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.text import any_of

_TABLE = "optimum-neuron"
# The release of optimum-neuron inside images that go by vLLM's; of 0.11.0 the oldest.
_BESIDE_VLLM = {"0.10.2": "0.4.1", "0.11.0": "0.4.2"}

UNKNOWN_TO_NEURON = Rule(
    "LLM991",
    "optimum-neuron does not compile models of the type",
    "optimum/exporters/neuron/model_configs and optimum/neuron/models/inference/"
    "auto_models.py of optimum-neuron",
)


def neuron_type_findings(subject: Subject) -> Iterator[Finding]:
    """
    The release of optimum-neuron has the model's type.
    """
    kind, release = _kind(subject), neuron_release(subject)
    if kind is None or has_model_type(_TABLE, kind, release) is not False:
        return
    spans = model_type_spans(_TABLE, kind)
    if not spans:
        way = f"serve it on GPUs; it knows {any_of(model_types(_TABLE, release))}"
    elif is_between(first_of(spans), release):
        way = f"take an image with optimum-neuron {first_of(spans)} or newer"
    else:
        way = f'serve it with TgiNeuron("{last_of(spans)}")'
    inside = (
        f"optimum-neuron {release}"
        if release == subject.release
        else "its optimum-neuron"
    )
    yield UNKNOWN_TO_NEURON.finding(
        f"{subject.title} does not compile models of type {kind}: {inside} does not "
        "have it",
        way,
    )


def neuron_release(subject: Subject) -> str:
    """
    Return the release of optimum-neuron.
    """
    return _BESIDE_VLLM.get(subject.release, subject.release)


def _kind(subject: Subject) -> str | None:
    kind = subject.checkpoint.model_type
    # Llama 4's text part is compiled alone.
    return "llama4_text" if kind == "llama4" else kind
