"""
Which image is to be mirrored, and where to.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

from cdk_sagemaker_llm.staging.failures import StagingError
from cdk_sagemaker_llm.staging.order import VARIABLE

_THREADS = 4
_SHORT = 19


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageOrder:
    """
    One image by its digest, and the repository that it goes to.

    Args:
        source_repository: The repository that has it.

        digest: The digest of its manifest, as ``sha256:...``.

        platform: What it must be built for, such as ``linux/amd64``.

        repository: The repository of this account and region that it goes to.

        tag: The tag that it gets there, when all of it is there.

        source_account: Whose registry in Amazon ECR it is in; empty for another one.

        source_region: That registry's region.

        source_url: Another registry's address; empty for one in Amazon ECR.

        source_tag: The tag that it had when its digest was taken.

        threads: How many layers are brought at the same time.
    """

    source_repository: str
    digest: str
    platform: str
    repository: str
    tag: str
    source_account: str = ""
    source_region: str = ""
    source_url: str = ""
    source_tag: str = ""
    threads: int = _THREADS

    @classmethod
    def from_environment(
        cls, environment: Mapping[str, str] = os.environ
    ) -> ImageOrder:
        """
        Read what the construct has written.

        Raises:
            StagingError: If it is not there, or cannot be read.
        """
        try:
            return cls(**json.loads(environment[VARIABLE]))
        except (KeyError, ValueError, TypeError) as fault:
            raise StagingError(f"{VARIABLE} is not what it should be: {fault}") from (
                fault
            )

    @property
    def title(self) -> str:
        """
        The image, as messages name it.
        """
        return f"{self.source_repository}@{self.digest[:_SHORT]}"
