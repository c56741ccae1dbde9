"""
What comes of a plan in one case: room for the cache, and what it holds.
"""

from __future__ import annotations

from cdk_sagemaker_llm._records import dataclass
from cdk_sagemaker_llm.fit.devices import visible_bytes
from cdk_sagemaker_llm.fit.memory import (
    BLOCK_TOKENS,
    MemoryTerms,
    Setting,
    memory_terms,
    state_bytes,
    token_bytes,
)
from cdk_sagemaker_llm.fit.releases import Case


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
    """

    terms: MemoryTerms
    kv_cache_room: int
    kv_cache_tokens: int
    step_sequences: int

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
        if self.fits and not self.terms.kv_cache:
            return self.step_sequences
        return self.kv_cache_room // self.terms.kv_cache if self.fits else 0


def outcome_of(setting: Setting, case: Case) -> Outcome:
    """
    Compute what comes of a setting in a case.
    """
    terms = memory_terms(setting, case)
    room = _room(setting, case, terms)
    return Outcome(
        terms=terms,
        kv_cache_room=room,
        kv_cache_tokens=_tokens(setting, max(room, 0)),
        step_sequences=setting.sequences,
    )


def _tokens(setting: Setting, room: int) -> int:
    """
    Return how many tokens there is room for, in whole blocks where they are kept.
    """
    if setting.architecture.keeps_cache:
        # One sequence at least keeps its state.
        room = max(room - state_bytes(setting), 0)
        return room // (token_bytes(setting) * BLOCK_TOKENS) * BLOCK_TOKENS
    return setting.sequences * setting.context_length if room else 0


def _room(setting: Setting, case: Case, terms: MemoryTerms) -> int:
    """
    Return what the share leaves, and no more than what the graphs leave beyond it.
    """
    capacity = visible_bytes(setting.hardware)
    share = int(capacity * setting.share(case))
    if setting.release.graphs_in_share.of(case):
        return share - terms.cuda_graphs - terms.fixed
    return min(share, capacity - terms.cuda_graphs) - terms.fixed
