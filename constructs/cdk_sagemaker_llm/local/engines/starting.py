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
from cdk_sagemaker_llm.local.engines.engine import (
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
    EntryPoint,
    StartError,
    command_line,
    is_supervised,
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
# What stands for files that cannot be looked into.
_UNREAD = ("weights",)
_GGUF = ".gguf"
_LMCACHE = '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'
_TRANSFER, _FORMAT = "SM_VLLM_KV_TRANSFER_CONFIG", "SM_VLLM_LOAD_FORMAT"
_BUCKETS = ("s3://", "gs://", "azure://")
_ALL, _CACHE = "HF_ENABLE_OPTIMIZATIONS", "HF_ENABLE_LMCACHE"
_ALLOCATOR = "PYTORCH_CUDA_ALLOC_CONF"


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
    Start an engine with a container's variables.

    Args:
        release: What is in its image.

        environment: The variables.

        model_data: Paths of the files in ``/opt/ml/model``, relative to it.

        config: The text of the config.json among them; ``None`` without one.

    Raises:
        EngineError: If it does not come to answer.
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
    warnings: tuple[str, ...] = ()
    if release.family == _HUGGING_FACE and release.rule != _WITHOUT_DEFAULTS:
        warnings = hugging_face_log(environment)
        environment = with_hugging_face_defaults(environment)
    settings = _settings(release, environment, files)
    names = (settings.get(field) for field in _MODEL_FIELDS)
    model = str(next((name for name in names if name), MODEL_DIR))
    is_local = model.rstrip("/") == MODEL_DIR
    log = (*warnings, *start_log_lines(release, settings, environment))
    engine = StartedEngine(
        release=release,
        settings=settings,
        model=read_model(model, config if is_local else None),
        environment=environment,
        log=log,
    )
    hold_answering(engine, files)
    return engine


def _settings(
    release: EngineRelease, environment: Mapping[str, str], files: tuple[str, ...]
) -> dict[str, Any]:
    if release.rule is None:
        return {}
    rule = ENTRY_POINTS[release.rule]
    try:
        arguments = command_line(environment, rule, model_data=files)
    except StartError as fault:
        raise EngineError(f"[ERROR] standard-supervisor: {fault}") from fault
    return _parse(release, rule, environment, arguments)


def _parse(
    release: EngineRelease,
    rule: EntryPoint,
    environment: Mapping[str, str],
    arguments: list[str],
) -> dict[str, Any]:
    engine = _PARSED.get(release.engine)
    if engine is None or release.engine_version is None:
        return dict(_by_flags(arguments))
    try:
        settings = vars(parse(engine, release.engine_version, arguments))
    except ParserError as fault:
        is_restarted = is_supervised(environment, rule)
        raise EngineError(*_refusal(str(fault), is_restarted=is_restarted)) from fault
    return {key: value for key, value in settings.items() if value is not None}


def _by_flags(arguments: list[str]) -> Iterator[tuple[str, Any]]:
    """
    Walk through the arguments of an engine whose parser is not known.
    """
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
    refusals = _refused_by_tei(release, environment)
    if refusals:
        raise EngineError(*refusals)
    is_local = model.rstrip("/") == MODEL_DIR
    return StartedEngine(
        release=release,
        settings={},
        model=read_model(model, config if is_local else None),
        environment=environment,
        log=(f'Args {{ model_id: "{model}" }}', "Ready"),
    )


def _refused_by_tei(
    release: EngineRelease, environment: Mapping[str, str]
) -> list[str]:
    """
    Return what TEI's router refuses to start with; its own words are others.
    """
    found = engine_findings(
        environment, family=release.family, version=release.version, accelerators=None
    )
    refusals = [finding for finding in found if finding.code == REFUSED_BY_TEI.code]
    return [f"error: {finding.message}" for finding in refusals]


def _refusal(message: str, *, is_restarted: bool) -> list[str]:
    program = message.partition(":")[0]
    lines = [f"usage: {program} [-h] ...", message]
    if not is_restarted:
        return lines
    # supervisord tries again for ever: what exits after a second has started well.
    end = "INFO exited: app (exit status 2; not expected)"
    return [*lines, end, "INFO spawned: 'app'", *lines, end]


def start_log_lines(
    release: EngineRelease,
    settings: Mapping[str, Any],
    environment: Mapping[str, str],
) -> tuple[str, ...]:
    """
    Return what the log of a start says, as each engine shows its arguments.
    """
    texts = {name: _redact(name, value) for name, value in settings.items()}
    if release.engine == "sglang":
        settings_text = ", ".join(f"{name}={value!r}" for name, value in texts.items())
        return (
            f"server_args=ServerArgs({settings_text})",
            "The server is fired up and ready to roll!",
        )
    if release.engine == "llama.cpp":
        return tuple(_of_llama_cpp(release, texts, environment))
    return (
        f"INFO [utils.py] non-default args: {texts}",
        "INFO:     Application startup complete.",
    )


def hold_answering(engine: StartedEngine, files: tuple[str, ...]) -> None:
    """
    Hold that SageMaker finds an engine, and the engine its model.

    Raises:
        EngineError: If its ping is never answered.
    """
    _hold_address(engine)
    if files == _UNREAD:
        return
    missing = _missing(engine, files)
    if missing is not None:
        raise EngineError(*engine.log[:-1], missing)


def _of_llama_cpp(
    release: EngineRelease,
    texts: Mapping[str, Any],
    environment: Mapping[str, str],
) -> Iterator[str]:
    flags = " ".join(f"--{name.replace('_', '-')} {texts[name]}" for name in texts)
    if release.rule == "llama-cpp":
        if not environment.get("SM_LLAMA_CPP_MODEL"):
            yield _found_gguf(texts, environment)
        yield "Starting llama-server on 127.0.0.1:8081"
        port = environment.get("SM_LLAMA_CPP_PORT") or PORT
        yield f"Starting nginx SageMaker proxy on 0.0.0.0:{port}"
    yield f"llama-server {flags}"
    yield "main: server is listening"


def _found_gguf(texts: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    if texts.get("model"):
        return f"INFO: auto-detected GGUF model {texts['model']}"
    folder = environment.get("SM_LLAMA_CPP_MODEL_DIR") or MODEL_DIR
    return (
        f"WARNING: no *.gguf found under {folder}; set SM_LLAMA_CPP_MODEL or mount a "
        "GGUF."
    )


def _hold_address(engine: StartedEngine) -> None:
    port, host = _port(engine), str(engine.settings.get("host", ""))
    is_hidden = engine.release.rule != "llama-cpp" and host in _LOOPBACK
    if port == PORT and not is_hidden:
        return
    if engine.release.rule == "llama-cpp":
        # Its log has the port that nginx listens on.
        raise EngineError(*engine.log)
    raise EngineError(
        *engine.log,
        f"INFO:     Uvicorn running on http://{host or '0.0.0.0'}:{port}",  # noqa: S104 - what the container does
    )


def _port(engine: StartedEngine) -> str:
    variables, rule = engine.environment, engine.release.rule
    if rule == "llama-cpp":
        return variables.get("SM_LLAMA_CPP_PORT") or PORT
    if rule == "hf-llama-cpp":
        names = ("SAGEMAKER_BIND_TO_PORT", "LLAMACPP_SAGEMAKER_PORT")
        return next((variables[name] for name in names if variables.get(name)), PORT)
    return str(engine.settings.get("port", PORT))


def _missing(engine: StartedEngine, files: tuple[str, ...]) -> str | None:
    """
    Say what an engine looks for among its files and does not find.
    """
    name = engine.model.name.rstrip("/")
    is_llama = engine.release.engine == "llama.cpp"
    if is_llama and not engine.settings.keys() & {"model", "hf_repo", "model_url"}:
        return "error: no model was found; nginx answers 502 Bad Gateway"
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
    is_there = own and not is_wrapped
    lines = f"OSError: {name} does not appear to have a file named config.json."
    return None if is_there else lines


def _redact(name: str, value: object) -> object:
    return "[redacted]" if any(secret in name for secret in _SECRETS) else value


def with_hugging_face_defaults(environment: Mapping[str, str]) -> dict[str, str]:
    """
    Return the variables that the entry point goes on with.
    """
    values = {name: value for name, value in environment.items() if value}
    return {**environment, **dict(_defaults(environment)), **values}


def hugging_face_log(environment: Mapping[str, str]) -> tuple[str, ...]:
    """
    Return what the entry point's log says of it.
    """
    if not _is_on(environment, _ALL):
        return (f"[hf-opt] disabled ({_ALL}={environment[_ALL]})",)
    is_cached = _is_on(environment, _CACHE)
    cached = ("[hf-opt] LMCache CPU offload enabled",) if is_cached else ()
    if not _expands(environment):
        return cached
    if is_cached:
        skipped = (
            "[hf-opt] expandable_segments skipped (incompatible with the LMCache "
            "KV connector); LMCache takes precedence"
        )
        return (skipped, *cached)
    return (f"[hf-opt] {_ALLOCATOR}=expandable_segments:True",)


def _defaults(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if _is_on(environment, _ALL):
        if _is_on(environment, _CACHE):
            yield _TRANSFER, _LMCACHE
        elif _expands(environment):
            yield _ALLOCATOR, "expandable_segments:True"
    model = environment.get("SM_VLLM_MODEL") or environment.get("HF_MODEL_ID", "")
    streams = environment.get("HF_ENABLE_RUNAI_STREAMER", "0") == "1"
    if streams and model.startswith(_BUCKETS):
        yield _FORMAT, "runai_streamer"


def _expands(environment: Mapping[str, str]) -> bool:
    """
    Whether the allocator is to be told, which nobody has told yet.
    """
    is_wanted = _is_on(environment, "HF_ENABLE_EXPANDABLE_SEGMENTS")
    return is_wanted and not environment.get(_ALLOCATOR)


def _is_on(environment: Mapping[str, str], name: str) -> bool:
    # To a shell's := an empty value is none.
    return (environment.get(name) or "1") == "1"
