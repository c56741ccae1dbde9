"""
What models and inference components will be: checked once, before anything is made.

A definition holds all that is prepared and known; a construct only writes it. Patterns
make definitions, report what was found, and hand them to constructs; a construct that
is made by itself does the same with its own arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_cdk import Duration

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.demand import Demand
from cdk_sagemaker_llm.findings import Finding, Rule, errors_of
from cdk_sagemaker_llm.fit.checking import NoPlan
from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.fit.plans import Plan
from cdk_sagemaker_llm.hosting.artifact import check_files
from cdk_sagemaker_llm.hosting.image import region_findings
from cdk_sagemaker_llm.hosting.network import Network
from cdk_sagemaker_llm.hosting.weights import token_findings, token_reference
from cdk_sagemaker_llm.models import ModelSource, looked_up
from cdk_sagemaker_llm.serving.configuration import (
    Accelerators,
    Container,
    Prepared,
    ServingConfiguration,
    settled,
)
from cdk_sagemaker_llm.serving.credentials import credential_findings
from cdk_sagemaker_llm.serving.rules import API, REPEATED

if TYPE_CHECKING:
    from aws_cdk import aws_iam as iam

# CreateModel, ContainerDefinition$Environment (botocore 1.44.5).
_MOST_VARIABLES = 100
_LONGEST_VALUE = 1024

ISOLATED_DOWNLOAD = Rule(
    "LLM119", "an isolated network lets the container download no weights"
)
LARGE_ENVIRONMENT = Rule(
    "LLM120", "the environment is larger than the service takes", API
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelDefinition:
    """
    A model as it will be.

    Args:
        prepared: What its serving configuration answered.

        model: Where the weights come from; ``None`` if the container's files say it.

        network: Where the container runs.

        role: The execution role; ``None`` if one is to be made.

        region: The stack's region; ``None`` if it is known at deployment only.

        variables: All environment variables, the token's references included.

        findings: All that was found of it.

        plan: How it fits its instances, or why that is not known; ``None`` where no
            instances are known of, as for a model that is made by itself.
    """

    prepared: Prepared
    model: ModelSource | None
    network: Network
    role: iam.IRole | None
    region: str | None
    variables: Mapping[str, str]
    findings: tuple[Finding, ...]
    plan: Plan | NoPlan | None = None

    @property
    def container(self) -> Container:
        """
        What is started.

        Raises:
            ValueError: If an error stands in the way; report the findings first.
        """
        if self.prepared.container is None:
            raise ValueError("a model with errors has no container")
        return self.prepared.container

    @property
    def demand(self) -> Demand | None:
        """
        What it asks of the memory; ``None`` where that is not modelled.
        """
        return self.prepared.demand

    @property
    def start_up_timeout(self) -> Duration | None:
        """
        How long to wait for an answer, where the default is too short.
        """
        container = self.prepared.container
        if container is None or container.start_up_seconds is None:
            return None
        return Duration.seconds(container.start_up_seconds)


@dataclass(frozen=True, kw_only=True, slots=True)
class ComponentDefinition:
    """
    An inference component as it will be.

    Args:
        resources: What each copy reserves, and how many copies start.

        variant_name: The variant whose instances are shared.

        inference_component_name: Its name; ``None`` if CloudFormation makes one.

        start_up: How long a copy may take to answer; ``None`` for the default.

        download: How long the model data may take; ``None`` for the default.

        findings: All that was found of it, but not of its model.
    """

    resources: ResourceRequirements
    variant_name: str
    inference_component_name: str | None
    start_up: Duration | None
    download: Duration | None
    findings: tuple[Finding, ...]


def define_model(
    *,
    region: str | None,
    serving: ServingConfiguration,
    model: ModelSource | None,
    network: Network | None,
    role: iam.IRole | None,
    environment: Mapping[str, str] | None,
    accelerators: Accelerators,
) -> ModelDefinition:
    """
    Check all that can be said of a model before anything is made of it.

    Args:
        region: The stack's region; ``None`` if it is known at deployment only.

        serving: Which backend serves the model, and how.

        model: Where the weights come from; ``None`` if the serving's files say it.

        network: Where the container runs; ``None`` for SageMaker's own network.

        role: The execution role; ``None`` if one is to be made.

        environment: Further environment variables.

        accelerators: Devices that each copy has, or a function that decides it.
    """
    network, environment = network or Network(), environment or {}
    prepared = serving.prepare(model, accelerators)
    if prepared.container is None and not errors_of(prepared.findings):
        raise ValueError(
            f"{type(serving).__name__}.prepare() must return a container, or an error "
            "that says why there is none"
        )
    reference = token_reference(model)
    found = [*prepared.findings, *token_findings(reference)]
    found += credential_findings("environment", environment)
    found += _environment_findings(environment)
    variables: dict[str, str] = {}
    if prepared.container is not None:
        own = _own_variables(prepared.container, reference)
        found += _container_findings(prepared.container, region, model, network)
        found += _overlap_findings(own, environment)
        known = serving if model is None else model
        found += _further_findings(prepared, environment, known, accelerators)
        variables = {**own, **environment}
    return ModelDefinition(
        prepared=prepared,
        model=model,
        network=network,
        role=role,
        region=region,
        variables=variables,
        findings=tuple(found),
    )


def _own_variables(container: Container, reference: str | None) -> dict[str, str]:
    names = container.token_variables if reference else ()
    return {**container.environment, **dict.fromkeys(names, reference or "")}


def _container_findings(
    container: Container,
    region: str | None,
    model: ModelSource | None,
    network: Network,
) -> list[Finding]:
    if container.files:
        check_files(container.files)
    found = region_findings(region, container.image)
    if network.isolated and model is not None and container.weights_uri is None:
        found.append(
            ISOLATED_DOWNLOAD.finding(
                "an isolated network lets the container download no weights",
                "serve an S3Model with a backend that reads /opt/ml/model, or define "
                "the network without isolated=True",
            )
        )
    return found


def _environment_findings(environment: Mapping[str, str]) -> list[Finding]:
    found = []
    if len(environment) > _MOST_VARIABLES:
        found.append(
            LARGE_ENVIRONMENT.finding(
                f"environment must have at most {_MOST_VARIABLES} variables, got "
                f"{len(environment)}",
            )
        )
    return found + [
        LARGE_ENVIRONMENT.finding(
            f"{name} must be at most {_LONGEST_VALUE} characters long"
        )
        for name, value in environment.items()
        if not is_unresolved(value) and len(value) > _LONGEST_VALUE
    ]


def _further_findings(
    prepared: Prepared,
    environment: Mapping[str, str],
    known: object,
    accelerators: Accelerators,
) -> list[Finding]:
    if not environment or prepared.container is None:
        return []
    # The checks of all engines, which only further variables make worth loading.
    from cdk_sagemaker_llm.serving.environment import added_findings  # noqa: PLC0415
    from cdk_sagemaker_llm.serving.lmi.base import config_of  # noqa: PLC0415

    return added_findings(
        environment,
        prepared.container,
        accelerators=settled(accelerators, prepared.demand),
        architecture=config_of(looked_up(getattr(known, "architecture", None))),
    )


def _overlap_findings(
    own: Mapping[str, str], environment: Mapping[str, str]
) -> list[Finding]:
    return [
        REPEATED.finding(f"environment repeats {name}, which the backend sets itself")
        for name in sorted(set(own) & set(environment))
    ]
