"""
Starting an engine: its variables go through the image's own entry point.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, cast

from cdk_sagemaker_llm.catalog.engine_arguments import Engine
from cdk_sagemaker_llm.catalog.engine_releases import (
    EngineRelease,
    find_engine_release,
    pinned_version,
)
from cdk_sagemaker_llm.catalog.known_images import image_at, image_near
from cdk_sagemaker_llm.serving.engines.entry_points import ENTRY_POINTS, MODEL_DIR
from cdk_sagemaker_llm.serving.engines.parsing import ParserError, parse
from cdk_sagemaker_llm.serving.engines.supervision import StartError
from cdk_sagemaker_llm.serving.engines.translation import is_supervised, translate

# Whose arguments are known by release; vLLM-Omni takes vLLM's and its own.
_PARSED: Mapping[str, Engine] = {"vllm": "vllm", "sglang": "sglang"}
_MODEL_FIELDS = ("model", "model_path")


@dataclass(frozen=True, kw_only=True, slots=True)
class StartedEngine:
    """
    An engine that runs.

    Args:
        release: What is in its image.

        settings: What its parser made of its arguments; empty where they are not
            known.

        model: What it calls its model.
    """

    release: EngineRelease
    settings: Mapping[str, Any]
    model: str

    @property
    def context_length(self) -> int | None:
        """
        Tokens of prompt and answer together, where it was told.
        """
        found = self.settings.get("max_model_len") or self.settings.get(
            "context_length"
        )
        return found if isinstance(found, int) and found > 0 else None

    @property
    def served_names(self) -> tuple[str, ...]:
        """
        What requests may call the model.
        """
        names = self.settings.get("served_model_name")
        if isinstance(names, str):
            return (names,)
        return tuple(names) if names else (self.model,)


class EngineError(Exception):
    """
    An engine that does not start; what it and its supervisor say, line by line.
    """

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


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
) -> StartedEngine:
    """
    Start an engine with a container's variables.

    Args:
        release: What is in its image.

        environment: The variables.

        model_data: Paths of the files in ``/opt/ml/model``, relative to it.

    Raises:
        EngineError: If it does not start.
    """
    if release.engine == "tei":
        return _started_by_name(release, environment)
    if release.rule is None:
        return StartedEngine(release=release, settings={}, model=MODEL_DIR)
    rule = ENTRY_POINTS[release.rule]
    try:
        arguments = translate(environment, rule, model_data=model_data)
    except StartError as fault:
        raise EngineError(f"[ERROR] standard-supervisor: {fault}") from fault
    engine = _PARSED.get(release.engine)
    if engine is None or release.engine_version is None:
        return StartedEngine(
            release=release, settings={}, model=_named(arguments) or MODEL_DIR
        )
    try:
        settings = vars(parse(engine, release.engine_version, arguments))
    except ParserError as fault:
        raise EngineError(
            *_refusal(str(fault), is_restarted=is_supervised(environment, rule))
        ) from fault
    named = (settings.get(field) for field in _MODEL_FIELDS)
    model = next((name for name in named if name), None)
    return StartedEngine(
        release=release,
        settings={key: value for key, value in settings.items() if value is not None},
        model=cast("str", model) or MODEL_DIR,
    )


def _started_by_name(
    release: EngineRelease, environment: Mapping[str, str]
) -> StartedEngine:
    model = environment.get("HF_MODEL_ID")
    if not model:
        raise EngineError("HF_MODEL_ID must be set")
    return StartedEngine(release=release, settings={}, model=model)


def _refusal(message: str, *, is_restarted: bool) -> list[str]:
    program = message.partition(":")[0]
    lines = [f"usage: {program} [-h] ...", message]
    if not is_restarted:
        return lines
    # supervisord tries again for ever: what exits after a second has started well.
    ended = "INFO exited: app (exit status 2; not expected)"
    return [*lines, ended, "INFO spawned: 'app'", *lines, ended]


def _named(arguments: list[str]) -> str | None:
    for flag in ("--model", "--model-path", "--hf-repo"):
        if flag in arguments:
            return arguments[arguments.index(flag) + 1]
    return None
