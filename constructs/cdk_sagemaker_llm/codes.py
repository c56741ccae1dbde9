"""
All rules by their code; each is defined beside its check: search for the code.

What belongs here only collects.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType, ModuleType

import cdk_sagemaker_llm
from cdk_sagemaker_llm.findings import Rule

# They need what only the extras install, and find nothing of their own.
_WITH_EXTRAS = ("cli", "load", "local", "testing")


@functools.cache
def rules() -> Mapping[str, Rule]:
    """
    Return every rule by its code, in the order of the codes.

    All modules are loaded for it, the CDK with them.

    Raises:
        ValueError: If two rules have one code.
    """
    defined = [rule for module in _modules() for rule in rules_in(module)]
    return MappingProxyType(dict(sorted(by_code(defined).items())))


def rules_in(module: ModuleType) -> list[Rule]:
    """
    Return the rules that a module defines, or imports.
    """
    return [value for value in vars(module).values() if isinstance(value, Rule)]


def by_code(rules: Iterable[Rule]) -> dict[str, Rule]:
    """
    Key rules by their codes; one that several modules use is one.

    Raises:
        ValueError: If two rules have one code.
    """
    found: dict[str, Rule] = {}
    for rule in rules:
        other = found.setdefault(rule.code, rule)
        if other is not rule:
            raise ValueError(
                f"{rule.code} must be the code of one rule, got {other.finds!r} and "
                f"{rule.finds!r}"
            )
    return found


def _modules() -> Iterator[ModuleType]:
    package = cdk_sagemaker_llm
    for part in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if part.name.rpartition(".")[2] in _WITH_EXTRAS:
            continue
        module = importlib.import_module(part.name)
        yield module
        path = getattr(module, "__path__", ())
        for inner in pkgutil.walk_packages(path, f"{part.name}."):
            yield importlib.import_module(inner.name)
