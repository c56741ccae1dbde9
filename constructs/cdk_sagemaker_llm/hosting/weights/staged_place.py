"""
Where in a bucket one revision of a model is staged, and what is known of its size.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from cdk_sagemaker_llm.models import HuggingFaceModel
from cdk_sagemaker_llm.serving.base import BYTES_PER_SECOND
from cdk_sagemaker_llm.staging.prefix import MANIFEST_ENDING

_SHORT = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class StagedPlace:
    """
    The keys of one staged revision.

    Args:
        base: The prefix, without the slash at its end; the manifest and the marks of
            the stacks that want it stand beside.

        home: What the keys of another revision begin with as well: the folder, or the
            model's name where there is none.
    """

    base: str
    home: str

    @property
    def prefix(self) -> str:
        """
        The beginning of all keys, with its slash.
        """
        return f"{self.base}/"

    @property
    def manifest(self) -> str:
        """
        The key of the list of all files, which is written last.
        """
        return self.base + MANIFEST_ENDING


def place_of(
    model: HuggingFaceModel,
    folder: str,
    include: Sequence[str],
    exclude: Sequence[str],
) -> StagedPlace:
    """
    Return where a revision goes: other patterns are other files, and another prefix.
    """
    name = model.model_id.replace("/", "--")
    patterns = [sorted(set(include)), sorted(set(exclude))]
    chosen = f"-{short_hash(patterns)}" if include or exclude else ""
    top = f"{folder.strip('/')}/" if folder.strip("/") else ""
    return StagedPlace(
        base=f"{top}{name}/{model.revision}{chosen}", home=top or f"{name}/"
    )


def short_hash(value: object) -> str:
    """
    Return a few characters that stand for a value.
    """
    written = json.dumps(value, sort_keys=True).encode()
    return hashlib.sha256(written).hexdigest()[:_SHORT]


def minutes_of(weight_bytes: int | None) -> int | None:
    """
    Return how many minutes a download may take; ``None`` where the size is not known.

    The rate is slower than any published start-up's.
    """
    if weight_bytes is None:
        return None
    return math.ceil(weight_bytes / BYTES_PER_SECOND / 60)
