"""
What the rules of support look at: a release, a checkpoint, a GPU, and what is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from cdk_sagemaker_llm.catalog.engine_releases import ENGINES
from cdk_sagemaker_llm.catalog.instances import find_accelerator
from cdk_sagemaker_llm.catalog.releases import is_between
from cdk_sagemaker_llm.serving.support.checkpoint import Checkpoint

_TRUE = frozenset({"true", "1", "yes", "y", "on", "t"})


class Subject(NamedTuple):
    """
    A model at a release of an engine; what is ``None`` is not known.

    Args:
        engine: The engine, such as ``vllm``.

        release: Its own release.

        checkpoint: What is known of the model.

        accelerator: The accelerator's name, such as ``A10G``; ``none`` without one.

        accelerators: How many an instance has.

        memory_gib: How much memory the instance's host has.

        arguments: What is asked of the engine, by its own names with underscores.

        environment: The variables of the container.

        network_isolation: Whether it is cut off from the network.

        words: What the caller calls an argument, where that is not its name.
    """

    engine: str
    release: str
    checkpoint: Checkpoint
    accelerator: str | None = None
    accelerators: int | None = None
    memory_gib: float | None = None
    arguments: Mapping[str, object] = {}
    environment: Mapping[str, str] = {}
    network_isolation: bool = False
    words: Mapping[str, str] = {}

    @property
    def title(self) -> str:
        """
        The engine and its release.
        """
        return f"{ENGINES[self.engine]} {self.release}"

    @property
    def capability(self) -> int | None:
        """
        The GPU's compute capability times ten; ``None`` without a known GPU.
        """
        device = find_accelerator(self.accelerator or "")
        if device is None or device.compute_capability is None:
            return None
        return round(float(device.compute_capability) * 10)

    @property
    def gpu(self) -> str:
        """
        The GPU in words, such as ``A10G (compute capability 8.6)``.
        """
        number = self.capability or 0
        return f"{self.accelerator} (compute capability {number // 10}.{number % 10})"

    def is_at(self, first: str, last: str = "") -> bool:
        """
        Whether the release is within a span; without the last, whether not older.
        """
        return is_between(self.release, first, last)

    def has(self, name: str) -> bool:
        """
        Whether an argument is given.
        """
        return self.arguments.get(name) is not None

    def text(self, name: str) -> str | None:
        """
        Return an argument as text, in lower case; ``None`` if it is left out.
        """
        value = self.arguments.get(name)
        return None if value is None else str(value).lower()

    def number(self, name: str) -> int | None:
        """
        Return an argument as a whole number; ``None`` if it is left out, or none.
        """
        value = self.arguments.get(name)
        if isinstance(value, bool):
            return None
        try:
            return int(str(value))
        except ValueError:
            return None

    def flag(self, name: str) -> bool:
        """
        Whether a switch is on.
        """
        value = self.arguments.get(name)
        return str(value).lower() in _TRUE

    def word(self, name: str) -> str:
        """
        Return what the caller calls an argument.
        """
        return self.words.get(name, name)
