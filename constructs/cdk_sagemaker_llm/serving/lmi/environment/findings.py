"""
Everything that is found of an LMI environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cdk_sagemaker_llm.architectures import find_architecture
from cdk_sagemaker_llm.catalog.lmi import LmiVersion
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.checks import checks_of
from cdk_sagemaker_llm.serving.hub import TOKEN_VARIABLES, gated_findings
from cdk_sagemaker_llm.serving.lmi.checks import property_findings
from cdk_sagemaker_llm.serving.lmi.checks.subject import Architecture
from cdk_sagemaker_llm.serving.lmi.environment import checks
from cdk_sagemaker_llm.serving.lmi.environment.checks import LmiEnvironment
from cdk_sagemaker_llm.serving.lmi.environment.translation import (
    Translation,
    translate,
)
from cdk_sagemaker_llm.serving.lmi.environment.variables import LOAD_MODELS
from cdk_sagemaker_llm.serving.lmi.environment.words import in_variables, mentions
from cdk_sagemaker_llm.tokens import is_unresolved

_CHECKS = checks_of(checks)
# What decides the backend, and with it every other rule.
_DECISIVE = frozenset(
    {
        "engine",
        "batch_size",
        "option.async_mode",
        "option.batch_size",
        "option.entryPoint",
        "option.mpi_mode",
        "option.rolling_batch",
    }
)

Config = str | Architecture | Mapping[str, Any] | None


def lmi_findings(
    environment: Mapping[str, str],
    *,
    container: str,
    version: str,
    accelerators: int | None,
    architecture: Config = None,
    file: Mapping[str, str] | None = None,
    has_model_data: bool | None = None,
) -> list[Finding]:
    """
    Check the variables of an LMI container, with the file beside them if there is one.

    What the file alone breaks is not told of: whoever checks the file says it.

    Args:
        environment: The variables.

        container: The image family, such as ``djl-lmi``.

        version: The LMI version.

        accelerators: Devices that each copy of the model has.

        architecture: What is known of the model, as ``check_properties`` takes it.
            If left out, it is what the catalogue knows of the model that is named.

        file: What the serving.properties says. If left out, there is none.

        has_model_data:
            Whether SageMaker puts something into ``/opt/ml/model``.
            If left out, that is not known.
    """
    parsed = LmiVersion.parse(version)
    if not parsed.rows:
        return []
    found = translate(environment, file, container=container, version=parsed)
    subject = LmiEnvironment(
        variables=environment,
        file=file,
        container=container,
        version=parsed,
        translated=found,
        has_model_data=has_model_data,
    )

    named = found.properties.get("option.model_id", "")
    known = find_architecture(named) if architecture is None else architecture

    def of(properties: Mapping[str, str]) -> list[Finding]:
        return property_findings(
            properties,
            container=container,
            version=version,
            accelerators=None if is_unresolved(accelerators) else accelerators,
            architecture=known,
            decided_elsewhere=_may_have_another_file(subject),
        )

    said = [] if _is_open(found, environment) else of(found.properties)
    before = [] if file is None else of(file)
    return [
        *(finding for check in _CHECKS for finding in check(subject)),
        *(
            in_variables(finding, found, parsed, has_file=file is not None)
            for finding in said
            if finding not in before and not mentions(finding, found.unknown)
        ),
        *_gated(subject),
    ]


def _is_open(found: Translation, environment: Mapping[str, str]) -> bool:
    decided_later = is_unresolved(environment.get(LOAD_MODELS))
    return decided_later or not _DECISIVE.isdisjoint(found.unknown)


def _may_have_another_file(subject: LmiEnvironment) -> bool:
    """
    Whether the model is in a folder, which may bring a serving.properties of its own:
    it would win over the variables.
    """
    from_hub = subject.hub_model() is not None
    is_empty = subject.has_model_data is False
    return subject.file is None and not from_hub and not is_empty


def _gated(subject: LmiEnvironment) -> list[Finding]:
    model = subject.hub_model()
    if model is None or is_unresolved(model):
        return []
    has_token = any(subject.variables.get(name) for name in TOKEN_VARIABLES)
    return gated_findings(model, has_token=has_token)
