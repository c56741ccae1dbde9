"""
A stack that waits for a build.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cdk_sagemaker_llm.local import EmbeddedAws
from tests.local.building import app
from tests.local.building.projects import Projects
from tests.local.stacks import Stacks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.deployments import Deployer

    Deploy = Callable[[str, str], tuple[bool, str]]


@pytest.fixture(name="deploy")
def _deploy(
    embedded_aws: EmbeddedAws, deployer: Deployer, tmp_path: Path
) -> Iterator[Deploy]:
    """
    Deploy the app; return whether it went well, and what it said.
    """

    def deploy(order: str, key: str) -> tuple[bool, str]:
        assembly = app.synth(tmp_path / order, order=order, key=key)
        done = deployer.deploy(assembly)
        return done.succeeded, done.events

    yield deploy
    Stacks(embedded_aws).delete(app.STACK)


def weights(aws: EmbeddedAws) -> list[str]:
    """
    Return what builds have written.
    """
    found = aws.client("s3").list_objects_v2(Bucket=app.BUCKET)
    return [one["Key"] for one in found.get("Contents", [])]


def test_a_stack_waits_for_a_build_and_serves_what_it_made(
    embedded_aws: EmbeddedAws, deploy: Deploy
) -> None:
    """
    Function, build, signal, model; after a build that refused, whose reason is told.
    """
    stacks, projects = Stacks(embedded_aws), Projects(embedded_aws)
    words = "received failed message: 'the Hub knows no such revision' for uniqueId"

    refused = deploy("refuse", "One")
    told = [reason for *_, reason in stacks.events(app.STACK)]
    made = deploy("make", "One")

    assert not refused[0]
    assert words in refused[1]
    assert any(f"WaitCondition {words}" in reason for reason in told)
    assert made[0], made[1]
    outputs = stacks.outputs(app.STACK)
    assert list(json.loads(outputs["Signals"]).values()) == ["1 file"]
    assert weights(embedded_aws) == ["One/config.json"]
    built = projects.client.list_builds_for_project(projectName=outputs["Builder"])
    (log,) = (projects.log(projects.show(build)) for build in built["ids"])
    assert "working with ***" in log
    assert app.TOKEN not in json.dumps(log)


def test_a_build_that_breaks_off_is_told_by_its_rule(
    embedded_aws: EmbeddedAws, deploy: Deploy
) -> None:
    """
    And the stack goes back to what it serves.
    """
    stacks = Stacks(embedded_aws)
    assert deploy("make", "One")[0]
    model = stacks.physical_ids(app.STACK)["Model"]

    broken = deploy("break", "Two")

    assert not broken[0]
    assert "WaitCondition received failed message: 'FAILED in BUILD'" in broken[1]
    assert stacks.status(app.STACK) == "UPDATE_ROLLBACK_COMPLETE"
    assert stacks.physical_ids(app.STACK)["Model"] == model
    assert weights(embedded_aws) == ["One/config.json"]
