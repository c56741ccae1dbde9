"""
What SGLang reserves of a GPU beside weights and cache, by its own sum.

``mem_fraction_static`` is what is left of it. The sum is that of ``server_args.py`` in
0.5.5 to 0.5.18 and of ``arg_groups/memory_hook.py`` in 0.5.19 to 0.5.23; what sizes
the cache after recording graphs (from 0.5.16 on) is off unless a variable is set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MIB = 2**20
# Activations and constants, MiB a token of a step, and what a larger degree needs.
_CONSTANT, _PER_TOKEN, _PER_DEVICE = 512, 1.5, 1024 / 8
_PER_GRAPH, _PER_PREFILL_GRAPH, _LATENT_PREFILL = 2, 8, 1536
_LEAST_TOKENS = 2048
# From this memory on at least this much is reserved.
_LARGE_MIB, _LEAST_LARGE_MIB = 60 * 1024, 10 * 1024
_FEW_DEVICES = 4


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
_A10G_SINCE_0_5_22 = Tier(35, 4096, 48, 160)
_L40S = Tier(60, 4096, 32, 160)
_H100 = Tier(160, 8192, 256, 512)
_B200 = Tier(float("inf"), 16384, 512, 512)
# The prompt lengths that a graph is recorded for: from, to and step.
_RECORDED: Mapping[tuple[int, int], int] = {
    (4, 32): 4,
    (48, 256): 16,
    (288, 512): 32,
    (576, 1024): 64,
    (1280, 4096): 256,
}
_LONGER, _LONGER_STEP = 4608, 512


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
        """
        return next(tier for tier in self.tiers if memory_gib < tier.below_gib)

    def prefill_tokens(self, memory_gib: float) -> int:
        """
        Return the prompt tokens of a step.
        """
        return self.tier_of(memory_gib).prefill_tokens

    def graph_batch(self, memory_gib: float, degree: int) -> int:
        """
        Return the largest batch that a graph is recorded for.
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


SGLANG_0_5_5 = Reserve((_T4, _A10G, _L40S, _H100, _B200), records_prefill=False)
SGLANG_0_5_10 = Reserve((_T4, _A10G, _L40S, _H100, _B200), records_prefill=True)
SGLANG_0_5_22 = Reserve(
    (_T4, _A10G_SINCE_0_5_22, _L40S, _H100, _B200), records_prefill=True
)
