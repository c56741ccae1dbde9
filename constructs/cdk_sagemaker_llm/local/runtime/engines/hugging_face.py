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
_ALL, _CACHE = "HF_ENABLE_OPTIMIZATIONS", "HF_ENABLE_LMCACHE"
_ALLOCATOR = "PYTORCH_CUDA_ALLOC_CONF"


def with_defaults(environment: Mapping[str, str]) -> dict[str, str]:
    """
    Return the variables that the entry point goes on with.
    """
    given = {name: value for name, value in environment.items() if value}
    return {**environment, **dict(_defaults(environment)), **given}


def said_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """
    Return what the entry point's log says of it.
    """
    if not _is_on(environment, _ALL):
        return (f"[hf-opt] disabled ({_ALL}={environment[_ALL]})",)
    is_cached = _is_on(environment, _CACHE)
    cached = ("[hf-opt] LMCache CPU offload enabled",) if is_cached else ()
    if not _expands(environment):
        return cached
    if is_cached:
        skipped = (
            "[hf-opt] expandable_segments skipped (incompatible with the LMCache "
            "KV connector); LMCache takes precedence"
        )
        return (skipped, *cached)
    return (f"[hf-opt] {_ALLOCATOR}=expandable_segments:True",)


def _defaults(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if _is_on(environment, _ALL):
        if _is_on(environment, _CACHE):
            yield _TRANSFER, _LMCACHE
        elif _expands(environment):
            yield _ALLOCATOR, "expandable_segments:True"
    model = environment.get("SM_VLLM_MODEL") or environment.get("HF_MODEL_ID", "")
    streams = environment.get("HF_ENABLE_RUNAI_STREAMER", "0") == "1"
    if streams and model.startswith(_BUCKETS):
        yield _FORMAT, "runai_streamer"


def _expands(environment: Mapping[str, str]) -> bool:
    """
    Whether the allocator is to be told, which nobody has told yet.
    """
    is_wanted = _is_on(environment, "HF_ENABLE_EXPANDABLE_SEGMENTS")
    return is_wanted and not environment.get(_ALLOCATOR)


def _is_on(environment: Mapping[str, str], name: str) -> bool:
    # To a shell's := an empty value is none.
    return (environment.get(name) or "1") == "1"
