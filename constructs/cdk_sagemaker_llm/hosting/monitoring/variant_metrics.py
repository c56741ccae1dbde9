"""
The metrics of an endpoint's variants.
"""

from __future__ import annotations

from cdk_sagemaker_llm.hosting.monitoring.variant_instances import (
    VariantInstanceMetrics,
)
from cdk_sagemaker_llm.hosting.monitoring.variant_requests import VariantRequestMetrics


class VariantMetrics(VariantRequestMetrics, VariantInstanceMetrics):
    """
    The metrics of an endpoint's variants.
    """
