"""
A model as it will be: checked once, before anything is made.

A definition holds all that is prepared and known; a construct only writes it. Patterns
make definitions, report the findings, and hand them to constructs; a construct that is
made by itself does the same with its own arguments.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aws_cdk import Duration

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.demand import Demand
from cdk_sagemaker_llm.findings import Finding, Rule, errors_of
from cdk_sagemaker_llm.fit.checking import NoPlan
from cdk_sagemaker_llm.fit.plans import Plan
from cdk_sagemaker_llm.hosting.common.elsewhere import elsewhere_findings
from cdk_sagemaker_llm.hosting.common.limits import (
    environment_size_findings,
    seconds,
)
from cdk_sagemaker_llm.hosting.models.artifact import check_files
from cdk_sagemaker_llm.hosting.models.image import region_findings
from cdk_sagemaker_llm.hosting.models.model_weights import (
    eula_findings,
    far_findings,
    secure_parameter_findings,
    token_reference,
    token_reference_findings,
    unwrapped_findings,
    used_by_model,
)
from cdk_sagemaker_llm.hosting.roles.network import (
    Network,
    network_findings,
    other_vpc_findings,
    used_by_network,
    way_out_findings,
    zone_findings,
)
from cdk_sagemaker_llm.models import ModelSource, kind_of, looked_up, weight_bytes_of
from cdk_sagemaker_llm.serving.base import (
    OTHER_SERVING,
    Accelerators,
    Container,
    Prepared,
    ServingConfiguration,
    download_seconds,
    prepared_by,
    settled,
)
from cdk_sagemaker_llm.serving.checks import config_of
from cdk_sagemaker_llm.serving.parameters import (
    IMPOSSIBLE_NAME,
    REPEATED,
    UNREADABLE,
    class_findings,
    credential_findings,
    file_findings,
    model_findings,
)
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import aws_iam as iam
    from constructs import Construct

    from cdk_sagemaker_llm.serving.engines.vllm import Vllm

# CreateModel, ContainerDefinition$Environment (botocore 1.44.5).
_LONGEST_NAME = 1024
_LONGEST_EXCERPT = 30
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*\Z")
# A process's variable ends at a NUL, and half of a surrogate pair is not in UTF-8.
_OBJECT = re.compile(r"<[\w.]+ object at 0x[0-9a-f]+>")
_IN_NO_VARIABLE = re.compile(r"[\0\ud800-\udfff]")

ISOLATED_MODEL = Rule(
    "LLM119", "an isolated network lets the container download no weights"
)
OBJECT_AS_TEXT = Rule(
    "LLM709", "a variable holds what Python writes of an object, not its name"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelRequest:
    """
    A model that a user wants to be served, how, and where.

    Args:
        model: Where the weights come from; ``None`` if the serving's files name them.

        network: Where the container runs; ``None`` for SageMaker's own network.

        start_up: How long SageMaker waits for it, where that was chosen.
    """

    serving: ServingConfiguration
    model: ModelSource | None
    environment: Mapping[str, str] | None
    role: iam.IRole | None
    network: Network | None
    region: str | None
    start_up: Duration | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelDefinition:
    """
    A model as it will be.

    Args:
        variables: All environment variables, the token's references included.

        plan: How it fits its instances, or why that is not known; ``None`` where there
            are none yet, as for a model that is made by itself.
    """

    prepared: Prepared
    model: ModelSource | None
    network: Network
    role: iam.IRole | None
    region: str | None
    variables: Mapping[str, str]
    findings: tuple[Finding, ...]
    plan: Plan | NoPlan | None = None

    def within(self, network: Network, role: iam.IRole) -> ModelDefinition:
        """
        Return this definition in the network and with the role of another model.
        """
        return replace(self, network=network, role=role)

    @property
    def container(self) -> Container:
        """
        What is started; an error among the findings stands in its way, so that these
        are reported first.
        """
        if self.prepared.container is None:
            raise ValueError("a model with errors has no container")
        return self.prepared.container

    @property
    def demand(self) -> Demand | None:
        """
        What it asks of the memory; ``None`` where that is not modelled.
        """
        return self.prepared.demand

    @property
    def download_timeout(self) -> Duration | None:
        """
        How long to wait for weights that SageMaker downloads; ``None`` where it
        downloads none.
        """
        container = self.prepared.container
        if container is None or container.weights_uri is None:
            return None
        return Duration.seconds(download_seconds(self.weight_bytes))

    @property
    def weight_bytes(self) -> int | None:
        """
        The bytes of its weights as they are published; ``None`` if that is not known.
        """
        if self.demand is None:
            return weight_bytes_of(self.model)
        architecture = self.demand.architecture
        return None if architecture is None else architecture.weight_bytes()

    @property
    def start_up_timeout(self) -> Duration | None:
        """
        How long to wait for an answer, where the default is too short.
        """
        container = self.prepared.container
        if container is None or container.start_up_seconds is None:
            return None
        return Duration.seconds(container.start_up_seconds)


def default_serving() -> Vllm:
    """
    Make what serves a model where nothing is said: vLLM in AWS's own image.
    """
    # A tenth of what the constructs take to load, which other engines need not pay.
    from cdk_sagemaker_llm.serving.engines.vllm import (  # noqa: PLC0415 - as said
        Vllm,
    )

    return Vllm()


def define_model(request: ModelRequest, accelerators: Accelerators) -> ModelDefinition:
    """
    Check a model completely before anything is made of it, for so many accelerators a
    copy, or as many as a function decides.
    """
    serving, model, region = request.serving, request.model, request.region
    network, environment = request.network or Network(), request.environment or {}
    start_up = seconds(request.start_up)
    # One that gives up loading by itself waits as long as SageMaker does.
    waits = None if start_up is None or is_unresolved(start_up) else int(start_up)
    prepared = prepared_by(serving, model, accelerators, waits)
    container = prepared.container
    if container is None and not errors_of(prepared.findings):
        raise ValueError(
            f"{type(serving).__name__}.prepare() must return a container, or an error "
            "that says why there is none"
        )
    reference = token_reference(model)
    own: dict[str, str] = {}
    if container is not None:
        tokens = dict.fromkeys(container.token_variables, reference or "")
        own = {**container.environment, **(tokens if reference else {})}
    unusable = network_findings(network)
    found = [
        *prepared.findings,
        *token_reference_findings(reference),
        *class_findings(model.architecture if model else prepared.architecture),
        *model_findings(model),
        *_compilation_findings(serving, model, prepared),
        *credential_findings("environment", environment),
        *unusable,
        *environment_findings(environment, own=own),
    ]
    if container is not None:
        found += _container_findings(container, region, model, network)
        found += eula_findings(model, container.weights_uri)
        found += [
            REPEATED.finding(
                f"environment repeats {name}, which the backend sets itself"
            )
            for name in sorted(set(own) & set(environment))
        ]
        if not unusable:
            found += zone_findings(network)
            found += way_out_findings(network, model, {**own, **environment})
        kind = kind_of(model) if model else looked_up(prepared.architecture)
        # What an isolated container cannot download is told of by then.
        is_cut_off = network.isolated and (model is None or bool(container.weights_uri))
        found += _further_findings(
            prepared, environment, kind, accelerators, is_isolated=is_cut_off
        )
    return ModelDefinition(
        prepared=prepared,
        model=model,
        network=network,
        role=request.role,
        region=region,
        variables={} if container is None else {**own, **environment},
        findings=tuple(found),
    )


def place_findings(
    scope: Construct,
    model: ModelSource | None,
    network: Network | None,
    environment: Mapping[str, str] | None = None,
) -> list[Finding]:
    """
    Check that what a model needs is where it runs, and can be read there, and by whom.
    """
    used = [*used_by_model(model), *used_by_network(network)]
    return [
        *elsewhere_findings(scope, used),
        *other_vpc_findings(network),
        *secure_parameter_findings(scope, model),
        *unwrapped_findings(scope, environment or {}),
    ]


def _compilation_findings(
    serving: ServingConfiguration, model: ModelSource | None, prepared: Prepared
) -> list[Finding]:
    if model is None or model.compiled is None or prepared.loads_engines:
        return []
    return [
        OTHER_SERVING.finding(
            "the model was compiled ahead of time, got "
            f"serving={type(serving).__name__}",
            "pass the serving of the StagedModel that compiled them",
        )
    ]


def _container_findings(
    container: Container,
    region: str | None,
    model: ModelSource | None,
    network: Network,
) -> list[Finding]:
    if container.files:
        check_files(container.files)
    found = region_findings(region, container.image)
    found += far_findings(region, container.image, model)
    if not model_findings(model):
        # A configuration of the user's own may check nothing itself.
        found += credential_findings("the container", container.environment)
        found += file_findings(container.files)
    if network.isolated and model is not None and container.weights_uri is None:
        found.append(
            ISOLATED_MODEL.finding(
                "an isolated network lets the container download no weights",
                "serve an S3Model with a backend that reads /opt/ml/model, or define "
                "the network without isolated=True",
            )
        )
    return found


def _further_findings(
    prepared: Prepared,
    environment: Mapping[str, str],
    kind: ModelArchitecture | str | None,
    accelerators: Accelerators,
    *,
    is_isolated: bool,
) -> list[Finding]:
    if prepared.container is None or not (environment or is_isolated):
        return []
    # The checks of all engines, which most models need no more.
    from cdk_sagemaker_llm.serving.families import added_findings  # noqa: PLC0415

    return added_findings(
        environment,
        prepared.container,
        accelerators=settled(accelerators, prepared.demand),
        architecture=config_of(kind),
        network_isolation=is_isolated,
    )


def environment_findings(
    environment: Mapping[str, str], *, own: Mapping[str, str]
) -> list[Finding]:
    """
    Check all variables together: the service counts those of the backend as well.
    """
    variables = {**own, **environment}
    found = [finding for name in variables for finding in _name_findings(name)]
    found += environment_size_findings(
        "environment", variables, others=len(variables) - len(environment)
    )
    found += [
        OBJECT_AS_TEXT.finding(
            f"{name} in environment holds the text of an object, got {text!r}",
            "write one of its attributes, such as bucket.bucket_name",
        )
        for name, text in variables.items()
        if _OBJECT.search(text)
    ]
    odd = ((name, _IN_NO_VARIABLE.search(text)) for name, text in variables.items())
    found += [
        UNREADABLE.finding(
            f"{name} has the character {character[0]!r}, which no variable can hold",
            "leave it out",
        )
        for name, character in odd
        if character is not None
    ]
    return found


def _name_findings(name: str) -> list[Finding]:
    if is_unresolved(name):
        # CloudFormation takes functions as values only.
        return [
            IMPOSSIBLE_NAME.finding(
                "a name in environment must be known at synth, got a placeholder",
                "write the name itself; its value may be known only at deployment",
            )
        ]
    if len(name) > _LONGEST_NAME:
        return [
            IMPOSSIBLE_NAME.finding(
                f"a name in environment must be at most {_LONGEST_NAME} characters "
                f"long, got {len(name)}, beginning with {name[:_LONGEST_EXCERPT]!r}"
            )
        ]
    if _NAME.match(name):
        return []
    return [
        IMPOSSIBLE_NAME.finding(
            "a name in environment must be letters, digits and underscores, with no "
            f"digit first, got {name!r}",
        )
    ]
