"""
The real CDK CLI, from bootstrap to nothing left.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.local import tiny_app

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from cdk_sagemaker_llm.local import EmbeddedAws
    from tests.local.conftest import Cdk


@pytest.mark.whole
def test_a_stack_is_deployed_changed_and_destroyed(
    embedded_aws: EmbeddedAws, cdk: Cdk, tmp_path: Path
) -> None:
    """
    By change set, unchanged, directly, and down to the last scalable target.
    """
    sagemaker = embedded_aws.client("sagemaker")
    first = tiny_app.synth(tmp_path / "first")
    second = tiny_app.synth(tmp_path / "second", batch_size="32")

    shown = succeed(cdk("deploy", "--require-approval", "never", app=first))
    assert "Tiny.EndpointName = tiny-endpoint" in shown
    before = sagemaker.describe_endpoint(EndpointName=tiny_app.ENDPOINT)
    answer = embedded_aws.client("sagemaker-runtime").invoke_endpoint(
        EndpointName=tiny_app.ENDPOINT, Body=b'{"inputs": "Who is Roger Federer?"}'
    )
    assert json.loads(answer["Body"].read())["generated_text"]

    assert "(no changes)" in succeed(cdk("deploy", app=first))
    assert "(no changes)" in succeed(cdk("deploy", "--force", app=first))

    shown = succeed(cdk("deploy", "--method", "direct", app=second))
    assert "requires the creation of a new physical resource" in shown
    after = sagemaker.describe_endpoint(EndpointName=tiny_app.ENDPOINT)
    assert after["CreationTime"] == before["CreationTime"]
    assert after["EndpointConfigName"] != before["EndpointConfigName"]

    succeed(cdk("deploy", app=first))
    again = sagemaker.describe_endpoint(EndpointName=tiny_app.ENDPOINT)
    assert again["EndpointConfigName"] not in (
        before["EndpointConfigName"],
        after["EndpointConfigName"],
    )

    succeed(cdk("destroy", "--force", app=first))
    scaling = embedded_aws.client("application-autoscaling")
    left = scaling.describe_scalable_targets(
        ServiceNamespace="sagemaker",
        ResourceIds=[f"endpoint/{tiny_app.ENDPOINT}/variant/AllTraffic"],
    )
    assert left["ScalableTargets"] == []
    names = [e["EndpointName"] for e in sagemaker.list_endpoints()["Endpoints"]]
    assert tiny_app.ENDPOINT not in names


@pytest.mark.whole
def test_a_failed_deployment_says_why_and_can_be_repeated(
    embedded_aws: EmbeddedAws, cdk: Cdk, tmp_path: Path
) -> None:
    """
    The service's words on the screen; the next deployment begins anew.
    """
    broken = tiny_app.synth(tmp_path / "broken", instance_type="ml.p9.huge")
    mended = tiny_app.synth(tmp_path / "mended")

    failed = cdk("deploy", "--require-approval", "never", app=broken)
    assert failed.returncode == 1
    assert "failed to satisfy constraint: Member must satisfy enum" in failed.stdout
    stacks = embedded_aws.client("cloudformation").describe_stacks(
        StackName=tiny_app.STACK
    )["Stacks"]
    assert stacks[0]["StackStatus"] == "ROLLBACK_COMPLETE"

    succeed(cdk("deploy", "--require-approval", "never", app=mended))
    succeed(cdk("destroy", "--force", app=mended))


@pytest.mark.whole
def test_bootstrapping_again_changes_nothing(cdk: Cdk, tmp_path: Path) -> None:
    """
    It finds the stack that is there.
    """
    shown = succeed(cdk("bootstrap", "aws://123456789012/us-east-1", cwd=tmp_path))

    assert "(no changes)" in shown


def succeed(done: subprocess.CompletedProcess[str]) -> str:
    """
    Return the output of a command that went through.
    """
    assert done.returncode == 0, done.stdout
    return done.stdout
