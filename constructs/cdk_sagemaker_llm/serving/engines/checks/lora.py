"""
Checks of LoRA adapters: the switches that go together.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import (
    PARSERS,
    EngineSubject,
)

UPDATES = "VLLM_ALLOW_RUNTIME_LORA_UPDATING"
"""The variable that lets adapters come while vLLM runs."""
_NEEDING = (
    "lora-modules",
    "max-loras",
    "max-lora-rank",
    "max-cpu-loras",
    "fully-sharded-loras",
    "default-mm-loras",
)

WITHOUT_LORA = Rule(
    "LLM621", "settings of LoRA adapters at an engine that has them off", PARSERS
)


def lora_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    What is said of adapters is said to an engine that takes them.
    """
    if subject.table != "vllm" or subject.has_argument("config"):
        return
    switch = subject.variable("enable-lora")
    is_hidden = (
        subject.has_argument("enable-lora") and subject.find("enable-lora") is None
    )
    if is_hidden or subject.value("enable-lora") is True:
        return
    for name in _NEEDING:
        setting = subject.find(name)
        if setting is not None:
            yield WITHOUT_LORA.finding(
                f"{subject.word(setting.variable)} has no effect, or fails, without "
                f"{switch}",
                f"set {switch}",
            )
    if is_switched_on(subject.environment.get(UPDATES)):
        yield WITHOUT_LORA.finding(
            f"{UPDATES} has no effect without {switch}: adapters cannot be loaded",
            f"set {switch}",
        )


SEVERAL_SERVERS = Rule(
    "LLM622",
    "adapters are loaded at run time into one of several API servers",
    "vllm/entrypoints/cli/serve.py of 0.13.0",
)


def server_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Adapters that come later are known to one API server alone.
    """
    servers = subject.number("api-server-count")
    updates = is_switched_on(subject.environment.get(UPDATES))
    if subject.table == "vllm" and updates and servers is not None and servers > 1:
        yield SEVERAL_SERVERS.finding(
            f"{UPDATES} does not go together with "
            f"{subject.variable('api-server-count')}={servers}",
            "leave one of them out",
        )


def is_switched_on(value: str | None) -> bool:
    """
    Return whether a variable of vLLM's process says yes.
    """
    return value is not None and value.strip().lower() in {"1", "true"}
