"""
What inference components defined here and imported ones have in common.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Resource
from constructs import Construct

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.hosting.arguments import checked
from cdk_sagemaker_llm.hosting.connected import Connected
from cdk_sagemaker_llm.hosting.connection import Connection
from cdk_sagemaker_llm.hosting.dialects import dialect_of
from cdk_sagemaker_llm.hosting.grants import ComponentGrants
from cdk_sagemaker_llm.hosting.imports import name_in, named
from cdk_sagemaker_llm.hosting.monitoring.component_alarms import ComponentAlarms
from cdk_sagemaker_llm.hosting.monitoring.component_metrics import ComponentMetrics
from cdk_sagemaker_llm.hosting.monitoring.metrics import Subject
from cdk_sagemaker_llm.hosting.reporting import report
from cdk_sagemaker_llm.hosting.scaling.counts import ScalableCopyCount
from cdk_sagemaker_llm.hosting.scaling.limits import twice_finding

if TYPE_CHECKING:
    from cdk_sagemaker_llm.hosting.endpoint import EndpointBase
    from cdk_sagemaker_llm.hosting.model_base import ModelBase

_KIND = "inference-component"


class InferenceComponentBase(
    Resource, ComponentMetrics, ComponentAlarms, Connected, ComponentGrants
):
    """
    What inference components defined here and imported ones have in common.
    """

    endpoint: EndpointBase
    """The endpoint that hosts it."""
    inference_component_name: str
    """The name that applications call, beside the endpoint's."""
    inference_component_arn: str
    """The ARN."""
    scaling: ScalableCopyCount | None = None
    """How its copies scale; ``None`` where they do not."""
    model: ModelBase | None = None
    """What its copies run; ``None`` where nothing is known of it."""
    resource_id: str | None = None
    """Its resource's id below it, which changes where it must be replaced."""

    @staticmethod
    def from_inference_component_name(
        scope: Construct,
        id: str,
        inference_component_name: str,
        *,
        endpoint: EndpointBase,
    ) -> InferenceComponentBase:
        """
        Refer to an existing component in the stack's account and region.

        Args:
            scope: Where it is referred to.

            id: Its id there.

            inference_component_name: Its name.

            endpoint: The endpoint that hosts it, defined here or imported.

        Raises:
            ValueError: If the service would refuse the name.
        """
        arn = named(scope, id, _KIND, inference_component_name)
        return _ImportedComponent(scope, id, inference_component_name, arn, endpoint)

    @staticmethod
    def from_inference_component_arn(
        scope: Construct,
        id: str,
        inference_component_arn: str,
        *,
        endpoint: EndpointBase,
    ) -> InferenceComponentBase:
        """
        Refer to an existing component anywhere.

        Args:
            scope: Where it is referred to.

            id: Its id there.

            inference_component_arn: Its ARN.

            endpoint: The endpoint that hosts it, defined here or imported.

        Raises:
            ValueError: If it is an ARN of something else.
        """
        name = name_in(scope, id, _KIND, inference_component_arn)
        return _ImportedComponent(scope, id, name, inference_component_arn, endpoint)

    @property
    def connection(self) -> Connection:
        """
        How an application reaches the component.
        """
        running = self._running()
        dialect = dialect_of(None if running is None else running.definition)
        return Connection(
            endpoint_name=self.endpoint.endpoint_name,
            inference_component_name=self.inference_component_name,
            region=self.env.region,
            schema=dialect.schema,
            takes_chats=dialect.takes_chats,
        )

    def _running(self) -> ModelBase | None:
        return self.model

    def _endpoint_arn(self) -> str:
        return self.endpoint.endpoint_arn

    @checked
    def auto_scale_copy_count(
        self, *, max_capacity: int, min_capacity: int = 1
    ) -> ScalableCopyCount:
        """
        Let the number of copies follow their load.

        With ``min_capacity=0`` the first request that finds no copy fails and starts
        one, which takes minutes: a step policy and its alarm are defined as well. The
        host needs ``min_instance_count=0`` then.

        Args:
            max_capacity: Copies that run at most.

            min_capacity: Copies that always run; 0 lets the last one go.

        Raises:
            ValueError: If the bounds are wrong, or the copies are scaled already.
        """
        report(self, "", self._twice_findings())
        self.scaling = ScalableCopyCount(
            self,
            "Scaling",
            inference_component_name=self.inference_component_name,
            min_capacity=min_capacity,
            max_capacity=max_capacity,
        )
        return self.scaling

    def _twice_findings(self) -> list[Finding]:
        if self.scaling is None:
            return []
        return [twice_finding("the copies", "auto_scale_copy_count")]

    def _metric_subject(self) -> Subject:
        dimensions = {"InferenceComponentName": self.inference_component_name}
        return Subject(construct=self, dimensions=dimensions)


class _ImportedComponent(InferenceComponentBase):
    def __init__(
        self, scope: Construct, id: str, name: str, arn: str, endpoint: EndpointBase
    ) -> None:
        super().__init__(scope, id, environment_from_arn=arn)
        self.inference_component_name = name
        self.inference_component_arn = arn
        self.endpoint = endpoint
