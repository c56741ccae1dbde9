"""
Reading the packaged data files.
"""

from __future__ import annotations

import functools
import json
import pkgutil
from typing import Any


@functools.cache
def load(name: str) -> dict[str, Any]:
    """
    Read one of the JSON files of this package, once.
    """
    # Not importlib.resources, which loads zip files and temporary ones first.
    data: dict[str, Any] = json.loads(pkgutil.get_data(__package__, name) or "")
    return data
