"""
What endpoint configurations defined here and imported ones have in common.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Resource
from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk_sagemaker_llm.hosting.common.names import name_in, named
from cdk_sagemaker_llm.hosting.endpoints.endpoint_definition import (
    EndpointConfigDefinition,
)
from cdk_sagemaker_llm.hosting.roles.network import Network
from cdk_sagemaker_llm.hosting.variants.variant import ProductionVariant

if TYPE_CHECKING:
    from aws_cdk import aws_s3 as s3

    from cdk_sagemaker_llm.hosting.endpoints.asynchronous import AsyncInference

_KIND = "endpoint-config"


class EndpointConfigBase(Resource):
    """
    What endpoint configurations defined here and imported ones have in common.
    """

    endpoint_config_name: str
    """The name that an endpoint is defined with."""
    definition: EndpointConfigDefinition
    """What was checked; without variants for an imported one, as none are known."""
    execution_role: iam.IRole | None
    """The role of an endpoint that hosts components; ``None`` for others."""
    network: Network
    """Where components run."""
    async_inference: AsyncInference | None = None
    """Where requests and answers lie; ``None`` if they are answered at once."""
    async_bucket: s3.IBucket | None = None
    """The bucket that was made for them; ``None`` if another was given."""
    is_imported: bool = False
    """Whether it was made elsewhere, so that nothing is known of it."""

    @staticmethod
    def from_endpoint_config_name(
        scope: Construct, id: str, endpoint_config_name: str
    ) -> EndpointConfigBase:
        """
        Refer to an existing configuration in the stack's account and region.

        Raises:
            ValueError: If the service would refuse the name.
        """
        arn = named(scope, id, _KIND, endpoint_config_name)
        return _ImportedEndpointConfig(scope, id, endpoint_config_name, arn)

    @staticmethod
    def from_endpoint_config_arn(
        scope: Construct, id: str, endpoint_config_arn: str
    ) -> EndpointConfigBase:
        """
        Refer to an existing configuration by its ARN.

        Raises:
            ValueError: If it is an ARN of something else.
        """
        name = name_in(scope, id, _KIND, endpoint_config_arn)
        return _ImportedEndpointConfig(scope, id, name, endpoint_config_arn)

    @property
    def endpoint_config_arn(self) -> str:
        """
        The ARN.
        """
        raise NotImplementedError

    @property
    def variants(self) -> tuple[ProductionVariant, ...]:
        """
        What endpoints of this configuration run on.
        """
        return tuple(each.variant for each in self.definition.variants)

    @property
    def hosts_components(self) -> bool:
        """
        Whether endpoints of this configuration take inference components.
        """
        return self.execution_role is not None


class _ImportedEndpointConfig(EndpointConfigBase):
    is_imported = True

    def __init__(self, scope: Construct, id: str, name: str, arn: str) -> None:
        super().__init__(scope, id, environment_from_arn=arn)
        self.endpoint_config_name = name
        self.execution_role = None
        self.network = Network()
        self.definition = EndpointConfigDefinition(
            variants=(),
            execution_role=None,
            network=None,
            kms_key=None,
            detailed_observability=False,
            enhanced_metrics=False,
            metric_publish_frequency=None,
            findings=(),
        )
        self._arn = arn

    @property
    def endpoint_config_arn(self) -> str:
        return self._arn
