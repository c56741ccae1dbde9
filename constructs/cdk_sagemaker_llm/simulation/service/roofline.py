"""
Service times that nobody measured, from what the accelerator reads and computes.

A roof is drawn, not a floor plan: how fast each step could be if nothing but weights,
cache and arithmetic took time, times the share of it that engines are taken to reach.
"""

from __future__ import annotations

import itertools

from cdk_sagemaker_llm.architectures.weight_format import gguf_bytes
from cdk_sagemaker_llm.arguments import kind_of, raise_faults
from cdk_sagemaker_llm.catalog.instances import Accelerator, find_accelerator
from cdk_sagemaker_llm.fit.cache import token_bytes
from cdk_sagemaker_llm.fit.plans import Plan
from cdk_sagemaker_llm.simulation.service.times import Rows, ServiceTimes

# Assumptions, both: nobody publishes what an engine reaches on each accelerator. Decode
# that only reads and prompts that only compute come nearer to the roof than these.
BANDWIDTH_SHARE = 0.6
ARITHMETIC_SHARE = 0.5
_GIGA, _TERA = 1e9, 1e12


def estimate_service_times(
    plan: Plan,
    *,
    sequence_tokens: int | None = None,
    bandwidth_share: float = BANDWIDTH_SHARE,
    arithmetic_share: float = ARITHMETIC_SHARE,
) -> ServiceTimes:
    """
    Estimate what a copy takes for requests, from its accelerators' nameplates.

    Not counted are the exchange between accelerators of a copy that is split, which is
    slow where they are not linked, and the network: real times are longer.

    Args:
        plan: How the model fits its instance type; of it come the weights, the degree
            and the room for KV cache, in the cautious case.

        sequence_tokens: How many tokens a sequence has on average while it is written:
            their cache is read for each token.
            If omitted, it is half the plan's context length.

        bandwidth_share: The part of the memory's bandwidth that decoding reaches.
            If omitted, it is 0.6, which is assumed.

        arithmetic_share: The part of the 16-bit arithmetic that prompts reach.
            If omitted, it is 0.5, which is assumed.

    Raises:
        ValueError: If the model does not fit, or the accelerator's figures are not
            known.
    """
    raise_faults(kind_of("Plan").faults("plan", plan))
    for name, share in (
        ("bandwidth_share", bandwidth_share),
        ("arithmetic_share", arithmetic_share),
    ):
        if not 0 < share <= 1:
            raise ValueError(f"{name} must be above 0 and at most 1, got {share}")
    if not plan.fits:
        raise ValueError(
            f"the model must fit {plan.instance_type} to serve requests there, and is "
            f"short by {plan.limit}; plan it for a larger type"
        )
    device, tflops = _figures(plan)
    bytes_a_second = device.memory_gb_per_second * _GIGA * bandwidth_share
    operations = tflops * _TERA * arithmetic_share * plan.tensor_parallel_degree
    tokens = plan.context_length / 2 if sequence_tokens is None else sequence_tokens
    model = plan.architecture
    most = plan.setting.sequences
    rows = []
    for count in _counts(most):
        cache = count * tokens * token_bytes(plan.setting)
        reading = (_weights_read(plan, count) + cache) / bytes_a_second
        computing = 2 * model.active_parameter_count * count / operations
        rows.append((count, max(reading, computing)))
    return ServiceTimes(
        decode=_bent(rows),
        max_sequences=most,
        prompt_seconds_per_token=2 * model.active_parameter_count / operations,
        kv_tokens=plan.kv_cache_tokens,
        source=(
            f"roofline of {plan.tensor_parallel_degree} x {device.model} "
            f"({device.source}: {device.memory_gb_per_second:g} GB/s, {tflops:g} TFLOPS"
            f"{', derived' if device.is_derived else ''}), of which "
            f"{bandwidth_share:.0%} and {arithmetic_share:.0%} are assumed to be "
            f"reached, with {tokens:g} tokens a sequence"
        ),
        is_estimate=True,
    )


def _figures(plan: Plan) -> tuple[Accelerator, float]:
    name = plan.instance_type.accelerator_model
    device = find_accelerator(name)
    if device is None or device.tflops_16bit is None:
        raise ValueError(
            f"neither bandwidth nor arithmetic of {name} is known well enough to "
            "estimate from; measure service times, or give ServiceTimes(...)"
        )
    return device, device.tflops_16bit


def _weights_read(plan: Plan, sequences: int) -> float:
    """
    Return the bytes of weights that one accelerator reads for a token of each sequence.

    Of a mixture of experts each token takes some, and several tokens take more of them
    together: all weights are treated as if they were in experts.
    """
    model, gguf_type = plan.architecture, plan.setting.gguf_type
    if gguf_type is None:
        stored = model.weight_bytes(plan.setting.weight_bits)
    else:
        quantizable = model.quantizable_parameter_count
        stored, _ = gguf_bytes(gguf_type, quantizable, model.parameter_count)
    whole = stored / plan.tensor_parallel_degree
    idle = 1 - model.active_parameter_count / model.parameter_count
    return float(whole * (1 - idle**sequences))


def _counts(most: int) -> list[int]:
    counts = [1]
    while counts[-1] * 2 < most:
        counts.append(counts[-1] * 2)
    return [*counts, most] if most > 1 else counts


def _bent(rows: list[tuple[int, float]]) -> Rows:
    """
    Leave out the rows that lie on the line between their neighbours.
    """
    kept = rows[:1]
    for row, after in itertools.pairwise(rows[1:]):
        before = kept[-1]
        slope = (after[1] - before[1]) / (after[0] - before[0])
        straight = before[1] + slope * (row[0] - before[0])
        if abs(straight - row[1]) > 1e-9 * row[1]:
            kept.append(row)
    return (*kept, *rows[1:][-1:])
