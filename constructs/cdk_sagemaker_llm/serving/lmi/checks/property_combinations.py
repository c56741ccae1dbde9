"""
Checks of options that exclude or need each other, as the property models state them.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.lmi.checks.options import (
    REPLACED_VALUE,
    UNDOCUMENTED_VALUE,
)
from cdk_sagemaker_llm.serving.lmi.checks.property_subject import (
    DEEPSPEED,
    DOCUMENTATION,
    FRONT_END,
    HUGGING_FACE,
    LMI_DIST,
    Subject,
)
from cdk_sagemaker_llm.serving.parameters import OUTSIDE_OPTION_RANGE, WRONG_CHOICE

_FLOATS = ("fp32", "fp16", "bf16")
_TORCH_TYPES = ("auto", *_FLOATS, "int8")
_VLLM_TYPES = ("auto", *_FLOATS, "float32", "float16", "bfloat16")

TWO_ADDRESSES = Rule("LLM140", "model_id with its old alias s3url", FRONT_END)


def two_addresses_findings(subject: Subject) -> Iterator[Finding]:
    """
    option.model_id and its deprecated alias s3url exclude each other (LmiUtils).
    """
    if subject.option("model_id") and subject.option("s3url"):
        yield TWO_ADDRESSES.finding(
            "option.model_id and option.s3url exclude each other",
            "leave option.s3url out",
        )


def dtype_findings(subject: Subject) -> Iterator[Finding]:
    """
    A dtype is a name that the backend maps to a number format.
    """
    value = subject.option("dtype")
    choices = _dtypes(subject)
    if value is None or not choices:
        return
    lowered = (
        value.lower() if subject.runs("huggingface", "scheduler", "lmi-dist") else value
    )
    if lowered not in choices:
        yield WRONG_CHOICE.finding(
            f"option.dtype must be one of {', '.join(choices)}, got {value!r}",
        )


DTYPE_WITH_QUANTIZE = Rule("LLM138", "dtype with quantize in LMI-Dist 0.26", LMI_DIST)


def dtype_with_quantize_findings(subject: Subject) -> Iterator[Finding]:
    """
    LMI-Dist 0.26 takes dtype or quantize (LmiDistRbProperties).
    """
    old = subject.runs("lmi-dist") and subject.version.before("0.27")
    if old and subject.option("dtype") and subject.option("quantize"):
        yield DTYPE_WITH_QUANTIZE.finding(
            "option.dtype and option.quantize exclude each other in LMI-Dist 0.26",
            "leave option.dtype out",
        )


LORA_WITH_SPECULATION = Rule(
    "LLM139", "LoRA with speculative decoding in LMI-Dist", LMI_DIST
)


def lora_with_speculation_findings(subject: Subject) -> Iterator[Finding]:
    """
    LMI-Dist has LoRA or speculative decoding (LmiDistRbProperties, 0.27+).
    """
    if not subject.runs("lmi-dist") or subject.version.before("0.27"):
        return
    if subject.flag("enable_lora") and subject.option("speculative_draft_model"):
        yield LORA_WITH_SPECULATION.finding(
            "option.enable_lora and option.speculative_draft_model exclude each other",
            "leave one of them out",
        )


FAST_LOADER_WITH_SPECULATION = Rule(
    "LLM151", "the fast model loader with speculative decoding", LMI_DIST
)


def fast_loader_with_speculation_findings(subject: Subject) -> Iterator[Finding]:
    """
    SageMaker's fast model loader has no speculative decoding (0.30+).
    """
    if not subject.runs("lmi-dist") or subject.version.before("0.31"):
        return
    fast = subject.option("load_format") == "sagemaker_fast_model_loader"
    if fast and subject.option("speculative_draft_model"):
        yield FAST_LOADER_WITH_SPECULATION.finding(
            "option.load_format=sagemaker_fast_model_loader and "
            "option.speculative_draft_model exclude each other",
            "leave one of them out",
        )


HALF_A_ROPE_SCALING = Rule(
    "LLM141",
    "RoPE scaling with only one of type and factor",
    f"{DOCUMENTATION}, TensorRT-LLM",
)


def rope_scaling_findings(subject: Subject) -> Iterator[Finding]:
    """
    RoPE scaling needs its type and a factor above 1 (TensorRT-LLM, 0.26+).
    """
    if not subject.runs("trtllm") or subject.version.before("0.26"):
        return
    names = ("rotary_scaling_type", "rotary_scaling_factor")
    present = [name for name in names if subject.option(name)]
    if len(present) == 1:
        missing = next(name for name in names if name not in present)
        yield HALF_A_ROPE_SCALING.finding(
            f"option.{present[0]} needs option.{missing}",
            "write both or neither",
        )


SMOOTHQUANT_IN_BF16 = Rule("LLM142", "SmoothQuant with bf16 in DeepSpeed", DEEPSPEED)


def smoothquant_findings(subject: Subject) -> Iterator[Finding]:
    """
    SmoothQuant in DeepSpeed: alpha from 0 to 1, and no bf16.
    """
    if not subject.runs("deepspeed"):
        return
    if (
        subject.option("quantize") == "smoothquant"
        and subject.option("dtype") == "bf16"
    ):
        yield SMOOTHQUANT_IN_BF16.finding(
            "option.quantize=smoothquant does not work with option.dtype=bf16",
            "write option.dtype=fp16",
        )
    alpha = _as_float(subject.option("smoothquant_alpha"))
    if alpha is not None and not 0 <= alpha <= 1:
        yield OUTSIDE_OPTION_RANGE.finding(
            f"option.smoothquant_alpha must be from 0 to 1, got {alpha:g}"
        )


def ignored_quantize_findings(subject: Subject) -> Iterator[Finding]:
    """
    DeepSpeed goes on without a quantization that it does not know.
    """
    value = subject.option("quantize")
    choices = ("smoothquant", "dynamic_int8")
    if subject.runs("deepspeed") and value is not None and value not in choices:
        yield REPLACED_VALUE.finding(
            f"option.quantize={value} is ignored by DeepSpeed",
            "write smoothquant or dynamic_int8",
        )


def output_formatter_findings(subject: Subject) -> Iterator[Finding]:
    """
    The formatters that the documentation names; sse came with 0.28.
    """
    value = subject.option("output_formatter")
    newer = ("sse",) if subject.version.at_least("0.28") else ()
    choices = ("json", "jsonlines", "none", *newer)
    if value is not None and value not in choices:
        yield UNDOCUMENTED_VALUE.finding(
            f"option.output_formatter is documented as {', '.join(choices)} at LMI "
            f"{subject.version}, got {value!r}",
        )


WHICH_CHATGLM = Rule(
    "LLM128", "TensorRT-LLM 0.26 is not told which ChatGLM it compiles", DOCUMENTATION
)


def chatglm_findings(subject: Subject) -> Iterator[Finding]:
    """
    TensorRT-LLM 0.26 must be told which ChatGLM it compiles.
    """
    is_affected = subject.runs("trtllm") and subject.version.rows == ("0.26",)
    chatglm = (subject.architecture or "").startswith("ChatGLM")
    if is_affected and chatglm and not subject.option("chatglm_model_version"):
        yield WHICH_CHATGLM.finding(
            "ChatGLM needs option.chatglm_model_version in TensorRT-LLM 0.26",
            "write one such as chatglm3_6b",
        )


CHECKPOINT_WITHOUT_DTYPE = Rule(
    "LLM148", "a DeepSpeed checkpoint without dtype", DEEPSPEED
)


def checkpoint_findings(subject: Subject) -> Iterator[Finding]:
    """
    DeepSpeed loads a checkpoint only with its dtype (DeepSpeedProperties).
    """
    if not subject.runs("deepspeed") or subject.option("deepspeed_config_path"):
        return
    if subject.option("checkpoint") and not subject.option("dtype"):
        yield CHECKPOINT_WITHOUT_DTYPE.finding(
            "option.checkpoint needs option.dtype", "write option.dtype=fp16"
        )


NO_DEVICE_MAP = Rule(
    "LLM145", "loading in 4 or 8 bits without a device map", HUGGING_FACE
)


def device_map_findings(subject: Subject) -> Iterator[Finding]:
    """
    Accelerate quantizes only when it may spread the model (HFProperties).
    """
    if not subject.runs("huggingface", "scheduler") or subject.option("device_map"):
        return
    spread = subject.option("tensor_parallel_degree") or subject.version.at_least(
        "0.27"
    )
    bits = subject.flag("load_in_8bit") or subject.flag("load_in_4bit")
    quantized = subject.option("quantize") in ("bitsandbytes4", "bitsandbytes8")
    if (bits or quantized) and not spread:
        yield NO_DEVICE_MAP.finding(
            "loading in 4 or 8 bits needs option.device_map",
            "write option.device_map=auto",
        )


def _dtypes(subject: Subject) -> tuple[str, ...]:
    version = subject.version
    if subject.runs("huggingface", "scheduler"):
        return _TORCH_TYPES
    if subject.runs("lmi-dist"):
        return _TORCH_TYPES if version.before("0.27") else ("auto", *_FLOATS)
    if subject.runs("deepspeed"):
        return (*_FLOATS, "int8")
    if subject.runs("vllm"):
        # Before a rolling batch the handler reads it, which knows the short names.
        return _VLLM_TYPES if subject.launch.asynchronous else ("auto", *_FLOATS)
    return ()


def _as_float(value: str | None) -> float | None:
    try:
        return None if value is None else float(value)
    except ValueError:
        return None
