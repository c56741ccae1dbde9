"""
Plans as the terminal shows them.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.cli.output.plans import (
    Choice,
    memory_bar,
    show_plan,
    show_ranking,
)
from cdk_sagemaker_llm.fit import plan

LLAMA_13B = "meta-llama/Llama-2-13b-hf"
P4D = "ml.p4d.24xlarge"
LEGEND = (
    "W weights, r runtime, a activations, g cuda graphs, K kv cache of one sequence; "
    "sequences: at once on one copy, promised and at best"
)


@pytest.mark.parametrize(
    ("instance_type", "cells", "bar"),
    [
        # Of 39.4 GiB 24.39 are weights, 0.5 runtime, 0.3 activations, 0.8 graphs, 3.125
        # cache: 29.7, 30.3, 30.7, 31.7 and 35.5 of 48 cells.
        (P4D, 48, f"[{'W' * 30}ag{'K' * 3}{'.' * 13}]"),
        (P4D, 16, f"[{'W' * 10}gK....]"),
        # Weights alone are more than an A10G has.
        ("ml.g5.2xlarge", 16, f"[{'W' * 16}!"),
    ],
)
def test_memory_is_drawn_to_scale(instance_type: str, cells: int, bar: str) -> None:
    """
    A letter a term, rounded at its end; what is too much ends in an exclamation mark.
    """
    assert memory_bar(plan(LLAMA_13B, instance_type), cells=cells).plain == bar


@pytest.mark.parametrize(
    ("price", "end"),
    [
        (None, "9 copies: 2 instances, 9 accelerators"),
        (30.5, "9 copies: 2 instances, 9 accelerators, 61.00 $/h"),
    ],
)
def test_one_plan_ends_with_what_the_copies_take(
    capsys: pytest.CaptureFixture[str], price: float | None, end: str
) -> None:
    """
    Below its arithmetic and the bar.
    """
    found = plan(LLAMA_13B, P4D)
    show_plan(Choice(found, 9, price))
    text, _, rest = capsys.readouterr().out.partition("\n\n[")

    assert text == found.explain()
    assert rest.splitlines()[1:] == [end]


def test_what_does_not_fit_takes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """
    The bar is the end.
    """
    show_plan(Choice(plan(LLAMA_13B, "ml.g5.2xlarge"), 9, None))

    assert capsys.readouterr().out.splitlines()[-1] == f"[{'W' * 48}!"


def test_choices_are_ranked_in_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    """
    Fifteen of them, each with its figures, and how many more there are.
    """
    one = plan(LLAMA_13B, P4D, tensor_parallel_degree=2)
    show_ranking([Choice(one, 5, 30.25), *[Choice(one, 5, None)] * 16])
    lines = capsys.readouterr().out.splitlines()

    assert lines[0] == (
        "LlamaForCausalLM, 13,015,864,320 parameters in 16 bits, 4096 tokens"
    )
    assert lines[1].split("  ")[0] == "instance type"
    head = " ".join(lines[1].split()[2:])
    assert head == (
        "degree copies each instances accelerators sequences $/h "
        "memory of an accelerator"
    )
    assert lines[2].split() == [
        *(P4D, "2", "4", "2", "10", "13-15", "60.50"),
        "[WWWWWrK.........]",
    ]
    assert lines[3].split() == [
        *(P4D, "2", "4", "2", "10", "13-15"),
        "[WWWWWrK.........]",
    ]
    assert lines[17:] == [
        "and 2 more",
        LEGEND,
    ]


def test_all_choices_are_shown_if_they_are_few(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    Fifteen are; nothing is left to count.
    """
    show_ranking([Choice(plan(LLAMA_13B, P4D), 1, None)] * 15)

    assert "more" not in capsys.readouterr().out


def test_where_nothing_hosts_it_there_is_no_table(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    One sentence instead.
    """
    show_ranking([])

    assert capsys.readouterr().out == (
        "no instance type of the catalogue can host it\n"
    )
