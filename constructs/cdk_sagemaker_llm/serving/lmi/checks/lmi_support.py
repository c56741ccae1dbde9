"""
Checks of what the vLLM inside an LMI image loads: the model's class, its length and
formats, and what is asked for, against the checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.lmi.launch import Subject

# What LMI calls otherwise than vLLM, from what on it hands on by the same name.
_OTHER_NAMES = {
    "quantize": "quantization",
    "speculative_draft_model": "speculative_model",
    "pipeline_parallel_degree": "pipeline_parallel_size",
}
_ENGINES = ("vllm", "lmi-dist")
_DTYPES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32"}
# Formats that LMI makes of the weights itself, or hands to another engine.
_NOT_OF_VLLM = (
    "dynamic_int8",
    "smoothquant",
    "static_int8",
    "bitsandbytes8",
    "bitsandbytes4",
)
_PREFIX = "option."


def model_support_findings(subject: Subject) -> Iterator[Finding]:
    """
    The vLLM or LMI-Dist inside loads the model as it is asked to, on the GPU where that
    is known.
    """
    if subject.launch.container not in ("djl-lmi", "djl-deepspeed"):
        return
    engine = next((one for one in _ENGINES if subject.runs(one)), None)
    release = None if engine is None else _release(subject, engine)
    named = subject.option("model_id")
    name = named if _is_on_hub(named) else None
    if engine is None or release is None or (name is None and subject.kind is None):
        return
    if name is not None and "gguf" in name.lower():
        return
    # Few models are known, and only they need the rules and tables.
    from cdk_sagemaker_llm.serving.support.wiring import wired_findings  # noqa: PLC0415

    arguments: dict[str, object] = {}
    words = {
        "trust_remote_code": "option.trust_remote_code",
        # Variables are set elsewhere than the file that is checked.
        "VLLM_ALLOW_LONG_MAX_MODEL_LEN": " and name the option in unchecked_options",
    }
    for key, value in subject.properties.items():
        option = key.removeprefix(_PREFIX)
        if option == key or value in _NOT_OF_VLLM:
            continue
        argument = _OTHER_NAMES.get(option, option)
        arguments[argument] = _DTYPES.get(value, value)
        words[argument] = key
    degree = subject.degree()
    if degree is not None:
        arguments["tensor_parallel_size"] = degree
        words["tensor_parallel_size"] = f"{_PREFIX}tensor_parallel_degree"
    yield from wired_findings(
        engine=engine,
        release=release,
        name=name,
        kind=subject.kind,
        accelerator=subject.accelerator_model,
        accelerators=subject.accelerators,
        arguments=arguments,
        environment=subject.variables,
        network_isolation=subject.is_isolated,
        words=words,
    )


def _release(subject: Subject, engine: str) -> str | None:
    if engine == "vllm":
        return subject.version.vllm
    inside: Mapping[str, str] = load("lmi_engines.json")["lmi_dist"]
    return next((inside[row] for row in subject.version.rows if row in inside), None)


def _is_on_hub(name: str | None) -> bool:
    if not name or name.startswith(("/", ".", "s3:", "$", "{")):
        return False
    return name.count("/") <= 1
