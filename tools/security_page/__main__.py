"""
Synthesise all templates and write the page: ``python -m tools.security_page``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tools.security_page import TARGET, page

SYNTHESIS = "tests.examples.synthesis"

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", SYNTHESIS, folder], check=True)
        TARGET.write_text(page(Path(folder)), encoding="utf-8")
