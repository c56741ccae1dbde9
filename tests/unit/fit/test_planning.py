"""
Whether models fit, how often, and what decides it.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdk_sagemaker_llm import InstanceType, ModelArchitecture
from cdk_sagemaker_llm.catalog.architectures import model_names
from cdk_sagemaker_llm.catalog.instances import (
    accelerated_type_names,
    find_instance_type,
)
from cdk_sagemaker_llm.fit import Assumptions, plan
from cdk_sagemaker_llm.fit.setting import GIB

LLAMA = "meta-llama/Llama-2-{}-hf"
P4D, G5_12X = "ml.p4d.24xlarge", "ml.g5.12xlarge"
GPU_TYPES = [
    name
    for name in accelerated_type_names()
    if not name.startswith(("ml.inf", "ml.trn", "ml.dl"))
]
MODELS = {name: ModelArchitecture.of(name) for name in model_names()}


@pytest.mark.parametrize(
    ("size", "weight_bits", "replicas", "degree"),
    [
        ("7b", 16, 8, 1),
        ("13b", 16, 8, 1),
        ("70b", 16, 2, 4),
        ("7b", 4, 8, 1),
        ("13b", 4, 8, 1),
        ("70b", 4, 4, 2),
    ],
)
def test_the_published_table_follows_from_the_arithmetic(
    size: str, weight_bits: int, replicas: int, degree: int
) -> None:
    """
    Replicas of Llama 2 on ml.p4d.24xlarge, and the degree that each needs.
    """
    found = plan(LLAMA.format(size), P4D, weight_bits=weight_bits)

    assert (found.replicas, found.tensor_parallel_degree) == (replicas, degree)


@pytest.mark.parametrize(
    ("model", "instance_type", "degree", "context"),
    [
        ("mistralai/Mistral-7B-v0.1", G5_12X, 4, None),
        ("mistralai/Mixtral-8x7B-v0.1", P4D, 8, None),
        ("meta-llama/Llama-2-13b-chat-hf", P4D, 1, 4096),
    ],
)
def test_the_reference_deployments_fit(
    model: str, instance_type: str, degree: int, context: int | None
) -> None:
    """
    With the settings that they were published with.
    """
    found = plan(
        model, instance_type, tensor_parallel_degree=degree, context_length=context
    )

    assert found.fits
    assert found.limit == "accelerators"


@pytest.mark.parametrize(
    ("model", "instance_type", "degree", "limit", "number"),
    [
        ("mistralai/Mixtral-8x7B-v0.1", G5_12X, None, "weights", "21.75"),
        ("meta-llama/Llama-2-70b-hf", P4D, 2, "weights", "64.24"),
        ("meta-llama/Llama-2-13b-hf", "ml.g5.2xlarge", None, "weights", "24.24"),
        (
            "meta-llama/Llama-2-13b-hf",
            P4D,
            3,
            "tensor_parallel_degree",
            "3 does not divide the 40 attention heads",
        ),
        (
            "microsoft/phi-4",
            G5_12X,
            4,
            "tensor_parallel_degree",
            "4 does not divide the 10 key and value heads",
        ),
        (
            "meta-llama/Llama-2-13b-hf",
            G5_12X,
            8,
            "tensor_parallel_degree",
            "has 4 accelerators, fewer than 8",
        ),
    ],
)
def test_what_cannot_run_is_refused_with_the_number_that_decides(
    model: str, instance_type: str, degree: int | None, limit: str, number: str
) -> None:
    """
    Too much weight, or a degree that is impossible.
    """
    found = plan(model, instance_type, tensor_parallel_degree=degree)

    assert not found.fits
    assert not found.loads
    assert found.replicas == 0
    assert found.limit == limit
    assert number in found.explain()


@pytest.mark.parametrize(
    ("model", "instance_type", "degree"),
    [
        # The smallest power of two that divides the heads and fits: 7B has 32 heads.
        ("meta-llama/Llama-2-7b-hf", "ml.g5.xlarge", 1),
        ("meta-llama/Llama-2-7b-hf", "ml.g4dn.12xlarge", 2),
        ("meta-llama/Llama-2-70b-hf", "ml.p5.48xlarge", 2),
        # None fits: the largest that the instance has.
        ("meta-llama/Llama-2-70b-hf", "ml.g5.12xlarge", 4),
        ("meta-llama/Llama-2-70b-hf", "ml.g5.xlarge", 1),
    ],
)
def test_the_degree_is_the_smallest_that_fits(
    model: str, instance_type: str, degree: int
) -> None:
    """
    Or the one that comes nearest.
    """
    assert plan(model, instance_type).tensor_parallel_degree == degree


@pytest.mark.parametrize(
    ("model", "wanted", "tokens"),
    [
        ("meta-llama/Llama-3.1-8B", None, 4096),
        ("meta-llama/Llama-2-7b-hf", None, 4096),
        ("tiiuae/falcon-7b", None, 2048),
        ("meta-llama/Llama-2-7b-hf", 1, 1),
        ("meta-llama/Llama-2-7b-hf", 4096, 4096),
    ],
)
def test_the_context_is_what_is_asked_for_or_4096(
    model: str, wanted: int | None, tokens: int
) -> None:
    """
    Or what the model has, if that is less.
    """
    assert plan(model, P4D, context_length=wanted).context_length == tokens


def test_nine_copies_of_13b_are_one_too_many() -> None:
    """
    One p4d has eight accelerators.
    """
    found = plan(LLAMA.format("13b"), P4D)

    assert found.replicas == 8
    assert found.resources.copies == 8
    assert found.resources.accelerators == 1


def test_a_model_can_load_and_hold_no_whole_sequence() -> None:
    """
    The cache decides then, and says how many tokens it holds.
    """
    found = plan("mistralai/Mistral-7B-v0.1", "ml.g5.xlarge", context_length=32768)
    long = plan("meta-llama/Llama-3.1-8B", "ml.g5.xlarge", context_length=131072)

    assert found.fits
    assert long.loads
    assert not long.fits
    assert long.limit == "kv_cache"
    assert 0 < long.largest_context == long.kv_cache_tokens < 131072
    assert f"holds at best {long.best.kv_cache_tokens} tokens" in long.explain()


def test_the_explanation_shows_every_term_and_the_total() -> None:
    """
    To the hundredth of a GiB, per accelerator.
    """
    text = plan(LLAMA.format("70b"), P4D).explain()

    for line in (
        "LlamaForCausalLM, 68,976,648,192 parameters in 16 bits",
        "8 x A100-40GB with 40 GiB, tensor parallel degree 4",
        "weights                      32.12     32.17     32.27",
        "capacity                     39.40     39.40     39.40",
        "fits: 2 per instance",
    ):
        assert line in text


def test_what_to_ask_for_leaves_the_host_something() -> None:
    """
    All copies together reserve less than the instance has of everything.
    """
    found = plan(LLAMA.format("13b"), P4D)
    needs, hardware = found.resources, found.instance_type

    assert needs.cpus is not None
    assert needs.copies * needs.cpus < hardware.vcpus
    assert needs.copies * needs.memory_mib < hardware.memory_gib * 1024


@pytest.mark.parametrize(
    ("changed", "more"),
    [
        (Assumptions(gpu_memory_utilization=0.95), True),
        (Assumptions(cuda_graphs_gib=0.0, gpu_memory_utilization=1.0), True),
        (Assumptions(kv_cache_dtype_bytes=1), True),
        (Assumptions(runtime_gib=2.0), False),
        (Assumptions(max_num_seqs=64), True),
    ],
)
def test_every_assumption_can_be_changed(changed: Assumptions, *, more: bool) -> None:
    """
    A parameter overrides each constant.
    """
    usual = plan(LLAMA.format("13b"), P4D)
    other = plan(LLAMA.format("13b"), P4D, assumptions=changed)

    assert (other.kv_cache_tokens > usual.kv_cache_tokens) == more


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weight_bits": 3}, "weight_bits must be 4, 8, 16 or 32, got 3"),
        (
            {"context_length": 4097},
            "context_length must be 1 to the model's 4096, got 4097",
        ),
        ({"context_length": 0}, "got 0"),
        (
            {"tensor_parallel_degree": 0},
            "tensor_parallel_degree must be at least 1, got 0",
        ),
        (
            {"instance_type": "ml.inf2.48xlarge"},
            "plans are for GPUs, and ml.inf2.48xlarge has Inferentia2: how Neuron",
        ),
        ({"instance_type": "ml.dl1.24xlarge"}, "and ml.dl1.24xlarge has HL-205"),
        ({"instance_type": "ml.g5.huge"}, "unknown instance type"),
        ({"architecture": "org/unknown"}, "no model 'org/unknown' in the catalogue"),
    ],
)
def test_fails_if_no_plan_can_be_made(
    arguments: dict[str, object], message: str
) -> None:
    """
    The value got, the rule, the way out.
    """
    given = {
        "architecture": LLAMA.format("7b"),
        "instance_type": P4D,
        **arguments,
    }
    with pytest.raises(ValueError, match=message):
        plan(**given)  # type: ignore[arg-type] # values of several kinds


def test_a_described_instance_type_needs_its_accelerators() -> None:
    """
    And their memory; the memory of none is no memory, nor vLLM's to take.
    """
    none = InstanceType.of(
        "ml.p9.huge", accelerators=0, vcpus=8, memory_gib=64, accelerator_memory_gib=24
    )
    bare = InstanceType.of("ml.p9.huge", accelerators=1, vcpus=8, memory_gib=64)

    with pytest.raises(ValueError, match=r"^ml\.p9\.huge has no GPU, and what vLLM"):
        plan(LLAMA.format("7b"), none)
    with pytest.raises(ValueError, match=r"ml\.p9\.huge has no accelerator memory"):
        plan(LLAMA.format("7b"), bare)


def test_an_encoder_needs_no_cache() -> None:
    """
    What is left decides nothing: as many texts are read as a step takes.
    """
    found = plan("BAAI/bge-m3", "ml.g5.xlarge", context_length=8192)

    assert found.fits
    assert found.replicas == 1
    assert [each.terms.kv_cache for each in (found.best, found.cautious)] == [0, 0]
    assert found.concurrent_sequences == found.largest_batch == 256
    assert found.kv_cache_tokens == 256 * 8192
    assert found.largest_context == 8192
    assert "an encoder keeps no KV cache" in found.explain()
    assert "a step of 256 sequences" in found.explain()
    assert "room for KV cache" not in found.explain()


def test_an_encoder_that_leaves_no_room_does_not_load() -> None:
    """
    It is short of memory like any other model.
    """
    taken = Assumptions(gpu_memory_utilization=0.01)
    found = plan("BAAI/bge-m3", "ml.g5.xlarge", assumptions=taken)

    assert not found.best.loads
    assert found.concurrent_sequences == 0
    assert found.kv_cache_tokens == 0
    assert "does not load" in found.explain()


def test_only_powers_of_two_are_tried() -> None:
    """
    Three A100 would hold 90 GB, and divide 24 heads, but little else of a model.
    """
    model = ModelArchitecture.custom(
        parameters=45 * 10**9,
        kv_bytes_per_token=2048,
        num_attention_heads=24,
        num_key_value_heads=24,
    )
    given = plan(model, P4D, tensor_parallel_degree=3)
    chosen = plan(model, P4D)

    assert (given.tensor_parallel_degree, given.fits) == (3, True)
    assert (chosen.tensor_parallel_degree, chosen.fits) == (4, True)


def test_a_described_instance_type_needs_its_memory() -> None:
    """
    Without a figure nothing can be said.
    """
    unknown = InstanceType.of("ml.p9.huge", accelerators=8, vcpus=8, memory_gib=64)

    with pytest.raises(ValueError, match="accelerator_memory_gib"):
        plan(LLAMA.format("7b"), unknown)


contexts = st.integers(1, 2048)
bits = st.sampled_from([4, 8, 16, 32])
models = st.sampled_from(sorted(MODELS)).map(MODELS.__getitem__)
types = st.sampled_from(GPU_TYPES).map(find_instance_type)


@given(models, types, bits, contexts)
def test_every_model_can_be_planned_on_every_type(
    model: ModelArchitecture, hardware: InstanceType, weight_bits: int, context: int
) -> None:
    """
    The terms sum up to the total, and copies never take more than there is.
    """
    context = min(context, model.context_length)
    found = plan(model, hardware, weight_bits=weight_bits, context_length=context)
    degree = found.tensor_parallel_degree

    assert sum(found.terms.items().values()) == found.terms.total
    assert found.replicas * degree <= hardware.accelerators
    assert found.fits <= found.loads
    assert found.fits <= (found.terms.total <= found.capacity)
    assert found.largest_context >= context or not found.fits
    assert found.concurrent_sequences >= found.fits
    assert found.explain()


@given(models, types, bits, contexts, st.floats(2, 64))
def test_more_memory_never_fits_less(
    model: ModelArchitecture,
    hardware: InstanceType,
    weight_bits: int,
    context: int,
    more: float,
) -> None:
    """
    Neither copies nor tokens are lost to a larger accelerator. Of one that is not
    catalogued a fiftieth is taken to be the driver's: two GiB more are more.
    """
    memory = hardware.accelerator_memory_gib + more
    larger = replace(hardware, accelerator_memory_gib=memory)
    context = min(context, model.context_length)
    small = plan(model, hardware, weight_bits=weight_bits, context_length=context)
    large = plan(model, larger, weight_bits=weight_bits, context_length=context)

    assert large.replicas >= small.replicas
    assert large.fits >= small.fits


@given(models, types, bits, st.integers(1, 1024), st.integers(0, 1024))
def test_a_longer_context_never_fits_more(
    model: ModelArchitecture,
    hardware: InstanceType,
    weight_bits: int,
    context: int,
    more: int,
) -> None:
    """
    Nor does a wider weight.
    """
    longer = min(context + more, model.context_length)
    context = min(context, longer)
    short = plan(model, hardware, weight_bits=weight_bits, context_length=context)
    long = plan(model, hardware, weight_bits=weight_bits, context_length=longer)

    assert long.replicas <= short.replicas


def test_memory_is_counted_as_cuda_shows_it() -> None:
    """
    An A10G has 22.05 GiB, not the 22.35 that the EC2 API says, nor 24.
    """
    found = plan(LLAMA.format("7b"), "ml.g5.xlarge")

    assert found.capacity == int(22.05 * GIB)
