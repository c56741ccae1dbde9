"""
Whether a release of TGI has a branch for a model's type, or leaves it to transformers,
and what that asks of the GPU, the shards and the weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.catalog.model_classes import (
    Branch,
    has_model_type,
    model_type_spans,
    transformers_beside,
)
from cdk_sagemaker_llm.catalog.releases import first_of, image_within, last_of
from cdk_sagemaker_llm.catalog.tgi import find_tgi_option
from cdk_sagemaker_llm.catalog.transformers import (
    has_class,
    replaces_attention,
    translates,
    writes_text,
)
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.checks import uneven_heads
from cdk_sagemaker_llm.serving.support.attention import AMPERE, BLACKWELL, TURING
from cdk_sagemaker_llm.serving.support.number_formats import (
    FORM_NOT_BUILT,
    GPU_LACKS_METHOD,
    LACKS_METHOD,
)
from cdk_sagemaker_llm.serving.support.quantization import NOT_QUANTIZED, OTHER_METHOD
from cdk_sagemaker_llm.serving.support.splits import UNEVEN_HEADS_OF_MODEL
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.serving.support.vllm_arguments import NEWER_TOKENIZER
from cdk_sagemaker_llm.serving.support.vllm_classes import BROKEN_CLASS
from cdk_sagemaker_llm.text import any_of

_MODELS = "server/text_generation_server/models/__init__.py of TGI"
_ATTENTION = "server/text_generation_server/utils/flash_attn.py and layers/attention"
# What AutoModel refuses of quantizations.
_NOT_BY_AUTO_MODEL = ("gptq", "awq", "eetq", "exl2", "marlin", "fp8")
_FOUR_BITS = ("bitsandbytes-fp4", "bitsandbytes-nf4")
_NOT_AT_ALL = (*_NOT_BY_AUTO_MODEL[:-2], *_FOUR_BITS)
_NEEDS_FILES = frozenset({"awq", "gptq", "exl2", "marlin"})
# They ask for the sizes of groups where the weights are in GPTQ alone (models/*.py).
_NO_AWQ = frozenset({"bloom", "falcon", "gpt_neox", "mpt", "opt"})
_NO_AWQ |= {"RefinedWeb", "RefinedWebModel"}
_NO_AWQ_AT = ("1.1.0", "2.1.9")
# Its part that sees is not quantized (TGI issue 2944).
_NO_SEEING_AWQ = ("2.3.1", "3.0.1")
# Shards of a model without a branch, by the backend that runs attention itself.
_SHARDS_BY_TRANSFORMERS = "3.1.1"
_ROPE_TYPES = "2.2.0"
# Falcon had other names before transformers had it.
_RENAMED = "falcon"
_WINDOWED = ("mistral", "mixtral")
_WINDOWED_NEEDS_FLASH = ("1.1.0", "1.3.3")
_NEEDS_WINDOW = ("1.1.0", "1.3.1")
_WINDOWED_LATER = (*_WINDOWED, "starcoder2", "qwen2")
_WINDOWED_BY_TRANSFORMERS = ("1.3.4", "2.0.9")
_SHARED_HEADS = "0.9.3"
# Their key and value heads are cut, and never copied (models/custom_modeling, 1.4.3 to
# 3.3.6; issue 1696).
_NEVER_COPIED = ("gemma", "gemma2")
_FLASH_1 = ("0.9.0", "2.0.9")
_NO_TURING = ("2.1.0", "2.2.0")

UNKNOWN_TYPE = Rule("LLM975", "the release has nothing for the model's type", _MODELS)
# Its head is handed all of what the layers give (opt_modeling.py, issue 2012).
_BROKEN = {"opt": ("1.4.3", "2.0.4")}
TYPE_BY_TRANSFORMERS = Rule(
    "LLM852", "a model runs by transformers, which is slower", _MODELS
)
REMOTE_TYPE = Rule(
    "LLM854", "whether a model's own code runs in the release is not known", _MODELS
)
UNSPLIT_TYPE = Rule("LLM977", "transformers does not split the model", _MODELS)
NO_FLASH = Rule(
    "LLM979", "the model needs flash attention, which the GPU lacks", _ATTENTION
)
FLASH_FALLBACK = Rule(
    "LLM856", "the GPU lacks flash attention, and the model runs without", _ATTENTION
)
CODE_OF_AUTO_MODEL = Rule(
    "LLM981", "transformers does not load the weights as they are quantized", _MODELS
)


def tgi_type_findings(subject: Subject) -> Iterator[Finding]:
    """
    The release has a branch for the model's type, or transformers loads it.
    """
    kind = subject.checkpoint.model_type
    if kind is None or has_model_type("tgi", kind, subject.release) is not False:
        return
    title, version = subject.title, transformers_beside("tgi", subject.release) or "0"
    is_text = writes_text(kind, version)
    if is_text or translates(kind, version):
        yield from _transformers_findings(subject, kind, version)
        return
    is_trusted = subject.flag("trust_remote_code") or is_text is None
    is_split = shards_of(subject) > 1 and not subject.is_at(_SHARDS_BY_TRANSFORMERS)
    if is_split and is_trusted and kind != _RENAMED:
        yield _unsplit(subject, kind)
        return
    code = subject.checkpoint.config.get("auto_map")
    may_have_code = not isinstance(code, Mapping) and not subject.checkpoint.is_whole
    may_have_code |= isinstance(code, Mapping) and "AutoModelForCausalLM" in code
    method = subject.text("quantize") or subject.checkpoint.method or ""
    if may_have_code and method in _NOT_AT_ALL:
        yield CODE_OF_AUTO_MODEL.finding(
            f"{title} has nothing for models of type {kind}, and loads no weights in "
            f"{method} by code of their own",
            "take weights in 16 bits, or serve it with Vllm",
        )
        return
    if subject.flag("trust_remote_code") and may_have_code:
        yield REMOTE_TYPE.finding(
            f"{title} has nothing for models of type {kind}: they run only by code of "
            "their own that transformers loads"
        )
        return
    if is_text is not None:
        yield _unknown(subject, kind)


def _unknown(subject: Subject, kind: str) -> Finding:
    title = subject.title
    if kind == _RENAMED and not subject.has("trust_remote_code"):
        return REMOTE_TYPE.finding(
            f"{title} does not load models of type {kind}, as they are named today: it "
            "runs revisions that are of type RefinedWeb",
            _way(kind),
        )
    return UNKNOWN_TYPE.finding(
        f"{title} does not load models of type {kind}", _way(kind)
    )


def _way(kind: str) -> str:
    spans = model_type_spans("tgi", kind)
    if not spans:
        return "serve it with Vllm or LmiVllm"
    image = image_within("tgi", spans)
    last = last_of(spans)
    span = f"{first_of(spans)} to {last}" if last else f"{first_of(spans)} or newer"
    return f"take TGI {span}" + (f", such as {image}" if image else "")


def _transformers_findings(
    subject: Subject, kind: str, version: str
) -> Iterator[Finding]:
    """
    Find what transformers does not do for a model without a branch.
    """
    name = subject.checkpoint.class_name or ""
    is_split = shards_of(subject) > 1
    can_split = subject.is_at(_SHARDS_BY_TRANSFORMERS) and (
        replaces_attention(name, version) is not False or not has_class(name, version)
    )
    method = subject.text("quantize") or subject.checkpoint.method or ""
    if method in _NOT_AT_ALL:
        yield CODE_OF_AUTO_MODEL.finding(
            f"{subject.title} leaves models of type {kind} to transformers, which does "
            f"not load weights in {method} there",
            "take weights in 16 bits, or serve it with Vllm",
        )
    elif is_split and not can_split:
        yield _unsplit(subject, kind)
    else:
        yield TYPE_BY_TRANSFORMERS.finding(
            f"{subject.title} has no branch for models of type {kind}, and leaves them "
            "to transformers, which is slower",
            _way(kind),
        )


def _unsplit(subject: Subject, kind: str) -> Finding:
    return UNSPLIT_TYPE.finding(
        f"{subject.title} leaves models of type {kind} to transformers, which runs "
        f"them on one GPU, got {shards_of(subject)} shards",
        "take one GPU, or serve it with Vllm",
    )


def shards_of(subject: Subject) -> int:
    """
    Return over how many GPUs TGI splits the model, as far as that is said.
    """
    if subject.text("sharded") == "false":
        return 1
    named = subject.number("num_shard")
    variables = (
        subject.environment.get(one, "") for one in ("NUM_SHARD", "SM_NUM_GPUS")
    )
    numbers = [int(one) for one in variables if one.isdigit()]
    every = subject.accelerators if subject.flag("sharded") else None
    return named or next(iter(numbers), every or 1)


def tgi_attention_findings(subject: Subject) -> Iterator[Finding]:
    """
    The GPU has flash attention, where the model needs it.
    """
    kind, capability = subject.checkpoint.model_type, subject.capability
    if capability is None:
        return
    if capability >= BLACKWELL:
        yield FORM_NOT_BUILT.finding(
            f"the images of {subject.title} have no CUDA 12.8, without which nothing "
            f"runs on {subject.gpu}",
            "take an instance type with L4, L40S, H100 or H200, or serve it with Vllm",
        )
        return
    is_off = _is_switched_off(subject)
    if kind is None or (capability >= AMPERE and not is_off):
        return
    if kind in _WINDOWED and subject.is_at(*_WINDOWED_NEEDS_FLASH):
        yield _no_flash(subject, kind)
    elif capability == TURING and not is_off and subject.is_at(*_FLASH_1):
        # Flash attention of the first kind runs there.
        return
    elif (
        _needs_flash(subject, kind, "flash")
        or (_needs_flash(subject, kind, "flash_to_shard") and shards_of(subject) > 1)
        or (capability == TURING and not is_off and subject.is_at(*_NO_TURING))
    ):
        yield _no_flash(subject, kind)
    elif subject.is_at("1.0.3"):
        yield FLASH_FALLBACK.finding(
            f"{subject.title} has no flash attention on {subject.gpu}, and models of "
            f"type {kind} run without, if at all",
            _with_flash(subject),
        )


def tgi_broken_findings(subject: Subject) -> Iterator[Finding]:
    """
    The release runs its own branch.
    """
    kind = subject.checkpoint.model_type or ""
    if kind in _BROKEN and subject.is_at(*_BROKEN[kind]):
        yield BROKEN_CLASS.finding(
            f"{subject.title} fails when it warms up models of type {kind}",
            "take TGI 2.2 or newer, or serve it with Vllm",
        )


def tgi_window_findings(subject: Subject) -> Iterator[Finding]:
    """
    Where the GPU has flash attention of the first kind alone, a model with a sliding
    window is left to transformers, which does not split or widen its weights. The
    first releases with such models need a window.
    """
    kind = subject.checkpoint.model_type or ""
    window = subject.checkpoint.text.get("sliding_window", 0)
    # Mixtral's files had one when these releases were new.
    is_told = kind == "mixtral" and "sliding_window" in subject.checkpoint.override_keys
    is_hit = (kind == "mistral" or is_told) and window is None
    if is_hit and subject.is_at(*_NEEDS_WINDOW):
        yield UNKNOWN_TYPE.finding(
            f"{subject.title} does not load models of type {kind} without a sliding "
            f"window, got {subject.checkpoint.name}",
            "take TGI 1.3.3 or newer",
        )
    is_windowed = kind in _WINDOWED_LATER and isinstance(window, int)
    is_left = subject.capability == TURING and subject.is_at(*_WINDOWED_BY_TRANSFORMERS)
    if not (is_windowed and is_left):
        return
    method = subject.text("quantize") or subject.checkpoint.method or ""
    if method in {"awq", "gptq", "eetq"}:
        yield CODE_OF_AUTO_MODEL.finding(
            f"{subject.title} leaves {kind} with a sliding window to transformers on "
            f"{subject.gpu}, which does not load weights in {method} there",
            "take an instance type with A10G or newer",
        )
    elif shards_of(subject) > 1:
        yield _no_flash(subject, kind)


def tgi_shared_head_findings(subject: Subject) -> Iterator[Finding]:
    """
    Heads share keys and values from a release on.
    """
    heads = subject.checkpoint.number("num_attention_heads")
    shared = subject.checkpoint.number("num_key_value_heads")
    is_shared = subject.checkpoint.model_type == "llama" and shared not in {None, heads}
    if is_shared and not subject.is_at(_SHARED_HEADS):
        yield UNKNOWN_TYPE.finding(
            f"{subject.title} does not load models of type llama with {shared} "
            f"heads of keys and values for {heads} of attention",
            f"take TGI {_SHARED_HEADS} or newer",
        )


def _needs_flash(subject: Subject, kind: str, branch: Branch) -> bool:
    return bool(has_model_type("tgi", kind, subject.release, branch))


def _no_flash(subject: Subject, kind: str) -> Finding:
    split = " over several GPUs" if shards_of(subject) > 1 else ""
    return NO_FLASH.finding(
        f"{subject.title} runs models of type {kind}{split} by flash attention alone, "
        f"which it does not have on {subject.gpu}",
        _with_flash(subject),
    )


def _is_switched_off(subject: Subject) -> bool:
    return subject.environment.get("USE_FLASH_ATTENTION", "").lower() == "false"


def _with_flash(subject: Subject) -> str:
    has_it = subject.capability is not None and subject.capability >= AMPERE
    if _is_switched_off(subject) and has_it:
        return "leave USE_FLASH_ATTENTION out"
    return "take an instance type with A10G or newer"


def tgi_choice_findings(subject: Subject) -> Iterator[Finding]:
    """
    What the launcher asks to choose is one of its choices.
    """
    for name in ("quantize", "dtype", "kv_cache_dtype", "rope_scaling"):
        option = find_tgi_option(name.upper(), subject.release)
        value, word = subject.text(name), subject.word(name)
        choices = option.choices if option is not None else ()
        if value and choices and value not in choices:
            yield LACKS_METHOD.finding(
                f"{subject.title} does not have {name}={value}, got {word}={value}",
                f"use {any_of(choices)}, or take a newer image",
            )


def tgi_weight_findings(subject: Subject) -> Iterator[Finding]:
    """
    The quantization asked for is that of the weights, and the GPU takes it.
    """
    choice, own = subject.text("quantize"), subject.checkpoint.method
    word, shards = subject.word("quantize"), shards_of(subject)
    method = choice or own
    is_needed = choice in _NEEDS_FILES
    if is_needed and own is not None and not own:
        yield NOT_QUANTIZED.finding(
            f"{word}={choice} needs weights that were quantized so, and those of "
            f"{subject.checkpoint.name} are not quantized",
            "leave it out, or name a model that was quantized",
        )
    elif is_needed and own in {"fp8", "compressed-tensors", "bitsandbytes", "mxfp4"}:
        yield OTHER_METHOD.finding(
            f"{word} must be that of the weights, {own}, got {choice}", "leave it out"
        )
    kind = subject.checkpoint.model_type
    # transformers reads such files where it runs the model; TGI's own layers do not.
    is_own = kind is not None and has_model_type("tgi", kind, subject.release)
    is_by_bits = own == "bitsandbytes" and is_own and choice not in {"gptq", "awq"}
    if own == "gguf" or is_by_bits:
        yield LACKS_METHOD.finding(
            f"{subject.title} does not load files in {own}, which those of "
            f"{subject.checkpoint.name} are",
            "name the model that they were made from"
            + (", with quantize=bitsandbytes-nf4" if is_by_bits else ""),
        )
    if method == "awq" and kind == "qwen2_vl" and subject.is_at(*_NO_SEEING_AWQ):
        yield LACKS_METHOD.finding(
            f"{subject.title} was reported not to load weights in awq of models of "
            f"type {kind}",
            "serve it with Vllm",
        )
    if method == "awq" and kind in _NO_AWQ and subject.is_at(*_NO_AWQ_AT):
        yield LACKS_METHOD.finding(
            f"{subject.title} does not load weights in awq of models of type {kind}",
            "take TGI 2.2.0 or newer, or weights in gptq",
        )
    if method == "exl2" and shards > 1 and subject.is_at("2.2.0"):
        yield UNSPLIT_TYPE.finding(
            f"{subject.title} does not split weights in exl2, got {shards} shards",
            "take one GPU",
        )
    capability = subject.capability
    if method == "marlin" and capability is not None and capability < AMPERE:
        yield GPU_LACKS_METHOD.finding(
            f"{subject.title} needs a compute capability of 8.0 for weights in marlin, "
            f"got {subject.gpu}",
            "take an instance type with A10G or newer",
        )


def tgi_shard_findings(subject: Subject) -> Iterator[Finding]:
    """
    The shards divide the attention heads.
    """
    shards = shards_of(subject)
    heads = subject.checkpoint.number("num_attention_heads", "n_head", "n_heads")
    shared = subject.checkpoint.number("num_key_value_heads")
    kind = subject.checkpoint.model_type or ""
    # Revisions that it runs have the same heads by another name.
    is_own = has_model_type("tgi", kind, subject.release) or kind == _RENAMED
    if (
        shards > 1
        and heads
        and heads % shards
        and is_own
        and kind not in {"mamba", "ssm"}
    ):
        yield uneven_heads(
            UNEVEN_HEADS_OF_MODEL, subject.word("num_shard"), heads, shards
        )
    elif is_own and kind in _NEVER_COPIED and shared and shared % shards:
        yield UNEVEN_HEADS_OF_MODEL.finding(
            f"{subject.word('num_shard')} must divide the {shared} key and value heads "
            f"of {subject.checkpoint.name} at {subject.title}, got {shards}",
            "take one GPU",
        )


def tgi_rope_findings(subject: Subject) -> Iterator[Finding]:
    """
    The package in the image reads how positions are scaled, and the tokenizer.
    """
    scaling = subject.checkpoint.text.get("rope_scaling")
    kind = scaling.get("rope_type") if isinstance(scaling, Mapping) else None
    if kind == "llama3" and not subject.is_at(_ROPE_TYPES):
        yield NEWER_TOKENIZER.finding(
            f"rope_scaling of {subject.checkpoint.name} is of the type llama3, which "
            f"the transformers package in {subject.title} does not know",
            "take TGI 2.2.0 or newer",
        )
    has_lists = subject.checkpoint.tokenizer.get("merges") == "lists"
    if has_lists and not subject.is_at("2.3.0"):
        yield NEWER_TOKENIZER.finding(
            f"the tokenizer.json of {subject.checkpoint.name} has its merges as lists, "
            f"which the package in {subject.title} does not read",
            "take TGI 2.3.1 or newer",
        )
    if subject.checkpoint.tokenizer.get("tokenizer_class") == "TokenizersBackend":
        yield NEWER_TOKENIZER.finding(
            f"the tokenizer of {subject.checkpoint.name} is a TokenizersBackend, which "
            f"transformers 4 in {subject.title} does not know",
            "save the tokenizer with transformers 4",
        )
