"""
Checks of a Text Generation Inference environment against the version that reads it.

What belongs here is a rule and the small function that finds it broken.
"""

from __future__ import annotations

from collections.abc import Mapping

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.checks import checks_of
from cdk_sagemaker_llm.serving.tgi.checks import combinations, model, variables
from cdk_sagemaker_llm.serving.tgi.checks.subject import TgiSubject

_CHECKS = checks_of(model, variables, combinations)


def check_environment(
    environment: Mapping[str, str],
    *,
    version: str,
    accelerators: int | None = None,
) -> list[Finding]:
    """
    Check the environment of a TGI container on GPUs.

    ``check_environment({"HF_MODEL_ID": "gpt2", "MAX_TOTAL_TOKENS": "512"},
    version="1.4.5")``

    Args:
        environment: The variables, as the container gets them.

        version: The TGI version.
            One without a table of its own is read by the newest before it.

        accelerators: GPUs that each copy of the model has.
            If left out, what depends on them is not checked.

    Returns:
        What was found, errors and warnings, in the order of the checks.
    """
    return subject_findings(TgiSubject(environment, version, accelerators))


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
