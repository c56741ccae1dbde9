"""
One row of a sweep, as one copy sees it; and a user alone, with short prompts and with
whole ones, for whom no other row can stand in.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from cdk_sagemaker_llm.load.benchmark import Row, row_of
from cdk_sagemaker_llm.load.running import Progress, run_load
from cdk_sagemaker_llm.load.settings import LoadSettings, lengths_of

_DRAWN = 1000

# So short that the slope shows, and not so short that a prompt costs what none does.
_PART = 0.25


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    """
    What one copy did on average while so many users asked.

    Args:
        under_way: How many requests the copy had, waiting ones included.

        latency: Seconds that each took; the mean.

        first_token: Seconds until its first token; the mean.

        between: Seconds between two tokens; the median, which stalls by others'
            prompts leave as it is.

        disturbance: What the load generator's own delay did, as the row says it;
            empty if nothing.
    """

    users: int
    under_way: float
    latency: float
    first_token: float
    between: float
    prompt: float
    answer: float
    disturbance: str

    @property
    def rate(self) -> float:
        """
        Requests a second, by Little's law.
        """
        return self.under_way / self.latency


def observed(row: Row, copies: int) -> Observed | None:
    """
    Read a row; ``None`` if too little was streamed in it.
    """
    steady, figures = row.facts["steady"], row.facts["figures"]
    if steady is None or figures["between_tokens"] is None:
        return None
    return Observed(
        users=row.users,
        under_way=steady["under_way"] / copies,
        latency=steady["latency"],
        first_token=steady["first_token"],
        between=figures["between_tokens"]["p50"],
        prompt=figures["prompt_tokens"] or words_of(row.facts["settings"]),
        answer=figures["tokens"],
        disturbance=_disturbance(row),
    )


def _disturbance(row: Row) -> str:
    if not row.facts["is_generator_bottleneck"]:
        return ""
    said = (each for each in row.facts["remarks"] if each.startswith("the generator"))
    return next(said, "the generator itself was the bottleneck")


def run_alone(
    settings: LoadSettings,
    seconds: float,
    on_progress: Callable[[Progress], object] | None = None,
) -> tuple[Row, ...]:
    """
    Have one user ask with a quarter of each prompt, and then with whole ones.
    """
    alone = replace(settings, users=1, processes=1, spawn_rate=1.0, run_time=seconds)
    return tuple(
        row_of(run_load(each, on_progress)) for each in (_shortened(alone), alone)
    )


def words_of(settings: Mapping[str, Any]) -> float:
    """
    Return how many words the prompts have that are put together.
    """
    if settings["prompts"]:
        raise ValueError(
            "the engine does not say how many tokens the prompts have; give "
            "--prompt-words instead of --prompts"
        )
    draw = lengths_of(settings["prompt_words"])
    chance = random.Random(0)  # noqa: S311 - no secret
    return statistics.fmean(draw(chance) for _ in range(_DRAWN))


def _shortened(settings: LoadSettings) -> LoadSettings:
    if settings.prompts:
        return replace(settings, prompts=tuple(map(_beginning, settings.prompts)))
    words = words_of(settings.packed())
    return replace(settings, prompt_words=str(max(1, round(words * _PART))))


def _beginning(prompt: str) -> str:
    words = prompt.split()
    return " ".join(words[: max(1, round(len(words) * _PART))])
