"""
What an engine says while it starts, and what keeps it from answering though it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cdk_sagemaker_llm.catalog.engine_releases import EngineRelease
from cdk_sagemaker_llm.local.runtime.engines.started import EngineError, StartedEngine
from cdk_sagemaker_llm.serving.engines.entry_points import MODEL_DIR, PORT

_SECRETS = ("api_key", "token", "password")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
# What stands for files that cannot be looked into.
_UNREAD = ("weights",)
_GGUF = ".gguf"


def lines(
    release: EngineRelease,
    settings: Mapping[str, Any],
    environment: Mapping[str, str],
) -> tuple[str, ...]:
    """
    Return what the log of a start says, as each engine shows its arguments.
    """
    shown = {name: _shown(name, value) for name, value in settings.items()}
    if release.engine == "sglang":
        told = ", ".join(f"{name}={value!r}" for name, value in shown.items())
        return (
            f"server_args=ServerArgs({told})",
            "The server is fired up and ready to roll!",
        )
    if release.engine == "llama.cpp":
        return tuple(_of_llama_cpp(release, shown, environment))
    return (
        f"INFO [utils.py] non-default args: {shown}",
        "INFO:     Application startup complete.",
    )


def hold(engine: StartedEngine, files: tuple[str, ...]) -> None:
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
    shown: Mapping[str, Any],
    environment: Mapping[str, str],
) -> Iterator[str]:
    told = " ".join(f"--{name.replace('_', '-')} {shown[name]}" for name in shown)
    if release.rule == "llama-cpp":
        if not environment.get("SM_LLAMA_CPP_MODEL"):
            yield _found_gguf(shown, environment)
        yield "Starting llama-server on 127.0.0.1:8081"
        port = environment.get("SM_LLAMA_CPP_PORT") or PORT
        yield f"Starting nginx SageMaker proxy on 0.0.0.0:{port}"
    yield f"llama-server {told}"
    yield "main: server is listening"


def _found_gguf(shown: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    if shown.get("model"):
        return f"INFO: auto-detected GGUF model {shown['model']}"
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
    told = f"OSError: {name} does not appear to have a file named config.json."
    return None if is_there else told


def _shown(name: str, value: object) -> object:
    return "[redacted]" if any(secret in name for secret in _SECRETS) else value
