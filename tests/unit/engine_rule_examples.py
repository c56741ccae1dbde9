"""
The smallest environment of an engine's own server that breaks each of its rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.base import Container
from cdk_sagemaker_llm.serving.engines.engine_environment import engine_findings
from cdk_sagemaker_llm.serving.families import (
    check_environment,
    container_findings,
    variable_findings,
)

SERVER, UBUNTU = ("vllm-server", "2.6"), ("vllm", "0.20.2")
SGLANG, OMNI = ("sglang-server", "1.4"), ("vllm-omni", "1.8")
AT_HUB = {"HF_MODEL_ID": "a/b"}
HEADS = {"architectures": ["LlamaForCausalLM"], "num_attention_heads": 28}


def _of(
    image: tuple[str, str],
    environment: Mapping[str, str],
    accelerators: int | None = None,
    **given: Any,  # noqa: ANN401 - what the checks take by keyword
) -> Callable[[], list[Finding]]:
    family, version = image
    return partial(
        engine_findings,
        environment,
        family=family,
        version=version,
        accelerators=accelerators,
        **given,
    )


ENGINES: dict[str, Callable[[], list[Finding]]] = {
    "LLM501": _of(SERVER, {"SM_VLLM_MAX_MODEL_LENGTH": "1"}),
    "LLM502": _of(SERVER, {"SM_VLLM_SWAP_SPACE": "4"}),
    "LLM503": _of(SERVER, {"SM_VLLM_MAX": "4"}),
    "LLM504": _of(SERVER, {"SM_VLLM_DTYPE": "fp16"}),
    "LLM505": _of(SERVER, {"SM_VLLM_DTYPE": "true"}),
    "LLM506": _of(SGLANG, {"SM_SGLANG_TRUST_REMOTE_CODE": "1"}),
    "LLM507": _of(SERVER, {"SM_VLLM_GPU_MEMORY_UTILIZATION": "1.5"}),
    "LLM508": _of(UBUNTU, {"SM_VLLM_SPECULATIVE_CONFIG": '{"method": "mtp"}'}),
    "LLM509": _of(SERVER, {"SM_VLLM_CHAT_TEMPLATE": "folder/chat.jinja"}),
    "LLM510": _of(SERVER, {"SM_VLLM_ENABLE_AUTO_TOOL_CHOICE": "true"}),
    "LLM511": _of(SERVER, {"LOG_LEVEL": "warning"}),
    "LLM512": _of(SERVER, {"SM_VLLM_PORT": "8000"}),
    "LLM513": _of(SGLANG, AT_HUB, model_data=()),
    "LLM514": _of(SERVER, AT_HUB, network_isolation=True),
    "LLM515": _of(SERVER, {}, network_isolation=True, model_data=["requirements.txt"]),
    "LLM516": _of(SERVER, {"SM_VLLM_TENSOR_PARALLEL_SIZE": "2"}, 1),
    "LLM517": _of(SERVER, {"SM_VLLM_TENSOR_PARALLEL_SIZE": "8"}, 8, architecture=HEADS),
    "LLM518": _of(("tei", "1.9.3"), AT_HUB, instance_type="ml.p3.2xlarge"),
    "LLM527": _of(("tei", "1.8.2"), {**AT_HUB, "DTYPE": "fp16"}),
    "LLM529": _of(("tei", "1.8.2"), {**AT_HUB, "PAYLOAD_LIMIT": "0"}),
    "LLM535": _of(SERVER, {"SM_VLLM_UDS": "/tmp/vllm.sock"}),  # noqa: S108 - what a user writes
    "LLM537": _of(SGLANG, {"SM_SGLANG_LOG_LEVEL": "warn"}),
    "LLM644": _of(
        SGLANG,
        {"SM_SGLANG_CONTEXT_LENGTH": "4097"},
        architecture={**HEADS, "context_length": 4096},
    ),
    "LLM543": _of(SERVER, {"SM_VLLM_ENABLE_EPLB": "true"}),
    "LLM539": _of(SERVER, {"SM_VLLM_QUANTIZATION": "awqq"}),
    "LLM541": _of(SERVER, {"SM_VLLM_SPECULATIVE_CONFIG": '{"tokens": 3}'}),
    "LLM640": _of(SERVER, {**AT_HUB, "HF_HUB_OFFLINE": "1"}, model_data=()),
    "LLM642": partial(
        check_environment,
        {**AT_HUB, "ENABLE_CUDA_GRAPHS": "True"},
        container="djl-lmi",
        version="0.30.0",
        accelerators=1,
    ),
    "LLM519": partial(variable_findings, {f"A{number}": "" for number in range(17)}),
    "LLM601": _of(SERVER, {"SM_VLLM_MAX_NUM_SEQ": "4"}),
    "LLM602": _of(SGLANG, {"SM_SGLANG_NSA_DECODE_BACKEND": "fa3"}),
    "LLM603": _of(
        SGLANG, {"SM_SGLANG_TP_SIZE": "1", "SM_SGLANG_TENSOR_PARALLEL_SIZE": "2"}
    ),
    "LLM604": _of(SERVER, {"SM_VLLM_ENFORCE_EAGER": "0"}),
    "LLM605": _of(SERVER, {"SM_VLLM_TOOL_CALL_PARSER": "herms"}),
    "LLM606": _of(("vllm-server", "2.2"), {"SM_VLLM_REVISION": "abc="}),
    "LLM607": _of(("vllm-server", "2.2"), {"SM_VLLM_SERVED_MODEL_NAME": '["a","b"]'}),
    "LLM608": _of(SERVER, {"SM_VLLM_ENABLE_PREFIX_CACHING": "false"}),
    "LLM609": _of(OMNI, {"SM_VLLM_FOO": "1"}),
    "LLM610": _of(SERVER, {"OPTION_DTYPE": "auto"}),
    "LLM611": _of(SERVER, {"SM_VLLM_PORT": "8080"}),
    "LLM612": _of(SERVER, {"SM_VLLM_HOST": "127.0.0.1"}),
    "LLM614": _of(SERVER, {}, model_data=()),
    "LLM615": _of(SGLANG, AT_HUB),
    "LLM616": _of(SERVER, AT_HUB, model_data=["requirements.txt"]),
    "LLM617": _of(SERVER, {}, network_isolation=True),
    "LLM654": _of(
        SGLANG,
        {"SM_SGLANG_MODEL_PATH": "a/b", "SM_SGLANG_JSON_MODEL_OVERRIDE_ARGS": "{bad"},
    ),
    "LLM618": _of(SERVER, {}, 4),
    "LLM620": _of(SGLANG, {}, instance_type="ml.g5.xlarge"),
    "LLM621": _of(SERVER, {"SM_VLLM_MAX_LORA_RANK": "64"}),
    "LLM622": _of(
        SERVER,
        {
            "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1",
            "SM_VLLM_ENABLE_LORA": "true",
            "SM_VLLM_API_SERVER_COUNT": "2",
        },
    ),
    "LLM623": _of(SERVER, {"PROCESS_AUTO_RECOVERY": "off"}),
    "LLM624": _of(("llama-cpp", "1.0.1"), {"SM_LLAMA_CPP_N_GPU_LAYER": "9"}),
    "LLM625": _of(("llama-cpp", "1.0.1"), {"SM_LLAMA_CPP_MODEL": "/opt/ml/model"}),
    "LLM629": _of(SGLANG, {"SM_SGLANG_MODEL_PATH": "a/b-GGUF"}),
    "LLM630": _of(("llama-cpp", "1.0.1"), {"SM_LLAMA_CPP_EMBEDDINGS": "true"}),
    "LLM632": _of(SERVER, {"SM_VLLM_MODEL": "a/b:Q4_K_M"}),
    "LLM626": _of(("tei", "1.6.0"), {**AT_HUB, "DENSE_PATH": "2_Dense"}),
    "LLM637": _of(("huggingface-vllm", "0.29.0"), {}, instance_type="ml.g5.xlarge"),
    "LLM636": _of(("tei", "1.9.3"), {"HF_MODEL_ID": "Qwen/Qwen3-8B-GGUF"}),
    "LLM638": _of(("tei", "1.9.3"), {"HF_MODEL_ID": "Qwen/Qwen3-8B"}),
    "LLM633": partial(
        check_environment,
        AT_HUB,
        container="vllm-server",
        version="2.6",
        accelerators=1,
        instance_type="ml.g5.12xlage",
    ),
    "LLM656": partial(
        check_environment,
        {**AT_HUB, "HF_TOKEN": "anything"},
        container="vllm-server",
        version="2.6",
        accelerators=1,
    ),
    "LLM627": partial(
        container_findings,
        Container(image=find_image("vllm-server", "2")),
        accelerators=1,
    ),
    "LLM635": _of(
        ("tei", "1.9.3"),
        {"HF_MODEL_ID": "Qwen/Qwen3-Embedding-0.6B", "AUTO_TRUNCATE": "false"},
    ),
}
