"""
The measurements, each with the plan of what was measured.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.catalog.instances import (
    InstanceType,
    accelerated_type_names,
    find_instance_type,
)
from cdk_sagemaker_llm.catalog.step_constants import Kind, Link, link_of
from cdk_sagemaker_llm.fit import Assumptions, plan
from cdk_sagemaker_llm.fit.plans import Plan
from cdk_sagemaker_llm.simulation.service.estimate import (
    copy_of,
    figures_of,
    generation_of,
    room_of,
    scheduled,
    size_class,
)
from cdk_sagemaker_llm.simulation.service.step import Copy

FILE = Path(__file__).with_name("points.json")
TOKEN, FIRST, THROUGHPUT = "tpot", "ttft", "throughput"
# A closed loop of fewer users has no line, and of as many a full batch.
_FEW_USERS = 16
# A rate that is served to this part is one that the copy can serve.
_SERVED = 0.9
# From this rate on all requests are there at once.
_AT_ONCE = 50
# Users who keep any copy's batch full.
_ENDLESS = 2000.0
# Of shorter answers the time between tokens is little more than that of the first.
_FEW_TOKENS = 8
# From so many users on a notebook's figures stand still, whatever the engine has.
_NOTEBOOK, _NOTEBOOK_USERS = "sagemaker-g7e-notebook", 128
# Why figures are left out, by what is doubtful of them.
_DOUBTS = {
    "very same figures": "two pages have the same figures of two GPUs",
    "AMD types": "the page names several GPUs",
    "weights fill nearly": "the room for the cache is what weights happen to leave",
    "length tab assumed": "the lengths are assumed",
    "preemption likely": "requests failed",
    "returned nothing": "requests failed",
    "without peer-to-peer": "GPUs reach each other through the host's memory alone",
}
# A model's name in the catalogue, or its sizes.
Model = str | Mapping[str, Any]
_BITS: Mapping[str, int] = {"16": 16, "fp8": 8, "int8": 8, "w8a8": 8}
# Cards for PCIe are slower than the modules of their names: bytes a second, and what
# part of the arithmetic they have, by their data sheets.
_CARDS = {"A100-80GB": (1935e9, 1.0), "H100": (2039e9, 756 / 989)}
_PCIE_4 = Link("pcie", 20.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """
    A measurement: what was served, how it was loaded, and what came of it.

    Args:
        load: ``users``, ``rate``, ``burst`` or ``batch``.

        computed: Tokens of the prompt that are not in the prefix cache.

        longest: Tokens of the longest answers, as far as they outlast the others.

        measured: Seconds to and between tokens, and tokens a second of one copy.

        reason: Why it is left out; empty if it is not.
    """

    name: str
    group: str
    unit: str
    model: str
    kind: Kind
    degree: int
    prompt: float
    computed: float
    answer: float
    longest: float
    load: str
    value: float
    requests: float
    measured: Mapping[str, float]
    settings: Mapping[str, Any]
    reason: str
    copy: Copy
    link: Link
    places: int
    room: float

    @property
    def is_saturated(self) -> bool:
        """
        Whether the batch was full, or nearly so.
        """
        return self.load != "users" or self.value >= _FEW_USERS

    @property
    def most(self) -> float:
        """
        Return how many sequences are written at once, at most.
        """
        most = min(self.places, self.room / (self.prompt + self.answer))
        if self.load == "rate" and self.requests:
            # A run so short never has more of its requests at once.
            most = min(most, 0.65 * self.requests)
        return max(1.0, math.floor(most))


@functools.cache
def points() -> tuple[Point, ...]:
    """
    Return all measurements of GPUs that have a load.
    """
    content = json.loads(FILE.read_text(encoding="utf-8"))
    rows = [
        dict(zip(content["columns"], row, strict=True)) for row in content["points"]
    ]
    return tuple(
        _point(row, content)
        for row in rows
        if row["value"] and row["engine"] != "neuron"
    )


def later_groups() -> frozenset[str]:
    """
    Return the publishers whose measurements came when the model of a step was there.
    """
    content = json.loads(FILE.read_text(encoding="utf-8"))
    return frozenset(content["groups"][content["first_groups"] :])


def _point(row: Mapping[str, Any], content: Mapping[str, Any]) -> Point:
    name = list(content["models"])[row["model"]]
    settings = row["settings"] or {}
    made = _plan(row, content["models"][name], settings)
    device = figures_of(made)
    link = _PCIE_4 if settings.get("pcie") else link_of(row["gpu"])
    copy = copy_of(made, device, row["format"], link)
    changes: dict[str, float] = {"eager": float(bool(settings.get("eager")))}
    if settings.get("pcie"):
        bandwidth, share = _CARDS[row["gpu"]]
        changes.update(
            bandwidth=bandwidth,
            operations=copy.operations * share,
            plain_operations=copy.plain_operations * share,
        )
    if settings.get("attention_dp"):
        shards = min(row["degree"], made.architecture.kv_cache_shards)
        for field in ("cache_bytes", "windowed_cache_bytes"):
            changes[field] = getattr(copy, field) * shards / row["degree"]
    described = content["models"][name]
    if isinstance(described, dict) and described["state_elements"]:
        state = 2 * described["state_elements"] / row["degree"]
        changes.update(state_bytes=state, states=1.0)
    copy = dataclasses.replace(copy, **changes)
    load, value = row["load"], float(row["value"])
    if settings.get("plateau"):
        load, value = "users", _ENDLESS
    if load == "rate" and value >= _AT_ONCE:
        load, value = "burst", float(row["requests"])
    prompt, answer = float(row["prompt"]), max(float(row["answer"]), 1.0)
    places, chunk = scheduled(made)
    # What is in the prefix cache is not computed again; its cache is read all the same.
    computed = min(prompt, 16.0) if settings.get("prefix_hit") else prompt
    return Point(
        name=row["id"],
        group=content["groups"][row["group"]],
        unit=content["units"][row["unit"]],
        model=name,
        kind=Kind(
            row["gpu"], row["format"], _generation(row), size_class(made.architecture)
        ),
        degree=row["degree"],
        prompt=prompt,
        computed=computed,
        answer=answer,
        longest=answer * settings.get("longest", 1.0),
        load=load,
        value=value,
        requests=float(row["requests"] or 0),
        measured=_measured(row, load),
        settings=settings,
        reason=_reason(row, content, made),
        copy=copy,
        link=link,
        places=min(places, max(1, math.floor(answer * chunk / computed))),
        room=room_of(made, prompt, answer),
    )


def _generation(row: Mapping[str, Any]) -> str:
    if (row["settings"] or {}).get("v0"):
        return "vllm-v0"
    # NIM ran TensorRT-LLM's compiled engines then.
    return (
        "tensorrt-llm"
        if row["engine"] == "nim"
        else generation_of(row["engine"], row["release"])
    )


def _plan(row: Mapping[str, Any], model: Model, settings: Mapping[str, Any]) -> Plan:
    architecture = _architecture(model)
    engine = {"nim": "tensorrt-llm"}.get(row["engine"], row["engine"])
    context = min(math.ceil(row["prompt"] + row["answer"]), architecture.context_length)
    bits = _BITS.get(row["format"], 4)
    published = architecture.weight_format
    arguments: dict[str, Any] = {
        "weight_bits": None if published and published.bits == bits else bits,
        "context_length": max(context, 16),
        "tensor_parallel_degree": row["degree"],
        "engine": engine,
        "assumptions": Assumptions(
            gpu_memory_utilization=settings.get("gpu_memory_utilization"),
            max_num_seqs=settings.get("max_num_seqs"),
            max_num_batched_tokens=settings.get("max_num_batched_tokens"),
            kv_cache_dtype_bytes=settings.get("kv_bits", 16) / 8,
        ),
    }
    hardware = _hardware(row["gpu"], row["degree"])
    try:
        return plan(architecture, hardware, engine_version=row["release"], **arguments)
    except ValueError:
        return plan(architecture, hardware, **arguments)


def _architecture(model: Model) -> ModelArchitecture:
    if isinstance(model, str):
        return ModelArchitecture.of(model)
    table = model["vocabulary"] * model["hidden"]
    return ModelArchitecture(
        architecture="custom",
        model_type="deepseek_v3" if model["kv_shards"] == 1 else "custom",
        parameter_count=model["parameters"],
        active_parameter_count=model["active"],
        quantizable_parameter_count=model["parameters"] - 2 * table,
        kv_elements_per_token=model["kv_elements"],
        kv_cache_shards=model["kv_shards"],
        num_hidden_layers=model["layers"],
        hidden_size=model["hidden"],
        active_intermediate_size=4 * model["hidden"],
        num_attention_heads=None,
        num_key_value_heads=None,
        head_dim=128,
        vocab_size=model["vocabulary"],
        context_length=131072,
        sliding_window=model["window"],
        windowed_layers=model["windowed_layers"],
    )


@functools.cache
def _hardware(gpu: str, degree: int) -> InstanceType:
    types = [find_instance_type(name) for name in accelerated_type_names()]
    have = [one for one in types if one.accelerator_model == gpu]
    enough = [one for one in have if one.accelerators >= degree]
    return min(enough or have, key=lambda one: one.accelerators)


def _measured(row: Mapping[str, Any], load: str) -> Mapping[str, float]:
    found: dict[str, float] = {}
    served = row["requests_per_s"]
    is_over = row["load"] == "rate" and served and served < _SERVED * _come(row)
    if row["tpot_ms"] and row["answer"] > _FEW_TOKENS:
        found[TOKEN] = row["tpot_ms"] / 1e3
    is_alone = load == "batch" and row["value"] <= 1
    is_light = load == "users" and row["value"] <= _FEW_USERS
    if row["ttft_ms"] and (is_alone or is_light or (load == "rate" and not is_over)):
        found[FIRST] = row["ttft_ms"] / 1e3
    if row["tokens_per_s"] and (load != "rate" or is_over):
        found[THROUGHPUT] = row["tokens_per_s"]
    return found


def _come(row: Mapping[str, Any]) -> float:
    """
    Return how many requests a second a run at a rate would have served, had none of
    them waited in line: the longest answer is written when no more come.
    """
    rate, requests = float(row["value"]), row["requests"]
    if not requests or not row["tpot_ms"]:
        return rate
    longest = row["answer"] * (row["settings"] or {}).get("longest", 1.0)
    return float(requests / (requests / rate + longest * row["tpot_ms"] / 1e3))


def _reason(row: Mapping[str, Any], content: Mapping[str, Any], made: Plan) -> str:
    doubt = "" if row["doubt"] is None else content["doubts"][row["doubt"]]
    reasons = [why for words, why in _DOUBTS.items() if words in doubt]
    if (row["settings"] or {}).get("slow_host"):
        reasons.append("the host bounds it, in the process of an old engine")
    if content["groups"][row["group"]] == _NOTEBOOK and row["value"] >= _NOTEBOOK_USERS:
        reasons.append("the way to the endpoint bounds it")
    if not made.may_fit:
        reasons.append("by the plan it does not fit")
    return next(iter(reasons), "")
