"""
A name for what has no type here.
"""

from __future__ import annotations

from typing import Any, TypeAlias

# Documents of the services, which their models describe, and moto's objects, of which
# every service has its own.
Untyped: TypeAlias = Any
