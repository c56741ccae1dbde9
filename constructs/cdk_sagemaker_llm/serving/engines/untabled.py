"""
Telling arguments to engines whose parsers no table describes.

What belongs here writes what it is given: whether a name is known is a check of the
variables, and no more than a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.engines.entry_points import EntryPoint
from cdk_sagemaker_llm.serving.engines.overlaps import plain_name
from cdk_sagemaker_llm.serving.engines.parameters import (
    UNTELLABLE,
    Told,
    later_findings,
    repeated,
)
from cdk_sagemaker_llm.serving.engines.writing import (
    ArgumentValue,
    UntellableError,
    hold_arrival,
    hold_plain,
    plain_text,
)


@dataclass(frozen=True, slots=True)
class PlainTelling:
    """
    An engine in one image.

    Args:
        rule: How the image's entry point reads variables.

        negated: Arguments that are on by themselves, and are switched off by a form
            that begins with ``no-``.

        takes_dashes: Whether the parser takes a value that begins with a dash.

        aliases: The long names of other spellings.
    """

    rule: EntryPoint
    negated: Sequence[str] = ()
    takes_dashes: bool = True
    aliases: Mapping[str, str] = field(default_factory=dict)

    def tell(
        self,
        typed: Mapping[str, ArgumentValue],
        options: Mapping[str, ArgumentValue],
        names: Mapping[str, str],
    ) -> Told:
        """
        Write arguments as variables.

        Args:
            typed: What parameters say, by the arguments' long names.

            options: What the user says beside them, by whatever spelling.

            names: What the user calls an argument that a parameter sets.
        """
        found: list[Finding] = []
        variables: dict[str, str] = {}
        for name, value in [*typed.items(), *self._options(options, typed, found)]:
            shown = names.get(name, name)
            later = later_findings(shown, value)
            found += later
            if later:
                continue
            try:
                variables |= self._written(name, value)
            except UntellableError as fault:
                message = f"{shown} cannot be told to this image: {fault}"
                found.append(UNTELLABLE.finding(message))
        return Told(variables, tuple(found))

    def _options(
        self,
        options: Mapping[str, ArgumentValue],
        typed: Mapping[str, ArgumentValue],
        found: list[Finding],
    ) -> Iterator[tuple[str, ArgumentValue]]:
        for spelling, value in options.items():
            name = plain_name(spelling)
            name = self.aliases.get(name, name)
            if name in typed:
                found.append(repeated(spelling))
            else:
                yield name, value

    def _written(self, name: str, value: ArgumentValue) -> dict[str, str]:
        if isinstance(value, bool):
            return self._switched(name, is_on=value)
        text = _text(value)
        if not self.takes_dashes:
            hold_plain(text)
        variable = self.rule.variable(name)
        # What the entry point keeps to itself is no argument of the engine's.
        if variable.removeprefix(self.rule.prefix) not in self.rule.consumed:
            hold_arrival(variable, text, (text,), self.rule)
        return {variable: text}

    def _switched(self, name: str, *, is_on: bool) -> dict[str, str]:
        bare = "true" if self.rule.reads_truth else ""
        if is_on:
            return {self.rule.variable(name): bare}
        if name in self.negated:
            return {self.rule.variable(f"no-{name}"): bare}
        return {}


def _text(value: ArgumentValue) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(plain_text, value))
    return plain_text(value)
