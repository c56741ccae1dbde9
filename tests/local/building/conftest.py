"""
What the tests of builds share.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.local import EmbeddedAws
from tests.local.building.projects import Projects


@pytest.fixture(name="projects", scope="module")
def _projects(embedded_aws: EmbeddedAws) -> Projects:
    return Projects(embedded_aws)
