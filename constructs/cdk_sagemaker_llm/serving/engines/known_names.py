"""
Arguments that are known of engines whose parsers no table describes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.catalog.engine_arguments import (
    EngineArgument,
    is_release_between,
)
from cdk_sagemaker_llm.catalog.engine_releases import EngineRelease
from cdk_sagemaker_llm.serving.engines.entry_points import ENTRY_POINTS

# Lines of words are read sooner than a column of two hundred.
LLAMA_CPP = tuple(
    """
    adaptive-decay adaptive-target agent alias api-key api-key-file api-prefix
    backend-sampling batch-size cache-idle-slots cache-prompt cache-ram cache-reuse
    cache-type-k cache-type-k-draft cache-type-v cache-type-v-draft chat-template
    chat-template-file chat-template-kwargs check-tensors checkpoint-min-step
    cont-batching context-shift control-vector control-vector-layer-range
    control-vector-scaled cors-credentials cors-headers cors-methods cors-origins
    cpu-mask cpu-mask-batch cpu-moe cpu-range cpu-range-batch cpu-strict
    cpu-strict-batch ctx-checkpoints ctx-size ctx-size-draft defrag-thold device
    device-draft docker-repo draft draft-max draft-min draft-p-min dry-allowed-length
    dry-base dry-multiplier dry-penalty-last-n dry-sequence-breaker dynatemp-exp
    dynatemp-range embd-normalize embedding embeddings escape fit fit-ctx fit-target
    flash-attn frequency-penalty gpu-layers gpu-layers-draft grammar grammar-file
    hf-file hf-file-v hf-repo hf-repo-draft hf-repo-v hf-token host ignore-eos
    image-max-tokens image-min-tokens jinja json-schema json-schema-file keep
    kv-offload kv-unified kv-unified-per-slot lazy-mode load-mode log-colors
    log-disable log-file log-jsonl log-prefix log-timestamps log-verbose log-verbosity
    logit-bias lookup-cache-dynamic lookup-cache-static lora lora-init-without-apply
    lora-scaled main-gpu mcp-servers-config mcp-servers-json media-path metrics min-p
    mirostat mirostat-ent mirostat-lr mmproj mmproj-auto mmproj-device mmproj-offload
    mmproj-url model model-draft model-url model-vocoder models-autoload models-dir
    models-max models-preset moe-cache-mib mtmd-batch-max-tokens n-cpu-ffn n-cpu-moe
    n-gpu-layers n-gpu-layers-draft n-predict numa offline op-offload override-kv
    override-tensor parallel path perf poll poll-batch pooling port predict
    prefill-assistant presence-penalty prio prio-batch props reasoning reasoning-budget
    reasoning-budget-message reasoning-effort reasoning-format reasoning-preserve
    repack repeat-last-n repeat-penalty rerank reranking reuse-port reverse-prompt
    rope-freq-base rope-freq-scale rope-scale rope-scaling rpc sampler-seq samplers
    sampling-seq seed slot-prompt-similarity slot-save-path slots spec-default
    spec-draft-hf spec-draft-model spec-draft-n-max spec-draft-n-min spec-draft-type-k
    spec-draft-type-v spec-type special split-mode spm-infill sse-ping-interval
    ssl-cert-file ssl-key-file swa-checkpoints swa-full tags temp temperature
    tensor-split threads threads-batch threads-batch-draft threads-draft threads-http
    timeout tools tools-runtime top-k top-n-sigma top-nsigma top-p typical typical-p
    ubatch-size ui ui-config ui-config-file ui-mcp-proxy verbose verbosity video-fps
    video-timestamp-interval warmup webui webui-config webui-config-file
    webui-mcp-proxy xtc-probability xtc-threshold yarn-attn-factor yarn-beta-fast
    yarn-beta-slow yarn-ext-factor yarn-orig-ctx
    """.split()  # noqa: SIM905 - a list of two hundred literals is no easier to read
)
# Other spellings of what has a parameter.
LLAMA_CPP_ALIASES: Mapping[str, str] = {
    "embedding": "embeddings",
    "gpu-layers": "n-gpu-layers",
    "rerank": "reranking",
}
# Gone since v0.4.1, which came under the tags of b10433.
GONE_FROM_LLAMA_CPP = ("mmap", "mlock", "direct-io", "no-mmap")
# On unless they are told otherwise; "no-" in front switches them off.
ON_IN_LLAMA_CPP = (
    "cache-idle-slots",
    "cache-prompt",
    "cont-batching",
    "escape",
    "jinja",
    "kv-offload",
    "log-prefix",
    "log-timestamps",
    "mmproj-auto",
    "mmproj-offload",
    "models-autoload",
    "op-offload",
    "repack",
    "slots",
    "ui",
    "warmup",
    "webui",
)
# With "no-" in front they say what they would do anyway, to releases that know it.
OFF_IN_LLAMA_CPP = ("context-shift", "kv-unified", "prefill-assistant", "spm-infill")
NEURON = (
    "allow-non-cached-model",
    "batch-size",
    "data-parallel-size",
    "model",
    "port",
    "sequence-length",
    "served-model-name",
    "task",
    "tensor-parallel-size",
)
# What TEI's router reads, and since which release; the entry point turns the first two
# into MODEL_ID and REVISION (router/src/main.rs and router/src/http/server.rs of
# huggingface/text-embeddings-inference, v1.2.3 to v1.9.3).
TEI_SINCE: Mapping[str, str] = {
    "HF_MODEL_ID": "",
    "HF_MODEL_REVISION": "",
    "API_KEY": "",
    "AUTO_TRUNCATE": "",
    "CORS_ALLOW_ORIGIN": "",
    "DEFAULT_PROMPT": "1.3.0",
    "DEFAULT_PROMPT_NAME": "1.3.0",
    "DENSE_PATH": "1.8.0",
    "DISABLE_SPANS": "1.7.0",
    "DTYPE": "",
    "HF_API_TOKEN": "",
    "HF_TOKEN": "1.7.0",
    "HUGGINGFACE_HUB_CACHE": "",
    "JSON_OUTPUT": "",
    "MAX_BATCH_REQUESTS": "",
    "MAX_BATCH_TOKENS": "",
    "MAX_CLIENT_BATCH_SIZE": "",
    "MAX_CONCURRENT_REQUESTS": "",
    "OTLP_ENDPOINT": "",
    "OTLP_SERVICE_NAME": "1.3.0",
    "PAYLOAD_LIMIT": "",
    "POOLING": "",
    "PROMETHEUS_PORT": "1.8.0",
    "SERVED_MODEL_NAME": "1.9.0",
    "TASK": "1.5.0",
    "TOKENIZATION_WORKERS": "",
}
TEI = tuple(TEI_SINCE)
TEI_SWITCHES = ("AUTO_TRUNCATE", "DISABLE_SPANS", "JSON_OUTPUT")
# Where they are 0, no request is answered.
TEI_LIMITS = ("MAX_BATCH_TOKENS", "MAX_CONCURRENT_REQUESTS", "PAYLOAD_LIMIT")
TEI_NUMBERS = (
    *TEI_LIMITS,
    "MAX_BATCH_REQUESTS",
    "MAX_CLIENT_BATCH_SIZE",
    "PROMETHEUS_PORT",
    "TOKENIZATION_WORKERS",
)
# bfloat16 is for the backend in Python, which these images are built without (their
# Dockerfiles in awslabs/llm-hosting-container 421a60a).
TEI_CHOICES: Mapping[str, Mapping[str, str]] = {
    "DTYPE": {"float16": "", "float32": ""},
    "POOLING": {"cls": "", "mean": "", "splade": "", "last-token": "1.3.0"},
}
# Those of which TEI takes one alone.
TEI_PAIRS = (
    ("DEFAULT_PROMPT", "DEFAULT_PROMPT_NAME"),
    ("HF_TOKEN", "HF_API_TOKEN"),
)
# model_type of config.json, with the release that first loads it
# (backends/candle/src/lib.rs).
TEI_MODELS: Mapping[str, str] = {
    "bert": "",
    "bidirectional_pplx_qwen3": "1.9.0",
    "camembert": "",
    "deberta-v2": "1.9.0",
    "distilbert": "",
    "gemma3_text": "1.8.2",
    "gte": "1.7.0",
    "llama": "1.9.0",
    "llama_bidirec": "1.9.0",
    "mistral": "1.4.0",
    "modernbert": "1.7.0",
    "mpnet": "1.6.0",
    "new": "1.4.0",
    "nomic_bert": "",
    "qwen2": "1.4.0",
    "qwen3": "1.8.0",
    "roberta": "",
    "xlm-roberta": "",
}
# Loaded on GPUs alone, in float16; without a GPU there is the model's own ONNX.
TEI_OF_GPUS = ("llama", "llama_bidirec", "mistral", "qwen2")
# What vLLM-Omni's parser has beside vLLM's: kind, first and last release that was read
# (vllm_omni/entrypoints/cli/serve.py in the packages of 0.18.0, 0.20.0, 0.26.0 and
# 0.28.0); no last one where the newest of them has it.
OMNI: Mapping[str, tuple[str, str, str]] = {
    "allgather-degree": ("int", "0.26.0", ""),
    "async-chunk": ("negatable", "0.20.0", ""),
    "auxiliary-text-encoder": ("str", "0.26.0", ""),
    "batch-timeout": ("int", "0.18.0", ""),
    "boundary-ratio": ("float", "0.18.0", ""),
    "cache-backend": ("str", "0.18.0", ""),
    "cache-config": ("str", "0.18.0", ""),
    "cfg-parallel-size": ("int", "0.18.0", ""),
    "default-sampling-params": ("str", "0.18.0", ""),
    "deploy-config": ("str", "0.20.0", ""),
    "diffusers-call-kwargs": ("json", "0.20.0", ""),
    "diffusers-load-kwargs": ("json", "0.20.0", ""),
    "diffusion-attention-backend": ("str", "0.26.0", ""),
    "diffusion-attention-config": ("json", "0.26.0", ""),
    "diffusion-compile-dynamic": ("negatable", "0.26.0", ""),
    "diffusion-compile-granularity": ("str", "0.26.0", ""),
    "diffusion-kv-cache-dtype": ("str", "0.26.0", ""),
    "diffusion-kv-cache-skip-layers": ("str", "0.26.0", ""),
    "diffusion-kv-cache-skip-steps": ("str", "0.26.0", ""),
    "diffusion-load-format": ("str", "0.20.0", ""),
    "diffusion-quantization-config": ("json", "0.26.0", ""),
    "diffusion-streaming-output": ("bool", "0.26.0", ""),
    "disable-multithread-weight-load": ("bool", "0.18.0", ""),
    "dlo-host-registration-limit-gib": ("float", "0.28.0", ""),
    "dlo-no-use-allgather": ("bool", "0.26.0", ""),
    "dlo-resident-layers": ("int", "0.28.0", ""),
    "dlo-use-allgather": ("bool", "0.26.0", ""),
    "enable-ar-profiler": ("bool", "0.20.0", ""),
    "enable-cache-dit-summary": ("bool", "0.18.0", ""),
    "enable-cpu-offload": ("bool", "0.18.0", ""),
    "enable-diffusion-pipeline-profiler": ("bool", "0.18.0", ""),
    "enable-distributed-layerwise-offload": ("bool", "0.26.0", ""),
    "enable-layerwise-offload": ("bool", "0.18.0", ""),
    "enable-orch-monitor": ("bool", "0.26.0", ""),
    "fa-deterministic": ("bool", "0.28.0", ""),
    "fastvideo-vsa-topk": ("int", "0.28.0", ""),
    "flow-shift": ("float", "0.18.0", ""),
    "force-cutlass-fp8": ("bool", "0.26.0", ""),
    "forced-aligner": ("str", "0.26.0", ""),
    "forced-aligner-config": ("str", "0.26.0", ""),
    "forced-aligner-device": ("str", "0.28.0", ""),
    "host-weight-runtime-mode": ("str", "0.28.0", ""),
    "host-weight-runtime-root": ("str", "0.28.0", ""),
    "hsdp-replicate-size": ("int", "0.18.0", ""),
    "hsdp-shard-size": ("int", "0.18.0", ""),
    "init-timeout": ("int", "0.18.0", ""),
    "log-file": ("str", "0.18.0", ""),
    "log-stats": ("bool", "0.18.0", ""),
    "lora-backend": ("str", "0.28.0", ""),
    "lora-path": ("several", "0.28.0", ""),
    "lora-scale": ("float", "0.28.0", ""),
    "max-generated-image-size": ("int", "0.18.0", ""),
    "model-class-name": ("str", "0.18.0", ""),
    "no-guardrails": ("bool", "0.26.0", ""),
    "num-gpus": ("int", "0.18.0", ""),
    "num-weight-load-threads": ("int", "0.18.0", ""),
    "omni": ("bool", "0.18.0", ""),
    "omni-dp-size-local": ("int", "0.26.0", ""),
    "omni-heartbeat-timeout": ("float", "0.26.0", ""),
    "omni-lb-policy": ("str", "0.26.0", ""),
    "omni-master-address": ("str", "0.18.0", ""),
    "omni-master-port": ("int", "0.18.0", ""),
    "omni-replica-address": ("str", "0.26.0", ""),
    "quantization-config": ("json", "0.18.0", "0.20.0"),
    "ray-address": ("str", "0.18.0", ""),
    "replica-id": ("int", "0.20.0", ""),
    "request-batch-max-wait-ms": ("float", "0.26.0", ""),
    "ring": ("int", "0.18.0", ""),
    "ring-degree": ("int", "0.18.0", ""),
    "shm-threshold-bytes": ("int", "0.18.0", ""),
    "stage-configs-path": ("str", "0.18.0", "0.26.0"),
    "stage-id": ("int", "0.18.0", ""),
    "stage-init-timeout": ("int", "0.18.0", ""),
    "stage-overrides": ("str", "0.20.0", ""),
    "step-execution": ("bool", "0.20.0", ""),
    "strategy-config": ("str", "0.26.0", ""),
    "task-type": ("str", "0.18.0", ""),
    "text-encoder-tp-size": ("int", "0.26.0", ""),
    "tts-max-instructions-length": ("int", "0.18.0", ""),
    "ulysses-a2a-permute": ("negatable", "0.28.0", ""),
    "ulysses-degree": ("int", "0.18.0", ""),
    "ulysses-mode": ("str", "0.18.0", ""),
    "use-hsdp": ("bool", "0.18.0", ""),
    "usp": ("int", "0.18.0", ""),
    "vae-parallel-mode": ("str", "0.26.0", ""),
    "vae-patch-parallel-size": ("int", "0.18.0", ""),
    "vae-use-slicing": ("bool", "0.18.0", ""),
    "vae-use-tiling": ("bool", "0.18.0", ""),
    "worker-backend": ("str", "0.18.0", ""),
}
_NEWEST_READ = "0.28.0"


def find_omni_argument(name: str, release: str | None) -> EngineArgument | None:
    """
    Look up one of vLLM-Omni's own arguments; ``None`` where a release has none such.

    Between releases that were read one goes by those around it; the newest is taken to
    have what the newest that was read has.

    Args:
        name: The long name, without dashes in front.

        release: vLLM-Omni's release; ``None`` where it is not known.
    """
    if name not in OMNI:
        return None
    kind, first, last = OMNI[name]
    if not is_release_between(release or _NEWEST_READ, first, last or None):
        return None
    is_switch = kind in {"bool", "negatable"}
    several = kind == "several"
    return EngineArgument(
        name=name,
        kind="bool" if is_switch else "str" if several else kind,
        nargs="+" if several else None,
        has_negative=kind == "negatable",
    )


def without_own(
    environment: Mapping[str, str], image: EngineRelease
) -> Iterator[tuple[str, str]]:
    """
    Yield the variables that vLLM's table can be asked about.
    """
    rule = ENTRY_POINTS[image.rule] if image.rule is not None else None
    for name, value in environment.items():
        is_told = rule is not None and name.startswith(rule.prefix)
        flag = rule.flag(name).removeprefix("--") if rule is not None else ""
        own = find_omni_argument(flag, image.engine_version) or find_omni_argument(
            flag.removeprefix("no-"), image.engine_version
        )
        if not is_told or own is None:
            yield name, value
