"""
What comes of a plan in one case: room for the cache, and what it holds.
"""

from __future__ import annotations

from dataclasses import dataclass

from cdk_sagemaker_llm.fit.cache import (
    BLOCK_TOKENS,
    frees_windows,
    sequence_bytes,
    state_bytes,
    token_bytes,
)
from cdk_sagemaker_llm.fit.memory import MemoryTerms, memory_terms
from cdk_sagemaker_llm.fit.releases import Case
from cdk_sagemaker_llm.fit.setting import Setting, visible_bytes

# MAMBA_CACHE_SIZE_MAX_RUNNING_REQUESTS_RATIO of SGLang: states of each request.
_STATES_OF_ONE = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """
    One accelerator in the best, the expected or the cautious case.

    Args:
        terms: What it holds, in bytes.

        kv_cache_room: The bytes that are left for the cache; negative if short.

        kv_cache_tokens: How many tokens of all sequences together the cache holds; of
            an encoder, which keeps none, those of the sequences of a step.

        step_sequences: The sequences of a step.

        shares_context: Whether the sequences of a step share one context.

        most_sequences: How many sequences there can be for another reason than the
            cache's room; ``None`` without one.
    """

    terms: MemoryTerms
    kv_cache_room: int
    kv_cache_tokens: int
    step_sequences: int
    shares_context: bool = False
    most_sequences: int | None = None

    @property
    def loads(self) -> bool:
        """
        Whether the engine starts: the cache has room for something.
        """
        return self.kv_cache_tokens > 0

    @property
    def fits(self) -> bool:
        """
        Whether it starts and holds at least one whole sequence.
        """
        return self.loads and self.kv_cache_room >= self.terms.kv_cache

    @property
    def sequences(self) -> int:
        """
        How many whole sequences it holds at the same time.
        """
        if not self.fits:
            return 0
        if not self.terms.kv_cache or self.shares_context:
            return self.step_sequences
        found = self.kv_cache_room // self.terms.kv_cache
        return found if self.most_sequences is None else min(found, self.most_sequences)


def outcome_of(setting: Setting, case: Case) -> Outcome:
    """
    Compute what comes of a setting in a case.
    """
    terms = memory_terms(setting, case)
    room, states = _pools(setting, _room(setting, case, terms))
    return Outcome(
        terms=terms,
        kv_cache_room=room,
        kv_cache_tokens=_tokens(setting, max(room, 0)),
        step_sequences=setting.sequences,
        shares_context=setting.release.allocates_context,
        most_sequences=states,
    )


def longest_sequence(setting: Setting, case: Case, outcome: Outcome) -> int:
    """
    Return the longest sequence that there is room for, up to the model's own length.

    It is searched for, since what is kept of a window does not grow with a sequence.
    """
    most = setting.architecture.context_length
    if not setting.keeps_cache or not frees_windows(setting):
        return min(outcome.kv_cache_tokens, most)
    shortest, longest = 0, most
    while shortest < longest:
        middle = (shortest + longest + 1) // 2
        if sequence_bytes(setting, case, middle) <= outcome.kv_cache_room:
            shortest = middle
        else:
            longest = middle - 1
    return shortest


def _pools(setting: Setting, room: int) -> tuple[int, int | None]:
    """
    Return the room of the cache, and for how many sequences another pool has states.
    """
    release, state = setting.release, state_bytes(setting)
    if not release.state_pool or not state:
        return room, None
    cache = int(room / (1 + release.state_pool))
    return cache, max(room - cache, 0) // state // _STATES_OF_ONE


def _tokens(setting: Setting, room: int) -> int:
    """
    Return how many tokens there is room for, in whole blocks where they are kept.
    """
    if setting.keeps_cache:
        # One sequence at least keeps its state.
        kept = 0 if setting.release.state_pool else state_bytes(setting)
        room = max(room - kept, 0)
        return room // (token_bytes(setting) * BLOCK_TOKENS) * BLOCK_TOKENS
    return setting.sequences * setting.context_length if room else 0


def _room(setting: Setting, case: Case, terms: MemoryTerms) -> int:
    """
    Return what the share leaves, and no more than what the graphs leave beyond it.

    A share that is weights and cache alone is of what is free before loading.
    """
    capacity = visible_bytes(setting.hardware)
    left = capacity - terms.cuda_graphs - terms.fixed
    if setting.release.reserve is not None:
        pool = int((capacity - terms.runtime) * setting.share(case)) - terms.weights
        return min(pool, left)
    share = int(capacity * setting.share(case))
    if setting.release.graphs_in_share.of(case):
        return share - terms.cuda_graphs - terms.fixed
    return min(share - terms.fixed, left)
