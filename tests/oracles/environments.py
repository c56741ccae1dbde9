"""
Environments of the engines' images, drawn so that they meet what validators look at.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cdk_sagemaker_llm.catalog.engine_arguments import (
    Engine,
    EngineArgument,
    SchemaKind,
    argument_names,
    find_argument,
    schema_kinds,
)

# What reads a file, another host or a secret, prints its help, or says where the
# server listens; checks of their own look at these.
_OUTSIDE = (
    "address",
    "addr",
    "api-key",
    "cert",
    "checkpoint",
    "config-file",
    "config-path",
    "corpus",
    "custom-weight",
    "cls",
    "dir",
    "endpoint",
    "file",
    "folder",
    "host",
    "ib-device",
    "lora-modules",
    "lora-paths",
    "middleware",
    "model-class",
    "path",
    "plugin",
    "port",
    "revision",
    "seed-instance",
    "socket",
    "ssl",
    "template",
    "token-map",
    "tool-server",
    "uds",
    "urls",
)
_NEVER = {
    *("config", "model", "model-path", "tokenizer", "tokenizer-path", "help", "device"),
    *("hf-token", "hf-overrides", "grpc", "grpc-mode", "smg-grpc-mode", "headless"),
    *("json-model-override-args", "logits-processors", "use-ray", "encoder-only"),
    *("spec-model", "weight-version", "warmups", "sidecar", "fingerprint-value"),
    *("forward-hooks", "quantize-and-serve", "modelopt-quant", "model-checksum"),
    *("download-dir", "forward-pass-metrics-ipc-name", "is-embedding", "language-only"),
    *("disaggregation-mode", "device-ids", "io-processor-plugin", "enable-http2"),
}
# Words of the arguments that validators look at together.
THEMES: Mapping[str, tuple[str, ...]] = {
    "vllm": (
        "parallel nnodes node-rank distributed-executor data-parallel ubatch",
        "expert eplb moe all2all dbo elastic-ep",
        "max-num-seqs max-num-batched max-model-len chunked long-prefill schedul",
        "lora",
        "spec speculative",
        "compilation cudagraph enforce-eager optimization performance",
        "kv prefix block-size cache offload swap",
        "offload cpu-offload",
        "mm multimodal video limit-mm language-model-only",
        "reasoning structured tool-call auto-tool guided",
        "trace otlp metrics log profiler observability show-hidden",
        "numa ray worker sleep cumem",
        "mamba replayssm block-size prefix",
        "load-format safetensors config-format tokenizer-mode dtype quantization",
        "runner convert pooler task generation override logprobs",
        "context-parallel dcp cp-kv interleave prefill-context",
    ),
    "sglang": (
        "tp-size dp-size pp-size ep-size nnodes node-rank dp-attention cp-size",
        "chunked-prefill max-prefill context-length page-size mixed-chunk max-running",
        "lora",
        "speculative",
        "cuda-graph torch-compile",
        "hicache hierarchical radix page-size",
        "eplb ep- expert moe deepep two-batch single-batch",
        "attention-backend kv-cache-dtype page-size deterministic prefill-only",
        "schedule priority abort retraction",
        "disaggregation pdmux encoder",
        "log metrics trace bucket request",
        "mamba linear- mamba-",
        "grammar sampling tool-call reasoning tokenizer dynamic-batch",
        "offload cpu-offload ple memory-saver weight",
        "dllm dynamic-chunking elastic",
        "quantization dtype load-format fp8 fp4",
    ),
}
_SHARE_OF_THEMES = 0.8
_NUMBERS = (-1, 0, 1, 2, 3, 4, 7, 8, 16, 64, 100, 1000, 4096, 8192, 16384, 1 << 20)
_FRACTIONS = ("-0.5", "0", "0.0", "0.3", "0.5", "0.9", "1", "1.0", "1.5", "4")
_WORDS = ("auto", "none", "fp8", "fast", "x", "default", "mp", "1")


@dataclass(frozen=True)
class Drawn:
    """
    Arguments by their long names: a text each, ``None`` for a switch that stands alone.
    """

    arguments: Mapping[str, str | None]


def draw(engine: Engine, release: str, count: int, seed: str) -> Iterator[Drawn]:
    """
    Yield environments of one to five arguments, most of them of one theme.
    """
    chance = random.Random(f"{seed} {engine} {release}")  # noqa: S311 - no secret
    known = [
        argument
        for name in argument_names(engine, release)
        if (argument := find_argument(engine, name, release)) is not None
        and is_drawn(argument)
    ]
    for _ in range(count):
        pool = known
        if chance.random() < _SHARE_OF_THEMES:
            words = chance.choice(THEMES[engine]).split()
            pool = [a for a in known if any(word in a.name for word in words)]
        chosen = chance.sample(pool, min(len(pool), chance.randint(1, 5)))
        yield Drawn({one.name: _value(one, release, chance) for one in chosen})


def is_drawn(argument: EngineArgument) -> bool:
    """
    Whether nothing outside of the engine decides what becomes of an argument.
    """
    is_outside = any(word in argument.name for word in _OUTSIDE)
    return not is_outside and argument.name not in _NEVER and not argument.deprecation


def _value(argument: EngineArgument, release: str, chance: random.Random) -> str | None:
    if argument.is_switch:
        off = argument.has_negative and chance.random() < 0.3
        return "no" if off else None
    texts = list(_texts(argument, release, chance))
    count = chance.randint(1, 2) if argument.takes_several else 1
    return " ".join(chance.choice(texts) for _ in range(count))


def _texts(
    argument: EngineArgument, release: str, chance: random.Random
) -> Iterator[str]:
    """
    Yield candidates: legal ones, those at a boundary, and a few that are wrong.
    """
    names = [*map(str, argument.choices or argument.known_values)]
    if names:
        # Each candidate is as likely: many names would leave no room for a wrong one.
        yield from chance.sample(names, min(len(names), 6))
        yield chance.choice(_WORDS)
        return
    if argument.kind == "bool":
        yield from ("true", "true", "false", "maybe")
    elif argument.kind == "float":
        yield from _FRACTIONS
        yield "x"
    elif argument.kind in {"int", "human_int", "human_int_or_auto"}:
        limits = [int(one) for one in argument.bounds.values()]
        near = [one + step for one in limits for step in (-1, 0, 1)]
        yield from map(str, [*_NUMBERS, *near])
        yield from ("8k", "x", "2.5")
    elif argument.kind.startswith("json") or argument.name == "speculative-config":
        yield from _objects(argument, release, chance)
    elif argument.kind == "kvs":
        yield from ("image=2", "image=2,video=1", "image", "{}")
    else:
        yield from _WORDS


def _objects(
    argument: EngineArgument, release: str, chance: random.Random
) -> Iterator[str]:
    schema = argument.schema
    if argument.name == "speculative-config":
        schema = "SpeculativeConfig"
    for _ in range(6):
        yield json.dumps(_object(schema, release, chance))
    yield chance.choice(["{}", "[]", "x", '{"nope": 1}', "{"])


def _object(schema: str | None, release: str, chance: random.Random) -> dict[str, Any]:
    kinds = schema_kinds(schema, release) if schema else {}
    if not kinds:
        return {"image": chance.choice([0, 1, 2, "x"])}
    chosen = chance.sample(sorted(kinds), min(len(kinds), chance.randint(1, 3)))
    if schema == "SpeculativeConfig" and "method" not in chosen:
        chosen.append("method")
    return {key: _of_kind(kinds[key], release, chance) for key in chosen}


def _of_kind(kind: SchemaKind, release: str, chance: random.Random) -> Any:  # noqa: ANN401 - what JSON says
    inner = kind.kind.partition("object:")[2]
    if inner:
        return _object(inner, release, chance)
    near = [int(one) + step for one in kind.bounds.values() for step in (-1, 0, 1)]
    candidates: dict[str, list[Any]] = {
        "bool": [True, True, False, "x"],
        "int": [*_NUMBERS, *near, "x"],
        "float": [0, 0.5, 1, 1.5, -1, "x"],
        "list of int": [[1, 2, 4], [], ["x"], 4],
        "list of str": [["a"], [], "a"],
        "object": [{}, {"a": 1}, 3],
    }
    names = [*kind.choices, *kind.choices, "x"] if kind.choices else None
    return chance.choice(names or candidates.get(kind.kind, ["auto", "x", "1"]))
