"""
What the backends on LMI images have in common that can be compiled ahead of time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.models import ModelSource
from cdk_sagemaker_llm.serving.images import named_image
from cdk_sagemaker_llm.serving.lmi.ahead_of_time import AheadOfTime
from cdk_sagemaker_llm.serving.lmi.base import LmiServing


class CompiledServing(LmiServing):
    """
    A backend whose model may have been compiled ahead of time.
    """

    __slots__ = ()

    ahead_of_time: ClassVar[AheadOfTime]
    devices_each: ClassVar[int] = 1
    """How many devices of the degree an accelerator has."""

    precompiled: bool

    def compiling_findings(self) -> list[Finding]:
        """
        Return what the script would not compile.
        """
        return []

    def _settled_degree(self, accelerators: int | None) -> int:
        """
        Return the degree in numbers: that of all devices where none is said.
        """
        return self._degree() or self.devices_each * (accelerators or 0)

    def _compiled_findings(
        self,
        model: ModelSource | None,
        texts: Mapping[str, str],
        accelerators: int | None,
        version: str,
    ) -> list[Finding]:
        return self.ahead_of_time.findings(
            model,
            texts,
            image=named_image(version, self.image),
            degree=self._settled_degree(accelerators),
            is_precompiled=self.precompiled,
        )
