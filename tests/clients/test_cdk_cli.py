"""
The CDK CLI on the reference app: what it shows of a deployment.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.local.conftest import ROOT
from tests.secrecy import TOKEN

if TYPE_CHECKING:
    from pathlib import Path

    from cdk_sagemaker_llm.local import EmbeddedAws
    from tests.local.conftest import Cdk

# Three stacks, and half a dozen commands.
pytestmark = pytest.mark.timeout(600)


def test_the_reference_app_has_no_difference_and_no_drift(
    aws: EmbeddedAws, cdk: Cdk, tmp_path: Path
) -> None:
    """
    After its deployment; an edit is a difference, a change behind its back is drift.
    """
    aws.client("secretsmanager").create_secret(
        Name="hugging-face-token", SecretString=TOKEN
    )
    run = partial(cdk, cwd=ROOT, outdir=tmp_path / "cdk.out")
    edited = ("--context", "mistral_max_instances=7")

    show(run, "deploy", "--all", "--require-approval", "never")
    show(run, "diff", "--fail")
    show(run, "drift", "--fail")
    shown = show(run, "diff", "--fail", *edited, status=1)
    assert "MaxCapacity" in shown
    scaling = aws.client("application-autoscaling")
    targets = scaling.describe_scalable_targets(ServiceNamespace="sagemaker")
    for target in targets["ScalableTargets"]:
        named = ("ServiceNamespace", "ResourceId", "ScalableDimension")
        scaling.register_scalable_target(
            **{key: target[key] for key in named}, MaxCapacity=7
        )
    shown = show(run, "drift", "--fail", status=1)
    assert "MaxCapacity" in shown
    show(run, "destroy", "--all", "--force")


def show(run: Cdk, *arguments: str, status: int = 0) -> str:
    """
    Return what a command prints that ends with a status.
    """
    done = run(*arguments)
    assert done.returncode == status, done.stdout
    return str(done.stdout)
