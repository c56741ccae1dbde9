"""
What vLLM's own image does with the LoRA adapters that SageMaker hands to it.

All images of vLLM in the catalogue have vLLM 0.13.0 or later, whose server has the
route by which SageMaker loads adapters; it is there if the engine takes LoRA and may be
given adapters while it runs (model-hosting-container-standards, and vllm/entrypoints of
0.13.0).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cdk_sagemaker_llm.catalog.engine_releases import find_engine_release
from cdk_sagemaker_llm.serving.engines.checks.lora import UPDATES, is_switched_on
from cdk_sagemaker_llm.serving.engines.checks.subject import EngineSubject
from cdk_sagemaker_llm.serving.engines.entry_points import ENTRY_POINTS
from cdk_sagemaker_llm.serving.engines.environment import read_by
from cdk_sagemaker_llm.tokens import is_unresolved

_SWITCH = "enable-lora"
_LARGEST = "max-lora-rank"
# LoRAConfig of all releases.
_DEFAULT_LARGEST = 16


@dataclass(frozen=True, slots=True)
class AdapterSettings:
    """
    What vLLM is told of adapters.

    Args:
        is_on: Whether it takes them; ``None`` where part of it is not said.

        largest_rank: The largest rank that it takes; ``None`` if deployment alone
            knows.

        switches: The variables that it lacks to take adapters.
    """

    is_on: bool | None
    largest_rank: int | None
    switches: Mapping[str, str]


def adapter_settings(
    variables: Mapping[str, str], family: str, version: str
) -> AdapterSettings | None:
    """
    Read what vLLM is told of adapters; ``None`` for an image that is not known.

    Args:
        variables: All variables of the container.

        family: The image family, such as ``vllm-server``.

        version: The image's version.
    """
    image = find_engine_release(family, version)
    if image is None or image.rule is None:
        return None
    rule = ENTRY_POINTS[image.rule]
    known = {k: v for k, v in variables.items() if not is_unresolved(v)}
    hidden = variables.keys() - known.keys()
    subject = EngineSubject(environment=known, image=image, hidden=hidden)
    subject = read_by(subject, rule)
    named = rule.variable(_SWITCH)
    told = {
        named: _is_lora_on(subject, named),
        UPDATES: True if UPDATES in hidden else _is_allowed(known.get(UPDATES)),
    }
    # Without the rule of truth a flag stands alone.
    values = {named: "true" if rule.reads_truth else "", UPDATES: "true"}
    is_on = False if False in told.values() else all(told.values()) or None
    return AdapterSettings(
        is_on=is_on,
        largest_rank=_largest_rank(subject),
        switches={k: values[k] for k, is_set in told.items() if is_set is None},
    )


def _is_lora_on(subject: EngineSubject, variable: str) -> bool | None:
    value = subject.value(_SWITCH)
    if isinstance(value, bool):
        return value
    if subject.is_told(_SWITCH):
        # What deployment decides is taken for on: it is the user's own word.
        return True
    # The entry point drops it.
    return False if variable in subject.environment else None


def _is_allowed(value: str | None) -> bool | None:
    return None if value is None else is_switched_on(value)


def _largest_rank(subject: EngineSubject) -> int | None:
    if not subject.is_told(_LARGEST):
        return _DEFAULT_LARGEST
    return subject.number(_LARGEST)
