"""
Write ``docs/engines.md`` from the catalogue: ``python -m tools.engine_page``.
"""

from __future__ import annotations

from pathlib import Path

from tools.engine_page import engines, images

TARGET = Path(__file__).parents[2] / "docs" / "engines.md"
_HEAD = """\
# Engines

What is inside the images that run vLLM, SGLang, llama.cpp and TEI by themselves, \
how each is told what to do, and what is easily told wrong.
What is found of it at synth has a code in [checks.md](checks.md).
This page is generated from the catalogue and the code by `make docs`, and a test \
holds it.
"""


def page() -> str:
    """
    Return the page's text.
    """
    sections = (
        images.families(),
        images.versions(),
        engines.entry_points(),
        engines.limits(),
        engines.switches("vllm"),
        engines.switches("sglang"),
        engines.gone("vllm"),
        engines.gone("sglang"),
        engines.defaults("vllm"),
        engines.defaults("sglang"),
        images.host_images(),
    )
    return "\n".join([_HEAD, *sections])
