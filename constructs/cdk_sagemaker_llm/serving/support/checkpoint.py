"""
What is known of a model's files: its config.json, its quantization, its tokenizer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.catalog.checkpoints import class_facts, known_checkpoint
from cdk_sagemaker_llm.catalog.transformers import model_type_of

# What says that a mapping is a whole config.json, in which a key that is left out is
# not there; the other kind tells single keys of it.
_WHOLE = ("hidden_size", "d_model", "n_embd", "text_config", "transformers_version")
_NAMED_METHODS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    (r"awq", {"quant_method": "awq", "bits": 4}),
    (r"gptq[-_]?int8|gptq[-_]8bit", {"quant_method": "gptq", "bits": 8}),
    (r"gptq", {"quant_method": "gptq", "bits": 4}),
    (r"bnb[-_](?:[48]bit|nf4|fp4)", {"quant_method": "bitsandbytes"}),
    (r"gguf", {"quant_method": "gguf"}),
    (r"int4[-_]autoround", {"quant_method": "auto-round", "bits": 4}),
    (
        r"quantized\.w4a16|w4a16",
        {"quant_method": "compressed-tensors", "scheme": "w4a16"},
    ),
    (r"quantized\.w8a16", {"quant_method": "compressed-tensors", "scheme": "w8a16"}),
    (r"quantized\.w8a8|w8a8", {"quant_method": "compressed-tensors", "scheme": "w8a8"}),
    (r"fp8[-_]dynamic", {"quant_method": "compressed-tensors", "scheme": "fp8"}),
)
_MARKS = tuple(
    (re.compile(rf"(?:\A|[-_.])(?:{mark})(?=\Z|[-_.])", re.IGNORECASE), facts)
    for mark, facts in _NAMED_METHODS
)
# Who publishes models of others as they are.
_MIRRORS = ("unsloth/", "nousresearch/", "alpindale/", "meta-llama/", "llm-research/")
# What an ending stands for depends on who publishes, and with which tool: AutoFP8
# first, compressed-tensors from the summer of 2024 on. Of models between, nothing.
_COMPRESSED = r"(?:redhatai|neuralmagic|nm-testing)/"
_NAMED_ENDINGS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    (r"mlx-community/.*-[2-8]bits?(?:-.*)?", {"group_size": 64, "bits": 4}),
    # What these call AWQ is made by llm-compressor.
    (
        r"(?:cyankiwi|cpatonn)/.*-awq(?:-[48]bit|-int[48])?",
        {"quant_method": "compressed-tensors"},
    ),
    (
        r"nvidia/.*[-_.](?:nv)?fp4",
        {"quant_method": "modelopt", "quant_algo": "NVFP4"},
    ),
    (r"nvidia/.*[-_.]fp8", {"quant_method": "modelopt", "quant_algo": "FP8"}),
    (
        rf"{_COMPRESSED}.*[-_.](?:nv)?fp4(?:a16)?",
        {"quant_method": "compressed-tensors", "scheme": "nvfp4"},
    ),
    (rf"{_COMPRESSED}(?:meta-llama-3|qwen2)-.*[-_.]fp8", {"quant_method": "fp8"}),
    (
        (
            rf"{_COMPRESSED}.*(?:llama-3\.[1-9]|llama-4|qwen2\.5|qwen3|gemma-3|phi-4"
            r"|deepseek-r1|mistral-small-3|granite-3).*[-_.]fp8"
        ),
        {"quant_method": "compressed-tensors", "scheme": "fp8"},
    ),
    (
        r"meta-llama/llama-4-.*[-_.]fp8",
        {"quant_method": "compressed-tensors", "scheme": "fp8"},
    ),
    (
        r"(?:qwen|deepseek-ai|stepfun-ai)/.*[-_.]fp8",
        {"quant_method": "fp8", "weight_block_size": [128, 128]},
    ),
)
_ENDINGS = tuple(
    (re.compile(rf"{mark}\Z", re.IGNORECASE), facts) for mark, facts in _NAMED_ENDINGS
)


class Checkpoint(NamedTuple):
    """
    What is known of a model's files.

    Args:
        name: The model's name on the Hub, or what else names it.

        config: The keys of its config.json that are known.

        is_whole: Whether a key that is not there is not in the file either.

        tokenizer: What is known of tokenizer_config.json.

        facts: What no file says in one key: which code must be trusted until which
            release of ``transformers``, which parsers suit it.

        override_keys: The keys of config.json that the caller says himself.
    """

    name: str
    config: Mapping[str, Any] = {}
    is_whole: bool = False
    tokenizer: Mapping[str, Any] = {}
    facts: Mapping[str, Any] = {}
    override_keys: frozenset[str] = frozenset()

    @property
    def classes(self) -> tuple[str, ...]:
        """
        The classes in config.json.
        """
        names = self.config.get("architectures")
        return tuple(names) if isinstance(names, list | tuple) else ()

    @property
    def class_name(self) -> str | None:
        """
        The first of the classes; ``None`` if it is not known.
        """
        return self.classes[0] if self.classes else None

    @property
    def model_type(self) -> str | None:
        """
        The model type of config.json, else that of its class; ``None`` if it is not
        known.
        """
        value = self.config.get("model_type")
        if isinstance(value, str):
            return value
        return model_type_of(self.class_name) if self.class_name else None

    @property
    def text(self) -> Mapping[str, Any]:
        """
        The keys of the part that reads and writes text.
        """
        inner = self.config.get("text_config")
        return {**self.config, **inner} if isinstance(inner, Mapping) else self.config

    @property
    def language(self) -> Checkpoint:
        """
        Itself with the part that writes text under the name that most give it: InternVL
        calls it ``llm_config``, which old releases do not look for.
        """
        inner = self.config.get("llm_config")
        if not isinstance(inner, Mapping) or "text_config" in self.config:
            return self
        return self._replace(config={**self.config, "text_config": inner})

    @property
    def quantization(self) -> Mapping[str, Any] | None:
        """
        The ``quantization_config``; empty where it is known that there is none, and
        ``None`` where nothing is known.
        """
        inner = self.config.get("text_config") or {}
        for part in (self.config, inner if isinstance(inner, Mapping) else {}):
            for key in ("quantization_config", "compression_config"):
                if isinstance(part.get(key), Mapping):
                    return dict(part[key])
        return {} if self.is_whole else None

    @property
    def method(self) -> str | None:
        """
        The quantization method of the files; empty where they are not quantized, and
        ``None`` where nothing is known.
        """
        values = self.quantization
        if not values:
            return None if values is None else ""
        method = str(values.get("quant_method") or "").lower()
        if method == "compressed_tensors":
            return "compressed-tensors"
        if method == "modelopt" and "FP4" in str(values.get("quant_algo", "")).upper():
            return "modelopt_fp4"
        return method or None

    @property
    def dtype(self) -> str | None:
        """
        The data type of the weights, such as ``bfloat16``; ``None`` if not known.
        """
        for part in (self.text, self.config):
            for key in ("torch_dtype", "dtype"):
                value = part.get(key)
                if isinstance(value, str):
                    return value.removeprefix("torch.").lower()
        return None

    def number(self, *names: str) -> int | None:
        """
        Return the first of some keys of the text part that is a whole number.
        """
        text = self.text
        values = (text.get(name) for name in names)
        return next((one for one in values if type(one) is int), None)


# Under which names a config.json says how many experts there are.
_EXPERTS = (
    "num_experts",
    "moe_num_experts",
    "n_routed_experts",
    "num_local_experts",
    "num_experts_per_tok",
    "moe_intermediate_size",
)


def has_experts(checkpoint: Checkpoint) -> bool:
    """
    Whether it is known that a model has experts.
    """
    return any(checkpoint.text.get(name) for name in _EXPERTS)


def checkpoint_of(
    model: str | ModelArchitecture,
    config: Mapping[str, Any] | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> Checkpoint:
    """
    Gather what is known of a model: what the caller says of its config.json, what the
    arguments override of it, and else what the catalogue has.
    """
    arguments = arguments or {}
    if isinstance(model, ModelArchitecture):
        return _overridden(_of_architecture(model), config, arguments)
    entry = known_checkpoint(model)
    values = dict(config or {})
    if any(key in values for key in _WHOLE):
        base = Checkpoint(name=model, config=values, is_whole=True)
        return _overridden(base, {}, arguments)
    if entry is None:
        base = _derived(model, values)
    else:
        facts = dict(entry)
        tokenizer, extra = facts.pop("tokenizer", {}), facts.pop("facts", {})
        base = Checkpoint(
            name=model, config=facts, is_whole=True, tokenizer=tokenizer, facts=extra
        )
    return _overridden(base, values, arguments)


def checkpoint_for(
    name: str | None, kind: object, arguments: Mapping[str, Any] | None = None
) -> Checkpoint | None:
    """
    Gather what is known of a model by its name, and by what a definition says of it: a
    class, a config.json or an architecture; ``None`` where that is nothing.
    """
    config: Mapping[str, Any] = {}
    if isinstance(kind, Mapping):
        config = {key: value for key, value in kind.items() if value is not None}
        if config.get("architectures") in ([None], []):
            config = {k: v for k, v in config.items() if k != "architectures"}
    elif isinstance(kind, str):
        config = {"architectures": [kind]}
    elif isinstance(kind, ModelArchitecture):
        if name is None or known_checkpoint(name) is None:
            return checkpoint_of(kind, None, arguments)
        config = {"architectures": [kind.class_name]} if kind.class_name else {}
    if name is None and not config:
        return None
    return checkpoint_of(name or "the model", config, arguments)


def _of_architecture(model: ModelArchitecture) -> Checkpoint:
    values = {
        "architectures": [model.class_name] if model.class_name else None,
        "num_attention_heads": model.num_attention_heads,
        "num_key_value_heads": model.num_key_value_heads,
        "head_dim": model.head_dim if model.class_name else None,
        "vocab_size": model.vocab_size if model.class_name else None,
        "quantization_config": _format_of(model),
    }
    config = {key: value for key, value in values.items() if value is not None}
    return Checkpoint(name=model.architecture, config=config)


def _format_of(model: ModelArchitecture) -> dict[str, str] | None:
    if model.weight_format is None:
        return None
    method = model.weight_format.method
    is_dashed = method in {"compressed-tensors", "auto-round"}
    return {"quant_method": method if is_dashed else method.replace("-", "_")}


def _derived(model: str, values: Mapping[str, Any]) -> Checkpoint:
    """
    Return what the name of a model tells that the catalogue does not have: how it was
    quantized, and of which catalogued model it is a copy.
    """
    quantization = named_quantization(model)
    is_copy = bool(quantization) or model.lower().startswith(_MIRRORS)
    original = known_checkpoint(model, is_copy=True) if is_copy else None
    own: dict[str, Any] = {}
    if original is not None:
        own = {k: v for k, v in original.items() if k not in {"facts", "tokenizer"}}
        classes = values.get("architectures")
        if classes and own.get("architectures") != list(classes):
            own, original = {}, None
    own.pop("quantization_config", None)
    if quantization:
        own["quantization_config"] = quantization
    return Checkpoint(
        name=model,
        config=own,
        tokenizer=(original or {}).get("tokenizer", {}),
        facts=(original or {}).get("facts", {}),
    )


def named_quantization(model: str) -> dict[str, Any]:
    """
    Return how a model was quantized, by its name; empty if that says nothing.
    """
    name = model.rpartition("/")[2]
    for ending, facts in _ENDINGS:
        if ending.match(model):
            return dict(facts)
    for mark, facts in _MARKS:
        if mark.search(name):
            return dict(facts)
    return {}


def _overridden(
    base: Checkpoint, changes: Mapping[str, Any] | None, arguments: Mapping[str, Any]
) -> Checkpoint:
    config, tokenizer = dict(base.config), dict(base.tokenizer)
    dotted = {
        key.removeprefix("config."): value
        for key, value in arguments.items()
        if "." in key
    }
    overrides = (changes or {}, _mapping(arguments.get("hf_overrides")), dotted)
    for values in overrides:
        for key, value in values.items():
            part, _, name = key.partition(".")
            if part in {"tokenizer_config", "tokenizer"}:
                tokenizer |= {name: value} if name else dict(value or {})
            elif name:
                inner = config.get(part)
                config[part] = {
                    **(inner if isinstance(inner, Mapping) else {}),
                    name: value,
                }
            else:
                config[key] = value
    scaling = _mapping(arguments.get("rope_scaling"))
    if scaling:
        config["rope_scaling"] = scaling
    if arguments.get("config_format") == "mistral":
        # params.json is read, and says by itself how the weights are quantized.
        for key in ("quantization_config", "compression_config"):
            config.pop(key, None)
    classes = config.get("architectures")
    first = classes[0] if isinstance(classes, list | tuple) and classes else None
    own = class_facts(first) if isinstance(first, str) else {}
    for key, value in own.get("config", {}).items():
        config.setdefault(key, value)
    facts = {**own.get("facts", {}), **base.facts}
    return Checkpoint(
        name=base.name,
        config=config,
        is_whole=base.is_whole and arguments.get("config_format") != "mistral",
        tokenizer=tokenizer,
        facts=facts,
        override_keys=frozenset(key for values in overrides for key in values),
    )


def _mapping(value: object) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return dict(value) if isinstance(value, Mapping) else {}
