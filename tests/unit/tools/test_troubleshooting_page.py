"""
``docs/troubleshooting.md``: the page is what the catalogue makes.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cdk_sagemaker_llm.catalog.symptoms import symptoms
from tools.troubleshooting_page import TARGET, page

PAGE = TARGET.read_text(encoding="utf-8")

# One of each form: general words, words of some releases, warnings beside errors, and
# what nothing here sees.
LINES = """\
- [Failure reasons](#failure-reasons)
  - [KV cache needed for one request](#kv-cache-needed-for-one-request)
### KV cache needed for one request
- Words of: vLLM (0.8 and later)
- Words of: vLLM (0.8 and later); general
- Caught by: [LLM194](checks.md#errors) (the engine refuses the longest sequence when \
it starts), [LLM290](checks.md#warnings) (the KV cache holds less than one whole \
sequence), [`sagemaker-llm plan`](memory.md)
- Caught by: nothing here
- Read in: [autogluon/autogluon-cloud#50]\
(https://github.com/autogluon/autogluon-cloud/pull/50), \
[aws/sagemaker-python-sdk#4828](https://github.com/aws/sagemaker-python-sdk/pull/4828)
- Read in: vllm/v1/core/kv_cache_utils.py
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


def test_every_symptom_has_a_heading_and_a_link() -> None:
    """
    The anchor of the data is the page's.
    """
    headings = re.findall(r"^### (.+)$", PAGE, re.MULTILINE)
    anchors = [each.lower().replace(" ", "-") for each in headings]

    assert sorted(anchors) == sorted(each.anchor for each in symptoms())
    assert all(f"](#{anchor})" in PAGE for anchor in anchors)


def test_the_page_s_links_lead_somewhere() -> None:
    """
    To pages beside it, and headings of theirs.
    """
    for target in set(re.findall(r"\]\(([a-z]+\.md[^)]*)\)", PAGE)):
        name, _, anchor = target.partition("#")
        text = Path(TARGET.with_name(name)).read_text(encoding="utf-8")

        assert not anchor or f"## {anchor.capitalize()}\n" in text, target
