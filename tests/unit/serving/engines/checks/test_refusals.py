"""
What vLLM's configuration and SGLang's launch refuse together, as their code was read:
what is listed, on both sides, and what real deployments write.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from cdk_sagemaker_llm.catalog.engine_arguments import (
    ENGINES,
    Engine,
    engine_releases,
    refusals_of,
)
from cdk_sagemaker_llm.catalog.images import image_versions
from cdk_sagemaker_llm.serving.engines.checks.refusals import UNKNOWN, holds
from cdk_sagemaker_llm.serving.engines.engine_environment import engine_findings
from cdk_sagemaker_llm.serving.engines.entry_points import SGLANG_PREFIX, VLLM_PREFIX
from tools.catalog.refusals import refusals, rows

DRAFT = json.dumps({"num_speculative_tokens": 3})
REFUSED: list[dict[str, str]] = [
    {"MAX_NUM_SEQS": "512", "MAX_NUM_BATCHED_TOKENS": "511"},
    {
        "NO_ENABLE_CHUNKED_PREFILL": "true",
        "MAX_NUM_BATCHED_TOKENS": "4095",
        "MAX_MODEL_LEN": "4096",
    },
    {"ENABLE_LORA": "true", "MAX_LORAS": "4", "MAX_CPU_LORAS": "3"},
    {"ENABLE_EPLB": "true"},
    {"ENABLE_ELASTIC_EP": "true"},
    {"ENABLE_DBO": "true"},
    {"NUMA_BIND_NODES": "0"},
    {"COLLECT_DETAILED_TRACES": "all"},
    {"DECODE_CONTEXT_PARALLEL_SIZE": "3", "TENSOR_PARALLEL_SIZE": "4"},
    {"OFFLOAD_GROUP_SIZE": "2", "OFFLOAD_NUM_IN_GROUP": "3"},
    {"DATA_PARALLEL_EXTERNAL_LB": "true"},
    {"DATA_PARALLEL_SIZE": "2", "DATA_PARALLEL_SIZE_LOCAL": "3"},
    {"SPECULATIVE_CONFIG": DRAFT},
    {"SPEC_TOKENS": "3"},
    {"SPEC_METHOD": "ngram", "SPECULATIVE_CONFIG": json.dumps({"method": "eagle3"})},
    {"RAY_WORKERS_USE_NSIGHT": "true"},
    {"NUMA_BIND": "true", "NUMA_BIND_CPUS": "none"},
    {"SHOW_HIDDEN_METRICS_FOR_VERSION": "fp8"},
    {
        "ENABLE_MAMBA_CACHE_STOCHASTIC_ROUNDING": "true",
        "MAMBA_SSM_CACHE_DTYPE": "float32",
    },
    {"MAMBA_SSU_ALGORITHM": "simple"},
    {
        "CUDAGRAPH_CAPTURE_SIZES": "8",
        "COMPILATION_CONFIG": json.dumps({"cudagraph_capture_sizes": [8]}),
    },
    {"KV_TRANSFER_CONFIG": json.dumps({"kv_role": "kv_both"})},
    {"LIMIT_MM_PER_PROMPT": json.dumps({"image": "x"})},
    {"OVERRIDE_GENERATION_CONFIG": "3"},
    {"DIFFUSION_CONFIG": json.dumps({"image": 1})},
    {"PT_LOAD_MAP_LOCATION": json.dumps({"cuda:0": 1})},
]
TAKEN: list[dict[str, str]] = [
    {"MAX_NUM_SEQS": "512", "MAX_NUM_BATCHED_TOKENS": "512"},
    {
        "NO_ENABLE_CHUNKED_PREFILL": "true",
        "MAX_NUM_BATCHED_TOKENS": "4096",
        "MAX_MODEL_LEN": "4096",
    },
    {
        "NO_ENABLE_CHUNKED_PREFILL": "true",
        "MAX_NUM_BATCHED_TOKENS": "2048",
        "MAX_MODEL_LEN": "auto",
    },
    {"ENABLE_LORA": "true", "MAX_LORAS": "4", "MAX_CPU_LORAS": "4"},
    # Without LoRA nobody looks at them.
    {"MAX_LORAS": "4", "MAX_CPU_LORAS": "3"},
    {
        "ENABLE_EPLB": "true",
        "ENABLE_EXPERT_PARALLEL": "true",
        "TENSOR_PARALLEL_SIZE": "2",
    },
    {"ENABLE_DBO": "true", "ALL2ALL_BACKEND": "deepep_low_latency"},
    {"NUMA_BIND": "true", "NUMA_BIND_NODES": "0"},
    {"COLLECT_DETAILED_TRACES": "all", "OTLP_TRACES_ENDPOINT": "http://traces:4317"},
    {"DECODE_CONTEXT_PARALLEL_SIZE": "2", "TENSOR_PARALLEL_SIZE": "4"},
    {"OFFLOAD_GROUP_SIZE": "4", "OFFLOAD_NUM_IN_GROUP": "3"},
    {"DATA_PARALLEL_SIZE": "2"},
    {"DISTRIBUTED_EXECUTOR_BACKEND": "mp", "ASYNC_SCHEDULING": "true"},
    {"ASYNC_SCHEDULING": "true"},
    {"PERFORMANCE_MODE": "throughput"},
    {"SPEC_METHOD": "ngram", "SPEC_TOKENS": "3"},
    {"SPEC_TOKENS": "3", "SPECULATIVE_CONFIG": json.dumps({"model": "a/b"})},
    {"KV_CACHE_DTYPE": "fp8", "BLOCK_SIZE": "16", "ENFORCE_EAGER": "true"},
    {"RAY_WORKERS_USE_NSIGHT": "true", "DISTRIBUTED_EXECUTOR_BACKEND": "ray"},
    {"NUMA_BIND": "true", "NUMA_BIND_CPUS": "0-3"},
    {"SHOW_HIDDEN_METRICS_FOR_VERSION": "0.29"},
    {
        "ENABLE_MAMBA_CACHE_STOCHASTIC_ROUNDING": "true",
        "MAMBA_SSM_CACHE_DTYPE": "float16",
    },
    # Some models bring the kind of their cache along.
    {"ENABLE_MAMBA_CACHE_STOCHASTIC_ROUNDING": "true"},
    {"MAMBA_SSU_ALGORITHM": "simple", "MAMBA_BACKEND": "flashinfer"},
    {
        "CUDAGRAPH_CAPTURE_SIZES": "8",
        "COMPILATION_CONFIG": json.dumps({"cudagraph_mode": "FULL"}),
    },
    {"ATTENTION_BACKEND": "FLASHINFER", "ATTENTION_CONFIG": '{"backend": "auto"}'},
    {
        "KV_TRANSFER_CONFIG": json.dumps(
            {"kv_role": "kv_both", "kv_connector": "NixlConnector"}
        )
    },
    {"LIMIT_MM_PER_PROMPT": json.dumps({"image": 2, "video": {"count": 1}})},
    {"OVERRIDE_GENERATION_CONFIG": json.dumps({"temperature": 0.5})},
    {"DIFFUSION_CONFIG": json.dumps({"canvas_length": 32})},
    {"PT_LOAD_MAP_LOCATION": "cuda:0"},
    {"PT_LOAD_MAP_LOCATION": json.dumps({"cuda:0": "cuda:1"})},
]
DRAFTS: list[dict[str, object]] = [
    {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 4},
    {"model": "a/b", "num_speculative_tokens": 5},
    {"method": "eagle3", "model": "a/b", "num_speculative_tokens": 2},
    {"method": "mtp", "num_speculative_tokens": 1},
    {"method": "mtp"},
    {"method": "suffix", "num_speculative_tokens": 32},
]


# Each starts, or does not, on a GPU that is not there (make oracles).
BY_SGLANG: list[dict[str, str]] = [
    {"ENABLE_TOKENIZER_BATCH_ENCODE": "true", "ENABLE_DYNAMIC_BATCH_TOKENIZER": "true"},
    {"PP_MAX_MICRO_BATCH_SIZE": "0"},
    {"RETRACTION_POLICY": "priority"},
    {"ENABLE_PREFILL_CP": "true"},
    {"MAX_EP_SIZE": "16"},
    {"ELASTIC_EP_JOIN_MODE": "recover"},
    {"DISAGGREGATION_DECODE_ENABLE_OFFLOAD_KVCACHE": "true"},
    {"ENABLE_PRIORITY_SCHEDULING": "true", "SCHEDULE_POLICY": "dfs-weight"},
    {"SPECULATIVE_ALGORITHM": "mp"},
    {"SPECULATIVE_SKIP_DP_MLP_SYNC": "true"},
    {"PROMPT_TOKENS_BUCKETS": "1"},
    {"EP_DISPATCH_ALGORITHM": "static"},
    {"ENABLE_EPLB": "true"},
    {"ATTENTION_BACKEND": "trtllm_mla", "ENABLE_DETERMINISTIC_INFERENCE": "true"},
]
TAKEN_BY_SGLANG: list[dict[str, str]] = [
    {"ENABLE_TOKENIZER_BATCH_ENCODE": "true"},
    {"PP_MAX_MICRO_BATCH_SIZE": "1"},
    {"RETRACTION_POLICY": "priority", "ENABLE_PRIORITY_SCHEDULING": "true"},
    {"ENABLE_PRIORITY_SCHEDULING": "true", "SCHEDULE_POLICY": "fcfs"},
    {"TP_SIZE": "4", "ENABLE_MIXED_CHUNK": "true"},
    {"CHUNKED_PREFILL_SIZE": "-1"},
    {"ATTENTION_BACKEND": "triton", "ENABLE_DETERMINISTIC_INFERENCE": "true"},
    {"SPECULATIVE_ALGORITHM": "nextn", "SPECULATIVE_DRAFT_MODEL_PATH": "a/b"},
    {"SPECULATIVE_ALGORITHM": "EAGLE", "SPECULATIVE_SKIP_DP_MLP_SYNC": "true"},
    {"PROMPT_TOKENS_BUCKETS": "default"},
    {"EP_DISPATCH_ALGORITHM": "dynamic"},
    {"ENABLE_EPLB": "true", "TP_SIZE": "8", "EP_SIZE": "8"},
]


def told(environment: Mapping[str, str], version: str, family: str) -> list[str]:
    """
    Return what the engine's configuration is said to refuse.
    """
    prefix = SGLANG_PREFIX if family == "sglang" else VLLM_PREFIX
    found = engine_findings(
        {prefix + name: value for name, value in environment.items()},
        family=family,
        version=version,
        accelerators=None,
    )
    return [one.code for one in found if one.code == "LLM543"]


@pytest.mark.parametrize("environment", REFUSED, ids=str)
def test_what_does_not_go_together_is_an_error(environment: dict[str, str]) -> None:
    """
    Each in the newest image.
    """
    assert told(environment, "2.6", "vllm-server") == ["LLM543"]


@pytest.mark.parametrize("environment", TAKEN, ids=str)
def test_what_goes_together_is_none(environment: dict[str, str]) -> None:
    """
    The other side of each.
    """
    assert told(environment, "2.6", "vllm-server") == []


@pytest.mark.parametrize("environment", BY_SGLANG, ids=str)
def test_what_sglang_refuses_together_is_an_error(environment: dict[str, str]) -> None:
    """
    As its launch says.
    """
    assert told(environment, "0.5.20", "sglang") == ["LLM543"]


@pytest.mark.parametrize("environment", TAKEN_BY_SGLANG, ids=str)
def test_what_sglang_takes_together_is_none(environment: dict[str, str]) -> None:
    """
    The other side.
    """
    assert told(environment, "0.5.20", "sglang") == []


def test_words_that_a_supervisor_takes_apart_are_seen() -> None:
    """
    One variable holds two, and the engine gets them one by one.
    """
    cpus = {"NUMA_BIND": "true", "NUMA_BIND_CPUS": "0-3 none"}
    nodes = {"NUMA_BIND_NODES": "0 1"}

    assert told(cpus, "0.20.2", "vllm") == ["LLM543"]
    assert told({**cpus, "NUMA_BIND_CPUS": "0-3 4-7"}, "0.20.2", "vllm") == []
    assert told(nodes, "0.20.2", "vllm") == ["LLM543"]
    assert told({**nodes, "NUMA_BIND": "true"}, "0.20.2", "vllm") == []


def test_what_a_model_s_class_brings_along_is_left_to_it() -> None:
    """
    Nemotron-H says what its cache is; Llama has none such.
    """

    def codes(architecture: str) -> list[str]:
        found = engine_findings(
            {"SM_VLLM_ENABLE_MAMBA_CACHE_STOCHASTIC_ROUNDING": "true"},
            family="vllm-server",
            version="2.6",
            accelerators=None,
            architecture=architecture,
        )
        return [one.code for one in found if one.code == "LLM543"]

    assert codes("NemotronHForCausalLM") == []
    assert codes("LlamaForCausalLM") == ["LLM543"]


@pytest.mark.parametrize("version", image_versions("vllm"))
def test_drafts_that_start_are_not_refused(version: str) -> None:
    """
    What the draft model decides is left to it, in each release.
    """
    for draft in DRAFTS:
        environment = {"SPECULATIVE_CONFIG": json.dumps(draft)}

        assert told(environment, version, "vllm") == [], draft


def test_the_message_has_the_variables_and_the_engine_s_words() -> None:
    """
    Who reads it knows what to change.
    """
    (found,) = [
        one
        for one in engine_findings(
            {"SM_VLLM_ENABLE_EPLB": "true"},
            family="vllm-server",
            version="2.6",
            accelerators=None,
        )
        if one.code == "LLM543"
    ]

    assert found.message == (
        "vLLM 0.30.0 does not start with SM_VLLM_ENABLE_EPLB: "
        "enable_expert_parallel must be True to use EPLB"
    )


@pytest.mark.parametrize(
    ("engine", "release"),
    [(engine, release) for engine in ENGINES for release in engine_releases(engine)],
)
def test_each_condition_can_be_read(engine: Engine, release: str) -> None:
    """
    None holds of a container that says nothing, and none is broken.
    """
    for condition, row in refusals_of(engine, release).items():
        names = {**row["with"], **dict.fromkeys(row.get("where", {}), UNKNOWN)}

        assert holds(condition, names.__getitem__) in (False, None, UNKNOWN), condition


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("a and unknown()", UNKNOWN),
        ("b and unknown()", False),
        ("a or unknown()", True),
        ("not unknown()", UNKNOWN),
        ("c > 2 and c % 2 == 1", True),
        ("(1 if unknown() else 1) == 1", True),
        ("(1 if unknown() else 2) == 1", UNKNOWN),
        ("missing + 1 > 0", UNKNOWN),
    ],
)
def test_a_condition_is_told_as_far_as_it_is_known(
    condition: str, value: object
) -> None:
    """
    What is not known makes an end uncertain only where it matters.
    """
    names = {"a": True, "b": False, "c": 3}

    assert holds(condition, lambda name: names.get(name, UNKNOWN)) is value


def test_a_class_is_read_as_it_is_written(tmp_path: Path) -> None:
    """
    What a model decides is left out, and what stands behind it.
    """
    package = tmp_path / "vllm"
    (package / "config").mkdir(parents=True)
    (package / "engine").mkdir()
    (package / "config" / "it.py").write_text(
        "class ItConfig:\n"
        "    size: int = 1\n"
        "    most: int = 8\n"
        "    def __post_init__(self):\n"
        "        if self.size > self.most:\n"
        "            raise ValueError(f'size {self.size} is too large')\n"
        "        if looks(self.size):\n"
        "            raise ValueError('the machine says so')\n"
        "        if looks(self.most):\n"
        "            return\n"
        "        if self.most == 3:\n"
        "            raise ValueError('never certain')\n"
    )
    (package / "engine" / "arg_utils.py").write_text(
        "class EngineArgs:\n"
        "    size: int = ItConfig.size\n"
        "    most: int = ItConfig.most\n"
        "    def create_engine_config(self):\n"
        "        it = ItConfig(size=self.size, most=self.most)\n"
        "        return it\n"
    )

    found = refusals(tmp_path)

    row = {"with": {"most": 8, "size": 1}, "says": "size ... is too large"}
    assert found == {"size > most": row}
    assert rows({"1.0": found, "1.1": {}, "1.2": found}) == [
        {"if": "size > most", **row, "in": [["1.0", "1.0"], ["1.2", "1.2"]]}
    ]


def test_a_class_s_own_validators_are_run_over_forms(tmp_path: Path) -> None:
    """
    And so are the kinds of its fields; a form of which one example is taken is none.
    """
    package = tmp_path / "vllm"
    (package / "config").mkdir(parents=True)
    (package / "engine").mkdir()
    (package / "config" / "it.py").write_text(
        "_FORM = re.compile('[0-9]+|none')\n"
        "class ModelConfig:\n"
        "    cpus: list[str] | None = None\n"
        "    limits: InitVar[dict[str, int] | None] = None\n"
        "    @field_validator('cpus')\n"
        "    @classmethod\n"
        "    def _validate(cls, value):\n"
        "        for one in value:\n"
        "            if not _FORM.fullmatch(one):\n"
        "                raise ValueError('cpus are numbers')\n"
        "        return value\n"
    )
    (package / "engine" / "arg_utils.py").write_text(
        "class EngineArgs:\n"
        "    cpus: list[str] | None = None\n"
        "    limits: dict[str, int] | None = None\n"
        "    def create_engine_config(self):\n"
        "        return ModelConfig(cpus=self.cpus, limits=self.limits)\n"
    )

    found = refusals(tmp_path)

    assert list(found) == [
        r"like(cpus, '[A-Za-z]{2,}\\d+')",
        r"like(cpus, '\\d+\\.\\d+')",
        r"like(cpus, '\\d+(\\.\\d+){2}')",
        r"like(cpus, '-\\d+')",
        "kind(limits) == 'list'",
        "kind(limits) == 'number'",
        "kind(limits) == 'object of words'",
    ]
    assert found["kind(limits) == 'list'"] == {
        "with": {"limits": None},
        "says": "Input should be a valid dictionary",
    }
