"""
How constructs report findings: errors together at once, warnings as annotations.
"""

from __future__ import annotations

from collections.abc import Iterable

from aws_cdk import Annotations
from constructs import Construct

from cdk_sagemaker_llm.findings import Finding, Severity, raise_errors


def report(scope: Construct, id: str, findings: Iterable[Finding]) -> None:
    """
    Raise all errors as one, before anything is created.

    Raises:
        ValueError: If there is at least one error; it begins with the path.
    """
    found = list(findings)
    # The path is a call into Node, which is made for an error only.
    if any(finding.severity is Severity.ERROR for finding in found):
        raise_errors("/".join(filter(None, (scope.node.path, id))), found)


def annotate(construct: Construct, warnings: Iterable[Finding]) -> None:
    """
    Attach warnings to a construct, each with the code that acknowledges it.
    """
    found = list(warnings)
    if not found:
        return
    annotations = Annotations.of(construct)
    for finding in found:
        remedy = f"; {finding.remedy}" if finding.remedy else ""
        annotations.add_warning_v2(
            f"cdk-sagemaker-llm:{finding.code}", f"{finding.message}{remedy}"
        )
