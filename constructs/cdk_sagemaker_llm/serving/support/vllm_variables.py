"""
Variables of the environment that vLLM reads as numbers or by name, and stops at where
they are neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.text import any_of

# Read by int() at each start, and in which releases; true and false are no numbers.
_NUMBERS: Mapping[str, tuple[str, str]] = {
    "VLLM_CONFIGURE_LOGGING": ("0.4.2", ""),
    "VLLM_USE_V1": ("0.7.0", "0.11.0"),
    "VLLM_ENABLE_V1_MULTIPROCESSING": ("0.7.0", ""),
    "VLLM_MLA_DISABLE": ("0.7.1", ""),
    "VLLM_SERVER_DEV_MODE": ("0.7.0", ""),
    "VLLM_PORT": ("0.5.3", ""),
    "VLLM_USE_DEEP_GEMM": ("0.12.0", ""),
    "VLLM_USE_FLASHINFER_MOE_FP8": ("0.12.0", "0.20.2"),
    "VLLM_USE_FLASHINFER_MOE_FP4": ("0.12.0", "0.20.2"),
    "VLLM_USE_FLASHINFER_MOE_FP16": ("0.12.0", "0.20.2"),
    "VLLM_RPC_TIMEOUT": ("0.6.0", "0.20.2"),
    "VLLM_ENGINE_READY_TIMEOUT_S": ("0.14.0", ""),
    "VLLM_HTTP_TIMEOUT_KEEP_ALIVE": ("0.9.2", ""),
}
_NAMES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "VLLM_WORKER_MULTIPROC_METHOD": ("0.11.0", ("spawn", "fork")),
    "VLLM_KV_CACHE_LAYOUT": ("0.11.0", ("NHD", "HND")),
}
# From here on layouts have further names.
_MORE_LAYOUTS = "0.29.0"
_LEVELS = ("DEBUG", "INFO", "WARNING", "WARN", "ERROR", "CRITICAL", "FATAL", "NOTSET")
_LEVELS_IN_CAPITALS = "0.6.3.post1"

UNREAD_VARIABLE = Rule(
    "LLM946",
    "a variable is neither the number nor the name that the release reads",
    "vllm/envs.py, 0.4.2 to 0.33.0",
)


def variable_findings(subject: Subject) -> Iterator[Finding]:
    """
    Variables are what they are read as.
    """
    values = subject.environment
    for name, (first, last) in _NUMBERS.items():
        value = values.get(name, "0").strip()
        if not value.lstrip("-").isdigit() and subject.is_at(first, last):
            yield UNREAD_VARIABLE.finding(
                f"{name} must be a whole number, such as 0 or 1, at {subject.title}, "
                f"got {values[name]}"
            )
    for name, (since, names) in _NAMES.items():
        is_wider = name.endswith("LAYOUT") and subject.is_at(_MORE_LAYOUTS)
        value = values.get(name, names[0])
        if value not in names and subject.is_at(since) and not is_wider:
            yield UNREAD_VARIABLE.finding(
                f"{name} must be {any_of(names)}, got {value}"
            )
    level = values.get("VLLM_LOGGING_LEVEL", "INFO")
    read = level if subject.is_at("0.0", _LEVELS_IN_CAPITALS) else level.upper()
    if read not in _LEVELS and not read.isdigit() and subject.is_at("0.6.0"):
        yield UNREAD_VARIABLE.finding(
            f"VLLM_LOGGING_LEVEL must be {any_of(_LEVELS[:3])} or the like, got {level}"
        )
