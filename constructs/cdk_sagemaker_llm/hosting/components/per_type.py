"""
One model on instances of several types: its devices, plan and container on each.

It lets the patterns treat one type as they treat many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from constructs import Construct

from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.demand import Assumptions
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.fit.checking import fit_findings, plan_of
from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.hosting.components.sizing import Sizing
from cdk_sagemaker_llm.hosting.models.definitions import (
    ModelDefinition,
    ModelRequest,
    define_model,
)
from cdk_sagemaker_llm.hosting.models.model import DefinedModel, Model
from cdk_sagemaker_llm.hosting.variants.capacity import InstanceCapacity
from cdk_sagemaker_llm.hosting.variants.variant_definition import known_hardware
from cdk_sagemaker_llm.serving.parameters import API

ResourcesByType = ResourceRequirements | Mapping[str, ResourceRequirements]

# botocore 1.44.5, InferenceComponentSpecificationList.
_MOST_TYPES = 5

WRONG_TYPES = Rule(
    "LLM315",
    "what differs by instance type does not name the types of the instances",
    API,
)


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
        return known_hardware(instance_type) or instance_type, capacity
    pools = [
        replace(
            pool,
            instance_type=known_hardware(pool.instance_type) or pool.instance_type,
        )
        for pool in capacity.pools_in_order
    ]
    return instance_type, replace(capacity, pools=pools)


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
        hardware = one if isinstance(one, InstanceType) else None
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
