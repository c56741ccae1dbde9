"""
``docs/support.md``: the page is what the catalogue makes.
"""

from __future__ import annotations

import pytest

from tools.support_page import TARGET, page

PAGE = TARGET.read_text(encoding="utf-8")

# One of each form: a class that stays, one that went, one that came back, and one of
# SGLang alone; read in the registries of the engines' releases.
LINES = """\
| vLLM | 0.2.1.post1 | 0.30.0 |
| SGLang | 0.5.5 | 0.5.20 |
| `Gemma3ForCausalLM` | 0.8.0 and later | 0.8.0 and later | 0.8.0 and later \
| 0.5.1 and later |
| `GptOssForCausalLM` | 0.10.1 and later | 0.11.1 and later | 0.10.2 and later \
| 0.5.1 and later |
| `AquilaModel` | 0.2.0 to 0.24.0 | 0.3.1 to 0.24.0 | 0.5.1 to 0.24.0 |  |
| `BailingMoEForCausalLM` |  |  |  | 0.5.3 and later |
"""


def test_the_page_is_the_one_the_catalogue_makes() -> None:
    """
    ``make docs`` writes it anew.
    """
    assert page() == PAGE


@pytest.mark.parametrize("line", LINES.splitlines())
def test_a_line_of_the_page(line: str) -> None:
    """
    What it says is so.
    """
    assert line in PAGE.splitlines()
