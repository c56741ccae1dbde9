"""
Plans as the terminal shows them, their picture, and the order of the choices.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle

from cdk_sagemaker_llm.cli.output.plans import (
    Choice,
    facts_of,
    memory_bar,
    memory_figure,
    show_plan,
    show_ranking,
)
from cdk_sagemaker_llm.cli.output.prices import Prices
from cdk_sagemaker_llm.fit import plan
from tests.unit.cli.output.results import NO_PRICES, price_list

LLAMA_13B = "meta-llama/Llama-2-13b-hf"
MISTRAL = "mistralai/Mistral-7B-v0.1"
P4D = "ml.p4d.24xlarge"
G5, G6, G6E = "ml.g5.xlarge", "ml.g6.xlarge", "ml.g6e.xlarge"
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
    ("prices", "cost", "origin"),
    [
        (NO_PRICES, "no price known", "prices: us-east-1 (none); a list"),
        (
            price_list({P4D: 30.5}),
            "61.00 $/h, 44,530 $ a month",
            "prices: us-east-1 (2026); a list",
        ),
        (
            price_list({P4D: 30.5}, elsewhere=[P4D]),
            "61.00* $/h, 44,530* $ a month",
            "prices: us-east-1 (none), * us-west-2 (2027-01-01); a list",
        ),
    ],
    ids=["unknown", "own", "elsewhere"],
)
def test_one_plan_ends_with_what_the_copies_take(
    capsys: pytest.CaptureFixture[str], prices: Prices, cost: str, origin: str
) -> None:
    """
    Below its arithmetic and the bar, with where the price is from.
    """
    found = plan(LLAMA_13B, P4D)
    show_plan(Choice(found, 9, prices))
    text, _, rest = capsys.readouterr().out.partition("\n\n[")

    assert text == found.explain()
    assert rest.splitlines()[1:] == [
        f"9 copies: 2 instances, 9 accelerators, {cost}",
        origin,
    ]


def test_a_plan_has_its_price_for_machines() -> None:
    """
    With its origin; what is not known is null.
    """
    found = plan(LLAMA_13B, P4D)
    priced = facts_of(Choice(found, 9, price_list({P4D: 30.5})))
    unknown = facts_of(Choice(found, 9, NO_PRICES))

    assert priced["usd_per_hour"] == 61.0
    assert priced["price"] == {
        "usd_per_hour": 30.5,
        "region": "us-east-1",
        "date": "2026",
        "source": "hosting",
    }
    assert (unknown["usd_per_hour"], unknown["price"]) == (None, None)


def test_what_does_not_fit_takes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """
    The bar is the end.
    """
    show_plan(Choice(plan(LLAMA_13B, "ml.g5.2xlarge"), 9, NO_PRICES))

    assert capsys.readouterr().out.splitlines()[-1] == f"[{'W' * 48}!"


def test_choices_are_ranked_in_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    """
    Fifteen of them, each with its figures, how many more there are, and where the
    prices of those that are shown are from.
    """
    one = plan(LLAMA_13B, P4D, tensor_parallel_degree=2)
    known, away, other = plan(MISTRAL, G5), plan(MISTRAL, G6), plan(MISTRAL, G6E)
    prices = price_list({G5: 2.5, G6: 1234.5, G6E: 1.0}, elsewhere=[G6, G6E])
    show_ranking(
        [
            *(Choice(each, 5, prices) for each in (one, known, away)),
            *[Choice(one, 5, prices)] * 13,
            Choice(other, 5, prices),
        ]
    )
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
        *(P4D, "2", "4", "2", "10", "13-15", "no", "price", "known"),
        "[WWWWWrK.........]",
    ]
    assert lines[3].split()[6] == "12.50"
    assert lines[4].split()[6] == "6,172.50*"
    assert lines[17:] == [
        "and 2 more",
        LEGEND,
        "prices: us-east-1 (2026), * us-west-2 (2027-01-01); a list",
    ]


@pytest.fixture(name="terminal")
def _terminal(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """
    Have output go to a terminal of 80 columns, whatever it goes to.
    """
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in {
        "FORCE_COLOR": "1",
        "TERM": "xterm-256color",
        "COLUMNS": "80",
    }.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def test_a_narrow_terminal_has_whole_names_and_prices_before_bars(
    terminal: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    The bars come from 115 columns on.
    """
    choice = Choice(plan(LLAMA_13B, P4D), 9, price_list({P4D: 30.5}))
    show_ranking([choice])
    narrow = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out).splitlines()
    terminal.setenv("COLUMNS", "114")
    show_ranking([choice])
    assert "memory of an accelerator" not in capsys.readouterr().out
    terminal.setenv("COLUMNS", "115")
    show_ranking([choice])
    wide = capsys.readouterr().out

    assert narrow[1:] == [
        "instance type   degree copies each instances accelerators sequences   $/h",
        "ml.p4d.24xlarge      1           8         2            9         3 61.00",
        "sequences: at once on one copy, promised and at best",
        "prices: us-east-1 (2026); a list",
    ]
    assert "memory of an accelerator" in wide
    assert LEGEND in wide


def test_colours_are_left_out_where_nobody_wants_them(
    terminal: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    On a terminal too; the letters of the bar say as much.
    """
    choice = Choice(plan(LLAMA_13B, P4D), 9, NO_PRICES)
    colour = re.compile(r"\x1b\[(?:\d+;)*[34]\d")
    show_plan(choice)
    coloured = capsys.readouterr().out
    terminal.setenv("NO_COLOR", "1")
    show_plan(choice)
    plain = capsys.readouterr().out

    assert colour.search(coloured)
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain


def test_all_choices_are_shown_if_they_are_few(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    Fifteen are; nothing is left to count.
    """
    show_ranking([Choice(plan(LLAMA_13B, P4D), 1, NO_PRICES)] * 15)

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


def test_the_terms_of_an_accelerator_stand_one_after_the_other() -> None:
    """
    Each term begins where the one before ends; the line is what there is.
    """
    drawn = plan(MISTRAL, "ml.g5.xlarge")
    (axes,) = memory_figure([drawn]).axes
    bars = [bar for bar in axes.patches if isinstance(bar, Rectangle)]
    begins = [round(bar.get_x(), 6) for bar in bars]
    sizes = [round(bar.get_width(), 6) for bar in bars]

    expected = [value / 2**30 for value in drawn.terms.items().values()]
    assert sizes == [round(size, 6) for size in expected]
    assert begins == [round(sum(expected[:index]), 6) for index in range(5)]
    (line,) = axes.lines
    ends = np.asarray(line.get_xydata()).tolist()
    assert ends == [pytest.approx([22.05, -0.45]), pytest.approx([22.05, 0.45])]


def test_a_dotted_line_leads_back_to_the_best_case() -> None:
    """
    From the end of the bar, which is the cautious case.
    """
    drawn = plan(MISTRAL, "ml.g5.xlarge")
    (axes,) = memory_figure([drawn]).axes
    (lines,) = [one for one in axes.collections if isinstance(one, LineCollection)]

    ends = np.asarray(lines.get_segments()).tolist()
    best, cautious = drawn.best.terms.total / 2**30, drawn.terms.total / 2**30
    assert ends == [[pytest.approx([best, 0]), pytest.approx([cautious, 0])]]


def test_the_picture_says_what_it_shows() -> None:
    """
    The types with their degrees, the first on top, and the terms by their names.
    """
    plans = [plan(MISTRAL, name) for name in ("ml.g5.xlarge", "ml.p4d.24xlarge")]
    figure = memory_figure(plans)
    (axes,) = figure.axes
    legend = axes.get_legend()
    figure.draw_without_rendering()

    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "ml.g5.xlarge (degree 1)",
        "ml.p4d.24xlarge (degree 1)",
    ]
    assert axes.yaxis_inverted()
    assert axes.get_xlabel() == (
        "GiB per accelerator, cautiously; dotted: back to the best case; "
        "the line is its capacity"
    )
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "weights",
        "runtime",
        "activations",
        "cuda graphs",
        "kv cache",
    ]


@pytest.mark.parametrize(("count", "shown"), [(1, 1), (12, 12), (13, 12)])
def test_the_picture_has_twelve_bars_at_most(count: int, shown: int) -> None:
    """
    More could not be read.
    """
    (axes,) = memory_figure([plan(MISTRAL, "ml.g5.xlarge")] * count).axes

    assert len(axes.lines) == shown


def test_fails_if_there_is_nothing_to_draw() -> None:
    """
    The message says why.
    """
    with pytest.raises(ValueError, match="nothing to draw: no instance type fits"):
        memory_figure([])


@pytest.mark.parametrize(
    ("degree", "copies", "instances", "accelerators"),
    [
        (1, 1, 1, 1),
        (1, 8, 1, 8),
        (1, 9, 2, 9),
        (2, 5, 2, 10),
        # One copy of five an instance: three of its accelerators stay idle.
        (5, 2, 2, 10),
        (8, 3, 3, 24),
        # Three do not divide the heads: nothing hosts it.
        (3, 2, 0, 6),
    ],
)
def test_copies_take_instances_and_accelerators(
    degree: int, copies: int, instances: int, accelerators: int
) -> None:
    """
    As many instances as hold the copies, eight accelerators each.
    """
    split = plan(LLAMA_13B, P4D, tensor_parallel_degree=degree)
    choice = Choice(split, copies, price_list({P4D: 30.0}))

    assert (choice.instances, choice.accelerators) == (instances, accelerators)
    assert choice.cost == instances * 30.0


def test_without_a_price_there_is_no_cost() -> None:
    """
    It is not nothing.
    """
    assert Choice(plan(LLAMA_13B, P4D), 9, NO_PRICES).cost is None


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        # Fewer accelerators come before a lower price.
        (
            ("ml.g5.12xlarge", 1, 1, 9.0),
            ("ml.g5.12xlarge", 2, 1, 1.0),
        ),
        # Of as many accelerators the cheaper, however much is left idle.
        (("ml.p4d.24xlarge", 1, 1, 1.0), ("ml.g5.xlarge", 1, 1, 2.0)),
        # The cost is that of all instances: two of 3 $ are more than one of 5 $.
        (("ml.g5.12xlarge", 1, 2, 5.0), ("ml.g5.xlarge", 1, 2, 3.0)),
        # A price is better than none.
        (("ml.p4d.24xlarge", 1, 1, 99.0), ("ml.g5.xlarge", 1, 1, None)),
        # Without prices, less memory of accelerators: 2 x 22.35 before 4 x 22.35 GiB.
        (("ml.g5.xlarge", 1, 2, None), ("ml.g5.12xlarge", 1, 2, None)),
        # And of the same memory, fewer cores.
        (("ml.g5.xlarge", 1, 1, None), ("ml.g5.2xlarge", 1, 1, None)),
    ],
)
def test_the_better_choice_ranks_first(
    better: tuple[str, int, int, float | None],
    worse: tuple[str, int, int, float | None],
) -> None:
    """
    By accelerators, then by cost, then by what is left idle.
    """
    first, second = (
        Choice(
            plan(MISTRAL, name, tensor_parallel_degree=degree),
            copies,
            NO_PRICES if price is None else price_list({name: price}),
        )
        for name, degree, copies, price in (better, worse)
    )

    assert first.rank() < second.rank()


def test_the_rank_is_in_that_order() -> None:
    """
    Two copies on one p4d: 8 x 40 GiB and 96 cores.
    """
    priced, unknown = (
        Choice(plan(LLAMA_13B, P4D), 2, prices)
        for prices in (price_list({P4D: 30.0}), NO_PRICES)
    )

    assert priced.rank() == (2, 30.0, 320.0, 96)
    assert unknown.rank() == (2, float("inf"), 320.0, 96)
