"""
Which models an engine's releases load: by the class in config.json, by its model type,
or by the architecture of a GGUF file; and which parsers they have for answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.catalog.releases import in_spans, is_between, release_key

Ability = Literal["in", "lora", "pp", "eagle3", "v0only", "unpacked", "unstaged"]
Branch = Literal["in", "flash", "flash_to_shard"]


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


def has_model_type(
    engine: str, model_type: str, release: str, branch: Branch = "in"
) -> bool | None:
    """
    Whether a release has a branch for a model type, or one that asks for something;
    ``None`` where nobody read the releases around it.
    """
    table = _type_table(engine)
    spans = table["types"].get(model_type, {}).get(branch, "")
    return in_spans(release, spans, tuple(table["releases"]))


def model_type_spans(engine: str, model_type: str) -> str:
    """
    Return the releases that have a model type, as spans; empty for none.
    """
    spans: str = _type_table(engine)["types"].get(model_type, {}).get("in", "")
    return spans


def model_types(engine: str, release: str) -> tuple[str, ...]:
    """
    Return the model types of a release.
    """
    names = _type_table(engine)["types"]
    return tuple(one for one in names if has_model_type(engine, one, release))


def converted_spans(class_name: str) -> str:
    """
    Return the releases whose converter makes a GGUF file of a class; empty for none.
    """
    spans: str = _type_table("llama.cpp")["classes"].get(class_name, "")
    return spans


def transformers_beside(engine: str, release: str) -> str | None:
    """
    Return the ``transformers`` in the image of a release; of one where it is not known,
    that of the next newer release, which has no fewer models.
    """
    table = _type_table(engine)
    versions: Mapping[str, str] = table.get("transformers", {})
    names: list[str] = table["releases"]
    later = names[names.index(release) :] if release in names else []
    return next((versions[one] for one in later if one in versions), None)


def has_parser(engine: str, kind: str, name: str, release: str) -> bool | None:
    """
    Whether a release has a parser; ``None`` where nobody read the releases around it.
    """
    table = load("parsers.json")
    releases = tuple(table["releases"][engine])
    if release_key(release) < release_key(releases[0]):
        return None
    return in_spans(release, parser_spans(engine, kind, name), releases)


def parser_spans(engine: str, kind: str, name: str) -> str:
    """
    Return the releases that have a parser, as spans; empty for none.
    """
    spans: str = load("parsers.json")[kind][engine].get(name, "")
    return spans


def parser_names(engine: str, kind: str, release: str) -> tuple[str, ...]:
    """
    Return the parsers of a release.
    """
    names = load("parsers.json")[kind][engine]
    return tuple(one for one in names if has_parser(engine, kind, one, release))


def _table(engine: str) -> Mapping[str, Any]:
    table: Mapping[str, Any] = load("model_classes.json")["engines"][engine]
    return table


def _type_table(engine: str) -> Mapping[str, Any]:
    table: Mapping[str, Any] = load("model_types.json")["engines"][engine]
    return table
