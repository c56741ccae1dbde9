"""
The type of values whose libraries have none, such as moto's.
"""

from __future__ import annotations

from typing import Any, TypeAlias

# Documents of the services, which their models describe, and moto's objects, of which
# every service has its own.
Untyped: TypeAlias = Any
