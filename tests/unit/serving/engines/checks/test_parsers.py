"""
What the engines' own parsers take and refuse is told apart as they do it.

Each expected value was seen with the parser of the release: vLLM 0.13.0, 0.20.2,
0.24.0 and 0.30.0, and SGLang 0.5.19, run on arguments as the entry points write them.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.findings import errors_of
from cdk_sagemaker_llm.serving import check_environment


def is_refused(family: str, version: str, variables: dict[str, str]) -> bool:
    """
    Whether an environment is said not to start.
    """
    of_sglang = family.startswith("sglang")
    prefix = "SM_SGLANG_" if of_sglang else "SM_VLLM_"
    model = {"SM_SGLANG_MODEL_PATH" if of_sglang else "SM_VLLM_MODEL": "org/name"}
    found = check_environment(
        {**model, **{prefix + name: value for name, value in variables.items()}},
        container=family,
        version=version,
        accelerators=None,
    )
    return errors_of(found) != []


TAKEN = [
    {"COMPILATION_CONFIG": '{"mode": 3}'},
    {"COMPILATION_CONFIG": '{"mode": "vllm_compile"}'},
    {"COMPILATION_CONFIG": '{"cudagraph_mode": "full_and_piecewise"}'},
    {"COMPILATION_CONFIG": '{"cudagraph_capture_sizes": ["1", 2]}'},
    {"COMPILATION_CONFIG": '{"compile_sizes": [1, "cudagraph_capture_sizes"]}'},
    {"EPLB_CONFIG": '{"use_async": "yes", "window_size": "1000"}'},
    {"EPLB_CONFIG": '{"window_size": 1.0}'},
    {"EPLB_CONFIG": '{"window_size": 80k}'},
    {"KERNEL_CONFIG": '{"sparse_indexer_topk_backend": "AUTO"}'},
    {"IR_OP_PRIORITY": '{"rms_norm": "native"}'},
    {"KV_TRANSFER_CONFIG": '{"kv_connector": "X", "kv_role": "kv_both"}'},
    {"KV_TRANSFER_CONFIG": "None"},
    {"ATTENTION_CONFIG": '{"flash_attn_version": 3}'},
    {"LORA_MODULES": "a=/b=/c"},
    {"ADDITIONAL_CONFIG": "plain"},
    {"HF_OVERRIDES": '{"a": 1}'},
    {"CHAT_TEMPLATE": "template_chatml.jinja"},
    {"CHAT_TEMPLATE": "/opt/ml/model/chat.jinja"},
    {"CONFIG": "/opt/ml/model/vllm.yaml"},
    {"SSE_KEEP_ALIVE_INTERVAL": "0"},
    {"MAX_MODEL_LEN": " auto "},
]
REFUSED = [
    {"COMPILATION_CONFIG": "3"},
    {"COMPILATION_CONFIG": "null"},
    {"COMPILATION_CONFIG": '{"mode": "fast"}'},
    {"COMPILATION_CONFIG": '{"cudagraph_mode": "always"}'},
    {"COMPILATION_CONFIG": '{"cudagraph_mode": {}}'},
    {"COMPILATION_CONFIG": '{"cudagraph_capture_sizes": 8}'},
    {"COMPILATION_CONFIG": '{"cudagraph_capture_sizes": [1.5]}'},
    {"EPLB_CONFIG": '{"use_async": "maybe"}'},
    {"EPLB_CONFIG": '{"use_async": 2}'},
    {"EPLB_CONFIG": '{"window_size": 0.5}'},
    {"EPLB_CONFIG": '{"window_size": "many"}'},
    {"EPLB_CONFIG": '{"window_size": "80k"}'},
    {"KV_TRANSFER_CONFIG": '{"kv_connector": "X"}'},
    {"KV_TRANSFER_CONFIG": '{"kv_connector": "X", "kv_role": "both"}'},
    {"KV_TRANSFER_CONFIG": '{"kv_connector": 1, "kv_role": "kv_both"}'},
    {"KV_TRANSFER_CONFIG": '{"kv_connector_extra_config": []}'},
    {"ATTENTION_CONFIG": '{"flash_attn_version": 9}'},
    {"ATTENTION_CONFIG": '{"flash_attn_version": "3"}'},
    {"POOLER_CONFIG": '["MEAN"]'},
    {"ADDITIONAL_CONFIG": "{'a': 1}"},
    {"HF_OVERRIDES": '{"a": 1,}'},
    {"SPEC_METHOD": "None"},
    {"CHAT_TEMPLATE": "chatml"},
    {"CONFIG": "vllm.json"},
    {"SSE_KEEP_ALIVE_INTERVAL": "-1"},
    {"ENABLE_PER_REQUEST_METRICS": "true", "DISABLE_LOG_STATS": "true"},
    {"DATA_PARALLEL_MULTI_PORT_EXTERNAL_LB": "true"},
    {"SEED": "-0.5"},
]


@pytest.mark.parametrize("variables", TAKEN, ids=str)
def test_what_vllm_takes_is_no_error(variables: dict[str, str]) -> None:
    """
    Seen with vLLM 0.30.0.
    """
    assert is_refused("vllm-server", "2.6", variables) is False


@pytest.mark.parametrize("variables", REFUSED, ids=str)
def test_what_vllm_refuses_is_an_error(variables: dict[str, str]) -> None:
    """
    Seen with vLLM 0.30.0.
    """
    assert is_refused("vllm-server", "2.6", variables) is True


@pytest.mark.parametrize(
    ("version", "variables"),
    [
        # Paths with =, and sizes within JSON, came later than these.
        ("0.29.0", {"LORA_MODULES": "a=/b=/c"}),
        ("0.13.0", {"EPLB_CONFIG": '{"window_size": 80k}'}),
        ("0.13.0", {"EPLB_CONFIG": '{"window_size": "many"}'}),
        ("0.24.0", {"COMPILATION_CONFIG": '{"cudagraph_mode": "always"}'}),
    ],
)
def test_what_older_releases_refuse_is_an_error(
    version: str, variables: dict[str, str]
) -> None:
    """
    Seen with vLLM 0.13.0 and 0.24.0, and read in 0.29.0.
    """
    assert is_refused("vllm", version, variables) is True


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"CONTEXT_LENGTH": "8Ki"}, False),
        ({"CONTEXT_LENGTH": "1.5k"}, False),
        ({"CONTEXT_LENGTH": "2M"}, False),
        ({"CONTEXT_LENGTH": "8ki"}, True),
        ({"CONTEXT_LENGTH": "8K"}, True),
        ({"CONTEXT_LENGTH": "1.5Ki"}, True),
        ({"LOG_LEVEL": "WARNING"}, False),
        # Python's logging knows them, and uvicorn does not.
        ({"LOG_LEVEL": "WARN"}, True),
        ({"LOG_LEVEL": "notset"}, True),
        ({"LOG_LEVEL": "trace"}, True),
        ({"CUDA_GRAPH_CONFIG": "{}"}, False),
        ({"CUDA_GRAPH_CONFIG": '{"decode": {}}'}, False),
        ({"CUDA_GRAPH_CONFIG": '{"warmup": {}}'}, True),
        ({"CUDA_GRAPH_CONFIG": '{"decode": 1}'}, True),
        ({"CUDA_GRAPH_CONFIG": "[]"}, True),
        ({"CONFIG": "engine.yml"}, False),
        ({"CONFIG": "engine.json"}, True),
        ({"ENABLE_EXPERT_DISTRIBUTION_METRICS": "true"}, True),
    ],
    ids=str,
)
def test_sglang_reads_values_its_own_way(
    variables: dict[str, str], *, expected: bool
) -> None:
    """
    Seen with SGLang 0.5.19.
    """
    assert is_refused("sglang-server", "1.4", variables) is expected
