"""
Reading what is to be staged.
"""

from __future__ import annotations

import json

import pytest

from cdk_sagemaker_llm.staging.order import Order
from cdk_sagemaker_llm.staging.signalling import StagingError

ASKED = {
    "model_id": "a/b",
    "revision": "c" * 40,
    "bucket": "bucket",
    "prefix": "models/",
    "manifest": "manifest.json",
}


def test_an_order_is_read_as_it_was_written() -> None:
    """
    What is left out has its default.
    """
    more = {"include": ["*.json"], "exclude": ["a"], "kms_key": "arn", "threads": 2}
    whole = Order.from_environment({"STAGING_ORDER": json.dumps({**ASKED, **more})})

    assert whole == Order(
        model_id="a/b",
        revision="c" * 40,
        bucket="bucket",
        prefix="models/",
        manifest="manifest.json",
        include=("*.json",),
        exclude=("a",),
        kms_key="arn",
        threads=2,
    )
    assert whole.title == "a/b at cccccccccccc"
    least = Order.from_environment({"STAGING_ORDER": json.dumps(ASKED)})
    assert (least.include, least.exclude, least.kms_key, least.threads) == (
        (),
        (),
        "",
        8,
    )


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"STAGING_ORDER": "{"},
        {"STAGING_ORDER": "{}"},
        {"STAGING_ORDER": json.dumps({**ASKED, "other": 1})},
        {"STAGING_ORDER": "[]"},
    ],
)
def test_fails_if_it_is_none(environment: dict[str, str]) -> None:
    """
    In one line.
    """
    with pytest.raises(StagingError, match="^STAGING_ORDER is not what it should be"):
        Order.from_environment(environment)
