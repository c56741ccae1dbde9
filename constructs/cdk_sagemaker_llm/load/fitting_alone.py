"""
What a request takes by itself: the network, its prompt, and a token alone.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from cdk_sagemaker_llm.load.fitting_line import before_line, held_up
from cdk_sagemaker_llm.load.fitting_said import Said, Single
from cdk_sagemaker_llm.load.observed import Observed

# More of its time no copy spends on prompts, as long as it writes answers.
_BUSIEST = 0.95
_HAIR = 1e-9
_MILLI = 1000


def single_of(
    alone: Sequence[Observed], points: Sequence[Observed], said: Said
) -> Single:
    """
    Tell what a request takes alone: of a user alone, or from the sweep.
    """
    if len(alone) > 1:
        short, long = sorted(alone, key=lambda one: one.prompt)[:: len(alone) - 1]
        if long.prompt >= 2 * short.prompt:
            return _by_lengths(short, long, said)
        said.warnings.append(
            "prompt_seconds_per_token: the prompts of a user alone do not differ "
            "enough in length; give longer ones"
        )
    cost = _by_rows(points, said)
    said.warnings.append(
        "overhead_seconds: counted with the prompt, since nobody asked alone"
    )
    return Single(0.0, cost, None)


def _by_lengths(short: Observed, long: Observed, said: Said) -> Single:
    slope = (long.first_token - short.first_token) / (long.prompt - short.prompt)
    token = statistics.fmean((short.mean_between, long.mean_between))
    overhead = short.first_token - slope * short.prompt - token
    said.found += [
        (
            f"overhead_seconds: {max(overhead, 0) * _MILLI:.1f} ms, of a user alone: "
            "the time to the first token, less what prompt and token take"
        ),
        (
            f"prompt_seconds_per_token: {max(slope, 0) * _MILLI:.4f} ms, of a user "
            f"alone: how much later the first token comes with {long.prompt:.0f} than "
            f"with {short.prompt:.0f} tokens of prompt"
        ),
    ]
    if slope < 0:
        said.warnings.append(
            "prompt_seconds_per_token: long prompts were no slower than short ones; "
            "ask alone for longer with --probe"
        )
    return Single(max(overhead, 0.0), max(slope, 0.0), token)


def _by_rows(points: Sequence[Observed], said: Said) -> float:
    """
    Compute what a prompt's token costs from how prompts hold up what others write.
    """
    calm = before_line(points)
    if calm:
        cost = statistics.fmean(
            held_up(one, one.under_way) / one.prompt for one in calm
        )
        how = "what answers take longer than their tokens, for each request under way"
    else:
        # The mean time between tokens has those stalls in it, the median does not.
        cost = statistics.fmean(
            max(0.0, 1 - one.between / max(one.mean_between, _HAIR))
            / (one.rate * one.prompt)
            for one in points
        )
        how = "how much longer the mean time between tokens is than the median"
    said.found.append(f"prompt_seconds_per_token: {cost * _MILLI:.4f} ms, from {how}")
    said.warnings.append(
        "prompt_seconds_per_token: nobody asked alone with prompts of two lengths, "
        "which tells it better"
    )
    return cost


def bounded(single: Single, points: Sequence[Observed], said: Said) -> Single:
    """
    Hold what prompts cost to what leaves time for the answers that were written.
    """
    most = min(_BUSIEST / (one.rate * one.prompt) for one in points)
    if single.prompt <= most:
        return single
    said.warnings.append(
        f"prompt_seconds_per_token: {most * _MILLI:.4f} ms is what the throughput "
        "leaves for prompts, less than one takes alone: the engine works on several "
        "at once"
    )
    return Single(single.overhead, most, single.token)
