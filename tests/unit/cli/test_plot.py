"""
The picture of a plan: bars one after the other, to scale.
"""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle

from cdk_sagemaker_llm.cli.output.plans import memory_figure
from cdk_sagemaker_llm.fit import plan

MISTRAL = "mistralai/Mistral-7B-v0.1"


def test_the_terms_of_an_accelerator_stand_one_after_the_other() -> None:
    """
    Each term begins where the one before ends; the line is what there is.
    """
    drawn = plan(MISTRAL, "ml.g5.xlarge")
    (axes,) = memory_figure([drawn]).axes
    bars = [bar for bar in axes.patches if isinstance(bar, Rectangle)]
    begins = [round(bar.get_x(), 6) for bar in bars]
    sizes = [round(bar.get_width(), 6) for bar in bars]

    expected = [value / 2**30 for value in drawn.terms.items().values()]
    assert sizes == [round(size, 6) for size in expected]
    assert begins == [round(sum(expected[:index]), 6) for index in range(5)]
    (line,) = axes.lines
    ends = np.asarray(line.get_xydata()).tolist()
    assert ends == [pytest.approx([22.05, -0.45]), pytest.approx([22.05, 0.45])]


def test_a_dotted_line_leads_back_to_the_best_case() -> None:
    """
    From the end of the bar, which is the cautious case.
    """
    drawn = plan(MISTRAL, "ml.g5.xlarge")
    (axes,) = memory_figure([drawn]).axes
    (lines,) = [one for one in axes.collections if isinstance(one, LineCollection)]

    ends = np.asarray(lines.get_segments()).tolist()
    best, cautious = drawn.best.terms.total / 2**30, drawn.terms.total / 2**30
    assert ends == [[pytest.approx([best, 0]), pytest.approx([cautious, 0])]]


def test_the_picture_says_what_it_shows() -> None:
    """
    The types with their degrees, the first on top, and the terms by their names.
    """
    plans = [plan(MISTRAL, name) for name in ("ml.g5.xlarge", "ml.p4d.24xlarge")]
    figure = memory_figure(plans)
    (axes,) = figure.axes
    legend = axes.get_legend()
    figure.draw_without_rendering()

    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "ml.g5.xlarge (degree 1)",
        "ml.p4d.24xlarge (degree 1)",
    ]
    assert axes.yaxis_inverted()
    assert axes.get_xlabel() == (
        "GiB per accelerator, cautiously; dotted: back to the best case; "
        "the line is its capacity"
    )
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "weights",
        "runtime",
        "activations",
        "cuda graphs",
        "kv cache",
    ]


@pytest.mark.parametrize(("count", "shown"), [(1, 1), (12, 12), (13, 12)])
def test_the_picture_has_twelve_bars_at_most(count: int, shown: int) -> None:
    """
    More could not be read.
    """
    (axes,) = memory_figure([plan(MISTRAL, "ml.g5.xlarge")] * count).axes

    assert len(axes.lines) == shown


def test_fails_if_there_is_nothing_to_draw() -> None:
    """
    The message says why.
    """
    with pytest.raises(ValueError, match="nothing to draw: no instance type fits"):
        memory_figure([])
