"""
Loading a package's public names when they are first used (PEP 562), and functions that
few apps call when they are first called.

What belongs here saves start-up: who takes one name does not pay for the others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """
    Make a package's ``__getattr__`` and ``__dir__``.

    ``__getattr__, __dir__ = lazily(__name__, {"LmiVllm": "serving.lmi.vllm"})``

    Args:
        package: The package's full name.

        homes: The module of each public name, below the library's own package.
    """
    namespace = vars(sys.modules[package])
    library = package.partition(".")[0]

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{library}.{homes[name]}"), name)
        namespace[name] = value
        return value

    def listed() -> list[str]:
        return sorted({*namespace, *homes})

    return load, listed


def later(module: str, name: str) -> Callable[..., Any]:
    """
    Make a function that loads another's module when it is first called.

    It stands in for what few apps use, while type checkers see the function itself::

        if TYPE_CHECKING:
            from cdk_sagemaker_llm.hosting.rollback_alarms import alarms_of
        else:
            alarms_of = later("hosting.rollback_alarms", "alarms_of")

    Args:
        module: The module, below the library's own package.

        name: The function, or a class that is called and nothing else.
    """
    library = __name__.partition(".")[0]

    def call(*args: object, **kwargs: object) -> object:
        return getattr(import_module(f"{library}.{module}"), name)(*args, **kwargs)

    return call
