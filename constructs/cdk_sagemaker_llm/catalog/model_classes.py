"""
Which model classes an engine's releases load, and what they do with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.catalog.releases import in_spans, is_between

Ability = Literal["in", "lora", "pp", "eagle3", "v0only", "by_transformers"]


def has_ability(
    engine: str, name: str, release: str, ability: Ability = "in"
) -> bool | None:
    """
    Whether a release has a class, or is able to do something with it; ``None`` where
    nobody read the release.
    """
    table = _table(engine)
    spans = table["classes"].get(name, {}).get(ability, "")
    return in_spans(release, spans, tuple(table["releases"]))


def class_row(engine: str, name: str) -> Mapping[str, Any] | None:
    """
    Return what is known of a class at an engine; ``None`` where no release has it.
    """
    row: Mapping[str, Any] | None = _table(engine)["classes"].get(name)
    return row


def class_names(engine: str) -> tuple[str, ...]:
    """
    Return every class that some release has.
    """
    return tuple(_table(engine)["classes"])


def class_alike(engine: str, name: str, release: str) -> str | None:
    """
    Return a class of the same stem that a release loads instead, as vLLM does for
    ``LlamaForTextEncoding``; ``None`` if there is none.
    """
    rule = _table(engine).get("suffixes")
    if rule is None or not is_between(release, rule["since"]):
        return None
    endings: tuple[str, ...] = tuple(rule["names"])
    ending = next((one for one in endings if name.endswith(one)), None)
    if ending is None:
        return None
    stem = name.removesuffix(ending)
    others = (stem + one for one in endings)
    return next((one for one in others if has_ability(engine, one, release)), None)


def too_new_for_transformers(engine: str, name: str, release: str) -> str | None:
    """
    Return the least ``transformers`` that knows a class, where every image with the
    release has an older one; ``None`` otherwise.
    """
    for row in _table(engine).get("transformers", ()):
        if row["class"] != name or not is_between(release, row["from"], row["to"]):
            continue
        if row["certainty"] == "certain":
            return str(row["min_transformers"])
        inside = transformers_inside(engine, release)
        least = str(row["min_transformers"])
        if inside is not None and not is_between(inside, least):
            return least
    return None


def transformers_inside(engine: str, release: str) -> str | None:
    """
    Return the ``transformers`` in the images with a release; ``None`` where it is not
    known, or differs.
    """
    inside: str | None = _table(engine).get("inside", {}).get(release)
    return inside


def brings_model_type(engine: str, model_type: str, release: str) -> bool | None:
    """
    Whether a release itself has a configuration for a model type, whatever the
    ``transformers`` in its images know.
    """
    table = _table(engine)
    spans = table.get("own_types", {}).get(model_type, "")
    return in_spans(release, spans, tuple(table["releases"]))


def _table(engine: str) -> Mapping[str, Any]:
    table: Mapping[str, Any] = load("model_classes.json")["engines"][engine]
    return table
