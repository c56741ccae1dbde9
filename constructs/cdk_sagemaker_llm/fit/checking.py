"""
Checks of a serving configuration against the memory it will have.
"""

from __future__ import annotations

from dataclasses import replace

from cdk_sagemaker_llm.architectures import ModelArchitecture, find_architecture
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.demand import Assumptions, Demand
from cdk_sagemaker_llm.findings import Finding, error, warning
from cdk_sagemaker_llm.fit.engines import demand_of
from cdk_sagemaker_llm.fit.memory import GIB, token_bytes
from cdk_sagemaker_llm.fit.planning import plan
from cdk_sagemaker_llm.fit.plans import Plan
from cdk_sagemaker_llm.models import HuggingFaceModel, ModelSource
from cdk_sagemaker_llm.serving.configuration import ServingConfiguration
from cdk_sagemaker_llm.serving.lmi.folder import ServingFolder
from cdk_sagemaker_llm.serving.lmi.properties import PropertiesError

FIT_CODES = ("LLM190", "LLM191", "LLM290", "LLM291")


def architecture_of(
    serving: ServingConfiguration, model: ModelSource | None
) -> ModelArchitecture | None:
    """
    Return what is known of the model: given with the serving, or in the catalogue.
    """
    given = getattr(serving, "architecture", None)
    if isinstance(given, ModelArchitecture):
        return given
    if isinstance(model, HuggingFaceModel):
        return find_architecture(model.model_id)
    if isinstance(serving, ServingFolder):
        return find_architecture(serving.properties().get("option.model_id", ""))
    return None


def plan_of(
    serving: ServingConfiguration,
    model: ModelSource | None,
    hardware: InstanceType | None,
    accelerators: int | None = None,
    *,
    assumptions: Assumptions | None = None,
) -> Plan | None:
    """
    Plan a configuration; ``None`` where the model or its memory is not known.

    Args:
        serving: Which backend serves the model, and how.

        model: Where the weights come from.

        hardware: The instance type; ``None`` if it is not known.

        accelerators: Devices that each copy has.
            Left out, as many as the plan finds to be needed.

        assumptions: What to take for granted of the engine.
            Left out, what its configuration says.
    """
    try:
        architecture, demand = architecture_of(serving, model), demand_of(serving)
    except (OSError, PropertiesError):
        # A folder that cannot be read is told by its own check.
        return None
    if architecture is None or demand is None or hardware is None:
        return None
    if not hardware.accelerator_memory_gib or hardware.has_neuron_cores:
        return None
    context = demand.context_length
    if context is not None:
        # Longer contexts than the model's own are what RoPE scaling is for.
        architecture = replace(
            architecture, context_length=max(context, architecture.context_length)
        )
    try:
        return plan(
            architecture,
            hardware,
            weight_bits=demand.weight_bits,
            context_length=context,
            tensor_parallel_degree=demand.tensor_parallel_degree or accelerators,
            assumptions=assumptions or demand.assumptions,
        )
    except ValueError:
        # What no plan can be made for is told by the check of that value.
        return None


def fit_findings(
    serving: ServingConfiguration,
    model: ModelSource | None,
    hardware: InstanceType | None,
    accelerators: int | None,
    *,
    assumptions: Assumptions | None = None,
) -> list[Finding]:
    """
    LLM190, LLM191, LLM290, LLM291: the model can be split over the devices, its
    weights load, and the cache holds one whole sequence and the batch.

    Args:
        serving: Which backend serves the model, and how.

        model: Where the weights come from.

        hardware: The instance type; ``None`` if it is not known.

        accelerators: Devices that each copy has; ``None`` if that is not decided.

        assumptions: What to take for granted of the engine.
            Left out, what its configuration says.
    """
    found = plan_of(serving, model, hardware, accelerators, assumptions=assumptions)
    demand = demand_of(serving) if found else None
    if found is None or demand is None:
        return []
    if found.obstacle:
        # A degree that was given is checked with the serving configuration.
        return [] if demand.tensor_parallel_degree else [_cannot_be_split(found)]
    if not found.loads:
        return [_does_not_load(found)]
    if not found.fits:
        return [_holds_no_sequence(found)]
    return _batch_findings(found, demand)


def _cannot_be_split(found: Plan) -> Finding:
    possible = [
        str(degree)
        for degree in found.architecture.tensor_parallel_degrees
        if degree <= found.instance_type.accelerators
    ]
    return error(
        "LLM191",
        f"a copy has {found.tensor_parallel_degree} accelerators, and "
        f"{found.obstacle} of {found.architecture.architecture}",
        f"set tensor_parallel_degree to {' or '.join(possible) or '1'}",
    )


def _does_not_load(found: Plan) -> Finding:
    roomy = plan(
        found.architecture,
        found.instance_type,
        weight_bits=found.weight_bits,
        context_length=found.context_length,
        assumptions=found.assumptions,
    )
    if roomy.fits:
        remedy = f"use tensor parallel degree {roomy.tensor_parallel_degree}"
    else:
        remedy = "use a larger instance type or a quantized model"
    return error(
        "LLM190",
        f"{found.architecture.architecture} does not load on {found.instance_type} "
        f"with tensor parallel degree {found.tensor_parallel_degree}: "
        f"{_gib(found.terms.fixed + found.terms.cuda_graphs)} GiB of "
        f"{_gib(found.capacity)} GiB per accelerator before any KV cache "
        f"(weights {_gib(found.terms.weights)} GiB)",
        f"{remedy}; `sagemaker-llm plan` shows the arithmetic, and "
        "assumptions=Assumptions(...) overrides it",
    )


def _holds_no_sequence(found: Plan) -> Finding:
    return warning(
        "LLM290",
        f"the KV cache holds {found.kv_cache_tokens} tokens on {found.instance_type} "
        f"with tensor parallel degree {found.tensor_parallel_degree}, fewer than one "
        f"sequence of {found.context_length}",
        "shorten the context, raise the degree, or quantize",
    )


def _batch_findings(found: Plan, demand: Demand) -> list[Finding]:
    tokens = demand.batch_tokens
    if tokens is None or tokens <= found.kv_cache_tokens:
        return []
    needed = tokens * token_bytes(
        found.architecture, found.tensor_parallel_degree, found.assumptions
    )
    return [
        warning(
            "LLM291",
            f"a batch of {tokens} tokens takes {_gib(needed)} GiB per accelerator, and "
            f"{_gib(found.kv_cache_room)} GiB are left for it",
            f"keep it at {found.kv_cache_tokens}",
        )
    ]


def _gib(value: int) -> str:
    return f"{value / GIB:.2f}"
