"""
An embedded AWS in this process, and what makes stacks in it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.aws.untyped import Untyped
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
