"""
Write the pages of the site to a file in JSON, by their paths: ``python -m tools.site
FILE``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tools.site.pages import pages

if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(pages()), encoding="utf-8")
