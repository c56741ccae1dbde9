"""
Arguments of vLLM against the checkpoint: code and tokenizer, and files that an isolated
container cannot fetch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.catalog.model_classes import transformers_inside
from cdk_sagemaker_llm.catalog.transformers import knows_model_type
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.quantization import is_gpt_oss
from cdk_sagemaker_llm.serving.support.support_subject import Subject

_CODE = "vllm/transformers_utils/config.py and tokenizers/hf.py"
_NEWEST, _LAST_OF_4 = "999", "4.57.6"
# From here on no image can have transformers 4.
_TRANSFORMERS_5 = "0.24.0"
# A release has what its models need before it knows of newer files.
_MODERN_TOKENIZERS = "0.5.5"
_ROPE_TYPES = "0.5.3"
# From here on only a part of each head may be turned by longrope.
_PARTLY_TURNED = "0.7.3"

UNTRUSTED_CODE = Rule(
    "LLM941", "the model's own code must be trusted, and is not", _CODE
)
NEWER_TOKENIZER = Rule(
    "LLM943",
    "the tokenizer's files are newer than the package in the image reads",
    "the tokenizers and transformers packages",
)
MAYBE_UNTRUSTED_CODE = Rule(
    "LLM898", "the model's own code may have to be trusted, and is not", _CODE
)
MAYBE_NEWER_TOKENIZER = Rule(
    "LLM894",
    "the tokenizer's files may be newer than the package in the image reads",
    "the tokenizers and transformers packages",
)
FETCHED_VOCABULARY = Rule(
    "LLM955",
    "gpt-oss fetches its vocabulary, which an isolated container cannot",
    "vLLM issue 22525",
)
# The last release that was read and does not have a mode.
_MODES_ARE_LACKING = {
    "mistral": "0.5.4",
    "custom": "0.7.3",
    "hf": "0.11.2",
    "deepseek_v32": "0.12.0",
    "deepseek_v4": "0.19.1",
    "kimi_k3": "0.20.0",
    "inkling": "0.20.0",
}
UNKNOWN_MODE = Rule(
    "LLM959",
    "the release does not have the tokenizer's mode",
    "vllm/tokenizers/registry.py",
)
UNREAD_TEKKEN = Rule(
    "LLM870",
    "Mistral's tokenizer may have to be asked for, and is not",
    "vllm/transformers_utils/tokenizer.py, up to 0.11.2",
)
# Whose repositories have tekken.json, and no tokenizer.json (as of each release).
_HAS_TEKKEN_ALONE = re.compile(
    r"mistralai/(?:pixtral-(?:12b|large)|mistral-small-3\.2-|devstral-small-2505"
    r"|magistral-small-250[67])",
    re.IGNORECASE,
)
# Version 13 came with mistral_common 1.7.0, two days after vLLM 0.9.2 (pull request
# 20801 of vLLM).
_TEKKEN_13 = re.compile(r"mistralai/(?:devstral|magistral)-small-2507\Z", re.IGNORECASE)
_NEVER_MISTRAL = ("Qwen", "Gemma", "Phi", "Falcon", "GptOss")


def code_findings(subject: Subject) -> Iterator[Finding]:
    """
    Code that the configuration or the tokenizer needs is trusted.
    """
    if subject.flag("trust_remote_code"):
        return
    name, word = subject.checkpoint.name, subject.word("trust_remote_code")
    inside = transformers_inside(subject.engine, subject.release)
    part = _code_needed(subject, inside or _NEWEST)
    if part is not None:
        yield UNTRUSTED_CODE.finding(
            f"the {part} of {name} is read by code in its repository, which "
            f"{subject.title} does not run by itself",
            f"read that code, and write {word}=true",
        )
    elif inside is None and not subject.is_at(_TRANSFORMERS_5):
        part = _code_needed(subject, _LAST_OF_4)
        if part is not None:
            yield MAYBE_UNTRUSTED_CODE.finding(
                f"the {part} of {name} is read by code in its repository if the image "
                f"with {subject.title} has transformers 4",
                f"read that code, and write {word}=true",
            )
    elif inside is None and (since := subject.checkpoint.facts.get("native_since")):
        yield MAYBE_UNTRUSTED_CODE.finding(
            f"the configuration of {name} is read by code in its repository if the "
            f"image with {subject.title} has transformers before {since}",
            f"read that code, and write {word}=true",
        )


def _code_needed(subject: Subject, transformers: str) -> str | None:
    facts, config = subject.checkpoint.facts, subject.checkpoint.config
    since = facts.get("code_since", "")
    if facts.get("code") == "tokenizer":
        return "tokenizer"
    auto = config.get("auto_map")
    is_mapped = isinstance(auto, Mapping) and "AutoConfig" in auto
    if not is_mapped and facts.get("code") != "config":
        return None
    if since and not subject.is_at(since):
        return None
    kind = subject.checkpoint.model_type
    if kind is None or _is_bundled(subject, kind):
        return None
    is_known = knows_model_type(kind, transformers)
    return "configuration" if is_known is False else None


def _is_bundled(subject: Subject, kind: str) -> bool:
    since = _BUNDLED.get(kind)
    return since is not None and subject.is_at(*since.split(".."))


# Configurations that vLLM brings along (_CONFIG_REGISTRY of its
# transformers_utils/config.py), where they were not read at each release from the
# release that has the class on.
_BUNDLED = {
    "chatglm": "0.2.2..",
    "deepseek_vl_v2": "0.7.0..",
    "deepseek_v32": "0.11.0..",
    "deepseek_v3": "0.7.0..",
    "deepseek_v4": "0.20.0..",
    "kimi_k2": "0.9.2..",
    "kimi_vl": "0.8.4..",
    "kimi_linear": "0.11.1..",
    "kimi_k25": "0.14.0..",
    "RefinedWeb": "0.2.0..",
    "RefinedWebModel": "0.2.0..",
    "mpt": "0.2.0..",
    "jais": "0.3.0..",
    "dbrx": "0.4.0..",
    "nemotron": "0.5.0..",
    "ovis": "0.9.2..",
    "ultravox": "0.6.2..",
    "step3_vl": "0.10.1..",
    "step3_text": "0.10.1..",
    "step3p5": "0.15.0..",
    "qwen3_next": "0.10.2..",
    "afmoe": "0.11.2..",
    "midashenglm": "0.10.2..",
    "hunyuan_vl": "0.11.2..",
    "isaac": "0.13.0..",
    "hyperclovax": "0.18.0..",
    "olmo_hybrid": "0.17.0..",
    "qwen3_asr": "0.15.0..",
    "bagel": "0.12.0..",
    "lfm2_moe": "0.11.1..",
    "hy_v3": "0.20.0..",
    "axk1": "0.16.0..",
    "minimax_m3_vl": "0.24.0..",
    "dotsocr": "0.11.0..",
    "dots_ocr": "0.11.0..",
    "flex_olmo": "0.11.0..",
    "radio": "0.10.2..",
}


def tokenizer_findings(subject: Subject) -> Iterator[Finding]:
    """
    The packages in the image read the tokenizer's and the configuration's files.
    """
    tokenizer, name = subject.checkpoint.tokenizer, subject.checkpoint.name
    is_new = tokenizer.get("tokenizer_class") == "TokenizersBackend"
    if is_new and not subject.is_at("0.24.0"):
        rule = MAYBE_NEWER_TOKENIZER if subject.is_at("0.19.1") else NEWER_TOKENIZER
        yield rule.finding(
            f"the tokenizer of {name} is a TokenizersBackend, which transformers 4 in "
            f"the images with {subject.title} does not know",
            "take an image with vLLM 0.24 or newer, or save the tokenizer with "
            "transformers 4",
        )
    merges = next((v for k, v in tokenizer.items() if k.endswith("merges")), None)
    has_lists = isinstance(merges, list) or merges in {"list", "lists"}
    if has_lists and not subject.is_at(_MODERN_TOKENIZERS):
        yield NEWER_TOKENIZER.finding(
            f"the tokenizer.json of {name} has its merges as lists, which the package "
            f"in the images with {subject.title} does not read",
            "take an image with vLLM 0.6 or newer",
        )
    scaling = subject.checkpoint.text.get("rope_scaling")
    kind = scaling.get("rope_type") if isinstance(scaling, Mapping) else None
    if kind == "llama3" and not subject.is_at(_ROPE_TYPES):
        yield NEWER_TOKENIZER.finding(
            f"rope_scaling of {name} is of the type llama3, which the transformers "
            f"package in the images with {subject.title} does not know",
            "take an image with vLLM 0.5.3 or newer",
        )
    yield from _rope_findings(subject, scaling)
    share = subject.checkpoint.text.get("partial_rotary_factor", 1)
    is_long = isinstance(scaling, Mapping) and "longrope" in scaling.values()
    is_part = isinstance(share, int | float) and share < 1
    if is_long and is_part and not subject.is_at(_PARTLY_TURNED):
        yield NEWER_TOKENIZER.finding(
            f"rope_scaling of {name} is for a part of each head, which {subject.title} "
            "does not read",
            f"take an image with vLLM {_PARTLY_TURNED} or newer",
        )


# Since when a kind of rope_scaling is known; llama3 is told of above.
_ROPE_KINDS = {
    **dict.fromkeys(("linear", "dynamic", "llama3"), "0.0"),
    "yarn": "0.2.2",
    "su": "0.4.2",
    "longrope": _ROPE_TYPES,
}
# Which looked at it before that: a kind that another class leaves aside does not hurt.
_TURNED = (
    *("LlamaForCausalLM", "LLaMAForCausalLM", "Phi3ForCausalLM", "DeepseekForCausalLM"),
    *("InternLM2ForCausalLM", "OrionForCausalLM"),
)


def _rope_findings(subject: Subject, scaling: object) -> Iterator[Finding]:
    kind = scaling.get("type") if isinstance(scaling, Mapping) else None
    name = subject.checkpoint.class_name
    since = _ROPE_KINDS.get(kind) if isinstance(kind, str) else None
    if kind == "longrope" and "phi-3-" in subject.checkpoint.name.lower():
        # Their files said su before.
        return
    if since is None or subject.is_at(_ROPE_TYPES) or name not in _TURNED:
        return
    # Of Llama's the package reads two kinds alone, and a repository's code more.
    is_own = "auto_map" in subject.checkpoint.config
    is_own = is_own and subject.flag("trust_remote_code")
    is_of_package = subject.checkpoint.model_type == "llama" and not is_own
    is_unread = is_of_package and kind not in {"linear", "dynamic", "llama3"}
    if is_unread or not subject.is_at(since):
        yield NEWER_TOKENIZER.finding(
            f"rope_scaling of {subject.checkpoint.name} is of the type {kind}, which "
            f"{subject.title}, or the transformers package beside it, does not know",
            "take an image with vLLM 0.6 or newer",
        )


def tokenizer_mode_findings(subject: Subject) -> Iterator[Finding]:
    """
    The release has the tokenizer's mode.
    """
    mode = subject.text("tokenizer_mode") or ""
    last = _MODES_ARE_LACKING.get(mode)
    if last is not None and subject.is_at("0.0", last):
        yield UNKNOWN_MODE.finding(
            f"{subject.word('tokenizer_mode')} must be one that {subject.title} has, "
            f"got {mode}",
            f"take an image with vLLM after {last}",
        )
    is_bare = _HAS_TEKKEN_ALONE.match(subject.checkpoint.name) is not None
    is_bare = is_bare and not subject.has("tokenizer")
    if is_bare and mode in {"", "auto"} and subject.is_at("0.0", "0.11.2"):
        # A newer package beside it may read the file by itself.
        rule = UNKNOWN_MODE if subject.is_at("0.0", "0.9.2") else UNREAD_TEKKEN
        yield rule.finding(
            f"{subject.checkpoint.name} has its tokenizer in Mistral's own file alone, "
            f"which {subject.title} reads where it is asked to",
            f"write {subject.word('tokenizer_mode')}=mistral, config_format=mistral "
            "and load_format=mistral",
        )
    name = subject.checkpoint.class_name or ""
    is_foreign = mode == "mistral" and name.startswith(_NEVER_MISTRAL)
    if is_foreign and not subject.has("tokenizer") and subject.is_at("0.6.0", "0.11.2"):
        yield UNKNOWN_MODE.finding(
            f"{subject.word('tokenizer_mode')}=mistral reads Mistral's own tokenizer, "
            f"which repositories of {name} do not have",
            "leave it out",
        )
    is_new = _TEKKEN_13.match(subject.checkpoint.name) is not None
    if is_new and mode == "mistral" and subject.is_at("0.9.0", "0.9.2"):
        yield NEWER_TOKENIZER.finding(
            f"tekken.json of {subject.checkpoint.name} is of version 13, which the "
            f"mistral_common package beside {subject.title} does not know",
            "take an image with vLLM 0.10 or newer",
        )
    is_halved = mode == "mistral" and subject.text("config_format") != "mistral"
    is_of_pixtral = subject.checkpoint.class_name == "Mistral3ForConditionalGeneration"
    if is_halved and is_of_pixtral and subject.is_at("0.8.0", "0.8.5"):
        yield UNKNOWN_MODE.finding(
            f"the processor of {subject.checkpoint.name} does not take "
            f"{subject.word('tokenizer_mode')}=mistral at {subject.title}",
            "write config_format=mistral and load_format=mistral too, or leave it out",
        )


def vocabulary_findings(subject: Subject) -> Iterator[Finding]:
    """
    An isolated gpt-oss has its vocabulary at hand.
    """
    places = ("TIKTOKEN_ENCODINGS_BASE", "TIKTOKEN_RS_CACHE_DIR")
    has_files = any(subject.environment.get(name) for name in places)
    is_asked = subject.network_isolation and is_gpt_oss(subject)
    if is_asked and not has_files and subject.is_at("0.10.0", "0.30.0"):
        yield FETCHED_VOCABULARY.finding(
            f"{subject.title} fetches o200k_base.tiktoken for "
            f"{subject.checkpoint.name} when it starts, which a container with network "
            "isolation cannot",
            "put the file into the artifact and set TIKTOKEN_ENCODINGS_BASE to its "
            "folder, or take an image with vLLM 0.31 or newer",
        )
