"""
Checks of options that only vLLM has, or that it names otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.lmi.checks.sources import HANDLERS, LORA_CONFIG, VLLM
from cdk_sagemaker_llm.serving.lmi.checks.subject import Subject
from cdk_sagemaker_llm.serving.lmi.checks.values import WRONG_CHOICE
from cdk_sagemaker_llm.serving.lmi.launch import front_end_chooses

PIPELINE_WITH_VLLM = Rule("LLM149", "pipeline parallelism with vLLM", VLLM)


def check_pipeline(subject: Subject) -> Iterator[Finding]:
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


LEFT_OUT = Rule(
    "LLM226", "vLLM is started without an option that it cannot do without", HANDLERS
)


def check_what_vllm_needs(subject: Subject) -> Iterator[Finding]:
    """
    What nobody writes where it is left out, and vLLM is then started with as None.

    A warning, since a variable of the container may say it as well.
    """
    needed = _needed_by_vllm(subject)
    if needed is not None and subject.option(needed[0]) is None:
        name, value = needed
        yield LEFT_OUT.finding(
            f"vLLM {_image(subject)} does not start without option.{name}",
            f"write option.{name}={value}",
        )


NO_BLOCK_MANAGER = Rule(
    "LLM150", "speculative decoding without the second block manager", VLLM
)


def check_speculation_of_vllm(subject: Subject) -> Iterator[Finding]:
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


NO_PARSER = Rule("LLM152", "tool calls or reasoning without a parser", VLLM)


def check_parsers(subject: Subject) -> Iterator[Finding]:
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


TWO_VALUES = Rule(
    "LLM153", "LMI's and vLLM's name of one setting with two values", VLLM
)
NAME_OF_VLLM = Rule("LLM216", "vLLM's name of a setting that LMI sets itself", VLLM)


def check_engine_names(subject: Subject) -> Iterator[Finding]:
    """
    LMI's name and vLLM's name of one setting (0.32+).
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
            yield TWO_VALUES.finding(
                f"option.{ours}={other} and option.{theirs}={given} contradict",
                f"leave option.{theirs} out",
            )
        else:
            yield NAME_OF_VLLM.finding(
                f"option.{theirs} can clash with LMI's own option.{ours}",
                f"write option.{ours}",
            )


# max_lora_rank of vLLM's LoRAConfig, of any release from 0.3 on; LMI-Dist was built
# from it.
_LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
LORA_RANKS = Rule("LLM332", "a largest LoRA rank that vLLM does not take", LORA_CONFIG)
FEW_CPU_LORAS = Rule(
    "LLM333", "fewer adapters in host memory than in one batch", LORA_CONFIG
)


def check_lora_sizes(subject: Subject) -> Iterator[Finding]:
    """
    Where LoRA is on, vLLM takes certain ranks alone, and holds all of a batch on the
    host (LoRAConfig).
    """
    if not subject.runs("vllm", "lmi-dist") or not subject.flag("enable_lora"):
        return
    rank = subject.number("max_lora_rank")
    if rank is not None and rank not in _LORA_RANKS:
        *others, last = map(str, _LORA_RANKS)
        yield LORA_RANKS.finding(
            f"option.max_lora_rank must be {', '.join(others)} or {last}, got {rank}",
            f"write option.max_lora_rank={lora_rank_above(rank) or _LORA_RANKS[-1]}",
        )
    held, batch = subject.number("max_cpu_loras"), subject.number("max_loras")
    if held is not None and batch is not None and held < batch:
        yield FEW_CPU_LORAS.finding(
            f"option.max_cpu_loras must be at least option.max_loras, got {held} and "
            f"{batch}",
            f"write option.max_cpu_loras={batch}, or leave it out",
        )


def lora_rank_above(rank: int) -> int | None:
    """
    Return the least bound that vLLM takes and a rank is within; ``None`` for none.
    """
    return next((each for each in _LORA_RANKS if each >= rank), None)


# What other backends of LMI quantize by, and vLLM never did (QUANTIZATION_METHODS,
# whose list plug-ins of vLLM may lengthen).
_QUANTIZED_BY = {
    "smoothquant": "TensorRT-LLM",
    "dynamic_int8": "DeepSpeed",
    "static_int8": "NeuronX",
    "bitsandbytes4": "Hugging Face Accelerate",
    "bitsandbytes8": "Hugging Face Accelerate",
}


def check_quantize_of_vllm(subject: Subject) -> Iterator[Finding]:
    """
    From 0.31 on LMI hands the quantization to vLLM as it is written.

    Up to 0.30 the property models refuse it by their own lists of choices.
    """
    value = subject.option("quantize") or ""
    handed = subject.version.at_least("0.31") and subject.version.is_described
    if handed and subject.runs("vllm", "lmi-dist") and value in _QUANTIZED_BY:
        known = "bitsandbytes" if value.startswith("bitsandbytes") else "fp8"
        yield WRONG_CHOICE.finding(
            f"option.quantize={value} is of {_QUANTIZED_BY[value]}, and vLLM does not "
            "know it",
            f"write option.quantize={known}",
        )


def _needed_by_vllm(subject: Subject) -> tuple[str, str] | None:
    """
    Return the option that is needed, and a value to write.
    """
    if subject.launch.container == "djl-neuronx":
        # build_vllm_rb_properties; from 0.30 on there are defaults by the model.
        batched = subject.launch.rolling_batch == "vllm"
        old = subject.version.at_least("0.28") and subject.version.before("0.30")
        return ("n_positions", "2048") if batched and old else None
    # EngineArgs gets the degree of VllmRbProperties, which has no default up to 0.27;
    # the front end writes one where it looks at the model.
    alone = not front_end_chooses(subject.launch) and subject.runs("vllm")
    return ("tensor_parallel_degree", "max") if alone else None


def _image(subject: Subject) -> str:
    return f"in {subject.launch.container} {subject.version}"
