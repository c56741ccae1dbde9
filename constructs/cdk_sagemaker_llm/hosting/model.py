"""
The SageMaker Model: an image, its configuration, and the role it runs with.
"""

from __future__ import annotations

from collections.abc import Mapping

import jsii
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.findings import Finding, error, errors_of
from cdk_sagemaker_llm.hosting.access import (
    Statement,
    attach_access,
    log_statements,
    make_execution_role,
)
from cdk_sagemaker_llm.hosting.artifact import ServingArtifact
from cdk_sagemaker_llm.hosting.image import ServingImage, region_findings
from cdk_sagemaker_llm.hosting.network import Network
from cdk_sagemaker_llm.hosting.reporting import annotate, report
from cdk_sagemaker_llm.hosting.scope import region_of
from cdk_sagemaker_llm.hosting.start_up import host_findings
from cdk_sagemaker_llm.hosting.weights import (
    token_environment,
    token_findings,
    weights_statements,
)
from cdk_sagemaker_llm.models import ModelSource
from cdk_sagemaker_llm.serving.configuration import Container, ServingConfiguration
from cdk_sagemaker_llm.serving.credentials import credential_findings

# CreateModel, ContainerDefinition$Environment (botocore 1.44.5).
_MOST_VARIABLES = 100
_LONGEST_VALUE = 1024


@jsii.implements(iam.IGrantable)
class Model(Construct):
    """
    A SageMaker Model: what is started on an instance, not yet running anywhere.

    It has no name of its own: every change replaces it, and a fixed name would
    collide with the one before.

    Args:
        serving: Which backend serves the model, and how.

        model:
            Where the weights come from.
            Left out, the serving configuration's own files must name them.

        accelerators:
            Devices that each copy has, for backends that split over all of them.
            Left out, the backend decides.

        environment: Further environment variables of the container.

        role:
            The execution role; it is given what this model needs.
            Left out, one is made.

        network:
            The VPC to run in, and whether the container is cut off from it.
            Left out, SageMaker's own network.

    Raises:
        ValueError: If the definition could not start; all reasons at once.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        serving: ServingConfiguration,
        model: ModelSource | None = None,
        accelerators: int | None = None,
        environment: Mapping[str, str] | None = None,
        role: iam.IRole | None = None,
        network: Network | None = None,
    ) -> None:
        extra = dict(environment or {})
        network = network or Network()
        region = region_of(scope)
        found = model_findings(
            region, serving, model, network, extra, accelerators=accelerators
        )
        warnings = report(scope, id, found)
        super().__init__(scope, id)
        container = serving.container(model, accelerators=accelerators)
        self.network = network.with_security_group(self)
        """Where it runs, with the security groups that were made for it."""
        self.role: iam.IRole = role or make_execution_role(self, "Role")
        """The execution role."""
        self.artifact = _make_artifact(self, container)
        """The model tarball; ``None`` when the backend needs none."""
        self.loading_seconds = container.loading_seconds
        """How long the container itself lets loading take; ``None`` for no limit."""
        self._image = ServingImage(self, container.image, region)
        access = attach_access(self, self.role, self._statements(model))
        variables = {
            **container.environment,
            **token_environment(model, container.token_variables),
            **extra,
        }
        self.cfn_model = self._make_resource(container, variables)
        """The resource itself, for what this class does not offer."""
        # Without this SageMaker may use the role before it may do anything.
        self.cfn_model.node.add_dependency(access)
        self.model_name: str = self.cfn_model.attr_model_name
        annotate(self, warnings)

    @property
    def image_uri(self) -> str:
        """
        The image's full URI.
        """
        return self._image.uri

    @property
    def image(self) -> ImageRelease:
        """
        The image that runs.
        """
        return self._image.release

    @property
    def grant_principal(self) -> iam.IPrincipal:
        """
        The execution role, so that other constructs can grant to the model.
        """
        return self.role.grant_principal

    def _statements(self, model: ModelSource | None) -> list[Statement]:
        return [
            *self._image.pull_statements(),
            *(self.artifact.read_statements() if self.artifact else ()),
            *weights_statements(model),
            *log_statements(),
            *self.network.access_statements(),
        ]

    def _make_resource(
        self, container: Container, variables: Mapping[str, str]
    ) -> sagemaker.CfnModel:
        return sagemaker.CfnModel(
            self,
            "Resource",
            execution_role_arn=self.role.role_arn,
            enable_network_isolation=self.network.isolated or None,
            primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
                image=self._image.uri,
                environment=dict(sorted(variables.items())) or None,
                model_data_url=self.artifact.s3_uri if self.artifact else None,
                model_data_source=_weights_source(container.weights_uri),
            ),
            vpc_config=_vpc_config(self.network),
        )


def model_findings(
    region: str | None,
    serving: ServingConfiguration,
    model: ModelSource | None,
    network: Network,
    environment: Mapping[str, str],
    *,
    accelerators: int | None = None,
    hardware: InstanceType | None = None,
) -> list[Finding]:
    """
    Check all that can be said of a model before anything is made of it.

    Args:
        region: The stack's region; ``None`` if it is known at deployment only.

        serving: Which backend serves the model, and how.

        model: Where the weights come from.

        network: Where the container runs.

        environment: Further environment variables.

        accelerators: Devices that each copy has; ``None`` if not known.

        hardware: The instance type; ``None`` if not known.
    """
    of_serving = serving.findings(model, accelerators=accelerators)
    found = [*of_serving, *token_findings(model)]
    found += credential_findings("environment", environment)
    found += _environment_findings(environment)
    if errors_of(of_serving):
        return found
    container = serving.container(model, accelerators=None)
    found += region_findings(region, container.image)
    # What is a doubt is said where the model meets its hosts.
    found += errors_of(host_findings(hardware, container.image, None))
    token = token_environment(model, container.token_variables)
    found += _overlap_findings({*container.environment, *token}, environment)
    if network.isolated and model is not None and container.weights_uri is None:
        found.append(
            error(
                "LLM119",
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
            error(
                "LLM120",
                f"environment must have at most {_MOST_VARIABLES} variables, got "
                f"{len(environment)}",
            )
        )
    found += [
        error("LLM120", f"{name} must be at most {_LONGEST_VALUE} characters long")
        for name, value in environment.items()
        if not is_unresolved(value) and len(value) > _LONGEST_VALUE
    ]
    return found


def _overlap_findings(taken: set[str], environment: Mapping[str, str]) -> list[Finding]:
    return [
        error("LLM113", f"environment repeats {name}, which the backend sets itself")
        for name in sorted(taken & set(environment))
    ]


def _make_artifact(scope: Construct, container: Container) -> ServingArtifact | None:
    if not container.files:
        return None
    return ServingArtifact(scope, "Artifact", files=container.files)


def _weights_source(
    uri: str | None,
) -> sagemaker.CfnModel.ModelDataSourceProperty | None:
    if uri is None:
        return None
    return sagemaker.CfnModel.ModelDataSourceProperty(
        s3_data_source=sagemaker.CfnModel.S3DataSourceProperty(
            s3_uri=uri, s3_data_type="S3Prefix", compression_type="None"
        )
    )


def _vpc_config(network: Network) -> sagemaker.CfnModel.VpcConfigProperty | None:
    if network.vpc is None:
        return None
    return sagemaker.CfnModel.VpcConfigProperty(
        subnets=network.subnet_ids(),
        security_group_ids=network.security_group_ids(),
    )
