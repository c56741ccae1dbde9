"""
A plan in words: the arithmetic of an accelerator, and what it comes to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cdk_sagemaker_llm.fit.devices import GIB
from cdk_sagemaker_llm.fit.releases import Case

if TYPE_CHECKING:
    from cdk_sagemaker_llm.fit.outcomes import Outcome
    from cdk_sagemaker_llm.fit.plans import Plan

_NAMES = {
    "weights": "weights",
    "runtime": "runtime",
    "activations": "activations",
    "cuda_graphs": "CUDA graphs",
    "kv_cache": "KV cache of one sequence",
}


def explained(plan: Plan) -> str:
    """
    Show the arithmetic, per accelerator, and what it comes to.
    """
    lines = [*_head(plan), "", *_table(plan), "", *_verdict(plan)]
    return "\n".join(lines)


def _outcomes(plan: Plan) -> tuple[Outcome, ...]:
    return plan.best, plan.expected, plan.cautious


def _head(plan: Plan) -> list[str]:
    hardware, model = plan.instance_type, plan.architecture
    stated = f"{hardware.accelerator_memory_gib:g} GiB"
    version = plan.engine_version or "of any version"
    first = (
        f"{model.architecture}, {model.parameter_count:,} parameters in "
        f"{plan.weight_bits} bits, {plan.context_length} tokens of context"
    )
    second = (
        f"on {hardware}: {hardware.accelerators} x {hardware.accelerator_model} with "
        f"{stated}, tensor parallel degree {plan.tensor_parallel_degree}, "
        f"{plan.engine} {version}"
    )
    return [first, second]


def _table(plan: Plan) -> list[str]:
    best, expected, cautious = (each.terms.items() for each in _outcomes(plan))
    lines = [_row("GiB per accelerator", "best", "expected", "cautious")]
    lines += [
        _row(f"  {_NAMES[name]}", best[name], expected[name], cautious[name])
        + f"  {_how(plan, name)}"
        for name in cautious
    ]
    totals = [each.terms.total for each in _outcomes(plan)]
    rooms = [each.kv_cache_room for each in _outcomes(plan)]
    lines.append(_row("  total", *totals))
    lines.append(_row("  capacity", *[plan.capacity] * 3) + "  as CUDA shows it")
    lines.append(_row("  room for KV cache", *rooms))
    return lines


def _row(name: str, *figures: int | str) -> str:
    cells = [
        figure if isinstance(figure, str) else f"{figure / GIB:.2f}"
        for figure in figures
    ]
    return f"{name:<26}" + "".join(f"{cell:>10}" for cell in cells)


def _how(plan: Plan, name: str) -> str:
    degree = plan.tensor_parallel_degree
    split = f", split over {degree}" if degree > 1 else ""
    return {
        "weights": f"{plan.architecture.parameter_count:,} parameters{split}",
        "runtime": "kernels, workspaces" + (", collectives" if degree > 1 else ""),
        "activations": f"{plan.setting.sequences} sequences, "
        f"{plan.setting.prefill_tokens} tokens in a step",
        "cuda_graphs": f"the engine's share is {plan.setting.share(Case.CAUTIOUS):g}",
        "kv_cache": f"{plan.context_length} tokens{split}",
    }[name]


def _verdict(plan: Plan) -> list[str]:
    return [_says(plan), f"limit: {plan.limit}"]


def _says(plan: Plan) -> str:
    if plan.obstacle:
        return f"does not start: {plan.obstacle}"
    if plan.fits:
        return (
            f"fits: {plan.replicas} per instance; each has "
            f"{plan.kv_cache_room / GIB:.2f} GiB for KV cache on each accelerator: "
            f"{plan.kv_cache_tokens} tokens, {plan.concurrent_sequences} sequences of "
            f"{plan.context_length}{_range(plan)}"
        )
    for outcome, word in ((plan.expected, "expected"), (plan.best, "best")):
        if outcome.fits:
            return (
                f"may fit: in the {word} case the KV cache holds "
                f"{outcome.kv_cache_tokens} tokens, in the cautious case "
                f"{plan.kv_cache_tokens}"
            )
    return _falls_short(plan.best, plan.context_length)


def _range(plan: Plan) -> str:
    expected, best = plan.expected, plan.best
    return (
        f"; expected are {expected.kv_cache_tokens} tokens, at best "
        f"{best.kv_cache_tokens}"
    )


def _falls_short(best: Outcome, context: int) -> str:
    if not best.loads:
        short = -best.kv_cache_room / GIB
        return f"does not load: at best {short:.2f} GiB short before any KV cache"
    return (
        f"loads, but its KV cache holds at best {best.kv_cache_tokens} tokens, fewer "
        f"than one sequence of {context}"
    )
