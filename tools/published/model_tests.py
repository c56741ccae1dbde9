"""
What aws/deep-learning-containers starts its own images with, since it has such tests.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from cdk_sagemaker_llm.catalog.releases import known_releases, release_key
from tools.published.configuration import Configuration
from tools.published.repository import Repository

FOLDER = ".github/config/model-tests"
# What the comment above a test says of its model.
_SINCE = re.compile(
    r"(?:added upstream in vLLM |[Rr]equires vllm>=|Native vLLM support \(v)"
    r"(\d+\.\d+\.\d+)"
    r"(?:(?!- name:).)*?- name: \"([^\"]+)\"",
    re.DOTALL,
)
_IMAGES = ".github/config/image"
_ENGINES = ("vllm-omni", "vllm", "sglang", "llama-cpp")
_VARIABLES = ("SM_VLLM_", "SM_SGLANG_")
_TESTED = ("ec2", "sagemaker")
# By the comments of the files; where neither is named, the workflow takes the last.
_MACHINES = {
    "x86-g6xl-runner": "ml.g6.xlarge",
    "x86-g6exl-runner": "ml.g6e.xlarge",
    "x86-g6e4xl-runner": "ml.g6e.4xlarge",
    "x86-g6e12xl-runner": "ml.g6e.12xlarge",
    "x86-g612xl-runner": "ml.g6.12xlarge",
    "x86-g512xl-runner": "ml.g5.12xlarge",
    "gpu-l4-1gpu-runners": "ml.g6.xlarge",
    "gpu-l4-4gpu-runners": "ml.g6.12xlarge",
    "gpu-l40s-1gpu-runners": "ml.g6e.xlarge",
    "gpu-l40s-4gpu-runners": "ml.g6e.12xlarge",
    "gpu-h100-8gpu-runners": "ml.p5.48xlarge",
    "gpu-efa-runners": "ml.p4d.24xlarge",
    "gpu-p4d-runners": "ml.p4d.24xlarge",
}


def configurations_of(
    repository: Repository, commits: Mapping[str, str], names: Mapping[str, str]
) -> Iterator[Configuration]:
    """
    Yield what the files have and had, each once, with the releases that it was tried
    on, and those since if it is still there.
    """
    head = commits["HEAD"]
    history = repository.history(head, FOLDER)
    seen: dict[str, dict[str, Any]] = {}
    tried: dict[str, set[str]] = {}
    last: dict[str, str] = {}
    since: dict[str, str] = {}
    for commit in [*history, head]:
        inside = _releases(repository, commit)
        for path, text in repository.texts(commit, ".yml", under=FOLDER):
            engine = next(one for one in _ENGINES if one in path.rpartition("/")[2])
            since.update((name, first) for first, name in _SINCE.findall(text))
            for entry in entries_of(text):
                row = {"engine": engine, **entry}
                key = repr(sorted(row.items()))
                seen[key], last[key] = row, commit
                tried.setdefault(key, set()).update(
                    release
                    for system, release in inside.get(engine, ())
                    if entry["system"] in (None, system)
                )
    for key, row in seen.items():
        stays = last[key] == head
        releases = _since(row["engine"], tried[key], and_later=stays)
        name = row["name"]
        yield Configuration(
            place=f"{FOLDER} {row['engine']} {name}",
            name=name,
            model=names.get(row["model"]),
            engine=row["engine"],
            releases=releases,
            instance_type=row["machine"],
            arguments=row["arguments"],
            environment=row["environment"],
            is_isolated=row["is_isolated"],
            since=since.get(name, "") if row["engine"] == "vllm" else "",
        )


def entries_of(text: str) -> Iterator[dict[str, Any]]:
    """
    Yield the tests of a file: name, model, machine, arguments and variables.
    """
    for section in (yaml.safe_load(text) or {}).values():
        groups = section.values() if isinstance(section, dict) else [section]
        for group in groups:
            for test in group if isinstance(group, list) else ():
                if isinstance(test, dict) and "name" in test:
                    yield _entry(test)


def _entry(test: Mapping[str, Any]) -> dict[str, Any]:
    variables = {k: str(v) for k, v in (test.get("env") or {}).items()}
    arguments = arguments_of(test.get("extra_args") or "")
    for name, value in variables.items():
        for start in _VARIABLES:
            if name.startswith(start) and not name.endswith("_MODEL"):
                arguments[name.removeprefix(start).lower()] = _read(value)
    runner = test.get("fleet") or test.get("runner_label") or "gpu-efa-runners"
    file = str(test.get("s3_model", test["name"]))
    pattern = test.get("required_image_pattern") or {}
    return {
        "name": test["name"],
        "model": re.sub(r"(-isolated)?\.tar\.gz\Z", "", file),
        "machine": test.get("instance_type") or _MACHINES.get(runner),
        "system": pattern.get("os_version") if isinstance(pattern, dict) else None,
        "arguments": arguments,
        "environment": variables,
        "is_isolated": bool(test.get("network_isolation")),
    }


def arguments_of(line: str) -> dict[str, object]:
    """
    Read a command line's arguments: a name with no value behind it is a switch.
    """
    found: dict[str, object] = {}
    name = None
    for word in shlex.split(line):
        if word.startswith("--"):
            given, _, value = word.removeprefix("--").partition("=")
            name = given.replace("-", "_")
            found[name] = _read(value) if value else True
        elif name is not None:
            found[name] = _read(word)
    return found


def _read(value: str) -> object:
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    return int(value) if value.isdigit() else value


def _releases(
    repository: Repository, commit: str
) -> dict[str, set[tuple[str | None, str]]]:
    """
    Return the releases that the images are built of at a commit, by their system.
    """
    found: dict[str, set[tuple[str | None, str]]] = {}
    for _, text in repository.texts(commit, ".yml", under=_IMAGES):
        values = yaml.safe_load(text)
        rows = values.get("metadata") or values.get("common") or {}
        name = str(rows.get("framework", "")).replace("_", "-")
        name = name.removesuffix("-server")
        # The workflow leaves those for HyperPod out.
        is_tested = rows.get("customer_type") in _TESTED
        if name in _ENGINES and is_tested and rows.get("platform") != "hyperpod":
            release = str(rows.get("framework_version", "")).partition("+")[0]
            found.setdefault(name, set()).add((rows.get("os_version"), release))
    return found


def _since(engine: str, tried: set[str], *, and_later: bool) -> tuple[str, ...]:
    if not tried:
        return ()
    ends = sorted(map(release_key, tried))
    return tuple(
        one
        for one in known_releases(engine)
        if release_key(one) >= ends[0] and (and_later or release_key(one) <= ends[-1])
    )
