"""
The SageMaker Model: an image, its configuration, and the role it runs with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jsii
from aws_cdk import Resource
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.client.requests import Schema
from cdk_sagemaker_llm.hosting.common.limits import count_findings
from cdk_sagemaker_llm.hosting.common.names import name_in, named
from cdk_sagemaker_llm.hosting.common.reporting import (
    annotate,
    at_synth,
    checked,
    report,
)
from cdk_sagemaker_llm.hosting.common.scope import Connectable, belongs, region_of
from cdk_sagemaker_llm.hosting.models.artifact import ServingArtifact
from cdk_sagemaker_llm.hosting.models.definitions import (
    ModelDefinition,
    ModelRequest,
    define_model,
    place_findings,
)
from cdk_sagemaker_llm.hosting.models.image import ServingImage
from cdk_sagemaker_llm.hosting.models.model_weights import (
    accepts_eula,
    weights_statements,
)
from cdk_sagemaker_llm.hosting.roles.access import access_of, make_execution_role
from cdk_sagemaker_llm.hosting.roles.given_roles import role_findings
from cdk_sagemaker_llm.hosting.roles.network import Network, s3_findings
from cdk_sagemaker_llm.hosting.roles.statements import Statement, hosting_statements
from cdk_sagemaker_llm.models import ModelSource, S3Model, kind_of
from cdk_sagemaker_llm.serving import families
from cdk_sagemaker_llm.serving.base import ServingConfiguration

if TYPE_CHECKING:
    from aws_cdk import aws_ec2 as ec2


class ModelBase(Resource):
    """
    What models defined here and imported ones have in common.
    """

    model_name: str
    """The name that a variant is filled with."""
    definition: ModelDefinition | None
    """What was checked; ``None`` for an imported one, of which nothing is known."""
    role: iam.IRole | None
    """The execution role; ``None`` for an imported one."""

    @staticmethod
    @checked
    def from_model_name(scope: Construct, id: str, model_name: str) -> ModelBase:
        """
        Refer to an existing model in the stack's account and region.

        Args:
            model_name: The model's name.

        Raises:
            ValueError: If the service would refuse the name.
        """
        return _ImportedModel(
            scope, id, model_name, named(scope, id, "model", model_name)
        )

    @staticmethod
    @checked
    def from_model_arn(scope: Construct, id: str, model_arn: str) -> ModelBase:
        """
        Refer to an existing model by its ARN.

        Args:
            model_arn: The model's ARN.

        Raises:
            ValueError: If it is an ARN of something else.
        """
        return _ImportedModel(
            scope, id, name_in(scope, id, "model", model_arn), model_arn
        )

    @property
    def model_arn(self) -> str:
        """
        The ARN.
        """
        raise NotImplementedError


@jsii.implements(iam.IGrantable, Connectable)
class Model(ModelBase):
    """
    A SageMaker Model: what is started on an instance, not yet running anywhere.

    It has no name of its own: every change replaces it, and a fixed name would
    collide with the one before.

    Args:
        serving: Which backend serves the model, and how.

        model:
            Where the weights come from.
            If omitted, the serving configuration's own files must name them.

        accelerators:
            Devices that each copy has, for backends that split over all of them.
            If omitted, the backend decides.

        environment:
            Further environment variables of the container.
            If omitted, there are none.

        role:
            The execution role, which gets the permissions that this model needs.
            If omitted, one is made.

        network:
            The VPC to run in, and whether the container is cut off from it.
            If omitted, it is SageMaker's own network.

    Raises:
        ValueError: If the definition could not start; all reasons at once.
    """

    @checked
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
        report(scope, id, count_findings("accelerators", accelerators or 0, 0))
        request = ModelRequest(
            serving=serving,
            model=model,
            environment=environment,
            role=role,
            network=network,
            region=region_of(scope),
        )
        definition = define_model(request, accelerators)
        far = place_findings(scope, model, network, environment)
        report(scope, id, [*role_findings(scope, role), *definition.findings, *far])
        super().__init__(scope, id)
        belongs(self, scope)
        self._write(definition)
        annotate(self, far)

    def _write(self, definition: ModelDefinition) -> None:
        container = definition.container
        self.definition: ModelDefinition = definition
        """What was checked, and is written here."""
        self.network = definition.network.with_security_group(self)
        """Where it runs, with the security groups that were made for it."""
        self.role: iam.IRole = definition.role or make_execution_role(self, "Role")
        """The execution role."""
        self.artifact: ServingArtifact | None = None
        """The model tarball; ``None`` when the backend needs none."""
        if container.files:
            self.artifact = ServingArtifact(self, "Artifact", files=container.files)
        self._image = ServingImage(self, container.image, definition.region)
        access = access_of(self, self.role)
        access.keep(where=self.network.vpc is not None)
        policies = access.allow(self._statements(definition.model))
        self.network.hold_access(definition.network, policies)
        self.cfn_model = self._make_resource(definition, access.role_arn)
        """The resource itself, for what this class does not offer."""
        # Without this SageMaker may use the role before it may do anything.
        self.cfn_model.node.add_dependency(*policies, *self._image.sources())
        weights = definition.model
        if isinstance(weights, S3Model) and weights.depends_on is not None:
            self.cfn_model.node.add_dependency(weights.depends_on)
        self.model_name: str = self.cfn_model.attr_model_name
        annotate(self, definition.findings)
        if self.network.vpc is not None and (self.artifact or container.weights_uri):
            at_synth(self, lambda: s3_findings(self, self.network))

    @property
    def model_arn(self) -> str:
        """
        The ARN.
        """
        return self.cfn_model.ref

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

    @property
    def connections(self) -> ec2.Connections:
        """
        The security groups, where it runs in a VPC.
        """
        return self.network.connections

    def _statements(self, model: ModelSource | None) -> list[Statement]:
        return [
            *self._image.pull_statements(),
            *(self.artifact.read_statements() if self.artifact else ()),
            *weights_statements(model),
            *hosting_statements(),
            *self.network.access_statements(),
        ]

    def _make_resource(
        self, definition: ModelDefinition, role_arn: str
    ) -> sagemaker.CfnModel:
        weights = None
        if definition.container.weights_uri is not None:
            access = sagemaker.CfnModel.ModelAccessConfigProperty(accept_eula=True)
            is_accepted = accepts_eula(definition.model)
            weights = sagemaker.CfnModel.ModelDataSourceProperty(
                s3_data_source=sagemaker.CfnModel.S3DataSourceProperty(
                    s3_uri=definition.container.weights_uri,
                    s3_data_type="S3Prefix",
                    compression_type="None",
                    model_access_config=access if is_accepted else None,
                )
            )
        return sagemaker.CfnModel(
            self,
            "Resource",
            execution_role_arn=role_arn,
            enable_network_isolation=self.network.isolated or None,
            primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
                image=self._image.uri,
                environment=dict(sorted(definition.variables.items())) or None,
                model_data_url=self.artifact.s3_uri if self.artifact else None,
                model_data_source=weights,
            ),
            vpc_config=_vpc_config(self.network),
        )


class DefinedModel(Model):
    """
    A model whose definition was made and reported by a pattern.
    """

    def __init__(self, scope: Construct, id: str, definition: ModelDefinition) -> None:
        Resource.__init__(self, scope, id)
        belongs(self, scope)
        self._write(definition)


def _vpc_config(network: Network) -> sagemaker.CfnModel.VpcConfigProperty | None:
    if network.vpc is None:
        return None
    return sagemaker.CfnModel.VpcConfigProperty(
        subnets=network.subnet_ids(),
        security_group_ids=network.security_group_ids(),
    )


class _ImportedModel(ModelBase):
    def __init__(self, scope: Construct, id: str, name: str, arn: str) -> None:
        super().__init__(scope, id, environment_from_arn=arn)
        self.model_name = name
        self.definition = None
        self.role = None
        self._arn = arn

    @property
    def model_arn(self) -> str:
        return self._arn


@dataclass(frozen=True, slots=True)
class Dialect:
    """
    The form in which a container takes requests.

    Args:
        schema: How it wants a prompt; ``None`` if that is not known, or it takes none.

        takes_chats: Whether it is known to answer chats in OpenAI's form.
    """

    schema: Schema | None = None
    takes_chats: bool = False


UNKNOWN_DIALECT = Dialect()


def dialect_of(definition: ModelDefinition | None) -> Dialect:
    """
    Return the form in which a model's container takes requests; it is unknown for an
    imported model, and for an image that the catalogue does not have.
    """
    if definition is None:
        return UNKNOWN_DIALECT
    found = families.dialect_of(
        definition.container,
        definition.variables,
        architecture=kind_of(definition.model),
    )
    schema = None if found.schema is None else Schema(found.schema)
    return Dialect(schema, takes_chats=found.takes_chats)


def common_dialect(definitions: Iterable[ModelDefinition | None]) -> Dialect:
    """
    Return the form of several models; it is unknown where they differ.
    """
    found = {dialect_of(definition) for definition in definitions}
    return found.pop() if len(found) == 1 else UNKNOWN_DIALECT
