"""
Versions of the Large Model Inference (LMI) images, and how they compare.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cdk_sagemaker_llm.catalog._data import load

_FORM = re.compile(r"0\.(\d+)(?:\.(\d+))?(?:-lmi(\d+)(?:\.\d+)*)?\Z")
# The SageMaker SDK's 0.36.0 is this tag; the releases before share the number.
_LMI_OF_0_36 = 27


@dataclass(frozen=True, order=True, slots=True)
class LmiVersion:
    """
    A version such as ``0.26.0``, or ``0.36.0-lmi27`` where a number has several.

    Compare with another one, or ask ``at_least("0.28")``.
    """

    minor: int
    lmi: int = 0

    @classmethod
    def parse(cls, text: str) -> LmiVersion:
        """
        Read a version as the image catalogue writes it.

        Raises:
            ValueError: If the text has not that form.
        """
        match = _FORM.match(text)
        if match is None:
            raise ValueError(
                f"version must be an LMI version such as '0.26.0' or '0.36.0-lmi27', "
                f"got {text!r}"
            )
        minor = int(match[1])
        unnamed = _LMI_OF_0_36 if minor == 36 and match[2] else 0  # noqa: PLR2004 - 0.36
        return cls(minor, int(match[3]) if match[3] else unnamed)

    def at_least(self, text: str) -> bool:
        """
        Whether this is that minor version, such as ``0.28``, or a later one.
        """
        return self.minor >= int(text.split(".")[1])

    def before(self, text: str) -> bool:
        """
        Whether this is older than that minor version.
        """
        return not self.at_least(text)

    @property
    def is_described(self) -> bool:
        """
        Whether the option tables reach as far as this version.
        """
        return self.minor <= int(row_versions()[-1].split("-")[0].split(".")[1])

    @property
    def rows(self) -> tuple[str, ...]:
        """
        The versions of the option tables that describe this one, oldest first.

        Two where the tables describe only the ends of a range of releases; none
        where they say nothing. A release after the last of them is read by it.
        """
        known = row_versions()
        if not self.is_described:
            return (known[-1],)
        if self.minor == 36:  # noqa: PLR2004 - the one number with several releases
            if self.lmi >= _LMI_OF_0_36:
                return (known[-1],)
            return (known[-2],) if self.lmi <= 18 else known[-2:]  # noqa: PLR2004
        name = f"0.{self.minor}"
        return (name,) if name in known else ()

    @property
    def vllm(self) -> str | None:
        """
        The vLLM release inside, such as ``0.10.2``; ``None`` before there was one.
        """
        releases = load("lmi_engines.json")["vllm"]
        inside = [
            vllm
            for name, vllm in releases.items()
            if LmiVersion.parse(_full(name)) <= self
        ]
        return inside[-1] if inside else None

    def __str__(self) -> str:
        """
        Render as the option tables and the documentation do.
        """
        return f"0.{self.minor}" + (f"-lmi{self.lmi}" if self.lmi else "")


def _full(name: str) -> str:
    minor, dash, lmi = name.partition("-")
    return f"{minor}.0{dash}{lmi}"


def row_versions() -> tuple[str, ...]:
    """
    Return the versions that the option tables describe, oldest first.
    """
    return tuple(load("lmi_options.json")["versions"])
