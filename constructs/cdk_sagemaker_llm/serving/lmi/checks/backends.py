"""
Checks of what single backends take, as their property models state it: options that
exclude or need each other, Transformers-NeuronX and its chips, and vLLM.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.lmi.checks.options import (
    REPLACED_VALUE,
    UNDOCUMENTED_VALUE,
    WRONG_TYPE,
)
from cdk_sagemaker_llm.serving.lmi.launch import (
    DEEPSPEED,
    DOCUMENTATION,
    FRONT_END,
    HANDLERS,
    HUGGING_FACE,
    LMI_DIST,
    LORA_CONFIG,
    NEURONX,
    VLLM,
    Subject,
    front_end_chooses,
)
from cdk_sagemaker_llm.serving.parameters import (
    OUTSIDE_OPTION_RANGE,
    VLLM_RANKS,
    WRONG_CHOICE,
    lora_rank_above,
)

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


LORA_WITH_SPECULATION = Rule(
    "LLM139", "LoRA with speculative decoding in LMI-Dist", LMI_DIST
)


FAST_LOADER_WITH_SPECULATION = Rule(
    "LLM151", "the fast model loader with speculative decoding", LMI_DIST
)


def lmi_dist_findings(subject: Subject) -> Iterator[Finding]:
    """
    LMI-Dist takes dtype or quantize at 0.26; then LoRA or speculative decoding, which
    SageMaker's fast model loader has not either (LmiDistRbProperties).
    """
    if not subject.runs("lmi-dist"):
        return
    has_draft = subject.option("speculative_draft_model")
    if subject.version.before("0.27"):
        if subject.option("dtype") and subject.option("quantize"):
            yield DTYPE_WITH_QUANTIZE.finding(
                "option.dtype and option.quantize exclude each other in LMI-Dist 0.26",
                "leave option.dtype out",
            )
    elif has_draft and subject.flag("enable_lora"):
        yield LORA_WITH_SPECULATION.finding(
            "option.enable_lora and option.speculative_draft_model exclude each other",
            "leave one of them out",
        )
    is_fast = subject.option("load_format") == "sagemaker_fast_model_loader"
    if has_draft and is_fast and subject.version.at_least("0.31"):
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


def deepspeed_quantize_findings(subject: Subject) -> Iterator[Finding]:
    """
    SmoothQuant in DeepSpeed has an alpha from 0 to 1, and no bf16; without a
    quantization that it does not know DeepSpeed goes on.
    """
    if not subject.runs("deepspeed"):
        return
    method = subject.option("quantize")
    if method == "smoothquant" and subject.option("dtype") == "bf16":
        yield SMOOTHQUANT_IN_BF16.finding(
            "option.quantize=smoothquant does not work with option.dtype=bf16",
            "write option.dtype=fp16",
        )
    try:
        alpha = float(subject.option("smoothquant_alpha") or 0)
    except ValueError:
        alpha = 0
    if not 0 <= alpha <= 1:
        yield OUTSIDE_OPTION_RANGE.finding(
            f"option.smoothquant_alpha must be from 0 to 1, got {alpha:g}"
        )
    if method not in (None, "smoothquant", "dynamic_int8"):
        yield REPLACED_VALUE.finding(
            f"option.quantize={method} is ignored by DeepSpeed",
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


_GROUP_QUERY = (
    "shard-over-heads",
    "shard-over-batch",
    "replicated-heads",
    "all-gather-heads",
)
_S3 = re.compile(r"s3://[^/]+/.+")
# What other backends of LMI quantize by, and vLLM never did (QUANTIZATION_METHODS,
# whose list plug-ins of vLLM may lengthen).
QUANTIZED_BY = {
    "smoothquant": "TensorRT-LLM",
    "dynamic_int8": "DeepSpeed",
    "static_int8": "NeuronX",
    "bitsandbytes4": "Hugging Face Accelerate",
    "bitsandbytes8": "Hugging Face Accelerate",
}

NO_CORES = Rule(
    "LLM225", "NeuronX is not told over how many cores, and does not start", FRONT_END
)
LOADER_OF_OTHER_SCHEMA = Rule(
    "LLM146", "a NeuronX loader with a schema it cannot load", NEURONX
)
COMPILING_WITH_VLLM = Rule(
    "LLM147", "compiling ahead of time with the vLLM loader", NEURONX
)
PIPELINE_WITH_VLLM = Rule("LLM149", "pipeline parallelism with vLLM", VLLM)
LEFT_OUT = Rule(
    "LLM226", "vLLM is started without an option that it cannot do without", HANDLERS
)
NO_BLOCK_MANAGER = Rule(
    "LLM150", "speculative decoding without the second block manager", VLLM
)
NO_PARSER = Rule("LLM152", "tool calls or reasoning without a parser", VLLM)
TWO_VALUES = Rule(
    "LLM153", "vLLM's name of a setting that LMI takes under its own alone", VLLM
)
# max_lora_rank of vLLM's LoRAConfig, of any release from 0.3 on; LMI-Dist was built
# from it.
LORA_RANKS = Rule("LLM332", "a largest LoRA rank that vLLM does not take", LORA_CONFIG)
FEW_CPU_LORAS = Rule(
    "LLM333", "fewer adapters in host memory than in one batch", LORA_CONFIG
)


def core_findings(subject: Subject) -> Iterator[Finding]:
    """
    Up to 0.29 the handler of NeuronX starts where a degree is written (PyModel).

    A warning, since a variable of the container may say it as well.
    """
    neuron = subject.launch.container == "djl-neuronx" and subject.version.before(
        "0.30"
    )
    starts = subject.option("tensor_parallel_degree") or subject.option("entryPoint")
    if neuron and not starts:
        yield NO_CORES.finding(
            f"NeuronX {subject.version} starts where option.tensor_parallel_degree is "
            "written: without it the Hugging Face handler runs",
            "write option.tensor_parallel_degree=max",
        )


def neuron_loader_findings(subject: Subject) -> Iterator[Finding]:
    """
    What a NeuronX model loader can partition (0.27+).
    """
    if not subject.runs("neuronx", "vllm") or subject.version.before("0.27"):
        return
    loader, schema = subject.option("model_loader"), subject.option("partition_schema")
    if loader == "tnx" and schema == "optimum":
        yield LOADER_OF_OTHER_SCHEMA.finding(
            "option.model_loader=tnx cannot load schema optimum"
        )
    wrong = (None,) if subject.version.before("0.28") else ()
    if loader == "optimum" and schema not in ("optimum", *wrong):
        yield LOADER_OF_OTHER_SCHEMA.finding(
            f"option.model_loader=optimum cannot load schema {schema or 'unset'}",
            "write option.partition_schema=optimum",
        )
    saves = subject.option("save_mp_checkpoint_path")
    if saves and loader == "vllm" and subject.version.at_least("0.28"):
        yield COMPILING_WITH_VLLM.finding(
            "option.model_loader=vllm cannot compile ahead of time "
            "(option.save_mp_checkpoint_path)",
            "write option.model_loader=tnx",
        )


def neuron_value_findings(subject: Subject) -> Iterator[Finding]:
    """
    Values that NeuronX checks in code (TransformerNeuronXProperties).
    """
    if "neuronx" not in subject.launch.backends:
        return
    attention = subject.option("group_query_attention")
    if attention is not None and attention not in _GROUP_QUERY:
        yield WRONG_CHOICE.finding(
            f"option.group_query_attention must be one of {', '.join(_GROUP_QUERY)}, "
            f"got {attention!r}",
        )
    for name in ("compiled_graph_path", "draft_model_compiled_path"):
        path = subject.option(name)
        if path is not None and "://" in path and not _S3.match(path):
            yield WRONG_TYPE.finding(
                f"option.{name} must be a directory or s3://bucket/prefix, "
                f"got {path!r}",
            )


def pipeline_findings(subject: Subject) -> Iterator[Finding]:
    """
    vLLM in LMI has no pipeline parallelism.

    The count of devices refuses it at 0.29, and VllmRbProperties from 0.30 on.
    """
    degree = subject.stages()
    if subject.runs("vllm") and degree is not None and degree != 1:
        yield PIPELINE_WITH_VLLM.finding(
            f"option.pipeline_parallel_degree must be 1 with vLLM, got {degree}",
            "use option.tensor_parallel_degree",
        )


def needed_option_findings(subject: Subject) -> Iterator[Finding]:
    """
    What nobody writes where it is left out, and vLLM is then started with as None.

    A warning, since a variable of the container may say it as well.
    """
    if subject.launch.container == "djl-neuronx":
        # build_vllm_rb_properties; from 0.30 on there are defaults by the model.
        batched = subject.launch.rolling_batch == "vllm"
        name, value = "n_positions", "2048"
        is_needed = batched and subject.version.minor in (28, 29)
    else:
        # EngineArgs gets the degree of VllmRbProperties, which has no default up to
        # 0.27; the front end writes one where it looks at the model.
        name, value = "tensor_parallel_degree", "max"
        is_needed = not front_end_chooses(subject.launch) and subject.runs("vllm")
    if is_needed and subject.option(name) is None:
        yield LEFT_OUT.finding(
            f"vLLM in {subject.launch.container} {subject.version} does not start "
            f"without option.{name}",
            f"write option.{name}={value}",
        )


def vllm_speculation_findings(subject: Subject) -> Iterator[Finding]:
    """
    Speculative decoding needs the second block manager (0.31).
    """
    if not subject.runs("vllm") or not subject.version.at_least("0.31"):
        return
    if subject.version.at_least("0.32") or not subject.option("speculative_model"):
        return
    if not subject.flag("use_v2_block_manager"):
        yield NO_BLOCK_MANAGER.finding(
            "option.speculative_model needs option.use_v2_block_manager",
            "write option.use_v2_block_manager=true",
        )


def parser_findings(subject: Subject) -> Iterator[Finding]:
    """
    Tool calls and reasoning need the parser of the model (0.33+).
    """
    if not subject.runs("vllm") or subject.version.before("0.33"):
        return
    pairs = {
        "enable_auto_tool_choice": "tool_call_parser",
        "enable_reasoning": "reasoning_parser",
    }
    for switch, parser in pairs.items():
        if subject.flag(switch) and not subject.option(parser):
            yield NO_PARSER.finding(f"option.{switch}=true needs option.{parser}")


def engine_name_findings(subject: Subject) -> Iterator[Finding]:
    """
    LMI's own name alone is taken of what both have one for (0.32+): LMI compares its
    number with the text that vLLM's name stands for, and they are never the same.
    """
    if not subject.runs("vllm") or subject.version.before("0.32"):
        return
    pairs = {
        "tensor_parallel_size": "tensor_parallel_degree",
        "pipeline_parallel_size": "pipeline_parallel_degree",
        "max_num_seqs": "max_rolling_batch_size",
    }
    for theirs, ours in pairs.items():
        value, other = subject.option(theirs), subject.option(ours)
        if value is not None:
            yield TWO_VALUES.finding(
                f"option.{theirs}={value} is vLLM's name of option.{ours}, and LMI "
                "does not start with it",
                f"leave option.{theirs} out"
                if other is not None
                else f"write option.{ours}={value}",
            )


def lora_size_findings(subject: Subject) -> Iterator[Finding]:
    """
    Where LoRA is on, vLLM takes certain ranks alone, and holds all of a batch on the
    host (LoRAConfig).
    """
    if not subject.runs("vllm", "lmi-dist") or not subject.flag("enable_lora"):
        return
    rank = subject.number("max_lora_rank")
    if rank is not None and rank not in VLLM_RANKS:
        *others, last = map(str, VLLM_RANKS)
        yield LORA_RANKS.finding(
            f"option.max_lora_rank must be {', '.join(others)} or {last}, got {rank}",
            f"write option.max_lora_rank={lora_rank_above(rank) or VLLM_RANKS[-1]}",
        )
    held, batch = subject.number("max_cpu_loras"), subject.number("max_loras")
    if held is not None and batch is not None and held < batch:
        yield FEW_CPU_LORAS.finding(
            f"option.max_cpu_loras must be at least option.max_loras, got {held} and "
            f"{batch}",
            f"write option.max_cpu_loras={batch}, or leave it out",
        )


def vllm_quantize_findings(subject: Subject) -> Iterator[Finding]:
    """
    From 0.31 on LMI hands the quantization to vLLM as it is written.

    Up to 0.30 the property models refuse it by their own lists of choices.
    """
    value = subject.option("quantize") or ""
    handed = subject.version.at_least("0.31") and subject.version.is_described
    if handed and subject.runs("vllm", "lmi-dist") and value in QUANTIZED_BY:
        method = "bitsandbytes" if value.startswith("bitsandbytes") else "fp8"
        yield WRONG_CHOICE.finding(
            f"option.quantize={value} is of {QUANTIZED_BY[value]}, and vLLM does not "
            "know it",
            f"write option.quantize={method}",
        )
