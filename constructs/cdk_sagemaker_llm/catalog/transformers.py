"""
What the ``transformers`` package inside an image knows.
"""

from __future__ import annotations

from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.catalog.releases import in_spans


def knows_model_type(model_type: str, version: str) -> bool | None:
    """
    Whether a version has a configuration for a model type; ``None`` where nobody read
    the versions around it.
    """
    return _says("model_types", model_type, version)


def runs_class(name: str, version: str) -> bool | None:
    """
    Whether vLLM's Transformers backend can run a class of a version; ``None`` where
    nobody read the versions around it.
    """
    return _says("backend", name, version)


def _says(table: str, name: str, version: str) -> bool | None:
    data = load("transformers.json")
    return in_spans(version, data[table].get(name, ""), tuple(data["versions"]))
