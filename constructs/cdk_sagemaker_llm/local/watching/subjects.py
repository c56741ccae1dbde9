"""
Whose metrics SageMaker publishes: a variant's with a model, or a component's.
"""

from __future__ import annotations

from typing import NamedTuple

from cdk_sagemaker_llm.local.sagemaker.traffic import Where
from cdk_sagemaker_llm.simulation.metrics import SAGEMAKER, Metric
from cdk_sagemaker_llm.simulation.publishing import COMPONENTS, ENDPOINTS

_OF_COMPONENT, _OF_VARIANT = "GPUUtilizationNormalized", "GPUUtilization"
GPU = frozenset({_OF_COMPONENT, _OF_VARIANT})


class Subject(NamedTuple):
    """
    A variant, or one of the components on it; or an endpoint with its queue.

    Args:
        endpoint: The endpoint's name.

        variant: The variant's name; empty for the endpoint.

        component: The component's name; empty for a variant with a model.
    """

    endpoint: str
    variant: str
    component: str = ""

    @classmethod
    def of(cls, where: Where) -> Subject:
        """
        Return whose a request is.
        """
        endpoint, variant, component = where
        return cls(endpoint, variant, component or "")

    def metric(self, name: str) -> Metric:
        """
        Return one of its metrics.
        """
        if name in GPU:
            return self._gauge(name)
        if self.component:
            return Metric.of_component(name, self.component)
        if not self.variant:
            return Metric.of(SAGEMAKER, name, {"EndpointName": self.endpoint})
        return Metric.of_variant(name, self.endpoint, self.variant)

    @property
    def utilization(self) -> str:
        """
        The name of its accelerators' utilization.
        """
        return _OF_COMPONENT if self.component else _OF_VARIANT

    def _gauge(self, name: str) -> Metric:
        if self.component:
            dimensions = {"InferenceComponentName": self.component}
            return Metric.of(COMPONENTS, name, dimensions)
        dimensions = {"EndpointName": self.endpoint, "VariantName": self.variant}
        return Metric.of(ENDPOINTS, name, dimensions)

    @property
    def invocations_each(self) -> str:
        """
        The name of its invocations by instance or copy.
        """
        return "InvocationsPerCopy" if self.component else "InvocationsPerInstance"

    @property
    def concurrency(self) -> str:
        """
        The name of its concurrent requests by instance or copy.
        """
        if self.component:
            return "ConcurrentRequestsPerCopy"
        return "ConcurrentRequestsPerModel"
