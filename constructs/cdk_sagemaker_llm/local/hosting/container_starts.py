"""
How a container starts, and what keeps it from serving, in the service's words.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TextIO

from cdk_sagemaker_llm.local.aws import faults
from cdk_sagemaker_llm.local.aws.artifacts import ModelData
from cdk_sagemaker_llm.local.aws.faults import Fault
from cdk_sagemaker_llm.local.engines.compiled import load_refusal
from cdk_sagemaker_llm.local.engines.containers import EngineError, StartedEngine
from cdk_sagemaker_llm.local.engines.starting import engine_release, start
from cdk_sagemaker_llm.local.hosting.definitions import containers_of, model_on
from cdk_sagemaker_llm.local.hosting.world import World, plain_name
from cdk_sagemaker_llm.simulation.api_values import specification_on
from cdk_sagemaker_llm.simulation.fleet import Copy, Trouble, seconds

_CONFIG = "config.json"
_RUNS_FOR = 60.0
_HEALTH_TIMEOUT = "ContainerStartupHealthCheckTimeoutInSeconds"
# Not documented; what a repository measured for a container that crashes, twice.
_DEFAULT_HEALTH_TIMEOUT = 24 * 60.0
# As the supervisor of AWS's images says it.
_ENDED = ("WARN exited: llm-engine (exit status 1; not expected)",)
_streams: list[TextIO] = []
_said: set[tuple[str, tuple[str, ...]]] = set()


def started_engine(world: World, container: Mapping[str, Any]) -> StartedEngine | None:
    """
    Start the engine of a container; ``None`` if its image has none that is known, an
    ``EngineError`` if it does not start.
    """
    release = engine_release(str(container.get("Image", "")))
    if release is None:
        return None
    variables = container.get("Environment", {})
    data = next(ModelData.of(container), None)
    if data is None:
        return start(release, variables)
    files = world.artifacts.files(data)
    config = world.artifacts.read(data, _CONFIG) if _CONFIG in files else None
    config_text = None if config is None else config.decode(errors="replace")
    return start(release, variables, files, config_text)


def begin_restarts(world: World) -> None:
    """
    Have containers restart that are to: each after it has run for a while.
    """
    for endpoint in world.endpoints:
        for fleet in endpoint.fleets.values():
            for name in fleet.names:
                for copy in fleet.copies(name):
                    plan_restart(world, endpoint.name, copy)


def plan_restart(world: World, endpoint: str, copy: Copy) -> None:
    """
    Plan the next restart of a copy, if its container is to restart.
    """
    fault = _restarting(world, endpoint, copy)
    if fault is not None and copy.state == "serving" and world.clock.speed:
        delay = fault.seconds or _RUNS_FOR
        restart = partial(_restart, world, endpoint, copy)
        world.clock.timeline.after(delay, restart)


def _restart(world: World, endpoint: str, copy: Copy) -> None:
    found = world.endpoints.find(endpoint)
    if copy.state != "serving" or not _restarting(world, endpoint, copy):
        return
    for name, fleet in found.fleets.items() if found else ():
        if copy.instance in fleet.instances:
            _write_log(world, endpoint, {"VariantName": name}, copy, _ENDED)
            fleet.restart(copy, "the container has exited")


def _restarting(world: World, endpoint: str, copy: Copy) -> Fault | None:
    names = {endpoint, plain_name(copy.name)}
    return world.faults.find(faults.RESTARTS, names)


def trouble_of(
    world: World, endpoint: str, variant: dict[str, Any], copy: Copy
) -> Trouble | None:
    """
    Return what keeps a copy of a component, or of the variant's own model, from
    serving; ``None`` if nothing does.
    """
    subject = _subject(world, endpoint, variant, copy)
    words = subject.words
    times, found, names = world.times, world.faults, subject.names
    kind = copy.instance.instance_type
    pull = seconds(times.image_pull, kind)
    timeout = 0.0
    if world.clock.speed:
        timeout = float(subject.settings.get(_HEALTH_TIMEOUT, _DEFAULT_HEALTH_TIMEOUT))
    if found.find(faults.NO_IMAGE, names):
        image = subject.container.get("Image", "")
        return Trouble(
            pull,
            f'Failed to pull the image "{image}" of the container for {words}. '
            "Please ensure that the image exists and that the execution role "
            "grants ecr:BatchGetImage and ecr:GetDownloadUrlForLayer on it.",
        )
    if found.find(faults.CANNOT_START, names):
        return Trouble(
            pull,
            "CannotStartContainerError. Please ensure the model container for "
            f"{words} starts correctly when invoked with 'docker run <image> "
            "serve'",
        )
    container, starts = subject.container, True
    try:
        engine = started_engine(world, container)
        log = () if engine is None else engine.log
    except EngineError as fault:
        log, starts = fault.lines, False
    # What was compiled for something else keeps LMI from loading its model.
    reserved = None if copy.needs is None else int(copy.needs.accelerators or 0)
    unloadable = load_refusal(world.artifacts, container, kind, reserved)
    if unloadable:
        log, starts = unloadable, False
    sick = found.find(faults.NEVER_HEALTHY, names)
    if sick is not None:
        log = (*log, *sick.log)
    if log:
        group = _write_log(world, endpoint, variant, copy, log)
        if not starts:
            report(group, log)
    slow = timeout and seconds(times.model_start, kind) > timeout
    # Where nothing takes time, one that restarts never gets to its first ping.
    restarts = not timeout and found.find(faults.RESTARTS, names)
    if not starts or slow or restarts or sick is not None:
        return Trouble(
            pull + timeout,
            f"The primary container for production {words} did not pass the ping "
            "health check. Please check CloudWatch logs for this endpoint."
            if copy.needs is None
            else f"The container for {words} did not pass the ping health check. "
            "Please check CloudWatch logs for this inference component.",
        )
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Subject:
    """
    What a copy runs: its words in messages, what a fault may call it, where its start
    is configured, and its container as it was described.
    """

    words: str
    names: set[str]
    settings: dict[str, Any]
    container: dict[str, Any]


def _subject(
    world: World, endpoint: str, variant: dict[str, Any], copy: Copy
) -> _Subject:
    kind = copy.instance.instance_type
    if copy.needs is None:
        name, words, settings = str(variant["VariantName"]), "variant", variant
        model, own = model_on(variant, kind), {}
    else:
        name, words = plain_name(copy.name), "inference component"
        component = world.components.find(name)
        request = component.request_of(copy.name) if component else {}
        specification = specification_on(request, kind)
        settings = specification.get("StartupParameters", {})
        model = str(specification.get("ModelName", ""))
        own = specification.get("Container", {})
    found = world.deployed_models.get(model)
    return _Subject(
        words=f"{words} {name}",
        names={endpoint, name, model},
        settings=settings,
        container=containers_of(found.request)[0] if found else own,
    )


def _write_log(
    world: World,
    endpoint: str,
    variant: dict[str, Any],
    copy: Copy,
    lines: tuple[str, ...],
) -> str:
    """
    Write what a container says to where its endpoint's, or component's, logs are;
    return the log group.
    """
    is_component = copy.needs is not None
    place = f"InferenceComponents/{plain_name(copy.name)}"
    group = f"/aws/sagemaker/{place if is_component else f'Endpoints/{endpoint}'}"
    stream = f"{variant['VariantName']}/container-0"
    world.surroundings.write_log(group, stream, lines, world.clock.now)
    return group


def report_to(descriptor: int) -> None:
    """
    Report to an open file.
    """
    _streams.append(os.fdopen(descriptor, "w", encoding="utf-8"))


def report(group: str, lines: Sequence[str]) -> None:
    """
    Report what a container said that does not start, which its log group has as well;
    the same once, of all its copies.
    """
    one = (group, tuple(lines))
    if one in _said:
        return
    _said.add(one)
    text = "\n".join([f"A container does not start ({group}):", *lines])
    for stream in _streams:
        print(text.replace("\n", "\n  "), file=stream, flush=True)
