"""
A plan in words: the arithmetic of an accelerator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cdk_sagemaker_llm.fit.devices import GIB, visible_bytes
from cdk_sagemaker_llm.fit.outcomes import Outcome
from cdk_sagemaker_llm.fit.releases import Case
from cdk_sagemaker_llm.fit.setting import Setting

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
    model = setting.architecture
    bits = f"{model.bits_of_a_weight(setting.weight_bits)} bits"
    if setting.gguf_type is not None:
        bits = f"{setting.gguf_type.upper()}, {setting.weight_width:.2f} bits"
    first = (
        f"{model.architecture}, {model.parameter_count:,} parameters in {bits}, "
        f"{setting.context_length} tokens of context"
    )
    return [first, f"on {_hardware(setting)}, {engine}"]


def _hardware(setting: Setting) -> str:
    hardware = setting.hardware
    if setting.is_on_host:
        return f"{hardware}: {hardware.vcpus} vCPUs with {hardware.memory_gib:g} GiB"
    shown = f"{hardware}: {hardware.accelerators} x {hardware.accelerator_model} with "
    shown += f"{hardware.accelerator_memory_gib:g} GiB"
    if setting.release.splits_layers or not setting.release.keeps_cache:
        return shown if setting.degree == 1 else f"{shown}, split over {setting.degree}"
    return f"{shown}, tensor parallel degree {setting.degree}"


def nothing_kept(setting: Setting) -> str:
    """
    Say why there is no KV cache.
    """
    if setting.architecture.keeps_cache:
        return "an engine for embeddings keeps no KV cache"
    return "an encoder keeps no KV cache"


def table(setting: Setting, outcomes: Sequence[Outcome]) -> list[str]:
    """
    Show each term, the total and the room, a column a case.
    """
    terms = [each.terms.items() for each in outcomes]
    unit = "GiB of the host" if setting.is_on_host else "GiB per accelerator"
    lines = [_row(unit, *[case.value for case in Case])]
    lines += [
        _row(f"  {shown}", *[each[name] for each in terms]) + f"  {_how(setting, name)}"
        for name, shown in _names(setting).items()
    ]
    capacity = [visible_bytes(setting.hardware)] * len(outcomes)
    lines.append(_row("  total", *[each.terms.total for each in outcomes]))
    shown_by = "Linux" if setting.is_on_host else "CUDA"
    lines.append(_row("  capacity", *capacity) + f"  as {shown_by} shows it")
    room = "room for KV cache" if setting.keeps_cache else "room"
    lines.append(_row(f"  {room}", *[each.kv_cache_room for each in outcomes]))
    return lines


def _names(setting: Setting) -> Mapping[str, str]:
    """
    Return the terms that there are, with what they are called.
    """
    gone = set() if setting.keeps_cache else {"kv_cache"}
    if setting.release.allocates_context or not setting.release.keeps_cache:
        gone.add("cuda_graphs")
    names = {name: shown for name, shown in _NAMES.items() if name not in gone}
    if setting.release.allocates_context:
        names["kv_cache"] = "KV cache of the context"
    return names


def _row(name: str, *figures: int | str) -> str:
    cells = [
        figure if isinstance(figure, str) else f"{figure / GIB:.2f}"
        for figure in figures
    ]
    return f"{name:<26}" + "".join(f"{cell:>10}" for cell in cells)


def _how(setting: Setting, name: str) -> str:
    degree = setting.degree
    split = f", split over {degree}" if degree > 1 else ""
    adds_up = degree > 1 and not setting.release.splits_layers
    name_of_share = "the engine's share"
    if setting.release.reserve is not None:
        name_of_share = "mem_fraction_static"
    runtime = "kernels, workspaces" + (", collectives" if adds_up else "")
    return {
        "weights": f"{setting.architecture.parameter_count:,} parameters{split}",
        "runtime": "the process and the system" if setting.is_on_host else runtime,
        "activations": f"{setting.sequences} sequences, "
        f"{setting.prefill_tokens} tokens in a step",
        "cuda_graphs": f"{name_of_share} is {setting.share(Case.CAUTIOUS):.3g}",
        "kv_cache": f"{setting.context_length} tokens{split}",
    }[name]
