"""
What the check of support says of a configuration, read as a user's would be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from cdk_sagemaker_llm.catalog.engine_releases import engine_of
from cdk_sagemaker_llm.catalog.images import nearest_version
from cdk_sagemaker_llm.catalog.instances import accelerators_of
from cdk_sagemaker_llm.catalog.lmi import LmiVersion
from cdk_sagemaker_llm.catalog.releases import (
    images_by_release,
    known_releases,
    release_key,
)
from cdk_sagemaker_llm.findings import Finding, Severity
from cdk_sagemaker_llm.serving import check_environment, check_support
from cdk_sagemaker_llm.serving.engines.asked_arguments import OTHER_RELEASE
from cdk_sagemaker_llm.serving.families import CHECKED_FAMILIES
from cdk_sagemaker_llm.serving.lmi.checks import property_findings
from cdk_sagemaker_llm.serving.lmi.checks.lmi_support import passed_on
from cdk_sagemaker_llm.serving.lmi.launch import CONTAINERS, resolve
from cdk_sagemaker_llm.serving.support.check import is_judged
from cdk_sagemaker_llm.serving.support.checkpoint import checkpoint_of
from tools.published.configuration import Configuration

# Which code is one of support: the checks beside them know nothing of a model's files.
_CODES = (range(850, 899), range(901, 992), (814, 816))
_ENGINES = {
    "vllm": "vllm",
    "lmi-dist": "lmi-dist",
    "trtllm": "tensorrt-llm",
    "deepspeed": "deepspeed",
}
_ON_NEURON = {"vllm": "vllm-neuron"}
_TGI = {"huggingface-llm": "tgi", "huggingface-llm-neuronx": "tgi-neuron"}


@dataclass(frozen=True)
class Verdict:
    """
    What is found of a configuration: each finding with the engine and its release;
    whether its engine is one to ask, and whether enough is known to judge it.
    """

    configuration: Configuration
    is_asked: bool
    is_judged: bool
    found: tuple[tuple[str, Finding], ...]

    @property
    def lacking(self) -> str:
        """
        What is not found that should be: the release before the one that its author
        says brought the model is refused. Empty where all is as it is said.
        """
        since, engine = self.configuration.since, self.configuration.engine
        model = self.configuration.model
        if not since or engine is None or model is None:
            return ""
        before = [
            one
            for one in known_releases(engine)
            if release_key(one) < release_key(since)
            and is_judged(model, engine=engine, release=one)
        ][-1:]
        wanted = replace(self.configuration, releases=tuple(before), since="")
        is_refused = bool(verdict_of(wanted).of(Severity.ERROR))
        return "" if is_refused else f"{before} should be refused, before {since}"

    def of(self, severity: Severity) -> list[tuple[str, Finding]]:
        """
        Return the findings of a kind.
        """
        return [row for row in self.found if row[1].severity is severity]


def verdict_of(configuration: Configuration) -> Verdict:
    """
    Judge a configuration by all that reads it.
    """
    found = dict.fromkeys(_file_findings(configuration))
    asked = judged = False
    model, machine = configuration.model, configuration.instance_type
    for engine, release in engines_of(configuration):
        asked = machine is not None
        if model is None or machine is None:
            continue
        judged = judged or is_judged(model, engine=engine, release=release)
        # Variables of an image are read above, which knows what it makes of them.
        for finding in check_support(
            model,
            engine=engine,
            release=release,
            instance_type=machine,
            arguments={
                **_passed_on(_options(configuration)),
                **configuration.arguments,
            },
            environment=configuration.environment,
            network_isolation=configuration.is_isolated,
        ):
            found[f"{engine} {release}", finding] = None
    # LMI hands on what vLLM takes, and keeps the rest; and what a release dropped after
    # somebody published it says nothing of a model.
    kept = [
        row
        for row in found
        if _is_of_support(row[1].code) and row[1].code != OTHER_RELEASE.code
    ]
    return Verdict(configuration, asked, judged, tuple(kept))


def engines_of(configuration: Configuration) -> Iterator[tuple[str, str]]:
    """
    Yield the engine that serves, with each release that is asked about.
    """
    family, engine = configuration.container, configuration.engine
    if engine is not None:
        yield from ((engine, release) for release in configuration.releases)
        return
    if family is None:
        return
    version = nearest_version(family, configuration.version)
    engine = _TGI.get(family) or engine_of(family)
    if family in CONTAINERS:
        asked = LmiVersion.parse(configuration.version)
        is_same = LmiVersion.parse(version).minor == asked.minor
        engine = _engine_of_lmi(configuration, asked) if is_same else None
    for release, image in images_by_release(engine) if engine else ():
        if image == f"{family} {version}":
            yield engine or "", release


def _engine_of_lmi(configuration: Configuration, version: LmiVersion) -> str | None:
    """
    Return the engine that LMI chooses; ``None`` where that is none that is judged, or
    where code of its author's chooses.
    """
    options, model = _options(configuration), configuration.model
    family = configuration.container or ""
    entry_point = options.get("option.entryPoint", "djl_python.")
    if not entry_point.startswith("djl_python."):
        return None
    if not version.rows:
        # Before 0.25 the file alone chooses.
        return "deepspeed" if options.get("engine") == "DeepSpeed" else None
    launch = resolve(
        options,
        container=family,
        version=version,
        architecture=None if model is None else checkpoint_of(model).class_name,
    )
    names = _ON_NEURON if family == "djl-neuronx" else _ENGINES
    return names.get(launch.backends[0]) if len(launch.backends) == 1 else None


def _file_findings(configuration: Configuration) -> Iterator[tuple[str, Finding]]:
    """
    Yield what is found of the file, and of the variables.
    """
    family, version = configuration.container, configuration.version
    if family is None or configuration.instance_type is None:
        return
    accelerator, count = accelerators_of(configuration.instance_type)
    name = f"{family} {version}"
    if configuration.properties and family in CONTAINERS:
        for finding in property_findings(
            {**configuration.properties, **_model_of(configuration)},
            container=family,
            version=version,
            accelerators=count,
            accelerator_model=accelerator,
            variables=configuration.environment,
            is_isolated=configuration.is_isolated,
        ):
            yield name, finding
    elif configuration.environment and family in CHECKED_FAMILIES:
        for finding in check_environment(
            {**configuration.environment, **_variable_of(configuration)},
            container=family,
            version=version,
            accelerators=count,
            instance_type=configuration.instance_type,
        ):
            yield name, finding


def _model_of(configuration: Configuration) -> dict[str, str]:
    """
    Name the model as the Hub does, where its files are its author's copy.
    """
    model = configuration.model
    return {} if model is None else {"option.model_id": model}


def _variable_of(configuration: Configuration) -> dict[str, str]:
    model = configuration.model
    names = [name for name in _MODEL_VARIABLES if name in configuration.environment]
    return {} if model is None else dict.fromkeys(names, model)


_MODEL_VARIABLES = ("HF_MODEL_ID", "OPTION_MODEL_ID", "SM_VLLM_MODEL")


def _options(configuration: Configuration) -> dict[str, str]:
    """
    Return LMI's options, of which variables are one form.
    """
    if configuration.container not in CONTAINERS:
        return {}
    start = "OPTION_"
    variables = {
        _option(name.removeprefix(start)): value
        for name, value in configuration.environment.items()
        if name.startswith(start)
    }
    return {**configuration.properties, **variables}


def _option(name: str) -> str:
    return f"option.{'entryPoint' if name == 'ENTRYPOINT' else name.lower()}"


def _passed_on(properties: Mapping[str, str]) -> dict[str, object]:
    found: dict[str, object] = {name: value for name, value, _ in passed_on(properties)}
    degree = found.pop("tensor_parallel_degree", "max")
    return found if degree == "max" else {**found, "tensor_parallel_size": degree}


def _is_of_support(code: str) -> bool:
    number = int(code.removeprefix("LLM"))
    return any(number in codes for codes in _CODES)
