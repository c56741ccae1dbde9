"""
What vLLM refuses when it has read its configuration and sets to work: the Transformers
backend where it is asked for, the files that are looked for, stages, and what the
server itself is asked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from cdk_sagemaker_llm.catalog.checkpoints import known_checkpoint
from cdk_sagemaker_llm.catalog.model_classes import transformers_inside
from cdk_sagemaker_llm.catalog.releases import is_between
from cdk_sagemaker_llm.catalog.transformers import runs_class
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.drafts import speculation_in
from cdk_sagemaker_llm.serving.support.checkpoint import has_experts
from cdk_sagemaker_llm.serving.support.quantization import method_of
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.serving.support.vllm_scheduling import OF_TEXT
from cdk_sagemaker_llm.text import any_of

# Since when the Transformers backend runs, and looks at quantized weights and experts.
_BACKEND, _BACKEND_LOOKS = "0.7.2", "0.11.1"
_EXPERTS_NEED = "5.0.0"
# Which fill their cache at the ends of blocks alone (mamba_cache_mode=all refused in
# __init__ of models/qwen3_next.py, qwen3_5.py, lfm2.py and lfm2_moe.py).
_AT_ENDS_ALONE: Mapping[str, str] = {
    "Qwen3NextForCausalLM": "0.15.0",
    "Qwen3_5ForConditionalGeneration": "0.17.0",
    "Qwen3_5MoeForConditionalGeneration": "0.17.0",
    "Lfm2ForCausalLM": "0.15.0",
    "Lfm2MoeForCausalLM": "0.15.0",
}
_ENDS_LAST = "0.28.0"
# What a loader takes as model_loader_extra_config.
_THREADS, _THREADS_SINCE = ("enable_multithread_load", "num_threads"), "0.10.0"
_BY_DEFAULT = (None, "auto", "hf", "safetensors", "pt", "npcache", "mistral")
_BITS_AT = ("0.6.2", "0.27.1")
# How weights lie that are loaded so, and who publishes them.
_FORMS = {
    "sharded_state": ("0.5.3", "files that were cut for the devices before"),
    "pt": ("0.2.0", "files that end in .pt"),
    "mistral": ("0.6.0", "consolidated.safetensors"),
}
_NEVER_MISTRAL = ("Qwen", "Gemma", "Phi", "Falcon", "GptOss")
_SEEING = ("Pixtral", "Voxtral")
# A repository as a whole, of which no file and no format is named.
GGUF_ALONE = re.compile(r"[\w.-]+/[\w.-]+-gguf\Z", re.IGNORECASE)
_POOLED_BY = ("LAST", "ALL", "CLS", "STEP", "MEAN")
_PARTITION = "VLLM_PP_LAYER_PARTITION"
_COMPILERS = ("", "eager", "inductor")

UNFIT_START = Rule(
    "LLM944",
    "what is asked for does not start with the model's files or its class",
    "vllm/config, model_executor/models and model_loader, and entrypoints/openai, "
    "0.2.7 to 0.33.0",
)


def starting_findings(subject: Subject) -> Iterator[Finding]:
    """
    The release starts with what is asked for.
    """
    for why, way_out in (
        *_of_backend(subject),
        *_of_states(subject),
        *_of_loaders(subject),
        *_of_stages(subject),
        *_of_kinds(subject),
        *_of_server(subject),
        *_of_compilation(subject),
        *_of_drafts(subject),
    ):
        yield UNFIT_START.finding(f"{subject.title} does not start: {why}", way_out)


def _of_backend(subject: Subject) -> Iterator[tuple[str, str]]:
    word, name = subject.word("model_impl"), subject.checkpoint.class_name
    is_asked = subject.text("model_impl") == "transformers"
    if not is_asked or name is None or not subject.is_at(_BACKEND):
        return
    inside = transformers_inside(subject.engine, subject.release)
    method = method_of(subject)
    if inside is not None and runs_class(name, inside) is False:
        yield f"{word}=transformers cannot run {name}", "leave it out"
    elif method == "mxfp4" and subject.is_at(_BACKEND_LOOKS):
        yield f"{word}=transformers does not take weights in mxfp4", "leave it out"
    elif (
        inside is not None
        and has_experts(subject.checkpoint)
        and subject.is_at(_BACKEND_LOOKS)
        and not is_between(inside, _EXPERTS_NEED)
    ):
        why = f"{word}=transformers runs experts with transformers {_EXPERTS_NEED} and "
        why += f"newer, and its images have {inside}"
        yield why, "leave it out"


def _of_states(subject: Subject) -> Iterator[tuple[str, str]]:
    name, word = subject.checkpoint.class_name or "", subject.word("mamba_cache_mode")
    since = _AT_ENDS_ALONE.get(name)
    is_kept = subject.text("mamba_cache_mode") == "all"
    is_kept = is_kept and subject.flag("enable_prefix_caching")
    if is_kept and since is not None and subject.is_at(since, _ENDS_LAST):
        yield f"{name} does not take {word}=all", f"write {word}=align"


def _of_loaders(subject: Subject) -> Iterator[tuple[str, str]]:
    loaded, word = subject.text("load_format"), subject.word("load_format")
    own, name = method_of(subject), subject.checkpoint.name
    is_other = loaded == "bitsandbytes" and own not in {None, "", "bitsandbytes"}
    if is_other and subject.is_at(*_BITS_AT):
        yield f"{word}=bitsandbytes does not take weights in {own}", "leave it out"
    extra = _mapping(subject.arguments.get("model_loader_extra_config"))
    allowed = _THREADS if subject.is_at(_THREADS_SINCE) else ()
    unknown = sorted(set(extra) - {*allowed}) if loaded in _BY_DEFAULT else []
    unknown = sorted(extra) if loaded == "dummy" else unknown
    if unknown and subject.is_at("0.5.3"):
        why = f"model_loader_extra_config has {', '.join(unknown)}, which "
        why += f"{word}={loaded or 'auto'} does not take"
        yield why, "leave it out, or write the load_format that takes it"
    is_known = known_checkpoint(name) is not None
    since, needed = _FORMS.get(loaded or "", ("", ""))
    # Copies of what Mistral publishes may have its files.
    kind = subject.checkpoint.class_name or ""
    is_never = is_known and kind.startswith(_NEVER_MISTRAL)
    is_without = is_never if loaded == "mistral" else is_known
    if needed and is_without and subject.is_at(since):
        yield f"{word}={loaded} looks for {needed}, and {name} has none", "leave it out"
    is_read = subject.text("config_format") == "mistral" and loaded != "mistral"
    if is_read and is_never and subject.is_at("0.6.0"):
        why = f"{subject.word('config_format')}=mistral looks for params.json, and "
        why += f"{name} has none"
        yield why, "leave it out"
    is_by_tensorizer = loaded == "tensorizer" and is_known
    if is_by_tensorizer and "tensorizer_uri" not in extra and subject.is_at("0.3.3"):
        yield f"{word}=tensorizer needs tensorizer_uri", "leave it out"
    is_bare = GGUF_ALONE.match(name) is not None and own == "gguf"
    if is_bare and not subject.has("hf_config_path") and subject.is_at("0.2.0"):
        yield (
            f"{name} has a GGUF file for each format, and no other weights",
            "name one of its files, or serve it with LlamaCpp",
        )
    mode = subject.text("tokenizer_mode")
    is_by_hf = mode in {"hf", "slow"} and subject.text("config_format") == "mistral"
    seeing = next((one for one in _SEEING if one.lower() in name.lower()), None)
    if is_by_hf and seeing is not None and subject.is_at("0.6.1"):
        why = f"{seeing} needs Mistral's tokenizer, got "
        why += f"{subject.word('tokenizer_mode')}={mode}"
        yield why, "write mistral"


def _of_stages(subject: Subject) -> Iterator[tuple[str, str]]:
    partition = subject.environment.get(_PARTITION)
    stages = subject.number("pipeline_parallel_size") or 1
    layers = subject.checkpoint.number("num_hidden_layers", "n_layer", "n_layers")
    if partition is None or stages < 2 or not subject.is_at("0.5.4"):  # noqa: PLR2004 - one is none
        return
    parts = [int(one) for one in partition.split(",") if one.strip().isdigit()]
    if len(parts) != stages:
        yield f"{_PARTITION} must have {stages} parts, got {partition}", ""
    elif layers is not None and sum(parts) != layers:
        why = f"{_PARTITION} must add up to the {layers} layers of the model"
        yield f"{why}, got {partition}", ""


def _of_kinds(subject: Subject) -> Iterator[tuple[str, str]]:
    """
    What the model reads and gives.
    """
    name, word = subject.checkpoint.class_name or "", subject.word("default_mm_loras")
    is_of_more = bool(subject.arguments.get("default_mm_loras")) and name in OF_TEXT
    if is_of_more and subject.is_at("0.10.0"):
        yield f"{word} is for what reads more than text, got {name}", "leave it out"
    is_vector = subject.text("runner") == "pooling"
    is_as_is = is_vector and subject.text("convert") == "none"
    if is_as_is and name in OF_TEXT and subject.is_at("0.10.2"):
        yield f"{name} gives no vectors as it is, got convert=none", "leave it out"
    pooled = _mapping(subject.arguments.get("override_pooler_config"))
    kind = pooled.get("pooling_type", _POOLED_BY[0])
    if str(kind).upper() not in _POOLED_BY and subject.is_at("0.6.5"):
        why = f"pooling_type of override_pooler_config must be {any_of(_POOLED_BY)}"
        yield f"{why}, got {kind}", ""
    is_gguf = method_of(subject) == "gguf" and subject.is_at("0.12.0", "0.23.0")
    is_seeing = name.endswith("ForConditionalGeneration")
    if is_gguf and is_seeing and not subject.has("tokenizer"):
        yield (
            "a GGUF file of what reads more than text has no tokenizer that is read",
            "name the model that it was made of as tokenizer",
        )


def _of_server(subject: Subject) -> Iterator[tuple[str, str]]:
    logged, word = "enable_log_requests", subject.word("enable_log_outputs")
    is_half = subject.flag("enable_log_outputs") and not subject.flag(logged)
    if is_half and subject.is_at("0.11.0"):
        yield f"{word} needs {logged}", "set it"
    servers = subject.number("api_server_count") or 1
    loads = subject.environment.get("VLLM_ALLOW_RUNTIME_LORA_UPDATING", "")
    if servers > 1 and loads.lower() in {"1", "true"} and subject.is_at("0.11.1"):
        yield (
            f"adapters are not loaded by request beside api_server_count={servers}",
            "write 1, or leave VLLM_ALLOW_RUNTIME_LORA_UPDATING out",
        )
    inner = _mapping(subject.arguments.get("attention_config")).get("backend")
    is_twice = inner is not None and subject.has("attention_backend")
    if is_twice and subject.is_at("0.12.0"):
        word = subject.word("attention_backend")
        yield f"{word} and attention_config name a backend each", "write one of both"


def _of_compilation(subject: Subject) -> Iterator[tuple[str, str]]:
    values = _mapping(subject.arguments.get("compilation_config"))
    if not values or not subject.is_at("0.11.1"):
        return
    compiler, mode = values.get("backend", ""), values.get("mode", values.get("level"))
    is_whole = mode in {None, 3, "3", "VLLM_COMPILE"}
    is_whole = is_whole and not subject.flag("enforce_eager")
    if is_whole and isinstance(compiler, str) and compiler not in _COMPILERS:
        compilers = any_of(_COMPILERS[1:])
        why = f"backend of compilation_config must be {compilers}, got {compiler}"
        yield why, "leave it out"
    names = _list(values, "custom_ops", str)
    both = {"all", "none"}
    wrong = [one for one in names if one[:1] not in "+-" and one not in both]
    if wrong or both <= set(names):
        got = wrong[0] if wrong else "all and none"
        why = "custom_ops has all or none, and names with a + or a - before"
        yield f"{why}, got {got}", ""
    sizes = _list(values, "cudagraph_capture_sizes", int)
    most, word = values.get("max_cudagraph_capture_size"), "max_cudagraph_capture_size"
    if sizes and isinstance(most, int) and max(sizes) != most:
        why = f"{word} must be the last of cudagraph_capture_sizes, {max(sizes)}"
        yield f"{why}, got {most}", "leave it out"


def _list(values: Mapping[str, Any], name: str, kind: type) -> list[Any]:
    inner = values.get(name)
    inner = inner if isinstance(inner, list) else []
    return [one for one in inner if isinstance(one, kind)]


def _of_drafts(subject: Subject) -> Iterator[tuple[str, str]]:
    longest = speculation_in(subject.arguments).get("max_model_len")
    length = subject.number("max_model_len")
    is_longer = isinstance(longest, int) and length is not None and longest > length
    if is_longer and subject.is_at("0.8.3"):
        why = f"max_model_len of speculative_config must be at most {length}"
        yield f"{why}, that of the model, got {longest}", "leave it out"


def _mapping(value: object) -> Mapping[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, Mapping) else {}
