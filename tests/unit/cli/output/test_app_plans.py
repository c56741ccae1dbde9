"""
What an app takes, as ``plan`` shows it and writes it for machines.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.cli.app.fleets import VariantPlan
from cdk_sagemaker_llm.cli.output.plans import app_facts, show_app
from cdk_sagemaker_llm.fit import ResourceRequirements

PRICES = {"ml.p4d.24xlarge": 20.0}


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
    Money where there are prices; what starts without capacity where there is any.
    """
    other = variant(instance_type="ml.g5.xlarge")
    assert app_facts([variant()]) == {
        "endpoints": [FACTS],
        "quotas": {"ml.p4d.24xlarge for endpoint usage": 3},
    }
    found = app_facts([variant(fallbacks=(other,))], PRICES)

    (one,) = found["endpoints"]
    (fallback,) = one.pop("fallbacks")
    assert one == {**FACTS, "usd_per_hour": 60.0, "most_usd_per_hour": 60.0}
    assert fallback["instance_type"] == "ml.g5.xlarge"
    assert (fallback["usd_per_hour"], fallback["most_usd_per_hour"]) == (None, None)
    assert (fallback["accelerators_free"], fallback["fewest_instances"]) == (0, None)
    assert found["quotas"] == {
        "ml.g5.xlarge for endpoint usage": 3,
        "ml.p4d.24xlarge for endpoint usage": 3,
    }


@pytest.mark.parametrize(
    ("given", "lines"),
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
                "  costs: 60.00 $/h, at most 60.00 $/h",
            ],
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
                "  costs: 20.00 $/h, at most 20.00 $/h",
            ],
        ),
        (
            {"instance_type": "ml.z9.xlarge"},
            [
                "Prod/Chat (Blue): 1 x ml.z9.xlarge, at most 3",
                "  accelerators: 15 used, unknown free",
                "  3 x Llama: 5 accelerators, 2 CPU cores, 2,048 MiB each",
                "  costs: --prices has no ml.z9.xlarge",
            ],
        ),
        (
            {"filled_by": "Own", "components": {}, "instances": 2},
            [
                "Prod/Chat (Blue): 2 x ml.p4d.24xlarge, at most 3",
                "  accelerators: 16 used, 0 free",
                "  2 x Own: 8 accelerators, 96 CPU cores, 1,179,648 MiB each",
                "  instance 1: 1 x Own; free 0 accelerators, 0 CPU cores, 0 GiB",
                "  instance 2: 1 x Own; free 0 accelerators, 0 CPU cores, 0 GiB",
                "  costs: 40.00 $/h, at most 60.00 $/h",
            ],
        ),
    ],
    ids=["grown", "no place", "unknown", "filled"],
)
def test_an_app_is_shown_variant_by_variant(
    given: dict[str, Any], lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """
    And its quotas at the end.
    """
    one = variant(**given)
    show_app([one], PRICES)

    assert capsys.readouterr().out.splitlines() == [
        *lines,
        "",
        "service quotas, for all instances that may run",
        f"  {one.instance_type} for endpoint usage: {one.most_instances}",
    ]


def test_without_prices_there_are_no_costs(capsys: pytest.CaptureFixture[str]) -> None:
    """
    What starts without capacity is shown below the first choice, a step further in.
    """
    other = variant(instance_type="ml.z9.xlarge", instances=2)
    show_app([variant(fallbacks=(other,))])
    lines = capsys.readouterr().out.splitlines()

    assert not [line for line in lines if "costs" in line]
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
