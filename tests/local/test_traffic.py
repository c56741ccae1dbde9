"""
Variants: who gets the traffic, and what may be set on them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError

from tests.local.by_hand import HandRunAws, hand_run_aws
from tests.local.hosting_requests import (
    make_config,
    make_endpoint,
    make_model,
    prompt,
    unchecked,
    unique,
)

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local.aws.untyped import Untyped

MANAGED = {"Status": "ENABLED", "MinInstanceCount": 1, "MaxInstanceCount": 3}


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws(takes_time=False) as aws:
        yield aws


class TestWeights:
    """
    A request without a target variant goes where the weights say.
    """

    @pytest.mark.parametrize(
        ("weights", "calls", "shares"),
        [
            ({"A": 0.9, "B": 0.1}, 10, {"A": 9, "B": 1}),
            ({"A": 1.0, "B": 1.0, "C": 2.0}, 8, {"A": 2, "B": 2, "C": 4}),
            ({"A": 0.0, "B": 3.0}, 5, {"B": 5}),
        ],
    )
    def test_the_shares_are_exact(
        self,
        aws: HandRunAws,
        weights: dict[str, float],
        calls: int,
        shares: dict[str, int],
    ) -> None:
        """
        Of every whole round; weight zero gets nothing.
        """
        endpoint = endpoint_with(aws, weights)

        assert Counter(answered(aws, endpoint, calls)) == shares

    def test_the_turns_are_smooth(self, aws: HandRunAws) -> None:
        """
        The rare variant comes in the middle of its round, not at a random place.
        """
        endpoint = endpoint_with(aws, {"A": 3.0, "B": 1.0})

        assert "".join(answered(aws, endpoint, 8)) == "AABAAABA"

    def test_a_target_variant_overrides_the_weights(self, aws: HandRunAws) -> None:
        """
        Even one of weight zero, and it takes nobody's turn.
        """
        endpoint = endpoint_with(aws, {"A": 1.0, "B": 0.0})

        assert answered(aws, endpoint, 2, TargetVariant="B") == ["B", "B"]
        assert answered(aws, endpoint, 2) == ["A", "A"]

    def test_new_weights_count_at_once(self, aws: HandRunAws) -> None:
        """
        From the first request after them.
        """
        endpoint = endpoint_with(aws, {"A": 9.0, "B": 1.0})
        answered(aws, endpoint, 3)
        set_variants(aws, endpoint, A={"DesiredWeight": 0.0})

        assert answered(aws, endpoint, 3) == ["B", "B", "B"]

    def test_no_weight_at_all_answers_nothing(self, aws: HandRunAws) -> None:
        """
        There is nobody to ask.
        """
        endpoint = endpoint_with(aws, {"A": 0.0, "B": 0.0})

        with refused("ValidationError", f"Every variant of endpoint {endpoint} has"):
            answered(aws, endpoint, 1)

    def test_a_variant_without_instances_does_not_answer(self, aws: HandRunAws) -> None:
        """
        Until it has one again.
        """
        endpoint = endpoint_with(aws, {"A": 1.0})
        set_variants(aws, endpoint, A={"DesiredInstanceCount": 0})

        with refused("ValidationError", f"Variant A of endpoint {endpoint} has no"):
            answered(aws, endpoint, 1)
        set_variants(aws, endpoint, A={"DesiredInstanceCount": 1})
        assert answered(aws, endpoint, 1) == ["A"]


class TestCapacities:
    """
    ``UpdateEndpointWeightsAndCapacities``: all of it or nothing.
    """

    @pytest.mark.parametrize(
        ("wrong", "words"),
        [
            ({"VariantName": "Nobody"}, 'Could not find variant "Nobody"'),
            ({"VariantName": "B", "DesiredWeight": -0.1}, "greater than or equal to 0"),
            (
                {"VariantName": "B", "DesiredInstanceCount": -1},
                "greater than or equal to 0",
            ),
            ({"VariantName": "A"}, 'Variant "A" is listed more than once.'),
        ],
        ids=["unknown", "weight", "count", "twice"],
    )
    def test_what_is_refused_changes_nothing(
        self, aws: HandRunAws, wrong: dict[str, Untyped], words: str
    ) -> None:
        """
        The variant before the wrong one is left as it was.
        """
        endpoint = endpoint_with(aws, {"A": 1.0, "B": 1.0})
        right = {"VariantName": "A", "DesiredWeight": 7.0, "DesiredInstanceCount": 5}

        with refused("ValidationException", words):
            unchecked(aws, "sagemaker").update_endpoint_weights_and_capacities(
                EndpointName=endpoint, DesiredWeightsAndCapacities=[right, wrong]
            )
        variants = aws.client("sagemaker").describe_endpoint(EndpointName=endpoint)[
            "ProductionVariants"
        ]
        assert [v["CurrentWeight"] for v in variants] == [1.0, 1.0]
        assert [v["CurrentInstanceCount"] for v in variants] == [1, 1]

    @pytest.mark.parametrize(("count", "fits"), [(0, False), (3, True), (4, False)])
    def test_managed_scaling_bounds_the_count(
        self, aws: HandRunAws, count: int, *, fits: bool
    ) -> None:
        """
        Its minimum and maximum are those of the variant, and stay so.
        """
        config = make_config(aws, variant={"ManagedInstanceScaling": MANAGED})
        endpoint = make_endpoint(aws, config)

        def resize() -> None:
            set_variants(aws, endpoint, AllTraffic={"DesiredInstanceCount": count})

        if fits:
            resize()
        else:
            with refused("ValidationException", f"DesiredInstanceCount {count} of"):
                resize()
        set_variants(aws, endpoint, AllTraffic={"DesiredInstanceCount": 1})


def refused(code: str, words: str) -> Untyped:
    """
    Expect an error code and words.
    """
    return pytest.raises(ClientError, match=rf"\({code}\).*{re.escape(words)}")


def endpoint_with(aws: HandRunAws, weights: dict[str, float]) -> str:
    """
    Make an endpoint with a variant for each weight.
    """
    name, model = unique("config"), make_model(aws)
    aws.client("sagemaker").create_endpoint_config(
        EndpointConfigName=name,
        ProductionVariants=[
            {
                "VariantName": variant,
                "ModelName": model,
                "InstanceType": "ml.g5.xlarge",
                "InitialInstanceCount": 1,
                "InitialVariantWeight": weight,
            }
            for variant, weight in weights.items()
        ],
    )
    return make_endpoint(aws, name)


def set_variants(
    aws: HandRunAws, endpoint: str, **variants: dict[str, Untyped]
) -> None:
    """
    Set weights and counts by the variants' names.
    """
    aws.client("sagemaker").update_endpoint_weights_and_capacities(
        EndpointName=endpoint,
        DesiredWeightsAndCapacities=[
            {"VariantName": name, **wanted} for name, wanted in variants.items()
        ],
    )


def answered(
    aws: HandRunAws, endpoint: str, calls: int, **target: str
) -> list[Untyped]:
    """
    Call an endpoint that often and return which variants answered.
    """
    runtime = aws.client("sagemaker-runtime")
    return [
        runtime.invoke_endpoint(EndpointName=endpoint, Body=prompt("Who?"), **target)[
            "InvokedProductionVariant"
        ]
        for _ in range(calls)
    ]
