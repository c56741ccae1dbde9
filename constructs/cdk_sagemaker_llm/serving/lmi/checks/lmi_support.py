"""
Checks of what the vLLM inside an LMI image loads: the model's class, its length and
formats, and what is asked for, against the checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.models import hub_name
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
    version = subject.version
    release = version.lmi_dist if engine == "lmi-dist" else version.vllm
    name = hub_name(subject.option("model_id"))
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
    for argument, value, key in passed_on(subject.properties):
        arguments[argument] = value
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


def passed_on(properties: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """
    Yield the arguments that properties are handed on as: name, value, and the key.
    """
    for key, value in properties.items():
        option = key.removeprefix(_PREFIX)
        if option == key or value in _NOT_OF_VLLM:
            continue
        yield _OTHER_NAMES.get(option, option), _DTYPES.get(value, value), key
