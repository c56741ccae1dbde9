"""
What is to be staged, and where to.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

from cdk_sagemaker_llm.staging.signalling import StagingError

VARIABLE = "STAGING_ORDER"
_THREADS = 8
_PATTERNS = ("include", "exclude")


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """
    One revision of a model, and where it goes.

    Args:
        revision: The commit, in full.

        prefix: The keys' beginning, with its slash at the end.

        manifest: The key of the list of all files, which is written last.

        include: Patterns of which each file must match one; empty for the usual files.

        exclude: Patterns of which no file may match one.

        kms_key: The ARN of the key that encrypts the objects; empty for the bucket's.
    """

    model_id: str
    revision: str
    bucket: str
    prefix: str
    manifest: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    kms_key: str = ""
    threads: int = _THREADS

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Order:
        """
        Read what the construct has written.
        """
        try:
            values = json.loads(environment[VARIABLE])
            patterns = {name: tuple(values.get(name, ())) for name in _PATTERNS}
            return cls(**{**values, **patterns})
        except (KeyError, ValueError, TypeError, AttributeError) as fault:
            raise StagingError(f"{VARIABLE} is not what it should be: {fault}") from (
                fault
            )

    @property
    def title(self) -> str:
        """
        The model and its revision, as messages name them.
        """
        return f"{self.model_id} at {self.revision[:12]}"
