"""
A plan in words: the arithmetic of an accelerator.
"""

from __future__ import annotations

from collections.abc import Sequence

from cdk_sagemaker_llm.fit.devices import GIB, visible_bytes
from cdk_sagemaker_llm.fit.memory import Setting
from cdk_sagemaker_llm.fit.outcomes import Outcome
from cdk_sagemaker_llm.fit.releases import Case

_NAMES = {
    "weights": "weights",
    "runtime": "runtime",
    "activations": "activations",
    "cuda_graphs": "CUDA graphs",
    "kv_cache": "KV cache of one sequence",
}


def headline(setting: Setting, engine: str) -> list[str]:
    """
    Say what is planned, and on what.
    """
    hardware, model = setting.hardware, setting.architecture
    bits = model.bits_of_a_weight(setting.weight_bits)
    first = (
        f"{model.architecture}, {model.parameter_count:,} parameters in {bits} bits, "
        f"{setting.context_length} tokens of context"
    )
    second = (
        f"on {hardware}: {hardware.accelerators} x {hardware.accelerator_model} with "
        f"{hardware.accelerator_memory_gib:g} GiB, tensor parallel degree "
        f"{setting.degree}, {engine}"
    )
    return [first, second]


def table(setting: Setting, outcomes: Sequence[Outcome]) -> list[str]:
    """
    Show each term, the total and the room, a column a case.
    """
    terms = [each.terms.items() for each in outcomes]
    lines = [_row("GiB per accelerator", *[case.value for case in Case])]
    lines += [
        _row(f"  {shown}", *[each[name] for each in terms]) + f"  {_how(setting, name)}"
        for name, shown in _NAMES.items()
    ]
    capacity = [visible_bytes(setting.hardware)] * len(outcomes)
    lines.append(_row("  total", *[each.terms.total for each in outcomes]))
    lines.append(_row("  capacity", *capacity) + "  as CUDA shows it")
    room = "room for KV cache" if setting.architecture.keeps_cache else "room"
    lines.append(_row(f"  {room}", *[each.kv_cache_room for each in outcomes]))
    return lines


def _row(name: str, *figures: int | str) -> str:
    cells = [
        figure if isinstance(figure, str) else f"{figure / GIB:.2f}"
        for figure in figures
    ]
    return f"{name:<26}" + "".join(f"{cell:>10}" for cell in cells)


def _how(setting: Setting, name: str) -> str:
    degree = setting.degree
    split = f", split over {degree}" if degree > 1 else ""
    return {
        "weights": f"{setting.architecture.parameter_count:,} parameters{split}",
        "runtime": "kernels, workspaces" + (", collectives" if degree > 1 else ""),
        "activations": f"{setting.sequences} sequences, "
        f"{setting.prefill_tokens} tokens in a step",
        "cuda_graphs": f"the engine's share is {setting.share(Case.CAUTIOUS):g}",
        "kv_cache": f"{setting.context_length} tokens{split}"
        if setting.architecture.keeps_cache
        else "an encoder keeps none",
    }[name]
