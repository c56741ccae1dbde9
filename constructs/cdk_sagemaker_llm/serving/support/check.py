"""
The rules of support, by engine: whether a release loads a model on an instance type.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from typing import Any

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.catalog.model_classes import has_ability
from cdk_sagemaker_llm.findings import Finding, errors_of
from cdk_sagemaker_llm.serving.checks import Check, checks_of
from cdk_sagemaker_llm.serving.support.checkpoint import checkpoint_of
from cdk_sagemaker_llm.serving.support.support_subject import Subject

# The modules with each engine's rules, in this room; loaded when it is asked about. The
# first says whether the release has the class: where not, the others are not asked.
_RULES: Mapping[str, tuple[str, ...]] = {
    "vllm": (
        "vllm_classes",
        "quantization",
        "weight_settings",
        "number_formats",
        "vllm_bitsandbytes",
        "lengths",
        "attention",
        "attention_needs",
        "vllm_caches",
        "old_attention",
        "old_engine",
        "splits",
        "vllm_experts",
        "vllm_expert_kernels",
        "vllm_beside",
        "vllm_arguments",
        "vllm_drafts",
        "vllm_adapters",
        "vllm_parsers",
        "vllm_scheduling",
        "vllm_starting",
        "vllm_variables",
    ),
    "sglang": (
        "sglang_models",
        "sglang_formats",
        "sglang_backends",
        "sglang_starting",
    ),
    "tgi": ("tgi_models", "tgi_caches", "tgi_starting"),
    "tei": ("tei_models",),
    "llama.cpp": ("llama_cpp_models",),
    "tgi-neuron": ("neuron_models",),
    "vllm-neuron": ("neuron_models",),
    "vllm-omni": ("derived_engines",),
    "lmi-dist": ("derived_engines",),
    "tensorrt-llm": ("derived_engines",),
    "deepspeed": ("derived_engines",),
}
# Those whose classes are listed by release.
_LISTED = ("vllm", "sglang")


def is_judged(
    model: str | ModelArchitecture,
    *,
    engine: str,
    release: str,
    config: Mapping[str, Any] | None = None,
) -> bool:
    """
    Whether enough is known of a model and a release to say that it loads: its class,
    and what the release does with it.
    """
    name = checkpoint_of(model, config).class_name
    if name is None or engine not in _RULES:
        return False
    if engine == "lmi-dist":
        from cdk_sagemaker_llm.serving.support import derived_engines  # noqa: PLC0415

        return derived_engines.vllm_inside(release) is not None
    if engine == "vllm-omni":
        return has_ability("vllm", name, release) is True
    return engine not in _LISTED or has_ability(engine, name, release) is not None


def support_findings(subject: Subject) -> tuple[Finding, ...]:
    """
    Return what an engine's rules find.

    Of a model whose class it does not load nothing else is told.
    """
    found: list[Finding] = []
    for checks in _checks(subject.engine):
        found += [finding for check in checks for finding in check(subject)]
        if checks is _checks(subject.engine)[0] and errors_of(found):
            break
    return tuple(found)


@functools.cache
def _checks(engine: str) -> tuple[tuple[Check, ...], ...]:
    room = __name__.rpartition(".")[0]
    names = _RULES.get(engine, ())
    return tuple(checks_of(importlib.import_module(f"{room}.{one}")) for one in names)
