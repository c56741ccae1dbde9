"""
Builds and jobs that are under way when their stack is rolled back or deleted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.staging import jobs, mirroring, starting
from cdk_sagemaker_llm.staging.builds import stop_jobs
from cdk_sagemaker_llm.staging.prefix import StagedPrefix
from tests.local.building.projects import Projects, buildspec
from tests.local.conftest import REGION
from tests.local.staging.listener import Told
from tests.local.staging.test_ends import BASE, Bench
from tests.local.waiting import until

KINDS = ("processing", "training")


def deletion(told: Told, properties: dict[str, str]) -> dict[str, Any]:
    """
    Write what CloudFormation sends when a resource goes.
    """
    return {
        "RequestType": "Delete",
        "RequestId": "gone",
        "ResponseURL": f"{told.url}/answer",
        "StackId": "stack",
        "LogicalResourceId": "Start",
        "PhysicalResourceId": "s3://bucket/base/",
        "ResourceProperties": properties,
    }


class Builds:
    """
    A project with a build for each of two handles, which run until they are stopped.
    """

    def __init__(self, aws: EmbeddedAws) -> None:
        self._projects = Projects(aws)
        self.project = self._projects.make(buildspec(build=["sleep 300"]))
        self.ours, self.theirs = (self._start(each) for each in ("/ours", "/theirs"))

    def _start(self, handle: str) -> str:
        variable = {"name": "STAGING_HANDLE", "value": handle, "type": "PLAINTEXT"}
        return self._projects.start(
            self.project, environmentVariablesOverride=[variable]
        )

    def stopped(self) -> Untyped:
        """
        Wait until ours has ended; return how both are, then end the other one.
        """
        self._projects.ended(self.ours)
        found = [
            self._projects.show(each)["buildStatus"]
            for each in (self.ours, self.theirs)
        ]
        self._projects.client.stop_build(id=self.theirs)
        self._projects.ended(self.theirs)
        return found


def test_a_build_that_stages_ends_with_its_stack(
    in_aws: EmbeddedAws, told: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    That of another order goes on: an update's, or another resource's.
    """
    in_aws.client("s3").create_bucket(Bucket="stopping-build")
    builds = Builds(in_aws)
    properties = {
        "Bucket": "stopping-build",
        "Base": BASE,
        "Handle": "/ours",
        "Keep": "true",
        "Project": builds.project,
        "Order": "{}",
    }
    starting.handler(deletion(told, properties), None)

    assert builds.stopped() == ["STOPPED", "IN_PROGRESS"]
    assert [one["Status"] for one in told.at("/answer")] == ["SUCCESS"]
    assert capsys.readouterr().out.splitlines() == [f"{builds.ours} is stopped"]
    starting.handler(deletion(told, properties), None)
    # What has ended is not stopped again.
    assert capsys.readouterr().out == ""


def test_a_build_that_mirrors_ends_with_its_stack(
    in_aws: EmbeddedAws, told: Told
) -> None:
    """
    Likewise.
    """
    builds = Builds(in_aws)
    properties = {"Project": builds.project, "Handle": "/ours"}
    mirroring.handler(deletion(told, properties), None)

    assert builds.stopped() == ["STOPPED", "IN_PROGRESS"]
    (answer,) = told.at("/answer")
    assert answer["PhysicalResourceId"] == "s3://bucket/base/"


def test_builds_of_nobody_go_on(
    in_aws: EmbeddedAws, told: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    One that was started by hand, and one where another variable has the same value.
    """
    projects = Projects(in_aws)
    project = projects.make(buildspec(build=["sleep 300"]))
    variable = {"name": "OTHER", "value": "/ours", "type": "PLAINTEXT"}
    found = [
        projects.start(project),
        projects.start(project, environmentVariablesOverride=[variable]),
    ]
    mirroring.handler(deletion(told, {"Project": project, "Handle": "/ours"}), None)

    assert capsys.readouterr().out == ""
    assert [projects.show(each)["buildStatus"] for each in found] == ["IN_PROGRESS"] * 2
    for each in found:
        projects.client.stop_build(id=each)
        projects.ended(each)


def test_a_project_without_builds_is_left(
    in_aws: EmbeddedAws, told: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    CodeBuild describes one build at least.
    """
    project = Projects(in_aws).make(buildspec(build=["true"]))
    mirroring.handler(deletion(told, {"Project": project, "Handle": "/ours"}), None)

    assert [one["Status"] for one in told.at("/answer")] == ["SUCCESS"]
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"so", "JSONDecodeError: Expecting value: line 1 column 1 (char 0)"),
        (b"\xff", "UnicodeDecodeError: "),
        (b"{}", "KeyError: 'handle'"),
    ],
    ids=["no JSON", "no text", "no handle"],
)
def test_a_note_that_is_none_holds_nothing_up(
    in_aws: EmbeddedAws,
    told: Told,
    capsys: pytest.CaptureFixture[str],
    body: bytes,
    words: str,
) -> None:
    """
    It is said, and the stack goes.
    """
    bench = Bench(in_aws, told)
    bench.put(f"{BASE}.jobs/it.json", body)
    properties = {
        "Bucket": bench.bucket,
        "Base": BASE,
        "Handle": "/ours",
        "Keep": "true",
        "Order": json.dumps(bench.order("training")),
    }
    starting.handler(deletion(told, properties), None)

    assert [one["Status"] for one in told.at("/answer")] == ["SUCCESS"]
    said = capsys.readouterr().out
    place = f"s3://{bench.bucket}/{BASE}/"
    assert said.startswith(f"the jobs of {place} are not stopped: {words}")


def test_where_no_job_was_there_is_none_to_stop(
    in_aws: EmbeddedAws, told: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Without a word.
    """
    bench = Bench(in_aws, told)
    stop_jobs(wanted(bench, bench.order("training"), "/ours"))

    assert capsys.readouterr().out == ""


@pytest.fixture(name="slow")
def _slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedAws]:
    with EmbeddedAws(clock="by hand") as aws:
        for name, value in aws.process_environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
        yield aws


def wanted(bench: Bench, order: dict[str, Any], handle: str) -> StagedPrefix:
    """
    Write what a stack wants that waits at a handle.
    """
    return StagedPrefix(
        bucket=bench.bucket,
        base=BASE,
        handle=handle,
        keeps=True,
        project="",
        order=json.dumps(order),
        owner="me",
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_that_compiles_ends_with_its_stack(
    slow: EmbeddedAws, told: Told, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    That of another order goes on.
    """
    bench = Bench(slow, told)
    asked = {name: bench.order(kind) for name in ("/ours", "/theirs")}
    for handle, order in asked.items():
        jobs.start(wanted(bench, order, handle), "1")
    capsys.readouterr()
    properties = {
        "Bucket": bench.bucket,
        "Base": BASE,
        "Handle": "/ours",
        "Keep": "true",
        "Order": json.dumps(asked["/ours"]),
    }
    starting.handler(deletion(told, properties), None)
    word, client = kind.capitalize(), slow.client("sagemaker")

    def status(handle: str) -> str:
        name = {f"{word}JobName": f"{asked[handle]['name']}-1"}
        described = getattr(client, f"describe_{kind}_job")(**name)
        return str(described[f"{word}JobStatus"])

    assert status("/ours") in {"Stopping", "Stopped"}
    assert status("/theirs") == "InProgress"
    assert capsys.readouterr().out == f"{asked['/ours']['name']}-1 is stopped\n"
    until(lambda: status("/ours") == "Stopped", by=slow)
    stop_jobs(wanted(bench, asked["/ours"], "/ours"))
    assert capsys.readouterr().out == ""
