"""
Starting an engine: its variables go through the image's own entry point.

What Hugging Face's sets where nothing else is said is read in
scripts/docker/huggingface/vllm (sagemaker_entrypoint.sh, hf_optimizations.sh) of
aws/deep-learning-containers.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from cdk_sagemaker_llm.catalog.engine_arguments import Engine
from cdk_sagemaker_llm.catalog.engine_releases import (
    EngineRelease,
    find_engine_release,
    pinned_version,
)
from cdk_sagemaker_llm.catalog.images import image_at, image_near
from cdk_sagemaker_llm.local.aws.artifacts import UNREAD
from cdk_sagemaker_llm.local.engines.containers import (
    EngineError,
    StartedEngine,
    read_model,
)
from cdk_sagemaker_llm.serving.engines.checks.tei import REFUSED_BY_TEI
from cdk_sagemaker_llm.serving.engines.engine_environment import engine_findings
from cdk_sagemaker_llm.serving.engines.entry_points import (
    ENTRY_POINTS,
    MODEL_DIR,
    PORT,
    StartError,
    command_line,
)
from cdk_sagemaker_llm.serving.engines.parsing import ParserError, parse

# Whose arguments are known by release; vLLM-Omni takes vLLM's and its own.
_PARSED: Mapping[str, Engine] = {"vllm": "vllm", "sglang": "sglang"}
_MODEL_FIELDS = ("model", "model_path", "hf_repo")
_KEPT = 256
_HUGGING_FACE = "huggingface-vllm"
_WITHOUT_DEFAULTS = "hf-vllm-A"
_SECRETS = ("api_key", "token", "password")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_GGUF = ".gguf"
_LMCACHE = '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'
_BUCKETS = ("s3://", "gs://", "azure://")


def engine_release(image: str) -> EngineRelease | None:
    """
    Recognise an engine's image by its address; ``None`` for another.
    """
    found = image_at(image) or image_near(image)
    if found is None:
        return None
    version = pinned_version(found.family, found.version)
    return find_engine_release(found.family, version)


def start(
    release: EngineRelease,
    environment: Mapping[str, str],
    model_data: Collection[str] = (),
    config: str | None = None,
) -> StartedEngine:
    """
    Start an engine with a container's variables, or raise an ``EngineError``.

    The model data are the paths in ``/opt/ml/model``, relative to it; the config is the
    text of the config.json among them.
    """
    variables = tuple(sorted(environment.items()))
    return _start(release, variables, tuple(model_data), config)


@functools.lru_cache(maxsize=_KEPT)
def _start(
    release: EngineRelease,
    variables: tuple[tuple[str, str], ...],
    files: tuple[str, ...],
    config: str | None,
) -> StartedEngine:
    environment = dict(variables)
    if release.engine == "tei":
        return _started_by_name(release, environment, config)
    if release.family == _HUGGING_FACE and release.rule != _WITHOUT_DEFAULTS:
        own = {name: value for name, value in environment.items() if value}
        environment |= {**dict(_hugging_face_defaults(environment)), **own}
    settings = _settings(release, environment, files)
    names = (settings.get(field) for field in _MODEL_FIELDS)
    model = str(next((name for name in names if name), MODEL_DIR))
    is_local = model.rstrip("/") == MODEL_DIR
    engine = StartedEngine(
        release=release,
        settings=settings,
        model=read_model(model, config if is_local else None),
        environment=environment,
        log=_log(release, settings),
    )
    _check_answering(engine)
    missing = None if files == UNREAD else _missing(engine, files)
    if missing is not None:
        raise EngineError(*engine.log[:-1], missing)
    return engine


def _settings(
    release: EngineRelease, environment: Mapping[str, str], files: tuple[str, ...]
) -> dict[str, Any]:
    """
    Return what an engine's parser makes of a container's variables, or the arguments
    themselves where its parser is not known.
    """
    if release.rule is None:
        return {}
    try:
        arguments = command_line(
            environment, ENTRY_POINTS[release.rule], model_data=files
        )
    except StartError as fault:
        raise EngineError(f"[ERROR] standard-supervisor: {fault}") from fault
    engine = _PARSED.get(release.engine)
    if engine is None or release.engine_version is None:
        return dict(_by_flags(arguments))
    try:
        settings = vars(parse(engine, release.engine_version, arguments))
    except ParserError as fault:
        program = str(fault).partition(":")[0]
        raise EngineError(f"usage: {program} [-h] ...", str(fault)) from fault
    return {key: value for key, value in settings.items() if value is not None}


def _by_flags(arguments: list[str]) -> Iterator[tuple[str, Any]]:
    values: list[str] = []
    for token in reversed(arguments):
        if not token.startswith("--"):
            values.insert(0, token)
            continue
        name = token.removeprefix("--").replace("-", "_")
        read = [int(value) if value.isdecimal() else value for value in values]
        yield name, read[0] if len(read) == 1 else read or True
        values = []


def _started_by_name(
    release: EngineRelease, environment: Mapping[str, str], config: str | None
) -> StartedEngine:
    model = environment.get("HF_MODEL_ID")
    if not model:
        raise EngineError("HF_MODEL_ID must be set")
    # What its router refuses to start with; its own words are others.
    found = engine_findings(
        environment, family=release.family, version=release.version, accelerators=None
    )
    refusals = [finding for finding in found if finding.code == REFUSED_BY_TEI.code]
    if refusals:
        raise EngineError(*(f"error: {finding.message}" for finding in refusals))
    is_local = model.rstrip("/") == MODEL_DIR
    return StartedEngine(
        release=release,
        settings={},
        model=read_model(model, config if is_local else None),
        environment=environment,
        log=(f'Args {{ model_id: "{model}" }}', "Ready"),
    )


def _log(release: EngineRelease, settings: Mapping[str, Any]) -> tuple[str, ...]:
    texts = {
        name: "[redacted]" if any(secret in name for secret in _SECRETS) else value
        for name, value in settings.items()
    }
    if release.engine == "sglang":
        settings_text = ", ".join(f"{name}={value!r}" for name, value in texts.items())
        return (
            f"server_args=ServerArgs({settings_text})",
            "The server is fired up and ready to roll!",
        )
    if release.engine == "llama.cpp":
        flags = " ".join(f"--{name.replace('_', '-')} {texts[name]}" for name in texts)
        return (f"llama-server {flags}", "main: server is listening")
    return (
        f"INFO [utils.py] non-default args: {texts}",
        "INFO:     Application startup complete.",
    )


def _check_answering(engine: StartedEngine) -> None:
    variables, rule = engine.environment, engine.release.rule
    host = str(engine.settings.get("host", ""))
    names = {
        # The port of the nginx before it, whose host is another.
        "llama-cpp": ("SM_LLAMA_CPP_PORT",),
        "hf-llama-cpp": ("SAGEMAKER_BIND_TO_PORT", "LLAMACPP_SAGEMAKER_PORT"),
    }.get(rule or "")
    if names is None:
        port = str(engine.settings.get("port", PORT))
    else:
        port = next((variables[name] for name in names if variables.get(name)), PORT)
    is_hidden = rule != "llama-cpp" and host in _LOOPBACK
    if port == PORT and not is_hidden:
        return
    server = f"INFO:     Uvicorn running on http://{host or '0.0.0.0'}"  # noqa: S104 - what the container does
    if rule == "llama-cpp":
        server = "Starting nginx SageMaker proxy on 0.0.0.0"
    raise EngineError(*engine.log, f"{server}:{port}")


def _missing(engine: StartedEngine, files: tuple[str, ...]) -> str | None:
    """
    Say what an engine looks for among its files and does not find.
    """
    name = engine.model.name.rstrip("/")
    is_llama = engine.release.engine == "llama.cpp"
    if is_llama and not engine.settings.keys() & {"model", "hf_repo", "model_url"}:
        folder = engine.environment.get("SM_LLAMA_CPP_MODEL_DIR") or MODEL_DIR
        return (
            f"WARNING: no *.gguf found under {folder}; set SM_LLAMA_CPP_MODEL or mount "
            "a GGUF."
        )
    if name != MODEL_DIR and not name.startswith(f"{MODEL_DIR}/"):
        return None
    inside = name.removeprefix(MODEL_DIR).strip("/")
    if inside.endswith(_GGUF) and inside in files:
        return None
    if is_llama:
        return f"llama_model_load: error loading model: failed to open {name}"
    there = [path for path in files if not inside or path.startswith(f"{inside}/")]
    own = [path.removeprefix(inside).lstrip("/") for path in there]
    # A folder around the files is not gone into.
    is_wrapped = "config.json" not in own and any(
        path.endswith("/config.json") for path in own
    )
    if own and not is_wrapped:
        return None
    return f"OSError: {name} does not appear to have a file named config.json."


def _hugging_face_defaults(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    # To a shell's := an empty value is none.
    switches = ("HF_ENABLE_OPTIMIZATIONS", "HF_ENABLE_LMCACHE")
    if all((environment.get(name) or "1") == "1" for name in switches):
        yield "SM_VLLM_KV_TRANSFER_CONFIG", _LMCACHE
    model = environment.get("SM_VLLM_MODEL") or environment.get("HF_MODEL_ID", "")
    streams = environment.get("HF_ENABLE_RUNAI_STREAMER", "0") == "1"
    if streams and model.startswith(_BUCKETS):
        yield "SM_VLLM_LOAD_FORMAT", "runai_streamer"
