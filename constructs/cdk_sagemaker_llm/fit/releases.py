"""
What the engines' releases take of an accelerator's memory, each figure with its source.

A figure is a range: what the best start-up log shows, what is usual, and what is
promised by. ``docs/memory.md`` shows what comes of it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from enum import StrEnum

from cdk_sagemaker_llm._records import dataclass
from cdk_sagemaker_llm.demand import EngineName


class Case(StrEnum):
    """
    How much of luck a plan counts on.
    """

    BEST = "best"
    EXPECTED = "expected"
    CAUTIOUS = "cautious"


@dataclass(frozen=True, slots=True)
class Range:
    """
    One figure for each case.
    """

    best: float
    expected: float
    cautious: float

    def of(self, case: Case) -> float:
        """
        Return the figure of a case.
        """
        figure: float = getattr(self, case.value)
        return figure


def _always(figure: float) -> Range:
    return Range(figure, figure, figure)


_NOTHING = _always(0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Release:
    """
    How releases of an engine use memory, where nothing else is set.

    Args:
        share: The part of the memory that the engine takes.

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

        groups_windows: Whether the cache is laid out in equal groups of layers, those
            with a window apart.

        pads_experts: Whether experts in MXFP4 are padded.

        pads_latent: Whether a latent vector of the cache is padded to 256 bytes.

        refuses_long_sequences: Whether the engine does not start where its cache
            holds less than the longest sequence.
    """

    share: Range
    logits_bytes: Range
    runtime_gib: Range
    large_gpu_gib: Range = _NOTHING
    graph_gib_per_layer: Range = _NOTHING
    graphs_gib: Range = _NOTHING
    graphs_in_share: Range = _NOTHING
    adds_prefill: bool = False
    grows_with_gpu: bool = False
    prefill_tokens: int = 8192
    groups_windows: bool = False
    pads_experts: bool = False
    pads_latent: bool = False
    refuses_long_sequences: bool = False


# Logs of 0.11 to 0.31: 0.13 to 0.25 GiB; one of 0.8.5 leaves 0.45 GiB unexplained.
_RUNTIME = Range(0.13, 0.25, 0.5)
# Logs of 0.19 on H100: 0.67 to 1.85 GiB for 28 to 80 layers, on one to four GPUs.
_GRAPHS = Range(0, 0.025, 0.03)

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
_VLLM_0_17 = replace(_VLLM_0_8, logits_bytes=Range(4, 15.4, 16))
_VLLM_0_20 = replace(
    _VLLM_0_17,
    share=_always(0.92),
    # The log of 0.22 counts them, those of 0.23 and 0.31 do not.
    graphs_in_share=Range(0, 0, 1),
)
_UNKNOWN_VLLM = replace(
    _VLLM_0_8,
    share=Range(0.92, 0.92, 0.9),
    logits_bytes=Range(4, 15.4, 39),
    refuses_long_sequences=False,
)
_SINCE = (
    ((0, 20), _VLLM_0_20),
    ((0, 17), _VLLM_0_17),
    ((0, 8), _VLLM_0_8),
    ((0, 7), _VLLM_0_7),
    ((0, 6), _VLLM_0_6),
    ((0, 3), _VLLM_0_3),
)
# All of the memory is shared, so that the CUDA context counts: on A100 and H100 one
# with cuBLAS and PyTorch's kernels loaded takes 0.4 to 0.6 GiB.
_WITH_CONTEXT = Range(0.4, 0.5, 0.6)
# No start-up logs of these: each cautious figure is an upper bound of its own source.
_TGI = Release(
    share=_always(1),
    logits_bytes=Range(4, 8, 8),
    runtime_gib=_WITH_CONTEXT,
    graphs_gib=Range(0, 1, 3),
    adds_prefill=True,
)
_TENSORRT_LLM = Release(
    share=_always(0.95),
    logits_bytes=Range(4, 8, 8),
    runtime_gib=_WITH_CONTEXT,
    adds_prefill=True,
)
_VERSION = re.compile(r"v?(\d+)\.(\d+)")


def release_of(engine: EngineName, version: str | None) -> Release:
    """
    Return what a release takes; of a vLLM that is not known, what any of them does.

    Args:
        engine: The engine.

        version: Its version, such as ``0.10.2``; what follows the second number does
            not matter.

    Raises:
        ValueError: If it does not begin with two numbers.
    """
    if engine != "vllm":
        return _TGI if engine == "tgi" else _TENSORRT_LLM
    if version is None:
        return _UNKNOWN_VLLM
    match = _VERSION.match(version)
    if match is None:
        raise ValueError(
            f"engine_version must be a release such as '0.10.2', got {version!r}"
        )
    number = int(match[1]), int(match[2])
    return next((one for since, one in _SINCE if number >= since), _VLLM_0_2)
