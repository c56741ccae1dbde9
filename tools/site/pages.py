"""
All pages of the site: those of ``docs/``, and those that are made from the code.
"""

from __future__ import annotations

from pathlib import Path

from cdk_sagemaker_llm.codes import rules
from tools.site import commands, examples, reference
from tools.site import rules as rule_pages
from tools.site.links import CHANGELOG, on_site, with_rules

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def pages() -> dict[str, str]:
    """
    Return the text of each page by its path below the site's source.
    """
    return {**written(), **made()}


def written() -> dict[str, str]:
    """
    Return the pages of ``docs/``, with their links as the site has them.
    """
    found = {
        str(file.relative_to(DOCS)): file.read_text(encoding="utf-8")
        for file in sorted(DOCS.rglob("*.md"))
    }
    found[CHANGELOG] = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return {
        path: _boosted(path, with_rules(path, on_site(path, text), rules()))
        for path, text in found.items()
    }


def _boosted(path: str, text: str) -> str:
    # What was written for readers is found before what lists everything, and a guide,
    # which names many commands, after the page of the command.
    boost = 0.1 if path == CHANGELOG else 2 if path.startswith("how-to/") else 3
    return (
        text
        if text.startswith("---")
        else f"---\nsearch:\n  boost: {boost}\n---\n{text}"
    )


def made() -> dict[str, str]:
    """
    Return the pages that are made from the code.
    """
    return {
        **dict(examples.pages()),
        **dict(rule_pages.pages()),
        **dict(reference.pages()),
        **dict(commands.pages()),
    }
