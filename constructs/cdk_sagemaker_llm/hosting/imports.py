"""
Referring to what exists: names and ARNs as a user writes them, held to their forms.
"""

from __future__ import annotations

import re

from aws_cdk import Arn, ArnFormat, Stack
from constructs import Construct

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.limits import name_findings
from cdk_sagemaker_llm.hosting.reporting import report
from cdk_sagemaker_llm.serving.rules import API

_ARN = (
    r"arn:aws[a-z-]*:sagemaker:[a-z0-9-]+:\d{{12}}:{kind}/[a-zA-Z0-9](-*[a-zA-Z0-9])*"
)

OTHER_ARN = Rule("LLM195", "an ARN is not that of what is imported by it", API)


def named(scope: Construct, id: str, kind: str, name: str) -> str:
    """
    Return the ARN of what has a name in the stack's account and region.

    Args:
        scope: Where it is imported.

        id: Its id there.

        kind: What it is, as ARNs say it, such as ``inference-component``.

        name: Its name.

    Raises:
        ValueError: If the service would refuse the name.
    """
    report(scope, id, name_findings(f"{kind.replace('-', '_')}_name", name))
    return Stack.of(scope).format_arn(
        service="sagemaker",
        resource=kind,
        resource_name=in_arn(name) if kind == "endpoint" else name,
    )


def in_arn(endpoint_name: str) -> str:
    """
    Write an endpoint's name as the service does in its ARN, in lower case.

    One that is decided at deployment stays as it is: CloudFormation has no such word.
    """
    return endpoint_name if is_unresolved(endpoint_name) else endpoint_name.lower()


def name_in(scope: Construct, id: str, kind: str, arn: str) -> str:
    """
    Return the name in an ARN.

    Raises:
        ValueError: If it is an ARN of something else.
    """
    report(scope, id, arn_findings(kind, arn))
    name = Arn.split(arn, ArnFormat.SLASH_RESOURCE_NAME).resource_name
    return name or ""


def arn_findings(kind: str, arn: str) -> list[Finding]:
    """
    Check that an ARN is of a kind; what is decided at deployment is not judged.
    """
    if is_unresolved(arn) or re.fullmatch(_ARN.format(kind=kind), arn):
        return []
    parameter = f"{kind.replace('-', '_')}_arn"
    example = f"arn:aws:sagemaker:eu-west-1:111111111111:{kind}/name"
    return [OTHER_ARN.finding(f"{parameter} must be such as {example}, got {arn!r}")]
