"""
What the registry knows of LMI images: their checks, their adapters, and how they want
requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.architectures import ModelArchitecture, find_architecture
from cdk_sagemaker_llm.catalog.instances import accelerators_of, instance_type_names
from cdk_sagemaker_llm.catalog.lmi import LmiVersion
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.models import class_of
from cdk_sagemaker_llm.serving.adapters import NO_ADAPTERS, TAKE_VLLM, AdapterHost
from cdk_sagemaker_llm.serving.base import Container
from cdk_sagemaker_llm.serving.checks import (
    Config,
    Dialect,
    Environment,
    Family,
    checks_of,
)
from cdk_sagemaker_llm.serving.lmi.checks import (
    lmi_support,
    lmi_variables,
    property_findings,
    subject_of,
)
from cdk_sagemaker_llm.serving.lmi.checks.artifacts import file_of
from cdk_sagemaker_llm.serving.lmi.checks.lmi_variables import LmiEnvironment
from cdk_sagemaker_llm.serving.lmi.launch import Launch, resolve
from cdk_sagemaker_llm.serving.lmi.properties import as_bool, as_int
from cdk_sagemaker_llm.serving.lmi.translation import (
    LOAD_MODELS,
    Translation,
    in_variables,
    mentions,
    translate,
)
from cdk_sagemaker_llm.serving.parameters import TOKEN_VARIABLES, gated_findings
from cdk_sagemaker_llm.tokens import is_unresolved

_CHECKS = checks_of(lmi_variables)
# What decides the backend, and with it every other rule.
_DECISIVE = frozenset(
    {
        "engine",
        "batch_size",
        "option.async_mode",
        "option.batch_size",
        "option.entryPoint",
        "option.mpi_mode",
        "option.rolling_batch",
    }
)
SWITCH = "option.enable_lora"
SWITCHED_ON = {"OPTION_ENABLE_LORA": "true"}
"""The variables that let a container take adapters, where its files say nothing."""
_LARGEST = "option.max_lora_rank"
# VllmRbProperties, LmiDistRbProperties and vLLM's own engine arguments agree.
_DEFAULT_LARGEST = 16
_ENGINES = frozenset({"vllm", "lmi-dist"})
# DJL Serving 0.27: chat_completions_utils.py.
_CHATS_SINCE = "0.27"
# A file of one's own in the place of LMI's handlers.
_HANDLER = "model.py"

TOO_OLD_FOR_ADAPTERS = Rule(
    "LLM327",
    "a base's LMI version does not know SageMaker's adapters",
    "DJL Serving, AdapterManagementRequestHandler",
)


def lmi_findings(
    environment: Mapping[str, str],
    *,
    container: str,
    version: str,
    accelerators: int | None,
    architecture: Config = None,
    file: Mapping[str, str] | None = None,
    has_model_data: bool | None = None,
    instance_type: str | None = None,
    network_isolation: bool = False,
) -> list[Finding]:
    """
    Check the variables of an LMI container, with the file beside them if there is one.

    What the file alone breaks is not told of: whoever checks the file says it. What is
    omitted is not known, but for the model: that is looked up by its name.
    """
    parsed = LmiVersion.parse(version)
    if not parsed.rows:
        return []
    found = translate(environment, file, container=container, version=parsed)
    subject = LmiEnvironment(
        variables=environment,
        file=file,
        container=container,
        version=parsed,
        translated=found,
        has_model_data=has_model_data,
    )

    named = found.properties.get("option.model_id", "")
    model = find_architecture(named) if architecture is None else architecture

    # A folder may bring a serving.properties of its own, which would win.
    on_hub = subject.hub_model()
    from_hub = on_hub is not None
    is_folder = file is None and not from_hub and has_model_data is not False

    hosts = instance_type_names()
    gpu = accelerators_of(instance_type)[0] if instance_type in hosts else None

    def of(properties: Mapping[str, str]) -> list[Finding]:
        return property_findings(
            properties,
            container=container,
            version=version,
            accelerators=None if is_unresolved(accelerators) else accelerators,
            architecture=model,
            decided_elsewhere=is_folder,
            accelerator_model=gpu,
            variables={k: v for k, v in environment.items() if not is_unresolved(v)},
            is_isolated=network_isolation,
        )

    decided_later = is_unresolved(environment.get(LOAD_MODELS))
    is_open = decided_later or not _DECISIVE.isdisjoint(found.unknown)
    effective = [] if is_open else of(found.properties)
    before = [] if file is None else of(file)
    gated: list[Finding] = []
    if on_hub is not None and not is_unresolved(on_hub):
        has_token = any(environment.get(name) for name in TOKEN_VARIABLES)
        gated = gated_findings(on_hub, has_token=has_token)
    return [
        *(finding for check in _CHECKS for finding in check(subject)),
        *(
            in_variables(finding, found, parsed, has_file=file is not None)
            for finding in effective
            if finding not in before and not mentions(finding, found.unknown)
        ),
        *gated,
    ]


def _environment_findings(environment: Environment) -> list[Finding]:
    container = environment.container
    return lmi_findings(
        environment.variables,
        container=environment.family,
        version=environment.version,
        accelerators=environment.accelerators,
        architecture=environment.architecture,
        file=None if container is None else file_of(container.files),
        has_model_data=environment.has_model_data,
        instance_type=environment.instance_type,
        network_isolation=environment.network_isolation,
    )


def _translated(
    container: Container, variables: Mapping[str, str], architecture: str | None
) -> tuple[Translation, Launch]:
    image = container.image
    version = LmiVersion.parse(image.version)
    found = translate(
        variables, file_of(container.files), container=image.family, version=version
    )
    launch = resolve(
        found.properties,
        container=image.family,
        version=version,
        architecture=architecture,
    )
    return found, launch


def _adapter_host(
    container: Container, variables: Mapping[str, str], architecture: str | None
) -> AdapterHost:
    found, launch = _translated(container, variables, architecture)
    refusals = tuple(_adapter_findings(launch))
    if NO_ADAPTERS.code in {each.code for each in refusals}:
        return AdapterHost(image=container.image, refusals=refusals)
    largest = found.properties.get(_LARGEST, str(_DEFAULT_LARGEST))
    is_on = as_bool(found.properties.get(SWITCH))
    # What deployment decides is taken for on: it is the user's own word.
    is_on = True if SWITCH in found.unknown else is_on
    return AdapterHost(
        image=container.image,
        is_on=is_on,
        largest_rank=None if _LARGEST in found.unknown else as_int(largest),
        switches={} if is_on else SWITCHED_ON,
        refusals=refusals,
    )


def _adapter_findings(launch: Launch) -> Iterator[Finding]:
    if _ENGINES.isdisjoint(launch.backends):
        yield NO_ADAPTERS.finding(
            f"the base runs {' or '.join(launch.backends)}, and only vLLM and LMI-Dist "
            "take adapters",
            TAKE_VLLM,
        )
    # From 0.31 on the headers that name an adapter are read; what SageMaker sends to
    # an older one is answered by the base alone.
    elif launch.version.before("0.31"):
        yield TOO_OLD_FOR_ADAPTERS.finding(
            f"LMI {launch.version} does not read which adapter SageMaker asks for",
            "serve the base with LMI 0.31 or later",
        )
    elif launch.asynchronous and launch.version.before("0.34"):
        yield TOO_OLD_FOR_ADAPTERS.finding(
            f"the asynchronous service of LMI {launch.version} takes no adapters",
            "serve the base with LMI 0.34 or later, or with rolling batch",
        )


def _dialect(
    container: Container,
    variables: Mapping[str, str],
    architecture: ModelArchitecture | str | None,
) -> Dialect:
    """
    Return that LMI takes chats by its own handlers, and with a rolling batch.
    """
    has_handler = any(path.rpartition("/")[2] == _HANDLER for path in container.files)
    _, launch = _translated(container, variables, class_of(architecture))
    if has_handler or launch.version.before(_CHATS_SINCE):
        return Dialect("lmi")
    is_batched = launch.asynchronous or launch.rolling_batch != "disable"
    return Dialect("lmi", takes_chats=is_batched)


def _host_findings(environment: Environment) -> list[Finding]:
    """
    Find what a GPU has against the model that a container asks for.
    """
    container, version = environment.container, LmiVersion.parse(environment.version)
    if container is None or not version.rows:
        return []
    found = translate(
        environment.variables,
        file_of(container.files),
        container=environment.family,
        version=version,
    )
    hosts = instance_type_names()
    name = environment.instance_type
    subject = subject_of(
        found.properties,
        container=environment.family,
        version=version,
        accelerators=environment.accelerators,
        architecture=environment.architecture,
        decided_elsewhere=True,
        accelerator_model=accelerators_of(name)[0] if name in hosts else None,
    )
    return [*lmi_support.model_support_findings(subject)]


LMI = Family(
    findings=_environment_findings,
    adapters=_adapter_host,
    dialect=_dialect,
    on_host=_host_findings,
)
