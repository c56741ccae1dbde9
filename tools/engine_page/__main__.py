"""
Write the page: ``python -m tools.engine_page``.
"""

from __future__ import annotations

from tools.engine_page import TARGET, page

if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
