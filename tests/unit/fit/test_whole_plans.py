"""
Plans of many models on many types, explained whole, and what is found of them.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.demand import Assumptions, Demand, EngineName
from cdk_sagemaker_llm.fit import Plan, plan
from cdk_sagemaker_llm.fit.checking import NoPlan, fit_findings, plan_of
from cdk_sagemaker_llm.models import HuggingFaceModel, architecture_of

MISTRAL, LLAMA = "mistralai/Mistral-7B-v0.1", "meta-llama/Llama-2-70b-hf"
MIXTRAL, QWEN = "mistralai/Mixtral-8x7B-v0.1", "Qwen/Qwen2.5-7B-Instruct"
ENCODER = "sentence-transformers/all-MiniLM-L6-v2"
DEEP, WINDOWED = "deepseek-ai/DeepSeek-V2-Lite", "google/gemma-3-12b-it"
A10G, A10GS, A100S = "ml.g5.2xlarge", "ml.g5.12xlarge", "ml.p4d.24xlarge"
ENGINES: dict[str, tuple[EngineName, str | None]] = {
    "vllm 0.6": ("vllm", "0.6.3"),
    "vllm 0.11": ("vllm", "0.11.0"),
    "vllm 0.30": ("vllm", "0.30.0"),
    "sglang": ("sglang", "0.5.19"),
    "tgi 1": ("tgi", "1.4.5"),
    "tgi 3": ("tgi", "3.3.6"),
    "tensorrt-llm": ("tensorrt-llm", "0.26.0"),
}


def explained(model: str, type_name: str, **given: Any) -> list[str]:  # noqa: ANN401 - any keyword
    """
    Return what a plan says, line by line, or why there is none.
    """
    try:
        found = plan(model, type_name, **given)
    except ValueError as fault:
        return [f"ValueError: {fault}"]
    wanted = found.resources
    figures = (
        f"{found.replicas} replicas, {found.concurrent_sequences} sequences, "
        f"{found.largest_batch} in a batch, context of {found.largest_context}, "
        f"headroom of {found.headroom}, asks for {wanted.copies} x "
        f"({wanted.accelerators}, {wanted.cpus}, {wanted.memory_mib})"
    )
    return [*found.explain().splitlines(), figures]


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_takes_this_of_the_memory(
    engine: str, snapshot: SnapshotAssertion
) -> None:
    """
    Of models of several kinds, alone and split, with short and long contexts.
    """
    name, version = ENGINES[engine]
    some = product((MISTRAL, QWEN, DEEP, WINDOWED), (A10G, A10GS))
    pairs = [*some, (LLAMA, A100S), (MIXTRAL, A100S), (MIXTRAL, A10GS)]
    found = {
        f"{model} on {type_name}": explained(
            model, type_name, engine=name, engine_version=version
        )
        for model, type_name in pairs
    }
    usual: dict[str, Any] = {"engine": name, "engine_version": version}
    found |= {
        "long": explained(MISTRAL, A10G, context_length=32768, **usual),
        "in 4 bits": explained(LLAMA, A10GS, weight_bits=4, **usual),
        "in 8 bits": explained(LLAMA, A10GS, weight_bits=8, **usual),
        "in 32 bits": explained(MISTRAL, A10GS, weight_bits=32, **usual),
        "split over 2": explained(MISTRAL, A10GS, tensor_parallel_degree=2, **usual),
        "split over 3": explained(MISTRAL, A10GS, tensor_parallel_degree=3, **usual),
        "split over 8": explained(MISTRAL, A10GS, tensor_parallel_degree=8, **usual),
        "with figures": explained(
            MISTRAL,
            A10G,
            assumptions=Assumptions(
                gpu_memory_utilization=0.8,
                runtime_gib=1,
                collectives_gib=2,
                cuda_graphs_gib=3,
                max_num_batched_tokens=8192,
                max_num_seqs=16,
                kv_cache_dtype_bytes=1,
            ),
            **usual,
        ),
    }

    assert found == snapshot


def test_engines_of_their_own_ways_take_this(snapshot: SnapshotAssertion) -> None:
    """
    llama.cpp allocates the context, and TEI keeps no cache; both run on hosts too.
    """
    llama: dict[str, Any] = {"engine": "llama.cpp", "gguf_type": "Q4_K_M"}
    found = {
        "llama.cpp": explained(MISTRAL, A10G, **llama),
        "llama.cpp on a host": explained(MISTRAL, "ml.c5.2xlarge", **llama),
        "llama.cpp over GPUs": explained(LLAMA, A10GS, **llama),
        "llama.cpp with a long context": explained(
            MISTRAL, A10G, context_length=131072, **llama
        ),
        "llama.cpp in other bits": explained(MISTRAL, A10G, weight_bits=4, **llama),
        "llama.cpp of no type": explained(MISTRAL, A10G, engine="llama.cpp"),
        "llama.cpp split": explained(MISTRAL, A10GS, tensor_parallel_degree=2, **llama),
        "tei": explained(ENCODER, A10G, engine="tei"),
        "tei on a host": explained(ENCODER, "ml.c5.2xlarge", engine="tei"),
        "tei of a large one": explained(QWEN, "ml.g4dn.xlarge", engine="tei"),
        "tei split": explained(ENCODER, A10GS, tensor_parallel_degree=2, engine="tei"),
        "vllm on a host": explained(MISTRAL, "ml.c5.2xlarge"),
        "vllm of an encoder": explained(ENCODER, A10G),
        "vllm on Neuron": explained(MISTRAL, "ml.inf2.xlarge"),
    }

    assert found == snapshot


def told(
    model: str | None,
    type_name: str,
    count: int | None,
    **given: Any,  # noqa: ANN401 - any field
) -> list[str]:
    """
    Return what is found of a demand, or why it cannot be planned.
    """
    architecture = None
    if model is not None:
        architecture = architecture_of(HuggingFaceModel(model))
    usual = Demand(architecture=architecture, assumptions=Assumptions())
    demand = replace(usual, **given)
    found = plan_of(demand, find_instance_type(type_name), count)
    if isinstance(found, NoPlan):
        return [f"no plan: {found.reason}; {found.remedy}"]
    assert isinstance(found, Plan)
    return [str(each) for each in fit_findings(found, demand)]


def test_what_is_found_of_a_demand(snapshot: SnapshotAssertion) -> None:
    """
    In each engine's own words, with a way out that works.
    """
    every: tuple[tuple[EngineName, str | None], ...] = (
        *ENGINES.values(),
        ("llama.cpp", None),
        ("tei", None),
    )
    found: dict[str, list[str]] = {}
    for engine, version in every:
        own: dict[str, Any] = {"engine": engine, "engine_version": version}
        if engine == "llama.cpp":
            own["gguf_type"] = "Q8_0"
        share = Assumptions(gpu_memory_utilization=0.5)
        rows: dict[str, list[str]] = {
            "fits": told(MISTRAL, A10GS, 4, **own),
            "does not load": told(LLAMA, A10G, 1, **own),
            "does not load on one": told(MIXTRAL, A100S, 1, **own),
            "does not load, as is written": told(
                MIXTRAL, A100S, 8, tensor_parallel_degree=2, **own
            ),
            "does not load with its share": told(
                MISTRAL, A10G, 1, assumptions=share, **own
            ),
            "is long": told(MISTRAL, A10G, 1, context_length=131072, **own),
            "has windows": told(WINDOWED, A10GS, 4, context_length=1310720, **own),
            "holds no batch": told(MISTRAL, A10G, 1, batch_tokens=10**6, **own),
            "has no such degree": told(QWEN, A100S, 8, **own),
            "has a degree of 3": told(QWEN, A100S, 8, tensor_parallel_degree=3, **own),
            "has too large a degree": told(
                QWEN, A10G, 1, tensor_parallel_degree=2, **own
            ),
            "is on a host": told(MISTRAL, "ml.c5.2xlarge", None, **own),
        }
        found |= {f"{engine} {version}: {name}": row for name, row in rows.items()}
    found |= {
        "more than there are": told(
            MISTRAL,
            A10GS,
            4,
            engine="llama.cpp",
            gguf_type="Q8_0",
            tensor_parallel_degree=8,
        ),
        "unknown model": told(None, A10G, 1),
        "unknown file": told(MISTRAL, A10G, 1, engine="llama.cpp"),
    }

    assert found == snapshot
