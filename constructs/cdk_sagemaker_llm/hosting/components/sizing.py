"""
What each copy of a model reserves, how many copies run, and one model on instances of
several types: its devices, plan and container on each.

It lets the patterns treat one type as they treat many.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from constructs import Construct

from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.demand import Assumptions, Demand
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.fit.checking import NoPlan, fit_findings, plan_of
from cdk_sagemaker_llm.fit.packing import Fleet
from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.fit.plans import Plan
from cdk_sagemaker_llm.hosting.common.limits import count_findings
from cdk_sagemaker_llm.hosting.models.definitions import (
    ModelDefinition,
    ModelRequest,
    define_model,
)
from cdk_sagemaker_llm.hosting.models.model import DefinedModel, Model
from cdk_sagemaker_llm.hosting.variants.capacity import InstanceCapacity
from cdk_sagemaker_llm.hosting.variants.instance_types import known_hardware
from cdk_sagemaker_llm.serving.parameters import API
from cdk_sagemaker_llm.tokens import is_unresolved

Copies = int | Literal["fill"]
"""
How many copies there are: a number, or ``fill`` for as many as the instances hold.
"""

NO_RESOURCES = Rule(
    "LLM192", "resources are left out, and nothing is known of the model"
)
NOTHING_TO_FILL = Rule(
    "LLM193", "instances are to be filled that are not known at synth"
)

ResourcesByType = ResourceRequirements | Mapping[str, ResourceRequirements]

# botocore 1.44.5, InferenceComponentSpecificationList.
_MOST_TYPES = 5

WRONG_TYPES = Rule(
    "LLM315",
    "what differs by instance type does not name the types of the instances",
    API,
)


@dataclass(kw_only=True, slots=True)
class Sizing:
    """
    What each copy of a model reserves, decided once, when its demand is known.

    Args:
        requested: What the user asked for; ``None`` if the plan decides.

        assumptions: The user's figures of the engine's memory; ``None`` for those of
            its configuration.
    """

    hardware: InstanceType | None
    requested: ResourceRequirements | None
    assumptions: Assumptions | None
    _last_plan: tuple[Demand | None, Plan | NoPlan] | None = field(
        default=None, init=False
    )

    def accelerators(self, demand: Demand | None) -> int | None:
        """
        Return how many devices each copy has: none where its host has none.
        """
        if self.hardware is not None and not self.hardware.accelerators:
            return 0
        return self.resources(demand).accelerators

    def resources(self, demand: Demand | None) -> ResourceRequirements:
        """
        Return what the user asked for, or else what the plan asks for.
        """
        if self.requested is not None:
            return self.requested
        found = self._plan(demand)
        if isinstance(found, NoPlan):
            return ResourceRequirements()
        return replace(found.resources, copies=1)

    def findings(
        self, demand: Demand | None, further: Iterable[Finding]
    ) -> list[Finding]:
        """
        Check that the resources are known, and hold the model.
        """
        found = self.plan(demand)
        if found is None:
            return []
        if self.requested is None and isinstance(found, NoPlan):
            ways = ["pass resources=ResourceRequirements(...)", found.remedy]
            return [
                NO_RESOURCES.finding(
                    f"resources are left out, and {found.reason}",
                    ", or ".join(filter(None, ways)),
                )
            ]
        return fit_findings(found, demand, further)

    def plan(self, demand: Demand | None) -> Plan | NoPlan | None:
        """
        Return how the model fits, or why that is not known; ``None`` where no device
        is reserved.
        """
        if self.requested is not None:
            devices = self.requested.accelerators
            if devices is None or is_unresolved(devices):
                return None
        return self._plan(demand)

    def _plan(self, demand: Demand | None) -> Plan | NoPlan:
        if self._last_plan is None or self._last_plan[0] != demand:
            devices = None if self.requested is None else self.requested.accelerators
            found = plan_of(
                demand, self.hardware, devices, assumptions=self.assumptions
            )
            self._last_plan = demand, found
        return self._last_plan[1]


def with_same_copies(
    needs: Sequence[ResourceRequirements],
    copies: Copies | None,
    fleets: Sequence[Fleet],
) -> tuple[list[ResourceRequirements], list[Finding]]:
    """
    Set how many copies start, whatever the type of their instances; ``"fill"`` is all
    that fit on each of the types, and ``None`` leaves it as it is.
    """
    tried = [
        with_copies(one, copies, fleet)
        for one, fleet in zip(needs, fleets or (None,) * len(needs), strict=True)
    ]
    found = list(
        dict.fromkeys(finding for _, findings in tried for finding in findings)
    )
    if copies is None or found:
        return list(needs), found
    least = min(one.copies for one, _ in tried)
    return [replace(one, copies=least) for one in needs], []


def with_copies(
    needs: ResourceRequirements, copies: Copies | None, fleet: Fleet | None
) -> tuple[ResourceRequirements, list[Finding]]:
    """
    Set how many copies start, or with ``"fill"`` all that fit beside the others;
    ``None`` leaves their number as it is.
    """
    if copies is None:
        return needs, []
    if copies != "fill":
        wrong = count_findings("copies", copies, 0)
        return (needs, wrong) if wrong else (replace(needs, copies=copies), [])
    if fleet is None or not all(
        each.is_known for each in (needs, *fleet.models.values())
    ):
        return needs, [
            NOTHING_TO_FILL.finding(
                "copies='fill' needs an instance type, a number of instances and the "
                "resources of all models to be known at synth",
                "pass a number",
            )
        ]
    # One that does not fit is refused where the others are named.
    return replace(needs, copies=fleet.most_copies(needs) or 1), []


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelsByType:
    """
    A model that fills instances of one type or several.

    Args:
        findings: The findings of the model, beside those of its plans.

        fit: The findings of its plans.
    """

    models: tuple[ModelDefinition, ...]
    findings: tuple[Finding, ...]
    fit: tuple[Finding, ...]


def look_up_types(
    instance_type: str | InstanceType | None, capacity: InstanceCapacity | None
) -> tuple[str | InstanceType | None, InstanceCapacity | None]:
    """
    Look the instance types up once, for all that follows.
    """
    if capacity is None or capacity.pools is None:
        hardware = None if instance_type is None else _looked_up(instance_type)
        return hardware, capacity
    pools = [
        replace(pool, instance_type=_looked_up(pool.instance_type))
        for pool in capacity.pools_in_order
    ]
    return instance_type, replace(capacity, pools=pools)


def _looked_up(instance_type: str | InstanceType) -> str | InstanceType:
    # What deployment decides stays what it is, for the template.
    if is_unresolved(instance_type):
        return instance_type
    return known_hardware(instance_type) or instance_type


def define_models_by_type(
    types: Sequence[str | InstanceType | None],
    request: ModelRequest,
    assumptions: Assumptions | None,
) -> ModelsByType:
    """
    Define a model for all the devices of instances of each type.
    """
    models, fit = [], []
    for one in types:
        hardware = known_hardware(one)
        accelerators = None if hardware is None else hardware.accelerators
        model = define_model(request, accelerators)
        plan = plan_of(model.demand, hardware, accelerators, assumptions=assumptions)
        fit += fit_findings(plan, model.demand, model.findings)
        models.append(replace(model, plan=plan))
    return ModelsByType(
        models=tuple(models),
        findings=distinct_findings(models),
        fit=tuple(dict.fromkeys(fit)),
    )


def distinct_findings(models: Sequence[ModelDefinition]) -> tuple[Finding, ...]:
    """
    Return the findings of a model on its types, the same of several types once.
    """
    return tuple(dict.fromkeys(one for model in models for one in model.findings))


def make_models(
    scope: Construct, models: Sequence[ModelDefinition], types: Sequence[str]
) -> tuple[Model, ...]:
    """
    Make a model for each type, but one for all whose container is the same.
    """
    first: Model = DefinedModel(scope, "Model", models[0])
    constructs = [first]
    for index, model in enumerate(models[1:], start=1):
        same = [
            construct
            for one, construct in zip(models, constructs, strict=False)
            if one.prepared.container == model.prepared.container
            and one.variables == model.variables
        ]
        if same:
            constructs.append(same[0])
            continue
        # One role and one security group are for all.
        shared = replace(model, role=first.role, network=first.network)
        # G52xlarge of ml.g5.2xlarge.
        ending = "".join(part.capitalize() for part in types[index].split(".")[1:])
        constructs.append(DefinedModel(scope, f"Model{ending}", shared))
    return tuple(constructs)


@dataclass(frozen=True, kw_only=True, slots=True)
class SizedModel:
    """
    A model of a component as it is on one type of instance.
    """

    definition: ModelDefinition
    resources: ResourceRequirements
    fit: tuple[Finding, ...]


def define_sized_models(
    types: Mapping[str, InstanceType | None],
    request: ModelRequest,
    resources: ResourcesByType | None,
    assumptions: Assumptions | None,
) -> list[SizedModel]:
    """
    Define a model for what each copy of it reserves on each type.
    """
    requested = {} if resources is None else by_type(resources, types)
    sizes = []
    for name, hardware in types.items():
        sizing = Sizing(
            hardware=hardware, requested=requested.get(name), assumptions=assumptions
        )
        model = define_model(request, sizing.accelerators)
        fit = sizing.findings(model.demand, model.findings)
        sized = SizedModel(
            definition=replace(model, plan=sizing.plan(model.demand)),
            resources=sizing.resources(model.demand),
            fit=tuple(fit),
        )
        sizes.append(sized)
    return sizes


def by_type(
    resources: ResourcesByType, types: Sequence[str] | Mapping[str, object]
) -> dict[str, ResourceRequirements]:
    """
    Return what a copy reserves on each type.
    """
    if isinstance(resources, ResourceRequirements):
        return dict.fromkeys(types, resources)
    return {name: resources[name] for name in types if name in resources}


def by_type_findings(
    parameter: str, resources: object, types: Sequence[str]
) -> list[Finding]:
    """
    Check that resources for each type name all types, and no other.
    """
    if not isinstance(resources, Mapping):
        return []
    found = []
    missing = [name for name in types if name not in resources]
    others = [name for name in resources if types and name not in types]
    if missing or others or not 1 <= len(resources) <= _MOST_TYPES:
        expected = ", ".join(types) or f"1 to {_MOST_TYPES} instance types"
        names = ", ".join(resources) or "nothing"
        found.append(
            WRONG_TYPES.finding(f"{parameter} must be for {expected}, got {names}")
        )
    copies = {one.copies for one in resources.values()}
    if len(copies) > 1:
        found.append(
            WRONG_TYPES.finding(
                f"{parameter} start {' or '.join(map(str, sorted(copies)))} copies: "
                "their number is the component's, whatever the type",
                "give all the same copies",
            )
        )
    return found
