"""
Checks of the variables of the supervisor that starts vLLM.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.engines.checks.sources import SUPERVISOR
from cdk_sagemaker_llm.serving.engines.checks.subject import EngineSubject

_RECOVERY = "PROCESS_AUTO_RECOVERY"
_RETRIES = "PROCESS_MAX_START_RETRIES"
_MOST_RETRIES = 100
_TRUTH = ("true", "1", "false", "0")

SUPERVISOR_SETTING = Rule(
    "LLM623",
    "a setting of the supervisor that is read otherwise than it is written",
    SUPERVISOR,
)


def check_recovery(subject: EngineSubject) -> Iterator[Finding]:
    """
    Whatever is neither true nor 1 switches the supervisor off.
    """
    value = subject.environment.get(_RECOVERY)
    if value is None or not _has_supervisor(subject) or value.lower() in _TRUTH:
        return
    yield SUPERVISOR_SETTING.finding(
        f"{_RECOVERY}={value} switches the supervisor off, as anything but true and 1 "
        "does",
        "write true or false",
    )


def check_retries(subject: EngineSubject) -> Iterator[Finding]:
    """
    Retries are from 0 to 100.
    """
    value = subject.environment.get(_RETRIES)
    if value is None or not subject.is_supervised:
        return
    digits = value.strip().lstrip("0")
    is_number = value.strip().isdecimal() and len(digits) <= len(str(_MOST_RETRIES))
    if not is_number or int(digits or "0") > _MOST_RETRIES:
        yield SUPERVISOR_SETTING.finding(
            f"{_RETRIES} should be from 0 to {_MOST_RETRIES}, got {value!r}"
        )


def check_supervisor_there(subject: EngineSubject) -> Iterator[Finding]:
    """
    Settings of the supervisor are for images that have one.
    """
    if subject.rule is None or _has_supervisor(subject):
        return
    for name in (_RECOVERY, _RETRIES):
        if name in subject.environment:
            yield SUPERVISOR_SETTING.finding(
                f"{name} has no effect: this image has no supervisor", "leave it out"
            )


def _has_supervisor(subject: EngineSubject) -> bool:
    return subject.rule is not None and subject.rule.supervisor is not None
