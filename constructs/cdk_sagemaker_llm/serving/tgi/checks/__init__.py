"""
Checks of a Text Generation Inference environment against the version that reads it.

What belongs here is a rule and the small function that finds it broken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cdk_sagemaker_llm.architectures import find_architecture
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.checks import checks_of
from cdk_sagemaker_llm.serving.tgi.checks import tgi_variables, variable_combinations
from cdk_sagemaker_llm.serving.tgi.checks.tgi_subject import TgiSubject
from cdk_sagemaker_llm.tokens import is_unresolved

_CHECKS = checks_of(tgi_variables, variable_combinations)


def check_environment(
    environment: Mapping[str, str],
    *,
    version: str,
    accelerators: int | None = None,
    attention_heads: int | None = None,
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

        attention_heads:
            The model's attention heads.
            If left out, it is what the catalogue knows of the model that HF_MODEL_ID
            names.

    Returns:
        What was found, errors and warnings, in the order of the checks.
    """
    if attention_heads is None:
        known = find_architecture(environment.get("HF_MODEL_ID") or "")
        attention_heads = known.num_attention_heads if known else None
    return subject_findings(
        TgiSubject(
            environment,
            version,
            accelerators,
            attention_heads=attention_heads,
        )
    )


def subject_findings(subject: TgiSubject) -> list[Finding]:
    """
    Run every check of a TGI environment.
    """
    if is_unresolved(subject.accelerators):
        return subject_findings(replace(subject, accelerators=None))
    return [finding for check in _CHECKS for finding in check(subject)]
