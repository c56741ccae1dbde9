"""
Transformers-NeuronX on LMI images: what each parameter writes.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm import HuggingFaceModel, NeuronX
from tests.unit.serving.answers import container_of
from tests.unit.serving.lmi.parameters import (
    COMMON,
    MODEL,
    Row,
    all_of,
    keywords_of,
    named_in,
    text_of,
)

WAITING = "option.model_loading_timeout=1800"
OWN: list[Row] = [
    ("quantize", "static_int8", "option.quantize=static_int8"),
    ("rolling_batch", "tnx", "option.rolling_batch=tnx"),
    ("n_positions", 4096, "option.n_positions=4096"),
    ("context_length_estimate", [512, 1024], "option.context_length_estimate=512,1024"),
    (
        "group_query_attention",
        "shard-over-batch",
        "option.group_query_attention=shard-over-batch",
    ),
    ("load_in_8bit", True, "option.load_in_8bit=true"),
    ("neuron_optimize_level", 2, "option.neuron_optimize_level=2"),
    (
        "enable_mixed_precision_accumulation",
        True,
        "option.enable_mixed_precision_accumulation=true",
    ),
    ("unroll", "2", "option.unroll=2"),
    ("compiled_graph_path", "s3://b/p/", "option.compiled_graph_path=s3://b/p/"),
    ("load_split_model", False, "option.load_split_model=false"),
    ("low_cpu_mem_usage", True, "option.low_cpu_mem_usage=true"),
    ("batch_size", 4, "option.batch_size=4"),
    ("speculative_draft_model", "a/b", "option.speculative_draft_model=a/b"),
    ("speculative_length", 6, "option.speculative_length=6"),
    ("fuse_qkv", True, "option.fuse_qkv=true"),
    ("model_loader", "tnx", "option.model_loader=tnx"),
]


def test_every_parameter_has_a_row() -> None:
    """
    A new one comes with the line that it writes.
    """
    assert named_in(COMMON, OWN) | {"precompiled"} == keywords_of(NeuronX)


@pytest.mark.parametrize(
    ("keyword", "value", "line"), [*COMMON, *OWN], ids=lambda value: str(value)[:40]
)
def test_a_parameter_writes_its_line(keyword: str, value: object, line: str) -> None:
    """
    The option that NeuronX reads, and no other.
    """
    serving = NeuronX("0.29.0", **{keyword: value})  # type: ignore[arg-type] # any of all

    assert line in text_of(serving).splitlines()


def test_all_parameters_are_written_in_their_order() -> None:
    """
    But the batch that excludes a rolling one.
    """
    model = HuggingFaceModel("org/model", revision="abc123")
    serving = NeuronX("0.29.0", **all_of(COMMON, OWN, but=["batch_size"]))

    assert text_of(serving, model) == (
        "engine=Python\n"
        "option.tensor_parallel_degree=4\n"
        "option.model_id=org/model\n"
        "option.revision=abc123\n"
        "option.max_rolling_batch_size=24\n"
        "option.rolling_batch=tnx\n"
        "option.model_loading_timeout=900\n"
        "option.predict_timeout=60\n"
        "option.dtype=fp16\n"
        "option.quantize=static_int8\n"
        "option.trust_remote_code=true\n"
        "option.output_formatter=jsonlines\n"
        "option.n_positions=4096\n"
        "option.context_length_estimate=512,1024\n"
        "option.group_query_attention=shard-over-batch\n"
        "option.load_in_8bit=true\n"
        "option.neuron_optimize_level=2\n"
        "option.enable_mixed_precision_accumulation=true\n"
        "option.unroll=2\n"
        "option.compiled_graph_path=s3://b/p/\n"
        "option.load_split_model=false\n"
        "option.low_cpu_mem_usage=true\n"
        "option.speculative_draft_model=a/b\n"
        "option.speculative_length=6\n"
        "option.fuse_qkv=true\n"
        "option.model_loader=tnx\n"
        "job_queue_size=500\n"
        "option.brand_new=1.5\n"
    )


@pytest.mark.parametrize(
    ("serving", "lines"),
    [
        (NeuronX("0.29.0"), ["option.rolling_batch=auto", WAITING]),
        (
            NeuronX("0.29.0", batch_size=4),
            ["option.rolling_batch=disable", WAITING, "option.batch_size=4"],
        ),
        (
            NeuronX("0.29.0", batch_size=1, rolling_batch="auto"),
            ["option.rolling_batch=auto", WAITING, "option.batch_size=1"],
        ),
    ],
    ids=["nothing", "a batch", "both"],
)
def test_a_fixed_batch_switches_the_rolling_one_off(
    serving: NeuronX, lines: list[str]
) -> None:
    """
    Unless the caller says otherwise.
    """
    first = ["engine=Python", "option.model_id=org/model"]

    assert text_of(serving).splitlines() == [*first, *lines]


def test_its_image_is_of_its_own_family() -> None:
    """
    For Neuron devices.
    """
    image = container_of(NeuronX("0.29.0"), MODEL, 1).image

    assert (image.family, image.version) == ("djl-neuronx", "0.29.0")


def test_what_it_asks_of_the_memory_is_not_modelled() -> None:
    """
    No plan is made with it.
    """
    assert NeuronX("0.29.0").prepare(MODEL, 1).demand is None
