"""
What a container makes of its environment: the properties that take effect, and what
findings of them are in the names of the variables.

The file wins over every ``OPTION_...``, those over the other names, and from LMI 0.35
on four of SageMaker's own names over all of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from cdk_sagemaker_llm.catalog.lmi import LmiVariable, LmiVersion, lmi_variables
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.tokens import is_unresolved

PREFIX = "OPTION_"
MODEL = "HF_MODEL_ID"
LOAD_MODELS = "SERVING_LOAD_MODELS"
# Under which name 0.27 began to read the engine; before it was no option at all.
_ENGINE_OPTION = "OPTION_ENGINE"
# name:version:engine:device=address, with or without brackets (ModelStore).
_MODEL_URL = re.compile(
    r"\[?[^:=,\s]*:[^:=,\s]*:(?P<engine>[^:=,\s\]]+)[^=,\s]*=[^,\s]+\Z"
)
_UPPER = re.compile(r"[A-Z_\d]+\Z")
_ADDRESSES = ("s3://", "djl://")
# What findings call properties.
_OPTION = re.compile(r"\boption\.(\w+)")
_ENGINE = re.compile(r"\bengine=(\w+)")
_BARE_SETTING = re.compile(r"(reads|write) (max_batch_delay|max_idle_time)\b")


class Lost(NamedTuple):
    """
    A variable whose property another place sets as well.

    Args:
        winner: The variable that wins; ``None`` if the file does.

        winning: The value that takes effect; ``None`` if deployment alone knows it.
    """

    variable: str
    value: str
    key: str
    winner: str | None
    winning: str | None


@dataclass(slots=True)
class Translation:
    """
    The properties that take effect, and where each is from.

    Args:
        properties: They, but those that are known at deployment only.

        variables: The variable that a property is from; none for one of the file's.

        lost: What does not take effect, for something else wins.

        unknown: The properties that are known at deployment only.
    """

    properties: dict[str, str]
    variables: dict[str, str] = field(default_factory=dict)
    lost: list[Lost] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)

    def default(self, key: str, variable: str, value: str) -> None:
        """
        Set a property, unless it is set.
        """
        if key in self.properties or key in self.unknown:
            winner = self.variables.get(key)
            winning = self.properties.get(key)
            self.lost.append(Lost(variable, value, key, winner, winning))
        else:
            self._set(key, variable, value)

    def override(self, key: str, variable: str, value: str) -> None:
        """
        Set a property, whatever it is.
        """
        if key in self.properties:
            winning = None if is_unresolved(value) else value
            before = self.variables.get(key, "")
            lost = Lost(before, self.properties.pop(key), key, variable, winning)
            self.lost.append(lost)
        self._set(key, variable, value)

    def _set(self, key: str, variable: str, value: str) -> None:
        self.variables[key] = variable
        if is_unresolved(value):
            self.unknown.add(key)
        else:
            self.properties[key] = value


def translate(
    environment: Mapping[str, str],
    file: Mapping[str, str] | None,
    *,
    container: str,
    version: LmiVersion,
) -> Translation:
    """
    Find the properties that take effect.
    """
    found = Translation(dict(file or {}))
    if file is None and is_in_a_file(environment.get(MODEL), version):
        found.default("option.model_id", MODEL, environment[MODEL])
        _apply(found, environment, lmi_variables("hub"), container, version)
    for name, value in environment.items():
        key = option_key(name, version)
        if key is not None and value:
            found.default(key, name, value)
    _apply(found, environment, lmi_variables("defaults"), container, version)
    _apply_share_of_memory(found, environment, container, version)
    for variable in _read(lmi_variables("overrides"), environment, container, version):
        found.override(variable.key, variable.name, environment[variable.name])
    engine = engine_to_load(environment)
    # What HF_MODEL_ID names is loaded beside it, with the engine of its own.
    if engine is not None and MODEL not in environment:
        found.override("engine", LOAD_MODELS, engine)
    return found


def option_key(name: str, version: LmiVersion) -> str | None:
    """
    Return the property that an ``OPTION_...`` sets; ``None`` for another variable,
    and for an engine before LMI 0.27, which has no effect.
    """
    if not name.startswith(PREFIX) or name == PREFIX:
        return None
    rest = name.removeprefix(PREFIX)
    # From 0.28 on a name that is not in capitals keeps its letters.
    if version.before("0.28") or _UPPER.match(rest):
        rest = rest.lower()
    if rest == "engine":
        return "engine" if version.at_least("0.27") else None
    return "option.entryPoint" if rest == "entrypoint" else f"option.{rest}"


def is_in_a_file(model: str | None, version: LmiVersion) -> bool:
    """
    Whether the container writes what HF_MODEL_ID names into a file of its own.

    From LMI 0.28 on an address on S3, or a folder, is loaded as it is.
    """
    if model is None:
        return False
    return version.before("0.28") or not model.startswith((*_ADDRESSES, "/"))


def engine_to_load(environment: Mapping[str, str]) -> str | None:
    """
    Return the engine that SERVING_LOAD_MODELS names, as in ``it::MPI=/opt/ml/model``.
    """
    written = environment.get(LOAD_MODELS, "")
    match = None if is_unresolved(written) else _MODEL_URL.match(written)
    return match["engine"] if match else None


def _apply(
    found: Translation,
    environment: Mapping[str, str],
    variables: tuple[LmiVariable, ...],
    container: str,
    version: LmiVersion,
) -> None:
    for variable in _read(variables, environment, container, version):
        value = environment[variable.name]
        # The entry point copies no empty text.
        if value or not variable.for_gpus:
            if variable.name == "ENABLE_CUDA_GRAPHS" and not is_unresolved(value):
                value = "false" if value == "true" else "true"
            found.default(variable.key, variable.name, value)


def _apply_share_of_memory(
    found: Translation,
    environment: Mapping[str, str],
    container: str,
    version: LmiVersion,
) -> None:
    name = "CUDA_MEMORY_FRACTION"
    if not environment.get(name) or version.before("0.28"):
        return
    if container == "djl-tensorrtllm":
        found.default("option.kv_cache_free_gpu_mem_fraction", name, environment[name])
    elif container == "djl-lmi":
        found.default("option.gpu_memory_utilization", name, environment[name])


def _read(
    variables: tuple[LmiVariable, ...],
    environment: Mapping[str, str],
    container: str,
    version: LmiVersion,
) -> list[LmiVariable]:
    return [
        variable
        for variable in variables
        if variable.name in environment and variable.is_read(container, version)
    ]


def in_variables(
    finding: Finding, found: Translation, version: LmiVersion, *, has_file: bool
) -> Finding:
    """
    Name the variables in a finding, but leave what is the file's as the file has it.
    """

    def option(match: re.Match[str]) -> str:
        if match[0] in found.variables:
            return found.variables[match[0]]
        return match[0] if has_file else f"{PREFIX}{match[1].upper()}"

    def engine(match: re.Match[str]) -> str:
        is_own = found.variables.get("engine") == _ENGINE_OPTION
        return f"{_ENGINE_OPTION}={match[1]}" if is_own else match[0]

    def way_out(match: re.Match[str]) -> str:
        if "engine" not in found.variables and has_file:
            return match[0]
        if version.at_least("0.27"):
            return f"{_ENGINE_OPTION}={match[1]}"
        return f"engine={match[1]} into a serving.properties"

    def text(words: str) -> str:
        prefixed = _BARE_SETTING.sub(lambda m: f"{m[1]} SERVING_{m[2].upper()}", words)
        return _OPTION.sub(option, prefixed)

    return Finding(
        finding.severity,
        finding.code,
        _ENGINE.sub(engine, text(finding.message)),
        _ENGINE.sub(way_out, text(finding.remedy)),
    )


def mentions(finding: Finding, keys: set[str]) -> bool:
    """
    Whether a finding speaks of one of the properties.
    """
    words = f"{finding.message} {finding.remedy}"
    return any(re.search(rf"\b{re.escape(key)}\b", words) for key in keys)


def source_of(variable: str, key: str) -> str:
    """
    Return how a message names a variable that sets a property.
    """
    return f"{LOAD_MODELS}'s {key}" if variable == LOAD_MODELS else variable
