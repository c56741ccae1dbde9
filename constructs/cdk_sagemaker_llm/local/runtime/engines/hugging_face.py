"""
What Hugging Face's entry point sets before vLLM starts, where nothing else is said.

Read in scripts/docker/huggingface/vllm (sagemaker_entrypoint.sh, hf_optimizations.sh)
of aws/deep-learning-containers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

_LMCACHE = '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'
_TRANSFER, _FORMAT = "SM_VLLM_KV_TRANSFER_CONFIG", "SM_VLLM_LOAD_FORMAT"
_BUCKETS = ("s3://", "gs://", "azure://")
_ALLOCATOR = "PYTORCH_CUDA_ALLOC_CONF"


def with_defaults(environment: Mapping[str, str]) -> dict[str, str]:
    """
    Return the variables that the entry point goes on with.
    """
    return {**dict(_defaults(environment)), **environment}


def said_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """
    Return what the entry point's log says of it.
    """
    switch = environment.get("HF_ENABLE_OPTIMIZATIONS", "1")
    if switch != "1":
        return (f"[hf-opt] disabled (HF_ENABLE_OPTIMIZATIONS={switch})",)
    if _is_on(environment, "HF_ENABLE_LMCACHE"):
        return (
            (
                "[hf-opt] expandable_segments skipped (incompatible with the LMCache "
                "KV connector); LMCache takes precedence"
            ),
            "[hf-opt] LMCache CPU offload enabled",
        )
    return (f"[hf-opt] {_ALLOCATOR}=expandable_segments:True",)


def _defaults(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if environment.get("HF_ENABLE_OPTIMIZATIONS", "1") == "1":
        if _is_on(environment, "HF_ENABLE_LMCACHE"):
            yield _TRANSFER, _LMCACHE
        elif _is_on(environment, "HF_ENABLE_EXPANDABLE_SEGMENTS"):
            yield _ALLOCATOR, "expandable_segments:True"
    model = environment.get("SM_VLLM_MODEL") or environment.get("HF_MODEL_ID", "")
    streams = environment.get("HF_ENABLE_RUNAI_STREAMER", "0") == "1"
    if streams and model.startswith(_BUCKETS):
        yield _FORMAT, "runai_streamer"


def _is_on(environment: Mapping[str, str], name: str) -> bool:
    return environment.get(name, "1") == "1"
