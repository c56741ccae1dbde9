"""
What a specification of an inference component may say, by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cdk_sagemaker_llm.local.errors import validation


def refuse_contents(specification: Mapping[str, Any]) -> None:
    """
    Refuse a specification that says too little to run, or too much.

    Raises:
        AwsError: In this package's words; the service's are not known.
    """
    container = specification.get("Container", {})
    if "BaseInferenceComponentName" in specification:
        if "ArtifactUrl" not in container:
            raise validation("An adapter needs the ArtifactUrl of a Container.")
        return
    if ("ModelName" in specification) == bool(container):
        raise validation("Specify either ModelName or Container.")
    needs = specification.get("ComputeResourceRequirements", {})
    least = needs.get("MinMemoryRequiredInMb", 0)
    most = needs.get("MaxMemoryRequiredInMb", least)
    if most < least:
        raise validation(
            "MaxMemoryRequiredInMb must be at least MinMemoryRequiredInMb, got "
            f"{most} and {least}."
        )
