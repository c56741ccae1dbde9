"""
A variant as it will be: the types that its instances may be of, and what each can do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.fit.checking import fit_findings, plan_of
from cdk_sagemaker_llm.fit.fleet import Fleet
from cdk_sagemaker_llm.hosting.definitions import ModelDefinition
from cdk_sagemaker_llm.hosting.limits import seconds
from cdk_sagemaker_llm.hosting.start_up import timeout_contradictions
from cdk_sagemaker_llm.hosting.storage import volume_findings
from cdk_sagemaker_llm.hosting.variant import START_UP_SECONDS, ProductionVariant
from cdk_sagemaker_llm.models import ModelSource, S3Model
from cdk_sagemaker_llm.serving.host import host_findings

if TYPE_CHECKING:
    from aws_cdk import Duration

    from cdk_sagemaker_llm.hosting.model import Model

OTHER_ACCELERATOR = Rule(
    "LLM777",
    "engines are served on other devices than they were compiled for",
    "LMI documentation, TensorRT-LLM ahead-of-time compilation",
)
TOO_FEW_DEVICES = Rule(
    "LLM172", "a model is split over more devices than its hosts give it"
)


@dataclass(frozen=True, slots=True)
class HostType:
    """
    One type that a variant's instances may be of.

    Args:
        name: Its name, or a placeholder.

        hardware: The instance type; ``None`` if it is not known.

        model: The model that fills its instances; ``None`` if they host components.
    """

    name: str
    hardware: InstanceType | None
    model: ModelDefinition | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class VariantDefinition:
    """
    A production variant, with what is known of its hardware.

    Args:
        variant: What was asked for.

        types: The types of its instances, the first choice first; one without pools.

        host_image:
            The host image, whatever models come and go; ``None`` for the types'
            defaults.

        findings: What was found of the variant alone.
    """

    variant: ProductionVariant
    types: tuple[HostType, ...]
    host_image: str | None
    findings: tuple[Finding, ...]

    @property
    def hardware(self) -> InstanceType | None:
        """
        The type of the instances, the first choice of pools; ``None`` if not known.
        """
        return self.types[0].hardware

    @property
    def model(self) -> ModelDefinition | None:
        """
        The model that fills the instances; ``None`` if they host components.
        """
        return self.types[0].model

    @property
    def fleet(self) -> Fleet | None:
        """
        The most instances there may be for components, all of the first choice;
        ``None`` if not known.
        """
        return next(iter(self.fleets), None)

    @property
    def fleets(self) -> tuple[Fleet, ...]:
        """
        The most instances there may be for components, once for each type that all
        may be of; none if not known.
        """
        instances = self.variant.most_instances
        known = [one.hardware for one in self.types if one.hardware is not None]
        if len(known) < len(self.types) or is_unresolved(instances):
            return ()
        return tuple(
            Fleet(instance_type=hardware, instances=instances) for hardware in known
        )

    @property
    def has_model(self) -> bool:
        """
        Whether a model fills the instances, be it one of which nothing is known.
        """
        return self.model is not None or self.variant.model is not None

    def filled_by(self, model: Model, *further: Model) -> VariantDefinition:
        """
        Return this definition with the model that was made for it, or one for each of
        its types.
        """
        return replace(self, variant=self.variant.with_model(model, *further))

    def model_findings(
        self,
        model: ModelDefinition | None,
        start_up: Duration | None,
        *further: ModelDefinition | None,
    ) -> list[Finding]:
        """
        Check a model against these hosts.

        Args:
            model: The variant's model, or that of a component on it; ``None`` if that
                was made elsewhere.

            start_up: How long it may take to answer; ``None`` for the default.

            further: The model as it is on further types; none if it is the same on
                all.
        """
        models = (model, *further) if further else [model] * len(self.types)
        found = [
            finding
            for one, own in zip(self.types, models, strict=True)
            if own is not None
            for finding in self._findings_on(one.hardware, own, start_up)
        ]
        return list(dict.fromkeys(found))

    def _findings_on(
        self,
        hardware: InstanceType | None,
        model: ModelDefinition,
        start_up: Duration | None,
    ) -> list[Finding]:
        container = model.prepared.container
        if container is None:
            return []
        return [
            *host_findings(
                hardware,
                container.image,
                self.host_image,
                hosts_components=self.model is None,
            ),
            *engine_findings(hardware, model.model),
            *volume_findings(hardware, self.variant.volume_size, model.weight_bytes),
            *timeout_contradictions(
                container.loading_seconds,
                seconds(start_up) or START_UP_SECONDS,
                was_chosen=bool(start_up),
            ),
        ]


def engine_findings(
    hardware: InstanceType | None, model: ModelSource | None
) -> list[Finding]:
    """
    Check that a host has the devices that engines were compiled for.
    """
    made = model.compiled if isinstance(model, S3Model) else None
    if hardware is None or made is None:
        return []
    if made.accelerator_model == hardware.accelerator_model:
        return []
    return [
        OTHER_ACCELERATOR.finding(
            f"the engines were compiled for {made.accelerator_model}, and {hardware} "
            f"has {hardware.accelerator_model}",
            "compile them on the instance type that serves them",
        )
    ]


def fit_on(
    hardware: InstanceType | None, model: ModelDefinition, devices: int
) -> list[Finding]:
    """
    Check that a model which was defined by itself fits the devices it is given.

    Args:
        hardware: The host's type; ``None`` if it is not known.

        model: The model that fills the host, or that of a component on it.

        devices: How many of the host's devices each copy has.
    """
    demand = model.demand
    degree = None if demand is None else demand.tensor_parallel_degree
    found = []
    if isinstance(degree, int) and degree > devices:
        found.append(
            TOO_FEW_DEVICES.finding(
                f"the model is split over {degree} devices, and a copy has {devices} "
                f"on {hardware}",
                "give it more devices, or split it over fewer",
            )
        )
    if found or hardware is None or hardware.accelerators == 0:
        return found
    plan = plan_of(demand, hardware, devices)
    return fit_findings(plan, demand, model.findings)
