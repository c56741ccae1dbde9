"""
What the engines' releases take of an accelerator's memory, each figure with its source.

A figure is a range: what the best start-up log shows, what is usual, and what is
promised by. ``docs/memory.md`` shows what comes of it.

SGLang reserves memory of a GPU beside weights and cache, by a sum of its own;
``mem_fraction_static`` is what is left of it. The sum is that of ``server_args.py`` in
0.5.5 to 0.5.18 and of ``arg_groups/memory_hook.py`` in 0.5.19 to 0.5.23; what sizes
the cache after recording graphs (from 0.5.16 on) is off unless a variable is set.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from cdk_sagemaker_llm.demand import EngineName

MIB = 2**20
# Activations and constants, MiB a token of a step, and what a larger degree needs.
_CONSTANT, _PER_TOKEN, _PER_DEVICE = 512, 1.5, 1024 / 8
_PER_GRAPH, _PER_PREFILL_GRAPH, _LATENT_PREFILL = 2, 8, 1536
_LEAST_TOKENS = 2048
# From this memory on at least this much is reserved.
_LARGE_MIB, _LEAST_LARGE_MIB = 60 * 1024, 10 * 1024
_FEW_DEVICES = 4

_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")

# The prompt lengths that a graph is recorded for: from, to and step.
_RECORDED: Mapping[tuple[int, int], int] = {
    (4, 32): 4,
    (48, 256): 16,
    (288, 512): 32,
    (576, 1024): 64,
    (1280, 4096): 256,
}
_LONGER, _LONGER_STEP = 4608, 512


def _always(figure: float) -> Range:
    return Range(figure, figure, figure)


@dataclass(frozen=True, slots=True)
class Range:
    """
    One figure for each case.

    Args:
        best: The figure where all goes well.

        expected: The likely figure.

        cautious: The figure that a plan may rely on.
    """

    best: float
    expected: float
    cautious: float

    def of(self, case: Case) -> float:
        """
        Return the figure of a case.

        Args:
            case: Which of the three.
        """
        figure: float = getattr(self, case.value)
        return figure


_ONE = _always(1)

# Logs of 0.11 to 0.31: 0.13 to 0.25 GiB; one of 0.8.5 leaves 0.45 GiB unexplained.
_RUNTIME = Range(0.13, 0.25, 0.5)
# Logs of 0.19 on H100: 0.67 to 1.85 GiB for 28 to 80 layers, on one to four GPUs.
_GRAPHS = Range(0, 0.025, 0.03)

# All of the memory is shared, so that the CUDA context counts: on A100 and H100 one
# with cuBLAS and PyTorch's kernels loaded takes 0.4 to 0.6 GiB.
_WITH_CONTEXT = Range(0.4, 0.5, 0.6)

_NOTHING = _always(0)


class Windows(StrEnum):
    """
    What becomes of a cache that layers with a window no longer look at.

    ``KEPT``: it stays. ``FREED``: its blocks are given back. ``RING``: the layer has
    room for its window alone.
    """

    KEPT = "kept"
    FREED = "freed"
    RING = "ring"


@dataclass(frozen=True, kw_only=True, slots=True)
class Release:
    """
    How releases of an engine use memory, where nothing else is set.

    Args:
        share: The part of the memory that the engine takes.

        reserve: How that part follows from the hardware, where it does; it is then
            weights and cache alone, of what is free before they are loaded.

        least_reserve: The same in the best case, where the release is not known.

        logits_bytes:
            Bytes for each sequence of a step and entry of the vocabulary. The best
            case is one number of 32 bits, without which no token can be chosen.

        runtime_gib: What one process takes outside of PyTorch.

        large_gpu_gib: What it takes more of that on a large GPU.

        graph_gib_per_layer: Recorded CUDA graphs of a large GPU, by the model's layers.

        graphs_gib: The least that is counted for them.

        graphs_in_share: Whether they are taken from the share: 1, or 0 if beyond it.

        adds_prefill: Whether a prefill's tensors are still alive beside the logits.

        grows_with_gpu: Whether large GPUs have larger defaults.

        prefill_tokens: The most that a step takes, where they do not.

        sequences: The sequences of a step, on GPUs that are not large.

        logit_rows: Of how many tokens the logits are; ``None`` for one a sequence.

        activation_bytes: Bytes of a number that a prefill computes with.

        host_gib: What process and system take on a host without accelerators.

        keeps_cache: Whether anything of a sequence is kept at all.

        allocates_context: Whether the whole context is allocated at start, and shared
            by the sequences.

        splits_layers: Whether each accelerator has some layers, and not a part of each.

        groups_windows: Whether the cache is laid out in equal groups of layers, those
            with a window apart.

        alike: Kinds of layers of which there are less than so many times as many are
            in groups of the larger number.

        windows: What becomes of a cache beyond a window.

        in_flight: Steps whose tokens are kept beside a window.

        pooled: Classes of models of which layers with a window have a pool of their
            own, of 0.8 times the tokens.

        state_blocks: Blocks of a sequence's state for each layer that has one; 0 where
            a state is not kept in blocks.

        state_pool: How large the pool of states is, for the room of the cache; 0 where
            they share one. A sequence takes three of its states.

        pads_experts: Whether experts in MXFP4 are padded.

        pads_latent: Whether a latent vector of the cache is padded to 256 bytes.

        refuses_long_sequences: Whether the engine does not start where its cache
            holds less than the longest sequence.
    """

    share: Range
    logits_bytes: Range
    runtime_gib: Range
    reserve: Reserve | None = None
    least_reserve: Reserve | None = None
    large_gpu_gib: Range = _NOTHING
    graph_gib_per_layer: Range = _NOTHING
    graphs_gib: Range = _NOTHING
    graphs_in_share: Range = _NOTHING
    adds_prefill: bool = False
    grows_with_gpu: bool = False
    prefill_tokens: int = 8192
    sequences: int = 256
    logit_rows: int | None = None
    activation_bytes: int = 2
    host_gib: Range = _NOTHING
    keeps_cache: bool = True
    allocates_context: bool = False
    splits_layers: bool = False
    groups_windows: bool = False
    alike: float = 1
    windows: Windows = Windows.KEPT
    in_flight: Range = _ONE
    pooled: frozenset[str] = frozenset()
    state_blocks: Range = _NOTHING
    state_pool: float = 0
    pads_experts: bool = False
    pads_latent: bool = False
    refuses_long_sequences: bool = False


_VLLM_0_2 = Release(
    share=_always(0.9),
    logits_bytes=Range(4, 39, 39),
    # The CUDA context counts too: 0.4 to 0.6 GiB with cuBLAS and PyTorch's kernels.
    runtime_gib=Range(0.13, 0.75, 1),
    graph_gib_per_layer=_GRAPHS,
)
_VLLM_0_3 = replace(_VLLM_0_2, runtime_gib=_RUNTIME, refuses_long_sequences=True)
# The profiling of 0.6.5, on H100 (vllm-project/vllm, pull request 10511): 1.79 GiB on
# one GPU and 3.58 on two; those of 24 and 48 GiB had 0.35 and 0.44 in 0.6.4.
_VLLM_0_6 = replace(_VLLM_0_3, large_gpu_gib=Range(0, 0, 1.3))
_VLLM_0_7 = replace(_VLLM_0_3, pads_latent=True)
_VLLM_0_8 = Release(
    share=_always(0.9),
    logits_bytes=Range(4, 39, 39),
    runtime_gib=_RUNTIME,
    graph_gib_per_layer=_GRAPHS,
    grows_with_gpu=True,
    groups_windows=True,
    pads_experts=True,
    refuses_long_sequences=True,
)
# v1/core/kv_cache_utils.py of 0.9.2, 0.10.0, 0.11.0, 0.12.0, 0.14.0, 0.16.0 to 0.19.0,
# 0.23.0 and 0.30.0: blocks beyond a window are freed, groups are of the smaller kind,
# since 0.12 of the larger where it is less than 1.25 times the smaller, since 0.18 than
# 1.5 times. A state takes a block, or two where equal beginnings are shared.
_VLLM_0_10 = replace(_VLLM_0_8, windows=Windows.FREED, state_blocks=Range(1, 1, 2))
_VLLM_0_12 = replace(_VLLM_0_10, alike=1.25)
_VLLM_0_17 = replace(_VLLM_0_12, logits_bytes=Range(4, 15.4, 16))
_VLLM_0_18 = replace(_VLLM_0_17, alike=1.5)
_VLLM_0_20 = replace(
    _VLLM_0_18,
    share=_always(0.92),
    # The log of 0.22 counts them, those of 0.23 and 0.31 do not.
    graphs_in_share=Range(0, 0, 1),
    # 0.30 keeps the tokens of two steps where it plans one while another runs
    # (VllmConfig.max_in_flight_tokens); 0.19 keeps those of one.
    in_flight=Range(1, 1, 2),
)
_UNKNOWN_VLLM = replace(
    _VLLM_0_8,
    share=Range(0.92, 0.92, 0.9),
    logits_bytes=Range(4, 15.4, 39),
    refuses_long_sequences=False,
)
_SINCE = (
    ((0, 20), _VLLM_0_20),
    ((0, 18), _VLLM_0_18),
    ((0, 17), _VLLM_0_17),
    ((0, 12), _VLLM_0_12),
    ((0, 10), _VLLM_0_10),
    ((0, 8), _VLLM_0_8),
    ((0, 7), _VLLM_0_7),
    ((0, 6), _VLLM_0_6),
    ((0, 3), _VLLM_0_3),
)

# No start-up logs of these: each cautious figure is an upper bound of its own source.
_TGI = Release(
    share=_always(1),
    logits_bytes=Range(4, 8, 8),
    runtime_gib=_WITH_CONTEXT,
    graphs_gib=Range(0, 1, 3),
    adds_prefill=True,
)
# CUDA graphs are recorded unasked from 2.0.0 on (the launcher's options).
_TGI_1 = replace(_TGI, graphs_gib=_NOTHING)
_TGI_GRAPHS_SINCE = (2, 0, 0)
_TENSORRT_LLM = Release(
    share=_always(0.95),
    logits_bytes=Range(4, 8, 8),
    runtime_gib=_WITH_CONTEXT,
    adds_prefill=True,
)

# A step is of 512 tokens (n_ubatch), whose logits are the largest part of the compute
# buffer: 258.5 MiB for Llama 3 8B, of which they are 250.5. Layers with a window have
# room for it and a step, in whole 256 (llama-kv-cache-iswa.cpp). The AWS images have
# builds of 2026. No start-up logs of these: the cautious figures are bounds.
_LLAMA_CPP = Release(
    share=_always(1),
    logits_bytes=Range(4, 4.8, 8),
    runtime_gib=_WITH_CONTEXT,
    host_gib=Range(0.3, 1, 2),
    prefill_tokens=512,
    sequences=4,
    logit_rows=512,
    activation_bytes=4,
    allocates_context=True,
    splits_layers=True,
    windows=Windows.RING,
)
# Text Embeddings Inference: a step is of MAX_BATCH_TOKENS, 16384 unless set.
_TEI = Release(
    share=_always(1),
    logits_bytes=_NOTHING,
    runtime_gib=_WITH_CONTEXT,
    host_gib=Range(0.3, 1, 2),
    prefill_tokens=16384,
    keeps_cache=False,
)
_OTHERS: Mapping[EngineName, Release] = {
    "tgi": _TGI,
    "tensorrt-llm": _TENSORRT_LLM,
    "llama.cpp": _LLAMA_CPP,
    "tei": _TEI,
}


def release_of(engine: EngineName, version: str | None) -> Release:
    """
    Return what a release takes, by two numbers of vLLM's version or three of SGLang's;
    of one that is not known, what any of them does.
    """
    if engine == "tgi" and version is not None:
        match = _VERSION.match(version)
        numbers = tuple(int(part or 0) for part in match.groups()) if match else ()
        return _TGI_1 if match and numbers < _TGI_GRAPHS_SINCE else _TGI
    if engine in _OTHERS:
        return _OTHERS[engine]
    is_vllm = engine == "vllm"
    if version is None:
        return _UNKNOWN_VLLM if is_vllm else _UNKNOWN_SGLANG
    match = _VERSION.match(version)
    if match is None:
        raise ValueError(
            f"engine_version must be a release such as '0.10.2', got {version!r}"
        )
    number = tuple(int(part or 0) for part in match.groups())
    found, oldest = (_SINCE, _VLLM_0_2) if is_vllm else (_SGLANG_SINCE, _SGLANG_0_5_5)
    return next((one for since, one in found if number >= since), oldest)


class Case(StrEnum):
    """
    How much of luck a plan counts on.
    """

    BEST = "best"
    EXPECTED = "expected"
    CAUTIOUS = "cautious"


@dataclass(frozen=True, slots=True)
class Reserve:
    """
    How releases of SGLang reserve memory.

    Args:
        tiers: The sizes of GPUs, the smallest first.

        records_prefill: Whether graphs of prompts are recorded, and reserved for.
    """

    tiers: tuple[Tier, ...]
    records_prefill: bool

    def tier_of(self, memory_gib: float) -> Tier:
        """
        Return the tier of a GPU.

        Args:
            memory_gib: The memory of an accelerator.
        """
        return next(tier for tier in self.tiers if memory_gib < tier.below_gib)

    def prefill_tokens(self, memory_gib: float) -> int:
        """
        Return the prompt tokens of a step.

        Args:
            memory_gib: The memory of an accelerator.
        """
        return self.tier_of(memory_gib).prefill_tokens

    def graph_batch(self, memory_gib: float, degree: int) -> int:
        """
        Return the largest batch that a graph is recorded for.

        Args:
            memory_gib: The memory of an accelerator.

            degree: Over how many accelerators a copy is split.
        """
        tier = self.tier_of(memory_gib)
        few = degree < _FEW_DEVICES
        return tier.graph_batch if few else tier.wide_graph_batch

    def share(
        self, memory_gib: float, degree: int, tokens: int, *, is_latent: bool
    ) -> float:
        """
        Return the part of a GPU that weights and cache have, ``mem_fraction_static``.

        Args:
            memory_gib: The GPU's memory.

            degree: Over how many a copy is split.

            tokens: Prompt tokens of a step.

            is_latent: Whether the model has multi-head latent attention.
        """
        memory = memory_gib * 1024
        reserved = _CONSTANT + max(tokens, _LEAST_TOKENS) * _PER_TOKEN
        reserved += _PER_GRAPH * self.graph_batch(memory_gib, degree)
        reserved += _PER_DEVICE * degree
        if self.records_prefill:
            lengths = _PER_PREFILL_GRAPH * recorded_lengths(tokens)
            reserved += _LATENT_PREFILL if is_latent else lengths
        if memory > _LARGE_MIB:
            reserved = max(reserved, _LEAST_LARGE_MIB)
        return max(round((memory - reserved) / memory, 3), 0)


@dataclass(frozen=True, slots=True)
class Tier:
    """
    What SGLang takes on GPUs of a size, where nothing is set.

    Args:
        below_gib: The memory that such a GPU has less of.

        prefill_tokens: Prompt tokens of a step, ``chunked_prefill_size``.

        graph_batch: The largest batch that a graph is recorded for, on few devices.

        wide_graph_batch: The same with a degree of four and more.
    """

    below_gib: float
    prefill_tokens: int
    graph_batch: int
    wide_graph_batch: int


_T4 = Tier(20, 2048, 8, 8)
_A10G = Tier(35, 2048, 24, 80)
_L40S = Tier(60, 4096, 32, 160)
_H100 = Tier(160, 8192, 256, 512)
_B200 = Tier(float("inf"), 16384, 512, 512)

SGLANG_0_5_5 = Reserve((_T4, _A10G, _L40S, _H100, _B200), records_prefill=False)
# The pool is what was free before loading, times the fraction, less the weights
# (_profile_available_bytes); the CUDA context and NCCL's buffers are gone by then: the
# 8 H200 of sgl-project/sglang's pull request 11716 have 137.3 GiB left of 139.8.
_SGLANG_0_5_5 = Release(
    # Where the sum cannot be made; none of these GPUs is such a case.
    share=_always(0.88),
    reserve=SGLANG_0_5_5,
    logits_bytes=Range(4, 8, 8),
    runtime_gib=_WITH_CONTEXT,
    graph_gib_per_layer=_GRAPHS,
    adds_prefill=True,
    sequences=2048,
    # is_hybrid_swa_model and swa_full_tokens_ratio, which is 0.8.
    pooled=frozenset({"Llama4ForConditionalGeneration"}),
    # mamba_full_memory_ratio, and MAMBA_CACHE_SIZE_MAX_RUNNING_REQUESTS_RATIO.
    state_pool=0.9,
)
_SGLANG_0_5_8 = replace(
    _SGLANG_0_5_5, pooled=_SGLANG_0_5_5.pooled | {"GptOssForCausalLM"}
)
SGLANG_0_5_10 = Reserve((_T4, _A10G, _L40S, _H100, _B200), records_prefill=True)
_SGLANG_0_5_10 = replace(_SGLANG_0_5_8, reserve=SGLANG_0_5_10)
_A10G_SINCE_0_5_22 = Tier(35, 4096, 48, 160)
SGLANG_0_5_22 = Reserve(
    (_T4, _A10G_SINCE_0_5_22, _L40S, _H100, _B200), records_prefill=True
)
_SGLANG_0_5_22 = replace(_SGLANG_0_5_10, reserve=SGLANG_0_5_22)
# The newest reserves most, and the oldest least.
_UNKNOWN_SGLANG = replace(_SGLANG_0_5_22, least_reserve=SGLANG_0_5_5)
_SGLANG_SINCE = (
    ((0, 5, 22), _SGLANG_0_5_22),
    ((0, 5, 10), _SGLANG_0_5_10),
    ((0, 5, 8), _SGLANG_0_5_8),
)


def recorded_lengths(longest: int) -> int:
    """
    Return how many lengths of prompts a graph is recorded for.
    """
    ranges = [
        range(first, min(last, longest) + 1, step)
        for (first, last), step in _RECORDED.items()
    ]
    longer = range(_LONGER, longest + 1, _LONGER_STEP)
    return sum(map(len, [*ranges, longer]))
