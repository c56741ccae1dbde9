"""
What an endpoint publishes, and how often.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.limits import seconds, time_findings
from cdk_sagemaker_llm.serving.rules import API
from cdk_sagemaker_llm.wording import any_of

if TYPE_CHECKING:
    from aws_cdk import Duration

# botocore 1.44.5, MetricsConfig; with or without enhanced metrics.
FREQUENCIES = (10, 30, 60, 120, 180, 240, 300)
NO_SUCH_FREQUENCY = Rule(
    "LLM363", "metrics are to be published at an interval that there is not", API
)


def frequency_findings(frequency: Duration) -> list[Finding]:
    """
    Check how often metrics are to be published.
    """
    interval = seconds(frequency)
    found = time_findings("metric_publish_frequency", frequency)
    if found or interval is None or is_unresolved(interval) or interval in FREQUENCIES:
        return found
    known = any_of(str(each) for each in FREQUENCIES)
    return [
        NO_SUCH_FREQUENCY.finding(
            f"metric_publish_frequency must be {known} seconds, got {interval:g}"
        )
    ]
