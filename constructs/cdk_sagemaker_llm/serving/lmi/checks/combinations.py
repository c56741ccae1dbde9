"""
Checks of options that exclude or need each other, as the property models state them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cdk_sagemaker_llm.findings import Finding, error, warning
from cdk_sagemaker_llm.serving.lmi.checks.subject import Subject
from cdk_sagemaker_llm.serving.lmi.values import as_int

_FLOATS = ("fp32", "fp16", "bf16")
_TORCH_TYPES = ("auto", *_FLOATS, "int8")
_VLLM_TYPES = ("auto", *_FLOATS, "float32", "float16", "bfloat16")
_GROUP_QUERY = (
    "shard-over-heads",
    "shard-over-batch",
    "replicated-heads",
    "all-gather-heads",
)
_S3 = re.compile(r"s3://[^/]+/.+")


def check_two_addresses(subject: Subject) -> Iterator[Finding]:
    """
    LLM140: model_id and its deprecated alias s3url exclude each other (LmiUtils).
    """
    if subject.option("model_id") and subject.option("s3url"):
        yield error(
            "LLM140",
            "option.model_id and option.s3url exclude each other",
            "leave option.s3url out",
        )


def check_dtype(subject: Subject) -> Iterator[Finding]:
    """
    LLM136: dtype is a name that the backend maps to a number format.
    """
    value = subject.option("dtype")
    choices = _dtypes(subject)
    if value is None or not choices:
        return
    lowered = (
        value.lower() if subject.runs("huggingface", "scheduler", "lmi-dist") else value
    )
    if lowered not in choices:
        yield error(
            "LLM136",
            f"option.dtype must be one of {', '.join(choices)}, got {value!r}",
        )


def check_dtype_with_quantize(subject: Subject) -> Iterator[Finding]:
    """
    LLM138: LMI-Dist 0.26 takes dtype or quantize (LmiDistRbProperties).
    """
    old = subject.runs("lmi-dist") and subject.version.before("0.27")
    if old and subject.option("dtype") and subject.option("quantize"):
        yield error(
            "LLM138",
            "option.dtype and option.quantize exclude each other in LMI-Dist 0.26",
            "leave option.dtype out",
        )


def check_lora_with_speculation(subject: Subject) -> Iterator[Finding]:
    """
    LLM139: LMI-Dist has LoRA or speculative decoding (LmiDistRbProperties, 0.27+).
    """
    if not subject.runs("lmi-dist") or subject.version.before("0.27"):
        return
    if subject.flag("enable_lora") and subject.option("speculative_draft_model"):
        yield error(
            "LLM139",
            "option.enable_lora and option.speculative_draft_model exclude each other",
            "leave one of them out",
        )


def check_fast_loader_with_speculation(subject: Subject) -> Iterator[Finding]:
    """
    LLM151: SageMaker's fast model loader has no speculative decoding (0.30+).
    """
    if not subject.runs("lmi-dist") or subject.version.before("0.31"):
        return
    fast = subject.option("load_format") == "sagemaker_fast_model_loader"
    if fast and subject.option("speculative_draft_model"):
        yield error(
            "LLM151",
            "option.load_format=sagemaker_fast_model_loader and "
            "option.speculative_draft_model exclude each other",
            "leave one of them out",
        )


def check_rope_scaling(subject: Subject) -> Iterator[Finding]:
    """
    LLM141: RoPE scaling needs its type and a factor above 1 (TensorRT-LLM, 0.26+).
    """
    if not subject.runs("trtllm") or subject.version.before("0.26"):
        return
    names = ("rotary_scaling_type", "rotary_scaling_factor")
    given = [name for name in names if subject.option(name)]
    if len(given) == 1:
        missing = next(name for name in names if name not in given)
        yield error(
            "LLM141",
            f"option.{given[0]} needs option.{missing}",
            "write both or neither",
        )


def check_smoothquant(subject: Subject) -> Iterator[Finding]:
    """
    LLM137, LLM142: SmoothQuant in DeepSpeed: alpha from 0 to 1, and no bf16.
    """
    if not subject.runs("deepspeed"):
        return
    if (
        subject.option("quantize") == "smoothquant"
        and subject.option("dtype") == "bf16"
    ):
        yield error(
            "LLM142",
            "option.quantize=smoothquant does not work with option.dtype=bf16",
            "write option.dtype=fp16",
        )
    alpha = _as_float(subject.option("smoothquant_alpha"))
    if alpha is not None and not 0 <= alpha <= 1:
        yield error(
            "LLM137", f"option.smoothquant_alpha must be from 0 to 1, got {alpha:g}"
        )


def check_ignored_quantize(subject: Subject) -> Iterator[Finding]:
    """
    LLM209: DeepSpeed goes on without a quantization that it does not know.
    """
    value = subject.option("quantize")
    known = ("smoothquant", "dynamic_int8")
    if subject.runs("deepspeed") and value is not None and value not in known:
        yield warning(
            "LLM209",
            f"option.quantize={value} is ignored by DeepSpeed",
            "write smoothquant or dynamic_int8",
        )


def check_output_formatter(subject: Subject) -> Iterator[Finding]:
    """
    LLM212: the formatters that the documentation names; sse came with 0.28.
    """
    value = subject.option("output_formatter")
    newer = ("sse",) if subject.version.at_least("0.28") else ()
    known = ("json", "jsonlines", "none", *newer)
    if value is not None and value not in known:
        yield warning(
            "LLM212",
            f"option.output_formatter is documented as {', '.join(known)} at LMI "
            f"{subject.version}, got {value!r}",
        )


def check_chatglm(subject: Subject) -> Iterator[Finding]:
    """
    LLM128: TensorRT-LLM 0.26 must be told which ChatGLM it compiles.
    """
    asked = subject.runs("trtllm") and subject.version.rows == ("0.26",)
    chatglm = (subject.architecture or "").startswith("ChatGLM")
    if asked and chatglm and not subject.option("chatglm_model_version"):
        yield error(
            "LLM128",
            "ChatGLM needs option.chatglm_model_version in TensorRT-LLM 0.26",
            "write one such as chatglm3_6b",
        )


def check_checkpoint(subject: Subject) -> Iterator[Finding]:
    """
    LLM148: DeepSpeed loads a checkpoint only with its dtype (DeepSpeedProperties).
    """
    if not subject.runs("deepspeed") or subject.option("deepspeed_config_path"):
        return
    if subject.option("checkpoint") and not subject.option("dtype"):
        yield error(
            "LLM148", "option.checkpoint needs option.dtype", "write option.dtype=fp16"
        )


def check_device_map(subject: Subject) -> Iterator[Finding]:
    """
    LLM145: Accelerate quantizes only when it may spread the model (HFProperties).
    """
    if not subject.runs("huggingface", "scheduler") or subject.option("device_map"):
        return
    spread = subject.option("tensor_parallel_degree") or subject.version.at_least(
        "0.27"
    )
    bits = subject.flag("load_in_8bit") or subject.flag("load_in_4bit")
    quantized = subject.option("quantize") in ("bitsandbytes4", "bitsandbytes8")
    if (bits or quantized) and not spread:
        yield error(
            "LLM145",
            "loading in 4 or 8 bits needs option.device_map",
            "write option.device_map=auto",
        )


def check_neuron_loader(subject: Subject) -> Iterator[Finding]:
    """
    LLM146, LLM147: what a NeuronX model loader can partition (0.27+).
    """
    if not subject.runs("neuronx", "vllm") or subject.version.before("0.27"):
        return
    loader, schema = subject.option("model_loader"), subject.option("partition_schema")
    if loader == "tnx" and schema == "optimum":
        yield error("LLM146", "option.model_loader=tnx cannot load schema optimum")
    wrong = (None,) if subject.version.before("0.28") else ()
    if loader == "optimum" and schema not in ("optimum", *wrong):
        yield error(
            "LLM146",
            f"option.model_loader=optimum cannot load schema {schema or 'unset'}",
            "write option.partition_schema=optimum",
        )
    saves = subject.option("save_mp_checkpoint_path")
    if saves and loader == "vllm" and subject.version.at_least("0.28"):
        yield error(
            "LLM147",
            "option.model_loader=vllm cannot compile ahead of time "
            "(option.save_mp_checkpoint_path)",
            "write option.model_loader=tnx",
        )


def check_neuron_values(subject: Subject) -> Iterator[Finding]:
    """
    LLM136, LLM135: values that NeuronX checks in code (TransformerNeuronXProperties).
    """
    if "neuronx" not in subject.launch.backends:
        return
    attention = subject.option("group_query_attention")
    if attention is not None and attention not in _GROUP_QUERY:
        yield error(
            "LLM136",
            f"option.group_query_attention must be one of {', '.join(_GROUP_QUERY)}, "
            f"got {attention!r}",
        )
    for name in ("compiled_graph_path", "draft_model_compiled_path"):
        path = subject.option(name)
        if path is not None and "://" in path and not _S3.match(path):
            yield error(
                "LLM135",
                f"option.{name} must be a directory or s3://bucket/prefix, "
                f"got {path!r}",
            )


def check_pipeline(subject: Subject) -> Iterator[Finding]:
    """
    LLM149: vLLM in LMI has no pipeline parallelism (VllmRbProperties, 0.31+).
    """
    degree = as_int(subject.option("pipeline_parallel_degree"))
    if not subject.runs("vllm") or subject.version.before("0.31"):
        return
    if degree is not None and degree != 1:
        yield error(
            "LLM149",
            f"option.pipeline_parallel_degree must be 1 with vLLM, got {degree}",
            "use option.tensor_parallel_degree",
        )


def check_speculation_of_vllm(subject: Subject) -> Iterator[Finding]:
    """
    LLM150: speculative decoding needs the second block manager (0.31).
    """
    if not subject.runs("vllm") or not subject.version.at_least("0.31"):
        return
    if subject.version.at_least("0.32") or not subject.option("speculative_model"):
        return
    if not subject.flag("use_v2_block_manager"):
        yield error(
            "LLM150",
            "option.speculative_model needs option.use_v2_block_manager",
            "write option.use_v2_block_manager=true",
        )


def check_parsers(subject: Subject) -> Iterator[Finding]:
    """
    LLM152: tool calls and reasoning need the parser of the model (0.33+).
    """
    if not subject.runs("vllm") or subject.version.before("0.33"):
        return
    pairs = {
        "enable_auto_tool_choice": "tool_call_parser",
        "enable_reasoning": "reasoning_parser",
    }
    for switch, parser in pairs.items():
        if subject.flag(switch) and not subject.option(parser):
            yield error("LLM152", f"option.{switch}=true needs option.{parser}")


def check_engine_names(subject: Subject) -> Iterator[Finding]:
    """
    LLM153, LLM216: LMI's name and vLLM's name of one setting (0.32+).
    """
    if not subject.runs("vllm") or subject.version.before("0.32"):
        return
    pairs = {
        "tensor_parallel_size": "tensor_parallel_degree",
        "pipeline_parallel_size": "pipeline_parallel_degree",
        "max_num_seqs": "max_rolling_batch_size",
    }
    for theirs, ours in pairs.items():
        given, other = subject.option(theirs), subject.option(ours)
        if given is None:
            continue
        if other is not None and other != given:
            yield error(
                "LLM153",
                f"option.{ours}={other} and option.{theirs}={given} contradict",
                f"leave option.{theirs} out",
            )
        else:
            yield warning(
                "LLM216",
                f"option.{theirs} can clash with LMI's own option.{ours}",
                f"write option.{ours}",
            )


def _dtypes(subject: Subject) -> tuple[str, ...]:
    version = subject.version
    if subject.runs("huggingface", "scheduler"):
        return _TORCH_TYPES
    if subject.runs("lmi-dist"):
        return _TORCH_TYPES if version.before("0.27") else _VLLM_TYPES
    if subject.runs("deepspeed"):
        return (*_FLOATS, "int8")
    if subject.runs("vllm"):
        return _VLLM_TYPES if version.at_least("0.32") else ("auto", *_FLOATS)
    return ()


def _as_float(value: str | None) -> float | None:
    try:
        return None if value is None else float(value)
    except ValueError:
        return None
