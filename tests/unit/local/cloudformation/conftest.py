"""
An embedded AWS in this process, and what makes stacks in it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from unittest import mock

import pytest

from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.by_hand import TIMES, HandRunAws, hand_run_aws
from tests.local.near import NearAws
from tests.local.stacks import Stacks


@pytest.fixture(name="near_aws", scope="module")
def _near_aws() -> Iterator[EmbeddedAws]:
    """
    One for each module that asks.
    """
    with NearAws() as aws:
        yield aws


@pytest.fixture(name="stacks", scope="module")
def _stacks(near_aws: EmbeddedAws) -> Stacks:
    return Stacks(near_aws)


@pytest.fixture(name="client", scope="module")
def _client(near_aws: EmbeddedAws) -> Untyped:
    return near_aws.client("cloudformation")


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[HandRunAws]:
    # The addresses of handles begin so.
    address = {"AWS_ENDPOINT_URL": "http://localhost"}
    with mock.patch.dict(os.environ, address), hand_run_aws(TIMES) as aws:
        yield aws


@pytest.fixture(name="slow", scope="module")
def _slow(aws: HandRunAws) -> Stacks:
    return Stacks(aws)  # type: ignore[arg-type]  # it has what is needed of one


@pytest.fixture(name="cloudformation", scope="module")
def _cloudformation(aws: HandRunAws) -> Untyped:
    return aws.client("cloudformation")
