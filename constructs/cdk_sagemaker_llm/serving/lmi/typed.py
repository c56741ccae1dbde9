"""
Parameters of LMI backends: what each is written as, and which values it takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.lmi.checks.parallelism import OUTSIDE_OPTION_RANGE
from cdk_sagemaker_llm.serving.lmi.checks.values import WRONG_CHOICE
from cdk_sagemaker_llm.text import any_of, nearest
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# As many choices are named as a sentence bears.
_NAMED = 3
_PAST = "pass another in unchecked_options"


@dataclass(frozen=True, slots=True)
class Bounds:
    """
    Which numbers or words an engine takes, whatever its version.

    Args:
        least: The least number.

        above: What a number must be above.

        most: The greatest number.

        choices: The words; empty for any.

        also: Numbers that are taken beside those.
    """

    least: float | None = None
    above: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    also: tuple[int, ...] = ()

    def fault(self, value: object) -> str | None:
        """
        Say what a value must be and is not; ``None`` if it is within the bounds.
        """
        if is_unresolved(value):
            return None
        if isinstance(value, str):
            wrong = self.choices and value not in self.choices
            return f"one such as {any_of(self.choices[:_NAMED])}" if wrong else None
        wrong = isinstance(value, int | float) and not self._holds(value)
        return self._words() if wrong else None

    def _holds(self, number: float) -> bool:
        return number in self.also or (
            (self.least is None or number >= self.least)
            and (self.above is None or number > self.above)
            and (self.most is None or number <= self.most)
        )

    def _words(self) -> str:
        words = {"at least": self.least, "above": self.above, "at most": self.most}
        said = " and ".join(f"{w} {n:g}" for w, n in words.items() if n is not None)
        return ", or ".join([said, *map(str, self.also)])


COUNT = Bounds(least=1)
SHARE = Bounds(above=0, most=1)


def option(name: str, bounds: Bounds | None = None) -> Any:  # noqa: ANN401 - stands for a field of any type
    """
    Declare a parameter that is written as ``option.<name>``, if it is given.

    Args:
        name: What is written.

        bounds:
            Which values it takes.
            If left out, any of its kind, or the checks of the file know.
    """
    return field(default=None, metadata={"option": name, "bounds": bounds})


def bounds_findings(
    serving: DataclassInstance, options: Mapping[str, object]
) -> Iterator[Finding]:
    """
    Check each parameter against its bounds, and what is given as an option instead.

    Args:
        serving: What has the parameters.

        options: Its options.
    """
    for one in fields(serving):
        bounds: Bounds | None = one.metadata.get("bounds")
        if bounds is None:
            continue
        yield from _bounds_findings(one.name, getattr(serving, one.name), bounds)
        # Newer releases of vLLM take a count of -1 for one that they choose, which a
        # parameter says by being left out: a count in options is the user's word.
        if bounds is not COUNT:
            key = f"option.{one.metadata['option']}"
            yield from _bounds_findings(key, options.get(key), bounds)


def _bounds_findings(name: str, value: object, bounds: Bounds) -> Iterator[Finding]:
    fault = bounds.fault(value)
    if fault is None:
        return
    if isinstance(value, str):
        near = nearest(value, bounds.choices, count=1)
        remedy = f"write {near[0]}, or {_PAST}" if near else _PAST
        yield WRONG_CHOICE.finding(f"{name} must be {fault}, got {value!r}", remedy)
    else:
        yield OUTSIDE_OPTION_RANGE.finding(f"{name} must be {fault}, got {value!r}")
