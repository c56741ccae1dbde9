"""
How fast accelerators read their memory and compute, as their vendors state it.
"""

from __future__ import annotations

from dataclasses import dataclass

from cdk_sagemaker_llm.catalog._data import load


@dataclass(frozen=True, kw_only=True, slots=True)
class Accelerator:
    """
    One device's nameplate figures.

    Args:
        model: The name that instance types have for it, such as ``A10G``.

        memory_gb_per_second: What it reads of its memory, in 10^9 bytes a second.

        tflops_16bit: Dense 16-bit arithmetic in 10^12 operations a second; ``None``
            where the vendor states none.

        source: The document that states it.

        is_derived: Whether the arithmetic is worked out from another figure there.
    """

    model: str
    memory_gb_per_second: float
    tflops_16bit: float | None
    source: str
    is_derived: bool = False


def find_accelerator(model: str) -> Accelerator | None:
    """
    Look an accelerator up by the name of its model; ``None`` if it is not there.
    """
    row = load("accelerators.json")["accelerators"].get(model)
    if row is None:
        return None
    return Accelerator(
        model=model,
        memory_gb_per_second=row["memory_gb_per_second"],
        tflops_16bit=row["tflops_16bit"],
        source=row["source"],
        is_derived=row["basis"] == "derived",
    )
