"""
Checks of a Text Generation Inference environment against the version that reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.tgi.checks import combinations, model, variables
from cdk_sagemaker_llm.serving.tgi.checks.subject import TgiSubject

_LAUNCHER = "ArgumentValidation in launcher/src/main.rs of TGI"
_ENTRY_POINT = "sagemaker-entrypoint.sh of TGI"

CHECKS: dict[str, str] = {
    "LLM112": f"TGI is given no model; {_ENTRY_POINT}",
    "LLM115": (
        "TGI's longest prompt is not below its total of prompt and answer, from 0.9.3 "
        f"on; {_LAUNCHER}"
    ),
    "LLM116": (
        "TGI's longest request does not fit into a batch, from 0.9.3 to 3.3.6; "
        f"{_LAUNCHER}"
    ),
    "LLM160": "an option is none of TGI's launcher; launcher/src/main.rs of TGI",
    "LLM161": (
        "an option is not, or no more, known to this version of TGI; "
        "launcher/src/main.rs of TGI"
    ),
    "LLM162": (
        "TGI's launcher cannot read a value, by type, range or choices; the parsers of "
        "clap 4"
    ),
    "LLM163": "an option of TGI repeats what a parameter sets; the library's own rule",
    "LLM164": (
        "TGI's longest prompt does not fit into a prefill step, from 0.9.3 to 2.3.1; "
        f"{_LAUNCHER}"
    ),
    "LLM165": (
        "a prefill step of TGI does not fit into a batch, from 0.9.3 to 2.3.1; "
        f"{_LAUNCHER}"
    ),
    "LLM166": f"TGI has no validation worker; {_LAUNCHER}",
    "LLM167": f"TGI has no shard; {_LAUNCHER}",
    "LLM168": f"TGI is sharded over one GPU; find_num_shards, {_LAUNCHER}",
    "LLM169": f"TGI shards a model quantized with exl2, from 2.2.0 on; {_LAUNCHER}",
    "LLM170": (
        "TGI is given a type together with a quantization that decides it; "
        "server/text_generation_server/cli.py of TGI"
    ),
    "LLM171": (
        f"TGI is given its longest prompt under two names, from 2.0.0 on; {_LAUNCHER}"
    ),
    "LLM173": f"TGI is given weights on S3 as its model; {_ENTRY_POINT}",
    "LLM174": "TGI has more shards than a copy has GPUs; each shard takes one",
    "LLM260": (f"SageMaker's name of a setting overrides TGI's own; {_ENTRY_POINT}"),
    "LLM261": (
        "a variable is almost one of TGI's, which ignores it; "
        "launcher/src/main.rs of TGI"
    ),
    "LLM262": f"TGI is given another port than SageMaker's; {_ENTRY_POINT}",
    "LLM263": (
        "the token stands where TGI up to 2.0.2 does not read it; "
        "router/src/main.rs of TGI"
    ),
    "LLM264": (
        "two token variables of TGI hold different tokens; launcher and router of TGI, "
        "which read one or the other"
    ),
    "LLM266": (
        "TGI is given a linear RoPE scaling without a factor; "
        "launcher/src/main.rs of TGI"
    ),
    "LLM267": (
        "TGI is given a share of GPU memory that is none; "
        "torch.cuda.set_per_process_memory_fraction"
    ),
    "LLM268": (
        "TGI's total may be below the longest prompt it takes from the model, from "
        f"2.0.0 to 2.4.0; {_LAUNCHER}"
    ),
    "LLM269": (
        "TGI's prefill step may be below the longest prompt it takes from the model, "
        f"from 2.0.0 to 2.3.1; {_LAUNCHER}"
    ),
}

_CHECKS: tuple[Callable[[TgiSubject], Iterator[Finding]], ...] = (
    model.check_model_id,
    model.check_model_address,
    model.check_token_name,
    model.check_two_tokens,
    model.check_gated_model,
    variables.check_versions,
    variables.check_values,
    variables.check_overridden,
    variables.check_spelling,
    variables.check_port,
    combinations.check_two_prompt_lengths,
    combinations.check_prompt_below_total,
    combinations.check_total_within_batch,
    combinations.check_prefill_holds_prompt,
    combinations.check_prefill_within_batch,
    combinations.check_total_of_long_models,
    combinations.check_prefill_of_long_models,
    combinations.check_validation_workers,
    combinations.check_shards,
    combinations.check_sharded,
    combinations.check_accelerators,
    combinations.check_exl2,
    combinations.check_dtype_with_quantize,
    combinations.check_rope_scaling,
    combinations.check_memory_fraction,
)


def check_environment(
    environment: Mapping[str, str],
    *,
    version: str,
    accelerators: int | None = None,
) -> list[Finding]:
    """
    Check the environment of a TGI container on GPUs.

    ``check_environment({"HF_MODEL_ID": "gpt2", "MAX_TOTAL_TOKENS": "512"},
    version="1.4.5")``

    Args:
        environment: The variables, as the container gets them.

        version: The TGI version.
            One without a table of its own is read by the newest before it.

        accelerators: GPUs that each copy of the model has.
            Left out, what depends on them is not checked.

    Returns:
        What was found, errors and warnings, in the order of the checks.
    """
    return subject_findings(TgiSubject(environment, version, accelerators))


def subject_findings(subject: TgiSubject) -> list[Finding]:
    """
    Run every check of a TGI environment.
    """
    if is_unresolved(subject.accelerators):
        known = TgiSubject(
            subject.environment,
            subject.version,
            words=subject.words,
            unchecked=subject.unchecked,
        )
        return subject_findings(known)
    return [finding for check in _CHECKS for finding in check(subject)]
