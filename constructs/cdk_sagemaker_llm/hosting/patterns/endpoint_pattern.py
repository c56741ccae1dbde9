"""
What the patterns have in common: an endpoint of their own, whose names and metrics are
theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from constructs import Construct

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.hosting.common.names import own_name_findings
from cdk_sagemaker_llm.hosting.common.reporting import at_synth
from cdk_sagemaker_llm.hosting.common.scope import region_of
from cdk_sagemaker_llm.hosting.endpoints.endpoint import Endpoint
from cdk_sagemaker_llm.hosting.endpoints.events import DeploymentEvents
from cdk_sagemaker_llm.hosting.monitoring.alarms import MetricAlarms
from cdk_sagemaker_llm.hosting.monitoring.canned_metrics import VariantMetrics
from cdk_sagemaker_llm.hosting.monitoring.spend import HourlyPrices, budget_findings
from cdk_sagemaker_llm.hosting.roles.given_roles import role_findings
from cdk_sagemaker_llm.hosting.roles.grants import EndpointGrants

if TYPE_CHECKING:
    from aws_cdk import aws_iam as iam

    from cdk_sagemaker_llm.hosting.monitoring.metrics import Subject
    from cdk_sagemaker_llm.hosting.updates.rollout import Rollout
    from cdk_sagemaker_llm.hosting.variants.variant_definition import VariantDefinition


class EndpointPattern(
    Construct, VariantMetrics, MetricAlarms, EndpointGrants, DeploymentEvents
):
    """
    An endpoint with all that it runs.
    """

    endpoint: Endpoint
    """The endpoint."""
    role: iam.IRole
    """The execution role of its models."""

    _prices: Mapping[str, float]

    @property
    def endpoint_arn(self) -> str:  # type: ignore[override] # a call into Node, made when used
        """
        The endpoint's ARN.
        """
        return self.endpoint.endpoint_arn

    @property
    def endpoint_name(self) -> str:
        """
        The name that applications call; with a component's, where it hosts such.
        """
        return self.endpoint.endpoint_name

    @property
    def grant_principal(self) -> iam.IPrincipal:
        """
        The execution role of its models, so that other constructs can grant to them.
        """
        return self.role.grant_principal

    def _keep_budget(
        self, monthly_budget: float | None, hourly_prices: Mapping[str, float] | None
    ) -> None:
        """
        Hold the instances against a budget, when all scaling is defined.
        """
        self._prices = dict(hourly_prices or {})
        if monthly_budget is None:
            return
        prices = HourlyPrices(region_of(self), self._prices)
        fleets = self.endpoint._fleets  # noqa: SLF001 - its own
        at_synth(self, lambda: budget_findings(monthly_budget, fleets(), prices))

    def _own_prices(self) -> Mapping[str, float]:
        return self._prices

    def _event_endpoint(self) -> Endpoint:
        return self.endpoint

    def _metric_subject(self, variant_name: str | None) -> Subject:
        return self.endpoint._metric_subject(variant_name)  # noqa: SLF001 - the same variants


def pattern_findings(
    scope: Construct,
    endpoint_name: str | None,
    role: iam.IRole | None,
    rollout: Rollout | None,
    variants: Sequence[VariantDefinition],
) -> list[Finding]:
    """
    Check what a pattern passes on to its endpoint.
    """
    found = [
        *own_name_findings(scope, "endpoint_name", endpoint_name),
        *role_findings(scope, role),
    ]
    if rollout is not None:
        from cdk_sagemaker_llm.hosting.updates.rollout_checks import (  # noqa: PLC0415 - who has a rollout has it
            endpoint_rollout_findings,
        )

        found += endpoint_rollout_findings(rollout, variants, endpoint_name)
    return found
