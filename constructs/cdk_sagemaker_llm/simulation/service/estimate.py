"""
Service times that nobody measured, from a model of a step and its constants, which were
calibrated on published measurements.
"""

from __future__ import annotations

import math
import re

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.architectures.weight_format import gguf_bytes
from cdk_sagemaker_llm.arguments import kind_of, raise_faults
from cdk_sagemaker_llm.catalog.instances import Accelerator, find_accelerator
from cdk_sagemaker_llm.catalog.step_constants import (
    Calibration,
    Kind,
    Link,
    calibration,
    link_of,
)
from cdk_sagemaker_llm.demand import engine_title
from cdk_sagemaker_llm.fit.cache import token_bytes
from cdk_sagemaker_llm.fit.plans import Plan
from cdk_sagemaker_llm.simulation.service.step import (
    Copy,
    Step,
    factors,
    resolved,
    step_of,
)
from cdk_sagemaker_llm.simulation.service.times import ServiceTimes
from cdk_sagemaker_llm.text import counted

_GIGA, _TERA = 1e9, 1e12
_PLAIN, _MANY_BITS, _FEW_BITS = "16", 12, 6
# An engine gives a sequence its cache as it grows: by then half of the answer is there,
# and some more, since the longest ones stay.
_GROWN = 0.55
_LEAST_CHUNK = 256
_BY_MEMORY = {"sglang": (1024, 8192), "tensorrt-llm": (2048, 8192), "tgi": (1024, 4096)}
# Where a plan says nothing of lengths: on average a sequence has half its context then.
_PROMPT_SHARE, _ANSWER_SHARE = 3 / 8, 1 / 4
# What is half of a model's parameters outside of its blocks, if embedding and head are
# apart.
_APART = 1.5
# From these parameters on a model is of the next class, in 10^9.
_SIZES = (("small", 4.5), ("medium", 15.0), ("large", 80.0))
_EXPERTS_SHARE = 0.9
# Compute capabilities: of the first GPUs that multiply in 8 bits of a float, and in 4.
_ADA, _BLACKWELL, _BLACKWELL_SERVER = 8.9, 10.0, 11.0
_VERSION = re.compile(r"(\d+)\.(\d+)")
# vLLM's old engine was the default before 0.8; from 0.14 on it schedules while the GPU
# works. TensorRT-LLM runs on PyTorch from 1.0 on.
_VLLM_V1, _VLLM_ASYNC, _ON_PYTORCH = (0, 8), (0, 14), (1, 0)


def estimate_service_times(
    plan: Plan,
    *,
    prompt_tokens: float | None = None,
    answer_tokens: float | None = None,
    through_endpoint: bool = True,
) -> ServiceTimes:
    """
    Estimate what a copy takes for requests, with the interval that measurements show.

    ``estimate_service_times(plan("Qwen/Qwen3-8B", "ml.g6e.xlarge"), prompt_tokens=500,
    answer_tokens=200)``

    Args:
        plan: How the model fits its instance type; of it come the weights, the degree,
            the engine and its release, and the room for the KV cache, as is usual; in
            the best case where it fits in that alone.

        prompt_tokens: Tokens of a prompt, on average.
            If omitted, three eighths of the plan's context length.

        answer_tokens: Tokens of an answer, on average.
            If omitted, a quarter of the plan's context length.

        through_endpoint: Whether requests come through a SageMaker endpoint, which adds
            to the time to the first token. If omitted, they do.

    Raises:
        ValueError: If the model does not fit, a length is not above 0, or the
            accelerator's figures are not known.
    """
    raise_faults(kind_of("Plan").faults("plan", plan))
    prompt = _length("prompt_tokens", prompt_tokens, plan, _PROMPT_SHARE)
    answer = _length("answer_tokens", answer_tokens, plan, _ANSWER_SHARE)
    if not plan.may_fit:
        raise ValueError(
            f"the model must fit {plan.instance_type} to serve requests there, and is "
            f"short by {plan.limit}; plan it for a larger type"
        )
    known = calibration()
    device, weight_format = figures_of(plan), _weight_format(plan)
    generation = generation_of(plan.engine, plan.engine_version)
    link = link_of(device.model)
    names = factors(
        device.model, weight_format, generation, by_pcie=link.kind == "pcie"
    )
    copy = copy_of(plan, device, weight_format, link)
    step = step_of(copy, resolved(known.constants, names))
    places, chunk = scheduled(plan)
    # With long prompts and short answers, more are not let in by the chunks of a step.
    let_in = max(1, math.floor(answer * chunk / prompt))
    endpoint = known.constants["request:endpoint"] if through_endpoint else 0.0
    kind = Kind(device.model, weight_format, generation, size_class(plan.architecture))
    return times_of(
        step,
        prompt,
        answer,
        most=min(places, let_in),
        room=max(1, int(room_of(plan, prompt, answer))),
        more_seconds=endpoint,
        source=_words(plan, known, kind),
        spread=known.spread(kind),
    )


def times_of(
    step: Step,
    prompt: float,
    answer: float,
    *,
    most: int,
    room: int | None = None,
    more_seconds: float = 0.0,
    source: str = "",
    spread: tuple[float, float] | None = None,
) -> ServiceTimes:
    """
    Write a step down as service times, for prompts and answers of a length.
    """
    loaded, alone = step.prompt_seconds(prompt), step.lone_prompt_seconds(prompt)
    tokens = prompt + answer / 2
    return ServiceTimes(
        decode=tuple((count, step.seconds(count, tokens)) for count in _counts(most)),
        max_sequences=most,
        # What a prompt takes longer alone than under load holds up nobody.
        overhead_seconds=step.request + more_seconds + max(alone - loaded, 0.0),
        prompt_seconds_per_token=loaded / prompt,
        kv_tokens=room,
        source=source,
        is_estimate=True,
        spread=spread,
    )


def _length(name: str, tokens: float | None, plan: Plan, share: float) -> float:
    found = plan.context_length * share if tokens is None else tokens
    raise_faults(kind_of("float").faults(name, found))
    if found <= 0:
        raise ValueError(f"{name} must be above 0, got {found}")
    return max(float(found), 1.0)


def figures_of(plan: Plan) -> Accelerator:
    """
    Return the data sheet's figures of a plan's accelerator.
    """
    name = plan.instance_type.accelerator_model
    device = find_accelerator(name)
    if device is None or device.tflops_16bit is None:
        raise ValueError(
            f"neither bandwidth nor arithmetic of {name} is known well enough to "
            "estimate from; measure service times, or give ServiceTimes(...)"
        )
    return device


def copy_of(plan: Plan, device: Accelerator, weight_format: str, link: Link) -> Copy:
    """
    Say in figures of each accelerator what a copy of a plan is.
    """
    model, setting, degree = (
        plan.architecture,
        plan.setting,
        plan.tensor_parallel_degree,
    )
    operations = (device.tflops_16bit or 0.0) * _TERA
    layers, hidden = _shape(model)
    outside = model.parameter_count - model.quantizable_parameter_count
    table = model.vocab_size * model.hidden_size
    unread = table if outside > _APART * table else 0
    stored = _stored(plan) - 2 * unread
    heads = (model.num_attention_heads or 0) * model.head_dim or hidden
    cache = token_bytes(setting)
    windowed = model.windowed_layers / model.num_hidden_layers
    idle = 1 - model.active_parameter_count / model.parameter_count
    experts = float(idle > 1 - _EXPERTS_SHARE)
    return Copy(
        bandwidth=device.memory_gb_per_second * _GIGA,
        operations=operations * speed_up(weight_format, device.compute_capability),
        plain_operations=operations,
        link=link.gb_per_second * _GIGA,
        weight_bytes=stored / degree,
        operations_per_token=2 * (model.active_parameter_count - unread) / degree,
        attention_per_pair=2 * heads * layers / degree,
        cache_bytes=cache * (1 - windowed),
        windowed_cache_bytes=cache * windowed,
        window=float(model.sliding_window or 1),
        state_bytes=model.state_bytes(setting.computed_bytes) / degree,
        layers=layers,
        hidden=hidden,
        degree=degree,
        idle=idle * experts,
        chunk=float(scheduled(plan)[1]),
        experts=experts,
        latent=float(setting.is_latent),
        states=float(model.state_elements_per_sequence > 0),
    )


def scheduled(plan: Plan) -> tuple[int, int]:
    """
    Return how many sequences a step writes at most, and how many tokens of prompts it
    takes: where nothing is set, as the engine has it on such a GPU.
    """
    setting, engine = plan.setting, plan.engine
    places, chunk = setting.sequences, setting.prefill_tokens
    if engine in _BY_MEMORY:
        # It has as many as the cache holds, up to these.
        places, chunk = _BY_MEMORY[engine]
    assumed = plan.assumptions
    places = assumed.max_num_seqs or places
    chunk = assumed.max_num_batched_tokens or chunk
    return places, max(chunk, _LEAST_CHUNK)


def room_of(plan: Plan, prompt: float, answer: float) -> float:
    """
    Return for how many tokens of whole sequences the cache has room, which an engine
    fills as they grow.

    By their throughput and their time per output token, vLLM's copies in gpustack's
    bursts write 0.85 to 1.2 times as many sequences as a room halfway between the
    expected and the best case holds, and up to 1.9 times as many as the expected one.
    """
    best = plan.best
    halfway = (plan.expected.kv_cache_room + best.kv_cache_room) / 2
    tokens = best.kv_cache_tokens * halfway / max(best.kv_cache_room, 1)
    return max(tokens, 1) * (prompt + answer) / (prompt + _GROWN * answer)


def _shape(model: ModelArchitecture) -> tuple[float, float]:
    """
    Return layers and width, of a model that only its size is known of as such have.
    """
    if model.num_hidden_layers > 1:
        return model.num_hidden_layers, model.hidden_size
    billions = model.active_parameter_count / _GIGA
    layers = max(1, round(16 * billions**0.36))
    return layers, math.sqrt(model.active_parameter_count / (12 * layers))


def _stored(plan: Plan) -> float:
    model, gguf_type = plan.architecture, plan.setting.gguf_type
    if gguf_type is None:
        return model.weight_bytes(plan.setting.weight_bits)
    quantizable = model.quantizable_parameter_count
    return gguf_bytes(gguf_type, quantizable, model.parameter_count)[0]


def _weight_format(plan: Plan) -> str:
    """
    Return how the calibration calls the format of the weights.
    """
    setting = plan.setting
    if setting.weight_width >= _MANY_BITS:
        return _PLAIN
    if setting.gguf_type is not None:
        return "int4" if setting.weight_width < _FEW_BITS else "int8"
    published = setting.architecture.weight_format
    method = published.method if published else ""
    if setting.weight_width >= _FEW_BITS:
        return "int8" if "int" in method or "gptq" in method else "fp8"
    if "mxfp4" in method:
        return "mxfp4"
    return "nvfp4" if "fp4" in method or "modelopt" in method else "int4"


def speed_up(weight_format: str, compute_capability: str | None) -> int:
    """
    Return how many times as much as in 16 bits a GPU computes in a format.
    """
    number = float(compute_capability or 0)
    if weight_format == "w8a8":
        return 2
    if weight_format == "fp8" and number >= _ADA:
        return 2
    if weight_format == "nvfp4" and number >= _BLACKWELL:
        return 4
    return (
        2
        if weight_format == "mxfp4" and _BLACKWELL <= number < _BLACKWELL_SERVER
        else 1
    )


def generation_of(engine: str, release: str | None) -> str:
    """
    Return how the calibration calls the generation of an engine's release; the newest
    one where none is known.
    """
    found = _VERSION.search(release or "")
    version = (int(found[1]), int(found[2])) if found else (99, 0)
    if engine == "vllm":
        if version < _VLLM_V1:
            return "vllm-v0"
        return "vllm-v1" if version < _VLLM_ASYNC else "vllm-async"
    if engine == "tensorrt-llm":
        return engine if version < _ON_PYTORCH else "tensorrt-llm-pytorch"
    return engine


def size_class(model: ModelArchitecture) -> str:
    """
    Return the class of a model by its size: ``small``, ``medium``, ``large``, ``xl`` or
    ``moe``.
    """
    if model.active_parameter_count < _EXPERTS_SHARE * model.parameter_count:
        return "moe"
    billions = model.parameter_count / _GIGA
    return next((name for name, most in _SIZES if billions <= most), "xl")


def _words(plan: Plan, known: Calibration, kind: Kind) -> str:
    engine = engine_title(plan.engine)
    bits = "16-bit" if kind.weight_format == _PLAIN else kind.weight_format
    what = f"{plan.tensor_parallel_degree} x {kind.gpu}, {bits} weights, {engine}"
    count, sources = known.support(kind)
    rests = (
        f"{counted(count, 'measurement')} of such from {counted(sources, 'source')}"
        if count
        else "nothing was measured of such together"
    )
    missing = known.unmeasured(kind)
    lacks = f"; nothing at all was measured of {', '.join(missing)}" if missing else ""
    low, high = known.spread(kind)
    return (
        f"a model of a step for {what}, calibrated on {known.points} published "
        f"measurements by {known.date}: {rests}{lacks}; in 9 of 10 cases times are "
        f"{low:.2g} to {high:.2g} times as long"
    )


def _counts(most: int) -> list[int]:
    counts = [1]
    while counts[-1] * 2 < most:
        counts.append(counts[-1] * 2)
    return [*counts, most] if most > 1 else counts
