"""
The guides for moving here: what users have, and the stack that takes its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cdk_sagemaker_llm.testing import Deployer
from tests.clients.test_constructs import ask
from tests.local.hosting_requests import ROLE

if TYPE_CHECKING:
    from pathlib import Path

    from cdk_sagemaker_llm.local import EmbeddedAws
    from tests.clients.conftest import Deployed, Pasted

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize(
    ("client", "number"), [("sagemaker", 0), ("sagemaker_v3", 1)], ids=["v2", "v3"]
)
def test_the_sagemaker_sdk(pasted: Pasted, client: str, number: int) -> None:
    """
    Both versions deploy an endpoint that answers.
    """
    guide = "move-from-the-sagemaker-sdk"

    assert "generated_text" in pasted(client, guide, number, ROLE=ROLE)


def test_the_stack_in_place_of_the_sdks_code(
    aws: EmbeddedAws, deployed: Deployed
) -> None:
    """
    It answers the same requests.
    """
    before = _chats(aws)
    deployed("move-from-the-sagemaker-sdk")

    # Those of the other guides stay.
    assert [ask(aws, name) for name in _chats(aws) - before] == ["AllTraffic"]


def _chats(aws: EmbeddedAws) -> set[str]:
    sagemaker = aws.client("sagemaker")
    found = sagemaker.list_endpoints(NameContains="Chat", MaxResults=100)["Endpoints"]
    return {one["EndpointName"] for one in found}


def test_the_alpha_constructs(
    aws: EmbeddedAws, deployed: Deployed, pasted: Pasted, tmp_path: Path
) -> None:
    """
    Both answer the same request, and scale by the same number.
    """
    guide, assembly = "move-from-the-alpha-constructs", tmp_path / "alpha"
    pasted("constructs", guide, CDK_OUTDIR=str(assembly))
    before = Deployer(aws).deploy(assembly).checked().outputs["Alpha"]
    after = deployed(guide)["Moved"]

    for outputs in (before, after):
        name = outputs["EndpointName"]
        assert ask(aws, name) == "AllTraffic"
        assert value_of(aws, name) == 30


def value_of(aws: EmbeddedAws, endpoint: str) -> float:
    """
    Return what the endpoint's scaling keeps to.
    """
    found = aws.client("application-autoscaling").describe_scaling_policies(
        ServiceNamespace="sagemaker",
        ResourceId=f"endpoint/{endpoint}/variant/AllTraffic",
    )
    (policy,) = found["ScalingPolicies"]
    return float(policy["TargetTrackingScalingPolicyConfiguration"]["TargetValue"])
