"""
The variables that LMI images read beside ``OPTION_...``, and since when.

Read in djl-serving from 0.25.0-dlc to 0.36.0-lmi27-dlc: ``ModelInfo``, ``PyEnv``,
``ModelStore``, ``ConfigManager``, ``SageMakerCompatibility``, and the entry point of
the images for GPUs (``dockerd-entrypoint-with-cuda-compat.sh``), which the image for
Neuron does not have.
"""

from __future__ import annotations

from dataclasses import dataclass

from cdk_sagemaker_llm.catalog.lmi import LmiVersion

PREFIX = "OPTION_"
MODEL = "HF_MODEL_ID"
LOAD_MODELS = "SERVING_LOAD_MODELS"
NEURON = "djl-neuronx"

# Under which name 0.27 began to read the engine; before it was no option at all.
ENGINE = "OPTION_ENGINE"
# EngineArgs has a field of that name, and LMI names the model itself.
MODEL_OF_VLLM = "OPTION_MODEL"


@dataclass(frozen=True, slots=True)
class Variable:
    """
    A variable by name: which property it sets, and which versions read it.

    Args:
        name: Its name.

        key: The property that it sets; empty where it sets none.

        first: The first minor version that reads it.

        last: The last one; empty if the newest does.

        for_gpus: Whether only the images for GPUs read it.

        instead: What to write where it is not read.
    """

    name: str
    key: str = ""
    first: str = "0.25"
    last: str = ""
    for_gpus: bool = False
    instead: str = ""

    def is_read(self, container: str, version: LmiVersion) -> bool:
        """
        Whether an image of that version reads it.
        """
        if self.for_gpus and container == NEURON:
            return False
        return version.at_least(self.first) and not self.is_past(version)

    def is_past(self, version: LmiVersion) -> bool:
        """
        Whether the last version that read it is over.
        """
        return bool(self.last) and version > LmiVersion.parse(f"{self.last}.0")


def _of_tgi(name: str, key: str, first: str = "0.27", instead: str = "") -> Variable:
    return Variable(name, key, first=first, for_gpus=True, instead=instead)


# With the file that is made of HF_MODEL_ID, so that they win over OPTION_...
OF_THE_HUB = (
    Variable(
        "HF_MODEL_REVISION", "option.revision", last="0.26", instead="HF_REVISION"
    ),
    Variable(
        "HF_REVISION", "option.revision", first="0.27", instead="HF_MODEL_REVISION"
    ),
    Variable("HF_TASK", "option.task", instead="OPTION_TASK"),
)
# Only where nothing else sets the property, in this order.
DEFAULTS = (
    _of_tgi("HF_MODEL_QUANTIZE", "option.quantize", instead="OPTION_QUANTIZE"),
    _of_tgi(
        "HF_MODEL_TRUST_REMOTE_CODE",
        "option.trust_remote_code",
        instead="OPTION_TRUST_REMOTE_CODE",
    ),
    _of_tgi(
        "MAX_BATCH_PREFILL_TOKENS",
        "option.max_rolling_batch_prefill_tokens",
        instead="OPTION_MAX_ROLLING_BATCH_PREFILL_TOKENS",
    ),
    _of_tgi(
        "MAX_BATCH_SIZE",
        "option.max_rolling_batch_size",
        instead="OPTION_MAX_ROLLING_BATCH_SIZE",
    ),
    _of_tgi(
        "ENABLE_CUDA_GRAPHS",
        "option.enforce_eager",
        first="0.28",
        instead="OPTION_ENFORCE_EAGER",
    ),
    Variable("TENSOR_PARALLEL_DEGREE", "option.tensor_parallel_degree"),
    _of_tgi(
        "SM_NUM_GPUS",
        "option.tensor_parallel_degree",
        instead="TENSOR_PARALLEL_DEGREE",
    ),
    Variable(
        "PIPELINE_PARALLEL_DEGREE", "option.pipeline_parallel_degree", first="0.29"
    ),
    Variable("MODEL_LOADING_TIMEOUT", "option.model_loading_timeout"),
    Variable("PREDICT_TIMEOUT", "option.predict_timeout"),
    Variable("DJL_ENTRY_POINT", "option.entryPoint"),
    Variable(
        "HF_TRUST_REMOTE_CODE",
        "option.trust_remote_code",
        last="0.26",
        instead="OPTION_TRUST_REMOTE_CODE",
    ),
    Variable("SERVING_MIN_WORKERS", "minWorkers"),
    Variable("SERVING_MAX_WORKERS", "maxWorkers"),
)
# Whatever the file says.
OVERRIDES = (
    Variable("SAGEMAKER_NUM_MODEL_WORKERS", "minWorkers", first="0.35"),
    Variable("SAGEMAKER_NUM_MODEL_WORKERS", "maxWorkers", first="0.35"),
    Variable(
        "SAGEMAKER_STARTUP_TIMEOUT",
        "option.model_loading_timeout",
        first="0.35",
        instead="OPTION_MODEL_LOADING_TIMEOUT",
    ),
    Variable(
        "SAGEMAKER_MODEL_SERVER_TIMEOUT_SECONDS",
        "option.predict_timeout",
        first="0.35",
        instead="OPTION_PREDICT_TIMEOUT",
    ),
)
# What sets no property of the model, or one that depends on the image.
OTHERS = (
    Variable(MODEL),
    Variable(
        ENGINE, "engine", first="0.27", instead="engine into a serving.properties"
    ),
    _of_tgi("MAX_CONCURRENT_REQUESTS", "", instead="SERVING_JOB_QUEUE_SIZE"),
    _of_tgi(
        "CUDA_MEMORY_FRACTION",
        "",
        first="0.28",
        instead="OPTION_GPU_MEMORY_UTILIZATION",
    ),
)
ALL = (*OF_THE_HUB, *DEFAULTS, *OVERRIDES, *OTHERS)
NAMES = frozenset(variable.name for variable in ALL)

# The server reads these with Integer.parseInt when it starts (ConfigManager).
NUMBERS = (
    "SERVING_JOB_QUEUE_SIZE",
    "SERVING_MAX_IDLE_TIME",
    "SERVING_BATCH_SIZE",
    "SERVING_MAX_BATCH_DELAY",
    "SERVING_RESERVED_MEMORY_MB",
)
# What else the server, its plugins and its start script read.
SETTINGS = frozenset(
    f"SERVING_{name}"
    for name in (
        "ALLOW_MULTI_STATUS",
        "BACKPORT_FOR_NON_STREAMING_HTTP_ERROR_CODES",
        "BAD_REQUEST_HTTP_CODE",
        "CACHE_BATCH",
        "CACHE_MULTITENANT",
        "CERTIFICATE_FILE",
        "CHUNKED_READ_TIMEOUT",
        "CLUSTER_ADDRESS",
        "CORS_ALLOWED_HEADERS",
        "CORS_ALLOWED_METHODS",
        "CORS_ALLOWED_ORIGIN",
        "DDB_CACHE",
        "DDB_TABLE_NAME",
        "DOWNLOAD_DIR",
        "ERROR_RATE_ANY",
        "ERROR_RATE_MODEL",
        "ERROR_RATE_SERVER",
        "ERROR_RATE_WLM",
        "FAIL_FAST",
        "FEATURES",
        "HEALTH_CHECK_OVERRIDE",
        "INFERENCE_ADDRESS",
        "IO_RATIO",
        "KEYSTORE",
        "KEYSTORE_PASS",
        "KEYSTORE_TYPE",
        "LOAD_MODELS",
        "LOAD_ON_DEVICES",
        "MANAGEMENT_ADDRESS",
        "MAX_REQUEST_SIZE",
        "MAX_WORKERS",
        "MEMORY_CACHE_CAPACITY",
        "MIN_WORKERS",
        "MODEL_STORE",
        "MODEL_URL_PATTERN",
        "NUMBER_OF_NETTY_THREADS",
        "OPTS",
        "PLUGIN_FOLDER",
        "PRIVATE_KEY_FILE",
        "PROMETHEUS",
        "REQUEST_ID_HEADER_KEY",
        "RETRY_THRESHOLD",
        "ROLLING_BATCH_BUFFER",
        "S3_CACHE",
        "S3_CACHE_AUTOCREATE",
        "S3_CACHE_BUCKET",
        "S3_CACHE_KEY_PREFIX",
        "SERVER_ERROR_HTTP_CODE",
        "THROTTLE_ERROR_HTTP_CODE",
        "TIMEOUT_HTTP_CODE",
        "USE_NATIVE_IO",
        "WAIT_MODEL_LOADING",
        "WLM_ERROR_HTTP_CODE",
    )
) | set(NUMBERS)
