"""
What a model is for, as engines tell it: writing, embedding, classifying or ranking.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.architectures.architecture import find_architecture
from cdk_sagemaker_llm.catalog.architectures import known_config

Kind = Literal["generate", "embed", "classify", "rank"]

_CLASSIFIES = "ForSequenceClassification"
# vLLM's `task`, up to 0.12, and `convert` in its place.
_TASKS: Mapping[str, Kind] = {
    "generate": "generate",
    "embed": "embed",
    "embedding": "embed",
    "classify": "classify",
    "reward": "classify",
    "score": "rank",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """
    The model that an engine loads, as far as it is known here.

    Args:
        name: What the engine is told to load.

        architecture: Its sizes; ``None`` where they are not known.

        labels: How many classes it tells apart; ``None`` for what does not classify.
    """

    name: str
    architecture: ModelArchitecture | None = None
    labels: int | None = None

    @property
    def kind(self) -> Kind | None:
        """
        What it is for if nothing else is said; ``None`` where it is not known.

        Files of sentence-transformers decide in the engines; the catalogue does not
        have them, so that a decoder's name has to say that it embeds.
        """
        if self.labels is not None:
            return "rank" if self.labels == 1 else "classify"
        if "embed" in self.name.rpartition("/")[2].lower():
            return "embed"
        if self.architecture is None:
            return None
        return "generate" if self.architecture.keeps_cache else "embed"


def read_model(name: str, config: str | None = None) -> Model:
    """
    Read what a model is.

    Args:
        name: What the engine is told to load.

        config: The text of the config.json in its folder; ``None`` where it has none,
            or is on the Hub.
    """
    if config is None:
        keys = known_config(name)
        return Model(
            name=name, architecture=find_architecture(name), labels=_labels(keys or {})
        )
    try:
        parsed = json.loads(config)
        found = ModelArchitecture.from_config(config)
    except (ValueError, RecursionError):
        return Model(name=name)
    return Model(name=name, architecture=found, labels=_labels(parsed))


def told_kind(settings: Mapping[str, Any], model: Model) -> Kind | None:
    """
    Return what vLLM uses a model for: what it is told, or else what the model is for.
    """
    task = str(settings.get("task") or settings.get("convert"))
    if task in _TASKS:
        return _TASKS[task]
    runner = settings.get("runner")
    if runner == "generate":
        return "generate"
    if runner == "pooling" and model.kind in {None, "generate"}:
        return "embed"
    return model.kind


def _labels(config: Mapping[str, Any]) -> int | None:
    names = config.get("architectures") or [""]
    if not str(names[0]).endswith(_CLASSIFIES):
        return None
    # Two is what transformers takes where nothing is said.
    return len(config.get("id2label") or ()) or config.get("num_labels") or 2
