"""
What all endpoints have in common, imported ones too: their names, metrics, alarms and
scaling, and how applications reach them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from aws_cdk import Resource
from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk_sagemaker_llm.hosting.common.elsewhere import far_place, scaled_findings
from cdk_sagemaker_llm.hosting.common.limits import name_findings
from cdk_sagemaker_llm.hosting.common.reporting import checked, report
from cdk_sagemaker_llm.hosting.common.scope import is_defined
from cdk_sagemaker_llm.hosting.endpoints.connection import Connected, Connection
from cdk_sagemaker_llm.hosting.endpoints.endpoint_definition import variant_subject
from cdk_sagemaker_llm.hosting.endpoints.events import EndpointEvents
from cdk_sagemaker_llm.hosting.models.model import Dialect, common_dialect
from cdk_sagemaker_llm.hosting.monitoring.alarms import MetricAlarms
from cdk_sagemaker_llm.hosting.monitoring.canned_metrics import (
    AsyncMetrics,
    VariantMetrics,
)
from cdk_sagemaker_llm.hosting.roles.grants import EndpointGrants
from cdk_sagemaker_llm.hosting.scaling.counts import ScalableInstanceCount
from cdk_sagemaker_llm.hosting.scaling.target_base import twice_finding
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from cdk_sagemaker_llm.hosting.monitoring.metrics import Subject


class EndpointBase(
    Resource,
    VariantMetrics,
    AsyncMetrics,
    MetricAlarms,
    Connected,
    EndpointGrants,
    EndpointEvents,
):
    """
    What endpoints defined here and imported ones have in common.
    """

    endpoint_name: str
    """The name that applications call."""
    endpoint_arn: str
    """The ARN."""
    variant_name: str | None = None
    """The variant that was named where it was imported; ``None`` for others."""
    _scaled: dict[str, ScalableInstanceCount]

    @property
    def connection(self) -> Connection:
        """
        How an application reaches the endpoint.

        Where it hosts inference components, the connection has no schema: each
        component has a connection of its own.

        Raises:
            ValueError: If its requests lie on S3, so that no client gets an answer.
        """
        dialect = self._dialect()
        return Connection(
            endpoint_name=self.endpoint_name,
            region=self.env.region,
            schema=dialect.schema,
            takes_chats=dialect.takes_chats,
        )

    def _dialect(self) -> Dialect:
        return common_dialect(())

    @checked
    def auto_scale_instance_count(
        self,
        *,
        max_capacity: int,
        min_capacity: int | None = None,
        variant_name: str | None = None,
    ) -> ScalableInstanceCount:
        """
        Let the number of instances of a variant follow its load.

        Of an endpoint that is imported, the app that defines it must keep the number
        in its updates (``RetainAllVariantProperties``), as one of this library does
        for what it scales itself.

        Args:
            max_capacity: Instances that run at most.

            min_capacity:
                Instances that always run; 0 where the endpoint answers asynchronously.
                If omitted, it is 1.

            variant_name:
                Which variant; it must have a model.
                If omitted, it is the one that was named where the endpoint was
                imported.

        Raises:
            ValueError: If the bounds or the variant are wrong, or its instances are
                scaled already.
        """
        name = self._metric_subject(variant_name).dimensions["VariantName"]
        report(self, "", scaled_findings(self))
        least = 1 if min_capacity is None else min_capacity
        return self._scale(name, least, max_capacity, is_only=variant_name is None)

    def _scale(
        self,
        variant_name: str,
        least: int,
        most: int,
        *,
        is_only: bool = False,
        asynchronous: bool | None = None,
    ) -> ScalableInstanceCount:
        before = self._scaled.get(variant_name)
        if before is not None and is_defined(before):
            what = f"the instances of {variant_name!r}"
            report(self, "", [twice_finding(what, "auto_scale_instance_count")])
        self._scaled[variant_name] = ScalableInstanceCount(
            self,
            "Scaling"
            if is_only or is_unresolved(variant_name)
            else f"{variant_name}Scaling",
            endpoint_name=self.endpoint_name,
            variant_name=variant_name,
            min_capacity=least,
            max_capacity=most,
            asynchronous=asynchronous,
        )
        return self._scaled[variant_name]

    def _event_endpoint(self) -> EndpointBase:
        return self

    def _metric_subject(self, variant_name: str | None) -> Subject:
        name = variant_name or self.variant_name
        subject = variant_subject(self, self.endpoint_name, None, name)
        account, region = far_place(self)
        return replace(subject, account=account, region=region)

    @checked
    def grant_invoke_async(self, grantee: iam.IGrantable) -> iam.Grant:
        """
        Let a principal have requests answered that lie on S3.

        What an endpoint that is defined here reads and writes there is granted too.
        """
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["sagemaker:InvokeEndpointAsync"],
            resource_arns=[self.endpoint_arn],
        )


class ImportedEndpoint(EndpointBase):
    """
    An endpoint that was made elsewhere.
    """

    def __init__(
        self, scope: Construct, id: str, name: str, arn: str, variant_name: str | None
    ) -> None:
        report(scope, id, name_findings("variant_name", variant_name))
        super().__init__(scope, id, environment_from_arn=arn)
        self.variant_name = variant_name
        self.endpoint_name = name
        self.endpoint_arn = arn
        self._scaled = {}
