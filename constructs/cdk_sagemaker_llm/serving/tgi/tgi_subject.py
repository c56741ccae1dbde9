"""
What the checks of a TGI environment look at.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from cdk_sagemaker_llm.catalog.tgi import (
    TgiOption,
    find_tgi_option,
    is_between,
    tgi_aliases,
)
from cdk_sagemaker_llm.text import any_of
from cdk_sagemaker_llm.tokens import is_unresolved

OPTIONS = "launcher/src/main.rs of TGI"
LAUNCHER = f"ArgumentValidation in {OPTIONS}"
ENTRY_POINT = "sagemaker-entrypoint.sh of TGI"
MODELS = "server/text_generation_server/models of TGI"
_LARGEST = {"usize": 2**64 - 1, "u64": 2**64 - 1, "u32": 2**32 - 1, "u16": 2**16 - 1}
# ASCII alone: Python's own \d and int() take digits of every script.
_INTEGER = re.compile(r"(?:\+?[0-9]+|-0+)\Z")
_FLOAT = re.compile(
    r"[+-]?(?:inf|infinity|nan|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)\Z",
    re.IGNORECASE,
)
# More digits than 64 bits can have, leading zeros aside.
_LONGEST = 40


def value_fault(option: TgiOption, value: str) -> str | None:
    """
    Say what a value must be and is not; ``None`` if the launcher can read it.
    """
    if option.kind in _LARGEST:
        return _integer_fault(value, _LARGEST[option.kind])
    if option.kind == "choice":
        return None if value in option.choices else any_of(option.choices)
    if option.kind == "usize-list":
        wrong = any(_integer_fault(v, _LARGEST["usize"]) for v in value.split(","))
        return "whole numbers joined by commas, such as 1,2,4" if wrong else None
    if option.kind == "bool":
        return None if value in ("true", "false") else "true or false"
    if option.kind == "f32":
        return None if _FLOAT.match(value) else "a number"
    return None


def as_count(value: str | None) -> int | None:
    """
    Read a whole number; ``None`` if it is left out or the launcher cannot read it.
    """
    if value is None or _integer_fault(value, _LARGEST["usize"]):
        return None
    return int(value)


def as_number(value: str | None) -> float | None:
    """
    Read a floating-point number; ``None`` if it is left out or cannot be read.
    """
    return float(value) if value is not None and _FLOAT.match(value) else None


def _integer_fault(value: str, largest: int) -> str | None:
    if not _INTEGER.match(value):
        return "a whole number of at least 0"
    fits = len(value) <= _LONGEST and int(value) <= largest
    return None if fits else f"at most {largest}"


@dataclass(frozen=True, slots=True)
class TgiSubject:
    """
    A container's environment, and which version of TGI reads it.

    Args:
        environment: The variables as they are set.

        version: The TGI version.

        accelerators: Devices that each copy of the model has; ``None`` if not known.

        words: What the user calls a variable, where that is not its name.

        unchecked: Variables that the user wants no check of.

        attention_heads: The model's attention heads; ``None`` if not known.
    """

    environment: Mapping[str, str]
    version: str
    accelerators: int | None = None
    words: Mapping[str, str] = field(default_factory=dict)
    unchecked: Collection[str] = ()
    attention_heads: int | None = None

    def word(self, variable: str) -> str:
        """
        Return what the user calls a variable of the launcher.
        """
        written = self.written(variable)
        return self.words.get(written, written)

    def written(self, variable: str) -> str:
        """
        Return under which name a variable of the launcher is set.

        SageMaker's entry point copies its own name over the launcher's.
        """
        for alias, native in tgi_aliases().items():
            if native == variable and self._is_set(alias):
                return alias
        return variable

    def value(self, variable: str) -> str | None:
        """
        Return what the launcher reads; ``None`` if it is left out, not for this
        version, or known only at deployment.
        """
        return self.raw(self.written(variable)) if self.knows(variable) else None

    def raw(self, name: str) -> str | None:
        """
        Return a variable as written; ``None`` if it is left out or a placeholder.
        """
        value = self.environment.get(name)
        hidden = value is None or name in self.unchecked or is_unresolved(value)
        return None if hidden else value

    def count(self, variable: str) -> int | None:
        """
        Return a variable as a whole number; ``None`` if it is left out or none.
        """
        return as_count(self.value(variable))

    def count_or_default(self, variable: str) -> int | None:
        """
        Return a variable, or else the number this version itself starts with.
        """
        if self.is_left_out(variable):
            option = find_tgi_option(variable, self.version)
            return as_count(option.default) if option else None
        return self.count(variable)

    def is_left_out(self, variable: str) -> bool:
        """
        Whether nothing sets a variable, under either name.
        """
        return self.written(variable) not in self.environment

    def knows(self, variable: str) -> bool:
        """
        Whether this version reads a variable of the launcher.
        """
        return find_tgi_option(variable, self.version) is not None

    def is_between(self, first: str, last: str | None = None) -> bool:
        """
        Whether a rule of these versions is one of this version.
        """
        return is_between(self.version, first, last)

    def _is_set(self, alias: str) -> bool:
        # The entry point tests for a text that is not empty.
        return bool(self.environment.get(alias))
