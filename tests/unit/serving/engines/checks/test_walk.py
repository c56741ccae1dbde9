"""
Every argument of the tables, at every image: known where it is, and only there.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from cdk_sagemaker_llm.catalog.engine_arguments import (
    Engine,
    EngineArgument,
    all_argument_names,
    engine_releases,
    find_argument,
)
from cdk_sagemaker_llm.catalog.engine_releases import (
    EngineRelease,
    engine_families,
    find_engine_release,
)
from cdk_sagemaker_llm.catalog.images import image_versions
from cdk_sagemaker_llm.findings import errors_of
from cdk_sagemaker_llm.serving.engines.arguments import UntellableError, write
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import find_option
from cdk_sagemaker_llm.serving.engines.engine_environment import engine_findings
from cdk_sagemaker_llm.serving.engines.entry_points import ENTRY_POINTS

# One that the checks of its combination look at.
BESIDE = {
    "enable-auto-tool-choice": {"TOOL_CALL_PARSER": "hermes"},
    "enable-log-outputs": {"ENABLE_LOG_REQUESTS": "true"},
    "data-parallel-multi-port-external-lb": {"DATA_PARALLEL_SIZE": "2"},
}
LATER = {"LLM535", "LLM537", "LLM543"}
UNKNOWN = {"LLM501", "LLM502", "LLM503"}
VALUES = {
    "port": "8080",
    "config": "/opt/ml/model/engine.yaml",
    "log-level": "info",
    "cuda-graph-config": "{}",
    "lora-modules": "a=/opt/ml/model/a",
    "chat-template": "/opt/ml/model/chat.jinja",
}


def images() -> list[EngineRelease]:
    """
    Return one image for each release of an engine and each entry point of it.
    """
    found: dict[tuple[str, str | None, str | None], EngineRelease] = {}
    for family in engine_families():
        for version in image_versions(family):
            image = find_engine_release(family, version)
            assert image is not None
            key = (image.engine, image.engine_version, image.rule)
            if image.engine in {"vllm", "sglang"} and not image.is_rolling:
                found.setdefault(key, image)
    return [
        image
        for image in found.values()
        if image.engine_version in engine_releases(engine_of(image))
    ]


def tried() -> list[Any]:
    """
    Return them all, of which ``make test`` tries each entry point's oldest and newest.
    """
    found = images()
    by_rule: dict[str | None, list[EngineRelease]] = {}
    for image in sorted(found, key=lambda image: _parts(image.engine_version)):
        by_rule.setdefault(image.rule, []).append(image)
    at_once = [image for group in by_rule.values() for image in (group[0], group[-1])]
    return [
        pytest.param(
            image,
            id=f"{image.family}-{image.version}",
            marks=() if image in at_once else pytest.mark.whole,
        )
        for image in found
    ]


def _parts(version: str | None) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version or "")]


def engine_of(image: EngineRelease) -> Engine:
    """
    Return the engine whose table describes an image.
    """
    return "sglang" if image.engine == "sglang" else "vllm"


def valid(argument: EngineArgument) -> str:
    """
    Return a value that the argument takes.
    """
    if argument.name in VALUES:
        return VALUES[argument.name]
    if argument.choices:
        return str(argument.choices[0])
    if argument.known_values:
        return argument.known_values[0]
    if argument.kind in {"int", "human_int", "human_int_or_auto", "float"}:
        return _number(argument)
    if argument.kind == "json" and argument.schema:
        return "{}"
    return {
        "json": json.dumps({}),
        "json_or_str": "{}",
        "kvs": "image=1",
        "bool": "true",
    }.get(argument.kind, "a")


def _number(argument: EngineArgument) -> str:
    upper = argument.bounds.get("le", argument.bounds.get("lt"))
    if upper is not None and argument.kind == "float":
        return "0.5"
    return "1"


@pytest.mark.parametrize("image", tried())
def test_each_argument_is_taken_where_it_is_known(image: EngineRelease) -> None:
    """
    With a value that it takes; and refused by its name where it is not.
    """
    engine = engine_of(image)
    assert image.engine_version is not None
    assert image.rule is not None
    rule = ENTRY_POINTS[image.rule]
    for name in all_argument_names(engine):
        argument = find_argument(engine, name, image.engine_version)
        variables = {rule.variable(name): "true" if rule.reads_truth else ""}
        if argument is not None:
            try:
                value = True if argument.is_switch else valid(argument)
                variables = dict(write(argument, value, rule).variables)
            except UntellableError:
                continue
            bare = "true" if rule.reads_truth else ""
            for other, text in BESIDE.get(name, {}).items():
                variables[rule.prefix + other] = bare if text == "true" else text
        found = errors_of(
            engine_findings(
                variables,
                family=image.family,
                version=image.version,
                accelerators=None,
            )
        )

        if argument is not None:
            # What asks for others beside it, or is never healthy, is read all the same.
            found = [one for one in found if one.code not in LATER]
            assert found == [], (name, variables)
            continue
        option = find_option(engine, image.engine_version, f"--{name}")
        if option.argument is not None:
            # It is the beginning of another one, which is taken instead.
            assert not option.is_exact or f"--{name}" in option.argument.aliases
            continue
        assert next(finding.code for finding in found) in UNKNOWN, (name, found)
