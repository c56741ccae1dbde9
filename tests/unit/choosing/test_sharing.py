"""
Several models on the same instances: how many there are, what they cost, and the calls.
"""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest

from cdk_sagemaker_llm.choosing import (
    Candidate,
    Host,
    Question,
    Scaling,
    Sharing,
    Tenant,
    choose_together,
)
from cdk_sagemaker_llm.choosing.load import Load
from cdk_sagemaker_llm.choosing.setups import setups
from cdk_sagemaker_llm.simulation import Constant, DayCurve, Lengths
from tests.unit.choosing.test_by_hand import (
    FOUR_GPUS,
    HOUR,
    MODEL,
    SECOND_EACH,
    measured,
    seats,
)

LENGTHS = Lengths(prompt=10, answer=10)


def asked(rate: float, **given: object) -> Question:
    """
    Ask for so many requests a second, on hosts of four GPUs for a dollar an hour.

    A request takes 10 tokens of 0.01 s at one of ten seats.
    """
    return replace(
        SECOND_EACH,
        traffic=Constant(rate=rate, lengths=LENGTHS),
        instance_types=(FOUR_GPUS,),
        prices={FOUR_GPUS: 1.0},
        measured=tuple(
            measured(seats(0.01, 10), FOUR_GPUS, degree) for degree in (1, 2, 4)
        ),
        **given,  # type: ignore[arg-type] # whatever a test asks otherwise
    )


@pytest.fixture(scope="module")
def pair() -> Sharing:
    """
    Two models that take one GPU each.
    """
    return choose_together([asked(1), asked(2)])


def test_each_model_has_a_name_of_its_own(pair: Sharing) -> None:
    """
    Even the same one twice.
    """
    assert pair.names == ("Zephyr7bBeta", "Zephyr7bBetan2")


def test_the_cheaper_is_called(pair: Sharing) -> None:
    """
    One host of a dollar an hour is 730 a month; two are 1,460.
    """
    host = pair.host

    assert host is not None
    assert host.counts == (1, 1, 2)
    assert pair.separate_cost == pytest.approx(1460)
    assert pair.cost == host.monthly_cost == pytest.approx(730)
    assert pair.is_shared
    assert pair.keeps
    assert pair.construct_call == host.construct_call
    assert host.construct_call.count("host.add_model(") == 2
    assert host.construct_call.count("InferenceComponentEndpoint(") == 1


def test_the_other_call_defines_an_endpoint_for_each(pair: Sharing) -> None:
    """
    By ids that differ.
    """
    call = pair.separate_call

    assert call is not None
    assert '"Zephyr7bBetaHost",' in call or '"Zephyr7bBeta",' in call
    assert '"Zephyr7bBetan2Host",' in call or '"Zephyr7bBetan2",' in call


def test_the_stack_is_an_app(pair: Sharing) -> None:
    """
    Which names what it imports.
    """
    text = pair.stack or ""

    ast.parse(text)
    assert "import HuggingFaceModel, InferenceComponentEndpoint, Vllm" in text
    assert 'CfnOutput(self, "EndpointName", value=host.endpoint_name)' in text


def test_a_budget_below_both_is_not_kept() -> None:
    """
    What the cheapest costs is still known.
    """
    found = choose_together([asked(1), asked(2)], budget=729)

    assert found.host is None
    assert [one.reason for one in found.hosts] == [
        "it costs 730 $ a month, over the budget of 729"
    ]
    assert not found.keeps
    assert found.stack is None


def scaled(**copies: tuple[int, int]) -> Host:
    """
    Return models on one GPU each, with so many copies at least and at most.
    """
    question = asked(1)
    found, _ = setups(question, Load.of(question))
    (setup,) = (one for one in found if one.degree == 1)
    return Host(
        tenants=tuple(
            Tenant(
                name=name,
                question=question,
                candidate=Candidate(
                    setup=setup, scaling=Scaling(least=least, most=most, target=8.0)
                ),
            )
            for name, (least, most) in copies.items()
        )
    )


def test_instances_follow_what_all_copies_need() -> None:
    """
    Four copies an instance: 1 + 2 find room on one, 5 + 6 on three; none need none, but
    one instance starts.
    """
    host = scaled(One=(1, 5), Other=(2, 6))

    assert host.counts == (1, 1, 3)
    assert host.instances == 1
    assert scaled(One=(0, 4), Other=(0, 5)).counts == (1, 0, 3)
    assert host.construct_call.count("auto_scale_copy_count(") == 2
    assert "min_instance_count" not in host.construct_call
    assert "max_instance_count=3," in host.construct_call
    assert "min_capacity=2, max_capacity=6" in host.construct_call


def test_one_more_copy_is_given_to_who_needs_it() -> None:
    """
    At least and at most; the others keep theirs.
    """
    host = scaled(One=(1, 5), Other=(2, 6)).with_more(["Other"])

    assert [
        (one.candidate.scaling.least, one.candidate.scaling.most)
        for one in host.tenants
    ] == [(1, 5), (3, 7)]
    assert not host.results


@pytest.mark.whole
def test_a_host_follows_the_day() -> None:
    """
    A copy takes 100 requests a second at most: 300 of them at noon take more than three
    of each model, one a second at night takes one.
    """
    day = DayCurve.between(1, 300, lengths=LENGTHS, busiest=12)
    question = replace(asked(1), traffic=day, duration=24 * HOUR)

    host = choose_together([question, question]).host

    assert host is not None
    assert not host.is_fixed
    assert host.counts[1] < host.counts[2]
    assert "auto_scale_copy_count" in host.construct_call
    assert 730 < host.monthly_cost < 730 * host.counts[2]


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        ([asked(1)], "questions must be two at least, got 1; choose answers one"),
        (
            [asked(1), replace(asked(1), duration=60.0)],
            "questions must be of the same duration, start and seed",
        ),
    ],
    ids=["one", "other times"],
)
def test_fails_for_questions_that_do_not_go_together(
    questions: list[Question], message: str
) -> None:
    """
    In one's own words.
    """
    with pytest.raises(ValueError, match=message):
        choose_together(questions)


def test_the_model_is_the_one_that_was_asked_for(pair: Sharing) -> None:
    """
    On both sides.
    """
    assert pair.host is not None
    assert {one.setup.model for one in pair.host.tenants} == {MODEL}
    assert [one.question.model for one in pair.answers] == [MODEL, MODEL]
