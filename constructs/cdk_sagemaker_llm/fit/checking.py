"""
Checks of what a serving configuration asks of the memory against what there is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.demand import Assumptions, Demand
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.fit.memory import GIB, token_bytes
from cdk_sagemaker_llm.fit.planning import plan
from cdk_sagemaker_llm.fit.plans import Plan

_ARITHMETIC = "the plan's arithmetic"
DOES_NOT_LOAD = Rule(
    "LLM190", "the model's weights do not load on the accelerators", _ARITHMETIC
)
CANNOT_BE_SPLIT = Rule(
    "LLM191", "the model's heads cannot be split over a copy's accelerators", "vLLM"
)
HOLDS_NO_SEQUENCE = Rule(
    "LLM290", "the KV cache holds less than one whole sequence", _ARITHMETIC
)
HOLDS_NO_BATCH = Rule(
    "LLM291", "the KV cache holds less than the batch that is promised", _ARITHMETIC
)


@dataclass(frozen=True, slots=True)
class NoPlan:
    """
    Why there is no plan.

    Args:
        reason: What is not known, or cannot be planned, in the user's words.

        remedy: How to make it known; empty where nothing would.
    """

    reason: str
    remedy: str = ""


_UNKNOWN_SIZE = NoPlan(
    "the size of the model is not known",
    "give the model architecture=ModelArchitecture.from_config(...)",
)
_UNKNOWN_TYPE = NoPlan("the instance type is known only at deployment")
_NOT_MODELLED = NoPlan(
    "how much memory the serving configuration takes is not modelled"
)


def plan_of(
    demand: Demand | None,
    hardware: InstanceType | None,
    accelerators: int | None = None,
    *,
    assumptions: Assumptions | None = None,
) -> Plan | NoPlan:
    """
    Plan a configuration, or say why that cannot be done.

    Args:
        demand: What it asks of the memory; ``None`` where that is not modelled.

        hardware: The instance type; ``None`` if it is not known.

        accelerators: Devices that each copy has.
            If left out, there are as many as the plan finds to be needed.

        assumptions: What to take for granted of the engine.
            If left out, it is what the configuration says.
    """
    if hardware is None:
        return _UNKNOWN_TYPE
    if demand is None:
        return _NOT_MODELLED
    if demand.architecture is None:
        return _UNKNOWN_SIZE
    context = demand.context_length
    if context is not None and context < 1:
        return NoPlan(f"the longest sequence that is accepted is of {context} tokens")
    # Longer contexts than the model's own are what RoPE scaling is for.
    longest = max(context or 0, demand.architecture.context_length)
    try:
        return plan(
            replace(demand.architecture, context_length=longest),
            hardware,
            weight_bits=demand.weight_bits,
            context_length=context,
            tensor_parallel_degree=demand.tensor_parallel_degree or accelerators,
            assumptions=assumptions or demand.assumptions,
        )
    except ValueError as fault:
        return NoPlan(str(fault))


def fit_findings(found: Plan | NoPlan, demand: Demand | None) -> list[Finding]:
    """
    Check that the model can be split over the devices, that its weights load, and that
    the cache holds one whole sequence and the batch.

    Args:
        found: The plan for the devices that each copy has.

        demand: What the plan was made for.
    """
    if isinstance(found, NoPlan) or demand is None:
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
    return CANNOT_BE_SPLIT.finding(
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
    return DOES_NOT_LOAD.finding(
        f"{found.architecture.architecture} does not load on {found.instance_type} "
        f"with tensor parallel degree {found.tensor_parallel_degree}: "
        f"{_gib(found.terms.fixed + found.terms.cuda_graphs)} GiB of "
        f"{_gib(found.capacity)} GiB per accelerator before any KV cache "
        f"(weights {_gib(found.terms.weights)} GiB)",
        f"{remedy}; `sagemaker-llm plan` shows the arithmetic, and "
        "assumptions=Assumptions(...) overrides it",
    )


def _holds_no_sequence(found: Plan) -> Finding:
    return HOLDS_NO_SEQUENCE.finding(
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
        HOLDS_NO_BATCH.finding(
            f"a batch of {tokens} tokens takes {_gib(needed)} GiB per accelerator, and "
            f"{_gib(found.kv_cache_room)} GiB are left for it",
            f"keep it at {found.kv_cache_tokens}",
        )
    ]


def _gib(value: int) -> str:
    return f"{value / GIB:.2f}"
