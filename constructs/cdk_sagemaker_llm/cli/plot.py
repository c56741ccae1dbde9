"""
A picture of the memory that plans take of each accelerator.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.fit.setting import GIB

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cdk_sagemaker_llm.fit.plans import Plan

_MOST_BARS = 12


def draw_memory(plans: Sequence[Plan], path: Path) -> None:
    """
    Draw a stacked bar for each plan into a file, whose ending chooses the format.

    Raises:
        ValueError: If matplotlib is missing, nothing is to be drawn, or the ending is
            of no known format.
    """
    memory_figure(plans).savefig(path)


def memory_figure(plans: Sequence[Plan]) -> Figure:
    """
    Draw a stacked bar for each plan, in GiB, with a line at what an accelerator has.

    The bar is the cautious case; a dotted line leads back to the best one.

    Raises:
        ValueError: If matplotlib is missing, or nothing is to be drawn.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra
    except ImportError as fault:
        raise ValueError(
            "--plot needs matplotlib; install it with: "
            "pip install 'cdk-sagemaker-llm[plot]'"
        ) from fault
    shown = plans[:_MOST_BARS]
    if not shown:
        raise ValueError("there is nothing to draw: no instance type fits")
    figure = Figure(figsize=(9, 1.5 + 0.45 * len(shown)), layout="constrained")
    axes = figure.subplots()
    labels = [
        f"{plan.instance_type.name} (degree {plan.tensor_parallel_degree})"
        for plan in shown
    ]
    begun = [0.0] * len(shown)
    for name in shown[0].terms.items():
        sizes = [plan.terms.items()[name] / GIB for plan in shown]
        axes.barh(labels, sizes, left=begun, label=name.replace("_", " "))
        begun = [left + size for left, size in zip(begun, sizes, strict=True)]
    for index, plan in enumerate(shown):
        edge = plan.capacity / GIB
        axes.plot([edge, edge], [index - 0.45, index + 0.45], color="black")
        least, most = plan.best.terms.total / GIB, plan.terms.total / GIB
        axes.hlines(index, least, most, colors="black", linestyles="dotted")
    axes.invert_yaxis()
    axes.set_xlabel(
        "GiB per accelerator, cautiously; dotted: back to the best case; "
        "the line is its capacity"
    )
    axes.legend(ncols=5, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    return figure
