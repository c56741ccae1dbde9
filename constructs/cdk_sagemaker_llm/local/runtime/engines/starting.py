"""
Starting an engine: its variables go through the image's own entry point.
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
from cdk_sagemaker_llm.catalog.known_images import image_at, image_near
from cdk_sagemaker_llm.local.runtime.engines import hugging_face, starting_up
from cdk_sagemaker_llm.local.runtime.engines.kinds import read_model
from cdk_sagemaker_llm.local.runtime.engines.started import EngineError, StartedEngine
from cdk_sagemaker_llm.serving.engines.checks.tei import REFUSED_BY_TEI
from cdk_sagemaker_llm.serving.engines.engine_environment import engine_findings
from cdk_sagemaker_llm.serving.engines.entry_points import (
    ENTRY_POINTS,
    MODEL_DIR,
    EntryPoint,
    StartError,
    is_supervised,
    translate,
)
from cdk_sagemaker_llm.serving.engines.parsing import ParserError, parse

# Whose arguments are known by release; vLLM-Omni takes vLLM's and its own.
_PARSED: Mapping[str, Engine] = {"vllm": "vllm", "sglang": "sglang"}
_MODEL_FIELDS = ("model", "model_path", "hf_repo")
_KEPT = 256
_HUGGING_FACE = "huggingface-vllm"
_WITHOUT_DEFAULTS = "hf-vllm-A"


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
    return _started(release, variables, tuple(model_data), config)


@functools.lru_cache(maxsize=_KEPT)
def _started(
    release: EngineRelease,
    variables: tuple[tuple[str, str], ...],
    files: tuple[str, ...],
    config: str | None,
) -> StartedEngine:
    environment = dict(variables)
    if release.engine == "tei":
        return _started_by_name(release, environment, config)
    said: tuple[str, ...] = ()
    if release.family == _HUGGING_FACE and release.rule != _WITHOUT_DEFAULTS:
        said = hugging_face.said_of(environment)
        environment = hugging_face.with_defaults(environment)
    settings = _settings(release, environment, files)
    named = (settings.get(field) for field in _MODEL_FIELDS)
    model = str(next((name for name in named if name), MODEL_DIR))
    is_local = model.rstrip("/") == MODEL_DIR
    log = (*said, *starting_up.lines(release, settings, environment))
    engine = StartedEngine(
        release=release,
        settings=settings,
        model=read_model(model, config if is_local else None),
        environment=environment,
        log=log,
    )
    starting_up.hold(engine, files)
    return engine


def _settings(
    release: EngineRelease, environment: Mapping[str, str], files: tuple[str, ...]
) -> dict[str, Any]:
    if release.rule is None:
        return {}
    rule = ENTRY_POINTS[release.rule]
    try:
        arguments = translate(environment, rule, model_data=files)
    except StartError as fault:
        raise EngineError(f"[ERROR] standard-supervisor: {fault}") from fault
    return _parsed(release, rule, environment, arguments)


def _parsed(
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
    refused = _refused_by_tei(release, environment)
    if refused:
        raise EngineError(*refused)
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
    refused = [finding for finding in found if finding.code == REFUSED_BY_TEI.code]
    return [f"error: {finding.message}" for finding in refused]


def _refusal(message: str, *, is_restarted: bool) -> list[str]:
    program = message.partition(":")[0]
    lines = [f"usage: {program} [-h] ...", message]
    if not is_restarted:
        return lines
    # supervisord tries again for ever: what exits after a second has started well.
    ended = "INFO exited: app (exit status 2; not expected)"
    return [*lines, ended, "INFO spawned: 'app'", *lines, ended]
