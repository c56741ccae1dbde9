"""
Estimates, by numbers worked out by hand, and what they say that they rest on.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.catalog.step_constants import (
    Calibration,
    Kind,
    Measured,
    link_of,
)
from cdk_sagemaker_llm.demand import EngineName
from cdk_sagemaker_llm.fit import Assumptions, plan
from cdk_sagemaker_llm.simulation import estimate_service_times
from cdk_sagemaker_llm.simulation.service import estimate
from cdk_sagemaker_llm.simulation.service.estimate import (
    generation_of,
    scheduled,
    size_class,
    speed_up,
)

# 2 GB of weights, 100,000 bytes of cache a token.
SMALL = ModelArchitecture.custom(
    parameters=10**9, kv_bytes_per_token=100_000, num_key_value_heads=8
)
# The same, of which a token passes a quarter.
EXPERTS = ModelArchitecture.custom(
    parameters=10**9,
    active_parameters=250_000_000,
    kv_bytes_per_token=100_000,
    num_key_value_heads=8,
)
# All of a data sheet is reached, nothing takes time beside it, and links are no bound.
IDEAL = {
    "overlap": 60.0,
    "likeness": 1.0,
    "link:pcie": 1e9,
    "latency:pcie": 0.0,
    "step:vllm-async": 0.0,
    "sequence:vllm-async": 0.0,
    "request:vllm-async": 0.02,
    "request:endpoint": 0.01,
    "launch:vllm-async": 0.0,
    "layer": 0.0,
    "layer_experts": 0.0,
    "layer_latent": 0.0,
    "layer_states": 0.0,
    "layer_eager": 0.0,
    "launch_experts": 0.0,
    "split": 0.0,
}
KNOWN = Calibration(
    date="2026-01-31",
    points=40,
    constants=IDEAL,
    spreads=((0.8, 1.25), (0.6, 1.7), (0.4, 2.5)),
    measured=(
        Measured(
            kind=Kind("A10G", "16", "vllm-async", "small"),
            points=12,
            sources=("one", "two"),
        ),
        Measured(
            kind=Kind("L4", "int4", "sglang", "medium"),
            points=1,
            sources=("two",),
        ),
    ),
)
LENGTHS: dict[str, Any] = {"prompt_tokens": 900, "answer_tokens": 200}


@pytest.fixture(autouse=True)
def _ideal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "calibration", lambda: KNOWN)


def test_one_sequence_reads_the_weights_and_its_cache() -> None:
    """
    2 GB and 1,000 tokens of 100 kB on an A10G's 600 GB/s: 3.5 ms.
    """
    found = estimate_service_times(plan(SMALL, "ml.g5.xlarge"), **LENGTHS)

    assert found.pace(1) == pytest.approx(2.1e9 / 600e9)
    # Between powers of two it is a straight line.
    assert found.pace(64) == pytest.approx(8.4e9 / 600e9, rel=1e-3)


def test_a_prompt_computes_and_attends_to_itself() -> None:
    """
    1,032 tokens compute 29.49 ms in a step that reads for 3.33 ms anyway, so that one
    takes 25.5 microseconds; over itself a prompt computes as much as 16 layers of a
    width of 2,282 have.
    """
    found = estimate_service_times(plan(SMALL, "ml.g5.xlarge"), **LENGTHS)

    token = (1032 * 2e9 / 70e12 - 2e9 / 600e9) / 1024
    attention = 2 * 2282 * 16 * 900 / 70e12
    assert found.prompt_seconds_per_token == pytest.approx(token + attention, rel=1e-3)


def test_requests_take_longer_through_an_endpoint() -> None:
    """
    By 10 ms, beside 20 ms of the engine's.
    """
    made = plan(SMALL, "ml.g5.xlarge")
    outside = estimate_service_times(made, **LENGTHS)
    inside = estimate_service_times(made, **LENGTHS, through_endpoint=False)

    assert outside.overhead_seconds - inside.overhead_seconds == pytest.approx(0.01)
    assert inside.overhead_seconds == pytest.approx(0.02, rel=0.1)


def test_a_split_copy_reads_and_computes_on_all_its_accelerators() -> None:
    """
    Over four each has a quarter of the weights and of the cache.
    """
    alone, split = (
        estimate_service_times(
            plan(SMALL, "ml.g5.12xlarge", tensor_parallel_degree=degree), **LENGTHS
        )
        for degree in (1, 4)
    )

    assert split.pace(1) == pytest.approx(alone.pace(1) / 4)
    assert split.prompt_seconds_per_token * 4 == pytest.approx(
        alone.prompt_seconds_per_token, rel=1e-6
    )


def test_few_sequences_read_few_experts() -> None:
    """
    One reads a quarter of the weights, two 7/16 of them, many all; 500 tokens of cache
    for each.
    """
    found = estimate_service_times(
        plan(EXPERTS, "ml.g5.xlarge"), prompt_tokens=400, answer_tokens=200
    )

    cache = 500 * 1e5 / 600e9
    assert found.pace(1) == pytest.approx(2e9 / 4 / 600e9 + cache)
    assert found.pace(2) == pytest.approx(2e9 * 7 / 16 / 600e9 + 2 * cache)
    assert found.pace(64) == pytest.approx(2e9 / 600e9 + 64 * cache, rel=1e-3)


@pytest.mark.parametrize(
    ("gguf_type", "weights"), [(None, 2e9), ("F16", 2e9), ("Q8_0", 8.5 / 8 * 1e9)]
)
def test_a_gguf_file_is_read_as_it_is_stored(
    gguf_type: str | None, weights: float
) -> None:
    """
    A weight of Q8_0 has eight bits, and half of one of its block's scale.
    """
    made = plan(
        SMALL,
        "ml.g5.xlarge",
        engine="llama.cpp",
        context_length=2000,
        gguf_type=gguf_type,
    )
    device = estimate.figures_of(made)
    copy = estimate.copy_of(made, device, "16", link_of("A10G"))

    # The file itself adds some ten kilobytes.
    assert copy.weight_bytes == pytest.approx(weights, rel=1e-3)


def test_an_embedding_is_not_read_where_the_head_is_apart() -> None:
    """
    Of Llama 3 8B half a billion parameters are the embedding; Qwen 2.5 0.5B has one
    table for both.
    """
    read = {}
    for name in ("meta-llama/Meta-Llama-3-8B", "Qwen/Qwen2.5-0.5B-Instruct"):
        made = plan(name, "ml.g5.xlarge")
        copy = estimate.copy_of(
            made,
            estimate.figures_of(made),
            "16",
            link_of("A10G"),
        )
        read[name] = made.architecture.parameter_count - copy.weight_bytes / 2

    assert list(read.values()) == [128_256 * 4096, 0]


def test_bounds_come_from_the_plan() -> None:
    """
    An engine fills the cache as sequences grow: of 200 tokens 110 are there by then.
    """
    made = plan(SMALL, "ml.g5.xlarge", assumptions=Assumptions(max_num_seqs=48))
    found = estimate_service_times(made, **LENGTHS)
    rooms = made.expected.kv_cache_room, made.best.kv_cache_room
    token_bytes = made.best.kv_cache_room / made.best.kv_cache_tokens
    halfway = sum(rooms) / 2 / token_bytes

    assert found.max_sequences == 48
    assert found.kv_tokens == int(halfway * 1100 / (900 + 110))
    assert found.is_estimate


def test_no_more_are_written_than_prompts_are_let_in() -> None:
    """
    A step takes 2,048 tokens of prompts: two of 1,000, each there for four tokens.
    """
    made = plan(SMALL, "ml.g5.xlarge")
    found = estimate_service_times(made, prompt_tokens=1000, answer_tokens=4)

    assert found.max_sequences == 8


def test_lengths_follow_the_context_where_none_are_given() -> None:
    """
    1,536 tokens and half of 1,024 are half of 4,096.
    """
    made = plan(SMALL, "ml.g5.xlarge")

    assert estimate_service_times(made) == estimate_service_times(
        made, prompt_tokens=1536, answer_tokens=1024
    )


def test_it_says_what_it_rests_on() -> None:
    """
    What was measured of such together, of how many publishers; else what was not.
    """
    close, far = (
        estimate_service_times(plan(SMALL, kind, weight_bits=bits), **LENGTHS)
        for kind, bits in (("ml.g5.xlarge", None), ("ml.g6e.xlarge", 8))
    )
    near = estimate_service_times(plan(SMALL, "ml.g6.xlarge"), **LENGTHS)

    assert close.source == (
        "a model of a step for 1 x A10G, 16-bit weights, vLLM, calibrated on 40 "
        "published measurements by 2026-01-31: 12 measurements of such from 2 sources; "
        "in 9 of 10 cases times are 0.8 to 1.2 times as long"
    )
    assert close.spread == (0.8, 1.25)
    assert near.source.endswith(
        ": nothing was measured of such together; in 9 of 10 cases times are 0.6 to "
        "1.7 times as long"
    )
    assert near.spread == (0.6, 1.7)
    assert far.source.endswith(
        ": nothing was measured of such together; nothing at all was measured of L40S, "
        "fp8 weights; in 9 of 10 cases times are 0.4 to 2.5 times as long"
    )
    assert far.spread == (0.4, 2.5)


@pytest.mark.parametrize(
    ("engine", "release", "generation"),
    [
        ("vllm", "0.7.3", "vllm-v0"),
        ("vllm", "0.8.0", "vllm-v1"),
        ("vllm", "0.13.0", "vllm-v1"),
        ("vllm", "0.14.0", "vllm-async"),
        ("vllm", None, "vllm-async"),
        ("tensorrt-llm", "0.21.0", "tensorrt-llm"),
        ("tensorrt-llm", "1.0.0", "tensorrt-llm-pytorch"),
        ("sglang", "0.5.6", "sglang"),
        ("tgi", None, "tgi"),
    ],
)
def test_releases_belong_to_generations(
    engine: str, release: str | None, generation: str
) -> None:
    """
    Of vLLM and TensorRT-LLM by their version.
    """
    assert generation_of(engine, release) == generation


@pytest.mark.parametrize(
    ("weight_format", "capability", "times"),
    [
        ("16", "9.0", 1),
        ("int4", "9.0", 1),
        ("fp8", "8.6", 1),
        ("fp8", "8.9", 2),
        ("w8a8", "8.0", 2),
        ("mxfp4", "9.0", 1),
        ("mxfp4", "10.0", 2),
        ("mxfp4", "12.0", 1),
        ("nvfp4", "9.0", 1),
        ("nvfp4", "12.0", 4),
        ("fp8", None, 1),
    ],
)
def test_gpus_compute_some_formats_faster(
    weight_format: str, capability: str | None, times: int
) -> None:
    """
    Else weights are stored in them alone.
    """
    assert speed_up(weight_format, capability) == times


@pytest.mark.parametrize(
    ("billions", "name"),
    [(4.5, "small"), (4.6, "medium"), (15, "medium"), (16, "large"), (81, "xl")],
)
def test_models_belong_to_classes(billions: float, name: str) -> None:
    """
    By their parameters; a mixture of experts is a class of its own.
    """
    model = ModelArchitecture.custom(
        parameters=int(billions * 1e9), kv_bytes_per_token=1000
    )

    assert size_class(model) == name
    assert size_class(EXPERTS) == "moe"


@pytest.mark.parametrize(
    ("kind", "engine", "assumed", "expected"),
    [
        ("ml.g5.xlarge", "vllm", {}, (256, 2048)),
        ("ml.p4de.24xlarge", "vllm", {}, (256, 2048)),
        ("ml.p5.48xlarge", "vllm", {}, (1024, 8192)),
        ("ml.p5.48xlarge", "sglang", {}, (1024, 8192)),
        ("ml.p5.48xlarge", "tensorrt-llm", {}, (2048, 8192)),
        ("ml.p5.48xlarge", "vllm", {"max_num_seqs": 8}, (8, 8192)),
        ("ml.p5.48xlarge", "vllm", {"max_num_batched_tokens": 512}, (1024, 512)),
        ("ml.p5.48xlarge", "vllm", {"max_num_batched_tokens": 16}, (1024, 256)),
    ],
)
def test_steps_are_as_large_as_the_engine_has_them(
    kind: str, engine: EngineName, assumed: dict[str, int], expected: tuple[int, int]
) -> None:
    """
    vLLM's larger defaults are for large GPUs, but not for A100.
    """
    made = plan(
        SMALL,
        kind,
        engine=engine,
        tensor_parallel_degree=1,
        assumptions=Assumptions(**assumed),
    )

    assert scheduled(made) == expected


def test_fails_if_the_model_does_not_fit() -> None:
    """
    There is no cache then, and no copy.
    """
    large = plan("meta-llama/Llama-2-13b-hf", "ml.g5.xlarge")
    with pytest.raises(ValueError, match="must fit ml.g5.xlarge .* larger type"):
        estimate_service_times(large)


def test_fails_if_the_accelerator_is_not_known() -> None:
    """
    The way out is to measure.
    """
    new = InstanceType.of(
        "ml.p9.xlarge",
        accelerators=1,
        vcpus=8,
        memory_gib=64,
        accelerator_model="B9",
        accelerator_memory_gib=80,
    )
    with pytest.raises(ValueError, match="of B9 .* measure service times"):
        estimate_service_times(plan(SMALL, new))


@pytest.mark.parametrize("name", ["prompt_tokens", "answer_tokens"])
@pytest.mark.parametrize(
    ("tokens", "must"),
    [(0, "above 0, got 0"), (-1, "above 0"), (float("nan"), "a finite number")],
)
def test_fails_if_a_length_is_none(name: str, tokens: float, must: str) -> None:
    """
    The name, the rule and the value.
    """
    made = plan(SMALL, "ml.g5.xlarge")
    with pytest.raises(ValueError, match=f"{name} must be {must}"):
        estimate_service_times(made, **{**LENGTHS, name: tokens})
