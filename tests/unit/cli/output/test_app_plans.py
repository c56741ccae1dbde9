"""
What an app takes, as ``plan`` shows it and writes it for machines.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.cli.app.fleets import VariantPlan
from cdk_sagemaker_llm.cli.output.plans import app_facts, show_app
from cdk_sagemaker_llm.fit import ResourceRequirements
from tests.unit.cli.output.results import NO_PRICES, price_list

PRICES = price_list({"ml.p4d.24xlarge": 20.0})
ORIGIN = "prices: us-east-1 (2026); a list"


def variant(**given: Any) -> VariantPlan:  # noqa: ANN401 - the plan's own
    """
    Make a plan of a variant that hosts one component.
    """
    return VariantPlan(
        **{
            "endpoint": "Prod/Chat",
            "variant": "Blue",
            "instance_type": "ml.p4d.24xlarge",
            "instances": 1,
            "most_instances": 3,
            "components": {
                "Llama": ResourceRequirements(
                    copies=3, accelerators=5, cpus=2, memory_mib=2048
                )
            },
            **given,
        }
    )


FACTS = {
    "endpoint": "Prod/Chat",
    "variant": "Blue",
    "instance_type": "ml.p4d.24xlarge",
    "instances": 1,
    "instances_running": 3,
    "most_instances": 3,
    "accelerators_used": 15,
    "accelerators_free": 9,
    "copies": {"Llama": 3},
    "placement": ({"Llama": 1}, {"Llama": 1}, {"Llama": 1}),
    "left_over": {},
    "reasons": (),
    "fewest_instances": 3,
    "quota": "ml.p4d.24xlarge for endpoint usage",
}


def test_an_app_has_its_facts() -> None:
    """
    Money is null where no price is known; what starts without capacity is there where
    there is any.
    """
    other = variant(instance_type="ml.g5.xlarge")
    unpaid = {
        "usd_per_hour": None,
        "most_usd_per_hour": None,
        "usd_per_month": None,
        "price": None,
    }
    assert app_facts([variant()], NO_PRICES) == {
        "endpoints": [{**FACTS, **unpaid}],
        "quotas": {"ml.p4d.24xlarge for endpoint usage": 3},
    }
    found = app_facts([variant(fallbacks=(other,))], PRICES)

    (one,) = found["endpoints"]
    (fallback,) = one.pop("fallbacks")
    assert one == {
        **FACTS,
        "usd_per_hour": 60.0,
        "most_usd_per_hour": 60.0,
        "usd_per_month": 43800.0,
        "price": {
            "usd_per_hour": 20.0,
            "region": "us-east-1",
            "date": "2026",
            "source": "hosting",
        },
    }
    assert fallback["instance_type"] == "ml.g5.xlarge"
    assert {name: fallback[name] for name in unpaid} == unpaid
    assert (fallback["accelerators_free"], fallback["fewest_instances"]) == (0, None)
    assert found["quotas"] == {
        "ml.g5.xlarge for endpoint usage": 3,
        "ml.p4d.24xlarge for endpoint usage": 3,
    }


@pytest.mark.parametrize(
    ("given", "lines", "costs"),
    [
        (
            {},
            [
                "Prod/Chat (Blue): 1 x ml.p4d.24xlarge, at most 3",
                (
                    "  accelerators: 15 used, 9 free, on the 3 instances that the "
                    "copies need"
                ),
                "  3 x Llama: 5 accelerators, 2 CPU cores, 2,048 MiB each",
                "  instance 1: 1 x Llama; free 3 accelerators, 94 CPU cores, 1150 GiB",
                "  instance 2: 1 x Llama; free 3 accelerators, 94 CPU cores, 1150 GiB",
                "  instance 3: 1 x Llama; free 3 accelerators, 94 CPU cores, 1150 GiB",
                "  fewest instances for all copies: 3",
                (
                    "  costs: 60.00 $/h, 43,800 $ a month; at most 60.00 $/h, "
                    "43,800 $ a month"
                ),
            ],
            ["in all: 60.00 $/h, 43,800 $ a month", ORIGIN],
        ),
        (
            {
                "most_instances": 1,
                "components": {
                    "L": ResourceRequirements(copies=2, accelerators=5, memory_mib=1024)
                },
            },
            [
                "Prod/Chat (Blue): 1 x ml.p4d.24xlarge, at most 1",
                "  accelerators: 10 needed, 8 there",
                "  2 x L: 5 accelerators, 0 CPU cores, 1,024 MiB each",
                "  instance 1: 1 x L; free 3 accelerators, 96 CPU cores, 1151 GiB",
                "  no place: 1 x L",
                "  2 copies of L do not fit, one instance holds 1",
                (
                    "  costs: 20.00 $/h, 14,600 $ a month; at most 20.00 $/h, "
                    "14,600 $ a month"
                ),
            ],
            ["in all: 20.00 $/h, 14,600 $ a month", ORIGIN],
        ),
        (
            {"instance_type": "ml.z9.xlarge"},
            [
                "Prod/Chat (Blue): 1 x ml.z9.xlarge, at most 3",
                "  accelerators: 15 used, unknown free",
                "  3 x Llama: 5 accelerators, 2 CPU cores, 2,048 MiB each",
                "  costs: no price known for ml.z9.xlarge",
            ],
            ["in all: no price known", "prices: us-east-1 (none); a list"],
        ),
        (
            {"filled_by": "Own", "components": {}, "instances": 2},
            [
                "Prod/Chat (Blue): 2 x ml.p4d.24xlarge, at most 3",
                "  accelerators: 16 used, 0 free",
                "  2 x Own: 8 accelerators, 96 CPU cores, 1,179,648 MiB each",
                "  instance 1: 1 x Own; free 0 accelerators, 0 CPU cores, 0 GiB",
                "  instance 2: 1 x Own; free 0 accelerators, 0 CPU cores, 0 GiB",
                (
                    "  costs: 40.00 $/h, 29,200 $ a month; at most 60.00 $/h, "
                    "43,800 $ a month"
                ),
            ],
            ["in all: 40.00 $/h, 29,200 $ a month", ORIGIN],
        ),
    ],
    ids=["grown", "no place", "unknown", "filled"],
)
def test_an_app_is_shown_variant_by_variant(
    given: dict[str, Any],
    lines: list[str],
    costs: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    Then what all of them cost, where the prices are from, and its quotas at the end.
    """
    one = variant(**given)
    show_app([one], PRICES)

    assert capsys.readouterr().out.splitlines() == [
        *lines,
        "",
        *costs,
        "",
        "service quotas, for all instances that may run",
        f"  {one.instance_type} for endpoint usage: {one.most_instances}",
    ]


def test_the_costs_of_all_variants_are_added_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    What no price is known of is named, and another region's marks the sum.
    """
    prices = price_list(
        {"ml.p4d.24xlarge": 20.0, "ml.g6.12xlarge": 2.5}, elsewhere=["ml.g6.12xlarge"]
    )
    small = {"components": {}, "most_instances": 1}
    show_app(
        [
            variant(),
            variant(variant="Green", instance_type="ml.g6.12xlarge", **small),
            variant(variant="Red", instance_type="ml.z9.xlarge", **small),
        ],
        prices,
    )
    lines = capsys.readouterr().out.splitlines()

    assert [line for line in lines if line.startswith("  costs: ")] == [
        "  costs: 60.00 $/h, 43,800 $ a month; at most 60.00 $/h, 43,800 $ a month",
        "  costs: 2.50* $/h, 1,825* $ a month; at most 2.50* $/h, 1,825* $ a month",
        "  costs: no price known for ml.z9.xlarge",
    ]
    begin = lines.index("in all, without ml.z9.xlarge: 62.50* $/h, 45,625* $ a month")
    assert lines[begin + 1] == (
        "prices: us-east-1 (2026), * us-west-2 (2027-01-01); a list"
    )


def test_what_starts_without_capacity_is_a_step_further_in(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    Below the first choice.
    """
    other = variant(instance_type="ml.z9.xlarge", instances=2)
    show_app([variant(fallbacks=(other,))], PRICES)
    lines = capsys.readouterr().out.splitlines()

    begin = lines.index("  without capacity: 2 x ml.z9.xlarge")
    assert lines[begin + 1 : begin + 3] == [
        "    accelerators: 15 used, unknown free",
        "    3 x Llama: 5 accelerators, 2 CPU cores, 2,048 MiB each",
    ]


@pytest.mark.parametrize(
    ("instances", "most", "running"),
    [(1, 3, 3), (2, 3, 3), (4, 6, 4), (1, 2, 2), (3, 3, 3)],
)
def test_as_many_instances_run_as_the_copies_need(
    instances: int, most: int, running: int
) -> None:
    """
    But none goes for it, and no more come than may.
    """
    assert variant(instances=instances, most_instances=most).running == running
