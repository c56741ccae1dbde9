"""
What users read of an engine's environment, to the last letter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from cdk_sagemaker_llm.serving.engines.engine_environment import engine_findings

VLLM, OLD, UBUNTU = ("vllm-server", "2.6"), ("vllm-server", "2.2"), ("vllm", "0.20.2")
SGLANG, OMNI = ("sglang-server", "1.4"), ("vllm-omni", "1.8")
LLAMA, NEURON = ("llama-cpp", "1.0.1"), ("vllm-neuron", "0.21.0")
TEI, TEI_CPU = ("tei", "1.9.3"), ("tei-cpu", "1.9.3")
HUB = {"HF_MODEL_ID": "a/b"}
QWEN = {"HF_MODEL_ID": "Qwen/Qwen3-Embedding-0.6B"}
HEADS = {"architectures": ["LlamaForCausalLM"], "num_attention_heads": 28}
Row = tuple[tuple[str, str], Mapping[str, str], Mapping[str, Any]]


def v(**arguments: str) -> dict[str, str]:
    """
    Return arguments of vLLM's.
    """
    return {f"SM_VLLM_{name.upper()}": value for name, value in arguments.items()}


def s(**arguments: str) -> dict[str, str]:
    """
    Return arguments of SGLang's, on a model that it looks for.
    """
    given = {f"SM_SGLANG_{name.upper()}": value for name, value in arguments.items()}
    return {"SM_SGLANG_MODEL_PATH": "a/b", **given}


def c(**arguments: str) -> dict[str, str]:
    """
    Return arguments of llama.cpp's.
    """
    return {f"SM_LLAMA_CPP_{name.upper()}": value for name, value in arguments.items()}


# What vLLM looks up at its start.
LOOKED_UP = (
    "attention_backend",
    "config_format",
    "distributed_executor_backend",
    "load_format",
    "mamba_backend",
    "mm_encoder_attn_backend",
    "optimization_level",
    "quantization",
    "reasoning_parser",
)
# What says that the devices are counted otherwise.
ELSEWHERE = (
    "nnodes",
    "data_parallel_size_local",
    "data_parallel_rank",
    "data_parallel_start_rank",
    "data_parallel_backend",
    "distributed_executor_backend",
    "config",
)
ROWS: dict[str, Row] = {
    # Health.
    "health: key": (SGLANG, s(api_key="abc"), {}),
    "health: certificate": (VLLM, v(ssl_certfile="/c.pem"), {}),
    "health: key of TLS": (VLLM, v(ssl_keyfile="/k.pem"), {}),
    "health: both of TLS": (VLLM, v(ssl_keyfile="/k", ssl_certfile="/c"), {}),
    "health: socket": (VLLM, v(uds="/opt/s.sock"), {}),
    "health: nodes": (VLLM, v(nnodes="2"), {}),
    "health: one node": (VLLM, v(nnodes="1"), {}),
    "health: prefill": (SGLANG, s(disaggregation_mode="prefill"), {}),
    "health: decode": (SGLANG, s(disaggregation_mode="decode"), {}),
    "health: whole": (SGLANG, s(disaggregation_mode="null"), {}),
    "health: embeds": (SGLANG, s(is_embedding="true"), {}),
    "health: offline": (VLLM, {**HUB, "HF_HUB_OFFLINE": "1"}, {"model_data": ()}),
    # SGLang's start.
    "sglang: level": (SGLANG, s(log_level="warn"), {}),
    "sglang: other level": (SGLANG, s(log_level="loud"), {}),
    "sglang: trace": (SGLANG, s(log_level="trace"), {}),
    "sglang: level of http": (SGLANG, s(log_level_http="trace"), {}),
    "sglang: no level of http": (SGLANG, s(log_level_http="loud"), {}),
    "sglang: attention": (
        SGLANG,
        s(enable_dp_attention="true", dp_size="2", tp_size="3"),
        {},
    ),
    "sglang: attention evenly": (
        SGLANG,
        s(enable_dp_attention="true", dp_size="2", tp_size="4"),
        {},
    ),
    "sglang: attention of one": (SGLANG, s(enable_dp_attention="true"), {}),
    "sglang: adapters": (SGLANG, s(enable_lora="true"), {}),
    "sglang: adapters of a rank": (
        SGLANG,
        s(enable_lora="true", max_lora_rank="8"),
        {},
    ),
    "sglang: adapters of a size": (
        SGLANG,
        s(enable_lora="true", max_lora_rank="8", lora_target_modules="all"),
        {},
    ),
    "sglang: adapters there": (SGLANG, s(enable_lora="true", lora_paths="a=/a"), {}),
    "sglang: caches": (
        SGLANG,
        s(enable_hierarchical_cache="true", disable_radix_cache="true"),
        {},
    ),
    "sglang: a cache": (SGLANG, s(enable_hierarchical_cache="true"), {}),
    "sglang: colon": (SGLANG, s(served_model_name="a:b"), {}),
    "sglang: address": (SGLANG, s(served_model_name="s3://a"), {}),
    "sglang: colon before": (("sglang", "0.5.5"), s(served_model_name="a:b"), {}),
    "sglang: long": (
        SGLANG,
        s(context_length="4097"),
        {"architecture": {**HEADS, "context_length": 4096}},
    ),
    "sglang: as long": (
        SGLANG,
        s(context_length="4096"),
        {"architecture": {**HEADS, "context_length": 4096}},
    ),
    "sglang: long and allowed": (
        SGLANG,
        {
            **s(context_length="4097"),
            "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "Yes",
        },
        {"architecture": {**HEADS, "context_length": 4096}},
    ),
    "sglang: long and not allowed": (
        SGLANG,
        {
            **s(context_length="4097"),
            "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "0",
        },
        {"architecture": {**HEADS, "context_length": 4096}},
    ),
    "sglang: long otherwise": (
        SGLANG,
        s(context_length="4097", json_model_override_args="{}"),
        {"architecture": {**HEADS, "context_length": 4096}},
    ),
    "sglang: JSON": (SGLANG, s(json_model_override_args="{bad"), {}),
    "sglang: JSON of a loader": (SGLANG, s(model_loader_extra_config="{bad"), {}),
    # Configuration.
    **{
        f"looked up: {name}": (VLLM, {**HUB, **v(**{name: "nope"})}, {})
        for name in LOOKED_UP
    },
    "looked up: with plugins": (
        VLLM,
        {**HUB, **v(quantization="nope"), "VLLM_PLUGINS": "mine"},
        {},
    ),
    "looked up: with packages": (
        VLLM,
        {**v(quantization="nope"), "PYTHONPATH": "/mine"},
        {},
    ),
    "looked up: with requirements": (
        VLLM,
        v(quantization="nope"),
        {"model_data": ["requirements.txt"]},
    ),
    "looked up: tools": (
        VLLM,
        v(tool_call_parser="herms", enable_auto_tool_choice="true"),
        {},
    ),
    "looked up: tools that nobody chooses": (VLLM, v(tool_call_parser="herms"), {}),
    "looked up: tools of a plugin": (
        VLLM,
        v(tool_call_parser="mine", tool_parser_plugin="/p.py"),
        {},
    ),
    "looked up: reasoning of a plugin": (
        VLLM,
        v(reasoning_parser="mine", reasoning_parser_plugin="/p.py"),
        {},
    ),
    "looked up: in JSON": (
        VLLM,
        v(structured_outputs_config='{"reasoning_parser": "deepseek"}'),
        {},
    ),
    "looked up: in other JSON": (
        VLLM,
        v(reasoning_config='{"reasoning_parser": "deepseek"}'),
        {},
    ),
    "looked up: in JSON that is none": (
        VLLM,
        v(structured_outputs_config="true", reasoning_config="[]"),
        {},
    ),
    "looked up: in JSON with a plugin": (
        VLLM,
        v(
            structured_outputs_config=(
                '{"reasoning_parser": "mine", "reasoning_parser_plugin": "/p.py"}'
            )
        ),
        {},
    ),
    "bounds: share": (VLLM, v(gpu_memory_utilization="1.5"), {}),
    "bounds: of media": (VLLM, v(mm_processor_cache_gb="-1"), {}),
    "bounds: of adapters": (
        VLLM,
        v(enable_lora="true", max_loras="0", max_cpu_loras="0"),
        {},
    ),
    "bounds: of adapters that are off": (VLLM, v(max_cpu_loras="0"), {}),
    "later JSON": (VLLM, v(speculative_config='{"tokens": 3}'), {}),
    "later JSON of a kind": (
        VLLM,
        v(speculative_config='{"num_speculative_tokens": "three"}'),
        {},
    ),
    # Devices.
    "devices: too few": (VLLM, v(tensor_parallel_size="2"), {"accelerators": 1}),
    "devices: too few together": (
        VLLM,
        v(tensor_parallel_size="2", pipeline_parallel_size="2"),
        {"accelerators": 2},
    ),
    "devices: too few copies": (
        VLLM,
        v(data_parallel_size="3"),
        {"accelerators": 2},
    ),
    "devices: too few for SGLang": (
        SGLANG,
        s(tp_size="2", pp_size="2", dp_size="2"),
        {"accelerators": 4},
    ),
    "devices: shared by attention": (
        SGLANG,
        s(tp_size="4", dp_size="2", enable_dp_attention="true"),
        {"accelerators": 4},
    ),
    "devices: idle": (VLLM, v(tensor_parallel_size="2"), {"accelerators": 4}),
    "devices: idle as nothing is said": (VLLM, {}, {"accelerators": 4}),
    "devices: all": (VLLM, v(tensor_parallel_size="4"), {"accelerators": 4}),
    **{
        f"devices: elsewhere by {name}": (
            VLLM,
            v(tensor_parallel_size="8", **{name: "1"}),
            {"accelerators": 4},
        )
        for name in ELSEWHERE
    },
    "devices: elsewhere by base": (
        SGLANG,
        s(tp_size="8", base_gpu_id="1"),
        {"accelerators": 4},
    ),
    "devices: elsewhere by step": (
        SGLANG,
        s(tp_size="8", gpu_id_step="2"),
        {"accelerators": 4},
    ),
    "devices: of no GPU": (
        SGLANG,
        s(tp_size="8", device="cpu"),
        {"accelerators": 4},
    ),
    "devices: heads": (
        VLLM,
        v(tensor_parallel_size="8"),
        {"accelerators": 8, "architecture": HEADS},
    ),
    "devices: even heads": (
        VLLM,
        v(tensor_parallel_size="4"),
        {"accelerators": 4, "architecture": HEADS},
    ),
    "devices: other heads": (
        VLLM,
        v(tensor_parallel_size="8", hf_overrides="{}"),
        {"accelerators": 8, "architecture": HEADS},
    ),
    "devices: heads of copies": (
        SGLANG,
        s(tp_size="8", dp_size="2", enable_dp_attention="true"),
        {"accelerators": 8, "architecture": HEADS},
    ),
    "devices: heads of one copy": (
        SGLANG,
        s(tp_size="8"),
        {"accelerators": 8, "architecture": HEADS},
    ),
    "devices: of Omni": (OMNI, v(num_gpus="2"), {"accelerators": 1}),
    "devices: of Omni, as many": (OMNI, v(num_gpus="2"), {"accelerators": 2}),
    # The second cache.
    **{
        f"cache: {name}": (
            ("huggingface-vllm", "0.29.0"),
            environment,
            {"instance_type": "ml.g5.xlarge", **more},
        )
        for name, environment, more in (
            ("by default", {}, {}),
            ("on", {"HF_ENABLE_LMCACHE": "1"}, {}),
            ("all off", {"HF_ENABLE_OPTIMIZATIONS": "0"}, {}),
            ("all on", {"HF_ENABLE_OPTIMIZATIONS": ""}, {}),
            ("a quarter", {"HF_LMCACHE_CPU_FRACTION": "0.25"}, {}),
            ("nothing", {"HF_LMCACHE_CPU_FRACTION": "0"}, {}),
            ("all", {"HF_LMCACHE_CPU_FRACTION": "1"}, {}),
            ("more", {"HF_LMCACHE_CPU_FRACTION": "1.1"}, {}),
            ("no number", {"HF_LMCACHE_CPU_FRACTION": "half"}, {}),
            ("by JSON", {"SM_VLLM_KV_TRANSFER_CONFIG": "{}"}, {}),
            ("pooling", {"SM_VLLM_RUNNER": "pooling"}, {}),
            (
                "for scores",
                {},
                {"architecture": {"architectures": ["BertForSequenceClassification"]}},
            ),
            (
                "with a state",
                {},
                {"architecture": {"architectures": ["MambaForCausalLM"]}},
            ),
        )
    },
    # Models.
    "model: Neuron": (NEURON, HUB, {}),
    "model: SGLang, nothing there": (SGLANG, {}, {"model_data": ()}),
    "model: SGLang, at the Hub": (SGLANG, HUB, {}),
    "model: SGLang, by its other name": (SGLANG, {"SM_SGLANG_MODEL": "a/b"}, {}),
    "model: SGLang, by its other name, nothing there": (
        SGLANG,
        {"SM_SGLANG_MODEL": "a/b"},
        {"model_data": ()},
    ),
    "model: nothing named": (VLLM, {}, {"model_data": ()}),
    "model: named in a file": (VLLM, v(config="/c.yaml"), {"model_data": ()}),
    "model: hidden by files": (VLLM, HUB, {"model_data": ["b", "a"]}),
    "model: of Ubuntu": (UBUNTU, HUB, {}),
    "model: isolated": (VLLM, HUB, {"network_isolation": True}),
    "model: isolated at an address": (
        VLLM,
        v(model="s3://bucket/model"),
        {"network_isolation": True},
    ),
    "model: isolated in a cache": (
        VLLM,
        {**HUB, "HF_HOME": "/opt/ml/model/cache", "HF_HUB_OFFLINE": "1"},
        {"network_isolation": True},
    ),
    "model: isolated with requirements": (
        VLLM,
        {"HF_HUB_OFFLINE": "1"},
        {"network_isolation": True, "model_data": ["requirements.txt"]},
    ),
    "model: isolated without installing": (
        VLLM,
        {"HF_HUB_OFFLINE": "1", "STANDARD_AUTO_INSTALL_REQ": "false"},
        {"network_isolation": True, "model_data": ["requirements.txt"]},
    ),
    "model: isolated with packages": (
        VLLM,
        {"HF_HUB_OFFLINE": "1", "STANDARD_PIP_ARGS": "--no-index"},
        {"network_isolation": True, "model_data": ["requirements.txt"]},
    ),
    "model: no repository": (VLLM, {"HF_MODEL_ID": "a/b/c"}, {}),
    "model: no tokenizer": (VLLM, {**HUB, **v(tokenizer="a/b c")}, {}),
    "model: no tokenizer of SGLang's": (SGLANG, s(tokenizer_path="a/b c"), {}),
    "model: no revision": (VLLM, {**HUB, **v(revision="a..b")}, {}),
    "model: no revision of the tokenizer": (
        VLLM,
        {**HUB, **v(tokenizer_revision="a..b")},
        {},
    ),
    "model: no revision of code": (VLLM, {**HUB, **v(code_revision="a..b")}, {}),
    "model: no revision of TEI": (TEI, {**QWEN, "HF_MODEL_REVISION": "a..b"}, {}),
    "model: gated": (VLLM, {"HF_MODEL_ID": "meta-llama/Llama-2-7b-hf"}, {}),
    "model: gated, with a token": (
        VLLM,
        {"HF_MODEL_ID": "meta-llama/Llama-2-7b-hf", "HF_TOKEN": "${Token[T.1]}"},
        {},
    ),
    "gguf: a type": (VLLM, v(model="a/b:Q4_K_M"), {}),
    "gguf: a file": (VLLM, v(model="/opt/ml/model/a.gguf"), {}),
    "gguf: a file with its package": (
        VLLM,
        v(model="/opt/ml/model/a.gguf"),
        {"model_data": ["a.gguf", "requirements.txt"]},
    ),
    "gguf: a file before": (UBUNTU, v(model="/opt/ml/model/a.gguf"), {}),
    "gguf: a repository": (VLLM, v(model="a/b-GGUF"), {}),
    "gguf: of SGLang": (SGLANG, s(model_path="a/b-GGUF"), {}),
    # llama.cpp.
    "llama: unknown": (LLAMA, c(model="/a.gguf", n_gpu_layer="9"), {}),
    "llama: gone": (LLAMA, c(model="/a.gguf", mlock="true"), {}),
    "llama: host": (LLAMA, c(model="/a.gguf", host="10.0.0.1"), {}),
    "llama: every host": (LLAMA, c(model="/a.gguf", host="::"), {}),
    "llama: embeds": (LLAMA, c(model="/a.gguf", embedding="true"), {}),
    "llama: ranks": (LLAMA, c(model="/a.gguf", rerank="1"), {}),
    "llama: embeds not": (LLAMA, c(model="/a.gguf", embeddings="False"), {}),
    "llama: folder": (LLAMA, c(model="/opt/ml/model"), {}),
    "llama: file of a repository": (LLAMA, c(hf_repo="a/b", hf_file="a.bin"), {}),
    "llama: repository": (LLAMA, c(hf_repo="a/b"), {}),
    "llama: repository with a type": (LLAMA, c(hf_repo="a/b:Q8_0"), {}),
    "llama: repository of GGUF": (LLAMA, c(hf_repo="a/b-GGUF"), {}),
    "llama: address": (LLAMA, c(model_url="https://a/b.gguf"), {}),
    "llama: registry": (LLAMA, c(docker_repo="ai/b"), {}),
    "llama: folder of models": (LLAMA, c(models_dir="/m"), {}),
    "llama: list of models": (LLAMA, c(models_preset="/m.ini"), {}),
    "llama: nothing": (LLAMA, {}, {"model_data": ()}),
    "llama: a file": (LLAMA, {}, {"model_data": ["A.GGUF"]}),
    "llama: at the Hub": (LLAMA, HUB, {}),
    "llama: of Hugging Face": (("huggingface-llamacpp", "b9014"), HUB, {}),
    # The supervisor and the process.
    "supervisor: off": (VLLM, {"PROCESS_AUTO_RECOVERY": "off"}, {}),
    "supervisor: false": (VLLM, {"PROCESS_AUTO_RECOVERY": "False"}, {}),
    "supervisor: none": (SGLANG, {**s(), "PROCESS_AUTO_RECOVERY": "true"}, {}),
    "supervisor: no retries": (SGLANG, {**s(), "PROCESS_MAX_START_RETRIES": "1"}, {}),
    "supervisor: many retries": (VLLM, {"PROCESS_MAX_START_RETRIES": "101"}, {}),
    "supervisor: retries": (VLLM, {"PROCESS_MAX_START_RETRIES": "0100"}, {}),
    "supervisor: no number": (VLLM, {"PROCESS_MAX_START_RETRIES": "few"}, {}),
    "supervisor: level": (VLLM, {"LOG_LEVEL": "warning"}, {}),
    "supervisor: no level": (VLLM, {"LOG_LEVEL": "loud"}, {}),
    "supervisor: quotes": (UBUNTU, v(served_model_name="it's"), {}),
    "supervisor: percent": (VLLM, v(served_model_name="50%"), {}),
    "supervisor: comment": (VLLM, v(served_model_name="a ;b"), {}),
    "supervisor: lines": (OLD, v(chat_template="{}\nb"), {}),
    "supervisor: equals": (OLD, v(revision="abc="), {}),
    "supervisor: list": (OLD, v(served_model_name='["a","b"]'), {}),
    "adapters: off": (
        VLLM,
        v(
            lora_modules="a=/a",
            max_loras="2",
            max_lora_rank="16",
            max_cpu_loras="4",
            fully_sharded_loras="true",
            default_mm_loras="{}",
        ),
        {},
    ),
    "adapters: updates": (VLLM, {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": " TRUE "}, {}),
    "adapters: no updates": (VLLM, {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "yes"}, {}),
    "adapters: several servers": (
        VLLM,
        {
            **v(enable_lora="true", api_server_count="2"),
            "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1",
        },
        {},
    ),
    "adapters: one server": (
        VLLM,
        {
            **v(enable_lora="true", api_server_count="1"),
            "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1",
        },
        {},
    ),
    # Values.
    "value: kind": (VLLM, v(max_num_seqs="many"), {}),
    "value: none": (VLLM, v(dtype="true"), {}),
    "value: dashed": (OLD, v(served_model_name="-a"), {}),
    "value: size": (VLLM, v(max_model_len="8Ki"), {}),
    "value: size of blocks": (VLLM, v(kv_cache_memory_bytes="8X"), {}),
    "value: pairs": (UBUNTU, v(limit_mm_per_prompt="image"), {}),
    "value: adapters": (VLLM, v(lora_modules="a", enable_lora="true"), {}),
    "value: JSON": (VLLM, v(hf_overrides="{"), {}),
    "value: JSON of SGLang": (SGLANG, s(preferred_sampling_params="{"), {}),
    "value: switch": (SGLANG, s(trust_remote_code="1"), {}),
    "value: switch off": (VLLM, v(enforce_eager="0"), {}),
    "value: switch with a form of no": (OLD, v(enable_prefix_caching="no"), {}),
    "value: switch without": (VLLM, v(enforce_eager="maybe"), {}),
    "value: two switches": (OLD, v(enforce_eager="yes", trust_remote_code="1"), {}),
    "value: two values": (OLD, v(dtype='["auto", "half"]'), {}),
    "value: false": (VLLM, v(enable_prefix_caching="false"), {}),
    "value: false of nothing": (VLLM, v(foo_bar="false"), {}),
    "value: false without a form": (SGLANG, s(enable_metrics="false"), {}),
    "value: tools": (VLLM, v(enable_auto_tool_choice="true"), {}),
    "value: tools of None": (
        VLLM,
        v(enable_auto_tool_choice="true", tool_call_parser="None"),
        {},
    ),
    "together: logs": (VLLM, v(enable_log_outputs="true"), {}),
    "together: keeping alive": (VLLM, v(sse_keep_alive_interval="-1"), {}),
    "together: metrics": (
        VLLM,
        v(enable_per_request_metrics="true", disable_log_stats="true"),
        {},
    ),
    "together: balancer": (VLLM, v(data_parallel_multi_port_external_lb="true"), {}),
    "together: template": (VLLM, v(chat_template="folder/chat.jinja"), {}),
    "together: built in template": (VLLM, v(chat_template="template_a.jinja"), {}),
    "together: no YAML": (VLLM, v(config="/c.json"), {}),
    # Names.
    "name: unknown": (VLLM, v(max_model_length="1"), {}),
    "name: help": (VLLM, v(help="true"), {}),
    "name: of the process": (VLLM, v(use_v1="1"), {}),
    "name: of another release": (VLLM, v(swap_space="4"), {}),
    "name: beginning of several": (VLLM, v(max="4"), {}),
    "name: beginning of one": (VLLM, v(max_num_seq="4"), {}),
    "name: without a form of no": (VLLM, v(no_dtype="true"), {}),
    "name: deprecated": (SGLANG, s(nsa_decode_backend="fa3"), {}),
    "name: twice": (SGLANG, s(tp_size="1", tensor_parallel_size="2"), {}),
    "name: several times": (VLLM, v(middleware="a"), {}),
    "name: of LMI": (VLLM, {"OPTION_DTYPE": "auto"}, {}),
    "name: of SGLang": (VLLM, {"SM_SGLANG_FOO": "1"}, {}),
    "name: of vLLM": (SGLANG, {**s(), "SM_VLLM_TP_SIZE": "1"}, {}),
    "name: of llama.cpp": (VLLM, {"SM_LLAMA_CPP_FOO": "1"}, {}),
    "name: of the process, as it is": (VLLM, {"VLLM_ATTENTION_BACKEND": "X"}, {}),
    "name: without SM": (VLLM, {"VLLM_MAX_MODEL_LEN": "1"}, {}),
    "name: without prefix": (VLLM, {"MAX_MODEL_LEN": "1"}, {}),
    "name: of a small letter": (VLLM, {"sm_vllm_max_model_len": "1"}, {}),
    "name: of a prefix nearly": (VLLM, {"SM_VLM_MAX_MODEL_LEN": "1"}, {}),
    "name: of the model": (SGLANG, {**s(), "MODEL_ID": "a/b"}, {}),
    "port: another": (VLLM, v(port="8000"), {}),
    "port: the same": (VLLM, v(port="8080"), {}),
    "port: the same of SGLang": (SGLANG, s(port="8080"), {}),
    "host: one": (VLLM, v(host="127.0.0.1"), {}),
    "host: all": (VLLM, v(host="0.0.0.0"), {}),  # noqa: S104 - what a user writes
    # TEI.
    "tei: misspelt": (TEI, {**QWEN, "MAX_BATCH_TOKEN": "1"}, {}),
    "tei: later": (("tei", "1.6.0"), {**QWEN, "DENSE_PATH": "2_Dense"}, {}),
    "tei: token": (("tei", "1.4.0"), {**QWEN, "HF_TOKEN": "anything"}, {}),
    "tei: task": (TEI, {**QWEN, "TASK": "fill-mask"}, {}),
    "tei: choice": (TEI, {**QWEN, "DTYPE": "fp16"}, {}),
    "tei: switch": (TEI, {**QWEN, "AUTO_TRUNCATE": "1"}, {}),
    "tei: number": (TEI, {**QWEN, "MAX_BATCH_TOKENS": "-1"}, {}),
    "tei: port": (TEI, {**QWEN, "PROMETHEUS_PORT": "65536"}, {}),
    "tei: pair": (
        TEI,
        {**QWEN, "DEFAULT_PROMPT": "a", "DEFAULT_PROMPT_NAME": "b"},
        {},
    ),
    "tei: limit": (TEI, {**QWEN, "PAYLOAD_LIMIT": "0"}, {}),
    "tei: key": (TEI, {**QWEN, "API_KEY": "anything"}, {}),
    "tei: no model": (TEI, {}, {}),
    "tei: unknown type": (TEI, QWEN, {"architecture": {"model_type": "gpt_oss"}}),
    "tei: later type": (
        ("tei", "1.4.0"),
        QWEN,
        {"architecture": {"model_type": "qwen3"}},
    ),
    "tei: type of GPUs": (
        TEI_CPU,
        QWEN,
        {"architecture": {"model_type": "qwen2"}},
    ),
    "tei: gguf": (TEI, {"HF_MODEL_ID": "Qwen/Qwen3-8B-GGUF"}, {}),
    "tei: writes": (
        TEI,
        {"HF_MODEL_ID": "a/b"},
        {"architecture": {"architectures": ["Qwen3ForCausalLM"]}},
    ),
    "tei: long": (
        TEI,
        {**QWEN, "AUTO_TRUNCATE": "false"},
        {"architecture": {"context_length": 16385}},
    ),
    "tei: as long": (
        TEI,
        {**QWEN, "AUTO_TRUNCATE": "false"},
        {"architecture": {"context_length": 16384}},
    ),
    "tei: no kernels": (TEI, QWEN, {"instance_type": "ml.p3.2xlarge"}),
}


@pytest.mark.parametrize("name", ROWS)
def test_each_environment_is_judged_in_these_words(
    name: str, snapshot: SnapshotAssertion
) -> None:
    """
    All findings, in their order; none where a rule's other side is tried.
    """
    (family, version), environment, given = ROWS[name]
    found = engine_findings(
        environment,
        family=family,
        version=version,
        **{"accelerators": None, **given},
    )

    assert [str(each) for each in found] == snapshot
