"""
What drafts tokens for a model, by the words of the engines that run it.

Of vLLM a draft is split over one accelerator or as many as the model, and over these
where nothing is said; from V1's drafts (0.15) on over as many alone
(SpeculativeConfig._verify_and_get_draft_tp, DraftModelProposer). LMI-Dist says one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cdk_sagemaker_llm.demand import DraftModel, weight_bits_of

# What guesses by the text alone, and has no weights.
_WITHOUT_WEIGHTS = frozenset({"ngram", "[ngram]", "ngram_gpu", "suffix"})


def speculation_in(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """
    Return vLLM's ``speculative_config`` of arguments, which may be JSON, or what older
    releases and LMI call its parts; empty if it is none.
    """
    value = arguments.get("speculative_config")
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    if isinstance(value, Mapping):
        return value
    parts = {
        "model": ("speculative_model", "speculative_draft_model"),
        "draft_tensor_parallel_size": (
            "speculative_draft_tensor_parallel_size",
            "draft_model_tp_size",
        ),
        "quantization": ("speculative_model_quantization",),
    }
    found = {
        part: next((arguments[name] for name in names if arguments.get(name)), None)
        for part, names in parts.items()
    }
    return found if found["model"] else {}


def draft_in(
    arguments: Mapping[str, Any], usual_degree: int | None = None
) -> DraftModel | None:
    """
    Return what drafts, by arguments of vLLM or options of LMI; ``None`` if nothing does
    that has weights.
    """
    said = speculation_in(
        {
            name.removeprefix("option.").replace("-", "_"): value
            for name, value in arguments.items()
        }
    )
    model, method = said.get("model"), said.get("method")
    if not {model, method}.isdisjoint(_WITHOUT_WEIGHTS) or not (model or method):
        return None
    degree = str(said.get("draft_tensor_parallel_size") or usual_degree or "")
    return DraftModel(
        str(model or method),
        tensor_parallel_degree=int(degree) if degree.isdecimal() else None,
        weight_bits=weight_bits_of(said.get("quantization")),
        is_model=model is not None and method in (None, "draft_model"),
    )
