"""
Whether copies can be placed at all: proofs first, then a search of all packings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cdk_sagemaker_llm.fit._filling import Fillings, by_price, exactly
from cdk_sagemaker_llm.fit._kinds import Kinds
from cdk_sagemaker_llm.fit._proofs import Budget, Cut, cuts, sums

# A step is a decision how many copies of a size an instance holds; so many of each
# take some tenths of a second.
MOST_PROOF_STEPS = 5_000
MOST_PRICE_STEPS = 5_000
MOST_SEARCH_STEPS = 20_000
# The filling of an instance goes as deep as there are different sizes on it.
MOST_KINDS = 200
_USED_CUTS = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """
    What a search came to; the default is that it did not come to its end.

    Args:
        fillings: What each instance holds, if a packing of all copies was found.

        is_impossible: Whether it is proven that there is none.

        cut: What proved it, if it was not the search of all packings.

        steps: How much work it was.
    """

    fillings: Fillings | None = None
    is_impossible: bool = False
    cut: Cut | None = None
    steps: int = 0


def search(kinds: Kinds, instances: int) -> Verdict:
    """
    Find a packing of all copies, or a proof that there is none, or neither in time.
    """
    if len(kinds.sizes) > MOST_KINDS:
        return Verdict()
    budgets = proving, pricing, filling = (
        Budget(MOST_PROOF_STEPS),
        Budget(MOST_PRICE_STEPS),
        Budget(MOST_SEARCH_STEPS),
    )
    found = []
    for cut in cuts(kinds, instances, proving):
        if cut.instances_for(kinds.counts) > instances:
            return Verdict(is_impossible=True, cut=cut, steps=proving.taken)
        found.append(cut)
    tight = _tightest(kinds, found)
    tries = (by_price(kinds, instances, cut.worth, pricing) for cut in tight)
    fillings = next(filter(None, tries), None) or exactly(
        kinds, instances, [*sums(kinds), *tight], filling
    )
    return Verdict(
        fillings=fillings,
        is_impossible=fillings is None and not filling.is_spent,
        steps=sum(budget.taken for budget in budgets),
    )


def _tightest(kinds: Kinds, found: Sequence[Cut]) -> list[Cut]:
    """
    Keep the few cuts that leave the least room: each costs time at every step.
    """
    tight = sorted(found, key=lambda cut: cut.load(kinds.counts), reverse=True)
    return tight[:_USED_CUTS]
