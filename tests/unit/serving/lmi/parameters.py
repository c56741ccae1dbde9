"""
The parameters that every backend on LMI images has, each with the line it writes.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from cdk_sagemaker_llm import HuggingFaceModel
from cdk_sagemaker_llm.models import ModelSource
from cdk_sagemaker_llm.serving.lmi.base import LmiServing
from tests.unit.serving.answers import container_of

# A keyword, a value of it, and the line that it becomes in serving.properties.
Row = tuple[str, Any, str]

MODEL = HuggingFaceModel("org/model")
COMMON: list[Row] = [
    ("tensor_parallel_degree", 4, "option.tensor_parallel_degree=4"),
    ("max_rolling_batch_size", 24, "option.max_rolling_batch_size=24"),
    ("model_loading_timeout", 900, "option.model_loading_timeout=900"),
    ("predict_timeout", 60, "option.predict_timeout=60"),
    ("dtype", "fp16", "option.dtype=fp16"),
    ("trust_remote_code", True, "option.trust_remote_code=true"),
    ("output_formatter", "jsonlines", "option.output_formatter=jsonlines"),
    ("options", {"job_queue_size": 500}, "job_queue_size=500"),
    ("unchecked_options", {"option.brand_new": 1.5}, "option.brand_new=1.5"),
]


def text_of(
    serving: LmiServing, model: ModelSource | None = MODEL, devices: int | None = 8
) -> str:
    """
    Return the whole serving.properties, which is all that the tarball holds.
    """
    files = container_of(serving, model, devices).files
    assert list(files) == ["serving.properties"]
    return files["serving.properties"].decode()


def keywords_of(serving: type) -> set[str]:
    """
    Return what a class can be told, beside which image runs.
    """
    return set(inspect.signature(serving).parameters) - {"version", "image"}


def named_in(*tables: Iterable[Row]) -> set[str]:
    """
    Return the keywords that tables have a row for.
    """
    return {keyword for table in tables for keyword, _, _ in table}


def all_of(*tables: Iterable[Row], but: Iterable[str] = ()) -> dict[str, Any]:
    """
    Return the values of tables by keyword, as a class takes them all at once.
    """
    left_out = set(but)
    return {
        keyword: value
        for table in tables
        for keyword, value, _ in table
        if keyword not in left_out
    }
