"""
Write ``docs/engines.md`` from the catalogue: ``python -m tools.engine_page``.
"""

from __future__ import annotations

from pathlib import Path

from tools.engine_page import arguments, hosts, images, rules

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
        rules.entry_points(),
        rules.limits(),
        arguments.switches("vllm"),
        arguments.switches("sglang"),
        arguments.gone("vllm"),
        arguments.gone("sglang"),
        arguments.defaults("vllm"),
        arguments.defaults("sglang"),
        hosts.host_images(),
    )
    return "\n".join([_HEAD, *sections])
