"""
Which GPUs and number formats the quantization methods of an engine's releases take.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.catalog.releases import in_spans


class MethodSupport(NamedTuple):
    """
    What a release asks of a method: the least compute capability times ten and the data
    types, ``None`` where they are not known, and whether it must be allowed first.
    """

    capability: int | None
    types: tuple[str, ...] | None
    is_deprecated: bool


def find_method(engine: str, method: str, release: str) -> MethodSupport | None:
    """
    Look a quantization method up at a release; ``None`` where it does not have it, or
    nobody read it.
    """
    row = _row(
        load("gpu_formats.json")["methods"][engine].get(method, ()), release, engine
    )
    if row is None:
        return None
    types = row.get("types")
    return MethodSupport(
        capability=row.get("capability"),
        types=None if types is None else tuple(types),
        is_deprecated=row.get("deprecated", False),
    )


def lacks_method(engine: str, method: str, release: str) -> bool:
    """
    Whether it is known that a release does not have a method.
    """
    table = load("gpu_formats.json")
    releases = tuple(table["releases"][engine])
    spans = " ".join(row["in"] for row in table["methods"][engine].get(method, ()))
    return in_spans(release, spans, releases) is False


def method_spans(engine: str, method: str) -> str:
    """
    Return the releases that have a method, as spans; empty for none.
    """
    rows = load("gpu_formats.json")["methods"][engine].get(method, ())
    return " ".join(row["in"] for row in rows)


def scheme_capability(engine: str, scheme: str, release: str) -> int | None:
    """
    Return the least compute capability, times ten, of a scheme of compressed-tensors.
    """
    rows = load("gpu_formats.json")["schemes"][engine].get(scheme, ())
    row = _row(rows, release, engine)
    found: int | None = None if row is None else row["capability"]
    return found


def _row(rows: Any, release: str, engine: str) -> Mapping[str, Any] | None:  # noqa: ANN401 - JSON
    releases = tuple(load("gpu_formats.json")["releases"][engine])
    return next((row for row in rows if in_spans(release, row["in"], releases)), None)
