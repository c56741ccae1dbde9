"""
What a serving configuration answers, for tests that look at one part of it.
"""

from __future__ import annotations

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.models import ModelSource
from cdk_sagemaker_llm.serving import Container, ServingConfiguration


def container_of(
    serving: ServingConfiguration, model: ModelSource | None, accelerators: int | None
) -> Container:
    """
    Return the container, which nothing stands in the way of.
    """
    prepared = serving.prepare(model, accelerators)
    assert prepared.container is not None, prepared.findings
    return prepared.container


def findings_of(
    serving: ServingConfiguration,
    model: ModelSource | None,
    accelerators: int | None = None,
) -> list[Finding]:
    """
    Return what was found.
    """
    return list(serving.prepare(model, accelerators).findings)
