"""
What vLLM-Omni loads of the models that vLLM has too: it is made of the vLLM of its own
number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cdk_sagemaker_llm.catalog.model_classes import class_row, has_ability
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.support import lengths, number_formats
from cdk_sagemaker_llm.serving.support.support_subject import Subject


def omni_findings(subject: Subject) -> Iterator[Finding]:
    """
    A model whose class vLLM has fits the release, in its length and formats.

    Of classes that vLLM does not have, such as those that make pictures, nothing is
    known.
    """
    name = subject.checkpoint.class_name
    if name is None or class_row("vllm", name) is None:
        return
    if has_ability("vllm", name, subject.release):
        inside = replace(subject, engine="vllm")
        yield from lengths.length_findings(inside)
        yield from number_formats.dtype_findings(inside)
