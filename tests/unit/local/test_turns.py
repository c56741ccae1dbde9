"""
Whose turn it is to answer the next request, and how an answer is cut into parts.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.local.engines.containers import Answer
from cdk_sagemaker_llm.local.hosting.world import ComponentUpdate, Deployment
from cdk_sagemaker_llm.local.runtime.invocations import (
    Outcome,
    Result,
    choose_side,
    choose_variant,
    choose_version,
)
from cdk_sagemaker_llm.simulation.clock import Timeline
from cdk_sagemaker_llm.simulation.fleet import Fleet, FleetTimes, Pool
from tests.unit.local.hosted import component_of, endpoint_of, fleet_of


def turns(weights: dict[str, float], times: int) -> list[str | None]:
    """
    Choose so many variants of an endpoint with weights.
    """
    fleets = {name: fleet_of(name, 1) for name in weights}
    endpoint = endpoint_of("chat", fleets)
    endpoint.weights = weights
    return [choose_variant(endpoint) for _ in range(times)]


@pytest.mark.parametrize(
    ("weights", "order"),
    [
        ({"A": 1.0}, "AAA"),
        ({"A": 1.0, "B": 1.0}, "ABAB"),
        ({"A": 1.0, "B": 3.0}, "BABBBABB"),
        ({"A": 0.0, "B": 1.0}, "BBB"),
        ({"A": 0.5, "B": 0.25, "C": 0.25}, "ABCAABCA"),
    ],
)
def test_variants_take_turns_by_their_weights(
    weights: dict[str, float], order: str
) -> None:
    """
    Evenly spread, and the first one first where two are as far.
    """
    assert turns(weights, len(order)) == [*order]


def test_a_weight_is_never_too_small_to_count() -> None:
    """
    One in a million is the least; without any weight nobody's turn comes.
    """
    assert turns({"A": 0.0, "B": 0.0}, 1) == [None]
    assert turns({"A": 0.0}, 1) == [None]
    assert turns({"A": 1e-9, "B": 0.0}, 2) == ["A", "A"]


@pytest.mark.parametrize(
    ("share", "order"),
    [
        (0.0, "old old old old"),
        (0.5, "old new old new"),
        (0.25, "old old old new"),
        (1.0, "new new"),
        (0.1, "old old old old old old old old old new"),
    ],
)
def test_a_deployment_answers_its_share(share: float, order: str) -> None:
    """
    Of a variant that it has; the others stay where they are.
    """
    old, new = ({name: fleet_of("A", 1) for name in names} for names in ("AB", "A"))
    endpoint = endpoint_of("chat", old)
    assert choose_side(endpoint, "A") == (endpoint.config, old)
    endpoint.deployment = Deployment(
        config_name="next",
        config={"is": "new"},
        fleets=new,
        started=0.0,
        share=share,
    )
    found = [choose_side(endpoint, "A") for _ in order.split()]

    sides = {"old": (endpoint.config, old), "new": ({"is": "new"}, new)}
    assert found == [sides[each] for each in order.split()]
    assert choose_side(endpoint, "B") == sides["old"]


@pytest.mark.parametrize(
    ("copies", "order"),
    [
        ((1, 0), "llama llama"),
        ((1, 1), "llama llama#1 llama llama#1"),
        ((3, 1), "llama llama llama llama#1"),
        ((0, 2), "llama#1 llama#1"),
        ((None, 1), "llama#1 llama#1"),
        ((1, None), "llama llama"),
    ],
)
def test_an_update_answers_as_its_copies_do(
    copies: tuple[int | None, int | None], order: str
) -> None:
    """
    The new version as often as is its share of the copies that serve.
    """
    component = component_of("llama")
    fleet = Fleet(
        Timeline(),
        pools=[Pool("ml.g5.12xlarge")],
        instances=1,
        times=FleetTimes.instant(),
    )
    needs = ResourceRequirements(accelerators=1, memory_mib=1024)
    for key, count in zip(("llama", "llama#1"), copies, strict=True):
        if count is not None:
            fleet.add(key, {"ml.g5.12xlarge": needs}, count)
    assert choose_version(component, fleet) == "llama"
    component.update = ComponentUpdate(request={}, copies=1, version=1)

    assert [choose_version(component, fleet) for _ in order.split()] == order.split()


@pytest.mark.parametrize(
    ("pieces", "packed", "parts"),
    [
        ([b"ab", b"cd", b"ef", b"gh", b"ij"], 1, "ab c d ef gh i j"),
        ([b"ab", b"cd", b"ef"], 2, "abcd e f"),
        ([b"ab", b"cd", b"ef"], 4, "abcdef"),
        ([b"ab", b"c", b"d"], 1, "ab c d"),
        ([b"ab", b"", b"d"], 1, "ab d"),
        ([], 1, ""),
    ],
)
def test_a_part_now_and_then_ends_in_the_middle(
    pieces: list[bytes], packed: int, parts: str
) -> None:
    """
    The second of every three.
    """
    answer = Answer(pieces=pieces, content_type="text/plain", tokens=0)
    found = [*Result(answer, packed).parts()]

    assert found == [part.encode() for part in parts.split()]
    assert b"".join(found) == b"".join(pieces)


def test_what_is_lost_was_not_asked() -> None:
    """
    Its body says why.
    """
    lost = Outcome.lost("why")

    assert lost == Outcome(
        body=b"why",
        kind="application/json",
        status=0,
        seconds=0.0,
        variant="",
        failure="why",
    )
