"""
Checks of a Text Generation Inference environment against the version that reads it.

What belongs here is a rule and the small function that finds it broken.
"""

from __future__ import annotations

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.checks import checks_of
from cdk_sagemaker_llm.serving.tgi.checks import combinations, model, variables
from cdk_sagemaker_llm.serving.tgi.checks.subject import TgiSubject

_CHECKS = checks_of(model, variables, combinations)


def subject_findings(subject: TgiSubject) -> list[Finding]:
    """
    Run every check of a TGI environment.
    """
    if is_unresolved(subject.accelerators):
        known = TgiSubject(
            subject.environment,
            subject.version,
            words=subject.words,
            unchecked=subject.unchecked,
        )
        return subject_findings(known)
    return [finding for check in _CHECKS for finding in check(subject)]
