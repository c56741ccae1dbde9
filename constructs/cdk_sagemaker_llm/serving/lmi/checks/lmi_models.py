"""
Checks of what a backend refuses of the model itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.lmi.launch import (
    BATCHED_BY_DEEPSPEED,
    HANDLERS,
    SMOOTHED_BY_DEEPSPEED,
    Subject,
    front_end_chooses,
    generates_text,
    loaded_by_neuronx,
)
from cdk_sagemaker_llm.serving.parameters import repository_findings

_NAMES = ("model_id", "tokenizer")
_REVISIONS = ("revision", "tokenizer_revision", "code_revision")

MODEL_REFUSED = Rule("LLM175", "the backend refuses the model's architecture", HANDLERS)


def hub_findings(subject: Subject) -> Iterator[Finding]:
    """
    The Hub can have what names the model, its tokenizer, and their revisions.
    """
    models, revisions = (
        {f"option.{name}": subject.option(name) for name in names}
        for names in (_NAMES, _REVISIONS)
    )
    yield from repository_findings(models, revisions)


def deepspeed_model_findings(subject: Subject) -> Iterator[Finding]:
    """
    DeepSpeed batches what it has kernels for (OPTIMIZED_MODEL_TYPES).
    """
    batch = subject.launch.rolling_batch
    if not subject.runs("deepspeed") or batch not in ("auto", "deepspeed"):
        return
    if _is_other_than(subject, BATCHED_BY_DEEPSPEED):
        yield MODEL_REFUSED.finding(
            f"DeepSpeed has no rolling batch for {_name(subject)}",
            "use vLLM or LMI-Dist, or write option.rolling_batch=disable",
        )


def smoothed_model_findings(subject: Subject) -> Iterator[Finding]:
    """
    DeepSpeed smooths some types alone (SMOOTHQUANT_SUPPORTED_MODEL_TYPES).
    """
    smooths = subject.option("quantize") == "smoothquant"
    if not subject.runs("deepspeed") or not smooths:
        return
    if _is_other_than(subject, SMOOTHED_BY_DEEPSPEED):
        yield MODEL_REFUSED.finding(
            f"DeepSpeed does not quantize {_name(subject)} by smoothquant",
            "write option.quantize=dynamic_int8",
        )


def unbatched_tensorrt_llm_findings(subject: Subject) -> Iterator[Finding]:
    """
    Without a rolling batch TensorRT-LLM runs T5 alone (tensorrt_llm_python.py).
    """
    version = subject.version
    served = version.at_least("0.27") and version.before("0.32")
    batch = subject.option("rolling_batch")
    chosen = batch in (None, "auto") and front_end_chooses(subject.launch)
    is_unsuited = chosen and not generates_text(subject.architecture)
    is_unbatched = batch == "disable" or is_unsuited
    if not subject.runs("trtllm") or not served or not is_unbatched:
        return
    if _is_other_than(subject, frozenset({"t5"})):
        yield MODEL_REFUSED.finding(
            f"TensorRT-LLM {version} runs {_name(subject)} in a rolling batch only",
            "write option.rolling_batch=trtllm",
        )


def neuronx_model_findings(subject: Subject) -> Iterator[Finding]:
    """
    The Transformers-NeuronX loader knows a list of types.
    """
    if subject.launch.container != "djl-neuronx" or not _loads_with_neuronx(subject):
        return
    types = loaded_by_neuronx(subject.version)
    if _is_other_than(subject, types):
        yield MODEL_REFUSED.finding(
            f"NeuronX {subject.version} does not load {_name(subject)}: it knows "
            f"{', '.join(sorted(types))}",
        )


def vllm_on_neuron_findings(subject: Subject) -> Iterator[Finding]:
    """
    VLLM's own loader runs Llama alone on Neuron (VLLM_CONTINUOUS_BATCHING_MODELS).
    """
    own = subject.launch.container == "djl-neuronx" and subject.runs("neuronx", "vllm")
    batched = subject.launch.rolling_batch == "vllm" and subject.version.at_least(
        "0.28"
    )
    if not own or not batched or subject.option("model_loader") != "vllm":
        return
    if _is_other_than(subject, frozenset({"llama"})):
        yield MODEL_REFUSED.finding(
            f"option.model_loader=vllm does not load {_name(subject)} on Neuron",
            "write option.model_loader=tnx",
        )


def _is_other_than(subject: Subject, types: frozenset[str]) -> bool:
    return subject.model_type is not None and subject.model_type not in types


def _loads_with_neuronx(subject: Subject) -> bool:
    """
    Whether Transformers-NeuronX loads the model, and not Optimum or vLLM.
    """
    version, batch = subject.version, subject.launch.rolling_batch
    loader = subject.option("model_loader")
    if version.before("0.26") or loader == "tnx":
        return True
    if loader is not None or subject.option("partition_schema") == "optimum":
        return False
    if version.at_least("0.28"):
        return True
    batched = version.before("0.27") and batch not in (None, "disable")
    # Up to 0.27 Optimum loads what is none of these.
    return batched or "CausalLM" in (subject.architecture or "")


def _name(subject: Subject) -> str:
    return subject.architecture or str(subject.model_type)
