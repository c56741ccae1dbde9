"""
The two generations of vLLM's engine up to 0.11.0: which one runs, and what leaves the
work to the old one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.catalog.model_classes import has_ability
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.drafts import speculation_in
from cdk_sagemaker_llm.serving.support.attention import (
    ADA,
    AMPERE,
    BLACKWELL,
    HOPPER,
    asked_backend,
    is_latent,
)
from cdk_sagemaker_llm.serving.support.number_formats import resolved_dtype
from cdk_sagemaker_llm.serving.support.quantization import resolved_method
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.serving.support.vllm_drafts import NO_DRAFTS

# What the new engine ran with, at the releases that were read; of all else it left the
# work to the old one, or refused where it was forced.
_NEW_ENGINE: Mapping[str, tuple[tuple[str, ...], str]] = {
    "logits_processor_pattern": ((), "0.10.2"),
    "preemption_mode": ((), "0.10.2"),
    "disable_async_output_proc": (("false",), "0.10.2"),
    "scheduler_delay_factor": (("0", "0.0"), "0.10.2"),
    "max_num_partial_prefills": (("1",), "0.10.2"),
    "max_long_partial_prefills": (("1",), "0.10.2"),
    "scheduling_policy": (("fcfs",), "0.8.4"),
    "num_scheduler_steps": (("1",), "0.9.2"),
    "additional_config": ((), "0.8.4"),
    "guided_decoding_backend": (
        (
            *("auto", "xgrammar", "xgrammar:disable-any-whitespace"),
            *("guidance", "guidance:disable-any-whitespace"),
        ),
        "0.9.2",
    ),
    "enable_prompt_adapter": (("false",), "0.9.2"),
    "enable_prompt_embeds": (("false",), "0.10.2"),
    # LMI has a word of its own for the first.
    "task": (("auto", "generate", "text-generation"), "0.8.4"),
    "otlp_traces_endpoint": ((), "0.9.2"),
    "collect_detailed_traces": ((), "0.9.2"),
    "kv_transfer_config": ((), "0.8.4"),
    "pipeline_parallel_size": (("1",), "0.8.4"),
}
NEW_BACKENDS = {
    "0.8.4": ("FLASH_ATTN", "PALLAS", "TRITON_ATTN", "TRITON_MLA", "FLASHMLA"),
    "0.10.2": (
        *("FLASH_ATTN", "PALLAS", "TRITON_ATTN", "TRITON_MLA", "CUTLASS_MLA"),
        *("FLASHMLA", "FLASH_ATTN_MLA", "FLASHINFER", "FLASHINFER_MLA"),
        *("ROCM_AITER_MLA", "TORCH_SDPA", "FLEX_ATTENTION", "TREE_ATTN", "XFORMERS"),
    ),
}

OLD_ENGINE = Rule(
    "LLM939",
    "the new engine is forced where it does not run",
    "vllm/engine/arg_utils.py",
)
OLD_ENGINE_FALLBACK = Rule(
    "LLM892", "the old engine runs instead of the new one", "vllm/engine/arg_utils.py"
)
OLD_ENGINE_ASKED = Rule(
    "LLM866",
    "what is asked for, or the class, has the old engine run instead of the new one",
    "vllm/engine/arg_utils.py, _is_v1_supported_oracle",
)


def generation_findings(subject: Subject) -> Iterator[Finding]:
    """
    The generation of the engine that is forced runs on the GPU.
    """
    capability, name = subject.capability, subject.checkpoint.class_name
    is_forced = subject.environment.get("VLLM_USE_V1") == "1"
    is_old = bool(name) and has_ability("vllm", name or "", subject.release, "v0only")
    why = old_engine_for(subject) if subject.is_at("0.8.4", "0.10.2") else ""
    # Of caches, GPUs and backends other rules tell.
    is_told = why in {"", subject.gpu} or why.startswith(("kv_cache_dtype", "VLLM"))
    if is_forced and not is_old and not is_told:
        yield OLD_ENGINE.finding(
            f"VLLM_USE_V1=1 forces an engine of {subject.title} that does not take "
            f"{why}",
            "leave one of both out",
        )
    if is_forced and is_old:
        yield OLD_ENGINE.finding(
            f"VLLM_USE_V1=1 forces an engine of {subject.title} that does not run "
            f"{name}",
            "leave it out",
        )
        return
    is_by_backend = why.startswith("VLLM_ATTENTION_BACKEND")
    drafts = speculation_in(subject.arguments).get("method")
    if not why and drafts in {"ngram", "eagle"} and subject.is_at("0.8.0", "0.8.5"):
        # The new engine has them, where it is forced.
        why, is_told = f"drafts by {drafts}", False
    is_chosen = subject.environment.get("VLLM_USE_V1") == "0"
    if why and not (is_forced or is_chosen) and (is_by_backend or not is_told):
        yield OLD_ENGINE_ASKED.finding(
            f"{subject.title} falls back to its old engine for {why}",
            f"leave {why} out" if "=" in why else "",
        )
    if capability is None or capability >= AMPERE:
        return
    if is_forced and subject.is_at("0.7.0", "0.10.1"):
        yield OLD_ENGINE.finding(
            f"VLLM_USE_V1=1 forces an engine of {subject.title} that does not run on "
            f"{subject.gpu}",
            "leave it out",
        )
    elif not is_forced and subject.is_at("0.8.0", "0.10.1"):
        yield OLD_ENGINE_FALLBACK.finding(
            f"{subject.title} falls back to its old engine on {subject.gpu}"
        )


def drafts_of_old_engine_findings(subject: Subject) -> Iterator[Finding]:
    """
    Drafts run on the new engine alone.
    """
    speculation = speculation_in(subject.arguments)
    why = old_engine_of(subject) if subject.is_at("0.10.0", "0.10.2") else ""
    is_forced = subject.environment.get("VLLM_USE_V1") == "1"
    if (
        speculation
        and why
        and not is_forced
        and speculation.get("method") != "draft_model"
    ):
        yield NO_DRAFTS.finding(
            f"{subject.title} does not draft on its old engine, which {why} has it "
            "take",
            f"leave {why} out" if "=" in why else "leave the draft out",
        )


def old_engine_of(subject: Subject) -> str:
    """
    Return what has a release of 0.10.0 to 0.10.2 take its old engine; empty for
    nothing.
    """
    if subject.environment.get("VLLM_USE_V1") == "0":
        return "VLLM_USE_V1=0"
    kind = subject.text("kv_cache_dtype") or "auto"
    if kind.startswith("fp8") and _leaves_cache(subject):
        return f"kv_cache_dtype={kind}"
    return old_engine_for(subject)


def _leaves_cache(subject: Subject) -> bool:
    """
    Whether the new engine leaves a cache in 8 bits to the old one
    (is_kv_cache_dtype_supported of platforms/cuda.py).
    """
    capability = subject.capability
    backend = subject.environment.get("VLLM_ATTENTION_BACKEND", "")
    if capability is None or not subject.is_at("0.10.2"):
        return False
    if is_latent(subject):
        return backend not in {"", "FLASHMLA", "CUTLASS_MLA"}
    if backend == "TRITON_ATTN_VLLM_V1":
        return capability < ADA
    is_flash = backend in {"", "FLASH_ATTN_VLLM_V1"}
    is_kept = capability == BLACKWELL or backend == "FLASHINFER"
    return not (is_kept or (is_flash and capability == HOPPER))


def old_engine_for(subject: Subject) -> str:
    """
    Return what has a release of 0.8.4 to 0.10.2 take its old engine; empty for nothing.
    """
    name, capability = subject.checkpoint.class_name, subject.capability
    if name and has_ability("vllm", name, subject.release, "v0only"):
        return name
    for key, (values, last) in _NEW_ENGINE.items():
        value = subject.text(key)
        if value is None or not subject.is_at("0.8.4", last):
            continue
        is_by_ray = subject.text("distributed_executor_backend") == "ray"
        if value not in values and not (key.startswith("pipeline") and is_by_ray):
            return f"{subject.word(key)}={value}"
    loaded = subject.text("load_format")
    raw = subject.environment.get("VLLM_ATTENTION_BACKEND", "")
    # By its longer name the new engine has a backend.
    is_of_old = raw in {"XFORMERS", "TORCH_SDPA"} and subject.is_at("0.9.0", "0.10.2")
    is_cut = loaded == "sharded_state" and subject.is_at("0.8.0", "0.10.2")
    if is_of_old or is_cut:
        return f"load_format={loaded}" if is_cut else f"VLLM_ATTENTION_BACKEND={raw}"
    if not subject.is_at("0.8.4", "0.8.4"):
        return ""
    method = speculation_in(subject.arguments)
    kind = subject.text("kv_cache_dtype") or "auto"
    backend, word = asked_backend(subject)
    for is_left, why in (
        (subject.environment.get("VLLM_USE_V1") == "0", "what VLLM_USE_V1=0 leaves"),
        (bool(backend) and backend not in NEW_BACKENDS["0.8.4"], f"{word}={backend}"),
        (capability is not None and capability < AMPERE, subject.gpu),
        (kind != "auto" and capability != HOPPER, f"kv_cache_dtype={kind}"),
        (resolved_dtype(subject) == "float32", "float32"),
        (resolved_method(subject) == "gguf", "GGUF"),
        (loaded == "tensorizer", f"load_format={loaded}"),
        (
            bool(method) and method.get("method") not in {"ngram", "eagle"},
            "such drafts",
        ),
    ):
        if is_left:
            return why
    return ""
