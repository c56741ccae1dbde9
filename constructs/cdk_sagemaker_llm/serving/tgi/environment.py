"""
Writing the environment of a TGI container, and what the user may write into it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cdk_sagemaker_llm.arguments import is_later
from cdk_sagemaker_llm.catalog.tgi import tgi_aliases
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.models import HuggingFaceModel, ModelSource, S3Model
from cdk_sagemaker_llm.serving.rules import OUTSIDE_RANGE, UNREADABLE
from cdk_sagemaker_llm.tokens import is_unresolved

EnvironmentValue = str | int | float | bool | Sequence[str] | Sequence[int]

LOCAL_WEIGHTS = "/opt/ml/model"


def render(values: Mapping[str, EnvironmentValue]) -> dict[str, str]:
    """
    Write values as the launcher reads them.
    """
    return {name: _text(value) for name, value in values.items()}


def model_id(model: ModelSource | None) -> str | None:
    """
    Return what TGI takes as a model: a Hub id or a local path, no s3:// address.
    """
    if model is None:
        return None
    return model.model_id if isinstance(model, HuggingFaceModel) else LOCAL_WEIGHTS


def weights_uri(model: ModelSource | None) -> str | None:
    """
    Return the prefix that SageMaker itself is to put into ``/opt/ml/model``.
    """
    return model.uri if isinstance(model, S3Model) else None


def count_findings(counts: Mapping[str, int]) -> list[Finding]:
    """
    Parameters that count something are numbers of at least 1.
    """
    return [_count_fault(name, counts[name]) for name in wrong_counts(counts)]


def wrong_counts(counts: Mapping[str, int]) -> list[str]:
    """
    Return the names of counts that are below 1, or known only at deployment.
    """
    return [name for name, value in counts.items() if value < 1]


def later_findings(values: Mapping[str, EnvironmentValue]) -> list[Finding]:
    """
    Numbers, which are checked, are known at synth.
    """
    return [
        UNREADABLE.finding(
            f"{name} is known only at deployment, and is checked at synth",
            "pass a number, or the text of Token.as_string(...) in unchecked_options",
        )
        for name, value in values.items()
        if is_later(value)
    ]


SET_TWICE = Rule(
    "LLM163", "an option of TGI repeats what a parameter sets", "the library's own rule"
)


def overlap_findings(
    typed: Mapping[str, EnvironmentValue], *given: Mapping[str, EnvironmentValue]
) -> list[Finding]:
    """
    Options say nothing that parameters, or one another, say already.
    """
    taken = {_native(name) for name in typed}
    found = []
    for names in given:
        found += [
            SET_TWICE.finding(
                f"{name} is set twice: a parameter or another option sets it already",
                "keep one of them",
            )
            for name in names
            if _native(name) in taken
        ]
        taken |= {_native(name) for name in names}
    return found


def _count_fault(name: str, value: int) -> Finding:
    if is_unresolved(value):
        message = f"{name} is known only at deployment, and is checked at synth"
        return UNREADABLE.finding(message, "pass a number")
    return OUTSIDE_RANGE.finding(f"{name} must be at least 1, got {value}")


def _native(name: str) -> str:
    return tgi_aliases().get(name, name)


def _text(value: EnvironmentValue) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    return ",".join(str(item) for item in value)
