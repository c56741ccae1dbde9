"""
A user alone, with short prompts and with whole ones: what nobody else stands in for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cdk_sagemaker_llm.load.benchmark import Row, row_of
from cdk_sagemaker_llm.load.observed import words_of
from cdk_sagemaker_llm.load.running import Progress, run_load
from cdk_sagemaker_llm.load.settings import LoadSettings

# So short that the slope shows, and not so short that a prompt costs what none does.
_PART = 0.25


def run_alone(
    settings: LoadSettings,
    seconds: float,
    on_progress: Callable[[Progress], object] | None = None,
) -> tuple[Row, ...]:
    """
    Have one user ask with a quarter of each prompt, and then with whole ones.

    Args:
        settings: What is asked in the sweep.

        seconds: For how long each time.

        on_progress: What is told each second how it goes. If left out, nothing.

    Raises:
        LoadError: If the endpoint refuses any request, or Locust is missing.
    """
    alone = replace(settings, users=1, processes=1, spawn_rate=1.0, run_time=seconds)
    return tuple(
        row_of(run_load(each, on_progress)) for each in (_shortened(alone), alone)
    )


def _shortened(settings: LoadSettings) -> LoadSettings:
    if settings.prompts:
        return replace(settings, prompts=tuple(map(_beginning, settings.prompts)))
    words = words_of(settings.packed())
    return replace(settings, prompt_words=str(max(1, round(words * _PART))))


def _beginning(prompt: str) -> str:
    words = prompt.split()
    return " ".join(words[: max(1, round(len(words) * _PART))])
