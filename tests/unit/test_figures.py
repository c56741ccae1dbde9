"""
Measured figures: what the README states is what the page of benchmarks shows.
"""

from __future__ import annotations

import re
from pathlib import Path


def test_the_readmes_figures_are_those_of_the_page(root: Path) -> None:
    """
    The ratio of wall time to hand-written L1 classes, at 3 and at 60 stacks.
    """
    page = (root / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    readme = (root / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \|(.*)\|$", page, re.MULTILINE)
    head = re.search(r"^\| stacks \|(.*)\|$", page, re.MULTILINE)
    assert head is not None
    column = [name.strip() for name in head[1].split("|")].index("library/L1, wall")
    ratios = {count: row.split("|")[column].split()[0] for count, row in rows}

    stated = (
        f"Synthesis costs {ratios['3']} times the same deployments written by hand on "
        f"L1 classes at 3 stacks, and {ratios['60']} times at 60"
    )
    assert stated in readme
