"""
Which models those engines load that go by the model type of config.json, or by the
architecture of a GGUF file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.catalog.releases import in_spans

Branch = Literal["in", "flash", "flash_to_shard"]


def has_model_type(
    engine: str, model_type: str, release: str, branch: Branch = "in"
) -> bool | None:
    """
    Whether a release has a branch for a model type, or one that asks for something;
    ``None`` where nobody read the releases around it.
    """
    table = _table(engine)
    spans = table["types"].get(model_type, {}).get(branch, "")
    return in_spans(release, spans, tuple(table["releases"]))


def model_type_spans(engine: str, model_type: str) -> str:
    """
    Return the releases that have a model type, as spans; empty for none.
    """
    spans: str = _table(engine)["types"].get(model_type, {}).get("in", "")
    return spans


def model_types(engine: str, release: str) -> tuple[str, ...]:
    """
    Return the model types of a release.
    """
    names = _table(engine)["types"]
    return tuple(one for one in names if has_model_type(engine, one, release))


def converted_spans(class_name: str) -> str:
    """
    Return the releases whose converter makes a GGUF file of a class; empty for none.
    """
    spans: str = _table("llama.cpp")["classes"].get(class_name, "")
    return spans


def transformers_beside(engine: str, release: str) -> str | None:
    """
    Return the ``transformers`` in the image of a release; of one where it is not known,
    that of the next newer release, which has no fewer models.
    """
    table = _table(engine)
    versions: Mapping[str, str] = table.get("transformers", {})
    names: list[str] = table["releases"]
    later = names[names.index(release) :] if release in names else []
    return next((versions[one] for one in later if one in versions), None)


def _table(engine: str) -> Mapping[str, Any]:
    table: Mapping[str, Any] = load("model_types.json")["engines"][engine]
    return table
