"""
The guides' own code, as their readers paste it.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
_GUIDES = ROOT / "docs" / "how-to"


def blocks(guide: str, language: str) -> list[str]:
    """
    Return the blocks of a language in a guide, the first one first.
    """
    text = (_GUIDES / f"{guide}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
