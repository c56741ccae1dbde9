"""
The fixtures that a ``conftest.py`` takes by naming the package as a plugin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import pytest

from cdk_sagemaker_llm.client import LlmClient
from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.testing.deployer import Deployer
from cdk_sagemaker_llm.testing.templates import TemplateSnapshotExtension

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion


@pytest.fixture(scope="session")
def embedded_aws() -> Iterator[EmbeddedAws]:
    """
    One embedded AWS for all tests of a session, where nothing takes any time.

    A fixture of the same name in a ``conftest.py`` replaces it, such as one with
    ``EmbeddedAws(clock="by hand")``.
    """
    with EmbeddedAws() as aws:
        yield aws


@pytest.fixture(scope="session")
def deployer(embedded_aws: EmbeddedAws) -> Deployer:
    """
    What deploys apps to that AWS, without the CDK CLI.
    """
    return Deployer(embedded_aws)


@pytest.fixture(scope="session")
def llm_client(embedded_aws: EmbeddedAws) -> Callable[..., LlmClient]:
    """
    What makes a client of an endpoint there; it takes what ``LlmClient`` takes.

    ``llm_client("chat").chat("Hello").text``
    """
    from botocore.config import Config  # noqa: PLC0415 - few tests need it

    return partial(
        LlmClient,
        session=embedded_aws.session,
        endpoint_url=embedded_aws.url,
        config=Config(proxies={"http": ""}),
    )


@pytest.fixture
def template_snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """
    Snapshots of templates, a JSON file each, in which asset hashes are masked.

    ``assert stack.template == template_snapshot(name=stack.stack_name)``
    """
    return snapshot.use_extension(TemplateSnapshotExtension)
