"""
A run as one web page: curves, tables and sentences, with nothing from elsewhere.
"""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape

from cdk_sagemaker_llm.load.curves import panels_of
from cdk_sagemaker_llm.load.result import HEADS, LoadResult
from cdk_sagemaker_llm.pages.chart import chart, numbers
from cdk_sagemaker_llm.pages.shell import bullets, page, table


def page_of(result: LoadResult) -> str:
    """
    Write the page.
    """
    charts = "".join(chart(panel) + numbers(panel) for panel in panels_of(result))
    body = (
        f"<p>{escape(introduction(result))}</p>\n"
        f"{table('figures', ('figure', 'value'), result.rows())}"
        "<h2>How long it takes</h2>\n"
        f"{table('how long it takes', HEADS, result.distribution_rows())}"
        f"<h2>To know</h2>\n{bullets(result.remarks())}"
        f"<h2>Its course</h2>\n{charts}"
    )
    return page(f"Load test of {result.settings.endpoint}", body)


def introduction(result: LoadResult) -> str:
    """
    Say in a sentence what was done.
    """
    settings = result.settings
    load = (
        f"{settings.user_count} users"
        if settings.user_count
        else f"{settings.arrival_rate:g} requests a second arriving at random"
    )
    how = "token by token" if settings.is_streamed else "whole answers"
    began = datetime.fromtimestamp(result.begin, UTC)
    return (
        f"{load}, {how}, measured for {result.end - result.begin:.0f} s from "
        f"{began:%Y-%m-%d %H:%M:%S} UTC on."
    )
