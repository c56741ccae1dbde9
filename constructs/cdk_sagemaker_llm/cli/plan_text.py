"""
Plans for the terminal: tables, and a bar of each accelerator's memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from cdk_sagemaker_llm.cli.choices import Choice
    from cdk_sagemaker_llm.fit.plans import Plan

_BAR_CELLS = 48
_MOST_ROWS = 15
_STYLES = {
    "weights": ("W", "blue"),
    "runtime": ("r", "magenta"),
    "activations": ("a", "yellow"),
    "cuda_graphs": ("g", "cyan"),
    "kv_cache": ("K", "green"),
}


def show_plan(choice: Choice) -> None:
    """
    Print one plan's arithmetic and the bar of an accelerator.
    """
    console = plain_console()
    console.print(choice.plan.explain(), markup=False, highlight=False)
    console.print()
    console.print(memory_bar(choice.plan))
    if choice.plan.fits:
        console.print(_counted(choice), highlight=False)


def show_ranking(choices: Sequence[Choice]) -> None:
    """
    Print the instance types that can host the copies, the best first.
    """
    console = plain_console()
    if not choices:
        console.print("no instance type of the catalogue can host it", highlight=False)
        return
    first = choices[0].plan
    kind = first.setting.gguf_type or f"{first.weight_bits} bits"
    head = (
        f"{first.architecture.architecture}, {first.architecture.parameter_count:,} "
        f"parameters in {kind}, {first.context_length} tokens"
    )
    console.print(head, highlight=False)
    table = Table(box=None, pad_edge=False)
    table.add_column("instance type")
    for name in ("degree", "copies each", "instances", "accelerators", "sequences"):
        table.add_column(name, justify="right")
    table.add_column("$/h", justify="right")
    table.add_column("memory of an accelerator")
    for choice in choices[:_MOST_ROWS]:
        table.add_row(*_row(choice), memory_bar(choice.plan, cells=16))
    console.print(table)
    if len(choices) > _MOST_ROWS:
        console.print(f"and {len(choices) - _MOST_ROWS} more", highlight=False)
    console.print(_legend(), highlight=False)


def memory_bar(plan: Plan, *, cells: int = _BAR_CELLS) -> Text:
    """
    Draw the terms of one accelerator to scale; what is too much ends in ``!``.
    """
    bar = Text("[")
    edges = [0]
    used = 0
    for name, value in plan.terms.items().items():
        used += value
        edges.append(min(round(used / plan.capacity * cells), cells))
        letter, style = _STYLES[name]
        bar.append(letter * (edges[-1] - edges[-2]), style)
    bar.append("." * (cells - edges[-1]))
    return bar.append("!", "red") if used > plan.capacity else bar.append("]")


def _row(choice: Choice) -> list[str]:
    plan = choice.plan
    return [
        plan.instance_type.name,
        str(plan.tensor_parallel_degree),
        str(plan.replicas),
        str(choice.instances),
        str(choice.accelerators),
        _sequences(plan),
        "" if choice.cost is None else f"{choice.cost:.2f}",
    ]


def _sequences(plan: Plan) -> str:
    promised, best = plan.concurrent_sequences, plan.best.sequences
    return str(promised) if promised == best else f"{promised}-{best}"


def _counted(choice: Choice) -> str:
    cost = "" if choice.cost is None else f", {choice.cost:.2f} $/h"
    devices = "" if choice.plan.is_on_host else f", {choice.accelerators} accelerators"
    return f"{choice.copies} copies: {choice.instances} instances{devices}{cost}"


def _legend() -> str:
    names = ", ".join(
        f"{letter} {name.replace('_', ' ')}" for name, (letter, _) in _STYLES.items()
    )
    return (
        f"{names} of one sequence; sequences: at once on one copy, promised and at best"
    )


def plain_console() -> Console:
    """
    Return where tables are printed: in a pipe or a file they are not cut.
    """
    console = Console(soft_wrap=True)
    return console if console.is_terminal else Console(width=200, soft_wrap=True)
